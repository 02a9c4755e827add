"""Why domains do not take a group: for all of them at once, as counts. No sentence is made here.

``DomainCount`` says what each number means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from scheduling.engine.capacity import Field, Room, emptied, unbarred
from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Ints
from scheduling.engine.decision import DomainCount
from scheduling.engine.eligibility import BAR_CODE, BAR_REASON, BY_PODS, Bar
from scheduling.engine.mixed import first_fit
from scheduling.engine.packing import Packing
from scheduling.engine.pairwise import never
from scheduling.engine.pairwise_rules import Rules
from scheduling.engine.reasons import Reason
from scheduling.engine.state import ClusterState

_MOST = 1 << 58
"""What the members of one kind can be said to lack at most: absurd requests must not overflow."""

_FAR = np.iinfo(np.int64).max

_BLAME = (Bar.NOT_READY, Bar.CORDONED, Bar.TAINT, Bar.SELECTOR, Bar.AFFINITY)
"""Which bar is named when lifting any of several would do: the one that most often ends by itself first."""

_REASONS: tuple[str, ...] = (
    "",
    Reason.NOT_FOUND_BY_HEURISTIC,
    Reason.CAPACITY,
    *(BAR_REASON[bar] for bar in _BLAME),
    Reason.NEVER_FITS,
)
"""Why a domain is short, the most hopeful first: the order of domains that hold equally many members."""

_FEASIBLE, _NOT_FOUND, _CAPACITY, _BARRED, _NEVER = 0, 1, 2, 3, len(_REASONS) - 1


@dataclass(frozen=True, slots=True)
class Pairs:
    """``now``: what pods say about where members may go; ``alone``: when all but the group's own are gone.
    ``exhausted``: domains of which a search has shown that they do not take the group.
    """

    now: Rules
    alone: Rules
    exhausted: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Filled:
    """Every domain with as many members in as are known to fit. ``takes``: per kind, per position;
    ``placed``: per domain; ``missing_kind``: per domain, the first kind (in member order) of which some are
    still out.
    """

    takes: tuple[Ints, ...]
    placed: Ints
    missing_kind: Ints


def shortfalls(
    state: ClusterState,
    seen: Field,
    own: Room,
    bound: int,
    missing: int,
    tried: Mapping[int, Packing],
    pairs: Pairs | None = None,
) -> tuple[DomainCount, ...]:
    """One count per domain of the field, best first: most members in, then the reason that ends soonest,
    then name.

    ``own``: what bound members hold; ``bound``: how many they are; ``missing``: members to be placed at once;
    ``tried``: the packings that a heuristic tried, by domain; ``pairs``: None when pods restrict nothing.
    """
    if not seen.index.domains:
        return ()
    filled = _fill(seen, tried)
    codes = _codes(state, seen, own, missing, filled.placed, pairs)
    short = np.maximum(missing - filled.placed, 0)
    lacks = _lacks(seen, filled, short)
    causes = _causes(seen, filled, pairs)
    eligible = seen.index.sums(_any_eligible(seen).astype(np.int64)).tolist()
    sizes, fits, out = seen.index.sizes.tolist(), (filled.placed + bound).tolist(), short.tolist()
    order = np.lexsort((np.arange(len(codes)), codes, -filled.placed))
    return tuple(
        DomainCount(
            seen.index.domains[domain],
            sizes[domain],
            eligible[domain],
            fits[domain],
            out[domain],
            _REASONS[codes[domain]],
            lacks[domain],
            causes[domain],
            bool(codes[domain] == _NEVER),
        )
        for domain in order.tolist()
    )


def _any_eligible(seen: Field) -> Bools:
    usable = np.zeros(len(seen.index.order), bool)
    for kind in range(len(seen.kinds)):
        usable |= seen.eligible(kind)
    return usable


def _fill(seen: Field, tried: Mapping[int, Packing]) -> _Filled:
    """The packings that were tried; every other domain filled node by node, the smallest kind first, which is
    certain to fit, and with one kind only is all that fits.
    """
    counts = np.array([[len(kind.pods)] for kind in seen.kinds], np.int64)
    takes = first_fit(seen)
    for domain, packing in tried.items():
        for kind, take in enumerate(packing.takes):
            takes[kind][seen.index.slice(domain)] = take
    inside = np.stack([seen.index.sums(take) for take in takes])
    return _Filled(takes, inside.sum(axis=0), (inside < counts).argmax(axis=0))


def _codes(
    state: ClusterState, seen: Field, own: Room, missing: int, placed: Ints, pairs: Pairs | None
) -> Ints:
    """Per domain: room now, room when empty, room when empty and open to all; the first that would do names
    the reason.
    """
    most = pairs.now.most if pairs else Field.most
    empty = emptied(state, seen, own)
    if pairs:
        empty = pairs.alone.applied(state, unbarred(empty, BY_PODS))
    open_to_all = unbarred(empty, _BLAME)
    when_empty = most(empty) >= missing
    when_open = most(open_to_all) >= missing
    codes = np.full(len(placed), _NEVER, np.int64)
    if (when_open & ~when_empty).any():
        codes = np.where(when_open, _blamed(empty, missing, most), codes)
    codes[when_empty] = _CAPACITY
    maybe = most(seen) >= missing
    if pairs:
        maybe[sorted(pairs.exhausted)] = False
        tight = frozenset(np.flatnonzero(~maybe & (codes == _CAPACITY)).tolist()) & pairs.exhausted
        codes[sorted(never(pairs.alone, open_to_all, missing, tight))] = _NEVER
    codes[maybe] = _NOT_FOUND
    codes[placed >= missing] = _FEASIBLE
    return codes


def _blamed(empty: Field, missing: int, most: Callable[[Field], Ints]) -> Ints:
    """Per domain: the bar that would do if lifted alone; when none would, the one on the most nodes."""
    counts = np.stack([_barred_nodes(empty, bar) for bar in _BLAME])
    blamed: Ints = counts.argmax(axis=0) + _BARRED
    for place, bar in reversed(list(enumerate(_BLAME))):
        blamed[most(unbarred(empty, (bar,))) >= missing] = place + _BARRED
    return blamed


def _barred_nodes(seen: Field, bar: Bar) -> Ints:
    hit = np.zeros(len(seen.index.order), bool)
    for bars in seen.bars:
        hit |= bars == bar
    return seen.index.sums(hit.astype(np.int64))


def _lacks(seen: Field, filled: _Filled, short: Ints) -> list[tuple[tuple[str, int], ...]]:
    """Per domain: (resource, amount) that the missing members lack in what is left of the nodes they may
    use.
    """
    demand = _demand(seen, filled, short)
    usable = _any_eligible(seen)
    lacking: dict[str, Ints] = {}
    for resource, wanted in demand.items():
        left = np.where(usable, np.maximum(_left(seen, filled, resource), 0), 0)
        lacking[resource] = np.maximum(wanted - seen.index.sums(left), 0)
    as_a_whole = np.stack(list(lacking.values())).sum(axis=0) > 0
    pieces = _nearest(seen, filled)
    return _rows(
        {
            resource: np.where(short > 0, np.where(as_a_whole, lacking[resource], pieces[resource]), 0)
            for resource in lacking
        }
    )


def _demand(seen: Field, filled: _Filled, short: Ints) -> dict[str, Ints]:
    """Per resource and domain: what the first ``short`` members that are out ask for, in member order by
    kind.
    """
    demand: dict[str, Ints] = {}
    rest = short.copy()
    for kind, take in zip(seen.kinds, filled.takes, strict=True):
        out = np.minimum(len(kind.pods) - seen.index.sums(take), rest)
        rest = rest - out
        for resource, amount in kind.requests:
            each = min(amount, AMOUNT_LIMIT)
            asked = np.minimum(out, _MOST // max(each, 1)) * each
            demand[resource] = demand.get(resource, 0) + asked
    return demand


def _left(seen: Field, filled: _Filled, resource: str) -> Ints:
    """Per position: room of one resource with the members in; negative on over-committed nodes."""
    if resource not in seen.room:
        return np.zeros(len(seen.index.order), np.int64)
    left = seen.room[resource][seen.index.order].copy()
    for kind, take in zip(seen.kinds, filled.takes, strict=True):
        left -= take * min(dict(kind.requests).get(resource, 0), AMOUNT_LIMIT)
    return left


def _nearest(seen: Field, filled: _Filled) -> dict[str, Ints]:
    """Per resource and domain: the least that any usable node lacks of it for one more member of the
    missing kind.
    """
    nearest: dict[str, Ints] = {}
    for kind, member in enumerate(seen.kinds):
        here = filled.missing_kind == kind
        for resource, amount in member.requests:
            lack = min(amount, AMOUNT_LIMIT) - _left(seen, filled, resource)
            lack = np.where(seen.eligible(kind) & (lack > 0), lack, _FAR)
            least = np.minimum.reduceat(lack, seen.index.starts)
            known = nearest.get(resource, np.zeros(len(here), np.int64))
            nearest[resource] = np.where(here & (least < _FAR), least, known)
    return nearest


def _causes(seen: Field, filled: _Filled, pairs: Pairs | None) -> list[tuple[tuple[str, int], ...]]:
    """Per domain: nodes barred, and nodes without room for one more, both for the missing kind; by code."""
    counted: dict[str, Ints] = {}
    for kind, member in enumerate(seen.kinds):
        here = filled.missing_kind == kind
        open_to = seen.eligible(kind)
        hits: dict[str, Bools] = {code: seen.bars[kind] == bar for bar, code in BAR_CODE.items()}
        for bar, kept_off in (pairs.now.kept_off(seen, kind, filled.takes) if pairs else {}).items():
            hits[BAR_CODE[bar]] |= open_to & kept_off
        for resource, amount in member.requests:
            hits[f"{Reason.CAPACITY}:{resource}"] = open_to & (
                _left(seen, filled, resource) < min(amount, AMOUNT_LIMIT)
            )
        for code, hit in hits.items():
            if hit.any():
                nodes = np.where(here, seen.index.sums(hit.astype(np.int64)), 0)
                counted[str(code)] = counted.get(str(code), np.zeros(len(here), np.int64)) + nodes
    return _rows(counted) if counted else [()] * len(seen.index.domains)


def _rows(columns: Mapping[str, Ints]) -> list[tuple[tuple[str, int], ...]]:
    """Per domain the (name, number) pairs that are not 0, by name; equal rows are one object."""
    names = sorted(columns)
    made: dict[tuple[int, ...], tuple[tuple[str, int], ...]] = {}
    rows: list[tuple[tuple[str, int], ...]] = []
    for numbers in zip(*(columns[name].tolist() for name in names), strict=True):
        row = made.get(numbers)
        if row is None:
            row = made[numbers] = tuple(pair for pair in zip(names, numbers, strict=True) if pair[1])
        rows.append(row)
    return rows
