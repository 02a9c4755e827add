"""Django's PostgreSQL backend, whose flush after a test waits its turn.

The served console of the browser tests goes on reading and deciding while a test's rows are truncated.
TRUNCATE locks table after table, and so does an append: now and then the two wait for each other, and
PostgreSQL ends one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.backends.postgresql import base, operations
from django.db.utils import OperationalError
from psycopg import errors

TRIES = 10
"""Each ends after a second (deadlock) or ten (lock_timeout)."""


class DatabaseOperations(operations.DatabaseOperations):
    def execute_sql_flush(self, sql_list: Iterable[str]) -> Any:
        for attempt in range(TRIES):
            try:
                return super().execute_sql_flush(sql_list)
            except OperationalError as error:
                lost = isinstance(error.__cause__, errors.DeadlockDetected | errors.LockNotAvailable)
                if not lost or attempt == TRIES - 1:
                    raise


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations
