"""Waking, resting and losing on PostgreSQL: what the log keeps of it, and when the next cycle comes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from scheduling import tasks
from scheduling.engine.turns import LostTo
from scheduling.ledger import fold, store
from scheduling.ledger.events import PodGroupPlaced, PodGroupUnschedulable
from scheduling.ledger.store import Recorded, to_datetime
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster
from scheduling.services import cycles, deadlines, nodes, workloads
from scheduling.services.execute import now_ms
from scheduling.services.standing import Standing, standings
from scheduling.services.state import state_of
from tests.services.builders import form, gang, members, node

Make = Callable[..., Cluster]
LATER = 60_000
"""Milliseconds after which nobody rests any more."""


def decisions(cluster: Cluster) -> list[Recorded]:
    return [item for item in store.read(cluster.pk) if item.actor == "scheduler"]


def head(cluster: Cluster) -> int:
    return store.head(cluster.pk).seq


def later() -> int:
    return now_ms() + LATER


@pytest.fixture
def waiting(make: Make) -> Cluster:
    """A gang of two that the only, cordoned node could hold; it was refused once."""
    cluster = make(node("a", cpu="2", unschedulable=True), gang("g", 2), *members("g", 2))
    cycles.run_cycle(cluster.pk)
    cluster.refresh_from_db()
    return cluster


def test_each_decision_of_a_cycle_names_its_own_cause(waiting: Cluster, tables_agree: Any) -> None:
    nodes.uncordon(cluster=waiting, node="a", actor="t")
    uncordoned = head(waiting)
    workloads.submit(cluster=waiting, form=form("h", 2), actor="t")
    cycles.run_cycle(waiting.pk, clock=later)
    placed, refused = decisions(waiting)[-2:]
    assert isinstance(placed.event, PodGroupPlaced) and placed.cause == uncordoned
    assert isinstance(refused.event, PodGroupUnschedulable) and refused.cause == uncordoned + 1
    assert refused.event.lost_to == LostTo("default/g", placed.seq)
    assert placed.command_id == refused.command_id
    assert state_of(waiting).turns == fold.state_at(waiting.pk).turns
    assert verify_chain(waiting.pk).ok
    tables_agree(waiting)


def test_a_group_rests_after_a_failed_attempt_and_the_cluster_knows_until_when(waiting: Cluster) -> None:
    failed_at = decisions(waiting)[-1].recorded_at
    nodes.uncordon(cluster=waiting, node="a", actor="t")
    before = head(waiting)
    told = standings(waiting, ["default/g"], clock=lambda: failed_at + 999)["default/g"]
    assert told.retry_at == failed_at + 1000
    result = cycles.run_cycle(waiting.pk, clock=lambda: failed_at + 999)
    assert (result.placed, result.retry_at, result.retry_known) == (0, failed_at + 1000, False)
    waiting.refresh_from_db()
    assert waiting.retry_at == to_datetime(failed_at + 1000)
    assert cycles.run_cycle(waiting.pk, clock=lambda: failed_at + 999).retry_known
    assert head(waiting) == before == waiting.last_cycle_seq, "nothing is written, and the cycle has seen all"
    result = cycles.run_cycle(waiting.pk, clock=lambda: failed_at + 1000)
    assert (result.placed, result.retry_at) == (1, None)
    assert decisions(waiting)[-1].cause == before
    waiting.refresh_from_db()
    assert waiting.retry_at is None


def test_the_standing_of_a_group_is_told_from_the_log(waiting: Cluster) -> None:
    (refused,) = decisions(waiting)
    told = standings(waiting, ["default/g", "default/none"], clock=lambda: refused.recorded_at)
    assert told["default/none"] == Standing()
    assert told["default/g"] == Standing(1, refused.recorded_at, refused.cause, None, None), "nothing woke it"


def test_what_cannot_help_lets_groups_sleep_and_the_cycle_has_still_seen_it(waiting: Cluster) -> None:
    written = len(decisions(waiting))
    nodes.cordon(cluster=waiting, node="a", actor="t")
    cycles.run_cycle(waiting.pk, clock=later)
    waiting.refresh_from_db()
    assert (len(decisions(waiting)), waiting.last_cycle_seq) == (written, head(waiting))


def test_a_cluster_that_nobody_looked_at_for_long_is_decided_whole(
    waiting: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided: list[str] = []
    real = cycles.decided

    def watched(state: Any, now: int, **more: Any) -> Any:
        decided.extend(more["due"])
        return real(state, now, **more)

    monkeypatch.setattr(cycles, "decided", watched)
    cycles.run_cycle(waiting.pk, clock=later)
    assert decided == []
    cycles.run_cycle(waiting.pk, clock=lambda: later() + cycles.RECONSIDER_AFTER // timedelta(milliseconds=1))
    assert decided == ["default/g"]


class TestComingBack:
    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[int], float]]:
        """Cycles asked of the broker for a later time: (arguments, seconds)."""
        found: list[tuple[tuple[int], float]] = []
        monkeypatch.setattr(
            tasks.run_cycle, "apply_async", lambda args, countdown: found.append((args, countdown))
        )
        return found

    def test_a_cycle_is_asked_for_when_the_rest_ends_and_only_once(
        self, waiting: Cluster, asked: list[Any]
    ) -> None:
        nodes.uncordon(cluster=waiting, node="a", actor="t")
        asked.clear()
        failed_at = decisions(waiting)[-1].recorded_at
        result = cycles.run_cycle(waiting.pk, clock=lambda: failed_at + 400)
        tasks.come_back(waiting.pk, result)
        tasks.come_back(waiting.pk, cycles.run_cycle(waiting.pk, clock=lambda: failed_at + 500))
        assert asked == [((waiting.pk,), 0.6)]

    def test_a_deadline_that_is_far_away_is_left_to_the_sweep(
        self, waiting: Cluster, asked: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A task that waits for days would be delivered again and again meanwhile."""
        deadlines.set_policy(cluster=waiting, after=3_600_000, action="alert", actor="t")
        asked.clear()
        result = cycles.run_cycle(waiting.pk)
        assert result.retry_at is not None and result.retry_at > result.now + 3_000_000
        tasks.come_back(waiting.pk, result)
        assert asked == []
        waiting.refresh_from_db()
        assert waiting.retry_at == to_datetime(result.retry_at)

    def test_the_sweep_finds_a_group_that_has_rested_when_that_was_lost(
        self, waiting: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        woken: list[int] = []
        monkeypatch.setattr(tasks.run_cycle, "delay", woken.append)
        Cluster.objects.update(retry_at=timezone.now() + timedelta(hours=1))
        tasks.sweep()
        assert woken == []
        Cluster.objects.update(retry_at=timezone.now())
        tasks.sweep()
        assert woken == [waiting.pk]
