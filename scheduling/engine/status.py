"""The one word for a group, from the state alone: no condition, verdict or history is asked.

Precedence, first that applies: ``empty`` (no pod names it), ``finished`` (every pod that names it has
finished), ``error`` (evaluated and its facts contradict each other), ``scheduled`` (at least minCount
members on nodes, 1 for basic), ``held`` (the PodGroup is missing or fewer members than minCount can be
placed), ``pending`` (also while the loss of its domain keeps it from being placed elsewhere: that is a
matter of history).
"""

from __future__ import annotations

from enum import StrEnum

from scheduling.engine.decide import dispute, held_reason
from scheduling.engine.numa import in_zones
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState


class GroupStatus(StrEnum):
    EMPTY = "empty"
    FINISHED = "finished"
    ERROR = "error"
    SCHEDULED = "scheduled"
    HELD = "held"
    PENDING = "pending"


def group_status(state: ClusterState, key: str) -> GroupStatus:
    who = roster(state, key)
    if not who.pods:
        return GroupStatus.EMPTY
    if not who.unfinished:
        return GroupStatus.FINISHED
    held = held_reason(who)
    if held is None and dispute(*in_zones(state, who)) is not None:
        return GroupStatus.ERROR
    if who.group is not None and who.running:
        return GroupStatus.SCHEDULED
    return GroupStatus.HELD if held is not None else GroupStatus.PENDING
