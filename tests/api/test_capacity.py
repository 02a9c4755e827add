"""Node types and plans for new nodes over the API, from a definition to members on nodes."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.models import Cluster
from scheduling.services.cycles import run_cycle
from scheduling.services.execute import now_ms
from tests.api.support import RACK, Caller

BASE = "/clusters/demo"
TYPE: dict[str, Any] = {
    "name": "gpu-box",
    "like": "node-1-1",
    "growth": [{"key": RACK, "domain": "rack-2", "most": 4}, {"key": RACK, "domain": "rack-9", "most": 8}],
    "cost": "98.32",
    "provider": "simulated",
}


def define(caller: Caller, **more: Any) -> Any:
    return caller("POST", f"{BASE}/node-types", TYPE | more)


@pytest.fixture
def ready(cluster: Cluster, operator: Caller) -> Cluster:
    """`fits` runs in a rack of two nodes; `wide` needs three; one type of nodes."""
    run_cycle(cluster.pk)
    assert define(operator).status_code == 201
    return cluster


def plan(caller: Caller, *groups: str) -> str:
    answer = caller("POST", f"{BASE}/scale-up", {"groups": list(groups or ["team-a/wide"])})
    assert answer.status_code == 201, answer.content
    (event,) = answer.json()["events"]
    assert event["type"] == "ScaleUpPlanned"
    return f"scale-up-{event['seq']}"


def cycle(cluster: Cluster) -> None:
    later = now_ms() + 60_000
    run_cycle(cluster.pk, clock=lambda: later)


def test_a_type_is_listed_with_what_is_left_of_its_growth(ready: Cluster, viewer: Caller) -> None:
    (found,) = viewer("GET", f"{BASE}/node-types").json()["items"]
    assert (found["name"], found["cost"], found["provider"]) == ("gpu-box", 98_320, "simulated")
    assert found["allocatable"]["nvidia.com/gpu"] == 8
    assert found["growth"] == [
        {"key": RACK, "domain": "rack-2", "most": 4, "room": 4},
        {"key": RACK, "domain": "rack-9", "most": 8, "room": 8},
    ]


def test_a_type_by_hand(cluster: Cluster, operator: Caller) -> None:
    taints = [{"key": "gpu", "effect": "NoSchedule"}]
    answer = define(operator, like="", allocatable={"cpu": "8"}, labels={"a": "b"}, taints=taints, cost="")
    assert answer.status_code == 201
    (found,) = operator("GET", f"{BASE}/node-types").json()["items"]
    assert (found["labels"], found["cost"]) == ({"a": "b"}, None)
    assert found["taints"] == [{"key": "gpu", "value": "", "effect": "NoSchedule"}]


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"growth": []}, "growth"),
        ({"growth": [{"key": RACK, "domain": "r", "most": 0}]}, "growth[0].most"),
        ({"cost": "dear"}, "cost"),
        ({"name": "No Name"}, "name"),
        ({"provider": "cloud"}, "provider"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_bad_types_are_refused_at_their_field(
    more: dict[str, Any], path: str, cluster: Cluster, operator: Caller
) -> None:
    answer = define(operator, **more)
    assert answer.status_code == 422
    assert path in [problem["path"] for problem in answer.json()["problems"]]
    assert operator("GET", f"{BASE}/node-types").json()["items"] == []


def test_an_unknown_node_is_not_found(cluster: Cluster, operator: Caller) -> None:
    assert define(operator, like="nobody").status_code == 404


def test_a_preview_writes_nothing(ready: Cluster, viewer: Caller) -> None:
    before = viewer("GET", BASE).json()["seq"]
    told = viewer("GET", f"{BASE}/podgroups/team-a/wide/scale-up").json()
    assert [option["cost"] for option in told["options"]] == [98_320, 3 * 98_320]
    assert told["options"][0] == {
        "sentence": "1 node of gpu-box in rack rack-2: that makes team-a/wide fit.",
        "steps": [{"type": "gpu-box", "key": RACK, "domain": "rack-2", "count": 1}],
        "fits": [{"group": "team-a/wide", "domain": "rack-2", "placed": 3, "need": 3}],
        "nodes": 1,
        "cost": 98_320,
        "unpriced": 0,
        "cheapest": True,
    }
    assert (told["obstacle"], told["refused"]) == ("", [])
    running = viewer("GET", f"{BASE}/podgroups/team-a/fits/scale-up").json()
    assert (running["options"], running["obstacle"]) == ([], "not_waiting")
    assert viewer("GET", f"{BASE}/podgroups/team-a/nothing/scale-up").status_code == 404
    assert viewer("GET", BASE).json()["seq"] == before


def test_from_plan_to_placement(ready: Cluster, operator: Caller) -> None:
    name = plan(operator)
    shown = operator("GET", f"{BASE}/scale-up/{name}").json()
    assert (shown["status"], shown["chosen"], shown["deadline"]) == ("planned", None, None)
    assert shown["groups"] == ["team-a/wide"] and len(shown["options"]) == 2

    done = operator("POST", f"{BASE}/scale-up/{name}/approve", {"nodes": 0, "minutes": 5}).json()
    assert [event["type"] for event in done["events"]] == ["ScaleUpApproved"]
    cycle(ready)
    shown = operator("GET", f"{BASE}/scale-up/{name}").json()
    assert (shown["status"], shown["chosen"], shown["joined"]) == ("approved", 0, [])

    done = operator("POST", f"{BASE}/scale-up/{name}/nodes", {}).json()
    assert [event["type"] for event in done["events"]] == ["NodeAdded"]
    cycle(ready)
    shown = operator("GET", f"{BASE}/scale-up/{name}").json()
    assert (shown["status"], shown["joined"]) == ("completed", ["gpu-box-rack-2-1"])
    group = operator("GET", f"{BASE}/podgroups/team-a/wide").json()
    assert (group["status"], group["bound"]) == ("scheduled", 3)


def test_the_same_request_is_carried_out_once(ready: Cluster, operator: Caller) -> None:
    body = {"groups": ["team-a/wide"]}
    first, again = (
        operator("POST", f"{BASE}/scale-up", body, headers={"Idempotency-Key": "k"}).json() for _ in range(2)
    )
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert first["events"] == again["events"]


def test_why_nothing_can_be_planned(ready: Cluster, operator: Caller) -> None:
    define(operator, growth=[{"key": "zone", "domain": "z1", "most": 9}])
    answer = operator("POST", f"{BASE}/scale-up", {"groups": ["team-a/wide"]})
    assert answer.status_code == 422
    problems = [(found["kind"], found["name"], found["message"]) for found in answer.json()["problems"]]
    assert problems == [
        ("PodGroup", "wide", "no growth of the defined node types makes it fit"),
        (
            "NodeType",
            "gpu-box",
            "its growth names no domain of the group's topology key: its nodes would not have that label",
        ),
    ]
    told = operator("GET", f"{BASE}/podgroups/team-a/wide/scale-up").json()
    assert [(one["type"], one["reason"]) for one in told["refused"]] == [("gpu-box", "no_label")]


def test_a_plan_that_is_rejected_is_closed(ready: Cluster, operator: Caller) -> None:
    name = plan(operator)
    assert operator("DELETE", f"{BASE}/node-types/gpu-box").status_code == 422
    operator("POST", f"{BASE}/scale-up/{name}/reject", {"why": "too dear"})
    (shown,) = operator("GET", f"{BASE}/scale-up").json()["items"]
    assert (shown["status"], shown["why"]) == ("rejected", "too dear")
    assert operator("POST", f"{BASE}/scale-up/{name}/approve", {}).status_code == 422
    assert operator("GET", f"{BASE}/scale-up/{name}/node-pools").status_code == 422
    assert operator("DELETE", f"{BASE}/node-types/gpu-box").status_code == 200


@pytest.mark.parametrize("path", ["", "/node-pools", "/provisioning-request"])
def test_an_unknown_plan_is_404(path: str, ready: Cluster, viewer: Caller) -> None:
    assert viewer("GET", f"{BASE}/scale-up/scale-up-1{path}").status_code == 404


def test_for_cluster_autoscaler(ready: Cluster, operator: Caller) -> None:
    name = plan(operator)
    made = operator("GET", f"{BASE}/scale-up/{name}/provisioning-request?option=1").json()
    assert (made["apiVersion"], made["kind"]) == ("v1", "List")
    template, request = made["items"]
    assert (template["kind"], template["metadata"]["namespace"]) == ("PodTemplate", "team-a")
    spec = template["template"]["spec"]
    assert spec["nodeSelector"] == {RACK: "rack-9"}
    assert spec["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    assert not {"nodeName", "schedulingGroup", "priority"} & spec.keys()
    assert request["apiVersion"] == "autoscaling.x-k8s.io/v1"
    assert request["spec"] == {
        "provisioningClassName": "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
        "podSets": [{"podTemplateRef": {"name": template["metadata"]["name"]}, "count": 3}],
    }
    wrong = operator("GET", f"{BASE}/scale-up/{name}/provisioning-request?provisioning_class=cloud")
    assert (wrong.status_code, wrong.json()["problems"][0]["path"]) == (422, "provisioning_class")
    assert operator("GET", f"{BASE}/scale-up/{name}/node-pools?option=9").status_code == 422


def test_for_karpenter(ready: Cluster, operator: Caller) -> None:
    define(operator, labels={"topology.kubernetes.io/zone": "z1", "pool": "gpu", "x.k8s.io/y": "z"})
    name = plan(operator)
    (pool,) = operator("GET", f"{BASE}/scale-up/{name}/node-pools").json()["items"]
    assert (pool["apiVersion"], pool["kind"]) == ("karpenter.sh/v1", "NodePool")
    spec = pool["spec"]
    assert spec["template"]["spec"]["requirements"] == [
        {"key": RACK, "operator": "In", "values": ["rack-2"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z1"]},
    ]
    assert spec["template"]["metadata"]["labels"] == {"pool": "gpu", "tas-console/node-type": "gpu-box"}
    assert spec["limits"] == {"cpu": "64", "memory": str(256 << 30), "nvidia.com/gpu": "8"}
    assert set(spec["template"]["spec"]["nodeClassRef"]) == {"group", "kind", "name"}


def test_sentences_follow_the_language(ready: Cluster, viewer: Caller) -> None:
    told = viewer("GET", f"{BASE}/podgroups/team-a/wide/scale-up", headers={"Accept-Language": "ja"}).json()
    assert told["options"][0]["sentence"].startswith("ラック rack-2 に gpu-box 1 台")
