"""How long from a dump on disk to a live map, and what a worker holds after its first cycle.

The figures of the closing JSON line, null where they could not be taken:
``import_openb_s``: the recorded cluster ``dumps/openb-70-gangs.json.gz`` (1,213 nodes) of TAS_REAL_INPUTS.
``import_15k_s``: a generated cluster of 15,000 nodes and 6,400 pods that wait in 400 gangs.
``worker_mb``: resident memory of a Celery worker's child after it has scheduled the latter, in 10^6 bytes.
"""

import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import Report
from tasweb.stack import throwaway

NEEDS_STACK = True

ROUNDS = 3
NODES, RACK_SIZE, GPUS = 15_000, 16, 8
GANGS, MEMBERS = 400, 16
DEADLINE_SECONDS = 300
RACK = "topology.example.com/rack"
OPENB, GENERATED, WORKER = "import_openb_s", "import_15k_s", "worker_mb"


class Answer(Report):
    """The table says why a figure is missing; the JSON line has the three figures and nothing else."""

    def __init__(self) -> None:
        super().__init__("From a dump on disk to a live map; and a worker after its first cycle")
        self.missing: dict[str, str] = {}

    def table(self) -> str:
        return "\n".join([super().table(), *(f"{what}: {why}" for what, why in self.missing.items())])

    def json(self) -> str:
        found: dict[str, float | None] = dict.fromkeys((OPENB, GENERATED, WORKER))
        return json.dumps(found | {row.what: round(row.median, 3) for row in self.rows})


def main(argv: list[str]) -> Answer:
    answer = Answer()
    with tempfile.TemporaryDirectory() as directory:
        generated = Path(directory) / "dump.json"
        generated.write_bytes(
            json.dumps({"kind": "List", "apiVersion": "v1", "items": list(objects())}).encode()
        )
        # The worker first: then it is the only cluster there is, and nothing else is in its memory.
        samples = [import_seconds(generated, "generated-0")]
        answer.add(WORKER, [worker_megabytes("generated-0")], "MB")
        samples += [import_seconds(generated, f"generated-{place}") for place in range(1, ROUNDS)]
        answer.add(GENERATED, samples, "s")
    recorded = real_inputs() / "dumps" / "openb-70-gangs.json.gz"
    if recorded.is_file():
        answer.add(OPENB, [import_seconds(recorded, f"openb-{place}") for place in range(ROUNDS)], "s")
    else:
        answer.missing[OPENB] = (
            f"not measured, there is no {recorded.name}: TAS_REAL_INPUTS names the folder it is in."
        )
    return answer


def real_inputs() -> Path:
    """The folder of real inputs; beside the repository when the environment names none."""
    return Path(os.environ.get("TAS_REAL_INPUTS") or throwaway.ROOT.parent / "shared" / "real")


def objects() -> Iterator[dict[str, Any]]:
    """A cluster as ``kubectl get nodes,pods,podgroups -o json`` prints it."""
    for number in range(NODES):
        name, rack = f"node-{number:05}", number // RACK_SIZE
        labels = {
            "kubernetes.io/hostname": name,
            "node.kubernetes.io/instance-type": "gpu-8",
            "topology.kubernetes.io/zone": f"zone-{rack % 3}",
            RACK: f"rack-{rack:04}",
        }
        amounts = {"cpu": "128", "memory": "1024Gi", "pods": "110", "nvidia.com/gpu": str(GPUS)}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "uid": f"00000000-0000-4000-8000-{number:012}", "labels": labels},
            "status": {
                "allocatable": amounts,
                "capacity": amounts,
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.36.2"},
            },
        }
    for number in range(GANGS):
        gang = f"gang-{number:03}"
        yield {
            "apiVersion": "scheduling.k8s.io/v1alpha2",
            "kind": "PodGroup",
            "metadata": {"name": gang, "namespace": "bench"},
            "spec": {
                "schedulingPolicy": {"gang": {"minCount": MEMBERS}},
                "schedulingConstraints": {"topology": [{"key": RACK}]},
            },
        }
        requests = {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": str(GPUS)}
        for member in range(MEMBERS):
            container = {
                "name": "main",
                "image": "train",
                "resources": {"requests": requests, "limits": requests},
            }
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"{gang}-{member}", "namespace": "bench"},
                "spec": {"schedulingGroup": {"podGroupName": gang}, "containers": [container]},
            }


def import_seconds(dump: Path, cluster: str) -> float:
    """From the file to the bytes of the map that a browser paints."""
    from scheduling.api.rendering import encode
    from scheduling.models import Cluster
    from scheduling.selectors import rack_map
    from scheduling.services.clusters import ImportRequest, import_cluster

    began = time.perf_counter()
    request = ImportRequest(data=dump.read_bytes(), mode="simulated")
    import_cluster(name=cluster, request=request, actor="bench")
    encode(rack_map.snapshot(Cluster.objects.get(name=cluster)))
    return time.perf_counter() - began


def worker_megabytes(cluster: str) -> float:
    """Starts web, worker and beat, waits until the cluster is scheduled, looks at the worker's children."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with throwaway.application(os.environ, port) as processes:
        wait_until_scheduled(cluster)
        worker = processes.pids()["worker"]
        return max(resident_bytes(worker)) / 1e6


def wait_until_scheduled(cluster: str) -> None:
    from scheduling.models import Cluster, PodGroupRow

    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        found = Cluster.objects.get(name=cluster)
        if found.last_cycle_seq and not PodGroupRow.objects.filter(cluster=found, verdict="").exists():
            return
        time.sleep(0.2)
    raise SystemExit(f"The worker has not scheduled {cluster} within {DEADLINE_SECONDS} s.")


def resident_bytes(parent: int) -> list[int]:
    """Of each child of a process, as the system's process table has it."""
    table = subprocess.run(
        ["ps", "-A", "-o", "ppid=,rss="], check=True, capture_output=True, text=True
    ).stdout
    rows = [tuple(map(int, line.split())) for line in table.splitlines()]
    found = [kilobytes * 1024 for owner, kilobytes in rows if owner == parent]
    if not found:
        raise SystemExit(f"The worker (process {parent}) has no children.")
    return found
