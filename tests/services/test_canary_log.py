"""Canaries on PostgreSQL: cycles judge them in time, every decision is made again to the byte, and tables and
snapshots tell the same as the log.
"""

from __future__ import annotations

from typing import Any

from scheduling.engine.canary import Scope
from scheduling.ledger import bases, fold, snapshots
from scheduling.ledger.store import read
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster, PodGroupRow
from scheduling.services import canary, workloads
from scheduling.services.canary import CanaryWish
from scheduling.services.clusters import set_gate
from scheduling.services.cycles import run_cycle
from scheduling.services.execute import now_ms
from scheduling.services.replaying import replay_stream
from tests.services.builders import form, node

GATE = "GangScheduling"


def off(make: Any) -> Cluster:
    """Two racks of two nodes with room for one member each, and a gate off."""
    nodes = [node(f"n{rack}{place}", f"r{rack}", cpu="1") for rack in (1, 2) for place in (1, 2)]
    cluster: Cluster = make(*nodes)
    set_gate(cluster=cluster, gate=GATE, enabled=False, actor="t")
    return cluster


def later(cluster: Cluster, seconds: int) -> Any:
    return run_cycle(cluster.pk, clock=lambda: now_ms() + 1_000 * seconds)


def told(cluster: Cluster) -> list[tuple[str, int | None]]:
    """(type, cause) of what was written about canaries, gates and placements."""
    kinds = ("Canary", "Gate", "Feature", "PodGroupPlaced")
    return [
        (type(item.event).__name__, item.cause)
        for item in read(cluster.pk, after=0)
        if type(item.event).__name__.startswith(kinds)
    ]


def test_a_cycle_says_when_the_window_is_over_and_the_one_then_judges(make: Any, tables_agree: Any) -> None:
    cluster = off(make)
    wish = CanaryWish((Scope(("default",)),), {"pending": 0}, 60_000, means="gate")
    began = canary.start(cluster=cluster, wish=wish, actor="t").first_seq
    workloads.submit(cluster=cluster, form=form("wide", 3), actor="t")
    result = run_cycle(cluster.pk)
    assert result.retry_at is not None and result.retry_at <= now_ms() + 60_000
    later(cluster, 61)
    later(cluster, 75)

    judged = next(place for place, (kind, _) in enumerate(told(cluster)) if kind == "CanaryJudged")
    kinds = [kind for kind, _ in told(cluster)[judged:]]
    assert kinds == ["CanaryJudged", "GateRolledBack", "FeatureGateChanged", "PodGroupPlaced"]
    first = next(
        item.seq for item in read(cluster.pk, after=0) if type(item.event).__name__ == "CanaryJudged"
    )
    assert [cause for _, cause in told(cluster)[judged:]] == [began, first, first + 1, first + 1]
    cluster.refresh_from_db()
    assert (cluster.gates[GATE], cluster.canaries) == (False, [])
    tables_agree(cluster)


def test_what_is_decided_under_canaries_is_decided_again_and_folds_alike(
    make: Any, tables_agree: Any
) -> None:
    cluster = off(make)
    workloads.submit(cluster=cluster, form=form("spread", 3), actor="t")
    run_cycle(cluster.pk)
    stages = (Scope(groups=("default/a",)), Scope(("default",)))
    wish = CanaryWish(stages, {"wait_longest": 3_600_000, "errors": 0}, 60_000)
    canary.start(cluster=cluster, wish=wish, actor="t")
    workloads.submit(cluster=cluster, form=form("a", 1), actor="t")
    run_cycle(cluster.pk)
    tables_agree(cluster)
    later(cluster, 61)
    workloads.submit(cluster=cluster, form=form("b", 2), actor="t")
    later(cluster, 62)
    tables_agree(cluster)
    canary.stop(cluster=cluster, name=canary_name(cluster), actor="t")
    later(cluster, 75)

    status = PodGroupRow.objects.get(cluster=cluster, name="spread").status
    assert status == "scheduled", "it ran spread, so no canary made an error of it"
    assert [cycle.differences for cycle in replay_stream(cluster.pk) if cycle.differences] == []
    state = fold.state_from_zero(cluster.pk)
    assert snapshots.pack(state) == snapshots.pack(snapshots.unpack(snapshots.pack(state)))
    assert snapshots.pack(bases.unpack(bases.pack(state))) == snapshots.pack(state)
    assert verify_chain(cluster.pk).ok
    tables_agree(cluster)


def canary_name(cluster: Cluster) -> str:
    cluster.refresh_from_db()
    return str(cluster.canaries[-1][0])
