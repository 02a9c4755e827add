"""Who belongs to a group right now, sorted by what may happen to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from scheduling.engine.model import Eligibility, Pod, PodGroup
from scheduling.engine.state import ClusterState

T = TypeVar("T")

Requests = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """Members of one shape, in member order: any of them may stand for any other."""

    requests: Requests
    eligibility: Eligibility
    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class Roster:
    """``bound``: on a node and unfinished, terminating ones too: they hold their room until they are gone.
    ``waiting``: unbound and free to be placed, in member order. ``gated``: unbound behind scheduling gates.
    ``succeeded``: how many have ended well; they hold nothing and are no members any more, and the group is
    not short because of them.

    An unbound member is none of these when its deletion has begun (as upstream skips it) or when a newer
    pod has taken its name: it will never be placed.
    """

    key: str
    group: PodGroup | None
    bound: tuple[Pod, ...]
    waiting: tuple[Pod, ...]
    gated: tuple[Pod, ...]
    succeeded: int
    pods: int
    unfinished: int
    _asked: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def need(self) -> int:
        """minCount; 1 for the basic policy and while the PodGroup is missing."""
        return self.group.min_count if self.group is not None and self.group.policy == "gang" else 1

    @property
    def known(self) -> int:
        """Members that exist: bound, waiting and gated."""
        return len(self.bound) + len(self.waiting) + len(self.gated)

    @property
    def missing(self) -> int:
        """Members that must be placed in one cycle for it to be a success: up to minCount, and at least
        one.
        """
        return max(1, self.need - len(self.bound))

    @property
    def running(self) -> bool:
        """As many members as minCount are on nodes, those counted in that have ended well meanwhile."""
        return len(self.bound) >= self.need or (
            bool(self.bound) and len(self.bound) + self.succeeded >= self.need
        )

    @property
    def degraded(self) -> bool:
        """Some members are on nodes, and too few."""
        return bool(self.bound) and not self.running

    @property
    def priority(self) -> int:
        """The group's own, else the highest of its members."""
        if self.group is not None and self.group.priority is not None:
            return self.group.priority
        return max((pod.priority for pod in (*self.bound, *self.waiting, *self.gated)), default=0)

    @property
    def unmodelled(self) -> tuple[str, ...]:
        return self._once("unmodelled", self._unmodelled)

    @property
    def schedulers(self) -> frozenset[str]:
        """Names of the schedulers that the waiting members ask for."""
        return self._once("schedulers", lambda: frozenset(pod.scheduler_name for pod in self.waiting))

    @property
    def pairwise(self) -> bool:
        """Whether a waiting member has terms about other pods or host ports."""
        return self._once("pairwise", lambda: any(pod.shape.pairwise for pod in self.waiting))

    @property
    def faces(self) -> tuple[Pod, ...]:
        """One waiting member of each set of labels."""
        return self._once("faces", lambda: tuple({pod.labels: pod for pod in self.waiting}.values()))

    def about(self, what: str, as_of: object, make: Callable[[], T]) -> T:
        """What something beside the group has to do with its members, made again when ``as_of`` is another
        object.
        """
        known, found = self._asked.get(what, (None, None))
        if known is not as_of:
            found = make()
            self._asked[what] = as_of, found
        told: T = found
        return told

    def kinds(self) -> tuple[Kind, ...]:
        """The waiting members by shape, in order of the first member of each."""
        return self._once("kinds", self._kinds)

    def counts(self) -> tuple[tuple[Requests, int, int], ...]:
        """(requests, members, bound members) by what they request, sorted by it."""
        return self._once("counts", self._counts)

    def _once(self, name: str, make: Callable[[], T]) -> T:
        """Kept with the roster, which never changes: a decision must not cost more with every member."""
        if name not in self._asked:
            self._asked[name] = make()
        found: T = self._asked[name]
        return found

    def _unmodelled(self) -> tuple[str, ...]:
        parts = {part for pod in (*self.bound, *self.waiting) for part in pod.shape.unmodelled}
        return tuple(sorted(parts | set(self.group.unmodelled if self.group else ())))

    def _kinds(self) -> tuple[Kind, ...]:
        found: dict[tuple[Requests, Eligibility], list[Pod]] = {}
        for pod in self.waiting:
            found.setdefault((pod.shape.requests, pod.shape.eligibility), []).append(pod)
        return tuple(Kind(requests, wanted, tuple(pods)) for (requests, wanted), pods in found.items())

    def _counts(self) -> tuple[tuple[Requests, int, int], ...]:
        counts: dict[Requests, list[int]] = {}
        for pod in (*self.bound, *self.waiting, *self.gated):
            count = counts.setdefault(pod.shape.requests, [0, 0])
            count[0] += 1
            count[1] += pod.node != ""
        return tuple((requests, members, bound) for requests, (members, bound) in sorted(counts.items()))


def roster(state: ClusterState, key: str) -> Roster:
    """Sort the pods that name the group; kept with the state until one of them or the group changes.

    A group that nobody names and that is not open is empty, without PodGroup.
    """
    kept = state.rosters.get(key)
    if kept is None:
        kept = _sorted_out(state, key)
        if key in state.groups or kept.pods:
            state.rosters[key] = kept
    return kept


def _sorted_out(state: ClusterState, key: str) -> Roster:
    bound: list[Pod] = []
    waiting: list[Pod] = []
    gated: list[Pod] = []
    succeeded = 0
    pods = state.pods_naming(key)
    for pod in pods:
        if pod.finished:
            succeeded += pod.phase == "Succeeded"
        elif pod.node:
            bound.append(pod)
        elif pod.terminating or state.pod_uid(pod.key) != pod.uid:
            continue
        elif pod.gated:
            gated.append(pod)
        else:
            waiting.append(pod)
    return Roster(
        key=key,
        group=state.groups.get(key),
        bound=tuple(bound),
        waiting=tuple(waiting),
        gated=tuple(gated),
        succeeded=succeeded,
        pods=len(pods),
        unfinished=sum(not pod.finished for pod in pods),
    )
