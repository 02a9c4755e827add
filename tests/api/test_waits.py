"""Waits, deadlines, new generations and lost marks over the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from scheduling.ledger.store import to_milliseconds
from scheduling.models import Cluster, PodRow
from scheduling.services import nodes, workloads
from scheduling.services.cycles import run_cycle
from tests.api.support import RACK, Caller

FITS = "/clusters/demo/podgroups/team-a/fits"
WIDE = "/clusters/demo/podgroups/team-a/wide"


@pytest.fixture
def scheduled(cluster: Cluster) -> Cluster:
    run_cycle(cluster.pk)
    return cluster


@pytest.fixture
def rack(scheduled: Cluster) -> str:
    """Where `fits` waits for room for its second member."""
    pod = PodRow.objects.filter(cluster=scheduled, group="fits", removed=False).order_by("name").last()
    assert pod is not None
    nodes.cordon(cluster=scheduled, node=pod.node, actor="t")
    workloads.delete_member(cluster=scheduled, uid=pod.uid, actor="t")
    run_cycle(scheduled.pk)
    return pod.node.replace("node-", "rack-")[: len("rack-1")]


def types(answer: Any) -> list[str]:
    return [event["type"] for event in answer.json()["events"]]


def in_an_hour() -> str:
    return (timezone.now() + timedelta(hours=1)).isoformat()


def test_a_sticky_wait_is_told_whole(rack: str, viewer: Caller) -> None:
    wait = viewer("GET", f"{FITS}/wait").json()
    assert (wait["sticky"]["domain"], wait["sticky"]["topology_key"]) == (rack, RACK)
    assert wait["since"] and wait["degraded_since"] and wait["sticky"]["short_of"]
    assert wait["deadline"] is None and not wait["unlimited"] and not wait["domain_lost"]
    event = viewer("GET", f"/clusters/demo/events/{wait['sticky']['seq']}").json()
    assert event["type"] == "StickyWaitStarted" and event["cause"] == event["seq"] - 1
    assert viewer("GET", FITS).json()["degraded_since"] == wait["degraded_since"]


def test_a_group_that_runs_has_no_wait(scheduled: Cluster, viewer: Caller) -> None:
    wait = viewer("GET", f"{FITS}/wait").json()
    assert wait["sticky"] is None and wait["since"] is None and wait["degraded_since"] is None


def test_a_deadline_is_set_once_and_expires(scheduled: Cluster, operator: Caller) -> None:
    body = {"at": in_an_hour(), "action": "close"}
    assert types(operator("POST", f"{WIDE}/deadline", body)) == ["WaitDeadlineSet"]
    assert types(operator("POST", f"{WIDE}/deadline", body)) == []
    deadline = operator("GET", f"{WIDE}/wait").json()["deadline"]
    assert (deadline["action"], deadline["default"], deadline["expired_at"]) == ("close", False, None)
    later = to_milliseconds(timezone.now() + timedelta(hours=2))
    run_cycle(scheduled.pk, clock=lambda: later)
    assert operator("GET", WIDE).json()["close_reason"] == "expired"
    assert operator("GET", f"{WIDE}/wait").status_code == 404


def test_a_deadline_goes_back_to_the_default_of_the_cluster(scheduled: Cluster, operator: Caller) -> None:
    operator("POST", "/clusters/demo/wait-policy", {"after_s": 3600, "action": "propose"})
    operator("POST", f"{WIDE}/deadline", {"at": None})
    assert operator("GET", f"{WIDE}/wait").json()["deadline"] is None
    assert types(operator("DELETE", f"{WIDE}/deadline")) == ["WaitDeadlineWithdrawn"]
    assert types(operator("DELETE", f"{WIDE}/deadline")) == []
    wait = operator("GET", f"{WIDE}/wait").json()
    assert wait["deadline"]["default"] and not wait["unlimited"]
    assert operator("DELETE", "/clusters/demo/podgroups/team-a/none/deadline").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"at": "2020-01-01T00:00:00Z"},
        {"at": "2050-01-01T00:00:00"},
        {"at": "2050-01-01T00:00:00Z", "action": "shout"},
        {"at": None, "until": 3},
        {},
    ],
)
def test_a_deadline_that_cannot_be_is_refused(scheduled: Cluster, operator: Caller, body: Any) -> None:
    answer = operator("POST", f"{WIDE}/deadline", body)
    assert answer.status_code == 422 and answer.json()["problems"]


def test_the_default_is_kept_in_seconds(scheduled: Cluster, operator: Caller, viewer: Caller) -> None:
    assert viewer("GET", "/clusters/demo/wait-policy").json() == {"after_s": None, "action": None}
    answer = operator("POST", "/clusters/demo/wait-policy", {"after_s": 3600, "action": "propose"})
    assert types(answer) == ["WaitPolicyChanged"]
    assert viewer("GET", "/clusters/demo/wait-policy").json() == {"after_s": 3600, "action": "propose"}
    assert viewer("GET", f"{WIDE}/wait").json()["deadline"]["default"]
    assert operator("POST", "/clusters/demo/wait-policy", {"after_s": 0}).status_code == 422


def test_a_generation_is_forecast_and_then_opened(rack: str, scheduled: Cluster, operator: Caller) -> None:
    body = {"checkpoint": "s3://ckpt/1", "generation": 1}
    told = operator("GET", f"{FITS}/generations/forecast").json()
    assert told["verdict"] == "placed" and told["domain"] != rack and told["bound"] == 1
    answer = operator("POST", f"{FITS}/generations", body)
    assert answer.status_code == 201
    assert types(answer) == [
        "PodRemoved", "PodRemoved", "PodGroupClosed", "PodGroupCreated", "PodAdded", "PodAdded",
    ]  # fmt: skip
    run_cycle(scheduled.pk)
    assert operator("GET", FITS).json()["domain"] == told["domain"]
    new, old = operator("GET", f"{FITS}/generations").json()["items"]
    assert (new["generation"], new["why"], new["checkpoint"]) == (2, "restored", "s3://ckpt/1")
    assert new["supersedes"] == old["uid"] and old["closed_reason"] == "superseded"
    assert old["closed_by"] == new["opened_by"] == operator.user.get_username()


def test_of_two_posts_on_one_generation_the_second_is_refused_and_names_the_first(
    scheduled: Cluster, operator: Caller
) -> None:
    body = {"generation": 1, "topology_key": ""}
    first = operator("POST", f"{WIDE}/generations", body)
    second = operator("POST", f"{WIDE}/generations", body)

    assert (first.status_code, second.status_code) == (201, 422)
    (problem,) = second.json()["problems"]
    assert (problem["path"], problem["reason"], problem["name"]) == ("generation", "Conflict", "wide")
    (created,) = [event for event in first.json()["events"] if event["type"] == "PodGroupCreated"]
    assert problem["first"]["seq"] == created["seq"]
    assert len(operator("GET", f"{WIDE}/generations").json()["items"]) == 2


def test_a_new_generation_names_the_one_that_it_was_decided_on(scheduled: Cluster, operator: Caller) -> None:
    answer = operator("POST", f"{WIDE}/generations", {"topology_key": ""})
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == ["generation"]
    assert operator("GET", WIDE).json()["generation"] == 1


def test_mincount_is_lowered_for_elastic_groups_only(scheduled: Cluster, operator: Caller) -> None:
    answer = operator("POST", f"{WIDE}/generations", {"generation": 1, "min_count": 2})
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == ["min_count"]
    told = operator("GET", f"{WIDE}/generations/forecast?min_count=2&elastic=true").json()
    assert (told["fewer"], told["verdict"], told["fits"]) == (1, "placed", 2)
    operator("POST", f"{WIDE}/generations", {"generation": 1, "min_count": 2, "elastic": True})
    shown = operator("GET", WIDE).json()
    assert (shown["generation"], shown["min_count"], shown["elastic"]) == (2, 2, True)


def test_a_domain_is_marked_lost_and_taken_back(scheduled: Cluster, operator: Caller) -> None:
    body = {"topology_key": RACK, "domain": "rack-1"}
    answer = operator("POST", "/clusters/demo/lost-domains", body)
    assert types(answer) == ["DomainMarkedLost", "NodeUpdated", "NodeUpdated"]
    assert operator("GET", "/clusters/demo/lost-domains").json()["items"] == [
        body | {"nodes": ["node-1-1", "node-1-2"]}
    ]
    answer = operator("POST", "/clusters/demo/lost-domains/taken-back", body)
    assert types(answer) == ["DomainMarkTakenBack", "NodeUpdated", "NodeUpdated"]
    assert operator("GET", "/clusters/demo/lost-domains").json()["items"] == []
    assert operator("POST", "/clusters/demo/lost-domains/taken-back", body).status_code in (404, 422)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{WIDE}/deadline", {"at": None}),
        (f"{WIDE}/generations", {"generation": 1}),
        ("/clusters/demo/wait-policy", {"after_s": 60}),
        ("/clusters/demo/lost-domains", {"topology_key": RACK, "domain": "rack-1"}),
    ],
)
def test_who_may_only_look_changes_nothing(scheduled: Cluster, viewer: Caller, path: str, body: Any) -> None:
    assert viewer("POST", path, body).status_code == 403
    assert viewer("DELETE", f"{WIDE}/deadline").status_code == 403
