"""Generated groups of several shapes, decided by the engine and by CP-SAT: do they agree, who is faster."""

import importlib.util
import time
from dataclasses import dataclass, field
from random import Random

from bench._clusters import RACK
from scheduling.engine import capacity, mixed
from scheduling.engine.decide import decide
from scheduling.engine.packing import wholly_free
from scheduling.engine.reasons import Verdict
from scheduling.engine.roster import roster
from tests.engine.generate import Case, random_case, tight_case

CASES = 1000
SECONDS = 20
"""Of one case at most; CP-SAT's word counts only when it comes to one."""


@dataclass
class Agreement:
    """``misses``: CP-SAT found a way and the engine none; ``wrong``: of them, those that the engine claims to
    have proved infeasible; ``excess``: the engine placed what CP-SAT proved infeasible; ``undecided``: CP-SAT
    gave up; ``open``: the engine did. Milliseconds of every case: ``search_ms`` from the counted nodes to the
    packing, which is what CP-SAT is given and asked, and ``decide_ms`` from the state to the decision.
    """

    cases: int = 0
    feasible: int = 0
    misses: int = 0
    wrong: int = 0
    excess: int = 0
    undecided: int = 0
    open: int = 0
    search_ms: list[float] = field(default_factory=list)
    decide_ms: list[float] = field(default_factory=list)
    cpsat_ms: list[float] = field(default_factory=list)


def installed() -> bool:
    return importlib.util.find_spec("ortools") is not None


def compare(make: str, cases: int, seed: int) -> Agreement:
    """``make``: ``random`` or ``tight``; 4 to 16 nodes and 2 to 3 shapes, every tenth case up to 64 nodes and
    up to 4 shapes. Each of the two works through all cases by itself, so that neither finds the processor's
    caches full of the other.
    """
    random = Random(seed)
    result = Agreement(cases)
    drawn = []
    for number in range(cases):
        large = number % 10 == 9
        nodes = random.choice((32, 48, 64) if large else (4, 8, 16))
        kinds = random.choice((2, 3, 4) if large else (2, 3))
        drawn.append((random_case if make == "random" else tight_case)(random, nodes, kinds, number % 3 == 0))
    verdicts = [_engine(result, case) for case in drawn]
    for case, verdict in zip(drawn, verdicts, strict=True):
        began = time.process_time_ns()
        truth = cpsat(case)
        result.cpsat_ms.append((time.process_time_ns() - began) / 1e6)
        result.undecided += truth is None
        result.open += verdict == Verdict.NOT_FOUND
        result.feasible += truth is True
        result.misses += truth is True and verdict != Verdict.PLACED
        result.wrong += truth is True and verdict == Verdict.PROVED_INFEASIBLE
        result.excess += truth is False and verdict == Verdict.PLACED
    return result


def _engine(result: Agreement, case: Case) -> Verdict:
    state = case.state()
    kinds = roster(state, "ml/g").kinds()
    seen = capacity.field(state, state.index(RACK), kinds)
    whole = wholly_free(state.columns, seen.index, kinds)
    began = time.process_time_ns()
    mixed.search(seen, whole, sum(case.counts))
    searched = time.process_time_ns()
    decision = decide(state, "ml/g")
    result.decide_ms.append((time.process_time_ns() - searched) / 1e6)
    result.search_ms.append((searched - began) / 1e6)
    return decision.verdict


def cpsat(case: Case) -> bool | None:
    """Whether the nodes take all members at once; None when it did not say in time. One thread, as it comes:
    the model is built anew for every case, as for every decision.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    takes = [
        [model.new_int_var(0, count if case.may(kind, node) else 0, "") for node in range(len(case.rooms))]
        for kind, count in enumerate(case.counts)
    ]
    for kind, count in enumerate(case.counts):
        model.add(sum(takes[kind]) == count)
    for node, room in enumerate(case.rooms):
        for resource, amount in room.items():
            asked = sum(ask[resource] * takes[kind][node] for kind, ask in enumerate(case.asks))
            model.add(asked <= amount)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = SECONDS
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return True
    return False if status == cp_model.INFEASIBLE else None
