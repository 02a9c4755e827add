"""The part ``batch``: 1,000 points of one scenario, members 1 to 40 of a gang beside 0 to 24 lost nodes, on a
cluster of 240 nodes as large as the demo, and on one of 5,000, by real Celery workers: those that the console
itself starts on this machine. Wall time from the request to the event that ends the run; the state of the
cluster is loaded by each worker within it. ``batch_1000_s``: of the 240 nodes. A note tells how many workers
took part, and the processor time of a point.
"""

from __future__ import annotations

import os
import time
from statistics import median
from typing import Any

from bench import Figures

RACK = "topology.example.com/rack"
GPU = "nvidia.com/gpu"
CLUSTERS = (("240 nodes", 6), ("5,000 nodes", 125))
"""Name, racks of 40 nodes."""
NODES = 40
WITHIN = 600
"""Seconds after which a batch has failed."""

BATCH: dict[str, Any] = {
    "scenario": {
        "steps": [
            {
                "step": "submit",
                "namespace": "bench",
                "name": "tried",
                "min_count": 1,
                "topology_key": RACK,
                "templates": [{"count": 1, "requests": {"cpu": "8", GPU: "8"}}],
            }
        ]
    },
    "axes": [
        {"axis": "lost_nodes", "key": RACK, "domain": "rack-000", "last": 24},
        {"axis": "members", "first": 1, "last": 40},
    ],
}


def measure(answer: Figures) -> None:
    from tasweb.stack import node, throwaway

    node.build()
    with throwaway.application(os.environ, _free_port()):
        for name, racks in CLUSTERS:
            run = _carried_out(_cluster(f"bench-{racks}", racks))
            seconds = (run.ended_at - run.requested_at).total_seconds()
            answer.add(f"batch of 1,000 points, {name}", [seconds], "s")
            workers = run.result["workers"]
            cpu = median(run.result["columns"]["cpu_us"]) / 1000
            answer.notes.append(
                f"{name}: {len(workers)} workers took part, {cpu:.1f} ms of processor a point"
            )
            if racks == CLUSTERS[0][1]:
                answer.figures["batch_1000_s"] = seconds


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _cluster(name: str, racks: int) -> Any:
    """Racks of 40 nodes with 8 GPUs; on every third node runs a pod that leaves no room for a member."""
    import json

    from scheduling.models import Cluster
    from scheduling.services.clusters import ImportRequest, import_cluster

    items: list[dict[str, Any]] = []
    for rack in range(racks):
        for place in range(NODES):
            host = f"gpu-{rack:03}-{place:02}"
            items.append(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": host, "labels": {RACK: f"rack-{rack:03}"}},
                    "status": {"allocatable": {"cpu": "96", "memory": "1Ti", "pods": "110", GPU: "8"}},
                }
            )
            if place % 3 == 2:
                resources = {"requests": {"cpu": "4", GPU: "1"}, "limits": {GPU: "1"}}
                items.append(
                    {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "metadata": {"namespace": "other", "name": f"pod-{host}"},
                        "spec": {
                            "nodeName": host,
                            "containers": [{"name": "main", "image": "none", "resources": resources}],
                        },
                        "status": {"phase": "Running"},
                    }
                )
    data = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    import_cluster(name=name, request=ImportRequest(data=data, mode="simulated"), actor="bench")
    return Cluster.objects.get(name=name)


def _carried_out(cluster: Any) -> Any:
    from scheduling.models import Run
    from scheduling.scenarios import axes, batches

    run = batches.request(cluster=cluster, document=axes.read(BATCH), actor="bench")
    deadline = time.monotonic() + WITHIN
    while Run.objects.get(pk=run.pk).open:
        if time.monotonic() > deadline:
            raise RuntimeError(f"the batch was not done within {WITHIN} s")
        time.sleep(0.05)  # asks the table how far it is
    run.refresh_from_db()
    if run.status != "done":
        raise RuntimeError(run.error)
    return run
