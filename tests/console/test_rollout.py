"""Pages of the rollout: rows with what they rest on, statements, rehearsals offered, advice asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from scheduling.models import Cluster, Event, Run
from scheduling.scenarios import rehearsal, runs
from tests.console.support import RACK, text

TAS = "TopologyAwareWorkloadScheduling"


@pytest.fixture
def switcher(signed_in: Callable[..., Client]) -> Client:
    return signed_in("view_cluster", "switch_gate", "run_scenario")


def rehearsed(cluster: Cluster) -> Run:
    run = rehearsal.request(cluster=cluster, gates={TAS: False}, actor="ada")
    while runs.work(run.pk):
        pass
    run.refresh_from_db()
    return run


def test_a_viewer_sees_the_rows_and_no_form(cluster: Cluster, viewer: Client) -> None:
    answer = viewer.get("/c/demo/rollout")
    said = text(answer)
    assert "Not ready:" in said and "nothing tells it" in said
    assert b"fact-autoscaler" not in answer.content
    assert b"Rehearse first" not in answer.content


def test_a_statement_is_shown_as_stated_by_whom(cluster: Cluster, switcher: Client) -> None:
    sent = {
        "fact": "rollback_plan",
        "rollback_plan-value": "Switch TAS off,\nthen tell the teams.",
        "rollback_plan-source": "the platform team",
    }
    assert switcher.post("/c/demo/rollout/facts", sent).status_code == 302
    said = text(switcher.get("/c/demo/rollout"))
    assert "Switch TAS off, then tell the teams." in said
    assert "In charge: the platform team" in said
    assert "stated, not measured" in said


def test_what_was_typed_stays_on_an_error(cluster: Cluster, switcher: Client) -> None:
    sent = {"fact": "rollback_plan", "rollback_plan-value": "My plan", "rollback_plan-source": ""}
    answer = switcher.post("/c/demo/rollout/facts", sent)
    assert answer.status_code == 422
    assert b"My plan</textarea>" in answer.content
    assert "say how this is known" in text(answer)
    assert not Event.objects.filter(type="RolloutFactStated").exists()
    assert switcher.post("/c/demo/rollout/facts", {"fact": "weather"}).status_code == 404


def test_the_page_of_a_gate_says_that_the_switch_was_not_rehearsed_and_then_what_it_would_do(
    cluster: Cluster, switcher: Client
) -> None:
    page = f"/c/demo/gates/{TAS}"
    assert "This switch was not rehearsed" in text(switcher.get(page))
    answer = switcher.post("/c/demo/rollout/rehearse", {"gate": f"{TAS}:false"})
    run = Run.objects.get(cluster=cluster)
    assert answer.headers["Location"] == f"/c/demo/runs/{run.number}"
    while runs.work(run.pk):
        pass
    said = text(switcher.get(page))
    assert "1 of 2 groups would change." in said
    assert "event ago" in said
    assert "This switch was not rehearsed" in text(switcher.get("/c/demo/gates/GenericWorkload"))


def test_a_rehearsal_that_makes_no_sense_is_refused_with_its_field(
    cluster: Cluster, switcher: Client
) -> None:
    answer = switcher.post("/c/demo/rollout/rehearse", {"gate": "Weather:true"}, follow=True)
    assert "gates.Weather" in text(answer)
    assert not Run.objects.exists()


def test_the_result_is_filtered_and_is_a_file_too(cluster: Cluster, viewer: Client) -> None:
    run = rehearsed(cluster)
    whole = text(viewer.get(f"/c/demo/runs/{run.number}"))
    assert "team-a/wide" in whole and "kube-scheduler 1.36, of this group alone" in whole
    assert "No group of this kind." in text(viewer.get(f"/c/demo/runs/{run.number}?q=nobody"))
    file = viewer.get(f"/c/demo/runs/{run.number}/rehearsal.csv")
    assert file.headers["Content-Type"].startswith("text/csv")
    assert "team-a/wide,runs" in file.content.decode("utf-8-sig")


def test_advice_is_asked_for_by_address_and_by_form(cluster: Cluster, viewer: Client) -> None:
    said = text(viewer.get("/c/demo/rollout/advice?group=team-a/wide"))
    assert "Plain gang, or smaller: no rack could hold it" in said
    asked = {"count": "2", "gpu": "8", "cpu": "4", "topology_key": RACK}
    said = text(viewer.get("/c/demo/rollout/advice", asked))
    assert "2 members, minCount 2" in said


def test_a_mistake_is_told_at_its_field_and_the_numbers_stay(cluster: Cluster, viewer: Client) -> None:
    asked = {"count": "2", "gpu": "many", "topology_key": RACK, "compute_ms": "77"}
    answer = viewer.get("/c/demo/rollout/advice", asked)
    assert answer.status_code == 422
    assert b'name="gpu" value="many"' in answer.content
    assert b'name="compute_ms" value="77"' in answer.content
    nobody = viewer.get("/c/demo/rollout/advice?group=team-a/nobody")
    assert "there is no open PodGroup team-a/nobody" in text(nobody)
    assert viewer.get("/c/demo/rollout/advice?group=team-a/wide&compute_ms=0").status_code == 422
