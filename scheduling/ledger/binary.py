"""A cursor that sends parameters apart from the statement and in binary, on Django's own connection.

Django's cursors write parameters into the statement; for arrays of JSON texts that is five times slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection


@contextmanager
def binary_cursor() -> Iterator[psycopg.Cursor[tuple[Any, ...]]]:
    """Takes part in the connection's transaction; errors are Django's, as everywhere else."""
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        yield cursor
