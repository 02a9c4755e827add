"""The map of the past over the API: snapshots of a moment, replays, the period; how a group stood then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scheduling.models import Cluster, Event
from scheduling.selectors import past_map, past_states
from scheduling.services.cycles import run_cycle
from scheduling.services.nodes import cordon
from tests.api.support import NODES, RACK, Caller, dump, gang


@pytest.fixture
def head(operator: Caller) -> int:
    """`demo`: five nodes, `fits` placed, `wide` refused; the seq of its last event."""
    past_states.clear()
    operator("POST", "/clusters/demo/import?mode=simulated", dump(*NODES, *gang("fits", 2), *gang("wide", 3)))
    run_cycle(Cluster.objects.get(name="demo").pk)
    last = Event.objects.order_by("-seq").first()
    assert last is not None
    return last.seq


def test_a_past_moment_has_the_form_of_the_live_map(viewer: Caller, operator: Caller, head: int) -> None:
    live = viewer("GET", f"/clusters/demo/map?key={RACK}").json()
    cordon(cluster=Cluster.objects.get(name="demo"), node="loose", actor="test")
    past = viewer("GET", f"/clusters/demo/map?key={RACK}&at={head}").json()
    recorded = Event.objects.get(seq=head).recorded_at.isoformat().replace("+00:00", "Z")
    assert past == live | {"recorded_at": recorded}


def test_a_time_is_the_last_event_recorded_by_then(viewer: Caller, head: int) -> None:
    time = Event.objects.get(seq=head).recorded_at.isoformat()
    answer = viewer("GET", f"/clusters/demo/map?at={time.replace('+', '%2B')}")
    assert answer.json()["seq"] == head


def test_the_tag_of_a_past_moment_stays_and_costs_no_fold(
    viewer: Caller, head: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = viewer("GET", "/clusters/demo/map?at=7")["ETag"]
    assert viewer("GET", "/clusters/demo/map?at=8")["ETag"] != tag
    cordon(cluster=Cluster.objects.get(name="demo"), node="loose", actor="test")
    monkeypatch.setattr(past_map, "snapshot", None)
    again = viewer("GET", "/clusters/demo/map?at=7", headers={"If-None-Match": tag})
    assert (again.status_code, again["ETag"]) == (304, tag)


@pytest.mark.parametrize(
    ("at", "status", "code", "said"),
    [
        ("soon", 422, "refused", "“soon” is neither the number of an event nor a time such as "),
        ("0", 404, "not_found", "0 lies before the first event of the log."),
        ("1999-01-01T00:00:00Z", 404, "not_found", "lies before the first event of the log."),
        ("9999-01-01T00:00:00Z", 404, "not_found", "lies in the future."),
        ("5000000", 404, "not_found", "5000000 lies after the head of the log, event "),
    ],
)
@pytest.mark.parametrize("path", ["map", "podgroups/team-a/wide/explanation"])
def test_what_is_no_moment_of_the_log_is_refused_with_a_sentence(
    viewer: Caller, head: int, path: str, at: str, status: int, code: str, said: str
) -> None:
    answer = viewer("GET", f"/clusters/demo/{path}?at={at}")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert said in answer.json()["message"]


def test_a_replay_says_what_each_event_did(viewer: Caller, head: int) -> None:
    replay = viewer("GET", f"/clusters/demo/map/replay?after=0&key={RACK}").json()
    assert (replay["from"], replay["to"], replay["head"]) == (0, head, head)
    assert [frame["seq"] for frame in replay["frames"]] == [*range(1, head + 1)]
    added = next(frame for frame in replay["frames"] if frame["type"] == "NodeAdded")
    assert added["nodes"] == [[0, "node-1-1", "rack-1", 0, 8]]
    assert (
        added["sentence"] == "Node node-1-1 joined with 8 nvidia.com/gpu, 64 cpu, 256 GiB memory, 110 pods."
    )
    placed = next(frame for frame in replay["frames"] if frame["type"] == "PodGroupPlaced")
    assert [patch[5:] for patch in placed["nodes"]] == [[[0, 8]], [[0, 8]]]
    assert replay["groups"] == ["team-a/fits"]
    assert placed["kpi"]["gpus_used"] == 16
    assert {patch[3] for patch in replay["base"]} == {8}, "before the first event there was no node"


def test_a_replay_is_asked_on_from_where_it_stopped(viewer: Caller, head: int) -> None:
    first = viewer("GET", f"/clusters/demo/map/replay?after=3&limit=4&key={RACK}").json()
    assert (first["from"], first["to"], first["head"]) == (3, 7, head)
    rest = viewer("GET", f"/clusters/demo/map/replay?after=7&key={RACK}").json()
    assert (rest["from"], rest["to"]) == (7, head)


def test_a_replay_speaks_the_language_of_the_request(viewer: Caller, head: int) -> None:
    address = f"/clusters/demo/map/replay?after=0&limit=1&key={RACK}"
    english = viewer("GET", address).json()["frames"][0]["sentence"]
    japanese = viewer("GET", address, headers={"Accept-Language": "ja"}).json()["frames"][0]["sentence"]
    assert english != japanese


@pytest.mark.parametrize("query", ["after=5000", "after=3&epoch=99"])
def test_a_replay_of_another_history_is_gone(viewer: Caller, head: int, query: str) -> None:
    answer = viewer("GET", f"/clusters/demo/map/replay?{query}")
    assert (answer.status_code, answer.json()["message"]) == (
        410,
        "The map has another history now; take a new snapshot.",
    )


@pytest.mark.parametrize("query", ["", "after=-1", "after=x", "after=1&limit=0", "after=1&limit=1001"])
def test_a_replay_that_is_asked_for_badly_is_refused(viewer: Caller, head: int, query: str) -> None:
    answer = viewer("GET", f"/clusters/demo/map/replay?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "refused")


def test_the_period_is_that_of_the_log(viewer: Caller, head: int) -> None:
    period = viewer("GET", "/clusters/demo/map/period").json()
    assert (period["first"]["seq"], period["last"]["seq"]) == (1, head)
    assert [mark["seq"] for mark in period["marks"]] == [*range(1, head + 1)]


def test_a_group_is_explained_as_it_was_then(viewer: Caller, head: int) -> None:
    placed = Event.objects.get(type="PodGroupPlaced").seq
    before = viewer("GET", f"/clusters/demo/podgroups/team-a/fits/explanation?at={placed - 1}").json()
    after = viewer("GET", f"/clusters/demo/podgroups/team-a/fits/explanation?at={placed}").json()
    assert (before["seq"], before["bound"], len(before["assignments"])) == (placed - 1, 0, 2)
    assert (after["seq"], after["bound"], len(after["assignments"])) == (placed, 2, 0)


def test_a_group_that_was_not_there_yet_is_not_found(viewer: Caller, head: int) -> None:
    answer = viewer("GET", "/clusters/demo/podgroups/team-a/fits/explanation?at=1")
    assert answer.status_code == 404


@pytest.mark.parametrize("path", ["map?at=1", "map/replay?after=0", "map/period"])
def test_an_unknown_cluster_is_not_found(caller: Callable[..., Caller], db: Any, path: str) -> None:
    answer = caller("view_cluster")("GET", f"/clusters/nowhere/{path}")
    assert answer.status_code == 404
