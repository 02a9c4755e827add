"""A cluster in memory: events are folded as they would be read from a log, and nothing is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from scheduling.engine.model import TAS_GATES
from scheduling.engine.state import ClusterState
from scheduling.kube import manifests as kube
from scheduling.ledger import fold
from scheduling.ledger.events import ClusterRegistered, Event
from scheduling.services.deciding import cycle_events
from scheduling.services.importing import ImportOptions, ImportPlan, plan_import

START_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z: when every cluster in memory begins, so that a run depends on nothing outside."""

_MOST_CYCLES = 20


class Unsettled(RuntimeError):
    """Cycle after cycle decides something new although nothing happens."""


class MemoryStream:
    """``events``: the whole log so far; ``state`` is folded from it."""

    def __init__(self, *, mode: str = "simulated", gates: Mapping[str, bool] | None = None) -> None:
        self.state = ClusterState()
        self.events: list[Event] = []
        self.now_ms = START_MS
        chosen = dict.fromkeys(TAS_GATES, True) if gates is None else gates
        self.commit([ClusterRegistered("case", mode, tuple(sorted(chosen.items())))])

    def commit(self, events: Iterable[Event]) -> None:
        for event in events:
            fold.apply(self.state, event, self.state.seq + 1, self.now_ms)
            self.events.append(event)

    def import_data(self, data: bytes, complete: frozenset[str] = frozenset()) -> ImportPlan:
        """Import what can be taken, as a partial import does."""
        options = ImportOptions(self.state.mode, hashlib.sha256(data).hexdigest(), complete)
        plan = plan_import(self.state, kube.read(data), options, self.now_ms)
        self.commit(plan.events)
        return plan

    def settle(self, profile: str = "exact") -> list[Event]:
        """Run cycles until one decides nothing new. Raises Unsettled."""
        written: list[Event] = []
        for _ in range(_MOST_CYCLES):
            events = cycle_events(self.state, self.now_ms, profile=profile)
            if not events:
                return written
            self.commit(events)
            written += events
        raise Unsettled(f"{_MOST_CYCLES} cycles and no end")
