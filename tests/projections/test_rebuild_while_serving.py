"""A rebuild holds nobody up but for the exchange of the rows, and until then the old ones are read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from scheduling.management import progress
from scheduling.models import Cluster, NodeRow, TableHead
from scheduling.projections import rebuild, storage
from scheduling.services import nodes
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.execute import Outcome
from tests.ledger.test_races import PATIENCE, until, waits_for_a_lock
from tests.services.builders import gang, members, node, text

pytestmark = pytest.mark.django_db(transaction=True)

STALE = 99


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    """With rows that are wrong, one that is missing and one too many."""
    made = [*(node(f"n{number}", gpu=4) for number in range(5)), gang("g", 2), *members("g", 2, gpu=1)]
    import_cluster(name="c", request=ImportRequest(text(*made), mode="simulated"), actor="t")
    found = Cluster.objects.get(name="c")
    for number in range(10):
        cordon(found, number)
    NodeRow.objects.filter(cluster=found, name__in=("n1", "n2")).update(gpus=STALE)
    NodeRow.objects.filter(cluster=found, name="n4").delete()
    return found


def cordon(cluster: Cluster, number: int) -> Outcome:
    return (nodes.uncordon if number % 2 else nodes.cordon)(cluster=cluster, node="n0", actor="t")


@pytest.fixture
def others() -> Iterator[ThreadPoolExecutor]:
    """Threads with connections of their own."""
    with ThreadPoolExecutor(4) as pool:
        yield pool


def elsewhere(pool: ThreadPoolExecutor, task: Any) -> Future[Any]:
    def run() -> Any:
        try:
            return task()
        finally:
            connection.close()

    return pool.submit(run)


def gpus(cluster: Cluster) -> list[int]:
    return list(NodeRow.objects.filter(cluster=cluster).order_by("index").values_list("gpus", flat=True))


def test_commands_are_carried_out_and_rows_are_read_while_the_log_is_replayed(
    cluster: Cluster, others: ThreadPoolExecutor
) -> None:
    before = gpus(cluster)
    done: list[Outcome] = []

    def between(_: int) -> None:
        """Each has to end before the replay goes on."""
        if len(done) < 6:
            done.append(elsewhere(others, lambda: cordon(cluster, len(done))).result(PATIENCE))
            assert elsewhere(others, lambda: gpus(cluster)).result(PATIENCE) == before

    seq = rebuild.rebuild(cluster.pk, between)
    assert [outcome.first_seq for outcome in done] == list(range(seq - 5, seq + 1))
    assert gpus(cluster) == [4, 4, 4, 4, 4]
    assert rebuild.compare(cluster.pk) == []


def test_an_append_waits_for_the_exchange_and_then_follows_the_new_rows(
    cluster: Cluster, others: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, waiting = gpus(cluster), list[Future[Outcome]]()
    original = storage.set_positions

    def almost_done(*arguments: Any) -> None:
        original(*arguments)
        if not waiting:
            waiting.append(elsewhere(others, lambda: cordon(cluster, 0)))
            until(waits_for_a_lock)
            assert elsewhere(others, lambda: gpus(cluster)).result(PATIENCE) == before, "not a mixture"

    monkeypatch.setattr(storage, "set_positions", almost_done)
    seq = rebuild.rebuild(cluster.pk)
    assert waiting[0].result(PATIENCE).first_seq == seq + 1
    assert rebuild.compare(cluster.pk) == []


def test_commands_that_never_pause_do_not_keep_a_rebuild_from_ending(
    cluster: Cluster, others: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even when more come in each round than may be left for the end."""
    monkeypatch.setattr(rebuild, "FEW", 0)
    ended, done = threading.Event(), list[Outcome]()

    def write() -> None:
        number = 0
        while not ended.is_set():
            done.append(cordon(cluster, number))
            number += 1

    running = elsewhere(others, write)
    until(lambda: len(done) > 0)
    try:
        seq = rebuild.rebuild(cluster.pk)
    finally:
        ended.set()
    running.result(PATIENCE)
    assert done[0].last_seq <= seq
    assert rebuild.compare(cluster.pk) == []


def test_two_rebuilds_at_once_give_the_same(cluster: Cluster, others: ThreadPoolExecutor) -> None:
    both = [elsewhere(others, lambda: rebuild.rebuild(cluster.pk)) for _ in range(2)]
    assert len({one.result(PATIENCE) for one in both}) == 1
    assert rebuild.compare(cluster.pk) == []


def test_rows_that_are_right_are_not_written_again(cluster: Cluster) -> None:
    kept = dict(NodeRow.objects.filter(cluster=cluster, gpus=4).values_list("name", "pk"))
    assert sorted(kept) == ["n0", "n3"]
    rebuild.rebuild(cluster.pk)
    now = dict(NodeRow.objects.filter(cluster=cluster).values_list("name", "pk"))
    assert now.items() >= kept.items()


def test_a_rebuild_that_fails_leaves_the_old_rows_and_can_be_begun_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = gpus(cluster)

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(storage, "set_positions", fail)
        rebuild.rebuild(cluster.pk)
    assert gpus(cluster) == before
    rebuild.rebuild(cluster.pk)
    assert rebuild.compare(cluster.pk) == []


def test_the_runtime_role_may_do_it(cluster: Cluster, stack: Any) -> None:
    """All that a rebuild asks for beyond a commit is a temporary table."""
    with stack.connect("tas_app") as runtime:
        runtime.execute("create temp table staged_noderow as select * from scheduling_noderow with no data")


# --- the command


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_how_far_it_is_stands_in_lines_and_on_a_terminal_in_a_bar(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", 15)
    head = TableHead.objects.filter(stream_id=cluster.pk).values_list("seq", flat=True)[0]
    out, lines, bar = StringIO(), StringIO(), Terminal()
    for stderr in (lines, bar):
        monkeypatch.setattr("sys.stderr", stderr)
        call_command("rebuild_projections", "c", stdout=out)
    assert out.getvalue() == f"cluster c: rebuilt at {head}\n" * 2
    assert lines.getvalue() == f"rebuild c: 15 of {head} events\n"
    assert "rebuild c" in bar.getvalue() and f"{head}/{head}" in bar.getvalue()
