"""Domains that went away under the members of a group.

While members are on nodes that carry the topology key, those tell the domain. When such a node goes, or its
label does, what it told is kept as the group's ``Home``; when then no node at all carries that value, the
domain is lost, which a cycle records once. As long as it is, nothing of the group is placed elsewhere, even
when no member is on a node any more. It ends when a node carries the value again, when the facts put the
members into another domain, or with the next generation. NUMA zones are not followed here: they are told by
their node alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scheduling.engine.numa_names import NUMA_KEY

if TYPE_CHECKING:
    from scheduling.engine.model import Node, Pod
    from scheduling.engine.roster import Roster
    from scheduling.engine.state import ClusterState


@dataclass(frozen=True, slots=True)
class Home:
    """Where members of the generation ``uid`` were when a node last ceased to tell it. ``nodes``: those that
    ceased, sorted. ``stranded``: whether members were made anew because their node was lost.
    """

    uid: str
    domain: str
    nodes: tuple[str, ...]
    stranded: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """The recorded loss of a domain by the generation ``uid``. ``seq``: of the event."""

    uid: str
    domain: str
    nodes: tuple[str, ...]
    seq: int


def node_changes(state: ClusterState, name: str, new: Node | None) -> None:
    """To be called before the node is replaced by ``new`` or (None) removed: keep what it told of groups."""
    old = state.nodes.get(name)
    if old is None or (new is not None and new.labels == old.labels):
        return
    for pod in state.pods_on(name):
        key = _topology_key(state, pod)
        if key and (new is None or new.label(key) != old.label(key)):
            _leave(state, pod, old, key, stranded=False)


def pod_is_lost(state: ClusterState, pod: Pod) -> None:
    """To be called before a member leaves because its node is lost."""
    key = _topology_key(state, pod)
    if key and pod.node and not pod.finished:
        _leave(state, pod, state.nodes.get(pod.node), key, stranded=True)


def newly_lost(state: ClusterState, who: Roster) -> Home | None:
    """The domain that is lost to the group and not recorded so; None when there is none."""
    home = state.homes.get(who.key)
    if home is None or not _is_gone(state, who, home):
        return None
    if not who.known or not (who.bound or home.stranded):
        return None  # its members left by themselves, which frees the domain
    known = state.lost.get(who.key)
    if known is not None and (known.uid, known.domain) == (home.uid, home.domain):
        return None
    missing = {pod.node for pod in who.bound}
    return replace(home, nodes=tuple(sorted(missing.union(home.nodes))))


def open_loss(state: ClusterState, who: Roster) -> Lost | None:
    """The recorded loss that keeps the group from being placed now; None when there is none."""
    lost = state.lost.get(who.key)
    return lost if lost is not None and _is_gone(state, who, lost) else None


def homeless(state: ClusterState) -> list[str]:
    """Groups with a home that no node carries any more, sorted."""
    return sorted(
        key
        for key, home in state.homes.items()
        if key in state.groups and home.domain not in state.index(state.groups[key].topology_key).number
    )


def brought_back(state: ClusterState, labels: tuple[tuple[str, str], ...]) -> list[str]:
    """Groups with a recorded loss of a domain that a node with these labels is in, sorted."""
    return sorted(
        key
        for key, lost in state.lost.items()
        if key in state.groups and (state.groups[key].topology_key, lost.domain) in labels
    )


def _topology_key(state: ClusterState, pod: Pod) -> str:
    group = state.groups.get(pod.group_key) if pod.group else None
    return group.topology_key if group is not None and group.topology_key != NUMA_KEY else ""


def _leave(state: ClusterState, pod: Pod, node: Node | None, key: str, *, stranded: bool) -> None:
    uid = state.groups[pod.group_key].uid
    known = state.homes.get(pod.group_key)
    if known is not None and known.uid != uid:
        known = None
    domain = node.label(key) if node is not None else None
    if domain is None:
        if known is not None and stranded:
            state.homes[pod.group_key] = replace(known, stranded=True)
        return
    same = known is not None and known.domain == domain
    nodes = {pod.node, *(known.nodes if known is not None and same else ())}
    was_stranded = known is not None and same and known.stranded
    state.homes[pod.group_key] = Home(uid, domain, tuple(sorted(nodes)), stranded or was_stranded)


def _is_gone(state: ClusterState, who: Roster, where: Home | Lost) -> bool:
    """Whether no node carries the value, and no member lies in another domain instead."""
    group = who.group
    if group is None or group.uid != where.uid or not state.enforces(group):
        return False
    if where.domain in state.index(group.topology_key).number:
        return False
    nodes = (state.nodes.get(pod.node) for pod in who.bound)
    return all(node is None or node.label(group.topology_key) is None for node in nodes)
