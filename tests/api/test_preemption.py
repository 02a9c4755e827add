"""Preemption over the API: policy, proposal, approval, and who may do what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scheduling.models import Cluster
from scheduling.services.cycles import run_cycle
from scheduling.services.workloads import submit_manifests
from tests.api.support import Caller, dump, gang

PATH = "/clusters/demo/preemption"
URGENT = "/clusters/demo/podgroups/team-a/urgent/preemption"


@pytest.fixture
def admin(caller: Callable[..., Caller]) -> Caller:
    return caller("view_cluster", "operate_cluster", "switch_gate")


@pytest.fixture
def contended(cluster: Cluster) -> Cluster:
    """`fits` and `more` hold a rack each; `urgent` of priority 10 waits for one."""
    urgent = gang("urgent", 2)
    urgent[0]["spec"]["priority"] = 10
    run_cycle(cluster.pk)
    for objects in (gang("more", 2), urgent):
        submit_manifests(cluster=cluster, data=dump(*objects), actor="test")
        run_cycle(cluster.pk)
    return cluster


def proposed(admin: Caller) -> dict[str, Any]:
    assert admin("PATCH", f"{PATH}/policy", {"mode": "propose"}).status_code == 200
    assert admin("POST", URGENT).status_code == 201
    (proposal,) = admin("GET", PATH).json()["proposals"]
    found: dict[str, Any] = proposal
    return found


def test_the_policy_is_off_at_first_and_can_be_set(admin: Caller, cluster: Cluster) -> None:
    assert admin("GET", PATH).json()["policy"] == {"mode": "off", "queues": []}

    automatic = {"mode": "automatic", "queues": ["prod"]}
    refused = admin("PATCH", f"{PATH}/policy", automatic)
    assert (refused.status_code, refused.json()["problems"][0]["path"]) == (422, "queues")
    assert admin("PUT", "/clusters/demo/queues/prod", {}).status_code == 200
    done = admin("PATCH", f"{PATH}/policy", automatic)

    assert [event["type"] for event in done.json()["events"]] == ["PreemptionPolicyChanged"]
    assert admin("GET", PATH).json()["policy"] == {"mode": "automatic", "queues": ["prod"]}


def test_a_wrong_policy_is_refused_by_its_field(admin: Caller, cluster: Cluster) -> None:
    answer = admin("PATCH", f"{PATH}/policy", {"mode": "sometimes", "queues": []})

    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == ["mode"]


def test_a_proposal_tells_victims_and_cost(admin: Caller, contended: Cluster) -> None:
    proposal = proposed(admin)

    assert proposal["group"] == "team-a/urgent"
    assert proposal["cost"] == {"ends": True, "gpus": 16, "groups": 1, "members": 2}
    assert proposal["cost_sentence"] == "1 PodGroup, 2 members, 16 GPUs"
    assert (proposal["proved_smallest"], proposal["approved"]) == (True, False)
    (victim,) = proposal["victims"]
    assert victim["group"] in ("team-a/fits", "team-a/more")
    assert (victim["whole"], victim["gpus"], len(victim["members"])) == (True, 16, 2)
    assert proposal["id"] == f"p{proposal['proposed_by']}"


def test_an_approval_evicts_and_the_cycle_places(admin: Caller, contended: Cluster) -> None:
    proposal = proposed(admin)

    done = admin("POST", f"{PATH}/{proposal['id']}/approve", headers={"Idempotency-Key": "once"})

    assert [event["type"] for event in done.json()["events"]] == [
        "PreemptionApproved", "MemberEvicted", "MemberEvicted", "PodGroupClosed",
    ]  # fmt: skip
    again = admin("POST", f"{PATH}/{proposal['id']}/approve", headers={"Idempotency-Key": "once"})
    assert again.json()["repeated"] is True
    assert admin("GET", PATH).json()["proposals"][0]["approved"] is True
    run_cycle(contended.pk)
    assert admin("GET", "/clusters/demo/podgroups/team-a/urgent").json()["status"] == "scheduled"
    assert admin("GET", PATH).json()["proposals"] == []


def test_a_rejection_ends_the_proposal(admin: Caller, contended: Cluster) -> None:
    proposal = proposed(admin)

    assert admin("POST", f"{PATH}/{proposal['id']}/reject").status_code == 200
    assert admin("GET", PATH).json()["proposals"] == []
    assert admin("POST", f"{PATH}/{proposal['id']}/reject").status_code == 404


def test_where_there_is_nothing_to_propose_the_refusal_says_why(admin: Caller, contended: Cluster) -> None:
    off = admin("POST", URGENT)
    assert (off.status_code, "preemption is off" in off.json()["message"]) == (422, True)
    admin("PATCH", f"{PATH}/policy", {"mode": "propose"})

    answer = admin("POST", "/clusters/demo/podgroups/team-a/wide/preemption")

    assert answer.status_code == 422
    assert "no group of lower priority" in answer.json()["message"]
    assert admin("POST", "/clusters/demo/podgroups/team-a/none/preemption").status_code == 404


def test_each_call_needs_its_permission(
    viewer: Caller, operator: Caller, admin: Caller, contended: Cluster
) -> None:
    proposal = proposed(admin)

    assert viewer("GET", PATH).status_code == 200
    assert operator("PATCH", f"{PATH}/policy", {"mode": "off"}).status_code == 403
    for path in (URGENT, f"{PATH}/{proposal['id']}/approve", f"{PATH}/{proposal['id']}/reject"):
        assert viewer("POST", path).status_code == 403
