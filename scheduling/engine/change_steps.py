"""The single changes that can help a waiting group, what each does to a state, and what it costs.

Codes and numbers only: sentences are made in ``wording/changes.py``; ``to_json`` is what a scenario takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import count as count_from
from itertools import islice
from typing import Any, ClassVar

from scheduling.engine.model import Node, Pod, Taint, Toleration
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState

HOSTNAME = "kubernetes.io/hostname"
"""The label that names the node itself: a copy of a node carries another value; nobody sets it by hand."""

_HEALTH_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""What the node controller puts on a node that is not ready, and takes away when it is again."""


@dataclass(frozen=True, slots=True)
class Uncordon:
    """The node may be used again."""

    code: ClassVar[str] = "uncordon"
    node: str

    def apply(self, state: ClusterState, key: str) -> None:
        state.set_node(replace(state.nodes[self.node], unschedulable=False))


@dataclass(frozen=True, slots=True)
class NodeReady:
    """The node comes back, without the taints that said it was away."""

    code: ClassVar[str] = "node_ready"
    node: str

    def apply(self, state: ClusterState, key: str) -> None:
        state.set_node(recovered(state.nodes[self.node]))


@dataclass(frozen=True, slots=True)
class Tolerate:
    """The members to be placed tolerate one taint, this value and effect only."""

    code: ClassVar[str] = "tolerate"
    key: str
    value: str
    effect: str

    @property
    def taint(self) -> Taint:
        return Taint(self.key, self.value, self.effect)

    def apply(self, state: ClusterState, key: str) -> None:
        more = Toleration(self.key, "Equal", self.value, self.effect)
        for pod in roster(state, key).waiting:
            wanted = pod.shape.eligibility
            wanted = replace(wanted, tolerations=(*wanted.tolerations, more))
            state.set_pod(replace(pod, shape=replace(pod.shape, eligibility=wanted)))


@dataclass(frozen=True, slots=True)
class LabelNode:
    """A node that is in no domain gets the topology key with the value of one."""

    code: ClassVar[str] = "label_node"
    node: str
    key: str
    value: str

    def apply(self, state: ClusterState, key: str) -> None:
        node = state.nodes[self.node]
        labels = tuple(sorted({**dict(node.labels), self.key: self.value}.items()))
        state.set_node(replace(node, labels=labels))


@dataclass(frozen=True, slots=True)
class AddNodes:
    """``count`` nodes more in the domain, each a copy of ``like``: empty, ready and not cordoned."""

    code: ClassVar[str] = "add_nodes"
    domain: str
    like: str
    count: int

    def apply(self, state: ClusterState, key: str) -> None:
        model = replace(recovered(state.nodes[self.like]), unschedulable=False)
        for name in new_names(self.like, self.count, state.nodes.__contains__):
            state.set_node(replace(named(model, name), uid=name))


@dataclass(frozen=True, slots=True)
class ReleaseReservation:
    """What a reservation holds for somebody else is free for everybody."""

    code: ClassVar[str] = "release_reservation"
    name: str
    holder_kind: str
    holder: str

    def apply(self, state: ClusterState, key: str) -> None:
        state.unreserve(self.name)


@dataclass(frozen=True, slots=True)
class EndGroup:
    """Another group ends and its pods go. ``members``, ``gpus``: what that disturbs, as it is on nodes now.
    ``above``: its priority is higher than that of the group that waits.
    """

    code: ClassVar[str] = "end_group"
    group: str
    priority: int
    above: bool
    members: int
    gpus: int

    def apply(self, state: ClusterState, key: str) -> None:
        for pod in state.pods_naming(self.group):
            state.remove_pod(pod.uid)
        group = state.groups.get(self.group)
        if group is not None:
            state.close_group(self.group, group.uid)


@dataclass(frozen=True, slots=True)
class NewGeneration:
    """The group is ended and submitted again, with the same members and ``min_count``: none of them is bound.
    ``was``: minCount now. ``bound``: members that lose their node by it.
    """

    code: ClassVar[str] = "new_generation"
    min_count: int
    was: int
    bound: int

    def apply(self, state: ClusterState, key: str) -> None:
        who = roster(state, key)
        group = state.groups[key]
        members = (*who.bound, *who.waiting, *who.gated)
        for pod in state.pods_naming(key):
            state.remove_pod(pod.uid)
        state.close_group(key, group.uid)
        state.set_group(
            replace(
                group,
                uid=f"{group.uid}~",
                generation=group.generation + 1,
                supersedes=group.uid,
                min_count=self.min_count,
            )
        )
        for pod in members:
            state.set_pod(replace(pod, uid=f"{pod.uid}~", node="", phase="Pending", terminating=False))


@dataclass(frozen=True, slots=True)
class Ungate:
    """So many members have their scheduling gates taken off."""

    code: ClassVar[str] = "ungate"
    count: int

    def apply(self, state: ClusterState, key: str) -> None:
        for pod in roster(state, key).gated[: self.count]:
            state.set_pod(replace(pod, gated=False))


@dataclass(frozen=True, slots=True)
class AddMembers:
    """So many members are made that are missing, each like the last one there is."""

    code: ClassVar[str] = "add_members"
    count: int

    def apply(self, state: ClusterState, key: str) -> None:
        who = roster(state, key)
        model = (*who.gated, *who.bound, *who.waiting)[-1]
        for name in new_member_names(state, model, self.count):
            uid = f"{model.uid}~{name.rpartition('-')[2]}"
            state.set_pod(
                replace(model, name=name, uid=uid, node="", phase="Pending", gated=False, terminating=False)
            )


Step = (
    Uncordon
    | NodeReady
    | Tolerate
    | LabelNode
    | AddNodes
    | ReleaseReservation
    | EndGroup
    | NewGeneration
    | Ungate
    | AddMembers
)

_EASIEST_FIRST: tuple[type[Step], ...] = (
    Ungate,
    AddMembers,
    Uncordon,
    NewGeneration,
    LabelNode,
    Tolerate,
    NodeReady,
    AddNodes,
    ReleaseReservation,
    EndGroup,
)
"""Of changes that disturb equally much, the one that is done most easily first."""


def new_names(stem: str, count: int, taken: Callable[[str], bool]) -> Iterator[str]:
    """So many names for things like the one called ``stem``, none of which is taken."""
    free = (name for number in count_from(1) if not taken(name := f"{stem}-new-{number}"))
    return islice(free, count)


def new_member_names(state: ClusterState, model: Pod, count: int) -> Iterator[str]:
    """For members like that one."""
    return new_names(model.name, count, lambda name: state.pod_uid(f"{model.namespace}/{name}") is not None)


def named(node: Node, name: str) -> Node:
    """The node under another name, which its label tells too."""
    labels = tuple((label, name if label == HOSTNAME else value) for label, value in node.labels)
    return replace(node, name=name, labels=labels)


def recovered(node: Node) -> Node:
    """The node ready again."""
    return replace(
        node, ready=True, taints=tuple(taint for taint in node.taints if taint.key not in _HEALTH_TAINTS)
    )


def applied(state: ClusterState, key: str, steps: tuple[Step, ...]) -> ClusterState:
    """A fork with the steps done, one after the other; ``state`` is not changed."""
    ahead = state.fork()
    for step in steps:
        step.apply(ahead, key)
    return ahead


def cost(steps: tuple[Step, ...]) -> tuple[int, ...]:
    """The order of change sets, least first: changes to be made (n nodes are n), groups of higher priority
    ended, members disturbed, GPUs disturbed, and how hard the hardest step is to do.
    """
    return (
        sum(step.count if isinstance(step, AddNodes) else 1 for step in steps),
        sum(isinstance(step, EndGroup) and step.above for step in steps),
        sum(_disturbed(step) for step in steps),
        sum(step.gpus for step in steps if isinstance(step, EndGroup)),
        max((_EASIEST_FIRST.index(type(step)) for step in steps), default=0),
    )


def _disturbed(step: Step) -> int:
    if isinstance(step, EndGroup):
        return step.members
    return step.bound if isinstance(step, NewGeneration) else 0


def gpus(pods: tuple[Pod, ...]) -> int:
    """Devices of resources named ``.../gpu`` that the pods request."""
    return sum(gpus_of(pod.shape.requests) for pod in pods)


def gpus_of(amounts: Iterable[tuple[str, int]]) -> int:
    """Devices of resources named ``.../gpu`` in such amounts."""
    return sum(amount for name, amount in amounts if name.endswith("/gpu"))


def to_json(step: Step) -> dict[str, Any]:
    """The step as JSON values: ``step`` is its code, the rest its fields."""
    return {"step": step.code, **asdict(step)}
