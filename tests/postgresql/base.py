"""Django's PostgreSQL backend, whose flush after a test takes the rows away that the test made, and waits its
turn.

Truncating some fifty tables, nearly all of them empty, is most of what a flush costs. So only those that have
rows are truncated; partitions of the log are dropped, else their number grows with every test; and what
migrating puts into the database stays (tests/conftest.py keeps flush from making it again).

The served console of the browser tests goes on reading and deciding meanwhile. LOCK and TRUNCATE take table
after table, and so does an append: now and then the two wait for each other, and PostgreSQL ends one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.backends.postgresql import base, operations
from django.db.utils import OperationalError
from psycopg import errors

TRIES = 10
"""Each ends after a second (deadlock) or ten (lock_timeout)."""

MIGRATED = {"django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}
"""Tables that migrating fills."""

EMPTY = """
do $$
declare
    name text;
    found boolean;
    filled text := '';
begin
    for name in
        select c.oid::regclass from pg_class c
        where c.relkind = 'r' and c.relname ~ '^scheduling_event_[0-9]+_[0-9]+$'
            and c.relnamespace = current_schema()::regnamespace
    loop
        execute format('drop table %s', name);
    end loop;
    foreach name in array array[{names}] loop
        execute format('select exists (select from %I)', name) into found;
        if found then
            filled := filled || format(', %I', name);
        end if;
    end loop;
    if filled <> '' then
        execute 'truncate ' || substr(filled, 3) || ' cascade';
    end if;
end $$
"""


class DatabaseOperations(operations.DatabaseOperations):
    def sql_flush(
        self, style: Any, tables: Sequence[str], *, reset_sequences: bool = False, allow_cascade: bool = False
    ) -> list[str]:
        """The cascade reaches tables without rows only: those that have some are locked and named."""
        names = sorted(set(tables) - MIGRATED)
        if not names:
            return []
        quoted = ", ".join(map(self.quote_name, names))
        literals = ", ".join(f"'{name}'" for name in names)
        return [f"lock table {quoted}", EMPTY.format(names=literals)]

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
