"""Reservations and queues over the API, and the map that shows what is held."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.models import Cluster
from scheduling.services.cycles import run_cycle
from tests.api.support import GPU, RACK, Caller

WISH: dict[str, Any] = {
    "topology_key": RACK,
    "domain": "rack-2",
    "holder_kind": "group",
    "holder": "team-a/x",
}


@pytest.fixture
def made(cluster: Cluster, operator: Caller) -> dict[str, Any]:
    run_cycle(cluster.pk)
    wish = WISH | {"domain": free_rack(operator)}
    answer = operator("POST", "/clusters/demo/reservations", wish | {"nodes": 1, "minutes": 30})
    assert answer.status_code == 201, answer.json()
    assert [event["type"] for event in answer.json()["events"]] == ["ReservationMade"]
    (item,) = operator("GET", "/clusters/demo/reservations").json()["items"]
    return dict(item)


def free_rack(caller: Caller) -> str:
    """The rack that `fits` is not in."""
    domain = caller("GET", "/clusters/demo/podgroups/team-a/fits").json()["domain"]
    return "rack-1" if domain == "rack-2" else "rack-2"


def runs(caller: Caller, query: str = "") -> dict[str, list[tuple[int, int]]]:
    """By node of the map: (index of a group, GPUs)."""
    columns = caller("GET", f"/clusters/demo/map?key={RACK}{query}").json()["nodes"]
    owners = iter(columns["owners"])
    return {name: [(next(owners), next(owners)) for _ in range(next(owners))] for name in columns["name"]}


def test_a_reservation_says_where_how_much_and_until_when(made: dict[str, Any]) -> None:
    assert made["left"][GPU] == made["reserved"][GPU] == 8
    assert [node["gone"] for node in made["nodes"]] == [False]
    assert made["expires_at"] and made["name"] == f"r-{made['made_seq']}"


def test_the_map_shows_it_live_by_patches_and_in_the_past(
    made: dict[str, Any], cluster: Cluster, operator: Caller
) -> None:
    (node,) = [each["node"] for each in made["nodes"]]
    assert runs(operator)[node] == [(-2, 8)]
    assert runs(operator, f"&at={made['made_seq']}")[node] == [(-2, 8)]
    assert runs(operator, f"&at={made['made_seq'] - 1}")[node] == []
    before = f"/clusters/demo/map/deltas?key={RACK}&since={made['made_seq'] - 1}"
    assert [patch[1:] for patch in operator("GET", before).json()["nodes"]] == [
        [node, made["domain"], 0, 8, [-2, 8]]
    ]
    released = operator("DELETE", f"/clusters/demo/reservations/{made['name']}").json()
    after = f"/clusters/demo/map/deltas?key={RACK}&since={released['first_seq'] - 1}"
    assert [patch[1:] for patch in operator("GET", after).json()["nodes"]] == [[node, made["domain"], 0, 8]]
    frames = operator("GET", f"/clusters/demo/map/replay?key={RACK}&after={made['made_seq'] - 1}").json()
    assert [[patch[5:] for patch in frame["nodes"]] for frame in frames["frames"]] == [[[[-2, 8]]], [[]]]


def test_an_explanation_names_what_is_held_for_others(made: dict[str, Any], operator: Caller) -> None:
    found = operator("GET", "/clusters/demo/podgroups/team-a/wide/explanation").json()
    (row,) = [each for each in found["domains"] if each["domain"] == made["domain"]]
    assert {"code": f"reserved:{made['name']}", "nodes": 1} in row["causes"]
    assert [(each["name"], each["left"][GPU]) for each in found["reservations"]] == [(made["name"], 8)]


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"nodes": 3}, "nodes"),
        ({"domain": "rack-9", "nodes": 1}, "domain"),
        ({"nodes": 1, "holder": "x"}, "holder"),
        ({"members": 9, "requests": {GPU: "8"}}, "members"),
    ],
)
def test_what_cannot_be_is_refused_by_field(
    cluster: Cluster, operator: Caller, more: dict[str, Any], path: str
) -> None:
    answer = operator("POST", "/clusters/demo/reservations", WISH | more)
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == [path]


def test_a_queue_is_defined_used_and_removed(cluster: Cluster, operator: Caller) -> None:
    body = {"priority": 3, "quota": 8, "order": "fair"}
    assert operator("PUT", "/clusters/demo/queues/research", body).status_code == 200
    assert operator("PUT", "/clusters/demo/queues/research", body).json()["events"] == []
    for name in ("one", "two"):
        group = {
            "namespace": "team-a", "name": name, "topology_key": RACK, "queue": "research",
            "templates": [{"count": 1, "requests": {"cpu": "1", GPU: "8"}}],
        }  # fmt: skip
        assert operator("POST", "/clusters/demo/podgroups", group).status_code == 201
    run_cycle(cluster.pk)
    found = operator("GET", "/clusters/demo/queues").json()
    assert found["items"] == [
        {
            "name": "research", "priority": 3, "quota": 8, "order": "fair", "used": 8,
            "uses": [{"group": "team-a/one", "gpus": 8}], "waiting": ["team-a/two"],
            "over_quota": ["team-a/two"],
        }
    ]  # fmt: skip
    assert found["order"][0] == {"group": "team-a/two", "queue": "research", "asked": 8, "reason": "quota"}
    explained = operator("GET", "/clusters/demo/podgroups/team-a/two/explanation").json()
    assert (explained["verdict"], explained["reason"], explained["domains"]) == ("held", "quota", [])
    assert explained["quota"] == {
        "queue": "research", "quota": 8, "used": 8, "asked": 8,
        "uses": [{"group": "team-a/one", "gpus": 8}], "never": False,
    }  # fmt: skip
    shown = operator("GET", "/clusters/demo/podgroups/team-a/two").json()
    assert (shown["queue_name"], shown["status"], shown["reason"]) == ("research", "pending", "quota")
    assert operator("DELETE", "/clusters/demo/queues/research").status_code == 200
    run_cycle(cluster.pk)
    assert operator("GET", "/clusters/demo/podgroups/team-a/two").json()["reason"] != "quota"
    assert operator("DELETE", "/clusters/demo/queues/research").status_code == 404
