"""The load of Kueue's own performance test of topology-aware scheduling, told in our words: 640 nodes, 30
queues in 5 cohorts, 15,000 workloads of 45,000 members.

What Kueue has and the replay has not: a preferred and a balanced rack (``soft`` says what they become: a rack
is large beside every workload here, so a required one asks no more than a preferred one gets), and workloads
that are evicted again for others of higher priority.
"""

from __future__ import annotations

from typing import NamedTuple

from scheduling.engine.model import Node
from scheduling.scenarios.traces import Submission, Trace, TraceQueue

RACK = "cloud.provider.com/topology-rack"
BLOCK = "cloud.provider.com/topology-block"
RACKS, NODES_OF_RACK = 10, 64
COHORTS, QUEUES_OF_COHORT = 5, 6
NOMINAL, BORROW = 20_000, 100_000
"""Milli-cores of one queue: its own, and what it may have more."""

SOFT = ("required", "none")


class _Wave(NamedTuple):
    """Workloads of one class in one queue; ``each``: how many of them want a rack required, preferred and
    balanced. The three come side by side, one of each every ``every`` ms.
    """

    size: str
    each: tuple[int, int, int]
    every: int
    run_ms: int
    priority: int
    cpu: int
    members: int


WAVES = (
    _Wave("small", (120, 120, 110), 100, 200, 50, 500, 2),
    _Wave("medium", (34, 33, 33), 500, 500, 100, 1250, 4),
    _Wave("large", (17, 17, 16), 1200, 1000, 200, 2500, 8),
)
WISHES = ("required", "preferred", "balanced")


def trace(soft: str = "required") -> Trace:
    """``soft``: a preferred or balanced rack is "required", or "none": then a plain gang. ValueError for
    another.
    """
    if soft not in SOFT:
        raise ValueError(f"{soft!r} is none of {', '.join(SOFT)}")
    queues = [
        TraceQueue(f"cq-{cohort}-{queue}", f"cohort-{cohort}", (("cpu", NOMINAL),), (("cpu", BORROW),))
        for cohort in range(COHORTS)
        for queue in range(QUEUES_OF_COHORT)
    ]
    found = [each for queue in queues for each in _of_queue(queue.name, soft)]
    return Trace(_nodes(), tuple(sorted(found, key=lambda each: each.at)), queues=tuple(queues))


def _nodes() -> tuple[Node, ...]:
    amounts = (("cpu", 96_000), ("memory", 256 << 30), ("pods", 110))
    return tuple(
        Node(
            f"node-{rack}-{place:02}",
            f"node-node-{rack}-{place:02}",
            ((BLOCK, "block-0"), (RACK, f"rack-{rack}")),
            allocatable=amounts,
        )
        for rack in range(RACKS)
        for place in range(NODES_OF_RACK)
    )


def _of_queue(queue: str, soft: str) -> list[Submission]:
    return [
        Submission(
            at=number * wave.every,
            name=f"{queue}-{wave.size}-{wish}-{number}",
            members=wave.members,
            requests=(("cpu", wave.cpu),),
            min_count=wave.members,
            topology_key=RACK if wish == "required" or soft == "required" else "",
            priority=wave.priority,
            run_ms=wave.run_ms,
            klass=f"{wave.size}-{wish}",
            queue=queue,
        )
        for wave in WAVES
        for wish, count in zip(WISHES, wave.each, strict=True)
        for number in range(count)
    ]
