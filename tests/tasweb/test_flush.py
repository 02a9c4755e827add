"""The flush after a test, while the served console holds tables."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.color import no_style
from django.core.management.sql import sql_flush
from django.db import connection
from psycopg import errors

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_flush_that_loses_a_deadlock_is_tried_again(stack: Any) -> None:
    statement = sql_flush(no_style(), connection)[0]
    first, last = statement.split('"')[1], statement.split('"')[-2]
    failures: list[Exception] = []
    with stack.connect("tas_owner") as other, stack.connect("tas_owner") as watch:
        other.execute("begin")
        other.execute(f'lock table "{last}" in access share mode')

        def take_the_first() -> None:
            waits = "select count(*) from pg_locks where not granted and relation = %s::regclass"
            deadline = time.monotonic() + 10
            while watch.execute(waits, [last]).fetchone() == (0,) and time.monotonic() < deadline:
                pass
            try:
                other.execute(f'lock table "{first}" in access share mode')
                other.execute("commit")
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=take_the_first)
        thread.start()
        call_command("flush", interactive=False, verbosity=0)
        thread.join()
    assert all(isinstance(failure, errors.DeadlockDetected) for failure in failures)
