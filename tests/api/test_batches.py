"""Batches and matrices by API: asked for, read as a table, and measured values beside the estimates."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from scheduling.ledger import store
from scheduling.ledger.events import MeasurementSent
from scheduling.models import Run, Stream
from scheduling.scenarios import runs
from tests.api.support import GPU, RACK, Caller

GANG = {
    "step": "submit",
    "namespace": "team-a",
    "name": "new",
    "min_count": 1,
    "topology_key": RACK,
    "templates": [{"count": 1, "requests": {GPU: "8"}}],
}
BATCH = {"scenario": {"steps": [GANG]}, "axes": [{"axis": "members", "first": 1, "last": 3}]}
MATRIX = {"topology_key": RACK, "members": 2, "template": {"requests": {GPU: "8"}}}
MEASURED = {
    "condition": "tight",
    "mode": "plain",
    "steps_thousandths": 431,
    "crossing_bytes": 42_000_000_000,
    "source": "job 17, NCCL log",
    "measured_at": "2026-01-01T09:00:00Z",
}

Connect = Callable[..., Caller]


def carried_out(number: int) -> Run:
    run = Run.objects.get(number=number)
    for first, last in runs.spread(run.pk):
        runs.points(run.pk, first, last)
    run.refresh_from_db()
    assert run.status == "done", run.error
    return run


def rows(answer: Any) -> list[dict[str, str]]:
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


@pytest.fixture
def connect(cluster: Any, caller: Connect) -> Connect:
    return caller


@pytest.fixture
def call(connect: Connect) -> Caller:
    return connect("view_cluster", "run_scenario")


def test_a_batch_is_asked_for_and_read_as_a_table(call: Caller) -> None:
    answer = call("POST", "/clusters/demo/batches", BATCH)
    assert answer.status_code == 202, answer.content
    number = answer.json()["number"]
    carried_out(number)
    found = rows(call("GET", f"/clusters/demo/runs/{number}/table"))
    assert [row["members steps[0].templates[0].count"] for row in found] == ["1", "2", "3"]
    assert [row["verdict"] for row in found] == ["placed", "placed", "proved_infeasible"]
    assert all(row["worker"] for row in found)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("batches", BATCH),
        ("matrices", MATRIX),
        ("rehearsals", {"gates": {"TopologyAwareWorkloadScheduling": False}}),
        ("traces", {"document": {"source": "kueue"}}),
    ],
)
def test_the_same_key_asks_once_also_when_the_cluster_has_moved_on(
    connect: Connect, kind: str, body: dict[str, Any]
) -> None:
    call = connect("view_cluster", "run_scenario", "operate_cluster")
    first = call("POST", f"/clusters/demo/{kind}", body, headers={"Idempotency-Key": "k"})
    assert call("POST", "/clusters/demo/nodes/node-1-1/cordon").status_code == 200
    again = call("POST", f"/clusters/demo/{kind}", body, headers={"Idempotency-Key": "k"})
    assert first.json() == again.json() and Run.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        ({"axes": [{"axis": "members", "first": 3, "last": 1}]}, ["axes[0].last"]),
        ({"axes": [{"axis": "members", "first": 1, "last": 2, "step": 4}]}, ["axes[0].step"]),
        ({"axes": []}, ["axes"]),
        ({"scenario": {"steps": [{"step": "cordon"}]}}, ["scenario.steps[0]"]),
    ],
)
def test_what_is_wrong_is_named(call: Caller, change: Any, paths: list[str]) -> None:
    answer = call("POST", "/clusters/demo/batches", BATCH | change)
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == paths
    assert not Run.objects.exists()


def test_a_scenario_that_is_not_saved(call: Caller) -> None:
    assert call("POST", "/clusters/demo/batches", BATCH | {"scenario": "nobody"}).status_code == 404


class TestMeasurements:
    @pytest.fixture
    def number(self, call: Caller) -> int:
        answer = call("POST", "/clusters/demo/matrices", MATRIX)
        assert answer.status_code == 202, answer.content
        number: int = answer.json()["number"]
        carried_out(number)
        return number

    def test_they_are_an_event_and_stand_beside_the_estimate(self, call: Caller, number: int) -> None:
        before = Run.objects.get().result
        sent = call("POST", f"/clusters/demo/runs/{number}/measurements", MEASURED)
        assert sent.status_code == 201, sent.content
        assert sent.json()["steps_thousandths"] == 431
        assert call("GET", f"/clusters/demo/runs/{number}/measurements").json()["items"] == [sent.json()]
        workbench = Stream.objects.get(kind=Stream.Kind.WORKBENCH)
        events = [item.event for item in store.read(workbench.pk)]
        assert isinstance(events[-1], MeasurementSent) and events[-1].crossing_bytes == 42_000_000_000
        assert Run.objects.get().result == before, "what was estimated stays as it was"
        table = {
            (row["condition"], row["mode"]): row
            for row in rows(call("GET", f"/clusters/demo/runs/{number}/table"))
        }
        cell = table["tight", "plain"]
        assert (cell["measured_steps_thousandths"], cell["measured_source"]) == ("431", "job 17, NCCL log")
        assert cell["estimated_steps_thousandths"] not in ("", "431")
        assert table["tight", "tas"]["measured_source"] == ""

    def test_the_newest_of_a_cell_is_shown(self, call: Caller, number: int) -> None:
        for value in (400, 500):
            call(
                "POST", f"/clusters/demo/runs/{number}/measurements", MEASURED | {"steps_thousandths": value}
            )
        found = rows(call("GET", f"/clusters/demo/runs/{number}/table"))
        assert {row["measured_steps_thousandths"] for row in found} == {"", "500"}

    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"condition": "sunny"}, "condition"),
            ({"mode": "none"}, "mode"),
            ({"steps_thousandths": -1}, "steps_thousandths"),
            ({"steps_thousandths": None, "crossing_bytes": None}, "steps_thousandths"),
            ({"source": " "}, "source"),
            ({"measured_at": "2999-01-01T00:00:00Z"}, "measured_at"),
        ],
    )
    def test_what_is_wrong_is_named(self, call: Caller, number: int, change: Any, path: str) -> None:
        answer = call("POST", f"/clusters/demo/runs/{number}/measurements", MEASURED | change)
        assert answer.status_code == 422
        assert [problem["path"] for problem in answer.json()["problems"]] == [path]

    def test_only_of_a_matrix(self, call: Caller) -> None:
        number = call("POST", "/clusters/demo/batches", BATCH).json()["number"]
        assert call("POST", f"/clusters/demo/runs/{number}/measurements", MEASURED).status_code == 404
