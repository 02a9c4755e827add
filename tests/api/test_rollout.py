"""The rollout over the API: readiness with what it rests on, stated facts, rehearsed switches."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import urlencode

import pytest

from scheduling.models import Cluster, PodGroupRow, Run
from scheduling.scenarios import runs
from scheduling.services.cycles import run_cycle
from tests.api.support import RACK, Caller

TAS = "TopologyAwareWorkloadScheduling"


@pytest.fixture
def admin(caller: Callable[..., Caller]) -> Caller:
    return caller("view_cluster", "switch_gate", "run_scenario")


def test_a_fact_is_not_known_then_stated_then_taken_back(cluster: Cluster, admin: Caller) -> None:
    def standing() -> tuple[str, str, str]:
        rows = admin("GET", "/clusters/demo/readiness").json()["rows"]
        row = next(row for row in rows if row["code"] == "autoscaler")
        return row["standing"], row["evidence"]["read"], row["evidence"]["actor"]

    assert standing() == ("unknown", "", "")
    answer = admin(
        "PUT", "/clusters/demo/readiness/facts/autoscaler", {"value": "karpenter", "source": "runbook"}
    )
    assert [event["type"] for event in answer.json()["events"]] == ["RolloutFactStated"]
    assert standing() == ("red", "stated", admin.user.get_username())
    admin("PUT", "/clusters/demo/readiness/facts/autoscaler", {"value": ""})
    assert standing() == ("unknown", "", "")


def test_the_answer_counts_its_rows(cluster: Cluster, admin: Caller) -> None:
    told = admin("GET", "/clusters/demo/readiness").json()
    assert told["ready"] is False
    assert told["red"] == sum(row["standing"] == "red" for row in told["rows"]) > 0
    assert told["unknown"] == sum(row["standing"] == "unknown" for row in told["rows"]) > 0


def test_a_statement_at_fault_is_refused_at_its_field(cluster: Cluster, admin: Caller) -> None:
    answer = admin("PUT", "/clusters/demo/readiness/facts/autoscaler", {"value": "none"})
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == ["source"]


def test_a_rehearsal_is_a_run_with_a_result(cluster: Cluster, admin: Caller) -> None:
    run_cycle(cluster.pk)
    answer = admin("POST", "/clusters/demo/rehearsals", {"gates": {TAS: False}})
    assert answer.status_code == 202, answer.json()
    number = answer.json()["number"]
    while runs.work(Run.objects.get(cluster=cluster, number=number).pk):
        pass
    told = admin("GET", f"/clusters/demo/runs/{number}").json()
    assert told["status"] == "done"
    assert "team-a/wide" in {group["key"] for group in told["result"]["groups"]}


def test_a_rehearsal_needs_its_permission_and_a_gate(cluster: Cluster, admin: Caller, viewer: Caller) -> None:
    assert viewer("POST", "/clusters/demo/rehearsals", {"gates": {TAS: False}}).status_code == 403
    assert admin("POST", "/clusters/demo/rehearsals", {"gates": {"Weather": True}}).status_code == 422
    assert not Run.objects.exists()


def test_advice_tells_both_sides_and_every_number(cluster: Cluster, viewer: Caller) -> None:
    run_cycle(cluster.pk)
    told = viewer("GET", "/clusters/demo/advice?group=team-a/fits").json()
    assert (told["recommend"], told["tas"]["runs"], told["members"]) == ("tas", True, 2)
    assert told["tas"]["estimate"]["crossing_bytes"] == 0
    assert told["model"]["collective"] == "ring"


def test_advice_for_a_workload_that_is_not_submitted(cluster: Cluster, viewer: Caller) -> None:
    workload = {
        "namespace": "team-a", "name": "new", "min_count": 1, "topology_key": RACK,
        "templates": [{"requests": {"cpu": "1"}}],
    }  # fmt: skip
    query = urlencode({"workload": json.dumps(workload), "model": json.dumps({"compute_us": 7})})
    told = viewer("GET", f"/clusters/demo/advice?{query}").json()
    assert (told["group"], told["model"]["compute_us"]) == ("team-a/new", 7)
    assert not PodGroupRow.objects.filter(cluster=cluster, name="new").exists()


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ({"group": "team-a/nobody"}, "group"),
        ({"group": "team-a/fits", "model": '{"compute_us": 0}'}, "model.compute_us"),
        ({"workload": '{"name": "x"}'}, "workload.namespace"),
        ({"workload": "{"}, None),
    ],
)
def test_advice_that_cannot_be_given_is_refused_at_its_field(
    cluster: Cluster, viewer: Caller, query: dict[str, str], path: str | None
) -> None:
    refused = viewer("GET", f"/clusters/demo/advice?{urlencode(query)}")
    assert refused.status_code in (404, 422)
    assert [problem["path"] for problem in refused.json()["problems"]][:1] == ([path] if path else [])
