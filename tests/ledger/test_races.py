"""Several connections at once: each seq has one winner, and no reader passes a gap that may still fill."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection, transaction

from scheduling.engine.model import Node
from scheduling.ledger import fold, store
from scheduling.ledger.cache import StateCache
from scheduling.ledger.events import ClusterModeChanged, NodeAdded
from scheduling.ledger.store import Appended, ConflictingAppend
from scheduling.projections import rebuild, writer
from tests.ledger.conftest import NOW
from tests.ledger.examples import EXAMPLES

pytestmark = pytest.mark.django_db(transaction=True)

REGISTERED = EXAMPLES[0]
PATIENCE = 30
"""Seconds after which a thread that should have gone on counts as stuck."""


@pytest.fixture
def stream(transactional_db: None) -> int:
    with transaction.atomic():
        return store.open_stream("cluster", "demo")


def together(*tasks: Callable[[], Any]) -> list[Any]:
    """Run the tasks in threads with connections of their own; their results in order."""

    def run(task: Callable[[], Any]) -> Any:
        try:
            return task()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result(PATIENCE) for future in [pool.submit(run, task) for task in tasks]]


def waits_for_a_lock() -> bool:
    """Whether some session waits for a lock that another one holds."""
    with connection.cursor() as cursor:
        cursor.execute("select exists (select from pg_locks where not granted)")
        return bool(cursor.fetchone()[0])


def until(condition: Callable[[], bool]) -> None:
    ticks = threading.Event()
    for _ in range(PATIENCE * 100):
        if condition():
            return
        ticks.wait(0.01)
    raise AssertionError("it never came about")


def add_node(stream: int, name: str, expected: int) -> Appended:
    with transaction.atomic():
        return store.append(
            stream, expected, [NodeAdded(Node(name, name))], actor="a", command_id=f"add {name}", now=NOW
        )


def test_writers_that_race_share_the_seqs_without_gap_or_double(stream: int) -> None:
    """Each writer retries on conflict until its ten events are in."""
    conflicts: list[int] = []

    def write(writer_number: int) -> list[int]:
        mine = []
        for number in range(10):
            while True:
                try:
                    done = add_node(stream, f"n{writer_number}-{number}", store.head(stream).seq)
                except ConflictingAppend as conflict:
                    conflicts.append(conflict.actual)
                else:
                    mine.append(done.last)
                    break
        return mine

    won = together(*(lambda number=number: write(number) for number in range(4)))  # type: ignore[misc]
    assert sorted(seq for mine in won for seq in mine) == list(range(1, 41))
    recorded = list(store.read(stream))
    assert [item.seq for item in recorded] == list(range(1, 41))
    assert all(later.prev_hash == item.hash for item, later in pairwise(recorded))


def test_of_two_appends_at_one_seq_exactly_one_wins_and_the_other_may_retry(stream: int) -> None:
    """Public report B07: two requests wrote the same version of one aggregate."""
    add_node(stream, "n0", 0)
    start = threading.Barrier(2)

    def submit(name: str) -> Appended | ConflictingAppend:
        start.wait(PATIENCE)
        try:
            return add_node(stream, name, 1)
        except ConflictingAppend as conflict:
            return conflict

    results = together(lambda: submit("n1"), lambda: submit("n2"))
    (winner,) = [result for result in results if isinstance(result, Appended)]
    (loser,) = [result for result in results if isinstance(result, ConflictingAppend)]
    assert (winner.last, loser.expected, loser.actual) == (2, 1, 2)

    cache = StateCache(1)
    seen = cache.get(stream)
    assert set(seen.nodes) == {"n0", winner.recorded[0].event.node.name}  # type: ignore[attr-defined]
    late = "n1" if "n2" in seen.nodes else "n2"
    assert add_node(stream, late, loser.actual).last == 3
    assert set(cache.get(stream).nodes) == set(fold.state_at(stream).nodes) == {"n0", "n1", "n2"}


def test_an_append_that_waited_for_another_one_sees_that_it_came_too_late(stream: int) -> None:
    """The loser had looked at the head while the winner's transaction was open."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            store.append(stream, 0, [REGISTERED], actor="a", command_id="first", now=NOW)
            late = pool.submit(together, lambda: add_node(stream, "n1", 0))
            until(waits_for_a_lock)
        with pytest.raises(ConflictingAppend) as refused:
            late.result(PATIENCE)
    assert (refused.value.expected, refused.value.actual) == (0, 1)


def test_an_append_that_waited_for_one_that_was_rolled_back_goes_on(stream: int) -> None:
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            store.append(stream, 0, [REGISTERED], actor="a", command_id="first", now=NOW)
            late = pool.submit(together, lambda: add_node(stream, "n1", 0))
            until(waits_for_a_lock)
            transaction.set_rollback(True)
        (appended,) = late.result(PATIENCE)
    assert (appended.first, appended.last) == (1, 1)


def test_a_command_sent_twice_at_once_happens_once(stream: int) -> None:
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            once = store.append(
                stream, 0, [NodeAdded(Node("n", "n"))], actor="a", command_id="add n", now=NOW
            )
            twin = pool.submit(together, lambda: add_node(stream, "n", 0))
            until(waits_for_a_lock)
        (again,) = twin.result(PATIENCE)
    assert again == Appended(once.first, once.last, repeated=True)
    assert [item.seq for item in store.read(stream)] == [1]


def test_a_reader_never_passes_a_gap_that_may_still_fill(stream: int) -> None:
    """Public report B06: a reader skipped an event whose transaction committed after that of a later one.

    Two writers are open at once. The second has to wait for the first, so events become visible in the order
    of their seqs; tables and states see each of them.
    """
    cache = StateCache(1)
    seen: list[int] = []

    def look() -> None:
        seen.extend(item.seq for item in store.read(stream, after=seen[-1] if seen else 0))

    def second() -> Appended:
        while True:
            try:
                with transaction.atomic():
                    done = store.append(
                        stream, store.head(stream).seq, [ClusterModeChanged("observed")], actor="b",
                        command_id="second", now=NOW,
                    )  # fmt: skip
                    writer.project(stream, done.recorded)
                    return done
            except ConflictingAppend:
                continue

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first = store.append(stream, 0, [REGISTERED], actor="a", command_id="first", now=NOW)
            writer.project(stream, first.recorded)
            later = pool.submit(together, second)
            until(waits_for_a_lock)
            together(look)  # another connection sees neither of them
            assert seen == []
        (done,) = later.result(PATIENCE)
    look()
    assert (first.last, done.last) == (1, 2)
    assert seen == [1, 2]
    assert cache.get(stream).mode == "observed"
    assert rebuild.compare(stream) == []


def test_two_streams_do_not_hold_each_other_up(stream: int) -> None:
    with transaction.atomic():
        other = store.open_stream("cluster", "other")
    with transaction.atomic():
        store.append(stream, 0, [REGISTERED], actor="a", command_id="first", now=NOW)
        (appended,) = together(lambda: add_node(other, "n1", 0))
    assert appended.last == 1


def test_opening_a_stream_does_not_hold_up_appends_to_others(stream: int) -> None:
    with transaction.atomic():
        store.open_stream("cluster", "other")
        (appended,) = together(lambda: add_node(stream, "n1", 0))
    assert appended.last == 1


def test_two_appends_may_enter_a_new_partition_at_once(stream: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "update scheduling_streamhead set seq = %s where stream_id = %s", [store.PARTITION_WIDTH, stream]
        )

    def enter(name: str) -> Appended | ConflictingAppend:
        try:
            return add_node(stream, name, store.PARTITION_WIDTH)
        except ConflictingAppend as conflict:
            return conflict

    results = together(lambda: enter("n1"), lambda: enter("n2"))
    assert sorted(type(result).__name__ for result in results) == ["Appended", "ConflictingAppend"]
