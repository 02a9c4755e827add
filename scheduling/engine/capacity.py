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
        return tuple(bars[self.index.order] for bars in self._row_bars)

    @cached_property
    def caps(self) -> tuple[Ints, ...]:
        """Per kind, how many of it each position takes alone."""
        return tuple(caps[self.index.order] for caps in self._row_caps)

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
        open_to: Bools = self._row_bars[kind][rows] == Bar.NONE
        return open_to

    def eligible(self, kind: int) -> Bools:
        open_to: Bools = self.bars[kind] == Bar.NONE
        return open_to

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
    if seen.kinds[kind].eligibility == seen.kinds[other].eligibility:
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
