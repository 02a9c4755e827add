"""States kept in memory: always what the log says, whatever happened to it in between."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from scheduling.engine.model import Node
from scheduling.ledger import fold, store
from scheduling.ledger.cache import StateCache
from scheduling.ledger.events import ClusterModeChanged, NodeAdded, NodeUpdated
from scheduling.ledger.fold import BrokenHistory
from scheduling.ledger.store import Recorded, UnknownStream
from tests.ledger.conftest import NOW, Append


def add(name: str) -> NodeAdded:
    return NodeAdded(Node(name, name))


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seqs that are folded, in order."""
    seen: list[int] = []
    original = fold.apply

    def apply(state: object, recorded: Recorded, seq: int | None = None) -> None:
        original(state, recorded, seq)  # type: ignore[arg-type]
        seen.append(recorded.seq)

    monkeypatch.setattr(fold, "apply", apply)
    return seen


def test_only_what_is_new_is_folded(stream: int, append: Append, folded: list[int]) -> None:
    cache = StateCache(2)
    append(add("a"), add("b"))
    assert set(cache.get(stream).nodes) == {"a", "b"}
    append(add("c"))
    assert set(cache.get(stream).nodes) == {"a", "b", "c"}
    assert cache.get(stream).seq == 3
    assert folded == [1, 2, 3]


def test_what_the_caller_does_to_a_state_stays_with_the_caller(stream: int, append: Append) -> None:
    cache = StateCache(2)
    append(add("a"))
    mine = cache.get(stream)
    mine.remove_node("a", "a")
    mine.seq = 99
    assert (set(cache.get(stream).nodes), cache.get(stream).seq) == ({"a"}, 1)


def test_a_failed_append_leaves_no_trace(stream: int, append: Append) -> None:
    cache = StateCache(2)
    append(add("a"))
    cache.get(stream)
    with pytest.raises(RuntimeError), transaction.atomic():
        store.append(stream, 1, [add("lost")], actor="a", command_id="lost", now=NOW)
        assert set(cache.get(stream).nodes) == {"a", "lost"}  # inside of its transaction it is there
        raise RuntimeError
    assert set(cache.get(stream).nodes) == {"a"}


def test_a_log_that_went_another_way_is_folded_anew(stream: int, append: Append, folded: list[int]) -> None:
    """As after a restore: the same seqs, other events."""
    cache = StateCache(2)
    append(add("a"))
    with pytest.raises(RuntimeError), transaction.atomic():
        store.append(stream, 1, [add("lost")], actor="a", command_id="lost", now=NOW)
        cache.get(stream)
        raise RuntimeError
    append(add("b"))
    assert set(cache.get(stream).nodes) == {"a", "b"}
    with pytest.raises(RuntimeError), transaction.atomic():
        store.append(stream, 2, [add("lost")], actor="a", command_id="lost", now=NOW)
        cache.get(stream)
        raise RuntimeError
    append(add("c"), add("d"))
    assert set(cache.get(stream).nodes) == {"a", "b", "c", "d"}
    assert folded == [1, 2, 1, 2, 3, 1, 2, 3, 4]


def test_the_least_recently_asked_goes_first(db: None, folded: list[int]) -> None:
    streams = []
    for name in ("one", "two", "three"):
        with transaction.atomic():
            streams.append(store.open_stream("cluster", name))
            store.append(streams[-1], 0, [ClusterModeChanged("observed")], actor="a", command_id="c", now=NOW)
    one, two, three = streams
    cache = StateCache(2)
    for asked in (one, two, one, three, one):
        cache.get(asked)
    assert len(folded) == 3
    cache.get(two)
    assert len(folded) == 4
    cache.clear()
    cache.get(two)
    assert len(folded) == 5


def test_a_cache_needs_room(db: None) -> None:
    with pytest.raises(ValueError, match="room for one"):
        StateCache(0)


def test_a_stream_that_does_not_exist_is_named(db: None) -> None:
    with pytest.raises(UnknownStream):
        StateCache(1).get(404)


def test_a_history_that_cannot_be_folded_is_not_half_kept(stream: int, append: Append) -> None:
    cache = StateCache(1)
    append(add("a"))
    cache.get(stream)
    append(add("b"), NodeUpdated("nobody", "u", (("ready", False),)))
    for _ in range(2):
        with pytest.raises(BrokenHistory, match="nobody"):
            cache.get(stream)


def test_a_log_with_a_hole_is_refused(stream: int, append: Append) -> None:
    append(add("a"), add("b"), add("c"))
    with connection.cursor() as cursor:
        cursor.execute(f"alter table scheduling_event_{stream}_0 disable trigger append_only_rows")
        cursor.execute("delete from scheduling_event where seq = 2")
    with pytest.raises(BrokenHistory, match="does not lead from its start to its head"):
        StateCache(1).get(stream)


@pytest.mark.django_db(transaction=True)
def test_threads_may_ask_while_others_append() -> None:
    with transaction.atomic():
        stream = store.open_stream("cluster", "demo")
    cache = StateCache(1)

    def write() -> Iterator[None]:
        for number in range(40):
            with transaction.atomic():
                store.append(stream, number, [add(f"n{number}")], actor="a", command_id=f"{number}", now=NOW)
            yield

    def ask() -> list[tuple[int, int]]:
        try:
            seen = []
            while not seen or seen[-1][0] < 40:
                state = cache.get(stream)
                seen.append((state.seq, len(state.nodes)))
            return seen
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        askers = [pool.submit(ask) for _ in range(3)]
        for _ in write():
            pass
        for asker in askers:
            seen = asker.result(60)
            assert all(seq == nodes for seq, nodes in seen)
            assert seen == sorted(seen)
