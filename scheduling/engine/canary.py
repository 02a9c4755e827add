"""Canaries: some groups are held to one domain for a while, and judged, before all of them are.

``CanaryScope`` is all that decisions know of it: who is held although the gates are off, and who is not held
although others are. ``Canary`` is by what it is judged and how it stands, ``CanaryFacts`` what was counted in
its window. Times are milliseconds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scheduling.engine.model import PodGroup


class Means(StrEnum):
    """``SCOPE``: the gates stay off for everybody else. ``GATE``: the gates are on for the whole cluster
    while it runs, and the scope is only what is judged.
    """

    SCOPE = "scope"
    GATE = "gate"


class Approval(StrEnum):
    """What follows from a verdict happens by itself, or when a person says so."""

    AUTOMATIC = "automatic"
    ASK = "ask"


class Status(StrEnum):
    """``RUNNING``: its window is open. ``ASKING``: judged, and a person has to say what follows. ``KEPT``:
    its groups are held for good. The others are over, and nobody is held by it.
    """

    RUNNING = "running"
    ASKING = "asking"
    KEPT = "kept"
    ROLLED_BACK = "rolled_back"
    STOPPED = "stopped"


class Verdict(StrEnum):
    """Of a window, and of one limit in it: kept, broken, or not enough data to say either."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_ENOUGH_DATA = "not_enough_data"


class Criterion(StrEnum):
    """What a limit is about. ``WAIT_*``: milliseconds from when minCount members existed to when they were
    placed; ``WAIT_CONTROL``: the median in thousandths of the control's. ``PENDING``: groups that wait;
    ``PENDING_SHARE``: in thousandths of all. ``THROUGHPUT``: the median of what was measured, at least, in
    thousandths of steps or tokens per second; ``THROUGHPUT_CONTROL``: in thousandths of the control's, at
    least. ``ERRORS``: groups with an error.
    """

    WAIT_MEDIAN = "wait_median"
    WAIT_P95 = "wait_p95"
    WAIT_LONGEST = "wait_longest"
    WAIT_CONTROL = "wait_control"
    PENDING = "pending"
    PENDING_SHARE = "pending_share"
    THROUGHPUT = "throughput"
    THROUGHPUT_CONTROL = "throughput_control"
    ERRORS = "errors"


AGAINST_CONTROL = (Criterion.WAIT_CONTROL, Criterion.THROUGHPUT_CONTROL)

UNITS = ("steps", "tokens")
"""In which throughput is measured, each per second."""

MOST_SAMPLES = 2_000
"""Waits, errors and measurements that are kept of a window, each; what comes after is only counted."""

KEPT = 20
"""Canaries that are over and that a state remembers, the latest."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Groups of these namespaces and of these keys (namespace/name), or the whole cluster; both sorted."""

    namespaces: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    whole: bool = False

    def covers(self, group: PodGroup) -> bool:
        return self.whole or _among(self.namespaces, group.namespace) or _among(self.groups, group.key)

    def within(self, other: Scope) -> bool:
        """Whether the other one covers whatever this one does."""
        if self.whole or other.whole:
            return other.whole
        named = (key in other.groups or key.partition("/")[0] in other.namespaces for key in self.groups)
        return set(self.namespaces) <= set(other.namespaces) and all(named)


@dataclass(frozen=True, slots=True)
class CanaryScope:
    """Who is held to one domain by the canary ``id`` though the gates are off. ``exempt``: uids of
    generations that ran spread over domains when they came into a canary: they are held by nothing, gates or
    not. All sorted.
    """

    id: str
    namespaces: tuple[str, ...]
    groups: tuple[str, ...]
    exempt: tuple[str, ...] = ()

    def names(self, namespace: str, key: str) -> bool:
        return _among(self.namespaces, namespace) or _among(self.groups, key)


@dataclass(frozen=True, slots=True)
class Law:
    """Which groups are held to one domain. ``gates``: whether all gates are on."""

    gates: bool
    scopes: tuple[CanaryScope, ...] = ()

    def holds(self, namespace: str, key: str, uid: str) -> bool:
        """Whether a group that names a topology key is held to one domain of it."""
        return not self.exempted(uid) and (self.gates or self.canary(namespace, key) != "")

    def exempted(self, uid: str) -> bool:
        return any(_among(scope.exempt, uid) for scope in self.scopes)

    def canary(self, namespace: str, key: str) -> str:
        """The canary whose groups it is one of, "" for none."""
        return next((each.id for each in self.scopes if each.names(namespace, key)), "")


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that is allowed, of throughput the least."""

    criterion: str
    value: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One limit at the end of a window. ``measured``: None without data; ``groups``: of how many groups it
    tells; ``at_least``: some of them still waited, so that it can only be more. ``verdict``: a ``Verdict``.
    """

    criterion: str
    limit: int
    measured: int | None
    groups: int
    at_least: bool
    verdict: str


@dataclass(frozen=True, slots=True)
class Canary:
    """``stage``: number of the one of ``stages`` that runs, from 0. ``window``: how long each is judged;
    ``since`` and ``until``: the window that is open, or was last. ``seq``: of the event that started the
    canary; ``began``: of the one that began the stage or the window; ``judged``: of the last judgement, 0
    before. ``gates``: those that it switched on. ``verdict``, ``measured``: of the last judgement.
    """

    id: str
    means: str
    stages: tuple[Scope, ...]
    limits: tuple[Limit, ...]
    unit: str
    window: int
    approval: str
    started: int
    since: int
    until: int
    seq: int
    began: int
    gates: tuple[str, ...] = ()
    stage: int = 0
    status: str = Status.RUNNING.value
    judged: int = 0
    verdict: str = ""
    measured: tuple[Measured, ...] = ()

    @property
    def scope(self) -> Scope:
        return self.stages[self.stage]

    @property
    def next_scope(self) -> Scope | None:
        """Of the stage after this one, None when there is none."""
        return self.stages[self.stage + 1] if self.stage + 1 < len(self.stages) else None

    @property
    def undecided(self) -> bool:
        """Whether it is still to be judged, or to be said what follows."""
        return self.status in (Status.RUNNING, Status.ASKING)

    @property
    def in_force(self) -> bool:
        """Whether groups are held by it."""
        return self.undecided or self.status == Status.KEPT

    def limit(self, criterion: str) -> int | None:
        return next((each.value for each in self.limits if each.criterion == criterion), None)


@dataclass(frozen=True, slots=True)
class CanaryFacts:
    """What happened in the open window of the canary ``id``. ``waits``: (group key, milliseconds) of groups
    of the scope that were placed; ``control``: of the others with a constraint. ``more``: how many waits were
    not kept. ``errors``: (group key, what, seq of the event), one for each group of the scope: conflicted,
    domain_lost or deadline. ``throughput``: (group key, of the scope, thousandths per second), the last one
    measured of each.
    """

    id: str
    waits: tuple[tuple[str, int], ...] = ()
    control: tuple[tuple[str, int], ...] = ()
    more: int = 0
    errors: tuple[tuple[str, str, int], ...] = ()
    throughput: tuple[tuple[str, bool, int], ...] = ()


PARTS = (Scope, Limit, Measured)
"""What the records are made of."""


def the_undecided(canaries: Iterable[Canary]) -> Canary | None:
    """The one that runs or asks; there is never more than one."""
    return next((canary for canary in canaries if canary.undecided), None)


def _among(names: Sequence[str], name: str) -> bool:
    """Whether it is one of these, which are sorted and may be many."""
    place = bisect_left(names, name)
    return place < len(names) and names[place] == name
