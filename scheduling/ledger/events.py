"""Every event the log can hold: one frozen dataclass each, a fact in the past tense.

``VERSION`` is the schema version written with new events; ``SUBJECT`` names the kind of object it is about,
for filters. ``WAKES`` marks events that could let a waiting group go on, so that a cycle is started after the
commit. Bodies hold integers, strings, booleans and lists of them; engine objects are encoded by ``codec.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Self, TypeVar

from scheduling.engine.model import Node, Pod, PodGroup, Workload, altered
from scheduling.engine.turns import LostTo


@dataclass(frozen=True, slots=True)
class FieldsOf:
    """Marks a tuple of (field, new value) of an engine object, sorted by field; the log keeps nothing else of
    it.
    """

    kind: type[Node] | type[Pod] | type[PodGroup]


NodeChanges = Annotated[tuple[tuple[str, Any], ...], FieldsOf(Node)]
PodChanges = Annotated[tuple[tuple[str, Any], ...], FieldsOf(Pod)]
PodGroupChanges = Annotated[tuple[tuple[str, Any], ...], FieldsOf(PodGroup)]


_Object = TypeVar("_Object", Node, Pod, PodGroup)


def _differences(old: _Object, new: _Object, identity: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """The fields of ``new`` that differ from ``old``; ValueError when the two are not the same object."""
    for name in identity:
        if getattr(old, name) != getattr(new, name):
            raise ValueError(
                f"{type(old).__name__} {name} cannot change from {getattr(old, name)!r} "
                f"to {getattr(new, name)!r}: that is another object"
            )
    pairs = ((field.name, getattr(new, field.name)) for field in fields(new))
    return tuple(sorted((name, value) for name, value in pairs if value != getattr(old, name)))


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""

    VERSION: ClassVar[int] = 1
    SUBJECT: ClassVar[str] = "cluster"
    WAKES: ClassVar[bool] = False


# ---------------------------------------------------------------- cluster


@dataclass(frozen=True, slots=True)
class ClusterRegistered(Event):
    """``gates``: (name, on) pairs; ``mode``: simulated or observed; ``kubernetes_version``: "" when not
    told.
    """

    name: str
    mode: str
    gates: tuple[tuple[str, bool], ...]
    kubernetes_version: str = ""


@dataclass(frozen=True, slots=True)
class ClusterModeChanged(Event):
    WAKES: ClassVar[bool] = True
    mode: str


@dataclass(frozen=True, slots=True)
class FeatureGateChanged(Event):
    WAKES: ClassVar[bool] = True
    gate: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class SnapshotImported(Event):
    """Written last in the batch of an import that changed something.

    ``sha256``: of the input as given. ``complete``: kinds for which absence removed objects. ``accepted`` and
    ``ignored``: (kind, count). ``refused``: objects left out by a partial import, (kind, namespace/name,
    path, message).
    """

    sha256: str
    complete: tuple[str, ...]
    accepted: tuple[tuple[str, int], ...]
    ignored: tuple[tuple[str, int], ...]
    refused: tuple[tuple[str, str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class EventsArchived(Event):
    """The events ``first`` to ``last`` are in a file, and are taken out of the database after this.

    ``recorded_first`` and ``recorded_last``: when these two were recorded, in milliseconds. ``hash``: of the
    last one, in hexadecimal; what follows it stays and goes on from there. ``size``: of the file, in bytes;
    ``sha256``: of the file. It wakes everybody, because cycles cannot ask any more which of the archived
    events woke whom.
    """

    WAKES: ClassVar[bool] = True
    first: int
    last: int
    recorded_first: int
    recorded_last: int
    hash: str
    file: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class EventsRestored(Event):
    """The events ``first`` to ``last`` are in the database again, from this file, hash by hash."""

    first: int
    last: int
    file: str
    sha256: str


# ---------------------------------------------------------------- nodes


@dataclass(frozen=True, slots=True)
class NodeAdded(Event):
    """Version 2: a node may have NUMA zones."""

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "node"
    WAKES: ClassVar[bool] = True
    node: Node


@dataclass(frozen=True, slots=True)
class NodeUpdated(Event):
    """What changed of a node, and only that. Made with ``between``, used with ``changed``. Version 2: its
    NUMA zones too.
    """

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "node"
    WAKES: ClassVar[bool] = True
    name: str
    uid: str
    changes: NodeChanges

    @classmethod
    def between(cls, old: Node, new: Node) -> Self | None:
        """The event that turns ``old`` into ``new``; None when they are equal; ValueError for another
        node.
        """
        changes = _differences(old, new, ("name", "uid"))
        return cls(new.name, new.uid, changes) if changes else None

    def changed(self, old: Node) -> Node:
        return altered(old, self.changes)


@dataclass(frozen=True, slots=True)
class NodeRemoved(Event):
    SUBJECT: ClassVar[str] = "node"
    WAKES: ClassVar[bool] = True
    name: str
    uid: str


# ---------------------------------------------------------------- workloads


@dataclass(frozen=True, slots=True)
class WorkloadAdded(Event):
    """A Workload as first seen, or seen again with other templates."""

    SUBJECT: ClassVar[str] = "workload"
    workload: Workload


@dataclass(frozen=True, slots=True)
class PodGroupCreated(Event):
    SUBJECT: ClassVar[str] = "podgroup"
    WAKES: ClassVar[bool] = True
    group: PodGroup


@dataclass(frozen=True, slots=True)
class PodGroupUpdated(Event):
    """What Kubernetes 1.37 lets change (minCount), seen from a cluster; our own commands make generations."""

    SUBJECT: ClassVar[str] = "podgroup"
    WAKES: ClassVar[bool] = True
    namespace: str
    name: str
    uid: str
    generation: int
    changes: PodGroupChanges

    @classmethod
    def between(cls, old: PodGroup, new: PodGroup) -> Self | None:
        """As NodeUpdated.between; another uid or generation is another PodGroup."""
        changes = _differences(old, new, ("namespace", "name", "uid", "generation"))
        return cls(new.namespace, new.name, new.uid, new.generation, changes) if changes else None

    def changed(self, old: PodGroup) -> PodGroup:
        return altered(old, self.changes)


@dataclass(frozen=True, slots=True)
class PodGroupClosed(Event):
    """``reason``: ended (by a person), removed (gone from the cluster), superseded (by a new generation)."""

    SUBJECT: ClassVar[str] = "podgroup"
    WAKES: ClassVar[bool] = True
    namespace: str
    name: str
    uid: str
    generation: int
    reason: str


@dataclass(frozen=True, slots=True)
class PodAdded(Event):
    """``replaces``: uid of the lost member that the workload controller made this one for, "" otherwise."""

    SUBJECT: ClassVar[str] = "pod"
    WAKES: ClassVar[bool] = True
    pod: Pod
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class PodUpdated(Event):
    """What changed of a pod, and only that (as NodeUpdated)."""

    SUBJECT: ClassVar[str] = "pod"
    WAKES: ClassVar[bool] = True
    namespace: str
    name: str
    uid: str
    changes: PodChanges

    @classmethod
    def between(cls, old: Pod, new: Pod) -> Self | None:
        """As NodeUpdated.between."""
        changes = _differences(old, new, ("namespace", "name", "uid"))
        return cls(new.namespace, new.name, new.uid, changes) if changes else None

    def changed(self, old: Pod) -> Pod:
        return altered(old, self.changes)


@dataclass(frozen=True, slots=True)
class PodRemoved(Event):
    """``node`` and ``group`` as they were. ``reason``: removed (absent from a complete import), deleted (by a
    person), node_lost, group_ended."""

    SUBJECT: ClassVar[str] = "pod"
    WAKES: ClassVar[bool] = True
    namespace: str
    name: str
    uid: str
    node: str
    group: str
    reason: str


# ---------------------------------------------------------------- decisions
#
# Each tells the ``engine`` that decided (``engine.version``) and ``decided_on``, the seq of the state that
# its cycle decided on; what lies between that and the event is of the same cycle. ``decided_on`` is None in
# the versions before the newest one of each type, which did not tell.


@dataclass(frozen=True, slots=True)
class PodGroupPlaced(Event):
    """The whole assignment in one event: atomic by construction.

    ``assignments``: (pod uid, pod name, node), sorted by pod name. ``fits``: members in the domain after
    this, bound before included; ``need``: minCount; ``members``: how many exist. ``enforced``: whether the
    one-domain law held (gates on and a constraint). ``shapes``: per request shape (members, on nodes after
    this).
    """

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    profile: str
    topology_key: str
    enforced: bool
    domain: str
    need: int
    members: int
    fits: int
    assignments: tuple[tuple[str, str, str], ...]
    shapes: tuple[tuple[int, int], ...] = ()
    engine: str = "1"
    decided_on: int | None = None


@dataclass(frozen=True, slots=True)
class DomainTable:
    """Per-domain counts of one decision as parallel columns, best domain first.

    ``reasons`` are indices into ``codes``; ``short_of`` per domain (code index of the resource, amount)
    pairs; ``causes`` per domain (code index, node count) pairs.
    """

    codes: tuple[str, ...]
    domains: tuple[str, ...]
    nodes: tuple[int, ...]
    eligible: tuple[int, ...]
    fits: tuple[int, ...]
    reasons: tuple[int, ...]
    never: tuple[int, ...]
    short_of: tuple[tuple[tuple[int, int], ...], ...]
    causes: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class PodGroupUnschedulable(Event):
    """Evaluated and not placed; written again only when the verdict or the best domain with its numbers
    changed.

    ``verdict``: proved_infeasible or not_found. ``domain``: the best domain (or the one that bound members
    pin). ``funnel``: all domains, labelled, eligible, one member fits, minCount fit. ``shapes``: (members, on
    nodes). ``lost_to``: the group that was placed in the same cycle, on the room that this one fitted in
    until then; None when there is none, and in version 1, which did not tell.
    """

    VERSION: ClassVar[int] = 3
    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    profile: str
    topology_key: str
    enforced: bool
    verdict: str
    reason: str
    domain: str
    need: int
    members: int
    bound: int
    fits: int
    short_of: tuple[tuple[str, int], ...]
    funnel: tuple[int, ...]
    unlabelled_nodes: int
    fits_across_domains: bool
    unmodelled: tuple[str, ...]
    table: DomainTable
    shapes: tuple[tuple[int, int], ...] = ()
    engine: str = "1"
    lost_to: LostTo | None = None
    decided_on: int | None = None


@dataclass(frozen=True, slots=True)
class PodGroupHeld(Event):
    """Not evaluated: fewer members than minCount, or the PodGroup is missing (``uid`` "" then).

    ``bound``: members that are on nodes all the same.
    """

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    reason: str
    need: int
    members: int
    bound: int = 0
    engine: str = "1"
    decided_on: int | None = None


@dataclass(frozen=True, slots=True)
class PodGroupConflicted(Event):
    """The facts contradict each other, nothing is guessed. ``domains``: where bound members lie, sorted;
    ``nodes``: the nodes that are gone or unlabelled."""

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    reason: str
    domains: tuple[str, ...]
    nodes: tuple[str, ...]
    need: int
    members: int
    bound: int
    engine: str = "1"
    decided_on: int | None = None


@dataclass(frozen=True, slots=True)
class DomainLost(Event):
    """No node carries the value ``domain`` of the key any more, under a group that was in it: nothing of this
    generation is placed elsewhere until one does. Written before the decision. ``nodes``: where its members
    were, sorted.
    """

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    topology_key: str
    domain: str
    nodes: tuple[str, ...]
    engine: str = "1"
    decided_on: int | None = None


@dataclass(frozen=True, slots=True)
class PodGroupSettled(Event):
    """The facts of a conflicted group agree again, and nothing of it is left to place: no decision stands."""

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    need: int
    members: int
    bound: int
    engine: str = "1"
    decided_on: int | None = None


@dataclass(frozen=True, slots=True)
class PlacementForecast(Event):
    """Observed clusters: what our cycle would do, and did not. Fields as in PodGroupPlaced."""

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    profile: str
    topology_key: str
    enforced: bool
    domain: str
    need: int
    members: int
    fits: int
    assignments: tuple[tuple[str, str, str], ...]
    shapes: tuple[tuple[int, int], ...] = ()
    engine: str = "1"
    decided_on: int | None = None


Decided = (
    PodGroupPlaced
    | PodGroupUnschedulable
    | PodGroupHeld
    | PodGroupConflicted
    | PodGroupSettled
    | DomainLost
    | PlacementForecast
)
"""What cycles write, and nobody else."""


CATALOGUE: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (
        ClusterRegistered,
        ClusterModeChanged,
        FeatureGateChanged,
        SnapshotImported,
        EventsArchived,
        EventsRestored,
        NodeAdded,
        NodeUpdated,
        NodeRemoved,
        WorkloadAdded,
        PodGroupCreated,
        PodGroupUpdated,
        PodGroupClosed,
        PodAdded,
        PodUpdated,
        PodRemoved,
        PodGroupPlaced,
        PodGroupUnschedulable,
        PodGroupHeld,
        PodGroupConflicted,
        PodGroupSettled,
        DomainLost,
        PlacementForecast,
    )
}
"""Every event type by the name it has in the log."""
