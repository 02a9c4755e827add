"""A small cluster to try things out on, and forks of it."""

from __future__ import annotations

from typing import Any

from scheduling.engine.state import ClusterState
from scheduling.scenarios import documents
from scheduling.scenarios.fork import Fork
from scheduling.scenarios.steps import Step
from scheduling.services.conformance.stream import MemoryStream
from tests.services.builders import GPU, RACK, gang, members, node, stream

G = "default/g"
SMALL = [{"count": 2, "requests": {"cpu": "1", GPU: "2"}}]
"""Two members of two GPUs."""


def racks(*more: Any) -> MemoryStream:
    """Two racks of two nodes with four GPUs each; the gang ``g`` of two members with three GPUs runs in
    one.
    """
    made = stream(
        *(node(f"n{number}", "r1" if number < 2 else "r2", gpu=4) for number in range(4)),
        gang("g", 2),
        *members("g", 2, gpu=3),
        *more,
    )
    made.settle()
    return made


def step(name: str, /, **fields: Any) -> Step:
    """As a document has it."""
    return documents.read({"steps": [{"step": name, **fields}]}).steps[0]


def submit(name: str = "new", /, **fields: Any) -> Step:
    asked = {"min_count": 2, "topology_key": RACK, "templates": SMALL} | fields
    return step("submit", namespace="default", name=name, **asked)


def forked(made: MemoryStream, profile: str = "exact") -> Fork:
    fork = Fork(made.state, made.now_ms, profile)
    assert fork.begin() == []
    return fork


def rack_of(state: ClusterState, key: str) -> set[str | None]:
    """Racks in which the members of a group are; "" stands for members that are on no node."""
    return {state.nodes[pod.node].label(RACK) if pod.node else "" for pod in state.members(key)}
