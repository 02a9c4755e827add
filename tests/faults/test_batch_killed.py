"""A batch of 1,000 points on real Celery workers: all take part, and one that dies, or all of them, loses and
doubles nothing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scheduling.ledger import store
from scheduling.ledger.events import RunEnded
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster, Run, RunPoint, Stream
from scheduling.scenarios import axes, batches
from scheduling.scenarios.signals import RUN_POINTS
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.api.support import GPU, RACK, dump, node
from tests.faults.worker import Worker, until

RACKS = 10
NODES = 40
"""In each rack: members 1 to 40 beside 0 to 24 lost nodes are 1,000 points, of which some do not fit."""

BATCH: dict[str, Any] = {
    "scenario": {
        "steps": [
            {
                "step": "submit",
                "namespace": "team-a",
                "name": "new",
                "min_count": 1,
                "topology_key": RACK,
                "templates": [{"count": 1, "requests": {"cpu": "4", GPU: "8"}}],
            }
        ]
    },
    "axes": [
        {"axis": "lost_nodes", "key": RACK, "domain": "rack-00", "last": 24},
        {"axis": "members", "first": 1, "last": 40},
    ],
}


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    """Of the racks but the first, each lacks one node, so that only that one takes 40 members."""
    nodes = [
        node(f"gpu-{rack:02}-{place:02}", f"rack-{rack:02}")
        for rack in range(RACKS)
        for place in range(NODES - (rack > 0))
    ]
    import_cluster(name="c", request=ImportRequest(data=dump(*nodes), mode="simulated"), actor="tester")
    return Cluster.objects.get(name="c")


def asked(cluster: Cluster) -> Run:
    run = batches.request(cluster=cluster, document=axes.read(BATCH), actor="tester")
    assert batches.count(run) == 1000
    return run


def kept(run: Run) -> int:
    return RunPoint.objects.filter(run=run).count()


def workers(run: Run) -> set[int]:
    """Pids of the processes that have done points of it."""
    names = RunPoint.objects.filter(run=run).values_list("worker", flat=True).distinct()
    return {int(name.rpartition(":")[2]) for name in names}


def children(pid: int) -> set[int]:
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def is_whole(run: Run) -> None:
    """Every point is there once and right, and the end is told once."""
    until(lambda: not Run.objects.get(pk=run.pk).open, "the batch is done")
    run.refresh_from_db()
    assert (run.status, run.error, run.done) == ("done", "", 1000)
    assert list(RunPoint.objects.filter(run=run).values_list("index", flat=True).order_by("index")) == list(
        range(1000)
    )
    fits = [members <= NODES - 1 or lost == 0 for lost in range(25) for members in range(1, 41)]
    assert [verdict == "placed" for verdict in run.result["columns"]["verdict"]] == fits
    assert sum(run.result["workers"].values()) == 1000
    workbench = Stream.objects.get(kind=Stream.Kind.WORKBENCH, name="c")
    assert sum(isinstance(item.event, RunEnded) for item in store.read(workbench.pk)) == 1
    assert verify_chain(workbench.pk).ok
    assert verify_chain(run.cluster.pk).ok


def test_all_workers_take_part_and_the_place_of_a_killed_one_is_taken(
    cluster: Cluster, live_stack: Any
) -> None:
    run = asked(cluster)
    pids = children(live_stack.processes.pids()["workbench"])
    assert len(pids) >= 2
    until(lambda: workers(run) >= pids, "every worker has done some points")
    victim = min(pids)
    os.kill(victim, signal.SIGKILL)
    before = kept(run)
    assert before < 1000, "it was killed when all was done"
    is_whole(run)
    assert workers(run) >= pids


@pytest.fixture
def bench(live_stack: Any, tmp_path: Path) -> Iterator[Worker]:
    """In the place of the live stack's workbench: two children that stop where they are told to."""
    live_stack.processes.kill("workbench")
    made = Worker(tmp_path, live_stack.database_url, "workbench,points", children=2)
    yield made
    made.kill()
    live_stack.processes.start("workbench")


@pytest.mark.parametrize("point", RUN_POINTS)
def test_a_worker_that_dies_with_points_in_its_hands_loses_none(
    cluster: Cluster, bench: Worker, point: str
) -> None:
    bench.points.want("worker", f"run.{point}")
    run = asked(cluster)
    child = bench.reached()
    os.kill(child, signal.SIGKILL)
    is_whole(run)
    assert len(workers(run)) >= 2


def test_all_workers_dead_at_once_and_started_again_go_on(cluster: Cluster, bench: Worker) -> None:
    """Nobody is left who could give their messages back: what was in their hands is found by the sweep."""
    bench.points.want("worker", "run.point")
    run = asked(cluster)
    bench.reached()
    before = workers(run)
    bench.kill()
    assert Run.objects.get(pk=run.pk).open
    bench.start()
    is_whole(run)
    assert workers(run) - before, "nothing was done after the start"
