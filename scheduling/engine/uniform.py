"""Groups whose waiting members are all of one shape: counting answers exactly, for all domains at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.capacity import Field
from scheduling.engine.columns import Bools, Columns, Ints
from scheduling.engine.packing import Packing
from scheduling.engine.shapes import wholly_free_rows

_BLOCK = 32
"""Domains whose nodes are looked at together, at first."""

_KEY_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Ranking:
    """``best``: domains that take enough members, best first, as many as were asked for; ``takes``: how many
    each takes; ``broken``: wholly free nodes that it breaks; ``feasible``: how many such domains there are.
    """

    best: tuple[int, ...] = ()
    takes: tuple[int, ...] = ()
    broken: tuple[int, ...] = ()
    feasible: int = 0


def ranking(columns: Columns, seen: Field, missing: int, shown: int) -> Ranking:
    """The ``shown`` best domains for at least ``missing`` members.

    Order: most members placed, fewest wholly free nodes broken, least capacity left, then name. Wholly free
    nodes are counted only in domains that could be among the best: what the other nodes cannot take must go
    onto them, which bounds their number from below.
    """
    sums, members = seen.sums[0], len(seen.kinds[0].pods)
    enough = sums >= missing
    count = int(np.count_nonzero(enough))
    if not count:
        return Ranking()
    # Domains that take everybody go before all others; where they are enough, the others need no look.
    all_in = sums >= members
    feasible = np.flatnonzero(all_in if np.count_nonzero(all_in) >= shown else enough)
    places = sums[feasible]
    wanted = np.minimum(places, members)
    left = places - wanted
    least = _least_broken(columns, seen, feasible, wanted)
    best: list[tuple[int, int, int, int]] = []
    for block in _in_order(wanted, least, left):
        broken = _broken(columns, seen, feasible[block], wanted[block])
        best += zip(
            (-wanted[block]).tolist(),
            broken.tolist(),
            left[block].tolist(),
            feasible[block].tolist(),
            strict=True,
        )
        best = sorted(best)[:shown]
        last = block[-1]
        if len(best) == shown and best[-1] <= (-wanted[last], least[last], left[last], feasible[last]):
            break  # whatever comes after the last of the block can only be worse than what it is bounded by
    return Ranking(
        best=tuple(domain for *_, domain in best),
        takes=tuple(-placed for placed, *_ in best),
        broken=tuple(broken for _, broken, *_ in best),
        feasible=count,
    )


def pack(columns: Columns, seen: Field, domain: int) -> Packing:
    """As many members as the domain takes, tightest node first: fewest places, then not wholly free, then
    name.
    """
    rows = seen.index.order[seen.index.slice(domain)]
    caps, free = seen.caps_at(0, rows), _whole(columns, seen, rows)
    want = min(int(caps.sum()), len(seen.kinds[0].pods))
    order = np.lexsort((free, caps))
    take = fill(caps, order, want)
    return Packing(domain, (take,), want, int((free & (take > 0)).sum()), int(caps.sum()) - want)


def fill(caps: Ints, order: Ints | Sequence[int], want: int) -> Ints:
    """Members on each node when ``want`` of them go to the nodes in that order, each filled before the
    next.
    """
    ordered = caps[order]
    room = ordered.cumsum()
    np.subtract(want, room, out=room)
    room += ordered  # what is still wanted when a node's turn comes
    np.maximum(room, 0, out=room)
    np.minimum(room, ordered, out=room)
    take = np.zeros(len(caps), np.int64)
    take[order] = room
    return take


def _whole(columns: Columns, seen: Field, rows: Ints) -> Bools:
    if seen.kept:
        kept: Bools = seen.kept[0][0].whole[rows]
        return kept
    return wholly_free_rows(columns, (seen.kinds[0].requests,), rows)


def _least_broken(columns: Columns, seen: Field, domains: Ints, wanted: Ints) -> Ints:
    """Per domain: no fewer wholly free nodes than this are broken, whatever the order of nodes."""
    if seen.kept:
        view, counts = seen.kept[0]
        in_parts, top = counts.in_parts[domains], view.top
    else:
        caps = seen.caps[0]
        in_parts = seen.index.sums(np.where(_whole(columns, seen, seen.index.order), 0, caps))[domains]
        top = int(caps.max())
    least: Ints = np.maximum(wanted - in_parts + (top - 1), 0) // top
    return least


def _in_order(wanted: Ints, least: Ints, left: Ints) -> Iterator[Ints]:
    """Places 0, 1, ... by most wanted, least broken, least left, then number, in blocks; all of them are
    sorted only if the first block did not do.
    """
    rest = np.arange(len(wanted))
    if len(rest) > _BLOCK:
        best, worst = int(wanted.max()), int(wanted.min())
        spans = int(least.max()) + 1, int(left.max()) + 1
        if (best - worst + 1) * spans[0] * spans[1] < _KEY_LIMIT:
            key = left if spans[0] == 1 else least * spans[1] + left
            if best > worst:
                key = (best - wanted) * (spans[0] * spans[1]) + key
            cut = np.partition(key, _BLOCK - 1)[_BLOCK - 1]
            first = np.flatnonzero(key <= cut)
            if len(first) > _BLOCK:
                ties = np.flatnonzero(key[first] == cut)
                first = np.delete(first, ties[len(ties) - (len(first) - _BLOCK) :])
            yield first[np.argsort(key[first], kind="stable")]
            later = np.ones(len(rest), bool)
            later[first] = False
            rest = rest[later]
    rest = rest[np.lexsort((rest, left[rest], least[rest], -wanted[rest]))]
    start, size = 0, _BLOCK
    while start < len(rest):
        yield rest[start : start + size]
        start, size = start + size, size * 2


def _broken(columns: Columns, seen: Field, domains: Ints, wanted: Ints) -> Ints:
    """Per domain: wholly free nodes that ``pack`` would touch, without packing.

    Nodes equal in places and wholeness are interchangeable, so sorting values (domain, places, whole) is
    enough.
    """
    sizes = seen.index.sizes[domains]
    before = np.cumsum(sizes) - sizes
    of = np.repeat(np.arange(len(domains)), sizes)
    rows = seen.index.order[np.arange(len(of)) + (seen.index.starts[domains] - before)[of]]
    caps, whole = seen.caps_at(0, rows), _whole(columns, seen, rows)
    takes_any = caps > 0
    span = int(caps.max()) + 1
    keys = (of[takes_any] * span + caps[takes_any]) * 2 + whole[takes_any]
    keys.sort()
    places, free = (keys >> 1) % span, keys & 1
    domain = (keys >> 1) // span
    running = np.cumsum(places) - places
    counts = np.bincount(domain, minlength=len(wanted))
    first = np.cumsum(counts) - counts
    base = np.append(running, 0)[first]
    touched = running - base[domain] < wanted[domain]
    return np.bincount(domain, weights=touched & (free == 1), minlength=len(wanted)).astype(np.int64)
