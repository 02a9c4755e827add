"""A batch: what each point says, that it leaves no trace, and the columns that come of all."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.ledger import store
from scheduling.models import Cluster, Run, RunPoint
from scheduling.projections import rebuild
from scheduling.scenarios import axes, batches, runs
from scheduling.scenarios.documents import MOST_STEPS
from scheduling.services import nodes
from scheduling.services.problems import INVALID, Refused
from tests.api.support import GPU, RACK

GANG: dict[str, Any] = {
    "step": "submit",
    "namespace": "team-a",
    "name": "new",
    "min_count": 1,
    "topology_key": RACK,
    "templates": [{"count": 1, "requests": {"cpu": "4", GPU: "8"}}],
}
MEMBERS = {"axis": "members", "first": 1, "last": 4}


def asked(cluster: Cluster, *found: dict[str, Any], steps: Any = (GANG,), **more: Any) -> Run:
    scenario = {"steps": list(steps)} | more.pop("scenario", {})
    document = axes.read({"scenario": scenario, "axes": list(found), **more})
    return batches.request(cluster=cluster, document=document, actor="ada")


def done(run: Run) -> dict[str, Any]:
    for first, last in runs.spread(run.pk):
        runs.points(run.pk, first, last)
    run.refresh_from_db()
    assert run.status == "done", run.error
    result: dict[str, Any] = run.result
    return result


def test_a_range_of_members_says_up_to_which_the_gang_fits(cluster: Cluster) -> None:
    """Each of the two racks has two whole nodes."""
    result = done(asked(cluster, MEMBERS))
    columns = result["columns"]
    assert columns["verdict"] == ["placed", "placed", "proved_infeasible", "proved_infeasible"]
    assert columns["reason"] == ["", "", "never_fits", "never_fits"]
    assert columns["need"] == [1, 2, 3, 4]
    assert columns["fits"] == [1, 2, 2, 2]
    assert columns["short"] == [0, 0, 1, 2]
    assert columns["short_of"] == ["", "", GPU, GPU]
    assert columns["wait_ms"] == [0, 0, -1, -1]
    assert columns["waiting"] == [0, 0, 1, 1]
    assert result["axes"] == [
        {"axis": "members", "of": "steps[0].templates[0].count", "values": [1, 2, 3, 4]}
    ]


def test_two_axes_make_a_grid_the_last_running_fastest(cluster: Cluster) -> None:
    lost = {"axis": "lost_nodes", "key": RACK, "domain": "rack-1", "last": 1}
    result = done(asked(cluster, MEMBERS, lost))
    run = Run.objects.get()
    values = [batches.point_of(run, index).values for index in range(8)]
    assert values == [[members, gone] for members in (1, 2, 3, 4) for gone in (0, 1)]
    columns = result["columns"]
    assert set(columns) == set(batches.COLUMNS)
    assert columns["need"] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert all(len(column) == 8 for column in columns.values())
    document = batches.point_of(run, 7).document
    assert [step.step for step in document.steps] == ["lose_nodes", "submit"]


def test_a_group_of_the_cluster_may_be_asked_about_instead(cluster: Cluster) -> None:
    axis = {"axis": "each_domain", "key": RACK}
    result = done(asked(cluster, axis, steps=[GANG], group="team-a/new"))
    assert result["axes"][0]["values"] == ["rack-1", "rack-2"]
    assert set(result["columns"]["domain"]) == {"rack-1", "rack-2"}


def test_neither_log_nor_tables_of_the_cluster_know_of_it(cluster: Cluster) -> None:
    before = store.head(cluster.pk)
    done(asked(cluster, MEMBERS))
    assert store.head(cluster.pk) == before
    assert rebuild.compare(cluster.pk) == []


def test_it_is_about_the_moment_at_which_it_begins(cluster: Cluster) -> None:
    then = store.head(cluster.pk).seq
    for name in sorted(node.name for node in cluster.nodes.all()):
        nodes.cordon(cluster=cluster, node=name, actor="ada")
    at_once = done(asked(cluster, MEMBERS, scenario={"at": str(then)}))
    assert at_once["columns"]["verdict"][0] == "placed"
    later = done(asked(cluster, MEMBERS))
    assert set(later["columns"]["reason"]) <= {"cordoned", "never_fits"}
    with pytest.raises(Refused) as error:
        asked(cluster, MEMBERS, scenario={"at": "999999"})
    assert [(found.path, found.reason) for found in error.value.problems] == [("scenario.at", INVALID)]


def test_a_point_whose_steps_cannot_be_played_says_why_and_the_others_stand(cluster: Cluster) -> None:
    node = {"axis": "values", "path": "steps[0].node", "values": ["node-1-1", "nobody"]}
    result = done(asked(cluster, node, steps=[{"step": "cordon", "node": "x"}, GANG]))
    columns = result["columns"]
    assert columns["verdict"] == ["placed", "refused"]
    assert columns["problem"][0] == ""
    assert "steps[0].node" in columns["problem"][1] and "there is no node nobody" in columns["problem"][1]


def test_two_values_that_are_no_scenario_together_are_told_at_their_point(cluster: Cluster) -> None:
    lost = {"axis": "lost_nodes", "key": RACK, "domain": "rack-1", "last": 1}
    other = lost | {"domain": "rack-2"}
    many = [{"step": "advance_clock", "seconds": 1}] * (MOST_STEPS - 2)
    run = asked(cluster, lost, other, steps=[GANG, *many])
    found = batches.point(run, 3)
    assert (found["verdict"], batches.count(run)) == ("refused", 4)
    assert found["problem"].startswith("Scenario steps:")


def test_the_same_point_gives_the_same_figures(cluster: Cluster) -> None:
    run = asked(cluster, MEMBERS)
    first, again = batches.point(run, 2), batches.point(run, 2)
    assert first.pop("cpu_us") > 0 and again.pop("cpu_us") > 0
    assert first == again


def test_it_says_which_workers_did_how_many(cluster: Cluster) -> None:
    run = asked(cluster, MEMBERS)
    runs.spread(run.pk)
    row = RunPoint(run=run, index=0, result=batches.point(run, 0), worker="elsewhere:1")
    RunPoint.objects.bulk_create([row])
    result = done(run)
    assert sorted(result["workers"].values()) == [1, 3]
    assert result["workers"]["elsewhere:1"] == 1


def test_what_cannot_be_asked_stores_nothing(cluster: Cluster) -> None:
    with pytest.raises(Refused):
        asked(cluster, MEMBERS | {"step": 5})
    assert not Run.objects.exists()


def test_an_upstream_profile_decides_as_it_would(cluster: Cluster) -> None:
    result = done(asked(cluster, MEMBERS, scenario={"profile": "upstream-1.36"}))
    assert [verdict == "placed" for verdict in result["columns"]["verdict"]] == [True, True, False, False]
