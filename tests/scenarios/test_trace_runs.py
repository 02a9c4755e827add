"""A replay is asked for, carried out in slices by whoever is there, and kept with all that came of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from scheduling.ledger import store
from scheduling.models import Cluster, Run, RunFile
from scheduling.scenarios import runs, trace_files, trace_runs, workbench
from scheduling.scenarios.trace_runs import TraceDocument, read
from scheduling.services import cycles, workloads
from scheduling.services.problems import INVALID, REQUIRED, Refused
from scheduling.services.submitting import MemberTemplate, WorkloadForm
from tests.api.support import RACK
from tests.scenarios.test_virtual_time import gang, trace

LOAD = trace(*(gang(number * 50, f"g{number}", 1 + number % 6, run_ms=300) for number in range(40)))
FILE = trace_files.write(LOAD)


def requested(cluster: Cluster, file: bytes = FILE, **document: Any) -> Run:
    asked = read({"source": "ndjson", **document})
    return trace_runs.request(cluster=cluster, document=asked, trace=file, actor="ada")


def carried_out(run: Run, spent: Callable[[], Callable[[], bool]] = lambda: lambda: False) -> dict[str, Any]:
    """``spent``: makes what says that a slice is over."""
    while (made := trace_runs.work(run, spent())).result is None:
        assert made.done <= made.total
    return made.result


def after(steps: int) -> Callable[[], Callable[[], bool]]:
    def begin() -> Callable[[], bool]:
        left = [steps]

        def spent() -> bool:
            left[0] -= 1
            return left[0] < 0

        return spent

    return begin


def refused(command: Callable[[], object]) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as error:
        command()
    return [(problem.path, problem.reason) for problem in error.value.problems]


@pytest.mark.parametrize("steps", [1, 7])
def test_slices_give_the_same_result_and_the_same_waits(cluster: Cluster, steps: int) -> None:
    whole, sliced = requested(cluster), requested(cluster)
    assert carried_out(whole) == carried_out(sliced, after(steps))
    assert trace_runs.waits_bytes(whole) == trace_runs.waits_bytes(sliced)
    assert not RunFile.objects.filter(name=trace_runs.CHECKPOINT).exists()


def test_a_slice_that_was_killed_is_done_again_from_the_checkpoint(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, killed = requested(cluster), requested(cluster)
    assert trace_runs.work(killed, after(9)()).result is None
    kept = bytes(RunFile.objects.get(run=killed, name=trace_runs.CHECKPOINT).data)

    def die(_: object) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying, pytest.raises(KeyboardInterrupt):
        dying.setattr(trace_runs, "checkpoint", die)
        trace_runs.work(killed, after(9)())
    assert bytes(RunFile.objects.get(run=killed, name=trace_runs.CHECKPOINT).data) == kept
    assert carried_out(killed, after(9)) == carried_out(whole)


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-1], lambda data: b"", lambda data: data[:40] + b"x" + data[41:]]
)
def test_a_checkpoint_that_cannot_be_read_makes_the_replay_begin_again(
    cluster: Cluster, spoil: Callable[[bytes], bytes]
) -> None:
    run, whole = requested(cluster), requested(cluster)
    trace_runs.work(run, after(9)())
    file = RunFile.objects.get(run=run, name=trace_runs.CHECKPOINT)
    file.data = spoil(bytes(file.data))
    file.save()
    assert carried_out(run) == carried_out(whole)


def test_a_run_goes_through_its_life_as_every_run_does(cluster: Cluster) -> None:
    before = store.head(cluster.pk)
    run = requested(cluster)
    assert runs.work(run.pk) is False
    run.refresh_from_db()
    assert (run.status, run.done, run.total) == (Run.Status.DONE, 80, 80)
    assert run.result is not None and run.result["placed"] == 40
    assert store.head(cluster.pk) == before


def test_a_run_that_is_cancelled_is_worked_on_no_more(cluster: Cluster) -> None:
    run = requested(cluster)
    trace_runs.work(run, after(3)())
    workbench.cancel(cluster=cluster, number=run.number, actor="ada")
    assert runs.work(run.pk) is False
    run.refresh_from_db()
    assert (run.status, run.result) == (Run.Status.CANCELLED, None)


def test_the_result_says_how_long_each_workload_waited(cluster: Cluster) -> None:
    run = requested(cluster)
    result = carried_out(run)
    rows = list(csv.DictReader(io.StringIO(trace_runs.waits_bytes(run).decode())))
    assert [row["workload"] for row in rows] == [each.name for each in LOAD.submissions]
    waited = sorted(int(row["wait_ms"]) for row in rows)
    assert (waited[-1], sum(waited) // len(waited)) == (result["waits"]["max"], result["waits"]["mean"])


def test_the_series_as_a_table_has_a_line_for_each_point(cluster: Cluster) -> None:
    result = carried_out(requested(cluster))
    rows = list(csv.DictReader(io.StringIO(trace_runs.series_csv(result))))
    assert len(rows) == len(result["series"]["at_ms"])
    assert sum(int(row["placed"]) for row in rows) == 40
    assert {"at_ms", "use_per_mille cpu", "fragmentation_per_mille"} <= set(rows[0])


def test_the_input_is_kept_as_our_own_format(cluster: Cluster) -> None:
    assert trace_runs.input_of(requested(cluster)) == LOAD


def test_a_trace_may_be_replayed_on_the_clusters_own_nodes(cluster: Cluster) -> None:
    run = requested(
        cluster, trace_files.write(trace(gang(0, "one", 1, 100))), nodes="cluster", topology_key=RACK
    )
    result = carried_out(run)
    assert (result["nodes"], result["placed"]) == (cluster.nodes.count(), 1)
    assert trace_runs.input_of(run).nodes == ()


def test_another_topology_key_takes_the_place_of_that_of_the_trace(cluster: Cluster) -> None:
    run = requested(cluster, topology_key="example.com/row")
    assert {each.topology_key for each in trace_runs.input_of(run).submissions} == {"example.com/row"}
    assert carried_out(run)["rejected"] == 40, "no node has that label"


@pytest.mark.parametrize(
    ("document", "path", "reason"),
    [
        ({}, "source", REQUIRED),
        ({"source": "other"}, "source", INVALID),
        ({"source": "kueue", "profile": "best"}, "profile", INVALID),
        ({"source": "kueue", "gates": {"Other": True}}, "gates.Other", INVALID),
        ({"source": "kueue", "gates": {"GangScheduling": "no"}}, "gates.GangScheduling", INVALID),
        ({"source": "kueue", "topology_key": "a b"}, "topology_key", INVALID),
        ({"source": "openb", "openb": {"gang": 0}}, "openb.gang", INVALID),
        ({"source": "openb", "nodes": "cluster"}, "openb.parts", INVALID),
        ({"source": "kueue", "more": 1}, "more", INVALID),
    ],
)
def test_a_document_with_a_fault_is_refused_at_its_field(
    document: dict[str, Any], path: str, reason: str
) -> None:
    assert (path, reason) in refused(lambda: read(document))


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"source": "ndjson"}, "trace"),
        ({"source": "openb"}, "pods"),
    ],
)
def test_a_file_that_is_missing_is_asked_for(cluster: Cluster, document: dict[str, Any], path: str) -> None:
    asked = read(document)
    assert refused(lambda: trace_runs.request(cluster=cluster, document=asked, actor="ada")) == [
        (path, REQUIRED)
    ]
    assert not Run.objects.exists()


def test_nodes_have_to_come_from_somewhere(cluster: Cluster) -> None:
    file = trace_files.write(trace(gang(0, "one", 1), nodes=()))
    assert refused(lambda: requested(cluster, file)) == [("nodes", REQUIRED)]
    assert not Run.objects.exists()


def test_a_key_that_no_node_of_the_cluster_carries_is_refused_where_it_counts(cluster: Cluster) -> None:
    asked: dict[str, Any] = {"source": "kueue", "nodes": "cluster"}
    assert refused(lambda: requested(cluster, b"", **asked)) == [("topology_key", INVALID)]
    assert not Run.objects.exists()
    requested(cluster, b"", **asked, topology_key=RACK)
    requested(cluster, b"", **asked, gates={"GangScheduling": False})


def test_a_file_with_a_fault_stores_nothing(cluster: Cluster) -> None:
    assert refused(lambda: requested(cluster, FILE + b"{\n"))
    assert not Run.objects.exists()


def test_every_gate_that_is_not_named_is_on() -> None:
    document = TraceDocument(source="kueue", gates={"GangScheduling": False})
    gates = trace_runs.gates_of(document)
    assert (gates.pop("GangScheduling"), set(gates.values())) == (False, {True})


def test_room_that_is_taken_now_stays_taken_where_one_says_so(cluster: Cluster) -> None:
    whole_node = trace_files.write(trace(gang(0, "one", cluster.nodes.count(), 40_000, topology_key="")))
    form = WorkloadForm("team-a", "train", "gang", 1, "", 0, (MemberTemplate("", 1, {"cpu": "40"}),))
    workloads.submit(cluster=cluster, form=form, actor="ada")
    cycles.run_cycle(cluster.pk)
    empty = carried_out(requested(cluster, whole_node, nodes="cluster"))
    taken = carried_out(requested(cluster, whole_node, nodes="cluster", occupied=True))
    assert (empty["placed"], taken["placed"]) == (1, 0)
