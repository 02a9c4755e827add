"""Times in the log: they never fall, so that a time names one place in a stream."""

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduling.ledger import fold, store
from scheduling.ledger.events import ClusterModeChanged
from scheduling.ledger.store import UnknownStream
from tests.ledger.conftest import NOW, Append

OBSERVED = ClusterModeChanged("observed")


def append_at(stream: int, now: int, events: int = 1, occurred_at: int | None = None) -> None:
    with transaction.atomic():
        start = store.head(stream).seq
        store.append(
            stream,
            start,
            [OBSERVED] * events,
            actor="a",
            command_id=f"c{start}-{now}",
            now=now,
            occurred_at=occurred_at,
        )


def recorded_at(stream: int) -> list[int]:
    return [item.recorded_at for item in store.read(stream)]


def test_a_clock_that_goes_back_does_not_take_the_log_with_it(stream: int) -> None:
    append_at(stream, NOW)
    append_at(stream, NOW - 5_000)
    append_at(stream, NOW + 1)
    assert recorded_at(stream) == [NOW, NOW, NOW + 1]
    assert [item.occurred_at for item in store.read(stream)] == [NOW, NOW - 5_000, NOW + 1]


def test_a_command_without_events_does_not_move_the_time(stream: int) -> None:
    append_at(stream, NOW)
    append_at(stream, NOW + 60_000, events=0)
    append_at(stream, NOW + 1)
    assert recorded_at(stream) == [NOW, NOW + 1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(clock=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 3)), max_size=8), at=st.integers(-1, 31))
def test_the_seq_at_a_time_is_the_last_one_recorded_by_then(
    stream: int, clock: list[tuple[int, int]], at: int
) -> None:
    with transaction.atomic():
        for now, events in clock:
            append_at(stream, NOW + now, events)
        told = [item.seq for item in store.read(stream) if item.recorded_at <= NOW + at]
        assert fold.seq_at(stream, NOW + at) == max(told, default=0)
        transaction.set_rollback(True)


def test_the_seq_at_a_time_is_asked_of_a_stream_that_exists(stream: int) -> None:
    assert fold.seq_at(stream, NOW) == 0
    with pytest.raises(UnknownStream):
        fold.seq_at(404, NOW)


def test_a_time_before_a_detached_partition_is_not_answered(stream: int, append: Append) -> None:
    append_at(stream, NOW)
    with connection.cursor() as cursor:
        cursor.execute(
            "update scheduling_streamhead set seq = %s where stream_id = %s", [store.PARTITION_WIDTH, stream]
        )
        append_at(stream, NOW + 10)
        cursor.execute(f"alter table scheduling_event detach partition scheduling_event_{stream}_0")
    assert fold.seq_at(stream, NOW + 10) == store.PARTITION_WIDTH + 1
    with pytest.raises(LookupError, match=f"begins with event {store.PARTITION_WIDTH + 1} in this database"):
        fold.seq_at(stream, NOW + 9)
