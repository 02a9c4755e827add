"""A dump of a real control plane with 1,213 GPU nodes and 70 gangs, looked at and worked on."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scheduling.engine.status import GroupStatus, group_status
from scheduling.ledger import store
from scheduling.ledger.events import PodGroupUnschedulable
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster, NodeRow, PodGroupRow
from scheduling.services import cycles, workloads
from scheduling.services.clusters import ImportRequest, import_cluster, preview_import
from scheduling.services.explain import explain
from scheduling.services.state import state_of
from scheduling.services.submitting import MemberTemplate, WorkloadForm
from tests.services.builders import RACK

GANGS = 50
LARGEST = 64


@pytest.fixture
def dump(real_inputs: Path) -> bytes:
    return (real_inputs / "dumps/openb-70-gangs.json.gz").read_bytes()


def imported(dump: bytes, mode: str) -> Cluster:
    import_cluster(name="openb", request=ImportRequest(dump, mode=mode), actor="tester")
    return Cluster.objects.get(name="openb")


def racks(cluster: Cluster, key: str) -> set[str | None]:
    state = state_of(cluster)
    return {state.nodes[pod.node].label(RACK) for pod in state.members(key) if pod.node}


@pytest.mark.parametrize("mode", ["observed", "simulated"])
def test_it_is_taken_whole_and_judged_as_the_real_scheduler_did(
    db: None, dump: bytes, mode: str, tables_agree: Any
) -> None:
    cluster = imported(dump, mode)
    cycles.run_cycle(cluster.pk)
    state = state_of(cluster)
    statuses = {key: group_status(state, key) for key in state.group_keys()}
    assert Counter(statuses.values()) == {GroupStatus.SCHEDULED: 69, GroupStatus.PENDING: 1}
    assert all(len(racks(cluster, key)) == 1 for key, is_ in statuses.items() if is_ is GroupStatus.SCHEDULED)
    assert statuses["default/train-68"] is GroupStatus.PENDING
    told = explain(cluster=cluster, namespace="default", name="train-68").decision
    every_rack = {found.label(RACK) for found in state.nodes.values()} - {None}
    assert {row.domain for row in told.domains} == every_rack
    assert all(row.reason and row.short > 0 for row in told.domains)
    written = [item.event for item in store.read(cluster.pk)]
    events = [event for event in written if isinstance(event, PodGroupUnschedulable)]
    (event,) = (event for event in events if event.name == "train-68")
    assert set(event.table.domains) == every_rack
    assert NodeRow.objects.filter(cluster=cluster).count() == 1213
    assert PodGroupRow.objects.get(cluster=cluster, name="train-68").status == "pending"
    before = store.head(cluster.pk).seq
    assert import_cluster(name="openb", request=ImportRequest(dump), actor="tester").seq == before

    tables_agree(cluster)


def test_a_preview_proposes_what_the_dump_is(db: None, dump: bytes) -> None:
    report = preview_import(name="openb", request=ImportRequest(dump))
    assert (report.proposed_mode, set(report.proposed_gates.values())) == ("observed", {True})
    assert report.added == {"Node": 1213, "Pod": 1078, "PodGroup": 70}
    assert report.refused == ()


def shapes(real_inputs: Path) -> Iterator[dict[str, str]]:
    """What members ask for in the trace: whole GPUs only, the most frequent first."""
    file = real_inputs / "traces/alibaba-openb/openb_pod_list_default.csv"
    with file.open(encoding="utf-8", newline="") as lines:
        counted = Counter(
            (row["cpu_milli"], row["memory_mib"], row["num_gpu"])
            for row in csv.DictReader(lines)
            if row["num_gpu"] != "0" and row["gpu_milli"] == "1000"
        )
    for (cpu, memory, gpus), _ in counted.most_common():
        yield {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "nvidia.com/gpu": gpus}


def test_gangs_of_the_traces_shapes_are_placed_in_one_rack_or_wait_with_a_proof(
    db: None, dump: bytes, real_inputs: Path, tables_agree: Any
) -> None:
    cluster = imported(dump, "simulated")
    cycles.run_cycle(cluster.pk)
    before = {uid: pod.node for uid, pod in state_of(cluster).pods.items()}
    wanted = list(shapes(real_inputs))
    for number in range(GANGS):
        members = 1 + number * (LARGEST - 1) // (GANGS - 1)
        template = MemberTemplate("", members, wanted[number % len(wanted)])
        form = WorkloadForm("default", f"new-{number:02}", "gang", members, RACK, 0, (template,))
        workloads.submit(cluster=cluster, form=form, actor="tester")
    assert members == LARGEST
    cycles.run_cycle(cluster.pk)
    state = state_of(cluster)
    outcomes: Counter[str] = Counter()
    for number in range(GANGS):
        key = f"default/new-{number:02}"
        bound = sum(pod.node != "" for pod in state.members(key))
        verdict = state.verdicts[key]
        outcomes[verdict.verdict] += 1
        if verdict.verdict == "placed":
            assert bound == state.groups[key].min_count
            assert racks(cluster, key) == {verdict.domain}
        else:
            assert (bound, verdict.verdict) == (0, "proved_infeasible")
            assert verdict.fits < verdict.need and verdict.reason
    assert outcomes["placed"] > 0 and outcomes["proved_infeasible"] > 0, outcomes
    assert all(state.pods[uid].node == on for uid, on in before.items() if on), "nobody was moved"
    assert state.over_committed() == ()
    tables_agree(cluster)
    assert verify_chain(cluster.pk).ok
