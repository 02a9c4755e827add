"""Append and read: one writer at a time, no gaps, nothing twice, all or nothing."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from scheduling.engine.model import Node
from scheduling.engine.state import ClusterState
from scheduling.engine.turns import Turn
from scheduling.ledger import codec, fold, store
from scheduling.ledger.codec import BadEvent
from scheduling.ledger.events import (
    ClusterModeChanged,
    Event,
    NodeAdded,
    NodeRemoved,
    PodGroupUnschedulable,
    SnapshotImported,
)
from scheduling.ledger.signals import log_advanced
from scheduling.ledger.store import Appended, CommandReused, ConflictingAppend, Standing, UnknownStream
from scheduling.ledger.verify import verify_chain
from scheduling.models import Command
from scheduling.models import Event as EventRow
from tests.ledger.conftest import NOW, Append
from tests.ledger.examples import EXAMPLES

OBSERVED, SIMULATED = ClusterModeChanged("observed"), ClusterModeChanged("simulated")


def seqs(stream: int) -> list[int]:
    return [item.seq for item in store.read(stream)]


def test_a_new_stream_stands_at_nothing(stream: int) -> None:
    assert store.head(stream) == store.Head(0, store.GENESIS)
    assert list(store.read(stream)) == []


def test_a_stream_of_the_same_kind_and_name_cannot_be_opened_again(stream: int) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        store.open_stream("cluster", "demo")
    with transaction.atomic():
        assert store.open_stream("scenario", "demo") != stream


def test_every_event_type_is_read_as_it_was_appended(stream: int, append: Append) -> None:
    appended = append(*EXAMPLES)
    assert (appended.first, appended.last, appended.repeated) == (1, len(EXAMPLES), False)
    recorded = list(store.read(stream))
    assert tuple(recorded) == appended.recorded
    assert tuple(item.event for item in recorded) == EXAMPLES


def test_what_is_kept_of_an_event(stream: int, append: Append) -> None:
    append(OBSERVED)
    append(NodeAdded(Node("n1", "u1")), command_id="add-n1", cause=1, occurred_at=NOW - 5)
    row = EventRow.objects.get(stream_id=stream, seq=2)
    assert (row.type, row.version, row.actor, row.command_id, row.cause) == (
        "NodeAdded",
        2,
        "user:ada",
        "add-n1",
        1,
    )
    assert (row.subject, row.namespace, row.name) == ("node", "", "n1")
    assert row.body == '{"node":{"name":"n1","uid":"u1"}}'
    assert row.recorded_at == datetime(2027, 1, 15, 8, 0, 0, 123_000, UTC)
    assert row.occurred_at == datetime(2027, 1, 15, 8, 0, 0, 118_000, UTC)


def test_the_hash_covers_the_hash_before_the_metadata_and_the_body(stream: int, append: Append) -> None:
    append(OBSERVED, command_id="a")
    first = EventRow.objects.get(stream_id=stream, seq=1)
    meta = [stream, 1, "ClusterModeChanged", 1, NOW, NOW, "user:ada", "a", None, "cluster", "", ""]
    expected = hashlib.sha256(bytes(32) + codec.canonical(meta) + b'\n{"mode":"observed"}').digest()
    assert bytes(first.hash) == expected
    append(SIMULATED)
    second = EventRow.objects.get(stream_id=stream, seq=2)
    assert bytes(second.prev_hash) == expected
    assert store.head(stream) == store.Head(2, bytes(second.hash))


def test_an_append_that_expects_another_seq_is_a_conflict_and_writes_nothing(
    stream: int, append: Append
) -> None:
    append(OBSERVED, SIMULATED)
    for expected in (0, 1, 3):
        with pytest.raises(ConflictingAppend) as refused, transaction.atomic():
            store.append(stream, expected, [OBSERVED], actor="a", command_id="c", now=NOW)
        assert (refused.value.stream_id, refused.value.expected, refused.value.actual) == (
            stream,
            expected,
            2,
        )
    assert seqs(stream) == [1, 2]
    assert not Command.objects.filter(command_id="c").exists()


def test_the_same_command_twice_happens_once(stream: int, append: Append) -> None:
    once = append(OBSERVED, SIMULATED, command_id="c", request="switch")
    append(OBSERVED)
    again = append(SIMULATED, command_id="c", request="switch")
    assert again == Appended(once.first, once.last, repeated=True)
    assert seqs(stream) == [1, 2, 3]


def standing(appended: Appended) -> Standing:
    assert appended.standing is not None
    return appended.standing


def test_who_appended_the_last_event_goes_on_without_asking(stream: int, append: Append) -> None:
    first = append(OBSERVED, command_id="one")
    with transaction.atomic():
        second = store.append(
            stream, standing(first), [SIMULATED], actor="user:ada", command_id="two", now=NOW - 5
        )
    assert (second.first, second.last, standing(second).head) == (2, 2, store.head(stream))
    assert second.recorded[0].recorded_at == first.recorded[0].recorded_at  # it never falls
    assert verify_chain(stream).ok


def test_who_stands_where_the_stream_was_is_in_conflict(stream: int, append: Append) -> None:
    first = append(OBSERVED, command_id="one")
    append(SIMULATED, command_id="two")
    with pytest.raises(ConflictingAppend) as conflict, transaction.atomic():
        store.append(stream, standing(first), [OBSERVED], actor="user:ada", command_id="three", now=NOW)
    assert (conflict.value.expected, conflict.value.actual) == (1, 2)
    assert seqs(stream) == [1, 2]


def test_a_repeated_command_is_one_from_wherever_it_stands(stream: int, append: Append) -> None:
    first = append(OBSERVED, command_id="one")
    second = append(SIMULATED, command_id="two")
    for stands in (standing(first), standing(second)):
        with transaction.atomic():
            again = store.append(stream, stands, [OBSERVED], actor="user:ada", command_id="one", now=NOW)
        assert (again.first, again.last, again.repeated, again.standing) == (1, 1, True, None)
    assert seqs(stream) == [1, 2]


def test_a_standing_of_another_history_is_a_conflict(stream: int, append: Append) -> None:
    first = append(OBSERVED, command_id="one")
    other = replace(standing(first), head=store.Head(1, bytes(32)))
    with pytest.raises(ConflictingAppend), transaction.atomic():
        store.append(stream, other, [SIMULATED], actor="user:ada", command_id="two", now=NOW)
    assert seqs(stream) == [1]


def test_a_command_id_cannot_stand_for_two_requests(stream: int, append: Append) -> None:
    append(OBSERVED, command_id="c", request="observe")
    with pytest.raises(CommandReused, match="command id 'c' was already used"):
        append(SIMULATED, command_id="c", request="simulate")
    with pytest.raises(CommandReused), transaction.atomic():
        store.append(stream, 1, [], actor="user:bob", command_id="c", request="observe", now=NOW)
    assert seqs(stream) == [1]


def test_a_command_is_found_before_anything_is_decided(stream: int, append: Append) -> None:
    assert store.find_command(stream, "c", actor="user:ada", request="observe") is None
    append(OBSERVED, command_id="c", request="observe")
    assert store.find_command(stream, "c", actor="user:ada", request="observe") == Appended(1, 1, True)
    with pytest.raises(CommandReused):
        store.find_command(stream, "c", actor="user:ada", request="simulate")


def test_a_command_without_events_is_remembered_too(stream: int, append: Append) -> None:
    append(OBSERVED)
    empty = append(command_id="c")
    assert (empty.first, empty.last, empty.repeated) == (2, 1, False)
    assert append(SIMULATED, command_id="c") == Appended(2, 1, repeated=True)
    assert seqs(stream) == [1]


def test_command_ids_of_two_streams_are_two_commands(stream: int, append: Append) -> None:
    append(OBSERVED, command_id="c")
    with transaction.atomic():
        other = store.open_stream("cluster", "other")
        assert not store.append(other, 0, [OBSERVED], actor="a", command_id="c", now=NOW).repeated


def test_events_of_many_statements_are_one_append(
    stream: int, append: Append, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "CHUNK", 7)
    events = [NodeAdded(Node(f"n{number}", f"u{number}")) for number in range(23)]
    assert append(*events).last == 23
    assert [item.event for item in store.read(stream)] == events
    assert [item.seq for item in store.read(stream, after=3, upto=20, limit=15)] == list(range(4, 19))
    assert [item.seq for item in store.read(stream, after=20, limit=100)] == [21, 22, 23]


def test_twenty_thousand_events_are_appended_at_once(stream: int, append: Append) -> None:
    append(*(NodeAdded(Node(f"n{number}", f"u{number}")) for number in range(20_000)))
    assert store.head(stream).seq == EventRow.objects.filter(stream_id=stream).count() == 20_000


def test_an_event_that_cannot_be_stored_leaves_nothing_of_its_command(stream: int, append: Append) -> None:
    with pytest.raises(BadEvent, match="64-bit"):
        append(OBSERVED, NodeAdded(Node("n", "u", allocatable=(("memory", 2**64),))), command_id="c")
    assert store.head(stream).seq == 0
    assert not Command.objects.exists()


def test_a_rolled_back_append_leaves_no_trace(stream: int) -> None:
    with pytest.raises(RuntimeError, match="stop"), transaction.atomic():
        store.append(stream, 0, [OBSERVED], actor="a", command_id="c", now=NOW)
        raise RuntimeError("stop")
    assert store.head(stream) == store.Head(0, store.GENESIS)
    assert seqs(stream) == []
    assert not Command.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_append_outside_of_a_transaction_is_refused() -> None:
    with pytest.raises(transaction.TransactionManagementError, match="inside transaction"):
        store.append(1, 0, [OBSERVED], actor="a", command_id="c", now=NOW)


def test_a_command_id_is_needed(stream: int) -> None:
    with pytest.raises(ValueError, match="needs a command id"), transaction.atomic():
        store.append(stream, 0, [OBSERVED], actor="a", command_id="", now=NOW)


def test_a_stream_that_does_not_exist_is_named(db: None) -> None:
    with pytest.raises(UnknownStream, match="no stream 404"):
        store.head(404)
    with pytest.raises(UnknownStream), transaction.atomic():
        store.append(404, 0, [OBSERVED], actor="a", command_id="c", now=NOW)


def test_a_stream_goes_on_in_its_next_partition(stream: int, append: Append) -> None:
    width = store.PARTITION_WIDTH
    with connection.cursor() as cursor:
        cursor.execute("update scheduling_streamhead set seq = %s where stream_id = %s", [width - 2, stream])
    append(OBSERVED, SIMULATED, OBSERVED, SIMULATED)
    append(OBSERVED)
    with connection.cursor() as cursor:
        cursor.execute("select seq, tableoid::regclass::text from scheduling_event order by seq")
        found = cursor.fetchall()
    first, second = (f"scheduling_event_{stream}_{block}" for block in (0, 1))
    assert found == [(width - 1, first), (width, first), *((width + number, second) for number in (1, 2, 3))]


def test_a_stream_whose_partition_is_full_to_the_last_goes_on_too(stream: int, append: Append) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "update scheduling_streamhead set seq = %s where stream_id = %s", [store.PARTITION_WIDTH, stream]
        )
    assert append(OBSERVED).last == store.PARTITION_WIDTH + 1


def test_an_old_partition_can_be_detached_and_appends_go_on(stream: int, append: Append) -> None:
    append(OBSERVED)
    with connection.cursor() as cursor:
        cursor.execute(
            "update scheduling_streamhead set seq = %s where stream_id = %s", [store.PARTITION_WIDTH, stream]
        )
        append(SIMULATED)
        cursor.execute(f"alter table scheduling_event detach partition scheduling_event_{stream}_0")
    assert append(OBSERVED).last == store.PARTITION_WIDTH + 2
    assert [item.seq for item in store.read(stream)] == [store.PARTITION_WIDTH + 1, store.PARTITION_WIDTH + 2]


@pytest.mark.parametrize(
    ("events", "woke"),
    [
        ([SnapshotImported("", (), (), ())], False),
        ([SnapshotImported("", (), (), ()), NodeRemoved("n", "u")], True),
    ],
)
def test_listeners_hear_of_an_append_after_its_commit(
    stream: int,
    append: Append,
    events: list[Event],
    woke: bool,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    heard: list[dict[str, object]] = []

    def listen(sender: object, signal: object, **told: object) -> None:
        heard.append(told)

    log_advanced.connect(listen)
    try:
        with django_capture_on_commit_callbacks() as callbacks:
            append(*events, command_id="c")
            append(*events, command_id="c")
            append()
        assert heard == []
        assert len(callbacks) == 1
        callbacks[0]()
    finally:
        log_advanced.disconnect(listen)
    assert heard == [{"stream_id": stream, "seq": len(events), "woke": woke, "events": tuple(events)}]


def test_each_event_of_an_append_can_have_its_own_cause(stream: int, append: Append) -> None:
    append(OBSERVED, SIMULATED)
    appended = append(OBSERVED, SIMULATED, OBSERVED, cause=[1, None, 2])
    assert [item.cause for item in store.read(stream)] == [None, None, 1, None, 2]
    assert tuple(store.read(stream, after=2)) == appended.recorded
    assert verify_chain(stream).ok


def test_causes_that_are_not_as_many_as_the_events_are_refused(stream: int, append: Append) -> None:
    with pytest.raises(ValueError, match="zip"):
        append(OBSERVED, cause=[1, 2])
    assert store.head(stream).seq == 0


def test_a_refusal_written_before_winners_were_told_is_read_and_folded(stream: int, append: Append) -> None:
    (now,) = [event for event in EXAMPLES if isinstance(event, PodGroupUnschedulable)]
    body = codec.to_body(replace(now, lost_to=None))
    assert "lost_to" not in body, "a body of version 1"
    old = codec.from_body("PodGroupUnschedulable", 1, body)
    assert old == replace(now, lost_to=None)
    state = ClusterState()
    fold.apply(state, old, 7, 5_000)
    assert state.turns["ml/train"] == Turn(seq=7, at=5_000, attempts=1, failed_at=5_000, waits_since=5_000)
