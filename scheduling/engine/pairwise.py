"""Groups whose members exclude or want each other: a search in one domain after the other, within a budget
counted in looks at a node, so that a replay finds the same.

A domain is settled when its upper bound is below what is missing, or when the search went through all there
is; only when all are settled is it a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from scheduling.engine.capacity import Field
from scheduling.engine.columns import Bools, Ints
from scheduling.engine.packing import Packing
from scheduling.engine.pairwise_box import Box, Budget
from scheduling.engine.pairwise_rules import Rules

LOOKS = 200_000
"""For all domains together; ``_LOOKS_PER_DOMAIN`` for one."""

_LOOKS_PER_DOMAIN = 20_000

_ALTERNATIVES = 4
"""Once a domain takes the group, how many more that might be better are tried."""


@dataclass(frozen=True, slots=True)
class Found:
    """``packings``: those that take the group, best first. ``tried``: the best try per domain; when nothing
    was found, of every domain. ``exhausted``: domains in which the search has shown that no more fit.
    ``proved``: no domain takes the group.
    """

    packings: list[Packing]
    tried: dict[int, Packing]
    exhausted: frozenset[int]
    proved: bool


def search(rules: Rules, seen: Field, whole: Bools, missing: int) -> Found:
    """Look for places for at least ``missing`` members. Domains in order of their upper bound, then by room;
    of those found: most placed, fewest wholly free nodes broken, least capacity left, name.
    """
    bound = rules.most(seen)
    spare = np.sum([np.minimum(sums, 1 << 31) for sums in seen.sums], axis=0, dtype=np.int64)
    run = _Run(rules, seen, whole, missing)
    left = _ALTERNATIVES
    for domain in np.lexsort((np.arange(len(bound)), spare, -bound)).tolist():
        if bound[domain] < missing or (run.found and (left == 0 or bound[domain] < run.best)):
            break
        left -= bool(run.found)
        run.look(domain, int(bound[domain]))
    if not run.found:
        for domain in range(len(bound)):
            if domain not in run.tried:
                run.glance(domain)
    open_still = (int(domain) for domain in np.flatnonzero(bound >= missing))
    proved = not run.found and all(domain in run.exhausted for domain in open_still)
    packings = sorted(run.found, key=lambda p: (-p.placed, p.broken, p.left, p.domain))
    return Found(packings, run.tried, frozenset(run.exhausted), proved)


def never(rules: Rules, empty: Field, missing: int, domains: frozenset[int]) -> frozenset[int]:
    """Those of the domains of which a search shows that they do not take ``missing`` members even so."""
    bound = rules.most(empty)
    run = _Run(rules, empty, np.zeros(len(empty.index.order), bool), missing)
    for domain in sorted(domains):
        if bound[domain] >= missing:
            run.look(domain, int(bound[domain]))
    shown = (d for d in domains if d in run.exhausted and run.tried[d].placed < missing)
    return frozenset(shown)


class _Run:
    """One search over the domains: the budget, and what came of each."""

    def __init__(self, rules: Rules, seen: Field, whole: Bools, missing: int) -> None:
        self._rules, self._seen, self._whole, self._missing = rules, seen, whole, missing
        self._left = LOOKS
        self._known: dict[bytes, tuple[Packing, bool]] = {}
        self._glanced: dict[bytes, Packing] = {}
        self.found: list[Packing] = []
        self.tried: dict[int, Packing] = {}
        self.exhausted: set[int] = set()

    @property
    def best(self) -> int:
        return max((packing.placed for packing in self.found), default=0)

    def look(self, domain: int, bound: int) -> None:
        """Search the domain; one that is the same in everything but names has the same answer."""
        box = Box(self._rules, self._seen, self._whole, domain)
        if box.signature in self._known:
            alike, done = self._known[box.signature]
            packing = replace(alike, domain=domain)
        else:
            done = False
            for order in box.orders():
                budget = Budget(min(_LOOKS_PER_DOMAIN, self._left))
                self._left -= budget.left
                done = box.search(order, budget, self._missing, bound)
                self._left += max(budget.left, 0)
                if done or box.best >= bound:
                    break
            packing = _packing(box, domain)
            self._known[box.signature] = packing, done
        self._note(domain, packing)
        if done and packing.placed < self._missing:
            self.exhausted.add(domain)

    def glance(self, domain: int) -> None:
        """One way down without a way back: what certainly goes in, for domains too small to be searched."""
        box = Box(self._rules, self._seen, self._whole, domain)
        packing = self._glanced.get(box.signature)
        if packing is None:
            box.descend(box.orders()[0])
            packing = self._glanced[box.signature] = _packing(box, domain)
        self._note(domain, replace(packing, domain=domain))

    def _note(self, domain: int, packing: Packing) -> None:
        self.tried[domain] = packing
        if packing.placed >= self._missing:
            self.found.append(packing)


def _packing(box: Box, domain: int) -> Packing:
    takes: tuple[Ints, ...] = box.takes()
    return Packing(domain, takes, box.best, box.broken(), box.left_over())
