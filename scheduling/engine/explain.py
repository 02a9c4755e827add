"""Why domains do not take a group: for all of them at once, as counts. No sentence is made here.

``DomainCount`` says what each number means.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.capacity import Field, Room, emptied, unbarred
from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Ints
from scheduling.engine.counts import DomainRows
from scheduling.engine.decision import RESERVED
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

_NOTHING_HELD: Mapping[str, Sequence[int]] = {}

_FEASIBLE, _NOT_FOUND, _CAPACITY, _BARRED, _NEVER = 0, 1, 2, 3, len(_REASONS) - 1


@dataclass(frozen=True, slots=True)
class Pairs:
    """``now``: what pods say about where members may go; ``alone``: when all but the group's own are gone."""

    now: Rules
    alone: Rules


class _Filled:
    """Every domain with as many members in as are known to fit. ``takes``: per kind, per position;
    ``inside``: [kind, domain]; ``placed``: per domain; ``missing_kind``: per domain, the first kind (in
    member order) of which some are still out; ``usable``: per position, whether any kind may use it, None
    when all may use all.
    """

    def __init__(self, seen: Field, takes: tuple[Ints, ...]) -> None:
        counts = np.array([[len(kind.pods)] for kind in seen.kinds], np.int64)
        self.takes = takes
        full = takes is seen.caps
        self.inside = np.stack(seen.sums if full else [seen.index.sums(take) for take in takes])
        self.placed: Ints = self.inside.sum(axis=0)
        self.missing_kind = (self.inside < counts).argmax(axis=0)
        self.usable: Bools | None = None
        if not seen.all_open:
            self.usable = np.logical_or.reduce([seen.eligible(kind) for kind in range(len(seen.kinds))])
        self._seen = seen
        self._full = full
        resources, asks = seen.asks
        self._asks = dict(zip(resources, asks.T.tolist(), strict=True))
        self._left: dict[str, Ints] = {}

    def left(self, resource: str) -> Ints:
        """Per position, what is left with the members in; negative on over-committed nodes."""
        if resource not in self._left:
            left = self._room(resource).copy()
            for take, ask in zip(self.takes, self._asks[resource], strict=True):
                left -= take * ask
            self._left[resource] = left
        return self._left[resource]

    def left_in(self, resource: str) -> Ints:
        """Per domain, what is left on the nodes that may be used, together."""
        index = self._seen.index
        if self._full and self.usable is None:
            offered = index.sums(np.maximum(self._room(resource), 0))
            taken: Ints = self.placed * self._asks[resource][0]
            return offered - taken
        left = np.maximum(self.left(resource), 0)
        if self.usable is not None:
            left[~self.usable] = 0
        return index.sums(left)

    def lacking(self, kind: int, resource: str, more: Ints | int = 0) -> Bools:
        """Per position, whether too little is left for one member more of a kind, if there were ``more``."""
        ask = self._asks[resource][kind]
        lacking: Bools
        if self._full:
            lacking = self._room(resource) + more < (self.takes[0] + 1) * ask
        else:
            lacking = self.left(resource) + more < ask
        return lacking

    def _room(self, resource: str) -> Ints:
        if resource not in self._seen.room:
            return np.zeros(len(self._seen.index.order), np.int64)
        return self._seen.index.take(self._seen.room[resource])


def shortfalls(
    state: ClusterState,
    seen: Field,
    own: Room,
    bound: int,
    missing: int,
    tried: Mapping[int, Packing],
    refuted: Collection[int] = (),
    pairs: Pairs | None = None,
    held: Mapping[str, Sequence[int]] = _NOTHING_HELD,
) -> DomainRows | tuple[()]:
    """One count per domain of the field, best first: most members in, then the reason that ends soonest,
    then name.

    ``own``: what bound members hold; ``bound``: how many they are; ``missing``: members to be placed at once;
    ``tried``: the best packings known, by domain; ``refuted``: domains whose bound allows the group and that
    a search proved too small; ``pairs``: None when no pod restricts the members; ``held``: by reservation,
    the rows on which it keeps something off.
    """
    if not seen.index.domains:
        return ()
    filled = _fill(seen, tried)
    if pairs is None:
        codes = _codes(state, seen, own, missing, filled.placed, sorted(refuted))
    else:
        codes = _codes_of_pairs(state, seen, own, missing, filled.placed, frozenset(refuted), pairs)
    short = np.maximum(missing - filled.placed, 0)
    usable = filled.usable
    eligible = seen.index.sizes if usable is None else seen.index.sums(usable.astype(np.int64))
    return DomainRows(
        names=seen.index.domains,
        order=np.lexsort((codes, -filled.placed)),
        numbers=np.stack([seen.index.sizes, eligible, filled.placed + bound, short, codes]),
        reasons=_REASONS,
        never=_NEVER,
        lacks=_lacks(seen, filled, short),
        causes=_causes(seen, filled, pairs) | _reserved(state, seen, filled, held),
    )


def _fill(seen: Field, tried: Mapping[int, Packing]) -> _Filled:
    """The packings that were tried; every other domain filled node by node, the smallest kind first, which is
    certain to fit, and with one kind only is all that fits.
    """
    if not tried and len(seen.kinds) == 1 and not (seen.sums[0] > len(seen.kinds[0].pods)).any():
        return _Filled(seen, seen.caps)
    takes = first_fit(seen)
    for domain, packing in tried.items():
        for kind, take in enumerate(packing.takes):
            takes[kind][seen.index.slice(domain)] = take
    return _Filled(seen, takes)


def _codes(
    state: ClusterState, seen: Field, own: Room, missing: int, placed: Ints, refuted: Sequence[int]
) -> Ints:
    """Per domain: room now, room when empty, room when empty and open to all; the first that would do names
    the reason. What is refuted now is refuted for good where nothing could leave or be lifted.
    """
    if len(seen.kinds) == 1 and not own and seen.kept:
        view, _ = seen.kept[0]
        when_empty = view.places_when_empty(state.columns, seen.kinds[0].requests, seen.index) >= missing
    else:
        when_empty = emptied(state, seen, own).most() >= missing
    codes = np.full(len(placed), _NEVER, np.int64)
    if len(refuted) or not when_empty.all():
        empty = emptied(state, seen, own)
        when_open = unbarred(empty, _BLAME).most() >= missing
        for domain in refuted:
            when_empty[domain] &= _differs(seen, empty, domain)
            when_open[domain] &= when_empty[domain] or any(
                bars[seen.index.slice(domain)].any() for bars in seen.bars
            )
        if (when_open & ~when_empty).any():
            codes = np.where(when_open, _blamed(empty, missing), codes)
    codes[when_empty] = _CAPACITY
    undecided = seen.most() >= missing
    undecided[refuted] = False
    codes[undecided] = _NOT_FOUND
    codes[placed >= missing] = _FEASIBLE
    return codes


def _codes_of_pairs(
    state: ClusterState,
    seen: Field,
    own: Room,
    missing: int,
    placed: Ints,
    refuted: frozenset[int],
    pairs: Pairs,
) -> Ints:
    """As ``_codes``: in the empty domain no pod keeps members away but those of the group."""
    most = pairs.now.most
    empty = pairs.alone.applied(state, unbarred(emptied(state, seen, own), BY_PODS))
    open_to_all = unbarred(empty, _BLAME)
    codes = np.where(most(open_to_all) >= missing, _blamed(empty, missing, most), _NEVER)
    codes[most(empty) >= missing] = _CAPACITY
    tight = frozenset(np.flatnonzero(codes == _CAPACITY).tolist()) & refuted
    codes[sorted(never(pairs.alone, open_to_all, missing, tight))] = _NEVER
    undecided = most(seen) >= missing
    undecided[sorted(refuted)] = False
    codes[undecided] = _NOT_FOUND
    codes[placed >= missing] = _FEASIBLE
    return codes


def _differs(seen: Field, other: Field, domain: int) -> bool:
    """Whether a domain has other room for what the kinds ask for."""
    rows = seen.index.order[seen.index.slice(domain)]
    asked = {resource for kind in seen.kinds for resource, _ in kind.requests if resource in seen.room}
    return any((seen.room[resource][rows] != other.room[resource][rows]).any() for resource in asked)


def _blamed(empty: Field, missing: int, most: Callable[[Field], Ints] = Field.most) -> Ints:
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


def _lacks(seen: Field, filled: _Filled, short: Ints) -> dict[str, Ints]:
    """Per resource and domain: what the missing members lack in what is left of the nodes they may use; where
    the sums would do, what the nearest piece lacks for one.
    """
    lacking: dict[str, Ints] = {}
    as_a_whole = np.zeros(len(short), bool)
    for resource, wanted in _demand(seen, filled, short).items():
        lacking[resource] = np.maximum(wanted - filled.left_in(resource), 0)
        as_a_whole |= lacking[resource] > 0
    in_pieces = np.flatnonzero((short > 0) & ~as_a_whole)
    if len(in_pieces):
        for resource, nearest in _nearest(seen, filled, in_pieces).items():
            lacking[resource][in_pieces] = nearest
    return lacking


def _demand(seen: Field, filled: _Filled, short: Ints) -> dict[str, Ints]:
    """Per resource and domain: what the first ``short`` members that are out ask for, in member order by
    kind.
    """
    demand: dict[str, Ints] = {}
    rest = short.copy()
    for kind, inside in zip(seen.kinds, filled.inside, strict=True):
        out = np.minimum(len(kind.pods) - inside, rest)
        rest = rest - out
        for resource, amount in kind.requests:
            each = min(amount, AMOUNT_LIMIT)
            asked = np.minimum(out, _MOST // max(each, 1)) * each
            demand[resource] = demand.get(resource, 0) + asked
    return demand


def _nearest(seen: Field, filled: _Filled, domains: Ints) -> dict[str, Ints]:
    """Per resource and for some domains: the least that any usable node lacks of it for one more member of
    the missing kind.
    """
    nearest: dict[str, Ints] = {}
    sizes = seen.index.sizes[domains]
    starts = np.cumsum(sizes) - sizes
    part = np.arange(int(sizes.sum())) + np.repeat(seen.index.starts[domains] - starts, sizes)
    for kind, member in enumerate(seen.kinds):
        here = filled.missing_kind[domains] == kind
        open_to = seen.eligible(kind)[part]
        for resource, amount in member.requests:
            lack = min(amount, AMOUNT_LIMIT) - filled.left(resource)[part]
            lack[~open_to | (lack <= 0)] = _FAR
            least = np.minimum.reduceat(lack, starts)
            known = nearest.get(resource, np.zeros(len(domains), np.int64))
            nearest[resource] = np.where(here & (least < _FAR), least, known)
    return nearest


def _causes(seen: Field, filled: _Filled, pairs: Pairs | None) -> dict[str, Ints]:
    """Per code and domain: nodes barred, and nodes without room for one more, both for the missing kind."""
    counted: dict[str, Ints] = {}
    for kind, member in enumerate(seen.kinds):
        here = filled.missing_kind == kind
        open_to = seen.eligible(kind)
        barred = not open_to.all()
        hits: dict[str, Bools] = (
            {code: seen.bars[kind] == bar for bar, code in BAR_CODE.items()} if barred else {}
        )
        for bar, kept_off in (pairs.now.kept_off(seen, kind, filled.takes) if pairs else {}).items():
            hit = open_to & kept_off
            hits[BAR_CODE[bar]] = hits[BAR_CODE[bar]] | hit if barred else hit
        for resource, _ in member.requests:
            full = filled.lacking(kind, resource)
            hits[f"{Reason.CAPACITY}:{resource}"] = full & open_to if barred else full
        for code, hit in hits.items():
            nodes = np.add.reduceat(hit.view(np.int8), seen.index.starts, dtype=np.int64)
            if len(seen.kinds) > 1:
                nodes[~here] = 0
            counted[str(code)] = counted[str(code)] + nodes if str(code) in counted else nodes
    return counted


def _reserved(
    state: ClusterState, seen: Field, filled: _Filled, held: Mapping[str, Sequence[int]]
) -> dict[str, Ints]:
    """Per reservation and domain: nodes with a part of it that have no room for one member more of the
    missing kind, and would have if nothing were held for others.
    """
    if not held:
        return {}
    index, columns = seen.index, state.columns
    kept_off = np.zeros(columns.rows, bool)
    for kind, member in enumerate(seen.kinds):
        full, full_anyway = np.zeros(len(index.order), bool), np.zeros(len(index.order), bool)
        for resource, _ in member.requests:
            more = index.take(columns.held[resource]) if resource in columns.held else 0
            full |= filled.lacking(kind, resource)
            full_anyway |= filled.lacking(kind, resource, more)
        here = (filled.missing_kind == kind)[index.of]
        kept_off[index.order] |= full & ~full_anyway & seen.eligible(kind) & here
    counted = {}
    for id, rows in held.items():
        hit = [row for row in rows if kept_off[row]]
        if hit:
            counted[f"{RESERVED}:{id}"] = np.bincount(index.at[hit], minlength=len(index.domains))
    return counted
