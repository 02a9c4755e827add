"""Canaries over the API: started, measured, judged, decided about, and their story in the log."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.models import Cluster
from scheduling.services.cycles import run_cycle
from scheduling.services.execute import now_ms
from tests.api.support import Caller

CANARIES = "/clusters/demo/canaries"
WISH: dict[str, Any] = {
    "stages": [{"namespaces": ["team-a"]}],
    "limits": {"throughput": 1_000, "errors": 0},
    "window_ms": 600_000,
    "approval": "ask",
}


@pytest.fixture
def admin(cluster: Cluster, operator: Caller, caller: Any) -> Caller:
    made: Caller = caller("view_cluster", "operate_cluster", "switch_gate")
    run_cycle(cluster.pk)  # `fits` is in one rack
    made("PATCH", "/clusters/demo/gates/GangScheduling", {"enabled": False})
    return made


def judge(cluster: Cluster) -> None:
    run_cycle(cluster.pk, clock=lambda: now_ms() + 700_000)


def test_one_is_started_measured_and_approved(admin: Caller, cluster: Cluster) -> None:
    started = admin("POST", CANARIES, WISH)
    assert started.status_code == 201, started.json()
    name = f"canary-{started.json()['first_seq']}"
    rate = {"rate": 1_500, "unit": "steps", "source": "trainer"}
    path = "/clusters/demo/podgroups/team-a/fits/throughput"
    assert admin("POST", path, rate).json()["events"][0]["type"] == "ThroughputReported"

    now = admin("GET", CANARIES).json()["now"]
    assert [(each["criterion"], each["measured"], each["verdict"]) for each in now["measured"]] == [
        ("throughput", 1_500, "passed"),
        ("errors", 0, "passed"),
    ]
    assert (now["name"], now["status"]) == (name, "running")
    assert admin("POST", f"{CANARIES}/{name}/approve").status_code == 422
    judge(cluster)
    assert admin("GET", CANARIES).json()["now"]["status"] == "asking"
    assert admin("POST", f"{CANARIES}/{name}/approve").json()["events"][0]["type"] == "CanaryEnded"
    told = admin("GET", CANARIES).json()
    assert (told["now"], [each["name"] for each in told["kept"]]) == (None, [name])

    story = admin("GET", f"/clusters/demo/events?canary={name}").json()["items"]
    assert [event["type"] for event in story if event["subject"] == "canary"] == [
        "CanaryStarted",
        "CanaryJudged",
        "CanaryEnded",
    ]
    ended, judged = story[-1], story[-2]
    assert ended["cause"] == judged["seq"] and judged["cause"] == story[0]["seq"]


def test_the_same_request_twice_starts_one(admin: Caller) -> None:
    first = admin("POST", CANARIES, WISH, headers={"Idempotency-Key": "k1"}).json()
    again = admin("POST", CANARIES, WISH, headers={"Idempotency-Key": "k1"}).json()
    assert again["first_seq"] == first["first_seq"]
    assert admin("POST", CANARIES, WISH).json()["problems"][0]["reason"] == "Conflict"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"stages": []}, "stages"),
        ({"stages": [{"groups": ["nameless"]}]}, "stages[0].groups"),
        ({"limits": {"speed": 1}}, "limits.speed"),
        ({"window_ms": 1}, "window"),
        ({"means": "wish"}, "means"),
    ],
)
def test_a_refusal_names_the_field_and_stores_nothing(
    change: dict[str, Any], path: str, admin: Caller
) -> None:
    before = admin("GET", "/clusters/demo").json()["seq"]
    answer = admin("POST", CANARIES, WISH | change)

    assert answer.status_code == 422
    assert path in [problem["path"] for problem in answer.json()["problems"]]
    assert admin("GET", "/clusters/demo").json()["seq"] == before


def test_a_canary_that_there_is_not_is_404(admin: Caller) -> None:
    for what in ("approve", "widen", "rollback", "stop"):
        assert admin("POST", f"{CANARIES}/canary-1/{what}").status_code == 404
