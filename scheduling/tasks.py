"""Celery tasks: thin, safe to deliver twice, late, in parallel, and to kill anywhere (services.cycles says
why).
"""

from __future__ import annotations

from datetime import timedelta

import redis
import structlog
from celery import group
from celery.signals import worker_process_shutdown, worker_shutdown
from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from scheduling.engine.turns import LONGEST_REST
from scheduling.ledger import store
from scheduling.ledger.signals import log_advanced
from scheduling.models import Cluster
from scheduling.projections.writer import TablesBehind
from scheduling.scenarios import runs
from scheduling.scenarios.kinds import run_requested
from scheduling.services import cycles, state
from scheduling.services.cycles import RECONSIDER_AFTER
from tasweb.celery import app

MOST_ATTEMPTS = 3
"""Cycles that may die on one state of a cluster (killed for memory or time, an error) before it is left
alone.
"""

PARKED_FOR = timedelta(hours=1)
"""Then it is tried again even when nothing was appended: the console itself may have been repaired."""

log = structlog.get_logger(__name__)


@app.task(name="scheduling.tasks.run_cycle")
def run_cycle(stream_id: int) -> None:
    """One scheduling cycle of a cluster, unless it is running already or is parked.

    While its tables are of another version nothing can be written; that is no fault of the cycle, so it is
    asked for again and again until they are rebuilt.
    """
    attempts = Attempts(stream_id)
    try:
        result = cycles.run_cycle(stream_id, may_start=attempts.begin)
    except TablesBehind as error:
        log.warning("cycle waits for the tables", stream=stream_id, error=str(error))
        attempts.succeeded()
        return
    if result.ran:
        attempts.succeeded()
        come_back(stream_id, result)
        state.save(stream_id)


@app.task(name="scheduling.tasks.sweep")
def sweep() -> None:
    """Wake every cluster that has events no cycle has seen (a wake-up was lost), a group that has rested, or
    has not been looked at for long.
    """
    rested = Q(retry_at__lte=timezone.now())
    overdue = Q(last_cycle_at__lt=timezone.now() - RECONSIDER_AFTER)
    behind = Q(stream__head__seq__gt=F("last_cycle_seq"))
    for stream_id in Cluster.objects.filter(behind | rested | overdue).values_list("pk", flat=True):
        run_cycle.delay(stream_id)
    for run_id in runs.open_runs():
        begin_run.delay(run_id)


@app.task(name="scheduling.tasks.begin_run")
def begin_run(run_id: int) -> None:
    """Give the work of a run to the workers, or what is left of it."""
    if not runs.is_fanned(run_id):
        work_on_run.delay(run_id)
        return
    parts = runs.spread(run_id)
    if parts:
        group(do_points.s(run_id, first, last) for first, last in parts).apply_async()


@app.task(name="scheduling.tasks.work_on_run")
def work_on_run(run_id: int) -> None:
    """A slice of a run, and then the next one."""
    if runs.work(run_id):
        work_on_run.delay(run_id)


@app.task(name="scheduling.tasks.do_points")
def do_points(run_id: int, first: int, last: int) -> None:
    """Some points of a run; what is left of them when the turn ends is another message. Where a worker died
    of them, each point is kept as soon as it is done, so that the one to blame is found.
    """
    key = f"tas:point-attempts:{run_id}:{first}:{last}"
    server = redis.Redis.from_url(settings.REDIS_URL)
    attempt = _attempt(server, key)
    if attempt > runs.MOST_ATTEMPTS:
        runs.give_up(run_id, first, last)
        return
    try:
        left = runs.points(run_id, first, last, keep=runs.KEEP if attempt == 1 else 0)
    finally:
        _over(server, key)
    if left is not None:
        do_points.delay(run_id, left, last)


def begin(*, run_id: int, **_: object) -> None:
    """After a run was asked for. A broker that is away costs nothing but time: see sweep."""
    try:
        begin_run.delay(run_id)
    except OperationalError as error:
        log.warning("run not begun, the sweep will find it", run=run_id, error=str(error))


def come_back(stream_id: int, result: cycles.CycleResult) -> None:
    """Ask for a cycle when the first rest of a woken group ends, rather than with the sweep after it. What is
    further away (a deadline) is left to the sweep: a task that waits long is delivered twice.
    """
    if result.retry_at is None or result.retry_known or result.retry_at - result.now > LONGEST_REST:
        return
    try:
        run_cycle.apply_async((stream_id,), countdown=max(0, result.retry_at - result.now) / 1000)
    except OperationalError as error:
        log.warning("wake-up not sent, the sweep will find the cluster", stream=stream_id, error=str(error))


class Attempts:
    """How often a cycle was begun on the present head of a cluster and did not end; kept in Redis, since the
    worker that dies of it can keep nothing. A new event is a new start.
    """

    def __init__(self, stream_id: int) -> None:
        self.stream_id = stream_id
        self.redis = redis.Redis.from_url(settings.REDIS_URL)
        self.key = ""

    def begin(self) -> bool:
        """Counts one more; false when there were too many. Told once, at the first refusal."""
        seq = store.head(self.stream_id).seq
        self.key = f"tas:cycle-attempts:{self.stream_id}:{seq}"
        count = _attempt(self.redis, self.key)
        if count == MOST_ATTEMPTS + 1:
            log.error("cycle parked", stream=self.stream_id, seq=seq, attempts=MOST_ATTEMPTS)
        return count <= MOST_ATTEMPTS

    def succeeded(self) -> None:
        self.redis.delete(self.key)


def _over(server: redis.Redis, key: str) -> None:
    """The attempt ended, well or with an error; a worker that was killed does not get here."""
    server.delete(key)


def _attempt(server: redis.Redis, key: str) -> int:
    """Which one this is since the key was last deleted."""
    count = int(server.incr(key))
    server.expire(key, PARKED_FOR, nx=True)
    return count


def wake(*, stream_id: int, woke: bool, **_: object) -> None:
    """After a commit that could let a waiting group go on. A broker that is away costs nothing but time: see
    sweep.
    """
    if not woke:
        return
    try:
        run_cycle.delay(stream_id)
    except OperationalError as error:
        log.warning("wake-up not sent, the sweep will find the cluster", stream=stream_id, error=str(error))


def save_before_end(**_: object) -> None:
    """A worker, or a child of one, ends."""
    state.save_before_end()


def connect() -> None:
    """Subscribe to the ledger, and to the end of workers; called once when the app is ready."""
    log_advanced.connect(wake, dispatch_uid="scheduling.tasks.wake")
    run_requested.connect(begin, dispatch_uid="scheduling.tasks.begin")
    for end in (worker_process_shutdown, worker_shutdown):
        end.connect(save_before_end, dispatch_uid="scheduling.tasks.save_before_end")
