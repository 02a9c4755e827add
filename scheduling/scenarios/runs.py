"""Carries runs out, a slice at a time: any worker, again after a kill, never two on one slice of work.

What a worker did is kept before the next slice begins. A message that is lost, late or doubled does no harm:
``open_runs`` names the runs that nobody has worked on for a while.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog
from django.db import InterfaceError, OperationalError
from django.db.models import F
from django.utils import timezone

from scheduling.locks import try_run_lock
from scheduling.models import Run, RunPoint
from scheduling.scenarios import kinds, workbench
from scheduling.scenarios.signals import run_reached
from scheduling.services.problems import Refused

SLICE = 15.0
"""Seconds after which a slice ends at the next step of its work."""

TURN = 2.0
"""Seconds after which a worker that does points hands the rest of them to the end of the queue, so that other
runs get their turn.
"""

KEEP = 0.5
"""Seconds of points that a worker may lose when it dies: what is older is kept."""

QUIET = timedelta(seconds=20)
"""A run on which nothing was done for so long is given to a worker again."""

POINTS = 20
"""Points of a fanned run in one message."""

MOST_ATTEMPTS = 3
"""Workers that may die at one place without a word (killed for memory or time) before the run is given up."""

log = structlog.get_logger(__name__)


def work(run_id: int, clock: Callable[[], float] = time.monotonic) -> bool:
    """A slice of a sliced run; whether there is more to do now. Nothing happens when somebody else is at
    it.
    """
    with try_run_lock(run_id) as free:
        run = Run.objects.select_related("cluster", "fork").filter(pk=run_id, status__in=Run.OPEN).first()
        if not free or run is None or not _begin(run):
            return False
        begun = clock()
        with _failing(run):
            made = kinds.kind(run.kind).work(run, lambda: clock() - begun >= SLICE)  # type: ignore[union-attr]
            Run.objects.filter(pk=run.pk, status__in=Run.OPEN).update(
                done=made.done, total=made.total, touched_at=timezone.now(), attempts=0
            )
            if made.result is None:
                return True
            workbench.end(run, result=made.result)
    return False


def points(
    run_id: int,
    first: int,
    last: int,
    clock: Callable[[], float] = time.monotonic,
    *,
    keep: float = KEEP,
) -> int | None:
    """Do the points from ``first`` up to and without ``last`` that nobody has done; the one to go on from
    when the turn ends before, None when there is nothing left to do here. Whoever does the last one ends the
    run. ``keep``: seconds after which what was done is kept, 0 for each point as soon as it is done.
    """
    run = Run.objects.select_related("cluster").filter(pk=run_id).first()
    if run is None or not _touch(run):
        return None
    begun = kept = clock()
    done = set(
        RunPoint.objects.filter(run=run, index__range=(first, last - 1)).values_list("index", flat=True)
    )
    missing = [index for index in range(first, last) if index not in done]
    rows: list[RunPoint] = []
    left: int | None = None
    with _failing(run):
        kind = kinds.kind(run.kind)
        for index in missing:
            now = clock()
            if rows and now - kept >= keep:
                _keep(rows)
                kept = now
                if not _touch(run):
                    return None
            if now - begun >= TURN:
                left = index
                break
            result = kind.point(run, index)  # type: ignore[union-attr]
            rows.append(RunPoint(run=run, index=index, result=result, worker=_worker()))
            run_reached.send(sender=None, run_id=run_id, point="point")
        _keep(rows)
        run_reached.send(sender=None, run_id=run_id, point="kept")
        _reached(run)
    return left


def give_up(run_id: int, first: int, last: int) -> None:
    """End a fanned run whose points ``first`` up to ``last`` kill every worker that begins them."""
    run = Run.objects.select_related("cluster").filter(pk=run_id, status__in=Run.OPEN).first()
    if run is None:
        return
    done = RunPoint.objects.filter(run=run, index__range=(first, last - 1)).values_list("index", flat=True)
    at = min(set(range(first, last)) - set(done), default=first)
    log.error("run given up", run=run.pk, point=at)
    workbench.end(run, error=f"given up: {MOST_ATTEMPTS} workers died at point {at}")


def spread(run_id: int) -> list[tuple[int, int]]:
    """Begin a fanned run, or look after it: which points are to be given to workers, as (first, last). Ends
    it when all are done.
    """
    run = Run.objects.select_related("cluster").filter(pk=run_id, status__in=Run.OPEN).first()
    if run is None:
        return []
    with _failing(run):
        total = kinds.kind(run.kind).count(run)  # type: ignore[union-attr]
        if run.status == Run.Status.WAITING or run.total != total:
            Run.objects.filter(pk=run.pk, status__in=Run.OPEN).update(
                status=Run.Status.RUNNING, total=total, touched_at=timezone.now()
            )
            run.total = total
        else:
            _touch(run)
        done = set(RunPoint.objects.filter(run=run).values_list("index", flat=True))
        if len(done) >= total:
            _reached(run)
            return []
        return list(_missing(total, done))
    return []


def open_runs(quiet: timedelta = QUIET) -> list[int]:
    """Runs that wait, or on which nothing was done for so long; one of a kind that only a newer console knows
    is left to it. They are told once in that time: who asks gives them to workers, and those that wait in the
    queue must not be put there again at every look.
    """
    now = timezone.now()
    rows = Run.objects.filter(status__in=Run.OPEN, touched_at__lt=now - quiet, kind__in=kinds.names())
    found = list(rows.values_list("pk", flat=True))
    rows.filter(pk__in=found).update(touched_at=now)
    return found


def is_fanned(run_id: int) -> bool:
    run = Run.objects.filter(pk=run_id).only("kind").first()
    return run is not None and kinds.kind(run.kind).WORK == kinds.FANNED


def _begin(run: Run) -> bool:
    """Counts the attempt; false when there were too many, and the run is given up."""
    if run.attempts >= MOST_ATTEMPTS:
        log.error("run given up", run=run.pk, attempts=run.attempts)
        workbench.end(run, error=f"given up: {MOST_ATTEMPTS} workers died at the same place")
        return False
    Run.objects.filter(pk=run.pk).update(
        status=Run.Status.RUNNING, attempts=F("attempts") + 1, touched_at=timezone.now()
    )
    return True


def _touch(run: Run) -> bool:
    """Say that somebody works on it; whether it is still to be worked on."""
    return bool(
        Run.objects.filter(pk=run.pk, status__in=Run.OPEN).update(
            status=Run.Status.RUNNING, touched_at=timezone.now()
        )
    )


def _keep(rows: list[RunPoint]) -> None:
    RunPoint.objects.bulk_create(rows, ignore_conflicts=True)
    rows.clear()


def _worker() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _reached(run: Run) -> None:
    """How many points are done; ends the run with the last one."""
    done = RunPoint.objects.filter(run=run).count()
    total = Run.objects.values_list("total", flat=True).get(pk=run.pk)
    # What a run that is over had done is what its last event says.
    Run.objects.filter(pk=run.pk, done__lt=done, status__in=Run.OPEN).update(done=done)
    if done < total:
        return
    with try_run_lock(run.pk) as free:
        if not free or not Run.objects.filter(pk=run.pk, status__in=Run.OPEN).exists():
            return
        results = list(RunPoint.objects.filter(run=run).order_by("index").values_list("result", flat=True))
        workbench.end(run, result=kinds.kind(run.kind).summary(run, results))  # type: ignore[union-attr]


def _missing(total: int, done: set[int]) -> Iterator[tuple[int, int]]:
    first: int | None = None
    for index in range(total + 1):
        wanted = index < total and index not in done
        if wanted and first is None:
            first = index
        if first is not None and (not wanted or index - first == POINTS):
            yield first, index
            first = index if wanted else None


@contextmanager
def _failing(run: Run) -> Iterator[None]:
    """A run whose work raises an error has failed, and says with what. A database that is away is no fault of
    the run: the error goes on, and the work is done again.
    """
    try:
        yield
    except (OperationalError, InterfaceError):
        raise
    except Refused as error:
        log.info("run refused", run=run.pk, error=str(error))
        workbench.end(run, error=str(error))
    except Exception as error:
        log.exception("run failed", run=run.pk)
        workbench.end(run, error=f"{type(error).__name__}: {error}")
