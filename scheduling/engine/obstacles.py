"""What stands in the way in the domains that come closest, named: a node, nodes, or a group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from scheduling.engine.census import refused
from scheduling.engine.change_plans import Outlook, ShutNode, shut_nodes
from scheduling.engine.change_steps import NodeReady, Uncordon
from scheduling.engine.decision import RESERVED, Decision
from scheduling.engine.holds import seen_by
from scheduling.engine.reasons import Reason
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import ALL_NODES


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What is in the way in one domain. ``code``: ``cordoned``, ``node_not_ready`` or ``taint`` with the
    number of such ``nodes`` that have room, ``reserved`` with the number of those that would have room but
    for the reservation of that name, or ``group`` for the other group with most pods and the number of
    nodes it is on. ``name``: of the node when it is one, of the reservation, of the group.
    """

    domain: str
    code: str
    nodes: int
    name: str


def obstacles(state: ClusterState, decision: Decision, most: int) -> tuple[Obstacle, ...]:
    """What is in the way in each of the ``most`` nearest domains, nearest first; domains where nothing can be
    named are left out.
    """
    if not refused(decision) or not decision.domains:
        return ()
    state = seen_by(state, decision.key)
    index = state.index(decision.topology_key if decision.enforced else ALL_NODES)
    look = Outlook(state, roster(state, decision.key), index, decision)
    near = [count.domain for count in decision.domains[:most]]
    shut = shut_nodes(look, near)
    named = []
    for domain in near:
        found = (
            _barred_by(domain, shut.get(domain, []))
            or _reserved_in(decision, domain)
            or _held_by(look, domain)
        )
        if found is not None:
            named.append(found)
    return tuple(named)


def _barred_by(domain: str, nodes: list[ShutNode]) -> Obstacle | None:
    """The bar whose nodes would take most members."""
    gain: Counter[str] = Counter()
    names: dict[str, list[str]] = {}
    for node in nodes:
        code = _bar_of(node)
        gain[code] += node.gain
        names.setdefault(code, []).append(node.name)
    if not gain:
        return None
    code = min(gain, key=lambda each: (-gain[each], each))
    return Obstacle(domain, code, len(names[code]), names[code][0] if len(names[code]) == 1 else "")


def _bar_of(node: ShutNode) -> str:
    if any(isinstance(step, NodeReady) for step in node.steps):
        return str(Reason.NODE_NOT_READY)
    return str(Reason.CORDONED if any(isinstance(s, Uncordon) for s in node.steps) else Reason.TAINT)


def _reserved_in(decision: Decision, domain: str) -> Obstacle | None:
    """The reservation for others that keeps members off most nodes."""
    (count,) = (count for count in decision.domains if count.domain == domain)
    held = {
        code.partition(":")[2]: nodes
        for code, nodes in count.causes
        if nodes and code.startswith(f"{RESERVED}:")
    }
    if not held or not count.short:
        return None
    name = min(held, key=lambda each: (-held[each], each))
    return Obstacle(domain, RESERVED, held[name], name)


def _held_by(look: Outlook, domain: str) -> Obstacle | None:
    """The other group with most pods in the domain."""
    nodes: dict[str, set[str]] = {}
    pods: Counter[str] = Counter()
    for name in look.index.names[look.index.slice(look.index.number[domain])]:
        for pod in look.state.pods_on(name):
            if pod.group and pod.group_key != look.who.key:
                pods[pod.group_key] += 1
                nodes.setdefault(pod.group_key, set()).add(name)
    if not pods:
        return None
    group = min(pods, key=lambda each: (-pods[each], each))
    return Obstacle(domain, "group", len(nodes[group]), group)
