"""How many members of each kind every node and every domain takes, and how many of all kinds together at
most.

The count for one kind is exact, since members of one shape are interchangeable. For several kinds ``most``
is an upper bound only: what exceeds it is proved not to fit; what does not is still to be found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Columns, Ints
from scheduling.engine.eligibility import Bar
from scheduling.engine.roster import Kind
from scheduling.engine.state import Bars, ClusterState
from scheduling.engine.topology import TopologyIndex

COUNT_LIMIT = 1 << 31
"""Counts of members on one node saturate here, so that sums and sort keys stay inside int64."""

_SUM_LIMIT = 1 << 62

Room = Mapping[str, Ints]
"""resource -> amount per row of the columns."""


@dataclass(frozen=True, slots=True)
class Field:
    """The candidate nodes as the kinds of one group see them.

    ``bars``: per kind, per position of the index, an ``eligibility.Bar``. ``room``: what counts as free,
    per row. ``caps``: per kind, how many of it each position takes alone. ``sums``: the same per domain.
    """

    index: TopologyIndex
    kinds: Sequence[Kind]
    bars: tuple[Bars, ...]
    room: Room
    caps: tuple[Ints, ...]
    sums: tuple[Ints, ...]

    def eligible(self, kind: int) -> Bools:
        open_to: Bools = self.bars[kind] == Bar.NONE
        return open_to

    def most(self) -> Ints:
        """Upper bound per domain of members that can be in it at once; exact for one kind."""
        return _most(self)


def field(state: ClusterState, index: TopologyIndex, kinds: Sequence[Kind]) -> Field:
    """The nodes as they are now."""
    bars = tuple(state.bars(kind.eligibility)[index.order] for kind in kinds)
    return _field(index, kinds, bars, state.columns.free)


def emptied(state: ClusterState, now: Field, own: Room) -> Field:
    """The same nodes with every pod gone but the group's own; ``own``: what those hold, per row."""
    alloc = state.columns.alloc
    room = {
        resource: alloc[resource] - own[resource] if resource in own else alloc[resource]
        for resource in alloc
    }
    return _field(now.index, now.kinds, now.bars, room)


def unbarred(seen: Field, lifted: Sequence[Bar]) -> Field:
    """The same nodes with some bars lifted."""
    bars = tuple(np.where(np.isin(bars, lifted), np.int8(Bar.NONE), bars) for bars in seen.bars)
    return _field(seen.index, seen.kinds, bars, seen.room)


def barred(seen: Field, bars: Sequence[Bars]) -> Field:
    """The same nodes with more bars, per kind and position; those that are there already count first."""
    added = tuple(np.where(old == Bar.NONE, new, old) for old, new in zip(seen.bars, bars, strict=True))
    return _field(seen.index, seen.kinds, added, seen.room)


def held_by(columns: Columns, pods: Sequence[tuple[str, tuple[tuple[str, int], ...]]]) -> Room:
    """What (node, requests) pairs hold, per row; nodes that are not there hold nothing."""
    held: dict[str, Ints] = {}
    for node, requests in pods:
        row = columns.slot.get(node)
        if row is None:
            continue
        for resource, amount in requests:
            held.setdefault(resource, np.zeros(columns.rows, np.int64))[row] += min(amount, AMOUNT_LIMIT)
    return held


def per_row(room: Room, rows: int, requests: Sequence[tuple[str, int]]) -> Ints:
    """Members of one kind that each row takes, eligibility apart. A resource nobody has is 0 everywhere; a
    resource that is not requested is not looked at, over-committed or not.
    """
    caps = np.full(rows, COUNT_LIMIT, np.int64)
    for resource, amount in requests:
        column = room.get(resource)
        if column is None:
            return np.zeros(rows, np.int64)
        if amount > 0:
            np.minimum(caps, column // min(amount, AMOUNT_LIMIT), out=caps)
    return np.maximum(caps, 0, out=caps)


def _field(index: TopologyIndex, kinds: Sequence[Kind], bars: tuple[Bars, ...], room: Room) -> Field:
    rows = len(next(iter(room.values()))) if room else 0
    caps = tuple(
        np.where(bar == Bar.NONE, per_row(room, rows, kind.requests)[index.order], 0)
        if rows
        else _none(index)
        for kind, bar in zip(kinds, bars, strict=True)
    )
    return Field(index, kinds, bars, room, caps, tuple(index.sums(cap) for cap in caps))


def _none(index: TopologyIndex) -> Ints:
    return np.zeros(len(index.order), np.int64)


def _most(seen: Field) -> Ints:
    counts = [len(kind.pods) for kind in seen.kinds]
    each = [np.minimum(sums, count) for sums, count in zip(seen.sums, counts, strict=True)]
    bound: Ints = np.stack(each).sum(axis=0)
    if len(seen.kinds) < 2:
        return bound
    for resource in sorted({resource for kind in seen.kinds for resource, _ in kind.requests}):
        np.minimum(bound, _most_by_sum(seen, each, resource), out=bound)
    for kind in range(len(seen.kinds)):
        np.minimum(bound, _most_by_dominance(seen, each, kind), out=bound)
    return bound


def _most_by_sum(seen: Field, each: Sequence[Ints], resource: str) -> Ints:
    """No more members than the free amount of one resource feeds, the smallest first.

    Counted on the nodes that some kind asking for the resource can use; a node below zero offers nothing.
    """
    asks = [dict(kind.requests).get(resource, 0) for kind in seen.kinds]
    usable = np.zeros(len(seen.index.order), bool)
    for kind, ask in enumerate(asks):
        if ask > 0:
            usable |= seen.caps[kind] > 0
    if resource in seen.room:
        offered = np.where(usable, np.maximum(seen.room[resource][seen.index.order], 0), 0)
    else:
        offered = _none(seen.index)
    if len(offered) and int(offered.max()) * len(offered) >= _SUM_LIMIT:
        return np.full(len(seen.index.domains), _SUM_LIMIT, np.int64)
    return _smallest_first(seen.index.sums(offered), each, asks)


def _most_by_dominance(seen: Field, each: Sequence[Ints], small: int) -> Ints:
    """No more members than the places for one kind allow, when a member of another kind takes w of its
    places.

    w = the least ratio of the requests, 0 where the other kind may use a node of the domain that this one
    may not.
    """
    wanted = [(resource, amount) for resource, amount in seen.kinds[small].requests if amount > 0]
    weights: list[Ints] = []
    for kind, other in enumerate(seen.kinds):
        asks = dict(other.requests)
        weight = min((asks.get(resource, 0) // amount for resource, amount in wanted), default=0)
        weights.append(np.where(_strays(seen, kind, small), 0, min(weight, COUNT_LIMIT)))
    return _smallest_first_weighted(seen.sums[small], each, weights)


def _strays(seen: Field, kind: int, other: int) -> Bools:
    """Per domain: whether a member of ``kind`` may be on a node that one of ``other`` may not use."""
    if np.array_equal(seen.bars[kind], seen.bars[other]):
        return np.zeros(len(seen.index.domains), bool)
    strays: Bools = seen.index.sums(((seen.caps[kind] > 0) & ~seen.eligible(other)).astype(np.int64)) > 0
    return strays


def _smallest_first(supply: Ints, each: Sequence[Ints], asks: Sequence[int]) -> Ints:
    """Per domain: most members that ``supply`` feeds when kind k asks ``asks[k]`` and has ``each[k]``
    members.
    """
    left = supply.copy()
    fed = np.zeros(len(supply), np.int64)
    for kind in sorted(range(len(asks)), key=lambda k: asks[k]):
        if asks[kind] == 0:
            fed += each[kind]
            continue
        take = np.minimum(each[kind], left // asks[kind])
        left -= take * asks[kind]
        fed += take
    return fed


def _smallest_first_weighted(supply: Ints, each: Sequence[Ints], asks: Sequence[Ints]) -> Ints:
    """As ``_smallest_first`` with an ask that differs by domain."""
    asked = np.stack(asks)
    order = np.argsort(asked, axis=0, kind="stable")
    members = np.take_along_axis(np.stack(each), order, axis=0)
    asked = np.take_along_axis(asked, order, axis=0)
    left = supply.copy()
    fed = np.zeros(len(supply), np.int64)
    for ask, count in zip(asked, members, strict=True):
        take = np.where(ask > 0, np.minimum(count, left // np.maximum(ask, 1)), count)
        left -= take * ask
        fed += take
    return fed
