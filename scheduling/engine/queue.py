"""Which groups wait for a decision, and in what order they get one.

Order: priority descending (the group's own, else the highest of its members); then groups below minCount
that already have members on nodes, since what those hold is wasted until the rest is back; then by creation
of the group, then by key. So a gang that lost a member goes before younger groups of its priority, and
never before a higher one.

kube-scheduler's order, which its profiles follow: priority descending, then the moment at which the group
could first be decided (the PodGroup and minCount members existed), then by key. So of two gangs created side
by side the one that reached its quorum first goes first.
"""

from __future__ import annotations

from collections.abc import Callable

from scheduling.engine.candidates import Conflict, candidates
from scheduling.engine.profiles.releases import RELEASES
from scheduling.engine.reasons import Verdict
from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState


def waiting(state: ClusterState, profile: str = "exact") -> list[str]:
    """Keys of the groups to decide, first one first, in the order of the profile.

    A group waits when a member can be placed, or when it is short of minCount (then the verdict says what
    is missing), or when its PodGroup is missing, or when nothing of it is left to place but its facts
    contradict each other, or did when it was last decided. A group whose pods have all finished does not.
    """
    rosters = (roster(state, key) for key in state.group_keys())
    order: Callable[[Roster], tuple[int, int, int]] = _quorum_order if profile in RELEASES else _order
    queue = [(order(who), who.key) for who in rosters if _waits(state, who)]
    return [key for _, key in sorted(queue)]


def is_conflicted(state: ClusterState, key: str) -> bool:
    """Whether the last decision about the group was that its facts contradict each other."""
    last = state.verdicts.get(key)
    return last is not None and last.verdict == Verdict.CONFLICTED


def _waits(state: ClusterState, who: Roster) -> bool:
    if who.waiting:
        return True
    if who.known == 0:
        return who.group is not None and who.pods == 0
    if who.group is None or not who.running:
        return True
    return is_conflicted(state, who.key) or isinstance(candidates(state, who), Conflict)


def _order(who: Roster) -> tuple[int, int, int]:
    created = who.group.created if who.group is not None else _nth_created(who, 1)
    return (-who.priority, not who.degraded, created)


def _quorum_order(who: Roster) -> tuple[int, int, int]:
    """A group that is short of minCount is held, wherever it stands in the queue."""
    quorum = _nth_created(who, who.need)
    return (-who.priority, 0, max(quorum, who.group.created) if who.group is not None else quorum)


def _nth_created(who: Roster, number: int) -> int:
    """When that many members existed, the last one's time when there are fewer, 0 without any."""
    times = sorted(pod.created for pod in (*who.bound, *who.waiting, *who.gated))
    return times[min(number, len(times)) - 1] if times else 0
