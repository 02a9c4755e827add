"""The pass of kube-scheduler inside a placement: member by member, best node first, never back. It is made in
all placements at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from scheduling.engine.columns import Bools, Ints
from scheduling.engine.profiles.snapshot import Asked, Snapshot
from scheduling.engine.profiles.steps import FILTERS, NODE_SCORES

_NOWHERE = -1


class Breaking(Protocol):
    """How a tie between nodes is broken: the lowest rank wins."""

    def __call__(self, step: int, positions: int) -> Ints:
        """A rank per position, no two alike, for the member of that number."""


@dataclass(frozen=True, slots=True)
class Pass:
    """``chosen``: per member as they were given, per placement, the position it was put on, -1 for none.
    ``placed``: per placement. ``contested``: whether a tie between nodes that differ was broken anywhere.
    """

    chosen: tuple[Ints, ...]
    placed: Ints
    contested: bool


@dataclass(frozen=True, slots=True)
class Quorum:
    """``missing``: members that must be placed in the cycle; ``stops_early``: see ``releases.Release``."""

    missing: int
    stops_early: bool


def by_name(step: int, positions: int) -> Ints:
    """The first by name."""
    return np.arange(positions, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Shuffled:
    """Another order for every member, the same in every run: ``draw`` numbers the orders."""

    draw: int

    def __call__(self, step: int, positions: int) -> Ints:
        mixed = np.arange(positions, dtype=np.uint64)
        mixed += np.uint64((self.draw << 40) + (step << 20))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        ranks = np.empty(positions, np.int64)
        ranks[np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")] = np.arange(positions)
        return ranks


def greedy(
    taken: Snapshot, members: Sequence[Asked], quorum: Quorum, breaking: Breaking, *, watch: bool = False
) -> Pass:
    """Fill every placement. ``watch``: also tell which ties mattered, which costs as much again."""
    nodes = taken.copy()
    domains = len(nodes.index.domains)
    placed = np.zeros(domains, np.int64)
    alive = np.ones(domains, bool)
    contested = False
    chosen: list[Ints] = []
    for step, member in enumerate(members):
        if quorum.stops_early:
            alive &= placed + (len(members) - step) >= quorum.missing
        best = best_nodes(nodes, member) & alive[nodes.index.of]
        picked = _first(nodes, best, breaking(step, len(best)))
        if watch:
            contested = contested or _differ(nodes, best)
        there = picked != _NOWHERE
        nodes.assume(member, picked[there])
        placed += there
        chosen.append(picked)
    return Pass(tuple(chosen), placed, contested)


def best_nodes(nodes: Snapshot, member: Asked) -> Bools:
    """Per position: whether it has the highest score of the feasible nodes of its placement."""
    feasible = np.ones(len(nodes.index.order), bool)
    for fits in FILTERS:
        feasible &= fits(nodes, member)
    total = np.zeros(len(feasible), np.int64)
    for score, weight in NODE_SCORES:
        total += weight * score(nodes, member, feasible)
    total = np.where(feasible, total, _NOWHERE)
    top = np.maximum.reduceat(total, nodes.index.starts)
    best: Bools = feasible & (total == top[nodes.index.of])
    return best


def _first(nodes: Snapshot, best: Bools, ranks: Ints) -> Ints:
    """Per placement the position of the best nodes that has the lowest rank."""
    last = len(best)
    lowest = np.minimum.reduceat(np.where(best, ranks, last), nodes.index.starts)
    where = np.empty(last + 1, np.int64)
    where[ranks] = np.arange(last)
    where[last] = _NOWHERE
    picked: Ints = where[lowest]
    return picked


def _differ(nodes: Snapshot, best: Bools) -> bool:
    """Whether in some placement nodes tie that differ in anything that a later member may see."""
    starts = nodes.index.starts
    if not (np.add.reduceat(best.astype(np.int64), starts) > 1).any():
        return False
    if nodes.pairs:  # by the labels that terms look at, or by whom they hold
        return True
    columns = [*nodes.alloc.values(), *nodes.free.values(), *nodes.charged.values(), *nodes.disliked.values()]
    columns += [usable.astype(np.int64) for usable in nodes.usable.values()]
    limit = np.iinfo(np.int64)
    for column in columns:
        high = np.maximum.reduceat(np.where(best, column, limit.min), starts)
        low = np.minimum.reduceat(np.where(best, column, limit.max), starts)
        if (high > low).any():
            return True
    return False
