"""Who belongs to a group right now, sorted by what may happen to them."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.model import Eligibility, Pod, PodGroup
from scheduling.engine.state import ClusterState


@dataclass(frozen=True, slots=True)
class Kind:
    """Members of one shape, in member order: any of them may stand for any other."""

    requests: tuple[tuple[str, int], ...]
    eligibility: Eligibility
    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class Roster:
    """``bound``: on a node and unfinished, terminating ones too: they hold their room until they are gone.
    ``waiting``: unbound and free to be placed, in member order. ``gated``: unbound behind scheduling gates.
    ``succeeded``: how many have ended well; they hold nothing and are no members any more, and the group is
    not short because of them.

    ``pairwise``: whether a waiting member has terms or host ports; ``faces``: one of each set of labels.

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
    pairwise: bool
    faces: tuple[Pod, ...]

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
    def unmodelled(self) -> tuple[str, ...]:
        parts = {part for pod in (*self.bound, *self.waiting) for part in pod.shape.unmodelled}
        return tuple(sorted(parts | set(self.group.unmodelled if self.group else ())))

    def kinds(self) -> tuple[Kind, ...]:
        """The waiting members by shape, in order of the first member of each."""
        found: dict[tuple[tuple[tuple[str, int], ...], Eligibility], list[Pod]] = {}
        for pod in self.waiting:
            found.setdefault((pod.shape.requests, pod.shape.eligibility), []).append(pod)
        return tuple(Kind(requests, wanted, tuple(pods)) for (requests, wanted), pods in found.items())


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
        pairwise=any(pod.shape.pairwise for pod in waiting),
        faces=tuple({pod.labels: pod for pod in reversed(waiting)}.values()),
    )
