"""What of a queue's quota is used, and whom of a group it leaves room for.

A group is in the queue that its PodGroup names, as long as a queue of that name is defined. Without one it
has priority 0 and no quota.
"""

from __future__ import annotations

from typing import NamedTuple

from scheduling.engine.change_steps import gpus
from scheduling.engine.model import PodGroup
from scheduling.engine.queues import Queue, QuotaCount
from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState


class Allowance(NamedTuple):
    """``refused``: the numbers, when the quota keeps the group from being evaluated. ``uids``: of the waiting
    members that may be placed, None for all of them.
    """

    refused: QuotaCount | None = None
    uids: frozenset[str] | None = None


def queue_of(state: ClusterState, group: PodGroup | None) -> Queue | None:
    """The defined queue that the group is in."""
    if group is None or not group.queue:
        return None
    return state.records.of(Queue).get(group.queue)


def groups_in(state: ClusterState, name: str) -> list[str]:
    """Keys of the open groups that name the queue, sorted."""
    return sorted(key for key, group in state.groups.items() if group.queue == name)


def used(state: ClusterState, name: str) -> int:
    """GPUs that members of the queue's groups have on nodes."""
    return sum(gpus(roster(state, key).bound) for key in groups_in(state, name))


def allowance(state: ClusterState, who: Roster) -> Allowance:
    """Whom of the group the quota of its queue leaves room for.

    All waiting members when they fit what is left of it; else those that ask for fewest GPUs first, then in
    member order, as long as they bring the group to minCount; else nobody.
    """
    queue = queue_of(state, who.group)
    if queue is None or queue.quota is None or not who.waiting:
        return Allowance()
    taken = used(state, queue.name)
    left = queue.quota - taken
    asked = {pod.uid: gpus((pod,)) for pod in who.waiting}
    if sum(asked.values()) <= left:
        return Allowance()
    cheapest = sorted(asked, key=asked.__getitem__)
    needed = sum(asked[uid] for uid in cheapest[: who.missing])
    if needed > left:
        return Allowance(QuotaCount(queue.name, queue.quota, taken, needed, gpus(who.bound)))
    inside: set[str] = set()
    for uid in cheapest:
        if asked[uid] <= left:
            left -= asked[uid]
            inside.add(uid)
    return Allowance(uids=frozenset(inside))
