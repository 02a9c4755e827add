"""Which groups wait for a decision, and in what order they get one.

Order: priority descending (the group's own, else the highest of its members); then groups below minCount
that already have members on nodes, since what those hold is wasted until the rest is back; then by creation
of the group, then by key. So a gang that lost a member goes before younger groups of its priority, and
never before a higher one.

The priority of its queue goes before all that (0 without a defined queue). Of one such priority the groups
of fair queues share: after the groups of strict queues and without a queue, each next one is the first of the
fair queue that has the least part of its quota, what its groups before in the order ask for counted as had.

kube-scheduler's order, which its profiles follow: priority descending, then the moment at which the group
could first be decided (the PodGroup and minCount members existed), then by key. So of two gangs created side
by side the one that reached its quorum first goes first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from scheduling.engine.candidates import conflict
from scheduling.engine.change_steps import gpus
from scheduling.engine.profiles.releases import RELEASES
from scheduling.engine.queues import Queue
from scheduling.engine.quota import queue_of, used
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
    found = [(order(who), who.key) for who in rosters if _waits(state, who)]
    keys = [key for _, key in sorted(found)]
    if profile in RELEASES or not state.records.of(Queue):
        return keys
    return list(_by_queue(state, keys))


def _by_queue(state: ClusterState, keys: Iterable[str]) -> Iterator[str]:
    """Keys in the order without queues, as their queues have it."""
    levels: defaultdict[int, list[str]] = defaultdict(list)
    queues: dict[str, Queue] = {}
    for key in keys:
        queue = queue_of(state, state.groups.get(key))
        levels[queue.priority if queue else 0].append(key)
        if queue is not None and queue.order == "fair" and queue.quota:
            queues[key] = queue
    for priority in sorted(levels, reverse=True):
        yield from (key for key in levels[priority] if key not in queues)
        fair: defaultdict[Queue, list[str]] = defaultdict(list)
        for key in levels[priority]:
            if key in queues:
                fair[queues[key]].append(key)
        yield from _shared(state, fair)


def _shared(state: ClusterState, fair: dict[Queue, list[str]]) -> Iterator[str]:
    had = {queue: used(state, queue.name) for queue in fair}
    while fair:
        queue = min(fair, key=lambda each: (Fraction(had[each], each.quota or 1), each.name))
        key = fair[queue].pop(0)
        had[queue] += gpus(roster(state, key).waiting)
        if not fair[queue]:
            del fair[queue]
        yield key


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
    return is_conflicted(state, who.key) or conflict(state, who) is not None


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
