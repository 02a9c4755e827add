"""What was foretold of a group against what happened when it was submitted for real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scheduling.models import Cluster
from scheduling.scenarios import documents, runs, scenario_runs
from scheduling.scenarios.comparing import compared
from scheduling.scenarios.reality import reality
from scheduling.services import cycles, nodes, workloads
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.problems import Refused
from scheduling.services.submitting import MemberTemplate
from tests.services.builders import GPU, RACK, form, gang, members, node, text
from tests.services.conftest import make  # noqa: F401

LOSE = {"step": "lose_nodes", "key": RACK, "domain": "r2"}


@pytest.fixture
def cluster(make: Callable[..., Cluster]) -> Cluster:  # noqa: F811
    made = make(
        *(node(f"n{number}", "r1" if number < 2 else "r2", gpu=4) for number in range(4)), name="demo"
    )
    cycles.run_cycle(made.pk)
    return made


def new(gpus: str = "4", count: int = 2) -> dict[str, Any]:
    return {
        "step": "submit", "namespace": "default", "name": "g", "min_count": count, "topology_key": RACK,
        "templates": [{"count": count, "requests": {GPU: gpus}}],
    }  # fmt: skip


def played(cluster: Cluster, *steps: dict[str, Any]) -> Any:
    run = scenario_runs.ask(cluster=cluster, document=documents.read({"steps": list(steps)}), actor="ada")
    while runs.work(run.pk):
        pass
    run.refresh_from_db()
    assert run.status == "done", run.error
    return run


def submitted(cluster: Cluster, gpus: str = "4", count: int = 2) -> None:
    wanted = form(min_count=count, templates=(MemberTemplate("", count, {GPU: gpus}),))
    workloads.submit(cluster=cluster, form=wanted, actor="t")
    cycles.run_cycle(cluster.pk)


def only(run: Any) -> dict[str, Any]:
    (group,) = reality(run)["groups"]
    return group  # type: ignore[no-any-return]


def test_a_forecast_that_came_true_agrees(cluster: Cluster) -> None:
    run = played(cluster, new())
    assert only(run)["verdict"] == "not_submitted"
    submitted(cluster)
    group = only(run)
    assert (group["verdict"], group["comparable"]) == ("agrees", True)
    assert group["agrees"] == {"verdict": True, "reason": None, "domain": True}
    assert group["real"]["ran"]["domains"] == [group["forecast"]["domain"]]
    assert group["real"]["waited_ms"] == group["real"]["ran"]["wait_ms"] >= 0


def test_a_refusal_agrees_by_its_reason(cluster: Cluster) -> None:
    run = played(cluster, new(count=3))
    submitted(cluster, count=3)
    group = only(run)
    assert group["verdict"] == "agrees"
    assert group["agrees"] == {"verdict": True, "reason": True, "domain": None}
    assert (group["real"]["decided"]["reason"], group["real"]["ran"]) == ("never_fits", None)


def test_what_changed_in_between_is_counted_and_makes_it_not_comparable(cluster: Cluster) -> None:
    run = played(cluster, new())
    for name in ("n0", "n2"):
        nodes.cordon(cluster=cluster, node=name, actor="t")
    submitted(cluster)
    group = only(run)
    assert (group["verdict"], group["comparable"]) == ("differs", False)
    assert group["changed"] == {"events": 2, "types": [["NodeUpdated", 2]]}
    assert group["agrees"]["verdict"] is False


def test_what_the_scenario_assumed_is_named(cluster: Cluster) -> None:
    run = played(cluster, LOSE, new())
    submitted(cluster)
    group = only(run)
    assert (group["assumed"], group["comparable"]) == (["lose_nodes"], False)


def test_another_group_of_that_name_is_not_held_against_it(cluster: Cluster) -> None:
    run = played(cluster, new())
    submitted(cluster, gpus="3")
    group = only(run)
    assert (group["verdict"], group["other"], group["comparable"]) == ("another_group", ["members"], False)


def test_a_group_that_was_not_decided_yet_says_nothing(cluster: Cluster) -> None:
    run = played(cluster, new())
    wanted = form(templates=(MemberTemplate("", 2, {GPU: "4"}),))
    workloads.submit(cluster=cluster, form=wanted, actor="t")
    assert only(run)["verdict"] == "not_decided"


def test_in_an_observed_cluster_running_is_told_by_the_bindings(make: Callable[..., Cluster]) -> None:  # noqa: F811
    made = make(*(node(f"n{number}", gpu=4) for number in range(2)), mode="observed")
    cycles.run_cycle(made.pk)
    run = played(made, new())
    later = [gang("g", 2, uid="u"), *members("g", 2, gpu=4, cpu="0")]
    import_cluster(name="c", request=ImportRequest(text(*later)), actor="t")
    cycles.run_cycle(made.pk)
    bound = [dict(one) for one in later]
    for number, one in enumerate(bound[1:]):
        one["spec"] = one["spec"] | {"nodeName": f"n{number}"}
    import_cluster(name="c", request=ImportRequest(text(*bound)), actor="t")
    group = only(run)
    assert group["real"]["decided"]["verdict"] == "placed"
    assert group["real"]["ran"]["domains"] == ["r1"]


def test_runs_without_a_result_are_refused(cluster: Cluster) -> None:
    run = played(cluster, new())
    run.result = None
    with pytest.raises(Refused):
        reality(run)
    with pytest.raises(Refused):
        compared(run, run)


# ---------------------------------------------------------------- two results


def test_two_results_differ_in_the_groups_that_stand_otherwise(cluster: Cluster) -> None:
    submitted(cluster)
    one = played(cluster, new() | {"name": "h"})
    other = played(cluster, LOSE, new() | {"name": "h"})
    found = compared(one, other)
    assert found["same"] == {"base": True, "steps": False, "profile": True}
    (group,) = [each for each in found["groups"] if each["key"] == "default/h"]
    assert group["differs"] == ["status", "domains", "verdict", "reason", "bound"]
    assert (group["a"]["status"], group["b"]["status"]) == ("scheduled", "pending")
    assert (found["a"]["verdict"]["code"], found["b"]["verdict"]["code"]) == ("runs", "waits")
    assert found["difference"]["tally"]["node"]["left"]["count"] == 2


def test_the_same_scenario_twice_does_not_differ(cluster: Cluster) -> None:
    found = compared(played(cluster, LOSE, new()), played(cluster, LOSE, new()))
    assert found["same"] == {"base": True, "steps": True, "profile": True}
    assert (found["groups"], found["difference"]["counts"]) == ([], {"node": 0, "podgroup": 0, "pod": 0})
