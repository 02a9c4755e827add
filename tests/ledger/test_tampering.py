"""What a superuser does to a log with the triggers off is named: which event, and what was done to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scheduling.engine.model import Node
from scheduling.ledger import store
from scheduling.ledger.events import ClusterModeChanged, Event, NodeAdded
from scheduling.ledger.store import StoredRow, to_datetime
from scheduling.ledger.verify import Fault, verify_chain
from tests.ledger.conftest import NOW

EVENTS = 9

Log = list[StoredRow]
Tampering = Callable[[Log], tuple[Log, int, Fault]]
"""The log as written -> the log as left, the first event that is not as it was, and what was done."""

COLUMNS = StoredRow._fields
OTHER: dict[str, Any] = {
    "type": "NodeRemoved",
    "version": 7,
    "occurred_at": NOW - 1,
    "recorded_at": NOW + 1,
    "actor": "user:eve",
    "command_id": "another",
    "cause": 3,
    "subject": "pod",
    "namespace": "x",
    "name": "x",
    "body": '{"mode":"x"}',
    "prev_hash": b"p" * 32,
    "hash": b"h" * 32,
}

places = st.integers(0, EVENTS - 1)


def hashed(row: StoredRow) -> StoredRow:
    return row._replace(hash=row.computed_hash())


def numbered(rows: Sequence[StoredRow]) -> Log:
    """Each moved to the seq of its place."""
    return [row._replace(seq=seq) for seq, row in enumerate(rows, 1)]


@st.composite
def changed(draw: Any) -> Tampering:
    """One column; with the hash made anew or not."""
    place, column, again = draw(places), draw(st.sampled_from(sorted(OTHER))), draw(st.booleans())

    def tamper(log: Log) -> tuple[Log, int, Fault]:
        row = log[place]._replace(**{column: OTHER[column]})
        left = [*log[:place], hashed(row) if again and column != "hash" else row, *log[place + 1 :]]
        return left, place + 1, Fault.CHANGED

    return tamper


@st.composite
def overwritten(draw: Any) -> Tampering:
    """By a copy of another event."""
    place, origin = draw(st.tuples(places, places).filter(lambda pair: abs(pair[0] - pair[1]) > 1))

    def tamper(log: Log) -> tuple[Log, int, Fault]:
        return (
            [*log[:place], log[origin]._replace(seq=place + 1), *log[place + 1 :]],
            place + 1,
            Fault.CHANGED,
        )

    return tamper


@st.composite
def removed(draw: Any) -> Tampering:
    """Some in a row; with the gap closed or not."""
    first, last = sorted(draw(st.tuples(places, places)))
    closed = draw(st.booleans())

    def tamper(log: Log) -> tuple[Log, int, Fault]:
        left = log[:first] + log[last + 1 :]
        return numbered(left) if closed else left, first + 1, Fault.REMOVED

    return tamper


@st.composite
def inserted(draw: Any) -> Tampering:
    """A forgery with a hash that fits, with one that does not, or a copy of an event; before any or last."""
    place, how, origin = (
        draw(st.integers(0, EVENTS)),
        draw(st.sampled_from(["fits", "not", "copy"])),
        draw(places),
    )

    def tamper(log: Log) -> tuple[Log, int, Fault]:
        row = log[origin]
        if how != "copy":
            before = log[place - 1].hash if place else store.GENESIS
            row = log[0]._replace(seq=place + 1, actor="user:eve", prev_hash=before, hash=b"h" * 32)
            row = hashed(row) if how == "fits" else row
        left = numbered([*log[:place], row, *log[place:]])
        at = place + 2 if how == "copy" and origin == place else place + 1  # of two that are equal the second
        return left, at, Fault.INSERTED

    return tamper


@st.composite
def moved(draw: Any) -> Tampering:
    """To another place, those in between making room."""
    one, other = draw(st.tuples(places, places).filter(lambda pair: pair[0] != pair[1]))

    def tamper(log: Log) -> tuple[Log, int, Fault]:
        rest = log[:one] + log[one + 1 :]
        left = numbered([*rest[:other], log[one], *rest[other:]])
        return left, min(one, other) + 1, Fault.REORDERED

    return tamper


@st.composite
def exchanged(draw: Any) -> Tampering:
    """Two events change places."""
    one, other = sorted(draw(st.tuples(places, places).filter(lambda pair: pair[0] != pair[1])))

    def tamper(log: Log) -> tuple[Log, int, Fault]:
        left = list(log)
        left[one], left[other] = left[other], left[one]
        return numbered(left), one + 1, Fault.REORDERED

    return tamper


@pytest.fixture
def written(db: None) -> tuple[int, Log]:
    """A stream of commands of one to three events, as its rows."""
    events: list[Event] = [NodeAdded(Node(f"n{number}", f"u{number}")) for number in range(EVENTS - 1)]
    events.append(ClusterModeChanged("observed"))
    with transaction.atomic():
        stream = store.open_stream("cluster", "demo")
        other = store.open_stream("cluster", "other")
        store.append(other, 0, events, actor="a", command_id="c", now=NOW)
        seq, sizes = 0, [1, 3, 2, 1, 2]
        for number, size in enumerate(sizes):
            commit = events[seq : seq + size]
            done = store.append(
                stream, seq, commit, actor="a", command_id=f"c{number}", cause=seq or None, now=NOW
            )
            seq = done.last
    rows = list(store.stored(stream))
    assert len(rows) == EVENTS == sum(sizes)
    with connection.cursor() as cursor:
        cursor.execute(f"alter table scheduling_event_{stream}_0 disable trigger append_only_rows")
    return stream, rows


def leave(stream: int, rows: Log) -> None:
    with connection.cursor() as cursor:
        cursor.execute("delete from scheduling_event where stream_id = %s", [stream])
        marks = ", ".join(["%s"] * len(COLUMNS))
        cursor.executemany(
            f"insert into scheduling_event ({', '.join(COLUMNS)}) values ({marks})",
            [
                row._replace(
                    occurred_at=to_datetime(row.occurred_at), recorded_at=to_datetime(row.recorded_at)
                )
                for row in rows
            ],
        )


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(changed(), overwritten(), removed(), inserted(), moved(), exchanged()))
def test_what_was_done_to_which_event_is_named(written: tuple[int, Log], tampering: Tampering) -> None:
    stream, rows = written
    left, seq, fault = tampering(rows)
    leave(stream, left)
    report = verify_chain(stream)
    assert (report.bad_seq, report.fault) == (seq, fault), report.sentence
    assert report.sentence.startswith(f"event {seq} of stream {stream} was {fault}: ")
    leave(stream, rows)
    assert verify_chain(stream).ok, "and only the one stream was touched"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(changed(), removed(), inserted(), moved(), exchanged(), overwritten()),
        min_size=2,
        max_size=4,
    )
)
def test_of_several_things_none_is_missed(written: tuple[int, Log], tamperings: list[Tampering]) -> None:
    """The first place that is not as it was is named, or, when forgeries follow each other, the last of
    them."""
    stream, rows = written
    left = rows
    for tampering in tamperings:
        try:
            left = tampering(left)[0]
        except IndexError:
            continue  # there is no such place any more
    assume(len({row.seq for row in left}) == len(left))
    leave(stream, left)
    report = verify_chain(stream)
    assert report.ok == (left == rows)
    if not report.ok:
        first = next(
            (seq for seq, pair in enumerate(zip(left, rows, strict=False), 1) if pair[0] != pair[1]), None
        )
        assert report.bad_seq is not None
        assert report.bad_seq >= (min(len(left), len(rows)) + 1 if first is None else first)
    leave(stream, rows)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places, places)
def test_of_events_that_were_exchanged_with_their_hashes_the_last_is_named(
    written: tuple[int, Log], one: int, other: int
) -> None:
    stream, rows = written
    first, last = sorted((one, other))
    left, previous = rows[:first], rows[first].prev_hash
    for row in rows[first : last + 1]:
        left.append(hashed(row._replace(actor="user:eve", prev_hash=previous)))
        previous = left[-1].hash
    leave(stream, left + rows[last + 1 :])
    report = verify_chain(stream)
    assert (report.bad_seq, report.fault) == (last + 1, Fault.CHANGED)
    leave(stream, rows)


@pytest.mark.parametrize(
    ("change", "seq", "fault"),
    [
        ("hash = sha256('x')", EVENTS, Fault.CHANGED),
        (f"seq = {EVENTS + 2}", EVENTS + 1, Fault.REMOVED),
        (f"seq = {EVENTS - 2}", EVENTS - 2, Fault.CHANGED),
    ],
)
def test_a_head_that_was_moved_is_found(
    written: tuple[int, Log], change: str, seq: int, fault: Fault
) -> None:
    stream, _ = written
    with connection.cursor() as cursor:
        cursor.execute(f"update scheduling_streamhead set {change} where stream_id = %s", [stream])
    report = verify_chain(stream)
    assert (report.bad_seq, report.fault) == (seq, fault)
