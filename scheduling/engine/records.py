"""What operators laid down about a cluster beside its nodes and pods, as small immutable records by kind and
id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar, cast

from scheduling.engine import canary, node_types
from scheduling.engine.canary import Canary, CanaryFacts, CanaryScope
from scheduling.engine.node_types import NodeType, ScaleUpPlan
from scheduling.engine.preemption_records import PreemptionPlan, PreemptionPolicy, PreemptionTried, Victim
from scheduling.engine.queues import Queue
from scheduling.engine.reservations import Reservation
from scheduling.engine.rollout_facts import RolloutFact
from scheduling.engine.waits import MarkedLost, StickyWait, WaitDeadline, WaitPolicy


class Record(Protocol):
    """A frozen dataclass of what an event may hold; ``id`` names it among those of its kind."""

    @property
    def id(self) -> str: ...


_R = TypeVar("_R", bound=Record)

KINDS: tuple[type[Record], ...] = (
    NodeType, ScaleUpPlan, Reservation, Queue, PreemptionPolicy, PreemptionPlan, PreemptionTried,
    StickyWait, WaitDeadline, WaitPolicy, MarkedLost, Canary, CanaryScope, CanaryFacts, RolloutFact,
)  # fmt: skip
"""Every kind of record; a snapshot holds these and no others."""

PARTS: tuple[type, ...] = (*node_types.PARTS, Victim, *canary.PARTS)
"""What records are made of."""


class Records:
    """Mutable; the records themselves never change."""

    def __init__(self) -> None:
        self._of: dict[type[Record], dict[str, Record]] = {}

    def of(self, kind: type[_R]) -> Mapping[str, _R]:
        """By id, in the order in which they were first put."""
        return cast(Mapping[str, _R], self._of.get(kind, {}))

    def put(self, record: Record) -> None:
        """Add the record or replace the one of its kind and id."""
        self._of[type(record)] = {**self._of.get(type(record), {}), record.id: record}

    def drop(self, kind: type[Record], id: str) -> None:
        """Nothing happens when there is none."""
        if id in self._of.get(kind, {}):
            self._of[kind] = {name: record for name, record in self._of[kind].items() if name != id}

    def fork(self) -> Records:
        other = Records()
        other._of = self._of.copy()  # the tables in it are replaced and never changed
        return other
