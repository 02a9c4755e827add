"""Replays by API: asked for once, refused with line and field, and taken away as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from scheduling.models import Cluster, Run
from scheduling.scenarios import runs, trace_files
from tests.api.support import Caller
from tests.scenarios.test_virtual_time import gang, trace

FILE = trace_files.write(
    trace(*(gang(number * 50, f"g{number}", 1 + number % 6) for number in range(9)))
).decode()
PATH = "/clusters/demo/traces"


@pytest.fixture
def tester(caller: Callable[..., Caller]) -> Caller:
    return caller("view_cluster", "run_scenario")


def body(**more: Any) -> dict[str, Any]:
    return {"document": {"source": "ndjson", **more.pop("document", {})}, "trace": FILE, **more}


def test_a_replay_is_asked_for_once(cluster: Cluster, tester: Caller) -> None:
    first, again = (tester("POST", PATH, body(), headers={"Idempotency-Key": "a"}) for _ in range(2))
    assert (first.status_code, first.json()["number"]) == (201, again.json()["number"])
    assert Run.objects.count() == 1


def test_what_came_of_it_is_taken_away_as_files(cluster: Cluster, tester: Caller, viewer: Caller) -> None:
    number = tester("POST", PATH, body()).json()["number"]
    folder = f"/clusters/demo/runs/{number}/trace"
    assert viewer("GET", f"{folder}/series.csv").status_code == 404
    assert viewer("GET", f"{folder}/trace.ndjson").content.decode() == FILE
    runs.work(Run.objects.get(number=number).pk)
    assert viewer("GET", f"{folder}/waits.csv").content.decode().count("\n") == 10
    assert viewer("GET", f"{folder}/series.csv").content.decode().startswith("at_ms,")
    assert json.loads(viewer("GET", f"{folder}/result.json").content)["placed"] == 9
    assert viewer("GET", f"{folder}/other").status_code == 422


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        (body(trace=FILE + "{\n"), "line 15"),
        (body(document={"profile": "best"}), "profile"),
        (body(document={"gates": {"No": True}}), "gates.No"),
        (body(trace=""), "trace"),
    ],
)
def test_a_fault_is_told_with_its_place_and_nothing_is_stored(
    cluster: Cluster, tester: Caller, sent: dict[str, Any], path: str
) -> None:
    answer = tester("POST", PATH, sent)
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == [path]
    assert not Run.objects.exists()


def test_who_may_only_look_asks_for_no_replay(cluster: Cluster, viewer: Caller) -> None:
    assert viewer("POST", PATH, body()).status_code == 403
