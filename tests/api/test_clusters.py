"""Clusters over the API: import of every form, what it refuses, gates, idempotency."""

import gzip
import json
import logging
from typing import Any

import pytest
from django.test import Client

from scheduling.ledger import store
from scheduling.models import Cluster, Command
from tests.api.support import NODES, Caller, dump, gang, node, pod_group

ALL_ON = {"GenericWorkload": True, "GangScheduling": True, "TopologyAwareWorkloadScheduling": True}


def head(name: str = "demo") -> int:
    return store.head(Cluster.objects.get(name=name).pk).seq


def test_the_list_has_each_cluster_with_its_counts(cluster: Cluster, viewer: Caller) -> None:
    (item,) = viewer("GET", "/clusters").json()["items"]
    assert item["name"] == "demo" and item["mode"] == "simulated" and item["gates"] == ALL_ON
    assert item["enforced"] is True and item["nodes"] == 5 and item["seq"] == head()


def test_one_cluster_says_where_its_log_and_its_scheduling_stand(cluster: Cluster, viewer: Caller) -> None:
    found = viewer("GET", "/clusters/demo").json()
    assert (found["seq"], found["last_cycle_seq"], found["last_cycle_at"]) == (head(), 0, None)


def test_an_unknown_cluster_is_404_with_its_name(db: None, viewer: Caller) -> None:
    answer = viewer("GET", "/clusters/nothing")
    assert answer.status_code == 404
    assert answer.json() == {
        "code": "not_found",
        "message": "There is no cluster named nothing.",
        "problems": [],
    }


@pytest.mark.parametrize(
    "data", [dump(*NODES, *gang("g", 2)), gzip.compress(dump(*NODES, *gang("g", 2)))], ids=["json", "gzip"]
)
def test_an_import_makes_a_cluster(db: None, operator: Caller, data: bytes) -> None:
    answer = operator("POST", "/clusters/new/import?mode=simulated", data)
    assert answer.status_code == 200, answer.content
    report = answer.json()
    assert report["created"] is True and report["accepted"] == {"Node": 5, "Pod": 2, "PodGroup": 1}
    assert report["seq"] == head("new") and Cluster.objects.get(name="new").gates == ALL_ON


def test_an_import_takes_yaml(db: None, operator: Caller) -> None:
    text = (
        b"apiVersion: v1\nkind: Node\nmetadata: {name: one}\nstatus: {allocatable: {cpu: '4', pods: '10'}}\n"
    )
    answer = operator("POST", "/clusters/new/import?mode=observed", text)
    assert answer.status_code == 200 and answer.json()["accepted"] == {"Node": 1}


def test_gates_are_chosen_by_query(db: None, operator: Caller) -> None:
    path = "/clusters/new/import?mode=simulated&gate=GangScheduling:false&gate=GenericWorkload:true"
    assert operator("POST", path, dump(*NODES)).status_code == 200
    assert Cluster.objects.get(name="new").gates == ALL_ON | {"GangScheduling": False}


@pytest.mark.parametrize("gate", ["GangScheduling", "GangScheduling:on", "Nonsense:true"])
def test_a_gate_that_is_none_is_refused_and_nothing_is_made(db: None, operator: Caller, gate: str) -> None:
    answer = operator("POST", f"/clusters/new/import?mode=simulated&gate={gate}", dump(*NODES))
    assert answer.status_code == 422 and not Cluster.objects.exists()


def test_the_same_dump_again_writes_nothing(cluster: Cluster, operator: Caller) -> None:
    before = head()
    report = operator("POST", "/clusters/demo/import", dump(*NODES)).json()
    assert report["unchanged"] == {"Node": 5} and report["seq"] == before == head()


def test_a_dry_run_tells_and_writes_nothing(cluster: Cluster, operator: Caller) -> None:
    before = head()
    path = "/clusters/demo/import?dry_run=true&complete=Node"
    report = operator("POST", path, dump(*NODES[1:], node("more", "rack-2"))).json()
    assert report["dry_run"] is True and report["added"] == {"Node": 1}
    assert report["removed"] == {"Node": ["node-1-1"]}
    assert head() == before


def test_a_complete_import_removes_what_is_absent(cluster: Cluster, operator: Caller) -> None:
    report = operator("POST", "/clusters/demo/import?complete=Node", dump(*NODES[1:])).json()
    assert report["removed"] == {"Node": ["node-1-1"]}
    assert operator("GET", "/clusters/demo/nodes/node-1-1").json()["removed"] is True


def test_an_unknown_kind_in_complete_is_refused(cluster: Cluster, operator: Caller) -> None:
    answer = operator("POST", "/clusters/demo/import?complete=Node,Pods", dump(*NODES))
    assert answer.status_code == 422 and "Pods" in answer.json()["message"]


def test_one_bad_object_refuses_the_whole_dump_and_names_object_and_field(
    cluster: Cluster, operator: Caller
) -> None:
    before = head()
    bad = node("bad", "rack-1")
    bad["status"]["allocatable"]["cpu"] = "four"
    answer = operator("POST", "/clusters/demo/import", dump(node("good", "rack-1"), bad))
    assert answer.status_code == 422
    (problem,) = answer.json()["problems"]
    assert (problem["kind"], problem["name"]) == ("Node", "bad") and "cpu" in problem["path"]
    assert head() == before


def test_a_partial_import_takes_the_rest_and_lists_what_it_left_out(
    cluster: Cluster, operator: Caller
) -> None:
    bad = pod_group("bad", 0)
    report = operator("POST", "/clusters/demo/import?partial=true", dump(node("good", "rack-1"), bad)).json()
    assert report["added"] == {"Node": 1}
    assert [(found["kind"], found["name"]) for found in report["refused"]] == [("PodGroup", "bad")]


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe\xff", gzip.compress(b"kind: Node", mtime=0)[:-4]])
def test_what_cannot_be_read_is_400(cluster: Cluster, operator: Caller, body: bytes) -> None:
    answer = operator("POST", "/clusters/demo/import", body)
    assert answer.status_code == 400 and answer.json()["code"] == "undecodable"


def test_an_empty_body_is_400(cluster: Cluster, operator: Caller) -> None:
    assert operator("POST", "/clusters/demo/import", b"").status_code == 400


def test_a_dump_larger_than_the_limit_is_413(
    cluster: Cluster, operator: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduling.api.bodies.IMPORT_LIMIT", 100)
    answer = operator("POST", "/clusters/demo/import", dump(*NODES))
    assert answer.status_code == 413 and answer.json()["code"] == "too_large"


def test_a_dump_may_be_larger_than_a_form(cluster: Cluster, operator: Caller, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    assert operator("POST", "/clusters/demo/import", dump(*NODES)).status_code == 200


def test_json_larger_than_a_form_is_413(cluster: Cluster, operator: Caller, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    answer = operator("POST", "/clusters/demo/podgroups", {"namespace": "team-a", "name": "x"})
    assert answer.status_code == 413


def test_switching_a_gate_is_one_event(cluster: Cluster, caller: Any) -> None:
    switcher = caller("switch_gate")
    answer = switcher("PATCH", "/clusters/demo/gates/GangScheduling", {"enabled": False}).json()
    assert [event["type"] for event in answer["events"]] == ["FeatureGateChanged"]
    assert answer["last_seq"] == head() and Cluster.objects.get(name="demo").gates["GangScheduling"] is False
    again = switcher("PATCH", "/clusters/demo/gates/GangScheduling", {"enabled": False}).json()
    assert again["events"] == [] and again["first_seq"] > again["last_seq"]


@pytest.mark.parametrize(
    ("body", "path"), [({}, "enabled"), ({"enabled": "perhaps"}, "enabled"), ({"enabled": True, "x": 1}, "x")]
)
def test_a_body_of_another_form_is_422_with_the_field(
    cluster: Cluster, caller: Any, body: Any, path: str
) -> None:
    answer = caller("switch_gate")("PATCH", "/clusters/demo/gates/GangScheduling", body)
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == [path]


def test_an_unknown_gate_is_422(cluster: Cluster, caller: Any) -> None:
    answer = caller("switch_gate")("PATCH", "/clusters/demo/gates/Nonsense", {"enabled": True})
    assert answer.status_code == 422 and "Nonsense" in answer.json()["message"]


def test_a_body_that_is_not_json_is_400(cluster: Cluster, caller: Any) -> None:
    answer = caller("switch_gate")(
        "PATCH", "/clusters/demo/gates/GangScheduling", b"{", content_type="application/json"
    )
    assert answer.status_code == 400
    assert answer.json() == {"code": "undecodable", "message": "The body is not JSON.", "problems": []}


# --- Idempotency-Key


def test_the_same_request_with_one_key_is_carried_out_once(cluster: Cluster, operator: Caller) -> None:
    path, key = "/clusters/demo/nodes/loose/cordon", {"Idempotency-Key": "maintenance-1"}
    first = operator("POST", path, headers=key).json()
    operator("POST", "/clusters/demo/nodes/loose/uncordon")
    before = head()
    again = operator("POST", path, headers=key).json()
    assert again == first | {"repeated": True} and head() == before


def test_an_import_sent_again_with_its_key_is_answered_as_the_first_time(db: None, operator: Caller) -> None:
    path, key = "/clusters/new/import?mode=simulated&partial=true", {"Idempotency-Key": "nightly"}
    made = operator("POST", path, dump(*NODES, pod_group("bad", 0)), headers=key).json()
    assert made["created"] is True and made["added"] == {"Node": 5}
    other = {"Idempotency-Key": "nightly-2"}
    body = dump(*NODES[1:], node("more", "rack-1"))
    changed = operator("POST", "/clusters/new/import?complete=Node", body, headers=other).json()
    assert (changed["added"], changed["removed"]) == ({"Node": 1}, {"Node": ["node-1-1"]})
    operator("POST", "/clusters/new/nodes/more/cordon")
    before = head("new")
    assert operator("POST", path, dump(*NODES, pod_group("bad", 0)), headers=key).json() == made
    assert operator("POST", "/clusters/new/import?complete=Node", body, headers=other).json() == changed
    assert head("new") == before


def test_another_request_with_that_key_is_409(cluster: Cluster, operator: Caller) -> None:
    key = {"Idempotency-Key": "maintenance-1"}
    operator("POST", "/clusters/demo/nodes/loose/cordon", headers=key)
    answer = operator("POST", "/clusters/demo/nodes/node-1-1/cordon", headers=key)
    assert answer.status_code == 409 and answer.json()["code"] == "conflict"


def test_keys_of_two_users_do_not_meet(cluster: Cluster, caller: Any) -> None:
    key = {"Idempotency-Key": "maintenance-1"}
    one, other = caller("operate_cluster"), caller("operate_cluster")
    assert one("POST", "/clusters/demo/nodes/loose/cordon", headers=key).status_code == 200
    assert other("POST", "/clusters/demo/nodes/node-1-1/cordon", headers=key).status_code == 200


def test_a_key_longer_than_the_limit_is_422(cluster: Cluster, operator: Caller) -> None:
    answer = operator("POST", "/clusters/demo/nodes/loose/cordon", headers={"Idempotency-Key": "x" * 201})
    assert answer.status_code == 422 and not Command.objects.filter(command_id__contains="xxx").exists()


# --- who


def test_the_log_names_the_user_of_the_token(cluster: Cluster, operator: Caller) -> None:
    operator("POST", "/clusters/demo/nodes/loose/cordon")
    event = operator("GET", f"/clusters/demo/events/{head()}").json()
    assert event["actor"] == operator.user.username


def test_a_session_may_read_and_with_its_csrf_token_write(cluster: Cluster, operator: Caller) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(operator.user)
    assert browser.get("/api/v1/clusters").status_code == 200
    path = "/api/v1/clusters/demo/nodes/loose/cordon"
    assert browser.post(path).status_code == 403
    browser.cookies["csrftoken"] = "a" * 32
    assert browser.post(path, headers={"X-CSRFToken": "a" * 32}).status_code == 200


def test_a_token_that_does_not_hold_is_refused_also_beside_a_session(
    cluster: Cluster, viewer: Caller
) -> None:
    browser = Client()
    browser.force_login(viewer.user)
    for header in ("Bearer nonsense", "Basic dTpw", "Bearer"):
        assert browser.get("/api/v1/clusters", headers={"Authorization": header}).status_code == 401


def test_a_deactivated_user_may_nothing(cluster: Cluster, viewer: Caller) -> None:
    viewer.user.is_active = False
    viewer.user.save()
    assert viewer("GET", "/clusters").status_code == 401


def test_no_token_is_ever_logged(
    cluster: Cluster, viewer: Caller, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.DEBUG = True  # where the library would log headers that it does not understand
    caplog.set_level(logging.DEBUG)
    viewer("GET", "/clusters")
    viewer("GET", "/clusters/nothing")
    viewer("POST", "/clusters/demo/import", dump(*NODES))
    viewer("GET", "/clusters", headers={"Authorization": f"Token {viewer.token}"})
    said = json.dumps([record.__dict__ for record in caplog.records], default=str)
    assert viewer.token not in said and viewer.token[4:] not in said


def test_a_dry_run_says_whether_the_import_would_be_carried_out(cluster: Cluster, operator: Caller) -> None:
    path, body = "/clusters/demo/import?dry_run=true", dump(node("more", "rack-1"), pod_group("bad", 0))

    told = operator("POST", path, body).json()
    with_partial = operator("POST", f"{path}&partial=true", body).json()

    assert told["would_store"] is False and len(told["refused"]) == 1
    assert with_partial["would_store"] is True
    assert operator("POST", path, dump(node("more", "rack-1"))).json()["would_store"] is True
    assert operator("POST", path, dump(NODES[0])).json()["would_store"] is False
