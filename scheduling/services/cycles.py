"""A scheduling cycle of one cluster: decide outside of any transaction, append what is news in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from uuid import uuid4

import structlog
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from scheduling.engine.state import ClusterState
from scheduling.ledger import archives, store
from scheduling.ledger.events import (
    Event,
    PlacementForecast,
    PodGroupHeld,
    PodGroupPlaced,
    PodGroupUnschedulable,
)
from scheduling.ledger.store import Appended, ConflictingAppend, Standing, to_datetime, to_milliseconds
from scheduling.locks import try_cluster_cycle_lock
from scheduling.models import Cluster
from scheduling.services.deciding import Told, cycle_events, decided
from scheduling.services.execute import append_and_project, lock_head, now_ms
from scheduling.services.signals import cycle_reached
from scheduling.services.state import at_head
from scheduling.services.tending import Followed, tended
from scheduling.services.waking import Due, Looked, due, reads_from

__all__ = ["CycleResult", "cycle_events", "run_cycle"]

BATCH = 200
"""Most decisions in one append: what a killed worker loses, and what others wait for at the head row."""

OPTIMISTIC_TRIES = 2
"""Conflicts in a row after which one batch is decided with the head locked, so that a busy log cannot starve
a cycle.
"""

RECONSIDER_AFTER = timedelta(minutes=10)
"""A cluster that no cycle looked at for so long is decided whole, without any event: a new version may decide
otherwise.
"""

ACTOR = "scheduler"

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class CycleResult:
    """``ran``: false when another runner has the cluster. ``seq``: how far the log was decided on.

    The counts are of decisions written; forecasts count as placed. ``now``: the time that was decided with,
    in milliseconds; ``retry_at``: when the first of the groups that were woken and rest is to be decided, or
    when time makes news (``tending``), None when there is neither; ``retry_known``: the cycle before said
    the same.
    """

    ran: bool
    seq: int = 0
    now: int = 0
    retry_at: int | None = None
    retry_known: bool = False
    placed: int = 0
    unschedulable: int = 0
    held: int = 0

    def count(self, events: list[Event]) -> None:
        for event in events:
            self.placed += isinstance(event, PodGroupPlaced | PlacementForecast)
            self.unschedulable += isinstance(event, PodGroupUnschedulable)
            self.held += isinstance(event, PodGroupHeld)


def run_cycle(
    stream_id: int,
    *,
    may_start: Callable[[], bool] = lambda: True,
    clock: Callable[[], int] = now_ms,
) -> CycleResult:
    """Decide once, on the newest state, every waiting group that something since its last decision could
    help and that does not rest (see ``waking``); one runner at a time, others skip.

    May be called too often, twice at once, late, and killed anywhere: each decision is one event, and a
    decision made on a state that is not the newest is not written. ``may_start`` is asked when the cluster is
    free; ``clock`` tells the time in milliseconds.
    """
    with try_cluster_cycle_lock(stream_id) as free:
        if not free or not may_start():
            return CycleResult(ran=False)
        result = CycleResult(ran=True)
        conflicts, finished = 0, False
        while not finished:
            try:
                if conflicts < OPTIMISTIC_TRIES:
                    finished = _decide_and_append(stream_id, result, clock())
                else:
                    with transaction.atomic():
                        lock_head(stream_id)
                        finished = _decide_and_append(stream_id, result, clock(), batches=1)
                if finished:
                    _tend(stream_id, result)
                conflicts = 0
            except ConflictingAppend as conflict:
                conflicts += 1
                log.info(
                    "cycle decides again",
                    stream=stream_id,
                    expected=conflict.expected,
                    actual=conflict.actual,
                )
        retry_at = None if result.retry_at is None else to_datetime(result.retry_at)
        cluster = Cluster.objects.filter(pk=stream_id)
        result.retry_known = cluster.filter(retry_at=retry_at).exists()
        cluster.update(
            last_cycle_seq=Greatest(F("last_cycle_seq"), result.seq),
            last_cycle_at=to_datetime(result.now),
            retry_at=retry_at,
        )
        return result


def _decide_and_append(stream_id: int, result: CycleResult, now: int, batches: int | None = None) -> bool:
    """Whether every group that is due was decided; at most ``batches`` appends. Raises ConflictingAppend."""
    state = at_head(stream_id)
    _reached("loaded", stream_id)
    woken = _due(stream_id, state, now)
    seq: int = state.seq
    after: int | Standing = seq
    for number, batch in enumerate(_batches(decided(state, now, due=woken.causes))):
        if number == batches:
            return False
        _reached("decided", stream_id)
        appended = _append(stream_id, after, batch, now)
        seq, after = appended.last, appended.standing or appended.last
        _reached("committed", stream_id)
        result.count([told.event for told in batch])
    result.seq, result.now, result.retry_at = seq, now, woken.retry_at
    return True


def _tend(stream_id: int, result: CycleResult) -> None:
    """Append what follows from the decisions and the time. Raises ConflictingAppend."""
    state = at_head(stream_id)
    news, due_at = tended(state, result.now)
    if due_at is not None and (result.retry_at is None or due_at < result.retry_at):
        result.retry_at = due_at
    if news:
        _append(stream_id, state.seq, news, result.now)


def _due(stream_id: int, state: ClusterState, now: int) -> Due:
    seq, at = Cluster.objects.values_list("last_cycle_seq", "last_cycle_at").get(pk=stream_id)
    looked = Looked(seq, 0 if at is None else to_milliseconds(at))
    if at is None:
        return Due.everybody(state, state.seq)
    if now - looked.at >= RECONSIDER_AFTER // timedelta(milliseconds=1):
        return Due.everybody(state, None)
    # What is archived woke nobody who is not woken by the event that tells of it.
    after = max(reads_from(state, looked), archives.begin(stream_id))
    return due(state, store.read(stream_id, after=after, upto=state.seq), looked, now)


def _batches(events: Iterator[Told]) -> Iterator[list[Told]]:
    while batch := list(islice(events, BATCH)):
        yield batch


def _append(stream_id: int, after: int | Standing, batch: Sequence[Told | Followed], now: int) -> Appended:
    with transaction.atomic():
        appended = append_and_project(
            stream_id,
            after,
            [told.event for told in batch],
            actor=ACTOR,
            command_id=uuid4().hex,
            cause=[told.cause for told in batch],
            now=now,
        )
        _reached("inserted", stream_id)
    return appended


def _reached(point: str, stream_id: int) -> None:
    cycle_reached.send(sender=None, stream_id=stream_id, point=point)
