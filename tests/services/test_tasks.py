"""Celery tasks: delivered twice, at once, after a death; wake-ups that get lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from kombu.exceptions import OperationalError
from structlog.testing import capture_logs

from scheduling import tasks
from scheduling.ledger import store
from scheduling.ledger.events import PodGroupPlaced
from scheduling.ledger.signals import log_advanced
from scheduling.models import Cluster
from scheduling.projections import rebuild
from scheduling.services import cycles, nodes
from scheduling.services.signals import cycle_reached
from tests.services.builders import gang, members, node, pod
from tests.versions import newer_tables

Make = Callable[..., Cluster]


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Streams for which a cycle was asked of the broker, in order; nothing is sent."""
    asked: list[int] = []
    monkeypatch.setattr(tasks.run_cycle, "delay", asked.append)
    yield asked


class Died(BaseException):
    """Stands for a kill: nothing in the program catches it."""


def die(**_: object) -> None:
    raise Died


@pytest.mark.django_db(transaction=True)
def test_a_task_delivered_twice_and_at_once_makes_one_set_of_events(make: Make, tables_agree: Any) -> None:
    cluster = make(node("a"), gang("g", 2), *members("g", 2))
    failures: list[BaseException] = []
    together = threading.Barrier(4)

    def deliver() -> None:
        try:
            together.wait(20)
            tasks.run_cycle(cluster.pk)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=deliver) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tasks.run_cycle(cluster.pk)
    assert failures == []
    placed = [item for item in store.read(cluster.pk) if isinstance(item.event, PodGroupPlaced)]
    assert len(placed) == 1
    tables_agree(cluster)


def test_a_cycle_waits_for_tables_of_another_version_to_be_rebuilt_and_is_not_parked(make: Make) -> None:
    cluster = make(node("a"), gang("g", 1), pod("g-0", "g"))
    head = store.head(cluster.pk).seq
    with newer_tables():
        with capture_logs() as logs:
            for _ in range(tasks.MOST_ATTEMPTS + 2):
                tasks.run_cycle(cluster.pk)
        assert [entry["event"] for entry in logs] == ["cycle waits for the tables"] * 5
        assert "rebuild_projections" in logs[0]["error"]
        assert store.head(cluster.pk).seq == head
        rebuild.rebuild(cluster.pk)
        tasks.run_cycle(cluster.pk)
    assert store.head(cluster.pk).seq == head + 1


def test_a_cycle_that_keeps_dying_is_parked_and_told_once(make: Make) -> None:
    cluster = make(node("a"), gang("g", 1), pod("g-0", "g"))
    cycle_reached.connect(die)
    try:
        for _ in range(tasks.MOST_ATTEMPTS):
            with pytest.raises(Died):
                tasks.run_cycle(cluster.pk)
        with capture_logs() as logs:
            tasks.run_cycle(cluster.pk)
            tasks.run_cycle(cluster.pk)
    finally:
        cycle_reached.disconnect(die)
    (told,) = logs
    assert (told["event"], told["log_level"], told["stream"]) == ("cycle parked", "error", cluster.pk)


def test_a_parked_cluster_is_taken_up_again_with_the_next_event(make: Make) -> None:
    cluster = make(node("a"), gang("g", 1), pod("g-0", "g"))
    cycle_reached.connect(die)
    try:
        for _ in range(tasks.MOST_ATTEMPTS):
            with pytest.raises(Died):
                tasks.run_cycle(cluster.pk)
    finally:
        cycle_reached.disconnect(die)
    tasks.run_cycle(cluster.pk)
    assert not any(isinstance(item.event, PodGroupPlaced) for item in store.read(cluster.pk))
    nodes.cordon(cluster=cluster, node="a", actor="tester")
    nodes.uncordon(cluster=cluster, node="a", actor="tester")
    tasks.run_cycle(cluster.pk)
    assert any(isinstance(item.event, PodGroupPlaced) for item in store.read(cluster.pk))


def test_a_cycle_that_ends_is_no_failed_attempt(make: Make) -> None:
    cluster = make(node("a", cpu="1"), gang("g", 9), *members("g", 9))
    for _ in range(tasks.MOST_ATTEMPTS + 2):
        tasks.run_cycle(cluster.pk)
    attempts = tasks.Attempts(cluster.pk)
    assert attempts.begin()
    attempts.succeeded()


class TestSweep:
    def test_finds_what_no_cycle_has_seen(self, make: Make, woken: list[int]) -> None:
        seen, unseen = make(node("a"), name="seen"), make(node("a"), name="unseen")
        cycles.run_cycle(seen.pk)
        tasks.sweep()
        assert woken == [unseen.pk]

    def test_looks_again_after_a_while(self, make: Make, woken: list[int]) -> None:
        cluster = make(node("a"))
        cycles.run_cycle(cluster.pk)
        Cluster.objects.filter(pk=cluster.pk).update(
            last_cycle_at=timezone.now() - tasks.RECONSIDER_AFTER - timedelta(seconds=1)
        )
        tasks.sweep()
        assert woken == [cluster.pk]


class TestWakeUp:
    @pytest.mark.django_db(transaction=True)
    def test_is_sent_after_a_commit_that_may_help_somebody(self, make: Make, woken: list[int]) -> None:
        cluster = make(node("a"), gang("g", 1), pod("g-0", "g"))
        assert woken == [cluster.pk]
        cycles.run_cycle(cluster.pk)
        assert woken == [cluster.pk], "a placement gives nobody room"
        nodes.cordon(cluster=cluster, node="a", actor="tester")
        assert woken == [cluster.pk] * 2

    def test_is_not_missed_when_the_broker_is_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def away(stream_id: int) -> None:
            raise OperationalError("nobody there")

        monkeypatch.setattr(tasks.run_cycle, "delay", away)
        with capture_logs() as logs:
            log_advanced.send(sender=None, stream_id=7, seq=1, woke=True, events=())
        assert [(told["log_level"], told["stream"]) for told in logs] == [("warning", 7)]
