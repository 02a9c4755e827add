"""Advisory locks of PostgreSQL: every class number that is in use, and how to hold one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections


class LockClass(IntEnum):
    """First key of ``pg_advisory_lock(class, id)``; numbers are never given again."""

    CLUSTER_CYCLE = 7101
    """id: the cluster. Held while a cycle of it runs, so that there is one at a time."""

    RETENTION = 7102
    """id: the cluster. Held while its events go to files or come back."""

    RUN = 7103
    """id: the run. Held while a slice of it is worked on."""


@contextmanager
def try_cluster_cycle_lock(cluster_id: int, *, using: str = DEFAULT_DB_ALIAS) -> Iterator[bool]:
    """Hold the lock of the cluster's cycle if it is free; see ``_try_lock``."""
    with _try_lock(LockClass.CLUSTER_CYCLE, cluster_id, using) as free:
        yield free


@contextmanager
def try_retention_lock(cluster_id: int, *, using: str = DEFAULT_DB_ALIAS) -> Iterator[bool]:
    """Hold the lock of the cluster's retention if it is free; see ``_try_lock``."""
    with _try_lock(LockClass.RETENTION, cluster_id, using) as free:
        yield free


@contextmanager
def try_run_lock(run_id: int, *, using: str = DEFAULT_DB_ALIAS) -> Iterator[bool]:
    """Hold the lock of the run if it is free; see ``_try_lock``."""
    with _try_lock(LockClass.RUN, run_id, using) as free:
        yield free


@contextmanager
def _try_lock(kind: LockClass, cluster_id: int, using: str) -> Iterator[bool]:
    """Yields whether the lock was free; never waits. Freed on exit, and by the server when the connection
    dies.

    It belongs to the session, not to a transaction, so that a cycle may hold it over several: take it outside
    of ``atomic``, or a failed transaction would keep it from being freed before the connection closes. A
    session may take the same lock twice: one thread must not nest two cycles of a cluster.
    """
    connection = connections[using]
    key = (int(kind), cluster_id)
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_lock(%s, %s)", key)
        held: bool = cursor.fetchone()[0]
    session = connection.connection
    try:
        yield held
    finally:
        # A session that is over took the lock with it; on another one there is nothing to free.
        if held and connection.connection is session and not session.closed:
            try:
                with session.cursor() as cursor:
                    cursor.execute("select pg_advisory_unlock(%s, %s)", key)
            except psycopg.OperationalError:
                if not session.broken:
                    raise
