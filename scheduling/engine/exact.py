"""The most members of several shapes that one domain holds, exactly: dynamic programming over its nodes.

State: how many members of every kind but the most numerous are in, capped at how many there are, so that a
state means "at least so many". Value: the most members of the remaining kind that go with it. A node moves
from state to state by one of its maximal patterns (so many of each kind on it, none more fits); nodes that
look alike share them. Integers only, and the effort is counted in operations, never in time: the same input
gives the same answer everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from scheduling.engine.box import Box
from scheduling.engine.columns import Bools, Ints

OPERATIONS = 60_000_000
"""Steps from state to state that one domain may cost; beyond it ``most`` gives up."""

_LEAST_STEPS = 4
"""A node is charged at least so many steps a state, so that the tables kept stay below 60 MB."""

_AT_ONCE = 1 << 16
"""Elements of a matrix worked on at once; more would leave the processor's caches."""

_KEPT = 1 << 22
"""Elements kept in all for nodes that look alike: 32 MB."""

_NEVER = -(1 << 30)

Table = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Optimum:
    """``takes``: [kind, node] of a packing with the most members, None when the budget did not do;
    ``operations``: what was spent.
    """

    takes: Ints | None
    operations: int


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The maximal patterns of a node: ``rest`` [pattern, kind] members of all kinds but the last, ``last``
    members of the last kind.
    """

    rest: Ints
    last: Table


def most(box: Box, budget: int = OPERATIONS) -> Optimum:
    """A packing with the most members; among those with equally many, one with the highest priorities."""
    caps = np.stack(box.alone)
    counts = np.minimum(box.counts, caps.sum(axis=1))
    kinds = sorted(range(len(counts)), key=lambda kind: (int(counts[kind]), kind))
    space = _Space(tuple(int(counts[kind]) for kind in kinds))
    nodes = _node_order(box, caps)
    spent = space.size * _LEAST_STEPS * len(nodes)
    if spent > budget:
        return Optimum(None, 0)
    patterns: list[_Patterns] = []
    alike: dict[bytes, _Patterns] = {}
    shared: dict[bytes, _Patterns] = {}
    for node in nodes:
        room = np.maximum(box.free[:, node], 0)
        look = room.tobytes() + box.open[:, node].tobytes()
        found = alike.get(look)
        if found is None:
            grid = prod(int(min(caps[kind, node], counts[kind])) + 1 for kind in kinds[:-1])
            spent += grid * len(room)
            if spent > budget:
                return Optimum(None, spent)
            found = _patterns(box, room, caps[:, node], counts, kinds)
            found = alike[look] = shared.setdefault(found.rest.tobytes() + found.last.tobytes(), found)
        spent += space.size * max(0, len(found.last) - _LEAST_STEPS)
        if spent > budget:
            return Optimum(None, spent)
        patterns.append(found)
    tables = _forward(space, patterns)
    takes = np.zeros((len(counts), box.free.shape[1]), np.int64)
    state = _best_state(box, space, tables[-1], kinds)
    wanted = np.zeros(len(counts), np.int64)
    wanted[kinds] = [*space.counts_of(state), int(tables[-1][state])]
    for step in range(len(tables) - 2, -1, -1):
        pattern, state = _step_back(space, tables[step], tables[step + 1], patterns[step], state)
        takes[kinds[:-1], nodes[step]] = patterns[step].rest[pattern]
        takes[kinds[-1], nodes[step]] = patterns[step].last[pattern]
    _trim(takes, wanted, box.whole)
    return Optimum(takes, spent)


class _Space:
    """The states: counts of all kinds but the last, as one number in mixed radix."""

    def __init__(self, counts: tuple[int, ...]) -> None:
        self.last = counts[-1]
        self.rest = counts[:-1]
        self.size = prod(count + 1 for count in self.rest)
        self.strides = [
            prod(count + 1 for count in self.rest[place + 1 :]) for place in range(len(self.rest))
        ]

    def counts_of(self, state: int) -> list[int]:
        return [state // stride % (count + 1) for stride, count in zip(self.strides, self.rest, strict=True)]

    def totals(self) -> Ints:
        """Per state: members of all kinds but the last."""
        total = np.zeros(1, np.int64)
        for count in self.rest:
            total = (total[:, None] + np.arange(count + 1)[None, :]).reshape(-1)
        return total

    def origins(self, pattern: Ints) -> Ints:
        """Per state: the state that it is reached from when a node takes the pattern."""
        origin = np.zeros(1, np.int64)
        for count, stride, taken in zip(self.rest, self.strides, pattern.tolist(), strict=True):
            before = np.maximum(np.arange(count + 1) - taken, 0) * stride
            origin = (origin[:, None] + before[None, :]).reshape(-1)
        return origin

    def origin(self, state: int, pattern: Ints) -> int:
        return sum(
            max(count - taken, 0) * stride
            for count, taken, stride in zip(
                self.counts_of(state), pattern.tolist(), self.strides, strict=True
            )
        )


def _node_order(box: Box, caps: Ints) -> list[int]:
    """Nodes that take anybody; wholly free ones last, so that they stay whole when the others do."""
    useful = np.flatnonzero((caps > 0).any(axis=0))
    order: list[int] = useful[np.argsort(box.whole[useful], kind="stable")].tolist()
    return order


def _patterns(box: Box, room: Ints, caps: Ints, counts: Ints, kinds: list[int]) -> _Patterns:
    """All (members of each kind) of one node to which no member can be added: of every number of the other
    kinds, the most of the last; without those that another does better in one kind and no worse elsewhere.
    """
    *rest, last = kinds
    dims = [int(min(caps[kind], counts[kind])) + 1 for kind in rest]
    grid = np.indices(dims).reshape(len(rest), -1) if rest else np.zeros((0, 1), np.int64)
    left = room[:, None] - box.asks[rest].T @ grid
    wanted = box.asks[last] > 0
    most_last = (left[wanted] // box.asks[last][wanted, None]).min(axis=0)
    limit = int(min(caps[last], counts[last]))
    value = np.where((left >= 0).all(axis=0), np.clip(most_last, 0, limit), -1).reshape(dims or [1])
    keep = value >= 0
    for axis in range(len(dims)):
        inner = [slice(None)] * len(dims)
        outer = [slice(None)] * len(dims)
        inner[axis], outer[axis] = slice(None, -1), slice(1, None)
        keep[tuple(inner)] &= value[tuple(inner)] != value[tuple(outer)]
    flat = keep.reshape(-1)
    return _Patterns(np.ascontiguousarray(grid.T[flat]), value.reshape(-1)[flat].astype(np.int32))


def _forward(space: _Space, patterns: list[_Patterns]) -> list[Table]:
    """The table before the first node and after each; ends early once everybody is in."""
    table = np.full(space.size, _NEVER, np.int32)
    table[0] = 0
    tables = [table]
    origins: dict[int, Ints] = {}
    kept = 0
    for pattern in patterns:
        elements = len(pattern.last) * space.size
        if elements <= _AT_ONCE:
            origin = origins.get(id(pattern))
            if origin is None:
                origin = np.stack([space.origins(one) for one in pattern.rest])
                if kept + elements <= _KEPT:
                    origins[id(pattern)] = origin
                    kept += elements
            after = (table[origin] + pattern.last[:, None]).max(axis=0)
        else:
            after = np.full(space.size, _NEVER, np.int32)
            for rest, last in zip(pattern.rest, pattern.last, strict=True):
                np.maximum(after, table[space.origins(rest)] + last, out=after)
        table = np.minimum(after, np.int32(space.last))
        tables.append(table)
        if table[-1] >= space.last:
            break
    return tables


def _best_state(box: Box, space: _Space, table: Table, kinds: list[int]) -> int:
    """The state with the most members in all, then the highest priorities, then the first."""
    total = np.where(table >= 0, space.totals() + table, -1)
    states = np.flatnonzero(total == total.max())
    levels = sorted({pod.priority for kind in box.kinds for pod in kind.pods}, reverse=True)
    if len(states) > 1 and len(levels) > 1:
        chosen = [
            states // stride % (count + 1) for stride, count in zip(space.strides, space.rest, strict=True)
        ]
        chosen.append(table[states].astype(np.int64))
        for level in levels:
            inside = np.zeros(len(states), np.int64)
            for kind, count in zip(kinds, chosen, strict=True):
                inside += np.minimum(count, sum(pod.priority >= level for pod in box.kinds[kind].pods))
            best = inside == inside.max()
            states, chosen = states[best], [count[best] for count in chosen]
    return int(states[0])


def _step_back(
    space: _Space, before: Table, after: Table, patterns: _Patterns, state: int
) -> tuple[int, int]:
    """Which pattern led to the state, the first that did, and from where."""
    value = int(after[state])
    for place, (rest, last) in enumerate(zip(patterns.rest, patterns.last.tolist(), strict=True)):
        origin = space.origin(state, rest)
        if before[origin] >= 0 and min(int(before[origin]) + last, space.last) >= value:
            return place, origin
    raise AssertionError("a state that no pattern leads to")


def _trim(takes: Ints, wanted: Ints, whole: Bools) -> None:
    """Take out what maximal patterns put in beyond the members there are, from whole and little used nodes
    first.
    """
    for kind, surplus in enumerate((takes.sum(axis=1) - wanted).tolist()):
        if surplus <= 0:
            continue
        load = takes.sum(axis=0)
        order = np.lexsort((np.arange(len(load)), load, ~whole))
        ordered = takes[kind][order]
        before = np.cumsum(ordered) - ordered
        takes[kind][order] -= np.clip(surplus - before, 0, ordered)
