"""The API names who came first, and what a gang's spread constraints leave."""

from typing import Any

from scheduling.ledger import store
from scheduling.models import Cluster, Event
from scheduling.services import nodes
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from tests.api.support import NODES, RACK, Caller, dump, gang

FORM: dict[str, Any] = {
    "namespace": "team-a",
    "name": "new",
    "min_count": 2,
    "topology_key": RACK,
    "templates": [{"count": 2, "requests": {"cpu": "1"}}],
}


def newest(cluster: Cluster, type_name: str) -> Event:
    return Event.objects.filter(stream_id=cluster.pk, type=type_name).latest("seq")


def test_a_name_that_is_taken_names_who_took_it(cluster: Cluster, caller: Any) -> None:
    ann, bob = caller("operate_cluster"), caller("operate_cluster")
    assert ann("POST", "/clusters/demo/podgroups", FORM).status_code == 201
    answer = bob("POST", "/clusters/demo/podgroups", FORM)
    assert answer.status_code == 422
    (problem,) = answer.json()["problems"]
    row = newest(cluster, "PodGroupCreated")
    assert problem["first"]["actor"] == ann.user.username == row.actor
    assert (problem["first"]["seq"], problem["first"]["type"]) == (row.seq, "PodGroupCreated")
    assert problem["first"]["href"] == f"/c/demo/history/{row.seq}"


def test_what_was_so_already_is_a_notice_with_its_event(cluster: Cluster, operator: Caller) -> None:
    nodes.cordon(cluster=cluster, node="loose", actor="ann")
    answer = operator("POST", "/clusters/demo/nodes/loose/cordon").json()
    assert answer["events"] == []
    assert answer["notices"][0]["first"]["actor"] == "ann"


def test_a_key_used_for_another_request_names_what_it_did(cluster: Cluster, operator: Caller) -> None:
    key = {"Idempotency-Key": "maintenance-1"}
    operator("POST", "/clusters/demo/nodes/loose/cordon", headers=key)
    answer = operator("POST", "/clusters/demo/nodes/node-1-1/cordon", headers=key)
    assert answer.status_code == 409
    (problem,) = answer.json()["problems"]
    assert problem["path"] == "Idempotency-Key"
    assert problem["first"]["seq"] == newest(cluster, "NodeUpdated").seq


def test_the_loser_of_a_cycle_names_the_winner_in_the_list_and_the_explanation(
    db: None, operator: Caller
) -> None:
    request = ImportRequest(dump(*NODES[:2], *gang("first", 2), *gang("second", 2)), mode="simulated")
    import_cluster(name="demo", request=request, actor="test")
    made = Cluster.objects.get(name="demo")
    run_cycle(made.pk)
    winner = {"namespace": "team-a", "name": "first", "seq": newest(made, "PodGroupPlaced").seq}
    rows = {row["name"]: row for row in operator("GET", "/clusters/demo/podgroups").json()["items"]}
    assert rows["second"]["lost_to"] == winner and rows["first"]["lost_to"] is None
    path = "/clusters/demo/podgroups/team-a/second"
    assert operator("GET", path).json()["lost_to"] == winner
    assert operator("GET", f"{path}/explanation").json()["lost_to"] == winner
    before = operator("GET", f"{path}/explanation?at={winner['seq']}").json()
    assert before["lost_to"] is None


def spread(**more: Any) -> dict[str, Any]:
    template = FORM["templates"][0] | {"spread": [{"topology_key": RACK} | more]}
    return FORM | {"templates": [template]}


def test_spread_that_leaves_no_domain_is_refused_and_nothing_is_stored(
    cluster: Cluster, operator: Caller
) -> None:
    before = store.head(cluster.pk)
    answer = operator("POST", "/clusters/demo/podgroups", spread())
    assert answer.status_code == 422 and store.head(cluster.pk) == before
    (problem,) = answer.json()["problems"]
    assert problem["path"] == "templates[0].spread[0]"
    assert problem["message"].startswith(
        "members that can come into rack-1, rack-2: at most 1 of 2; maxSkew is 1"
    )


def test_spread_as_a_preference_is_told(cluster: Cluster, operator: Caller) -> None:
    answer = operator("POST", "/clusters/demo/podgroups", spread(when_unsatisfiable="ScheduleAnyway"))
    assert answer.status_code == 201
    (notice,) = answer.json()["notices"]
    assert "is a preference" in notice["message"]
    told = operator("GET", "/clusters/demo/podgroups/team-a/new/explanation").json()["spread"]
    assert [one["message"] for one in told] == [notice["message"]]


def test_spread_with_a_field_that_cannot_be(cluster: Cluster, operator: Caller) -> None:
    wrong = spread(when_unsatisfiable="ScheduleAnyway", min_domains=2)
    answer = operator("POST", "/clusters/demo/podgroups", wrong)
    assert answer.status_code == 422
    assert answer.json()["problems"][0]["path"] == "templates[0].spread[0]"
    assert operator("POST", "/clusters/demo/podgroups", spread(max_skew=0)).status_code == 422
