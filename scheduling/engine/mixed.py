"""Groups of several shapes in one domain, exactly: bounds that prove, heuristics that find, dynamic
programming that does both, and a solver where that would cost too much.

The ladder for one domain: ``capacity.Field.most`` bounds the members that can be in it; what the heuristics
of ``box`` reach at the bound cannot be beaten; otherwise ``exact`` says the most members, within a budget of
operations; otherwise ``solver`` does, within a budget of its own steps. A domain that is neither filled nor
refuted by then stays open, and the answer is "not found", which is no proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from scheduling.engine import exact, solver
from scheduling.engine.box import Box
from scheduling.engine.capacity import Field
from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Ints
from scheduling.engine.packing import Packing
from scheduling.engine.shapes import COUNT_LIMIT, per_row

_ALTERNATIVES = 8
"""Once a domain takes the group, how many more that might be better are tried: an economy, not a proof that
none of the others is."""

OPERATIONS = 4 * exact.OPERATIONS
"""What all domains of one decision may cost together."""

SOLVER_RUNS = 8
"""How many domains of one decision may be given to the solver."""


@dataclass(slots=True)
class Search:
    """What a search came to. ``found``: packings of at least the missing members, best first; ``tried``: the
    best packing of each domain looked into; ``refuted``: domains that the bound allowed and that were proved
    not to take the group, with what proved it; ``open``: domains of which neither is known.
    """

    found: list[Packing] = field(default_factory=list)
    tried: dict[int, Packing] = field(default_factory=dict)
    refuted: dict[int, str] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)

    @property
    def method(self) -> str:
        """How it was found or proved, or the last that was tried: a word of ``Decision.method``."""
        if self.found:
            return self.found[0].method
        if self.open:
            return "search"
        return next((word for word in ("solver", "search") if word in self.refuted.values()), "counting")


def search(
    seen: Field,
    whole: Bools,
    missing: int,
    *,
    operations: int = OPERATIONS,
    per_domain: int = exact.OPERATIONS,
    solver_runs: int = SOLVER_RUNS,
) -> Search:
    """Look for packings of at least ``missing`` members.

    Domains in order of their upper bound, so that the first that reaches it is not beaten in members
    placed; then the order of profile ``exact``: most placed, fewest wholly free nodes broken, least
    capacity left, name. Domains that look alike are searched once. ``operations``, ``per_domain``,
    ``solver_runs``: budgets; with none of them the heuristics alone.
    """
    bound = seen.most()
    budget = _Budget(operations, per_domain, solver_runs)
    result = Search()
    known: dict[bytes, _Answer] = {}
    best, more = 0, _ALTERNATIVES
    for domain in _hopeful_first(seen, bound):
        if bound[domain] < missing or (best and (bound[domain] < best or more == 0)):
            break
        more -= best > 0
        box = Box(seen, whole, domain)
        look = box.signature if len(bound) > 1 else b""
        answer = known.get(look)
        if answer is None:
            answer = known[look] = _best(box, int(bound[domain]), missing, budget)
        result.tried[domain] = packing = replace(answer.packing, domain=domain)
        if packing.placed >= missing:
            result.found.append(packing)
            best = max(best, packing.placed)
        elif answer.proof:
            result.refuted[domain] = answer.proof
        else:
            result.open.add(domain)
    result.found.sort(key=lambda p: (-p.placed, p.broken, p.left, p.domain))
    return result


def _hopeful_first(seen: Field, bound: Ints) -> list[int]:
    """Domains by most members that they may take, least places beyond, then number."""
    if len(bound) == 1:
        return [0]
    spare = np.sum([np.minimum(sums, COUNT_LIMIT) for sums in seen.sums], axis=0, dtype=np.int64)
    order: list[int] = np.lexsort((spare, -bound)).tolist()
    return order


def first_fit(seen: Field) -> tuple[Ints, ...]:
    """Members of each kind on each position when every domain is filled at once: kind after kind, the
    smallest first, nodes in order of name. Quick and rough; what it puts in does fit.
    """
    index = seen.index
    left = {resource: column[index.order] for resource, column in seen.room.items()}
    takes = [np.zeros(len(index.order), np.int64) for _ in seen.kinds]
    for kind in sorted(range(len(seen.kinds)), key=lambda k: (-int(seen.sums[k].sum()), k)):
        caps = np.where(seen.eligible(kind), per_row(left, len(index.order), seen.kinds[kind].requests), 0)
        before = np.cumsum(caps) - caps
        before -= before[index.starts][index.of]
        takes[kind] = take = np.clip(len(seen.kinds[kind].pods) - before, 0, caps)
        for resource, amount in seen.kinds[kind].requests:
            if resource in left:
                left[resource] = left[resource] - take * min(amount, AMOUNT_LIMIT)
    return tuple(takes)


@dataclass(slots=True)
class _Budget:
    operations: int
    per_domain: int
    solver_runs: int


@dataclass(frozen=True, slots=True)
class _Answer:
    """The best packing known of a domain; ``proof``: what proved that none takes the missing members, ""
    when nothing did.
    """

    packing: Packing
    proof: str


def _best(box: Box, bound: int, missing: int, budget: _Budget) -> _Answer:
    takes, method = box.heuristic(), "heuristic"
    placed = int(takes.sum())
    if placed == min(bound, box.wanted) and (placed == box.wanted or box.one_priority):
        return _Answer(box.packing(0, takes, method), "")
    optimum = exact.most(box, min(budget.operations, budget.per_domain))
    budget.operations -= optimum.operations
    if optimum.takes is not None:
        if box.worth(optimum.takes) > box.worth(takes):
            takes, method = optimum.takes, "search"
        return _Answer(box.packing(0, takes, method), "search")
    if placed == bound or not budget.solver_runs:
        return _Answer(box.packing(0, takes, method), "")
    budget.solver_runs -= 1
    solved = solver.most(box, missing)
    if solved.takes is not None and box.worth(solved.takes) > box.worth(takes):
        takes, method = solved.takes, "solver"
    return _Answer(box.packing(0, takes, method), "solver" if solved.refuted else "")
