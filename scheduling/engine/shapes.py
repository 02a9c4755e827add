"""How many members of each shape every node takes, kept from one decision to the next.

Lazy: an event writes the columns and notes the row. A shape looks at the rows noted since it was last asked
for, and at every row when they are many; a shape that nobody asks for costs nothing. The counts equal those
of a full rebuild after any history.

Copies of a state share what was counted: a view that another index may read is never written again, its next
change is made to a copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Columns, Ints
from scheduling.engine.eligibility import Bar
from scheduling.engine.topology import TopologyIndex

COUNT_LIMIT = 1 << 31
"""Counts of members on one node saturate here, so that sums and sort keys stay inside int64."""

KEPT = 256
"""Shapes kept at most, the least recently asked goes first."""

KEPT_ROWS = 1 << 23
"""Shapes times rows kept at most: 75 MB."""

Bars = NDArray[np.int8]
"""``eligibility.Bar`` per row of the columns; meaningless on vacant rows."""

_ORDINARY = ("cpu", "memory", "ephemeral-storage", "pods")


@dataclass(slots=True)
class DomainCounts:
    """Per domain of one topology key. ``places``: members it takes; ``in_parts``: of them, on nodes not
    wholly free; ``eligible``: nodes that such members may use, room apart.
    """

    index: TopologyIndex
    places: Ints
    in_parts: Ints
    eligible: Ints


@dataclass(slots=True)
class ShapeView:
    """One shape on all nodes. ``caps``: per row, members it takes; ``whole``: per row, whether it is wholly
    free for this shape; ``open``: per row, whether such members may use it; ``top``: no row takes more;
    ``domains``: the same per topology key; ``empty``: members that each domain would take without any pod,
    for one offer of the nodes. ``shared``: others read it, so it is not written any more.
    """

    version: int
    caps: Ints
    whole: Bools
    open: Bools
    top: int
    domains: dict[str | None, DomainCounts]
    shared: bool = False
    empty: tuple[object, TopologyIndex, Ints] | None = None

    def places_when_empty(self, columns: Columns, requests: Requests, index: TopologyIndex) -> Ints:
        """Members of the shape, per domain, if every pod were gone; kept while nodes offer the same."""
        kept = self.empty
        if kept is None or kept[0] is not columns.offer or kept[1] is not index:
            caps = np.where(self.open, per_row(columns.alloc, columns.rows, requests), 0)
            kept = self.empty = (columns.offer, index, index.sums(index.take(caps)))
        return kept[2]

    def copy(self) -> ShapeView:
        domains = {
            key: DomainCounts(one.index, one.places.copy(), one.in_parts.copy(), one.eligible.copy())
            for key, one in self.domains.items()
        }
        return ShapeView(
            self.version,
            self.caps.copy(),
            self.whole.copy(),
            self.open.copy(),
            self.top,
            domains,
            empty=self.empty,
        )


Requests = tuple[tuple[str, int], ...]


class ShapeIndex:
    """Views by (requests, class of eligibility), for one state."""

    def __init__(self) -> None:
        self._views: dict[tuple[Requests, object], ShapeView] = {}
        self._published: dict[tuple[Requests, object], ShapeView] = {}
        self._line: object = None

    def fork(self, line: object) -> ShapeIndex:
        """An index of a copy of the state, whose columns share ``line``. What either counts before it changes
        serves the other too.
        """
        for view in self._views.values():
            view.shared = True
        self._follow(line)
        self._published.update(self._views)
        other = ShapeIndex()
        other._published = self._published
        other._line = self._line
        return other

    def view(
        self,
        columns: Columns,
        requests: Requests,
        eligibility: object,
        bars: Bars,
        key: str | None,
        indexes: Mapping[str | None, TopologyIndex],
    ) -> tuple[ShapeView, DomainCounts]:
        """The shape as it is now, and per domain of ``key``; ``indexes``: the current ones, by key."""
        self._follow(columns.line)
        name = (requests, eligibility)
        view = self._views.pop(name, None) or self._published.get(name)
        view = _current(view, columns, requests, bars, key, indexes)
        self._views[name] = view
        if columns.line_is_shared and not view.shared:
            view.shared = True
            self._published.pop(name, None)
            self._published[name] = view
            _forget(self._published, columns.rows)
        _forget(self._views, columns.rows)
        return view, view.domains[key]

    def _follow(self, line: object) -> None:
        """Part from those with whom views were shared, once the columns have changed."""
        if self._line is not line:
            self._line, self._published = line, self._published.copy()


def _forget(views: dict[tuple[Requests, object], ShapeView], rows: int) -> None:
    while len(views) > 1 and (len(views) > KEPT or len(views) * rows > KEPT_ROWS):
        del views[next(iter(views))]


def _current(
    view: ShapeView | None,
    columns: Columns,
    requests: Requests,
    bars: Bars,
    key: str | None,
    indexes: Mapping[str | None, TopologyIndex],
) -> ShapeView:
    rows = columns.changed_since(view.version) if view is not None else None
    if view is None or rows is None or len(view.caps) != columns.rows:
        view = _counted(columns, requests, bars)
    elif len(rows):
        if view.shared:
            view = view.copy()
        _recount(view, columns, requests, bars, rows, indexes)
        view.version = columns.version
    index, known = indexes[key], view.domains.get(key)
    if known is None or known.index is not index:
        if view.shared:
            view = view.copy()
        view.domains[key] = _by_domain(view, index)
    return view


def per_row(
    room: Mapping[str, Ints], rows: int, requests: Requests, part: Ints | slice = slice(None)
) -> Ints:
    """Members that each of ``rows`` rows takes, those of ``part``, eligibility apart. A resource nobody has
    is 0 everywhere; a resource that is not requested is not looked at, over-committed or not.
    """
    caps = np.full(rows, COUNT_LIMIT, np.int64)
    for resource, amount in requests:
        column = room.get(resource)
        if column is None:
            return np.zeros(rows, np.int64)
        if amount > 0:
            np.minimum(caps, column[part] // min(amount, AMOUNT_LIMIT), out=caps)
    return np.maximum(caps, 0, out=caps)


def wholly_free_rows(
    columns: Columns, requests: Sequence[Requests], rows: Ints | slice = slice(None)
) -> Bools:
    """Per row: devices that are asked for, all unused; when none is asked for, no pod at all.

    Every node runs some pod of the platform, so that "no pod at all" would see no whole node where whole
    nodes matter.
    """
    devices = sorted({resource for asked in requests for resource, _ in asked if is_device(resource)})
    if not devices:
        unused: Bools = columns.pods_on[rows] == 0
        return unused
    idle = np.ones(len(columns.pods_on[rows]), bool)
    offers = np.zeros(len(idle), bool)
    for resource in devices:
        if resource in columns.alloc:
            alloc = columns.alloc[resource][rows]
            idle &= columns.free[resource][rows] == alloc
            offers |= alloc > 0
    return idle & offers


def is_device(resource: str) -> bool:
    """Whether a node that has none of it in use is a whole one for whoever asks for it."""
    return resource not in _ORDINARY and not resource.startswith("hugepages-")


def _counted(columns: Columns, requests: Requests, bars: Bars) -> ShapeView:
    open_to = bars == int(Bar.NONE)
    caps = per_row(columns.free, columns.rows, requests)
    caps[~open_to] = 0
    whole = wholly_free_rows(columns, (requests,))
    return ShapeView(columns.version, caps, whole, open_to, int(caps.max(initial=0)), {})


def _by_domain(view: ShapeView, index: TopologyIndex) -> DomainCounts:
    caps = index.take(view.caps)
    return DomainCounts(
        index,
        index.sums(caps),
        index.sums(np.where(index.take(view.whole), 0, caps)),
        index.sums(index.take(view.open).astype(np.int64)),
    )


def _recount(
    view: ShapeView,
    columns: Columns,
    requests: Requests,
    bars: Bars,
    rows: Ints,
    indexes: Mapping[str | None, TopologyIndex],
) -> None:
    """Look at some rows again, in place. Counts per domain of an index that is no longer are dropped."""
    open_to = bars[rows] == int(Bar.NONE)
    caps = per_row(columns.free, len(rows), requests, rows)
    caps[~open_to] = 0
    whole = wholly_free_rows(columns, (requests,), rows)
    old, was, was_open = view.caps[rows], view.whole[rows], view.open[rows]
    view.caps[rows] = caps
    view.whole[rows] = whole
    view.top = max(view.top, int(caps.max(initial=0)))
    in_parts = np.where(whole, 0, caps) - np.where(was, 0, old)
    opened = (open_to != was_open).any()
    if opened:
        view.open[rows] = open_to
    for key, counts in list(view.domains.items()):
        if indexes.get(key) is not counts.index:
            del view.domains[key]
            continue
        where = counts.index.at[rows]
        if where.min() < 0:
            inside = np.flatnonzero(where >= 0)
            where = where[inside]
        else:
            inside = np.arange(len(rows))
        np.add.at(counts.places, where, (caps - old)[inside])
        np.add.at(counts.in_parts, where, in_parts[inside])
        if opened:
            np.add.at(counts.eligible, where, (open_to.astype(np.int64) - was_open)[inside])
