"""When services keep snapshots of states, and that commands know from them what they must of the past."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import transaction

from scheduling import tasks
from scheduling.engine.past import Closed
from scheduling.ledger import fold, snapshot_store, store
from scheduling.ledger.cache import StateCache
from scheduling.models import Cluster, Snapshot
from scheduling.services import nodes, state, workloads
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from tests.services.builders import form, node, text

Make = Callable[..., Cluster]


@pytest.fixture(autouse=True)
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_store, "SPACING", 4)
    monkeypatch.setattr(state, "_states", StateCache(2))


def kept(cluster: Cluster) -> list[int]:
    found = Snapshot.objects.filter(stream_id=cluster.pk).order_by("seq")
    return list(found.values_list("seq", flat=True))


def head(cluster: Cluster) -> int:
    return store.head(cluster.pk).seq


def test_a_large_import_brings_its_own(make: Make) -> None:
    small = make(node("a"), name="small")
    large = make(*(node(f"n{number}") for number in range(3)), name="large")
    assert (kept(small), kept(large)) == ([], [head(large)])
    more = ImportRequest(text(*(node(f"m{number}") for number in range(5))))
    before = head(large)
    import_cluster(name="large", request=more, actor="tester")
    assert kept(large) == [before, head(large)]
    assert sorted(fold.state_at(large.pk).nodes) == sorted(fold.state_from_zero(large.pk).nodes)


def test_an_import_that_is_rolled_back_leaves_none(make: Make) -> None:
    cluster = make(node("a"))
    with transaction.atomic():
        request = ImportRequest(text(*(node(f"n{number}") for number in range(5))))
        import_cluster(name="c", request=request, actor="tester")
        assert kept(cluster) == [head(cluster)]
        transaction.set_rollback(True)
    assert kept(cluster) == [] and list(state.state_of(cluster).nodes) == ["a"]


def test_a_worker_takes_one_after_a_cycle(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    class Always:
        def __init__(self, stream_id: int) -> None:
            pass

        def begin(self) -> bool:
            return True

        def succeeded(self) -> None:
            pass

    monkeypatch.setattr(tasks, "Attempts", Always)
    cluster = make(node("a"))
    tasks.run_cycle(cluster.pk)
    assert kept(cluster) == []
    for _ in range(2):
        nodes.cordon(cluster=cluster, node="a", actor="tester")
        nodes.uncordon(cluster=cluster, node="a", actor="tester")
    tasks.run_cycle(cluster.pk)
    assert kept(cluster) == [head(cluster)]


def test_commands_know_the_past_from_a_snapshot(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = make(node("a", cpu="8"))
    workloads.submit(cluster=cluster, form=form("g", 1), actor="tester")
    run_cycle(cluster.pk)
    uid = state.state_of(cluster).pod_uid("default/g-0")
    assert list(state.state_of(cluster).past.placed.table) == [uid]
    group = state.state_of(cluster).groups["default/g"]
    workloads.end_group(cluster=cluster, namespace="default", name="g", actor="tester")
    state.state_of(cluster)
    state.save_before_end()
    assert kept(cluster) == [head(cluster)]
    monkeypatch.setattr(state, "_states", StateCache(2))
    past = state.state_of(cluster).past
    assert dict(past.closed.table) == {"default/g": Closed(1, group.uid)} and not past.placed.table
    workloads.submit(cluster=cluster, form=form("g", 1), actor="tester")
    again = state.state_of(cluster).groups["default/g"]
    assert (again.generation, again.supersedes) == (2, group.uid)
