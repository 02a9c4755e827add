"""The state of a stream at its head, kept in this process and caught up from the log."""

from __future__ import annotations

import structlog
from django.db import DatabaseError

from scheduling.engine.state import ClusterState
from scheduling.ledger import fold, snapshot_store
from scheduling.ledger.cache import StateCache
from scheduling.ledger.store import Appended
from scheduling.models import Cluster

CLUSTERS_KEPT = 8
"""So many streams are kept in memory; the least recently used one is loaded anew when it is asked for."""

ON_SHUTDOWN = 0.25
"""Share of the usual distance between snapshots after which a process that ends takes one."""

_states = StateCache(CLUSTERS_KEPT)

log = structlog.get_logger(__name__)


def state_of(cluster: Cluster) -> ClusterState:
    """The state at the head, as a fork that is the caller's own."""
    return at_head(cluster.pk)


def at_head(stream_id: int) -> ClusterState:
    """As ``state_of``, for any stream. Raises UnknownStream."""
    return _states.get(stream_id)


def save(stream_id: int) -> None:
    """Take a snapshot of the kept state when it is time. Not inside of a transaction that others wait for."""
    _states.save(stream_id)


def save_before_end() -> None:
    """Snapshots of what the process would take with it. A database that is away by then costs the next
    process time, and does not keep this one from ending.
    """
    try:
        _states.save_all(ON_SHUTDOWN)
    except DatabaseError as error:
        log.warning("no snapshot before the end", error=str(error))


def save_with(before: ClusterState, stream_id: int, appended: Appended) -> None:
    """With a large append, and in its transaction: a snapshot of the state after it, made of ``before``,
    which is used up. Whoever wakes up by the append finds it, and need not fold what is known here.
    """
    if len(appended.recorded) >= snapshot_store.SPACING:
        state = fold.fold(before, appended.recorded)
        if len(appended.recorded) >= snapshot_store.spacing(state):
            snapshot_store.save(stream_id, state, appended.recorded[-1].hash)
