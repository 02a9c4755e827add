"""The clusters of the load: racks of nodes with GPUs, as dumps, and gangs to submit."""

from __future__ import annotations

import json
from random import Random
from typing import Any

RACK = "topology.example.com/rack"
GPU = "nvidia.com/gpu"
NAMESPACE = "load"
RACK_SIZE, GPUS = 6, 8


class Nodes:
    """The nodes of one cluster as its API server would list them. They only grow, so that no placement that
    was right becomes wrong: what is seen broken later was broken by the console.
    """

    def __init__(self, racks: int) -> None:
        self.cpus = {f"n{number:02}": 64 for number in range(racks * RACK_SIZE)}
        self.revision = 0

    def change(self, dice: Random) -> None:
        """A few nodes get more CPUs, all of them the label of another revision; now and then one is new."""
        self.revision += 1
        for name in dice.sample(sorted(self.cpus), 2):
            self.cpus[name] += 1
        if len(self.cpus) < 48 and dice.random() < 0.3:
            self.cpus[f"n{len(self.cpus):02}"] = 64

    def dump(self) -> bytes:
        items = [self._node(number, name, cpu) for number, (name, cpu) in enumerate(self.cpus.items())]
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()

    def _node(self, number: int, name: str, cpu: int) -> dict[str, Any]:
        labels = {RACK: f"r{number // RACK_SIZE}", "example.com/revision": str(self.revision)}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {
                "allocatable": {"cpu": str(cpu), "memory": "256Gi", "pods": "110", GPU: str(GPUS)},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }


def gang(name: str, dice: Random) -> dict[str, Any]:
    """A body of `POST podgroups`: 2 to 8 members of 1 to 8 GPUs, most of them to be in one rack."""
    members = dice.randint(2, 8)
    return {
        "namespace": NAMESPACE,
        "name": name,
        "min_count": dice.randint(max(1, members - 2), members),
        "topology_key": RACK if dice.random() < 0.8 else "",
        "priority": dice.choice([0, 0, 0, 10]),
        "templates": [
            {"count": members, "requests": {"cpu": str(dice.randint(1, 4)), GPU: dice.choice("1124448")}}
        ],
    }
