"""A scheduling cycle of one cluster: decide outside of any transaction, append what is news in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from uuid import uuid4

import structlog
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from scheduling.ledger.events import (
    Event,
    PlacementForecast,
    PodGroupHeld,
    PodGroupPlaced,
    PodGroupUnschedulable,
)
from scheduling.ledger.store import ConflictingAppend
from scheduling.locks import try_cluster_cycle_lock
from scheduling.models import Cluster
from scheduling.services.deciding import cycle_events, decided
from scheduling.services.execute import append_and_project, lock_head, now_ms
from scheduling.services.signals import cycle_reached
from scheduling.services.state import at_head

__all__ = ["CycleResult", "cycle_events", "run_cycle"]

BATCH = 200
"""Most decisions in one append: what a killed worker loses, and what others wait for at the head row."""

OPTIMISTIC_TRIES = 2
"""Conflicts in a row after which one batch is decided with the head locked, so that a busy log cannot starve
a cycle.
"""

ACTOR = "scheduler"

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class CycleResult:
    """``ran``: false when another runner has the cluster. ``seq``: how far the log was decided on.

    The counts are of decisions written; forecasts count as placed.
    """

    ran: bool
    seq: int = 0
    placed: int = 0
    unschedulable: int = 0
    held: int = 0

    def count(self, events: list[Event]) -> None:
        for event in events:
            self.placed += isinstance(event, PodGroupPlaced | PlacementForecast)
            self.unschedulable += isinstance(event, PodGroupUnschedulable)
            self.held += isinstance(event, PodGroupHeld)


def run_cycle(stream_id: int, *, may_start: Callable[[], bool] = lambda: True) -> CycleResult:
    """Decide every waiting group of the cluster once, on the newest state; one runner at a time, others skip.

    May be called too often, twice at once, late, and killed anywhere: each decision is one event, and a
    decision made on a state that is not the newest is not written. ``may_start`` is asked when the cluster is
    free.
    """
    with try_cluster_cycle_lock(stream_id) as free:
        if not free or not may_start():
            return CycleResult(ran=False)
        result = CycleResult(ran=True)
        conflicts, finished = 0, False
        while not finished:
            try:
                if conflicts < OPTIMISTIC_TRIES:
                    finished = _decide_and_append(stream_id, result)
                else:
                    with transaction.atomic():
                        lock_head(stream_id)
                        finished = _decide_and_append(stream_id, result, batches=1)
                conflicts = 0
            except ConflictingAppend as conflict:
                conflicts += 1
                log.info(
                    "cycle decides again",
                    stream=stream_id,
                    expected=conflict.expected,
                    actual=conflict.actual,
                )
        Cluster.objects.filter(pk=stream_id).update(
            last_cycle_seq=Greatest(F("last_cycle_seq"), result.seq), last_cycle_at=timezone.now()
        )
        return result


def _decide_and_append(stream_id: int, result: CycleResult, batches: int | None = None) -> bool:
    """Whether every waiting group was decided; at most ``batches`` appends. Raises ConflictingAppend."""
    state = at_head(stream_id)
    _reached("loaded", stream_id)
    now = now_ms()
    events = decided(state, now)
    seq = state.seq
    for number, batch in enumerate(_batches(events)):
        if number == batches:
            return False
        _reached("decided", stream_id)
        seq = _append(stream_id, state.seq, seq, batch, now)
        _reached("committed", stream_id)
        result.count(batch)
    result.seq = seq
    return True


def _batches(events: Iterator[Event]) -> Iterator[list[Event]]:
    while batch := list(islice(events, BATCH)):
        yield batch


def _append(stream_id: int, decided_at: int, seq: int, batch: list[Event], now: int) -> int:
    with transaction.atomic():
        appended = append_and_project(
            stream_id,
            seq,
            batch,
            actor=ACTOR,
            command_id=uuid4().hex,
            cause=decided_at,
            now=now,
        )
        _reached("inserted", stream_id)
    return appended.last


def _reached(point: str, stream_id: int) -> None:
    cycle_reached.send(sender=None, stream_id=stream_id, point=point)
