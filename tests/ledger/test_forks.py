"""A stream that goes on from an event of another: one chain, two ends."""

import pytest
from django.db import IntegrityError, transaction

from scheduling.ledger import store
from scheduling.ledger.events import ClusterModeChanged
from scheduling.ledger.signals import log_advanced
from scheduling.models import Event
from tests.ledger.conftest import NOW, Append

OBSERVED, SIMULATED = ClusterModeChanged("observed"), ClusterModeChanged("simulated")


def fork(parent: int, seq: int, name: str = "demo/1") -> int:
    with transaction.atomic():
        return store.fork_stream("scenario", name, parent, seq)


def append_to(stream: int, *events: ClusterModeChanged, tell: bool = True) -> store.Appended:
    with transaction.atomic():
        head = store.head(stream).seq
        return store.append(stream, head, events, actor="ada", command_id=f"c{head}", now=NOW, tell=tell)


def test_its_first_event_is_chained_to_the_parents(stream: int, append: Append) -> None:
    append(OBSERVED)
    append(SIMULATED)
    made = fork(stream, 1)
    assert store.head(made) == store.Head(1, bytes(Event.objects.get(stream_id=stream, seq=1).hash))
    append_to(made, SIMULATED)
    (item,) = store.read(made, after=1)
    (parent,) = store.read(stream, upto=1)
    assert (item.seq, item.prev_hash, item.event) == (2, parent.hash, SIMULATED)


def test_the_parent_stays_as_it_is(stream: int, append: Append) -> None:
    append(OBSERVED)
    before = store.head(stream), list(store.read(stream))
    append_to(fork(stream, 1), SIMULATED)
    assert (store.head(stream), list(store.read(stream))) == before


def test_two_forks_of_one_event_have_two_ends(stream: int, append: Append) -> None:
    append(OBSERVED)
    one, other = fork(stream, 1), fork(stream, 1, "demo/2")
    append_to(one, SIMULATED)
    append_to(other, OBSERVED)
    assert store.head(one).hash != store.head(other).hash


def test_there_is_none_from_an_event_that_is_not_there(stream: int, append: Append) -> None:
    append(OBSERVED)
    with pytest.raises(LookupError, match="no event 2"):
        fork(stream, 2)
    with pytest.raises(LookupError, match="no event 0"):
        fork(stream, 0)


def test_nor_a_second_of_one_name(stream: int, append: Append) -> None:
    append(OBSERVED)
    fork(stream, 1)
    with pytest.raises(IntegrityError):
        fork(stream, 1)


def test_it_may_begin_behind_the_first_partition(narrow: int) -> None:
    with transaction.atomic():
        parent = store.open_stream("cluster", "demo")
    for _ in range(narrow + 3):
        append_to(parent, OBSERVED)
    made = fork(parent, narrow + 2)
    for _ in range(narrow):
        append_to(made, SIMULATED)
    assert [item.seq for item in store.read(made, after=narrow + 2)] == list(
        range(narrow + 3, 2 * narrow + 3)
    )


@pytest.mark.django_db(transaction=True)
def test_an_append_that_nobody_waits_for_is_told_to_nobody(stream: int) -> None:
    told: list[int] = []

    def listen(*, stream_id: int, **_: object) -> None:
        told.append(stream_id)

    log_advanced.connect(listen)
    try:
        append_to(stream, OBSERVED, tell=False)
        append_to(stream, SIMULATED)
    finally:
        log_advanced.disconnect(listen)
    assert told == [stream]
