"""Groups whose waiting members are all of one shape: counting answers exactly, for all domains at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduling.engine.capacity import Field
from scheduling.engine.columns import Bools, Ints
from scheduling.engine.packing import Packing


def ranking(seen: Field, whole: Bools, missing: int) -> tuple[Ints, Ints, Ints]:
    """The domains that take at least ``missing`` members, best first; how many each takes; wholly free
    nodes it breaks.

    Order: most members placed, fewest wholly free nodes broken, least capacity left, then name.
    """
    sums = seen.sums[0]
    wanted = np.minimum(sums, len(seen.kinds[0].pods))
    feasible = np.flatnonzero(sums >= missing)
    if not len(feasible):
        return feasible, wanted, np.zeros(len(sums), np.int64)
    broken = _broken(seen, whole, wanted)
    order = np.lexsort((feasible, (sums - wanted)[feasible], broken[feasible], -wanted[feasible]))
    return feasible[order], wanted, broken


def pack(seen: Field, whole: Bools, domain: int) -> Packing:
    """As many members as the domain takes, tightest node first: fewest places, then not wholly free, then
    name.
    """
    part = seen.index.slice(domain)
    caps, free = seen.caps[0][part], whole[part]
    want = min(int(caps.sum()), len(seen.kinds[0].pods))
    order = np.lexsort((np.arange(len(caps)), free, caps))
    take = fill(caps, order, want)
    return Packing(domain, (take,), want, int((free & (take > 0)).sum()), int(caps.sum()) - want)


def fill(caps: Ints, order: Ints | Sequence[int], want: int) -> Ints:
    """Members on each node when ``want`` of them go to the nodes in that order, each filled before the
    next.
    """
    ordered = caps[order]
    before = np.cumsum(ordered) - ordered
    take = np.zeros(len(caps), np.int64)
    take[order] = np.clip(want - before, 0, ordered)
    return take


def _broken(seen: Field, whole: Bools, wanted: Ints) -> Ints:
    """Per domain: wholly free nodes that ``pack`` would touch, without packing.

    Nodes equal in places and wholeness are interchangeable, so sorting values (domain, places, whole) is
    enough.
    """
    of, caps = seen.index.of, seen.caps[0]
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
