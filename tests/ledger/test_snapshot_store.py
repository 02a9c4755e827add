"""Snapshots in the database: used when they are what the log says, made again when they are not."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from scheduling.engine.model import Node
from scheduling.engine.past import Closed
from scheduling.engine.state import ClusterState
from scheduling.ledger import fold, snapshot_store, snapshots, store
from scheduling.ledger.cache import StateCache
from scheduling.ledger.events import NodeAdded, NodeRemoved
from scheduling.ledger.store import Recorded
from scheduling.models import Snapshot
from tests.ledger.conftest import NOW, Append
from tests.ledger.observed import observed
from tests.projections.histories import Commit, histories


def add(name: str) -> NodeAdded:
    return NodeAdded(Node(name, name))


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seqs that are folded, in order."""
    seen: list[int] = []
    original = fold.apply

    def apply(state: ClusterState, recorded: Recorded) -> None:
        original(state, recorded)
        seen.append(recorded.seq)

    monkeypatch.setattr(fold, "apply", apply)
    return seen


@pytest.fixture(autouse=True)
def told_anew() -> Iterator[None]:
    snapshot_store._told.clear()
    yield
    snapshot_store._told.clear()


def save(stream: int, seq: int | None = None) -> bool:
    state = fold.state_from_zero(stream, seq)
    (last,) = store.stored(stream, after=state.seq - 1, limit=1)
    return snapshot_store.save(stream, state, last.hash)


def kept(stream: int) -> list[int]:
    return list(Snapshot.objects.filter(stream_id=stream).order_by("seq").values_list("seq", flat=True))


def append_history(stream: int, told: list[Commit]) -> None:
    for number, events in enumerate(told):
        with transaction.atomic():
            start = store.head(stream).seq
            store.append(stream, start, events, actor="a", command_id=f"c{number}", now=NOW + number)


class TestWhatIsUsed:
    def test_a_state_is_the_nearest_snapshot_and_the_events_after_it(
        self, stream: int, append: Append, folded: list[int]
    ) -> None:
        append(*(add(f"n{number}") for number in range(1, 11)))
        assert save(stream, 3) and save(stream, 7)
        folded.clear()
        assert sorted(fold.state_at(stream, 9).nodes) == sorted(f"n{number}" for number in range(1, 10))
        assert folded == [8, 9]
        assert fold.state_at(stream, 7).seq == 7
        assert folded == [8, 9]
        assert list(fold.state_at(stream, 5).nodes) == ["n1", "n2", "n3", "n4", "n5"]
        assert folded == [8, 9, 4, 5]

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
    @given(told=histories(), data=st.data())
    def test_a_state_with_snapshots_is_that_of_the_events_alone(
        self, stream: int, told: list[Commit], data: st.DataObject
    ) -> None:
        with transaction.atomic():
            append_history(stream, told)
            head = store.head(stream).seq
            for seq in data.draw(st.lists(st.integers(1, head), max_size=3, unique=True), label="snapshots"):
                assert save(stream, seq)
            for seq in data.draw(st.lists(st.integers(0, head), max_size=4), label="asked for"):
                assert observed(fold.state_at(stream, seq)) == observed(fold.state_from_zero(stream, seq))
            assert observed(StateCache(1).get(stream)) == observed(fold.state_from_zero(stream))
            transaction.set_rollback(True)

    def test_a_cache_begins_with_the_nearest_snapshot(
        self, stream: int, append: Append, folded: list[int]
    ) -> None:
        append(add("a"), add("b"), add("c"))
        save(stream, 2)
        folded.clear()
        cache = StateCache(1)
        assert list(cache.get(stream).nodes) == ["a", "b", "c"]
        append(NodeRemoved("a", "a"))
        assert list(cache.get(stream).nodes) == ["b", "c"]
        assert folded == [3, 4]

    def test_what_a_caller_does_to_a_state_does_not_come_back(self, stream: int, append: Append) -> None:
        append(add("a"), add("b"))
        save(stream)
        cache = StateCache(1)
        cache.get(stream).remove_node("a", "a")
        assert list(cache.get(stream).nodes) == list(fold.state_at(stream).nodes) == ["a", "b"]

    def test_a_snapshot_at_the_end_of_a_detached_partition_is_used(
        self, stream: int, append: Append, folded: list[int]
    ) -> None:
        with connection.cursor() as cursor:
            last = store.PARTITION_WIDTH
            cursor.execute(
                "update scheduling_streamhead set seq = %s where stream_id = %s", [last - 1, stream]
            )
            append(add("a"))
            (event,) = store.read(stream, after=last - 1)
            state = fold.fold(ClusterState(), [event])
            assert snapshot_store.save(stream, state, event.hash)
            append(add("b"))
            cursor.execute(f"alter table scheduling_event detach partition scheduling_event_{stream}_0")
        folded.clear()
        assert list(fold.state_at(stream).nodes) == list(StateCache(1).get(stream).nodes) == ["a", "b"]
        assert folded == [last + 1, last + 1]


class TestWhatIsNotUsed:
    @pytest.fixture
    def spoiled(self, stream: int, append: Append) -> Callable[..., None]:
        """A log of three events with a snapshot of the second, of which columns are changed."""
        append(add("a"), add("b"), add("c"))
        save(stream, 2)

        def spoil(**columns: Any) -> None:
            assert Snapshot.objects.filter(stream_id=stream).update(**columns) == 1

        return spoil

    def expect(self, stream: int, why: str | None) -> None:
        """The state is right all the same, and what was wrong is told once."""
        with capture_logs() as logs:
            for _ in range(2):
                assert list(fold.state_at(stream).nodes) == ["a", "b", "c"]
                assert list(StateCache(1).get(stream).nodes) == ["a", "b", "c"]
        told = [(line["event"], line["stream"], line["seq"], line["why"]) for line in logs]
        assert told == ([] if why is None else [("snapshot ignored", stream, 2, why)])
        assert save(stream, 3)
        assert kept(stream) == [3]

    def test_torn_bytes(self, stream: int, spoiled: Callable[..., None]) -> None:
        whole = bytes(Snapshot.objects.get(stream_id=stream).data)
        spoiled(data=whole[:-1])
        self.expect(stream, "the snapshot is torn: it does not have the digest it was written with")

    def test_no_bytes(self, stream: int, spoiled: Callable[..., None]) -> None:
        spoiled(data=b"")
        self.expect(stream, "0 bytes are no snapshot")

    def test_another_format(self, stream: int, spoiled: Callable[..., None]) -> None:
        spoiled(format="0.0000000000000000")
        self.expect(stream, None)

    def test_another_format_in_the_bytes(
        self, stream: int, spoiled: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(snapshots, "FORMAT", 99)
            spoiled(data=snapshots.pack(fold.state_from_zero(stream, 2)))
        with capture_logs() as logs:
            assert list(fold.state_at(stream).nodes) == ["a", "b", "c"]
        assert "the snapshot is of format 99" in logs[0]["why"]

    def test_another_event_than_it_says(self, stream: int, spoiled: Callable[..., None]) -> None:
        spoiled(data=snapshots.pack(fold.state_from_zero(stream, 1)))
        self.expect(stream, "it holds the state at event 1")

    def test_another_history(self, stream: int, spoiled: Callable[..., None]) -> None:
        spoiled(hash=b"x" * 32)
        self.expect(stream, "the log has no such event")

    def test_a_history_that_was_rolled_back(self, stream: int, append: Append) -> None:
        append(add("a"))
        with pytest.raises(RuntimeError), transaction.atomic():
            append(add("lost"))
            lost = fold.state_from_zero(stream)
            hash_ = store.head(stream).hash
            raise RuntimeError
        assert not snapshot_store.save(stream, lost, hash_)
        append(add("b"))
        assert not snapshot_store.save(stream, lost, hash_)
        assert kept(stream) == [] and list(fold.state_at(stream).nodes) == ["a", "b"]

    def test_a_database_that_was_restored(self, stream: int, append: Append) -> None:
        """A cache that stood further than the log goes back to a snapshot that the log still continues."""
        append(add("a"), add("b"))
        save(stream, 1)
        cache = StateCache(1)
        with pytest.raises(RuntimeError), transaction.atomic():
            append(add("lost"))
            cache.get(stream)
            raise RuntimeError
        assert list(cache.get(stream).nodes) == ["a", "b"]


class TestWhenOneIsTaken:
    @pytest.fixture(autouse=True)
    def near(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(snapshot_store, "SPACING", 4)

    def test_every_so_many_events(self, stream: int, append: Append) -> None:
        cache = StateCache(1)
        assert not cache.save(stream)
        taken = []
        for number in range(1, 13):
            append(add(f"n{number}"))
            cache.get(stream)
            taken += [number] if cache.save(stream) else []
        assert taken == kept(stream) == [4, 8, 12]

    def test_larger_clusters_and_those_with_a_long_past_take_fewer(self) -> None:
        state = ClusterState()
        for number in range(snapshot_store.OBJECTS_PER_EVENT * 3):
            state.set_node(Node(f"n{number}", ""))
        assert (snapshot_store.spacing(ClusterState()), snapshot_store.spacing(state)) == (4, 7)
        for number in range(snapshot_store.OBJECTS_PER_EVENT * 2):
            state.past.end(f"ml/g{number}", Closed(1, f"u{number}"))
        assert snapshot_store.spacing(state) == 9

    def test_not_again_what_another_process_has_taken(self, stream: int, append: Append) -> None:
        mine, other = StateCache(1), StateCache(1)
        append(*(add(f"n{number}") for number in range(6)))
        mine.get(stream)
        other.get(stream)
        assert other.save(stream) and not mine.save(stream)
        assert kept(stream) == [6]

    def test_at_the_end_of_a_process_one_that_is_well_ahead(self, stream: int, append: Append) -> None:
        cache = StateCache(1)
        append(add("a"))
        cache.get(stream)
        cache.save_all(0.5)
        assert kept(stream) == []
        append(add("b"))
        cache.get(stream)
        cache.save_all(0.5)
        assert kept(stream) == [2]

    @pytest.mark.django_db(transaction=True)
    def test_a_long_way_leaves_some_behind(self) -> None:
        with transaction.atomic():
            stream = store.open_stream("cluster", "demo")
            events = [add(f"n{number}") for number in range(23)]
            store.append(stream, 0, events, actor="a", command_id="c", now=NOW)
        assert fold.state_at(stream, 21).seq == 21
        assert kept(stream) == [5, 10, 15, 20]
        with transaction.atomic():  # whose snapshot of the log is perhaps read only, or others wait for it
            Snapshot.objects.all().delete()
            assert fold.state_at(stream).seq == 23
        assert kept(stream) == []


class TestWhichAreKept:
    def test_not_more_than_so_many(
        self, stream: int, append: Append, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(snapshot_store, "KEPT", 4)
        append(*(add(f"n{number}") for number in range(1, 13)))
        for seq in range(1, 13):
            save(stream, seq)
        assert kept(stream) == [4, 6, 9, 12]

    def test_not_more_than_so_many_bytes(
        self, stream: int, append: Append, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        append(*(add(f"n{number}") for number in range(1, 13)))
        size = len(snapshots.pack(fold.state_from_zero(stream)))
        monkeypatch.setattr(snapshot_store, "KEPT_BYTES", 2 * size)
        for seq in (3, 6, 9, 12):
            save(stream, seq)
        assert kept(stream) == [6, 12]
        monkeypatch.setattr(snapshot_store, "KEPT_BYTES", 1)
        append(add("n13"))
        save(stream, 13)
        assert kept(stream) == [13], "the newest stays, whatever its size"

    @given(steps=st.lists(st.integers(1, 50), min_size=1, max_size=200))
    def test_any_past_event_is_near_one(self, steps: list[int]) -> None:
        seqs: list[tuple[int, int, int]] = []
        at = 0
        for number, step in enumerate(steps):
            at += step
            seqs.append((number, at, 1))
            gone = set(snapshot_store._too_many(seqs))
            seqs = [row for row in seqs if row[0] not in gone]
            assert seqs[-1][1] == at and len(seqs) <= snapshot_store.KEPT
        places = [0, *(seq for _, seq, _ in seqs)]
        widest = max(after - before for before, after in pairwise(places))
        assert widest <= max(max(steps), 2 * at / snapshot_store.KEPT)


def test_the_runtime_may_take_and_drop_snapshots_and_change_none(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "select privilege, has_table_privilege('tas_app', 'scheduling_snapshot', privilege)"
            " from unnest(array['select', 'insert', 'delete', 'update']) as privilege"
        )
        assert dict(cursor.fetchall()) == {"select": True, "insert": True, "delete": True, "update": False}
