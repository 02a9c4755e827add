"""Scenarios by API: saved, run, read, explained, compared, and held against what happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scheduling.ledger import store
from scheduling.models import Cluster, Run
from scheduling.scenarios import runs
from scheduling.services.cycles import run_cycle
from tests.api.support import GPU, RACK, Caller, dump, gang

LOSE: dict[str, Any] = {"step": "lose_nodes", "key": RACK, "domain": "rack-1"}
NEW: dict[str, Any] = {
    "step": "submit",
    "namespace": "team-a",
    "name": "new",
    "min_count": 2,
    "topology_key": RACK,
    "templates": [{"count": 2, "requests": {"cpu": "4", GPU: "8"}}],
}
DOCUMENT: dict[str, Any] = {"about": "a rack is lost", "steps": [LOSE, NEW]}


@pytest.fixture
def runner(caller: Callable[..., Caller], cluster: Cluster) -> Caller:
    run_cycle(cluster.pk)
    return caller("view_cluster", "run_scenario", "operate_cluster")


def saved(runner: Caller, name: str = "loss", document: dict[str, Any] = DOCUMENT, query: str = "") -> Any:
    return runner("PUT", f"/clusters/demo/scenarios/{name}{query}", document)


def done(answer: Any) -> int:
    """The number of the run that was asked for, which is over then."""
    assert answer.status_code == 200, answer.content
    number: int = answer.json()["number"]
    run = Run.objects.get(number=number)
    while runs.work(run.pk):
        pass
    return number


def result(runner: Caller, number: int) -> Any:
    answer = runner("GET", f"/clusters/demo/runs/{number}").json()
    assert answer["status"] == "done", answer["error"]
    return answer["result"]


def paths(answer: Any) -> list[str]:
    return [problem["path"] for problem in answer.json()["problems"]]


def test_a_scenario_is_saved_listed_and_read(runner: Caller) -> None:
    answer = saved(runner)
    assert answer.status_code == 200
    assert answer.json()["document"] == {"name": "loss", **DOCUMENT}
    (row,) = runner("GET", "/clusters/demo/scenarios").json()["items"]
    assert (row["name"], row["about"], row["steps"]) == ("loss", "a rack is lost", ["lose_nodes", "submit"])
    assert row["saved_by"] == runner.user.username
    assert runner("GET", "/clusters/demo/scenarios/loss").json()["document"]["steps"] == [LOSE, NEW]
    assert runner("GET", "/clusters/demo/scenarios/none").status_code == 404


def test_its_yaml_can_be_saved_again_as_it_is(runner: Caller) -> None:
    saved(runner)
    for answer in (
        runner("GET", "/clusters/demo/scenarios/loss?format=yaml"),
        runner("GET", "/clusters/demo/scenarios/loss", headers={"Accept": "application/yaml"}),
    ):
        assert answer["Content-Type"] == "application/yaml"
        again = runner("PUT", "/clusters/demo/scenarios/loss", answer.content)
        assert again.json()["document"] == {"name": "loss", **DOCUMENT}
        assert again.json()["revision"] == 1, "nothing was written"


def test_what_somebody_else_saved_meanwhile_is_not_overwritten(runner: Caller) -> None:
    first = saved(runner, query="?revision=0").json()["revision"]
    assert saved(runner, query="?revision=0", document={"steps": [LOSE]}).status_code == 422
    changed = saved(runner, document={"steps": [LOSE]}, query=f"?revision={first}").json()
    late = saved(runner, document={"steps": [NEW]}, query=f"?revision={first}")
    assert (late.status_code, late.json()["problems"][0]["reason"]) == (422, "Conflict")
    assert runner("GET", "/clusters/demo/scenarios/loss").json()["revision"] == changed["revision"]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"steps": [{"step": "nonsense"}]}, "steps[0]"),
        ({"steps": [{"step": "cordon"}]}, "steps[0]"),
        ({"steps": [{**NEW, "templates": []}]}, "steps[0].templates"),
        ({"profile": "none", "steps": []}, "profile"),
        ({"name": "other", "steps": []}, "name"),
    ],
)
def test_a_document_that_is_wrong_is_refused_at_its_field(runner: Caller, document: Any, path: str) -> None:
    answer = saved(runner, document=document)
    assert answer.status_code == 422
    assert paths(answer)[0].startswith(path)
    assert runner("GET", "/clusters/demo/scenarios").json()["items"] == []


def test_text_that_is_no_document_is_refused(runner: Caller) -> None:
    assert runner("PUT", "/clusters/demo/scenarios/loss", b"steps: [").status_code == 422
    assert runner("PUT", "/clusters/demo/scenarios/loss", b"\xff\xfe").status_code == 400


def test_a_scenario_is_copied_and_removed(runner: Caller) -> None:
    saved(runner)
    copied = runner("POST", "/clusters/demo/scenarios/loss/copy", {"name": "other"})
    assert copied.json()["document"] == {"name": "other", **DOCUMENT}
    assert runner("POST", "/clusters/demo/scenarios/loss/copy", {"name": "other"}).status_code == 422
    assert runner("DELETE", "/clusters/demo/scenarios/loss").status_code == 200
    assert runner("DELETE", "/clusters/demo/scenarios/loss").status_code == 404
    assert [row["name"] for row in runner("GET", "/clusters/demo/scenarios").json()["items"]] == ["other"]


def test_a_saved_scenario_is_run_and_its_result_read(runner: Caller, cluster: Cluster) -> None:
    saved(runner)
    number = done(runner("POST", "/clusters/demo/scenarios/loss/run"))
    (row,) = runner("GET", "/clusters/demo/runs?scenario=loss").json()["items"]
    assert (row["number"], row["status"], row["base_seq"]) == (number, "done", store.head(cluster.pk).seq)
    found = result(runner, number)
    assert found["verdict"]["code"] == "waits"
    assert {one["key"]: one["became"] for one in found["asked"]}["team-a/new"] in ("placed", "waits")


def test_a_document_is_run_without_being_saved_where_it_says(runner: Caller, cluster: Cluster) -> None:
    seq = store.head(cluster.pk).seq
    number = done(runner("POST", f"/clusters/demo/scenario-runs?at={seq - 1}", {"steps": [NEW]}))
    assert Run.objects.get(number=number).base_seq == seq - 1
    assert runner("GET", "/clusters/demo/scenarios").json()["items"] == []


@pytest.mark.parametrize(("at", "status"), [("999999", 404), ("soon", 422), ("0", 404)])
def test_a_moment_that_is_none_is_refused(runner: Caller, at: str, status: int) -> None:
    answer = runner("POST", f"/clusters/demo/scenario-runs?at={at}", {"steps": [NEW]})
    assert (answer.status_code, paths(answer)) == (status, ["at"])
    assert not Run.objects.exists()


def test_the_same_key_asks_for_one_run(runner: Caller, cluster: Cluster) -> None:
    key = {"Idempotency-Key": "once"}
    first = runner("POST", "/clusters/demo/scenario-runs", {"steps": [NEW]}, headers=key).json()
    runner("POST", "/clusters/demo/nodes/node-1-1/cordon")
    again = runner("POST", "/clusters/demo/scenario-runs", {"steps": [NEW]}, headers=key).json()
    assert first["number"] == again["number"]
    other = runner("POST", "/clusters/demo/scenario-runs", {"steps": [LOSE]}, headers=key)
    assert other.status_code == 409


def test_a_refused_step_is_named_in_the_run(runner: Caller) -> None:
    number = done(runner("POST", "/clusters/demo/scenario-runs", {"steps": [LOSE, LOSE]}))
    answer = runner("GET", f"/clusters/demo/runs/{number}").json()
    assert answer["status"] == "failed"
    assert "steps[1].domain" in answer["error"]


def test_a_run_is_made_again_on_a_newer_instant(runner: Caller, cluster: Cluster) -> None:
    seq = store.head(cluster.pk).seq
    number = done(runner("POST", f"/clusters/demo/scenario-runs?at={seq}", {"steps": [NEW]}))
    runner("POST", "/clusters/demo/nodes/node-1-1/cordon")
    again = done(runner("POST", f"/clusters/demo/runs/{number}/rerun"))
    assert Run.objects.get(number=again).base_seq == store.head(cluster.pk).seq > seq
    assert result(runner, again)["asked"][0]["key"] == "team-a/new"


def test_a_group_is_explained_in_the_state_that_the_scenario_made(runner: Caller) -> None:
    number = done(runner("POST", "/clusters/demo/scenario-runs", {"steps": [LOSE, NEW]}))
    base = f"/clusters/demo/runs/{number}/podgroups/team-a"
    answer = runner("GET", f"{base}/wide/explanation").json()
    assert answer["verdict"] == "proved_infeasible" and answer["funnel"]["domains"] == 1
    assert answer["sentence"] and [row["domain"] for row in answer["domains"]] == ["rack-2"]
    before = runner("GET", f"{base}/wide/explanation?step=0").json()
    assert before["funnel"]["domains"] == 2
    assert runner("GET", f"{base}/new/explanation?step=1").status_code == 404
    assert runner("GET", f"{base}/wide/explanation?step=9").status_code == 404


def test_two_results_are_compared(runner: Caller) -> None:
    first = done(runner("POST", "/clusters/demo/scenario-runs", {"steps": [NEW]}))
    second = done(runner("POST", "/clusters/demo/scenario-runs", {"steps": [LOSE, NEW]}))
    found = runner("GET", f"/clusters/demo/runs/{first}/compare/{second}").json()
    assert found["same"] == {"base": True, "steps": False, "profile": True}
    assert "team-a/fits" in {group["key"] for group in found["groups"]}
    assert found["group_count"] == len(found["groups"])


def test_reality_is_asked_when_the_group_was_submitted(runner: Caller, cluster: Cluster) -> None:
    number = done(runner("POST", "/clusters/demo/scenario-runs", {"steps": [NEW]}))
    (group,) = runner("GET", f"/clusters/demo/runs/{number}/reality").json()["groups"]
    assert group["verdict"] == "not_submitted"
    runner("POST", "/clusters/demo/podgroups/manifests", dump(*gang("new", 2)))
    run_cycle(cluster.pk)
    (group,) = runner("GET", f"/clusters/demo/runs/{number}/reality").json()["groups"]
    assert (group["verdict"], group["changed"]["events"]) == ("agrees", 0)


def test_runs_that_have_no_result_say_so(runner: Caller) -> None:
    number = runner("POST", "/clusters/demo/scenario-runs", {"steps": [NEW]}).json()["number"]
    assert runner("GET", f"/clusters/demo/runs/{number}/reality").status_code == 422
    base = f"/clusters/demo/runs/{number}/podgroups/team-a/wide/explanation"
    answer = runner("GET", base)
    assert (answer.status_code, answer.json()["message"]) == (404, f"Run {number} has not begun.")
    assert runner("GET", "/clusters/demo/runs/999/reality").status_code == 404
