"""The workload controller of a simulated cluster: members are made, and a lost one is made anew. Pure."""

from __future__ import annotations

from dataclasses import replace

from scheduling.engine.model import Pod, PodGroup
from scheduling.engine.state import ClusterState
from scheduling.ledger.events import Event, NodeRemoved, PodAdded, PodGroupClosed, PodRemoved
from scheduling.services.problems import FORBIDDEN, NOT_FOUND, Problem, Refused


def minted_uid(seq: int, kind: str, *name: str) -> str:
    """The uid of an object whose manifest has none: the same for the same command on the same state.

    Namespace and name are joined by a dot, which no namespace can hold, so two names never make one uid.
    """
    return f"tas-{seq + 1}-{kind}-{'.'.join(name)}"


def replacement(pod: Pod, seq: int, now_ms: int) -> Pod:
    """The member that takes the place of a lost one: same name and shape, another uid, on no node."""
    return replace(
        pod,
        uid=minted_uid(seq, "pod", pod.namespace, pod.name),
        node="",
        phase="Pending",
        terminating=False,
        created=now_ms,
    )


def only_simulated(state: ClusterState, instead: str) -> None:
    """Raises Refused in an observed cluster, whose objects are its own. ``instead``: what to do there."""
    if state.mode != "simulated":
        raise Refused(
            [Problem("Cluster", "", "", "mode", FORBIDDEN, f"an observed cluster is only read: {instead}")]
        )


def open_group(state: ClusterState, key: str) -> PodGroup:
    """The open generation. Raises Refused when there is none."""
    group = state.groups.get(key)
    if group is None:
        namespace, _, name = key.partition("/")
        raise Refused(
            [Problem("PodGroup", namespace, name, "", NOT_FOUND, f"there is no open PodGroup {key}")]
        )
    return group


def end_group_events(state: ClusterState, key: str) -> list[Event]:
    """Every pod of the group goes, then the group. Raises Refused when no such group is open."""
    only_simulated(state, "delete the PodGroup in the cluster")
    group = open_group(state, key)
    return closing_events(state, group, pods="group_ended", why="ended")


def closing_events(state: ClusterState, group: PodGroup, *, pods: str, why: str) -> list[Event]:
    """Every pod of the open generation goes for the reason ``pods``, then the generation for ``why``."""
    return [
        *(_removed(pod, pods) for pod in state.pods_naming(group.key)),
        PodGroupClosed(group.namespace, group.name, group.uid, group.generation, why),
    ]


def delete_member_events(state: ClusterState, uid: str, now_ms: int) -> list[Event]:
    """The member goes; unless it has finished, or its group is not open, another is made for it.

    Raises Refused for an unknown uid and for a pod that is no member.
    """
    only_simulated(state, "delete the pod in the cluster")
    pod = state.pods.get(uid)
    if pod is None:
        raise Refused([Problem("Pod", "", "", "metadata.uid", NOT_FOUND, f"there is no pod with uid {uid}")])
    if not pod.group:
        message = "it belongs to no PodGroup"
        raise Refused([Problem("Pod", pod.namespace, pod.name, "spec.schedulingGroup", FORBIDDEN, message)])
    events: list[Event] = [_removed(pod, "deleted")]
    if pod.group_key in state.groups and not pod.finished:
        events.append(PodAdded(replacement(pod, state.seq, now_ms), replaces=pod.uid))
    return events


def lose_node_events(state: ClusterState, name: str, now_ms: int) -> list[Event]:
    """The node goes and all pods on it with it; members of open groups are made anew, on no node. Raises
    Refused for an unknown node.
    """
    only_simulated(state, "delete the node in the cluster")
    node = state.nodes.get(name)
    if node is None:
        raise Refused([Problem("Node", "", name, "", NOT_FOUND, f"there is no node {name}")])
    events: list[Event] = []
    for pod in state.pods_on(name):
        events.append(_removed(pod, "node_lost"))
        if pod.group_key in state.groups:
            events.append(PodAdded(replacement(pod, state.seq, now_ms), replaces=pod.uid))
    return [*events, NodeRemoved(name, node.uid)]


def _removed(pod: Pod, reason: str) -> PodRemoved:
    return PodRemoved(pod.namespace, pod.name, pod.uid, pod.node, pod.group, reason)
