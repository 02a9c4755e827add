"""How many members of each kind every node and every domain takes, and how many of all kinds together at
most.

The count for one kind is exact, since members of one shape are interchangeable. For several kinds ``most``
is an upper bound only: what exceeds it is proved not to fit; what does not is still to be found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Columns, Ints
from scheduling.engine.eligibility import Bar
from scheduling.engine.roster import Kind
from scheduling.engine.shapes import COUNT_LIMIT, Bars, DomainCounts, ShapeView, per_row
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import TopologyIndex

_SUM_LIMIT = 1 << 62

_NONE = int(Bar.NONE)

Room = Mapping[str, Ints]
"""resource -> amount per row of the columns."""


class Field:
    """The candidate nodes as the kinds of one group see them; to be read before the state changes next.

    ``room``: what counts as free, per row. ``sums``: per kind, how many of it each domain takes alone.
    ``kept``: per kind, what the state keeps of it and of its domains; nothing for a part of an index or for
    nodes that are only thought of.
    """

    def __init__(
        self,
        index: TopologyIndex,
        kinds: Sequence[Kind],
        bars: Sequence[Bars],
        room: Room,
        row_caps: Sequence[Ints],
        kept: Sequence[tuple[ShapeView, DomainCounts]] = (),
    ) -> None:
        self.index = index
        self.kinds = kinds
        self.room = room
        self.kept = kept
        self._row_bars = bars
        self._row_caps = row_caps
        self.sums = (
            tuple(counts.places for _, counts in kept)
            if kept
            else tuple(index.sums(cap) for cap in self.caps)
        )

    @cached_property
    def bars(self) -> tuple[Bars, ...]:
        """Per kind, per position of the index, an ``eligibility.Bar``."""
        return tuple(self.index.take(bars) for bars in self._row_bars)

    @cached_property
    def caps(self) -> tuple[Ints, ...]:
        """Per kind, how many of it each position takes alone."""
        return tuple(self.index.take(caps) for caps in self._row_caps)

    def eligible_in(self, kind: int) -> Ints:
        """Per domain, nodes that a kind may use, room apart."""
        if self.kept:
            return self.kept[kind][1].eligible
        return self.index.sums(self.eligible(kind).astype(np.int64))

    def caps_at(self, kind: int, rows: Ints) -> Ints:
        """The same for some rows of the columns."""
        return self._row_caps[kind][rows]

    def open_at(self, kind: int, rows: Ints) -> Bools:
        """Whether a kind may use some rows of the columns, room apart."""
        open_to: Bools = self._row_bars[kind][rows] == _NONE
        return open_to

    def eligible(self, kind: int) -> Bools:
        """Per position, whether a kind may use the node, room apart."""
        return self._open[kind]

    @cached_property
    def _open(self) -> tuple[Bools, ...]:
        if self.kept:
            return tuple(self.index.take(view.open) for view, _ in self.kept)
        return tuple(bars == _NONE for bars in self.bars)

    @cached_property
    def all_open(self) -> bool:
        """Whether every kind may use every node."""
        sizes = self.index.sizes
        return all(np.array_equal(self.eligible_in(kind), sizes) for kind in range(len(self.kinds)))

    @cached_property
    def asks(self) -> tuple[tuple[str, ...], Ints]:
        """The resources that the kinds request, sorted, and how much of them: [kind, resource]."""
        requests = [dict(kind.requests) for kind in self.kinds]
        resources = tuple(sorted({resource for asked in requests for resource in asked}))
        rows = [[min(asked.get(resource, 0), AMOUNT_LIMIT) for resource in resources] for asked in requests]
        return resources, np.array(rows, np.int64).reshape(len(requests), len(resources))

    @cached_property
    def bound(self) -> Ints:
        """Upper bound per domain of members that can be in it at once; exact for one kind."""
        return _most(self)

    def most(self) -> Ints:
        return self.bound

    def like(self, bars: Sequence[Bars], room: Room) -> Field:
        """The same nodes and kinds with other bars (per row) or other room."""
        rows = len(bars[0]) if bars else 0
        caps = [
            np.where(bar == Bar.NONE, per_row(room, rows, kind.requests), 0)
            for kind, bar in zip(self.kinds, bars, strict=True)
        ]
        return Field(self.index, self.kinds, bars, room, caps)

    def emptied(self, alloc: Room, own: Room) -> Field:
        """The same nodes with every pod gone but the group's own; ``alloc``: what nodes offer, ``own``: what
        those hold, per row.
        """
        room = {
            resource: alloc[resource] - own[resource] if resource in own else alloc[resource]
            for resource in alloc
        }
        return self.like(self._row_bars, room)

    def barred(self, bars: Sequence[Bars]) -> Field:
        """The same nodes with more bars, per kind and row; those that are there already count first."""
        added = [np.where(old == _NONE, new, old) for old, new in zip(self._row_bars, bars, strict=True)]
        return self.like(added, self.room)

    def unbarred(self, lifted: Sequence[Bar]) -> Field:
        """The same nodes with some bars lifted."""
        bars = [np.where(np.isin(bars, lifted), np.int8(Bar.NONE), bars) for bars in self._row_bars]
        return self.like(bars, self.room)


def field(state: ClusterState, index: TopologyIndex, kinds: Sequence[Kind]) -> Field:
    """The nodes as they are now; ``index``: the current one of its key, or a part of it."""
    bars = [state.bars(kind.eligibility) for kind in kinds]
    kept = [state.shape(kind.requests, kind.eligibility, index.key) for kind in kinds]
    caps = [view.caps for view, _ in kept]
    whole = index is state.index(index.key)
    return Field(index, kinds, bars, state.columns.free, caps, kept if whole else ())


def emptied(state: ClusterState, now: Field, own: Room) -> Field:
    """See ``Field.emptied``."""
    return now.emptied(state.columns.alloc, own)


def unbarred(seen: Field, lifted: Sequence[Bar]) -> Field:
    """See ``Field.unbarred``."""
    return seen.unbarred(lifted)


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


def _none(index: TopologyIndex) -> Ints:
    return np.zeros(len(index.order), np.int64)


def _most(seen: Field) -> Ints:
    counts = np.array([len(kind.pods) for kind in seen.kinds], np.int64)
    each = np.minimum(np.array(seen.sums), counts[:, None])
    bound: Ints = each.sum(axis=0)
    if len(seen.kinds) < 2 or not len(bound):
        return bound
    _, asks = seen.asks
    supply = _supply(seen)
    weights = _weights(asks)
    # Where everybody's demand is met nothing is bounded; only the rest needs a closer look.
    sure = int(asks.max()) * int(each.max()) * len(each) < _SUM_LIMIT
    over = (asks.T @ each > supply).any(axis=1) if sure else np.ones(len(supply), bool)
    for resource in np.flatnonzero(over).tolist():
        np.minimum(bound, _smallest_first(supply[resource], each, asks[:, resource].tolist()), out=bound)
    sure = int(weights.max()) * int(each.max()) * len(each) < _SUM_LIMIT
    over = (weights @ each > np.array(seen.sums)).any(axis=1) if sure else np.ones(len(each), bool)
    for kind in np.flatnonzero(over).tolist():
        np.minimum(bound, _most_by_dominance(seen, each, kind, weights[kind].tolist()), out=bound)
    return bound


def _supply(seen: Field) -> Ints:
    """[resource, domain]: what there is of each requested resource on the nodes that some kind asking for it
    can use; a node below zero offers nothing.
    """
    resources, asks = seen.asks
    none = _none(seen.index)
    offered = np.array(
        [seen.index.take(seen.room[name]) if name in seen.room else none for name in resources]
    )
    np.maximum(offered, 0, out=offered)
    takes = np.array(seen.caps) > 0
    offered[~((asks.T > 0)[:, :, None] & takes).any(axis=1)] = 0
    supply: Ints = np.add.reduceat(offered, seen.index.starts, axis=1)
    unsure = offered.max(axis=1) >= _SUM_LIMIT // offered.shape[1]
    supply[unsure] = _SUM_LIMIT
    return supply


def _weights(asks: Ints) -> Ints:
    """[kind, other]: how many places for one kind a member of the other takes at least."""
    ratios = asks[None, :, :] // np.maximum(asks, 1)[:, None, :]
    ratios[np.broadcast_to((asks == 0)[:, None, :], ratios.shape)] = COUNT_LIMIT
    weights: Ints = np.minimum(ratios.min(axis=2), COUNT_LIMIT)
    return weights


def _most_by_dominance(seen: Field, each: Ints, small: int, weights: Sequence[int]) -> Ints:
    """No more members than the places for one kind allow, when a member of another kind takes w of its
    places.

    w = the least ratio of the requests, 0 where the other kind may use a node of the domain that this one
    may not.
    """
    asks = [np.where(_strays(seen, kind, small), 0, weight) for kind, weight in enumerate(weights)]
    return _smallest_first_weighted(seen.sums[small], each, asks)


def _strays(seen: Field, kind: int, other: int) -> Bools:
    """Per domain: whether a member of ``kind`` may be on a node that one of ``other`` may not use."""
    if np.array_equal(seen.bars[kind], seen.bars[other]):
        return np.zeros(len(seen.index.domains), bool)
    strays: Bools = seen.index.sums(((seen.caps[kind] > 0) & ~seen.eligible(other)).astype(np.int64)) > 0
    return strays


def _smallest_first(supply: Ints, each: Ints, asks: Sequence[int]) -> Ints:
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


def _smallest_first_weighted(supply: Ints, each: Ints, asks: Sequence[Ints]) -> Ints:
    """As ``_smallest_first`` with an ask that differs by domain."""
    asked = np.array(asks)
    order = np.argsort(asked, axis=0, kind="stable")
    members = np.take_along_axis(each, order, axis=0)
    asked = np.take_along_axis(asked, order, axis=0)
    left = supply.copy()
    fed = np.zeros(len(supply), np.int64)
    for ask, count in zip(asked, members, strict=True):
        take = np.where(ask > 0, np.minimum(count, left // np.maximum(ask, 1)), count)
        left -= take * ask
        fed += take
    return fed
