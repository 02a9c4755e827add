"""PodGroups, nodes, events and the map over the API, on a cluster that one cycle has scheduled."""

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from scheduling.api.map import MapDeltaOut, MapOut
from scheduling.ledger import store
from scheduling.models import Cluster
from scheduling.selectors import rack_map
from scheduling.services.cycles import run_cycle
from tests.api.support import GPU, RACK, Caller, dump, gang, pod, pod_group

FORM: dict[str, Any] = {
    "namespace": "team-a",
    "name": "new",
    "min_count": 2,
    "topology_key": RACK,
    "templates": [{"count": 2, "requests": {"cpu": "4", GPU: "8"}}],
}


@pytest.fixture
def scheduled(cluster: Cluster) -> Cluster:
    run_cycle(cluster.pk)
    return cluster


def head(cluster: Cluster) -> int:
    return store.head(cluster.pk).seq


def types(answer: Any) -> list[str]:
    return [event["type"] for event in answer.json()["events"]]


# --- PodGroups


def test_groups_are_listed_with_what_was_decided(scheduled: Cluster, viewer: Caller) -> None:
    items = viewer("GET", "/clusters/demo/podgroups").json()["items"]
    assert [(item["name"], item["status"], item["verdict"], item["reason"]) for item in items] == [
        ("fits", "scheduled", "placed", ""),
        ("wide", "pending", "proved_infeasible", "never_fits"),
    ]
    wide = items[1]
    assert (wide["need"], wide["fits"], wide["bound"]) == (3, 2, 0) and isinstance(wide["decision_seq"], int)


def test_a_group_tells_how_it_stands_in_the_queue(scheduled: Cluster, viewer: Caller) -> None:
    queue = viewer("GET", "/clusters/demo/podgroups/team-a/wide").json()["queue"]
    seq = viewer("GET", "/clusters/demo/podgroups/team-a/wide").json()["decision_seq"]
    decision = viewer("GET", f"/clusters/demo/events/{seq}").json()
    assert queue == {
        "attempts": 1,
        "decided_at": decision["recorded_at"],
        "woken_by": decision["cause"],
        "retry_at": None,
        "lost_to": None,
    }


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("status=pending", ["wide"]),
        ("status=degraded", []),
        ("namespace=team-a", ["fits", "wide"]),
        ("namespace=other", []),
        ("q=id", ["wide"]),
        ("closed=true", []),
        ("limit=1", ["fits"]),
        ("after=team-a/fits/1", ["wide"]),
    ],
)
def test_groups_are_filtered(scheduled: Cluster, viewer: Caller, query: str, names: list[str]) -> None:
    items = viewer("GET", f"/clusters/demo/podgroups?{query}").json()["items"]
    assert [item["name"] for item in items] == names


@pytest.mark.parametrize("query", ["status=nonsense", "after=nonsense", "limit=0", "limit=1001", "limit=x"])
def test_a_filter_that_is_none_is_422(scheduled: Cluster, viewer: Caller, query: str) -> None:
    answer = viewer("GET", f"/clusters/demo/podgroups?{query}")
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == [query.partition("=")[0]]


def test_pages_follow_each_other_without_gap(scheduled: Cluster, viewer: Caller) -> None:
    for path in ("/clusters/demo/podgroups", "/clusters/demo/nodes"):
        whole = viewer("GET", path).json()["items"]
        after, seen = "", []
        while after is not None:
            page = viewer("GET", f"{path}?limit=1&after={after}").json()
            seen += page["items"]
            after = page["next"]
        assert seen == whole and len(whole) > 1


def test_one_group_comes_with_its_members(scheduled: Cluster, viewer: Caller) -> None:
    found = viewer("GET", "/clusters/demo/podgroups/team-a/fits").json()
    assert [pod["name"] for pod in found["pods"]] == ["fits-0", "fits-1"]
    assert {pod["node"] for pod in found["pods"]} in ({"node-1-1", "node-1-2"}, {"node-2-1", "node-2-2"})
    assert found["pods"][0]["requests"] == {"cpu": 4000, GPU: 8, "pods": 1}


@pytest.mark.parametrize("rest", ["", "/explanation", "?generation=7"])
def test_an_unknown_group_is_404(scheduled: Cluster, viewer: Caller, rest: str) -> None:
    name = "fits" if "generation" in rest else "nothing"
    answer = viewer("GET", f"/clusters/demo/podgroups/team-a/{name}{rest}")
    assert answer.status_code == 404 and f"team-a/{name}" in answer.json()["message"]


def test_an_explanation_has_every_domain_and_a_sentence(scheduled: Cluster, viewer: Caller) -> None:
    before = head(scheduled)
    found = viewer("GET", "/clusters/demo/podgroups/team-a/wide/explanation").json()
    assert (found["verdict"], found["reason"], found["need"]) == ("proved_infeasible", "never_fits", 3)
    assert found["seq"] == before == head(scheduled)
    assert sorted((row["domain"], row["fits"], row["never"]) for row in found["domains"]) == [
        ("rack-1", 0 if found["domains"][0]["domain"] == "rack-2" else 2, True),
        ("rack-2", 2 if found["domains"][0]["domain"] == "rack-2" else 0, True),
    ]
    assert found["funnel"]["domains"] == 2 and found["unlabelled_nodes"] == 1
    assert found["assignments"] == [] and "3 members" in found["sentence"]


def test_an_explanation_has_changes_that_would_help_and_what_upstream_would_do(
    scheduled: Cluster, operator: Caller
) -> None:
    found = operator("GET", "/clusters/demo/podgroups/team-a/wide/explanation").json()

    assert found["changes"][0]["steps"] == [{"step": "new_generation", "min_count": 2, "was": 3, "bound": 0}]
    assert "minCount 2 instead of 3" in found["changes"][0]["sentence"]
    sorts = [[step["step"] for step in change["steps"]] for change in found["changes"]]
    assert ["label_node"] in sorts and ["add_nodes"] in sorts
    assert len({change["id"] for change in found["changes"]}) == len(sorts)
    upstream = found["upstream"]
    assert (upstream["profile"], upstream["misses"], upstream["agree"]) == ("upstream-1.36", False, True)
    census = found["census"]
    assert (census["nodes"], census["takes"]) == (5, 2)
    assert census["unlabelled"] == [{"code": "usable", "nodes": 1}]
    assert [found["name"] for found in found["obstacles"]] == ["team-a/fits"]


def test_a_group_that_runs_needs_no_changes(scheduled: Cluster, viewer: Caller) -> None:
    found = viewer("GET", "/clusters/demo/podgroups/team-a/fits/explanation").json()
    assert (found["changes"], found["census"], found["obstacles"]) == ([], None, [])


@pytest.mark.parametrize(
    ("objects", "verdict", "reason"),
    [
        ([pod("x-0", "x")], "held", "no_podgroup"),
        ([pod_group("x", 2), pod("x-0", "x")], "held", "not_enough_pods"),
        ([pod_group("x", 1, "no.such/key"), pod("x-0", "x")], "proved_infeasible", "no_such_domain"),
        ([pod_group("x", 1), pod("x-0", "x", gpus=4)], "placed", ""),
    ],
)
def test_every_kind_of_decision_can_be_explained(
    scheduled: Cluster, operator: Caller, objects: list[Any], verdict: str, reason: str
) -> None:
    assert operator("POST", "/clusters/demo/import", dump(*objects)).status_code == 200
    found = operator("GET", "/clusters/demo/podgroups/team-a/x/explanation").json()
    assert (found["verdict"], found["reason"]) == (verdict, reason) and found["sentence"]
    assert len(found["assignments"]) == (verdict == "placed")
    row = operator("GET", "/clusters/demo/podgroups/team-a/x").json()
    assert row["generation"] == (0 if reason == "no_podgroup" else 1)


def test_with_the_gate_off_an_explanation_says_that_the_law_is_not_enforced(
    scheduled: Cluster, caller: Any
) -> None:
    admin = caller("view_cluster", "switch_gate")
    admin("PATCH", "/clusters/demo/gates/TopologyAwareWorkloadScheduling", {"enabled": False})
    found = admin("GET", "/clusters/demo/podgroups/team-a/wide/explanation").json()
    assert found["enforced"] is False and found["topology_key"] == RACK and found["verdict"] == "placed"
    assert admin("GET", "/clusters/demo").json()["enforced"] is False


def test_the_sentence_follows_the_language_and_the_codes_do_not(scheduled: Cluster, viewer: Caller) -> None:
    path = "/clusters/demo/podgroups/team-a/wide/explanation"
    english = viewer("GET", path, headers={"Accept-Language": "en"}).json()
    japanese = viewer("GET", path, headers={"Accept-Language": "ja"}).json()
    assert english["sentence"].isascii() and not japanese["sentence"].isascii()
    assert english["reason"] == japanese["reason"]


def test_a_form_makes_group_and_members_in_one_command(scheduled: Cluster, operator: Caller) -> None:
    answer = operator("POST", "/clusters/demo/podgroups", FORM)
    assert answer.status_code == 201
    assert types(answer) == ["PodGroupCreated", "PodAdded", "PodAdded"]
    run_cycle(scheduled.pk)
    found = operator("GET", "/clusters/demo/podgroups/team-a/new").json()
    assert found["status"] == "scheduled" and found["domain"] in ("rack-1", "rack-2")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"min_count": 0}, "min_count"),
        ({"name": "Not A Name"}, "name"),
        ({"templates": []}, "templates"),
        ({"templates": [{"count": 2, "requests": {"cpu": "four"}}]}, "templates[0].requests.cpu"),
        ({"name": "fits"}, "name"),
    ],
)
def test_a_bad_form_is_422_with_its_own_field(
    scheduled: Cluster, operator: Caller, change: dict[str, Any], path: str
) -> None:
    before = head(scheduled)
    answer = operator("POST", "/clusters/demo/podgroups", FORM | change)
    assert answer.status_code == 422
    assert path in [problem["path"] for problem in answer.json()["problems"]]
    assert head(scheduled) == before


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"policy": "nonsense"}, "policy"),
        ({"min_count": "many"}, "min_count"),
        ({"topologyKey": "x"}, "topologyKey"),
        ({"templates": [{"count": 0, "requests": {}}]}, "templates.0.count"),
    ],
)
def test_a_form_of_another_shape_is_422_with_the_field(
    scheduled: Cluster, operator: Caller, change: dict[str, Any], path: str
) -> None:
    answer = operator("POST", "/clusters/demo/podgroups", FORM | change)
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == [path]


def test_manifests_are_taken_all_or_none(scheduled: Cluster, operator: Caller) -> None:
    path = "/clusters/demo/podgroups/manifests"
    before = head(scheduled)
    refused = operator("POST", path, dump(*gang("one", 2), pod_group("two", 0)))
    assert refused.status_code == 422 and head(scheduled) == before
    assert refused.json()["problems"][0]["path"] == "spec.schedulingPolicy.gang.minCount"
    taken = operator("POST", path, dump(*gang("one", 2)))
    assert taken.status_code == 201 and types(taken) == ["PodGroupCreated", "PodAdded", "PodAdded"]
    assert operator("POST", path, b"{").status_code == 400


def test_ending_a_group_closes_it_and_frees_its_room(scheduled: Cluster, operator: Caller) -> None:
    answer = operator("DELETE", "/clusters/demo/podgroups/team-a/fits")
    assert answer.status_code == 200 and "PodGroupClosed" in types(answer)
    found = operator("GET", "/clusters/demo/podgroups/team-a/fits").json()
    assert found["closed"] is True and found["pods"] == []
    assert operator("DELETE", "/clusters/demo/podgroups/team-a/fits").status_code == 404


def test_deleting_a_member_makes_its_replacement_wait_for_the_same_domain(
    scheduled: Cluster, operator: Caller
) -> None:
    pods = operator("GET", "/clusters/demo/podgroups/team-a/fits").json()["pods"]
    answer = operator("DELETE", f"/clusters/demo/pods/{pods[0]['uid']}")
    assert answer.status_code == 200 and types(answer)[:2] == ["PodRemoved", "PodAdded"]
    assert operator("DELETE", f"/clusters/demo/pods/{pods[0]['uid']}").status_code == 404


def test_an_observed_cluster_refuses_changes_of_workloads(db: None, operator: Caller) -> None:
    operator("POST", "/clusters/seen/import?mode=observed", dump(*gang("g", 1)))
    for method, path, body in (
        ("POST", "/clusters/seen/podgroups", FORM),
        ("DELETE", "/clusters/seen/podgroups/team-a/g", None),
    ):
        assert operator(method, path, body).status_code == 422


# --- nodes


def test_nodes_have_integers_and_occupants(scheduled: Cluster, viewer: Caller) -> None:
    nodes = viewer("GET", "/clusters/demo/nodes").json()["items"]
    assert [node["name"] for node in nodes] == ["loose", "node-1-1", "node-1-2", "node-2-1", "node-2-2"]
    busy = [node for node in nodes if node["gpus_used"]]
    assert [node["occupants"] for node in busy] == [[{"group": "team-a/fits", "pods": 1, "gpus": 8}]] * 2
    assert busy[0]["allocatable"]["memory"] == 256 << 30 and busy[0]["used"]["cpu"] == 4000


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("q=node-1", 2),
        (f"label={RACK}=rack-2", 2),
        (f"label={RACK}", 4),
        (f"state=unlabelled:{RACK}", 1),
        ("state=free", 3),
        ("state=cordoned", 0),
    ],
)
def test_nodes_are_filtered(scheduled: Cluster, viewer: Caller, query: str, count: int) -> None:
    assert len(viewer("GET", f"/clusters/demo/nodes?{query}").json()["items"]) == count


def test_an_unknown_state_is_422_and_an_unknown_node_404(scheduled: Cluster, operator: Caller) -> None:
    assert operator("GET", "/clusters/demo/nodes?state=nonsense").status_code == 422
    assert operator("GET", "/clusters/demo/nodes/nothing").status_code == 404
    assert operator("POST", "/clusters/demo/nodes/nothing/cordon").status_code == 404


def test_a_node_is_cordoned_and_uncordoned(scheduled: Cluster, operator: Caller) -> None:
    for action, state in (("cordon", True), ("uncordon", False)):
        answer = operator("POST", f"/clusters/demo/nodes/loose/{action}")
        assert types(answer) == ["NodeUpdated"]
        assert operator("GET", "/clusters/demo/nodes/loose").json()["unschedulable"] is state
        assert types(operator("POST", f"/clusters/demo/nodes/loose/{action}")) == []


# --- the log


def test_events_come_oldest_first_and_by_page(scheduled: Cluster, viewer: Caller) -> None:
    first = viewer("GET", "/clusters/demo/events?limit=3").json()
    assert [event["seq"] for event in first["items"]] == [1, 2, 3] and first["next"] == 3
    rest = viewer("GET", "/clusters/demo/events?after=3&limit=1000").json()
    assert rest["next"] is None and rest["items"][-1]["seq"] == head(scheduled)
    assert first["items"][0]["type"] == "ClusterRegistered" and first["items"][0]["sentence"]


def test_events_are_filtered(scheduled: Cluster, viewer: Caller) -> None:
    query = "type=PodGroupPlaced&subject=podgroup&namespace=team-a&name=fits&actor=scheduler"
    (event,) = viewer("GET", f"/clusters/demo/events?{query}").json()["items"]
    assert [name for _, name, _ in event["body"]["assignments"]] == ["fits-0", "fits-1"]
    assert viewer("GET", f"/clusters/demo/events/{event['seq']}").json() == event
    assert viewer("GET", f"/clusters/demo/events?{query}x").json()["items"] == []


@pytest.mark.parametrize("query", ["type=Nonsense", "subject=nonsense", "after=-1", "since=yesterday"])
def test_an_event_filter_that_is_none_is_422(scheduled: Cluster, viewer: Caller, query: str) -> None:
    assert viewer("GET", f"/clusters/demo/events?{query}").status_code == 422


def test_an_event_that_is_not_there_is_404(scheduled: Cluster, viewer: Caller) -> None:
    assert viewer("GET", f"/clusters/demo/events/{head(scheduled) + 1}").status_code == 404


def test_ndjson_streams_the_whole_log_in_batches(
    scheduled: Cluster, viewer: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduling.api.event_export.BATCH", 4)

    @async_to_sync
    async def lines() -> list[Any]:
        headers = {"Authorization": f"Bearer {viewer.token}"}
        answer = await AsyncClient().get("/api/v1/clusters/demo/events?format=ndjson", headers=headers)
        assert answer.streaming and answer["Content-Type"] == "application/x-ndjson"
        chunks = [chunk async for chunk in answer.streaming_content]
        assert len(chunks) > 2
        return [json.loads(line) for line in b"".join(chunks).splitlines()]

    events = lines()
    assert [event["seq"] for event in events] == list(range(1, head(scheduled) + 1))
    page = viewer("GET", "/clusters/demo/events?limit=1000").json()["items"]
    assert events == page


# --- the map


def test_the_map_is_of_one_moment_and_has_an_etag(scheduled: Cluster, viewer: Caller) -> None:
    answer = viewer("GET", f"/clusters/demo/map?key={RACK}")
    found = answer.json()
    assert found["seq"] == head(scheduled) and found["domains"] == ["rack-1", "rack-2"]
    assert answer["ETag"] == f'"{found["epoch"]}-{found["seq"]}"' and "private" in answer["Cache-Control"]
    assert viewer("GET", "/clusters/demo/map").json()["key"] == RACK


def test_map_and_deltas_are_of_the_form_that_is_documented(scheduled: Cluster, viewer: Caller) -> None:
    whole = viewer("GET", "/clusters/demo/map").json()
    assert MapOut.model_validate(whole).model_dump() == whole
    delta = viewer("GET", f"/clusters/demo/map/deltas?since=0&key={RACK}").json()
    assert MapDeltaOut.model_validate(delta).model_dump(by_alias=True) == delta


def test_the_map_is_304_until_the_log_moves(
    scheduled: Cluster, operator: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = operator("GET", "/clusters/demo/map")["ETag"]
    with monkeypatch.context() as patch:
        patch.setattr(rack_map, "snapshot", None)  # a 304 must not cost a snapshot
        unchanged = operator("GET", "/clusters/demo/map", headers={"If-None-Match": tag})
    assert unchanged.status_code == 304 and unchanged.content == b""
    operator("POST", "/clusters/demo/nodes/loose/cordon")
    assert operator("GET", "/clusters/demo/map", headers={"If-None-Match": tag}).status_code == 200


def test_deltas_lead_from_one_seq_to_the_head(scheduled: Cluster, operator: Caller) -> None:
    since = head(scheduled)
    epoch = operator("GET", "/clusters/demo/map").json()["epoch"]
    operator("POST", "/clusters/demo/nodes/loose/cordon")
    delta = operator("GET", f"/clusters/demo/map/deltas?since={since}&key={RACK}&epoch={epoch}").json()
    assert (delta["from"], delta["to"], delta["epoch"]) == (since, since + 1, epoch)
    assert [(row[1], row[3]) for row in delta["nodes"]] == [("loose", rack_map.CORDONED)]


def test_deltas_of_another_history_are_410(scheduled: Cluster, viewer: Caller) -> None:
    seq, path = head(scheduled), f"/clusters/demo/map/deltas?key={RACK}"
    epoch = viewer("GET", "/clusters/demo/map").json()["epoch"]
    for query in (f"since={seq + 1}", f"since={seq}&epoch={epoch + 1}"):
        answer = viewer("GET", f"{path}&{query}")
        assert answer.status_code == 410 and answer.json()["code"] == "gone"
    assert viewer("GET", path).status_code == 422
