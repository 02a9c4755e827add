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
    """``bound``: on a node and unfinished, terminating ones too since they hold their room until they are
    gone. ``waiting``: unbound and free to be placed, in member order. ``gated``: unbound behind scheduling
    gates.

    An unbound member whose deletion has begun is none of these: it will never be placed (as upstream skips
    it). ``need``: minCount, 1 for the basic policy and for a group whose PodGroup is missing.
    """

    key: str
    group: PodGroup | None
    bound: tuple[Pod, ...]
    waiting: tuple[Pod, ...]
    gated: tuple[Pod, ...]

    @property
    def need(self) -> int:
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
    def degraded(self) -> bool:
        """Fewer than minCount on nodes, yet some."""
        return 0 < len(self.bound) < self.need

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
    bound: list[Pod] = []
    waiting: list[Pod] = []
    gated: list[Pod] = []
    for pod in state.members(key):
        if pod.node:
            bound.append(pod)
        elif pod.terminating:
            continue
        elif pod.gated:
            gated.append(pod)
        else:
            waiting.append(pod)
    return Roster(key, state.groups.get(key), tuple(bound), tuple(waiting), tuple(gated))
