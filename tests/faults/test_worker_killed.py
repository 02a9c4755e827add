"""A real Celery worker dies by SIGKILL at every step of a cycle, and nothing is half done, lost or done
twice.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scheduling import tasks
from scheduling.ledger import store
from scheduling.ledger.events import PodGroupPlaced
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster, StreamHead
from scheduling.projections import rebuild
from scheduling.services import workloads
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.signals import CYCLE_POINTS
from scheduling.services.state import state_of
from tests.faults.worker import Worker, until
from tests.services.builders import form, node, text

KILLS = 5
MEMBERS = 3


@pytest.fixture
def worker(live_stack: Any, tmp_path: Path) -> Iterator[Worker]:
    """In the place of the live stack's worker and beat, which would finish what is to be seen unfinished."""
    for name in ("beat", "worker"):
        live_stack.processes.kill(name)
    made = Worker(tmp_path, live_stack.database_url)
    yield made
    made.kill()
    for name in ("worker", "beat"):
        live_stack.processes.start(name)


def bound(cluster: Cluster) -> dict[str, int]:
    """How many members of each group are on nodes."""
    state = state_of(cluster)
    return {key: sum(pod.node != "" for pod in state.members(key)) for key in state.group_keys()}


def settled(cluster: Cluster) -> bool:
    head = StreamHead.objects.get(stream_id=cluster.pk).seq
    return Cluster.objects.filter(pk=cluster.pk, last_cycle_seq=head).exists()


@pytest.mark.parametrize("point", CYCLE_POINTS)
def test_a_group_is_placed_whole_or_not_at_all_wherever_a_worker_dies(worker: Worker, point: str) -> None:
    nodes = [node(f"n{i}", f"r{i // 4}", cpu="4") for i in range(16)]
    import_cluster(name="c", request=ImportRequest(text(*nodes), mode="simulated"), actor="tester")
    cluster = Cluster.objects.get(name="c")
    until(lambda: settled(cluster), "the cycle of the import is done")
    reached = 0
    for number in range(KILLS):
        worker.points.want("worker", f"cycle.{point}")
        group = form(f"g{number}", MEMBERS)
        workloads.submit(cluster=cluster, form=group, actor="tester")
        child = worker.reached()
        reached += 1
        before = bound(cluster)
        assert before.pop(f"default/g{number}") == (MEMBERS if point == "committed" else 0)
        assert set(before.values()) <= {MEMBERS}
        if number == 0:
            # All of it at once: nobody is left who could give the task back; the sweep finds the cluster.
            worker.kill()
            worker.start()
            tasks.sweep.delay()
        else:
            # Only the child: the worker that is left takes the task up again.
            os.kill(child, signal.SIGKILL)
        until(lambda: settled(cluster), "the cycle is done by another")
        assert set(bound(cluster).values()) == {MEMBERS}
    assert reached == KILLS
    placed = [item.event for item in store.read(cluster.pk) if isinstance(item.event, PodGroupPlaced)]
    assert sorted(event.name for event in placed) == [f"g{number}" for number in range(KILLS)]
    assert rebuild.compare(cluster.pk) == []
    assert verify_chain(cluster.pk).ok
