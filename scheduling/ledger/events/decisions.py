"""What cycles decide.

Each event tells the ``engine`` that decided (``engine.version``) and ``decided_on``, the seq of the state
that its cycle decided on; what lies between that and the event is of the same cycle. ``decided_on`` is None
in the versions before the newest one of each type, which did not tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduling.engine.turns import LostTo
from scheduling.ledger.events.base import Event


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
class PodGroupOverQuota(Event):
    """Not evaluated: what is left of the GPU quota of its queue does not do for the members that are missing
    to minCount (at least one). ``used``, ``asked``: GPUs that members of the queue's groups have, and that
    those members ask for. ``bound``: members that are on nodes.
    """

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    queue: str
    quota: int
    used: int
    asked: int
    need: int
    members: int
    bound: int
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
    | PodGroupOverQuota
    | PodGroupConflicted
    | PodGroupSettled
    | DomainLost
    | PlacementForecast
)
"""What cycles write, and nobody else."""


EVENTS: tuple[type[Event], ...] = (
    PodGroupPlaced,
    PodGroupUnschedulable,
    PodGroupHeld,
    PodGroupOverQuota,
    PodGroupConflicted,
    PodGroupSettled,
    DomainLost,
    PlacementForecast,
)
