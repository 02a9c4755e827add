"""Affinity, anti-affinity and host ports in the pass of kube-scheduler: what assumed members change for
those that come after, in all placements at once.

Existing pods of the whole cluster are seen, also those outside of the placement, as upstream does; members
assumed in one placement are not seen in another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from scheduling.engine.capacity import field
from scheduling.engine.columns import Bools, Ints
from scheduling.engine.eligibility import Bar
from scheduling.engine.pairwise_rules import Rules
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import TopologyIndex


@dataclass(frozen=True, slots=True)
class Pairs:
    """``usable``: per kind, positions open to it before anything is assumed. ``place``: topology key ->
    number of (placement, value) per position, the last number standing for nodes without the label. Counts
    change as members are assumed: ``at``: per kind, per position; ``held``, ``there``: per anti-affinity
    term, per place; ``near``: per affinity and key, per place; ``company``: per affinity, per placement.
    """

    rules: Rules
    of: Ints
    usable: tuple[Bools, ...]
    place: dict[str, Ints]
    at: tuple[Ints, ...]
    held: tuple[Ints, ...]
    there: tuple[Ints, ...]
    near: tuple[dict[str, Ints], ...]
    company: tuple[Ints, ...]

    def copy(self) -> Pairs:
        return replace(
            self,
            at=tuple(column.copy() for column in self.at),
            held=tuple(column.copy() for column in self.held),
            there=tuple(column.copy() for column in self.there),
            near=tuple({key: column.copy() for key, column in each.items()} for each in self.near),
            company=tuple(column.copy() for column in self.company),
        )

    def fit(self, kind: int) -> Bools:
        """InterPodAffinity and NodePorts: per position, whether a member of the kind can go there now."""
        fits = self.usable[kind].copy()
        for other in range(len(self.at)):
            if (kind, other) in self.rules.clashes:
                fits &= self.at[other] == 0
        for number, apart in enumerate(self.rules.aparts):
            place = self.place[apart.key]
            if kind in apart.meant:
                fits &= self.held[number][place] == 0
            if kind in apart.holders:
                fits &= self.there[number][place] == 0
        for number, near in enumerate(self.rules.nears):
            if kind in near.kinds:
                beside = np.ones(len(fits), bool)
                for key, counts in self.near[number].items():
                    beside &= counts[self.place[key]] > 0
                if kind in near.meant:
                    beside |= (self.company[number] == 0)[self.of]
                fits &= beside
        return fits

    def assume(self, kind: int, positions: Ints) -> None:
        """Put one member of the kind on each of the nodes (at most one in a placement)."""
        self.at[kind][positions] += 1
        for number, apart in enumerate(self.rules.aparts):
            place = self.place[apart.key][positions]
            if kind in apart.holders:
                _count(self.held[number], place)
            if kind in apart.meant:
                _count(self.there[number], place)
        for number, near in enumerate(self.rules.nears):
            if kind in near.meant:
                anywhere = np.zeros(len(positions), bool)
                for key, counts in self.near[number].items():
                    place = self.place[key][positions]
                    _count(counts, place)
                    anywhere |= place < len(counts) - 1
                np.add.at(self.company[number], self.of[positions], anywhere)


def pairs(state: ClusterState, index: TopologyIndex, rules: Rules) -> Pairs:
    """Before anything is assumed."""
    start = rules.applied(state, field(state, index, rules.kinds))
    place: dict[str, Ints] = {}
    last: dict[str, int] = {}
    for key, values in rules.values.items():
        value = values[index.order]
        span = int(value.max(initial=0)) + 1
        last[key] = span * len(index.domains)
        place[key] = np.where(value < 0, last[key], index.of * span + value)
    near = []
    for each in rules.nears:
        counts = {}
        for key in each.keys:
            counts[key] = np.zeros(last[key] + 1, np.int64)
            value = rules.values[key][index.order]
            found = np.isin(value, rules.found_values(each, key)) & (value >= 0)
            counts[key][place[key][found]] = 1
        near.append(counts)
    return Pairs(
        rules=rules,
        of=index.of,
        usable=tuple(bars == Bar.NONE for bars in start.bars),
        place=place,
        at=tuple(np.zeros(len(index.order), np.int64) for _ in rules.kinds),
        held=tuple(np.zeros(last[apart.key] + 1, np.int64) for apart in rules.aparts),
        there=tuple(np.zeros(last[apart.key] + 1, np.int64) for apart in rules.aparts),
        near=tuple(near),
        company=tuple(np.full(len(index.domains), int(each.anywhere), np.int64) for each in rules.nears),
    )


def _count(counts: Ints, place: Ints) -> None:
    """Nodes without the label, which have the last number, are in no place."""
    np.add.at(counts, place[place < len(counts) - 1], 1)
