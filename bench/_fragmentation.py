"""A cluster kept at a fixed use by gangs that come and go: what share of the GPUs asked for is turned away.

1,024 nodes of 8 GPUs in racks of 16. The gangs are of two mixes of sizes, invented after published traces of
training clusters, with the cores and memory per GPU of the openb trace. One stream of gangs and departures a
seed, the same for every rule. Two rules: the engine's (``exact``: fewest wholly free nodes broken, least
capacity left), and a model of kube-scheduler's defaults (MostAllocated over cores and memory between racks,
LeastAllocated between the nodes of a rack, ties by lot).
"""

import time
from dataclasses import dataclass, field
from random import Random

import numpy as np

from bench._clusters import GIB, GPU, NODE, RACK, shape
from scheduling.engine.decide import decide
from scheduling.engine.model import TAS_GATES, Node, Pod, PodGroup
from scheduling.engine.state import ClusterState

NODES, RACK_SIZE = 1024, 16
MIXES = {
    "small": [
        *((1, 1, 40), (2, 1, 6), (2, 2, 6), (4, 4, 6), (4, 1, 4), (8, 8, 18), (8, 1, 4)),
        *((16, 8, 6), (32, 8, 5), (64, 8, 3), (128, 8, 2)),
    ],
    "training": [
        (1, 1, 10),
        (2, 2, 5),
        (4, 4, 5),
        (8, 8, 25),
        (16, 8, 20),
        (32, 8, 17),
        (64, 8, 12),
        (128, 8, 6),
    ],
}
"""(GPUs of the gang, GPUs of a member, weight)."""

PER_GPU = ((6000, 48), (8000, 64), (11_000, 64))
"""(milli-cores, GiB)."""


@dataclass
class Run:
    asked: int = 0
    turned_away: int = 0
    decide_us: list[float] = field(default_factory=list)
    commit_us: list[float] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.turned_away / self.asked


class Engine:
    """Racks chosen by the engine itself, members bound in its state."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.state = ClusterState()
        self.made = 0
        for gate in TAS_GATES:
            self.state.set_gate(gate, True)
        for number in range(NODES):
            labels = ((RACK, f"rack-{number // RACK_SIZE:03}"),)
            self.state.set_node(Node(f"node-{number:04}", f"node-{number}", labels, allocatable=NODE))

    def place(self, gpus: int, cpu: int, gib: int, members: int) -> object | None:
        self.made += 1
        name = f"gang-{self.made}"
        asked = shape(gpus, cpu, gib)
        self.state.set_group(PodGroup("bench", name, name, min_count=members, topology_key=RACK))
        uids = [f"{name}-{member:03}" for member in range(members)]
        for uid in uids:
            self.state.set_pod(Pod("bench", uid, uid, asked, group=name))
        began = time.perf_counter_ns()
        decision = decide(self.state, f"bench/{name}")
        decided = time.perf_counter_ns()
        for uid, node in decision.assignments:
            self.state.bind(uid, node)
        self.run.decide_us.append((decided - began) / 1e3)
        self.run.commit_us.append((time.perf_counter_ns() - decided) / 1e3)
        if not decision.placed:
            self.remove((name, uids))
            return None
        return name, uids

    def remove(self, gang: object) -> None:
        name, uids = gang  # type: ignore[misc]
        for uid in uids:
            self.state.remove_pod(uid)
        self.state.close_group(f"bench/{name}", name)


class Upstream:
    """The default rules of kube-scheduler, in numbers only."""

    def __init__(self, run: Run) -> None:
        self.lots = Random(99)
        amounts = dict(NODE)
        self.total = np.array([amounts["cpu"], amounts["memory"], amounts[GPU]], np.int64)
        self.free = np.tile(self.total, (NODES // RACK_SIZE, RACK_SIZE, 1))

    def place(self, gpus: int, cpu: int, gib: int, members: int) -> object | None:
        asked = np.array([cpu, gib * GIB, gpus], np.int64)
        caps = (self.free // asked).min(axis=2).sum(axis=1)
        if not (caps >= members).any():
            return None
        used = (self.total - self.free).sum(axis=1) + members * asked
        score = (used[:, :2] * 100 // (self.total[:2] * RACK_SIZE)).sum(axis=1) // 2
        score[caps < members] = -1
        rack = self.lots.choice(np.flatnonzero(score == score.max()).tolist())
        nodes = []
        for _ in range(members):
            left = self.free[rack] - asked
            score = (left[:, :2] * 100 // self.total[:2]).sum(axis=1) // 2
            score[(left < 0).any(axis=1)] = -1
            nodes.append(self.lots.choice(np.flatnonzero(score == score.max()).tolist()))
            self.free[rack, nodes[-1]] -= asked
        return rack, nodes, asked

    def remove(self, gang: object) -> None:
        rack, nodes, asked = gang  # type: ignore[misc]
        for node in nodes:
            self.free[rack, node] += asked


def simulate(rule: type[Engine] | type[Upstream], mix: str, use: float, seed: int, steps: int) -> Run:
    """``steps`` arrivals and departures after the use was reached for the first time."""
    run = Run()
    cluster = rule(run)
    arrivals, departures = Random(seed), Random(seed + 1000)
    sizes, weights = MIXES[mix], [weight for *_, weight in MIXES[mix]]
    running: list[tuple[object, int]] = []
    used, warm, step = 0, False, 0
    while step < steps:
        if used < use * NODES * 8:
            total, each, _ = arrivals.choices(sizes, weights)[0]
            cpu, gib = arrivals.choice(PER_GPU)
            gang = cluster.place(each, cpu * each, gib * each, total // each)
            if gang is not None:
                running.append((gang, total))
                used += total
            if warm:
                run.asked += total
                run.turned_away += total * (gang is None)
        else:
            warm = True
            place = departures.randrange(len(running))
            running[place], running[-1] = running[-1], running[place]
            gang, total = running.pop()
            cluster.remove(gang)
            used -= total
        step += warm
    return run
