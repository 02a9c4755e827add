"""How fast the engine decides, how that grows, whether it is right, and how well its choices keep racks.

Medians and ratios of one run. Before each timing one node in each of 1% of the racks gets another pod, and
the shape is drawn anew from a pool, so that no kept answer answers. Processor time of this process, with the
objects of the cluster out of the garbage collector's sight. The figures of the closing JSON line, null where
they could not be taken:

``oracle_ratio_5k_64``: the obvious way in plain Python over the engine, 5,000 nodes, a gang of 64.
``decide_growth_100k_5k``, ``gang_growth_512_8``, ``shapes_growth_151_16``: one decision over another.
``floor_ratio_15k``: a decision over a mere read of the free amounts of 15,000 nodes.
``explain_ratio``: a refusal that counts causes in all racks, over a decision that knows no counts.
``mixed_misses``, ``mixed_wrong_refusals``, ``mixed_speedup_cpsat``: 2,000 generated cases against CP-SAT.
``fragmentation_ratio_95``: GPUs turned away at 95% use, over those that kube-scheduler's defaults turn away.
"""

import gc
import statistics
import time
from collections.abc import Callable

import numpy as np

from bench import Figures, _fragmentation, _mixed
from bench._clusters import Traffic
from bench._reference import Reference
from scheduling.engine.decide import Decision, decide
from scheduling.engine.roster import roster
from scheduling.engine.shapes import ShapeIndex

ROUNDS, ORACLE_ROUNDS = 101, 7
CHANGED = 0.01
SEEDS, STEPS = range(5), 4000
KEYS = (
    "oracle_ratio_5k_64",
    "decide_growth_100k_5k",
    "gang_growth_512_8",
    "shapes_growth_151_16",
    "floor_ratio_15k",
    "explain_ratio",
    "mixed_misses",
    "mixed_wrong_refusals",
    "mixed_speedup_cpsat",
    "fragmentation_ratio_95",
)


def main(argv: list[str]) -> Figures:
    answer = Figures("The engine: how fast, how right, how thrifty", KEYS)
    for measure in (speed, explaining, mixed_groups, thrift):
        measure(answer)
    return answer


def microseconds(work: Callable[[], object]) -> float:
    began = time.process_time_ns()
    work()
    return (time.process_time_ns() - began) / 1e3


class Line:
    """One cluster and one pool of gangs: a row of the table."""

    def __init__(self, nodes: int, rack: int, shapes: int, members: int, used: float = 0.5) -> None:
        self.traffic = Traffic(nodes, rack, seed=nodes, used=used)
        self.keys = self.traffic.gangs(shapes, members)
        self.samples: list[float] = []
        self.decision: Decision | None = None
        for key in self.keys:
            decide(self.traffic.state, key)

    def turn(self) -> str:
        """Change the cluster, draw a gang, time its decision."""
        self.traffic.change(CHANGED)
        key = self.traffic.random.choice(self.keys)
        self.samples.append(microseconds(lambda: self._decide(key)))
        return key

    def _decide(self, key: str) -> None:
        self.decision = decide(self.traffic.state, key)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


def speed(answer: Figures) -> None:
    """Lines that are compared take turns, so that a busy moment of the machine meets them all."""
    lines = {
        "1,000 nodes, 64 members": Line(1_008, 16, 16, 64),
        "5,000 nodes, 64 members": Line(5_008, 16, 16, 64),
        "15,000 nodes, 64 members": Line(15_008, 16, 16, 64),
        "100,000 nodes, 64 members": Line(100_000, 16, 16, 64),
        "15,000 nodes, racks of 128, 8 members": Line(14_976, 128, 16, 8, used=0.4),
        "15,000 nodes, racks of 128, 64 members": Line(14_976, 128, 16, 64, used=0.4),
        "15,000 nodes, racks of 128, 512 members": Line(14_976, 128, 16, 512, used=0.4),
        "15,000 nodes, 151 shapes, 64 members": Line(15_008, 16, 151, 64),
    }
    gc.collect()
    gc.freeze()
    floor = np.ones((5, 15_000), np.int64)
    read: list[float] = []
    for _ in range(ROUNDS):
        for line in lines.values():
            line.turn()
        read.append(microseconds(floor.max))
    small, middle, large, huge, eight, _, many, shapes = lines.values()
    for name, line in lines.items():
        answer.add(f"decide, {name}", line.samples, "us")
    answer.add("read, 15,000 nodes", read, "us")
    for name, line in (("1,000", small), ("5,000", middle), ("15,000", large)):
        answer.add(f"obvious way, {name} nodes, 64 members", _oracle(line), "us")
    obvious = answer.rows[-2].median
    answer.figures |= {
        "oracle_ratio_5k_64": obvious / middle.median,
        "decide_growth_100k_5k": huge.median / middle.median,
        "gang_growth_512_8": many.median / eight.median,
        "shapes_growth_151_16": shapes.median / large.median,
        "floor_ratio_15k": large.median / statistics.median(read),
    }
    gc.unfreeze()


def _oracle(line: Line) -> list[float]:
    """The obvious way on the same cluster; it must come to the same rack and the same nodes."""
    reference = Reference(line.traffic.state)
    samples = []
    for _ in range(ORACLE_ROUNDS):
        key = line.turn()
        reference.refresh()
        who = roster(line.traffic.state, key)
        asked, members = dict(who.kinds()[0].requests), len(who.waiting)
        found: list[tuple[str, dict[str, int]] | None] = []
        samples.append(microseconds(lambda a=asked, m=members, f=found: f.append(reference.decide(a, m))))
        _agree(found[0], line.decision)
    return samples


def _agree(found: tuple[str, dict[str, int]] | None, decision: Decision | None) -> None:
    assert decision is not None
    nodes: dict[str, int] = {}
    for _, node in decision.assignments:
        nodes[node] = nodes.get(node, 0) + 1
    if found != ((decision.domain, nodes) if decision.placed else None):
        raise SystemExit(f"The obvious way and the engine disagree on {decision.key}.")


def explaining(answer: Figures) -> None:
    """15,000 nodes, three quarters used: a gang that no rack takes, every rack counted by cause, against one
    that is placed without any counts kept from before.
    """
    refusing, placing = (Line(15_008, 16, 16, members, used=0.75) for members in (120, 24))
    gc.collect()
    gc.freeze()
    for _ in range(ROUNDS):
        refusing.turn()
        placing.traffic.state._shapes = ShapeIndex()
        placing.turn()
    explained, stateless = refusing.samples, placing.samples
    assert refusing.decision is not None and not refusing.decision.placed
    assert placing.decision is not None and placing.decision.placed
    answer.add("refuse and count all racks, 15,000 nodes", explained, "us")
    answer.add("decide without kept counts, 15,000 nodes", stateless, "us")
    answer.figures["explain_ratio"] = statistics.median(explained) / statistics.median(stateless)
    gc.unfreeze()


def mixed_groups(answer: Figures) -> None:
    if not _mixed.installed():
        answer.notes.append(
            "mixed groups: not measured, OR-Tools is not installed: pip install -r requirements-bench.lock"
        )
        return
    search: list[float] = []
    cpsat: list[float] = []
    results = []
    for seed, make in enumerate(("random", "tight")):
        result = _mixed.compare(make, _mixed.CASES, seed)
        answer.add(f"search, {make} mixed groups", result.search_ms)
        answer.add(f"decide, {make} mixed groups", result.decide_ms)
        answer.add(f"CP-SAT, {make} mixed groups", result.cpsat_ms)
        answer.notes.append(
            f"{make} mixed groups: {result.cases} cases, {result.feasible} feasible, {result.misses} missed, "
            f"{result.wrong} refused wrongly, {result.excess} placed wrongly, {result.open} left open, "
            f"{result.undecided} undecided by CP-SAT"
        )
        if result.excess:
            raise SystemExit("The engine placed what CP-SAT proves infeasible.")
        search += result.search_ms
        cpsat += result.cpsat_ms
        results.append(result)
    answer.figures |= {
        "mixed_misses": sum(result.misses for result in results),
        "mixed_wrong_refusals": sum(result.wrong for result in results),
        "mixed_speedup_cpsat": statistics.median(cpsat) / statistics.median(search),
    }


def thrift(answer: Figures) -> None:
    """Five seeds of two mixes at 95% use, the means compared; and the pace of the engine at 70 to 95% use."""
    shares: dict[str, list[float]] = {"exact": [], "defaults": []}
    for mix in _fragmentation.MIXES:
        for seed in SEEDS:
            for name, rule in (("exact", _fragmentation.Engine), ("defaults", _fragmentation.Upstream)):
                run = _fragmentation.simulate(rule, mix, 0.95, seed, STEPS)
                shares[name].append(run.share)
    for name, samples in shares.items():
        answer.add(f"GPUs turned away at 95% use, {name}", [100 * share for share in samples], "%")
    for use in (0.70, 0.85, 0.95):
        run = _fragmentation.simulate(_fragmentation.Engine, "training", use, 0, STEPS)
        answer.add(f"decide at {use:.0%} use, 1,024 nodes", run.decide_us, "us")
        answer.add(f"bind a gang at {use:.0%} use", run.commit_us, "us")
    answer.figures["fragmentation_ratio_95"] = statistics.mean(shares["exact"]) / statistics.mean(
        shares["defaults"]
    )
