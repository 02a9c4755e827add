"""Whether a proposal of preemption still holds on another state, and what keeps it from being carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from scheduling.engine.decide import decide
from scheduling.engine.preemption import may_be_victim, outcome
from scheduling.engine.preemption_records import Victim
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState


class Change(StrEnum):
    """What keeps a proposal from being carried out."""

    GROUP_CLOSED = "group_closed"
    GROUP_RUNS = "group_runs"
    VICTIM_CLOSED = "victim_closed"
    VICTIM_CHANGED = "victim_changed"
    VICTIM_PROTECTED = "victim_protected"
    VICTIM_PRIORITY = "victim_priority"
    NOT_NEEDED = "not_needed"
    DOES_NOT_FIT = "does_not_fit"
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class Outdated:
    """``group``: the victim, or the group that would take the room; "" when it is the waiting group."""

    change: Change
    group: str = ""


def outdated(state: ClusterState, group: str, uid: str, victims: Sequence[Victim]) -> Outdated | None:
    """What has changed so that ending these victims for this generation is not right any more; None when it
    is. Decided on the whole state.
    """
    opened = state.groups.get(group)
    if opened is None or opened.uid != uid:
        return Outdated(Change.GROUP_CLOSED)
    who = roster(state, group)
    if who.running:
        return Outdated(Change.GROUP_RUNS)
    for victim in victims:
        change = _victim_changed(state, victim, who.priority)
        if change is not None:
            return Outdated(change, victim.key)
    if decide(state, group).placed:
        return Outdated(Change.NOT_NEEDED)
    made, by = outcome(state, group, victims)
    if made.placed:
        return None
    return Outdated(Change.TAKEN, by) if by else Outdated(Change.DOES_NOT_FIT)


def _victim_changed(state: ClusterState, victim: Victim, priority: int) -> Change | None:
    group = state.groups.get(victim.key)
    if group is None or group.uid != victim.uid:
        return Change.VICTIM_CLOSED
    who = roster(state, victim.key)
    if group.protected:
        return Change.VICTIM_PROTECTED
    if not may_be_victim(group, who.priority, priority):
        return Change.VICTIM_PRIORITY
    bound = {(pod.uid, pod.name, pod.node) for pod in who.bound}
    members = set(victim.members)
    if victim.whole:
        return None if bound == members else Change.VICTIM_CHANGED
    spare = group.elastic and len(who.bound) - len(members) >= who.need
    return None if members <= bound and spare else Change.VICTIM_CHANGED
