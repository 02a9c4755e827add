"""The map of a scenario's fork: before and after its steps, on the indices of the cluster's own map."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.models import Cluster, Run
from scheduling.scenarios import documents, runs, scenario_runs
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from tests.api.support import Caller
from tests.console.support import RACK, dump, gang, node


@pytest.fixture
def cluster(db: None) -> Cluster:
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack in (1, 2) for place in (1, 2)]
    import_cluster(
        name="demo", request=ImportRequest(data=dump(*nodes, *gang("fits", 2)), mode="simulated"), actor="a"
    )
    made = Cluster.objects.get(name="demo")
    run_cycle(made.pk)
    return made


def played(cluster: Cluster, *steps: dict[str, Any]) -> Run:
    run = scenario_runs.ask(cluster=cluster, document=documents.read({"steps": list(steps)}), actor="a")
    while runs.work(run.pk):
        pass
    return run


def rows(body: dict[str, Any]) -> dict[str, tuple[int, str | None]]:
    """Name -> index and domain."""
    nodes, domains = body["nodes"], body["domains"]
    named = [domains[at] if at >= 0 else None for at in nodes["domain"]]
    return dict(zip(nodes["name"], zip(nodes["index"], named, strict=True), strict=True))


def test_before_the_steps_it_is_the_map_of_the_cluster(viewer: Caller, cluster: Cluster) -> None:
    run = played(cluster, {"step": "lose_nodes", "node": "n11"})

    before = viewer("get", f"/clusters/demo/runs/{run.number}/map?when=before").json()

    live = viewer("get", "/clusters/demo/map").json()
    assert before == live


def test_new_nodes_have_indices_that_no_node_of_the_cluster_has(viewer: Caller, cluster: Cluster) -> None:
    lose = {"step": "lose_nodes", "node": "n11"}
    run = played(cluster, lose, {"step": "add_nodes", "count": 2, "like": "n21", "key": RACK, "domain": "r1"})

    found = {
        when: rows(viewer("get", f"/clusters/demo/runs/{run.number}/map?when={when}&key={RACK}").json())
        for when in ("before", "after")
    }

    assert "n11" in found["before"] and "n11" not in found["after"]
    new = {name: row for name, row in found["after"].items() if name not in found["before"]}
    assert [row[1] for row in new.values()] == ["r1", "r1"]
    assert min(row[0] for row in new.values()) > max(row[0] for row in found["before"].values())
    shared = found["before"].keys() & found["after"].keys()
    assert {name: found["before"][name][0] for name in shared} == {
        name: found["after"][name][0] for name in shared
    }


def test_what_is_not_there_is_told(viewer: Caller, cluster: Cluster) -> None:
    waiting = scenario_runs.ask(cluster=cluster, document=documents.read({}), actor="a")

    assert viewer("get", "/clusters/demo/runs/99/map").status_code == 404
    assert viewer("get", f"/clusters/demo/runs/{waiting.number}/map").status_code == 410
    assert viewer("get", f"/clusters/demo/runs/{waiting.number}/map?when=later").status_code == 422
