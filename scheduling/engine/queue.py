"""Which groups wait for a decision, and in what order they get one.

Order: priority descending (the group's own, else the highest of its members); then groups below minCount
that already have members on nodes, since what those hold is wasted until the rest is back; then by creation
of the group, then by key. So a gang that lost a member goes before younger groups of its priority, and
never before a higher one.
"""

from __future__ import annotations

from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState


def waiting(state: ClusterState) -> list[str]:
    """Keys of the groups to decide, first one first.

    A group waits when a member can be placed, or when it is short of minCount (then the verdict says what
    is missing), or when its PodGroup is missing. A group whose pods have all finished does not.
    """
    rosters = (roster(state, key) for key in state.group_keys())
    queue = [(_order(who), who.key) for who in rosters if _waits(who)]
    return [key for _, key in sorted(queue)]


def _waits(who: Roster) -> bool:
    if who.waiting:
        return True
    if who.known == 0:
        return who.group is not None and who.pods == 0
    return who.group is None or not who.running


def _order(who: Roster) -> tuple[int, bool, int]:
    members = (*who.bound, *who.waiting, *who.gated)
    priority = who.group.priority if who.group is not None else None
    if priority is None:
        priority = max((pod.priority for pod in members), default=0)
    created = who.group.created if who.group is not None else min((pod.created for pod in members), default=0)
    return (-priority, not who.degraded, created)
