"""A process that ends leaves a snapshot of what it had folded, so that the next one need not fold it."""

from __future__ import annotations

import signal

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.db import connections

from scheduling.models import Cluster, Snapshot
from scheduling.services import state
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.faults.test_worker_killed import settled, worker
from tests.faults.worker import PATIENCE, Worker, until
from tests.services.builders import node, text

__all__ = ["worker"]

NODES = 600
"""Events enough for a process that ends, and too few for one that goes on."""


def imported(name: str) -> Cluster:
    nodes = [node(f"n{number}", f"r{number // 8}") for number in range(NODES)]
    import_cluster(name=name, request=ImportRequest(text(*nodes), mode="simulated"), actor="tester")
    return Cluster.objects.get(name=name)


def snapshots(cluster: Cluster) -> list[int]:
    return list(Snapshot.objects.filter(stream_id=cluster.pk).values_list("seq", flat=True))


def test_a_worker_that_is_told_to_end(worker: Worker) -> None:
    cluster = imported("c")
    until(lambda: settled(cluster), "the cycle of the import is done")
    head = Cluster.objects.get(pk=cluster.pk).last_cycle_seq
    assert snapshots(cluster) == []
    worker.process.send_signal(signal.SIGTERM)
    worker.process.wait(PATIENCE)
    assert snapshots(cluster) == [head]


@pytest.mark.django_db(transaction=True)
async def test_a_web_server_that_ends() -> None:
    from tasweb.asgi import application

    cluster = await sync_to_async(imported)("w")
    seen = await sync_to_async(state.state_of)(cluster)
    server = ApplicationCommunicator(application, {"type": "lifespan"})
    await server.send_input({"type": "lifespan.startup"})
    assert await server.receive_output() == {"type": "lifespan.startup.complete"}
    assert await sync_to_async(snapshots)(cluster) == []
    await server.send_input({"type": "lifespan.shutdown"})
    assert await server.receive_output(PATIENCE) == {"type": "lifespan.shutdown.complete"}
    assert await sync_to_async(snapshots)(cluster) == [seen.seq]
    await sync_to_async(connections.close_all)()
