"""Whoever gets around the triggers is found out by the hashes: which event, and what was done to it."""

from collections.abc import Callable

import pytest
from django.db import connection

from scheduling.engine.model import Node
from scheduling.ledger import store, verify
from scheduling.ledger.events import NodeAdded
from scheduling.ledger.store import Head, StoredRow, UnknownStream
from scheduling.ledger.verify import Fault, verify_chain
from scheduling.models import Event
from tests.ledger.conftest import Append

Tamper = Callable[[str], None]


@pytest.fixture
def tamper(stream: int, append: Append) -> Tamper:
    """Ten events, and SQL as the owner who switched the triggers off."""
    for number in range(1, 11):
        append(NodeAdded(Node(f"n{number}", f"u{number}")))

    def run(statement: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"alter table scheduling_event_{stream}_0 disable trigger append_only_rows")
            cursor.execute(statement)

    return run


def found(stream: int) -> tuple[int | None, Fault | None]:
    report = verify_chain(stream)
    assert report.ok == (report.sentence == "")
    if not report.ok:
        assert f"event {report.bad_seq} of stream {stream} was {report.fault}" in report.sentence
    return report.bad_seq, report.fault


def test_an_untouched_log_is_good(stream: int, tamper: Tamper) -> None:
    report = verify_chain(stream)
    assert (report.ok, report.events, report.head) == (True, 10, store.head(stream))


def test_an_empty_log_is_good(stream: int) -> None:
    assert verify_chain(stream).ok


def test_a_stream_that_does_not_exist_is_named(db: None) -> None:
    with pytest.raises(UnknownStream):
        verify_chain(404)


@pytest.mark.parametrize(
    "change",
    [
        "body = replace(body, 'n7', 'x7')",
        "actor = 'user:eve'",
        "type = 'NodeRemoved'",
        "version = 1",
        "recorded_at = recorded_at + interval '1 millisecond'",
        "occurred_at = occurred_at - interval '1 day'",
        "command_id = 'another'",
        "cause = 1",
        "subject = 'pod'",
        "namespace = 'x'",
        "name = 'x'",
        "hash = sha256('x')",
    ],
)
def test_any_column_that_was_changed_is_found(stream: int, tamper: Tamper, change: str) -> None:
    tamper(f"update scheduling_event set {change} where seq = 7")
    assert found(stream) == (7, Fault.CHANGED)


@pytest.mark.parametrize("seq", [1, 5, 10])
def test_an_event_that_was_removed_is_found(stream: int, tamper: Tamper, seq: int) -> None:
    tamper(f"delete from scheduling_event where seq = {seq}")
    assert found(stream) == (seq, Fault.REMOVED)


def test_an_event_that_was_removed_and_its_gap_closed_is_found(stream: int, tamper: Tamper) -> None:
    tamper("delete from scheduling_event where seq = 5")
    for seq in range(6, 11):
        tamper(f"update scheduling_event set seq = {seq - 1} where seq = {seq}")
    assert found(stream) == (5, Fault.REMOVED)


@pytest.mark.parametrize("one, other", [(3, 8), (3, 4)])
def test_events_that_changed_places_are_found(stream: int, tamper: Tamper, one: int, other: int) -> None:
    tamper(f"update scheduling_event set seq = 99 where seq = {one}")
    tamper(f"update scheduling_event set seq = {one} where seq = {other}")
    tamper(f"update scheduling_event set seq = {other} where seq = 99")
    assert found(stream) == (one, Fault.REORDERED)


def forged(stream: int, seq: int, previous: bytes) -> StoredRow:
    row = next(store.stored(stream, after=seq - 1))
    body = row.body.replace("n", "x")
    values = row._asdict() | {
        "body": body,
        "prev_hash": previous,
        "seq": seq,
    }
    return StoredRow(**(values | {"hash": StoredRow(**values).computed_hash()}))


def insert(tamper: Tamper, row: StoredRow, hashed: bool) -> None:
    """Push the events from there on up by one and put the row in between."""
    for seq in range(10, row.seq - 1, -1):
        tamper(f"update scheduling_event set seq = {seq + 1} where seq = {seq}")
    tamper(
        "insert into scheduling_event select stream_id, seq - 1, type, version, occurred_at, recorded_at, "
        f"actor, command_id, cause, subject, namespace, name, '{row.body}', '\\x{row.prev_hash.hex()}', "
        f"'\\x{(row.hash if hashed else bytes(32)).hex()}' from scheduling_event where seq = {row.seq + 1}"
    )


@pytest.mark.parametrize("hashed", [True, False])
def test_an_event_that_was_put_in_between_is_found(stream: int, tamper: Tamper, hashed: bool) -> None:
    before = next(store.stored(stream, after=3, limit=1))
    insert(tamper, forged(stream, 5, before.hash), hashed)
    assert found(stream) == (5, Fault.INSERTED)


def test_an_event_that_was_put_after_the_head_is_found(stream: int, tamper: Tamper) -> None:
    tamper(
        "insert into scheduling_event select stream_id, 11, type, version, occurred_at, recorded_at, actor, "
        "command_id, cause, subject, namespace, name, body, hash, hash from scheduling_event where seq = 10"
    )
    assert found(stream) == (11, Fault.INSERTED)


@pytest.mark.parametrize("seq", [4, 10])
def test_an_event_that_was_exchanged_together_with_its_hash_is_found(
    stream: int, tamper: Tamper, seq: int
) -> None:
    row = next(store.stored(stream, after=seq - 1, limit=1))
    forgery = forged(stream, seq, row.prev_hash)
    tamper(
        f"update scheduling_event set body = '{forgery.body}', hash = '\\x{forgery.hash.hex()}' "
        f"where seq = {seq}"
    )
    assert found(stream) == (seq, Fault.CHANGED)


def test_a_log_that_was_rewritten_whole_has_another_head(stream: int, tamper: Tamper) -> None:
    """The chain alone cannot tell, so the head is noted elsewhere (pages and the command print it)."""
    noted = verify_chain(stream).head
    previous = next(store.stored(stream, after=8, limit=1)).hash
    row = forged(stream, 10, previous)
    tamper(f"update scheduling_event set body = '{row.body}', hash = '\\x{row.hash.hex()}' where seq = 10")
    tamper(f"update scheduling_streamhead set hash = '\\x{row.hash.hex()}'")
    report = verify_chain(stream)
    assert report.ok
    assert report.head != noted


def test_what_is_left_after_an_archive_is_verified_from_the_noted_event_on(
    stream: int, tamper: Tamper
) -> None:
    kept = Event.objects.get(stream_id=stream, seq=6)
    tamper("delete from scheduling_event where seq <= 6")
    assert found(stream) == (1, Fault.REMOVED)
    report = verify_chain(stream, since=Head(6, bytes(kept.hash)))
    assert (report.ok, report.events) == (True, 4)
    assert verify_chain(stream, since=Head(6, bytes(32))).bad_seq == 7


def test_events_appended_while_the_walk_goes_on_are_no_fault(
    stream: int, append: Append, tamper: Tamper, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = verify._check_end

    def and_then(*arguments: object) -> object:
        append(NodeAdded(Node("late", "late")))
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(verify, "_check_end", and_then)
    assert found(stream) == (None, None)
