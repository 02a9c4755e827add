"""Which new nodes make a waiting group run: whole groups, whole domains, the cheapest first.

Counted from the columns, then decided: nothing is offered that was not decided on the state with the new
nodes, by the queue as a cycle would go through it, and of which one node could be left out.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from scheduling.engine import numa
from scheduling.engine.candidates import Candidates, Conflict, candidates
from scheduling.engine.capacity import field
from scheduling.engine.cuts import cut
from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.eligibility import Bar, bar
from scheduling.engine.growth import grown, new_node, room_to_grow
from scheduling.engine.model import Node
from scheduling.engine.node_types import GroupFit, NewNodes, NodeType, ScaleUpOption
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.queue import waiting
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import Kind, Roster, roster
from scheduling.engine.state import ClusterState

LIMIT = 6
"""Options that are offered."""

_TRIES_ALONE, _TRIES_MIXED = 150, 400
"""Decisions that one group may take in all domains together: for types alone, then for mixtures of them."""

_MIXTURES = 20_000
"""Mixtures of types that are counted in one domain."""

_WIDER = 16
"""Nodes more that are tried where groups before this one would take the first ones."""

_UNPRICED = 1 << 62


class NoHelp(StrEnum):
    """Why new nodes are no help to a group."""

    FITS = "fits"
    NOT_WAITING = "not_waiting"
    HELD = "held"
    QUOTA = "quota"
    CONFLICTED = "conflicted"
    UNMODELLED = "unmodelled"
    ZONES = "zones"
    NO_TYPES = "no_types"
    NO_GROWTH = "no_growth"
    NOT_TRIED_OUT = "not_tried_out"


class NotThisType(StrEnum):
    """Why a type is no help to a group."""

    NO_LABEL = "no_label"
    OTHER_DOMAIN = "other_domain"
    GROWN = "grown"
    SELECTOR = "selector"
    TAINT = "taint"
    TOO_SMALL = "too_small"
    NOT_ENOUGH = "not_enough"


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """``options``: the cheapest first, none where ``obstacle`` says why, about the group ``group``.
    ``refused``: types that do not help, each with why.
    """

    options: tuple[ScaleUpOption, ...] = ()
    obstacle: NoHelp | None = None
    group: str = ""
    refused: tuple[tuple[str, NotThisType], ...] = ()


def scale_up(state: ClusterState, keys: Sequence[str], *, limit: int = LIMIT) -> ScaleUp:
    """What new nodes of the defined types make the groups run; ``state`` is not changed.

    One group gets its cheapest option and others. Several get one option together, found in the order of the
    queue, each beside the nodes and members of those before it, so that no room is counted twice; that it is
    the cheapest is then not claimed.
    """
    queue = waiting(state)
    for key in keys:
        if key not in queue:
            return ScaleUp(obstacle=NoHelp.NOT_WAITING, group=key)
    ordered = [key for key in queue if key in keys]
    if len(ordered) == 1:
        return _for_one(state, ordered[0], limit)
    return _for_several(state, ordered)


def fits_after(state: ClusterState, steps: Sequence[NewNodes], keys: Sequence[str]) -> tuple[GroupFit, ...]:
    """Decide the queue on the state with the new nodes, up to the last of the groups: what became of each, ()
    unless all of them were placed.
    """
    ahead = grown(state, steps)
    left, fits = set(keys), []
    for key in waiting(ahead):
        if not left:
            break
        decision = decide(ahead, key)
        if key in left:
            if not decision.placed:
                return ()
            left.remove(key)
            fits.append(_fit(decision))
        if left:
            bind(ahead, decision)
    return () if left else tuple(fits)


def _fit(decision: Decision) -> GroupFit:
    return GroupFit(decision.key, decision.uid, decision.domain, decision.fits, decision.bound, decision.need)


def bind(ahead: ClusterState, decision: Decision) -> None:
    """Put the members where the decision has them."""
    zone = decision.domain if decision.enforced and decision.topology_key == NUMA_KEY else ""
    for uid, node in decision.assignments:
        ahead.bind(uid, node, zone)


def fewer_do(state: ClusterState, steps: Sequence[NewNodes], keys: Sequence[str]) -> tuple[NewNodes, ...]:
    """The steps without some one node, where that does too; () where every node is needed."""
    for place, step in enumerate(steps):
        less = [replace(step, count=step.count - 1)] if step.count > 1 else []
        fewer = (*steps[:place], *less, *steps[place + 1 :])
        if fits_after(state, fewer, keys):
            return fewer
    return ()


# ---------------------------------------------------------------- several groups

_Place = tuple[str, str, str]
"""Type, topology key, domain."""


def _for_several(state: ClusterState, keys: Sequence[str]) -> ScaleUp:
    ahead = state.fork()
    planned: dict[_Place, int] = {}
    for key in keys:
        decision = decide(ahead, key)
        if not decision.placed:
            found = _for_one(ahead, key, 1)
            if not found.options:
                return found
            for step in found.options[0].steps:
                place = (step.kind, step.key, step.domain)
                planned[place] = planned.get(place, 0) + step.count
            ahead = grown(ahead, found.options[0].steps)
            decision = decide(ahead, key)
        bind(ahead, decision)
    steps = tuple(NewNodes(*place, count) for place, count in sorted(planned.items()))
    if not steps:
        return ScaleUp(obstacle=NoHelp.FITS, group=keys[0])
    fits = fits_after(state, steps, keys)
    if not fits:
        return ScaleUp(obstacle=NoHelp.NOT_TRIED_OUT, group=keys[0])
    while fewer := fewer_do(state, steps, keys):
        steps, fits = fewer, fits_after(state, fewer, keys)
    return ScaleUp((_option(state, steps, fits, cheapest=False),))


# ---------------------------------------------------------------- one group


@dataclass(frozen=True, slots=True)
class _Source:
    """So many nodes of a type may come, ``room``; one takes ``caps`` members of each kind when it is empty.
    ``price``: see ``_Price``, of one node.
    """

    kind: NodeType
    key: str
    domain: str
    room: int
    caps: tuple[int, ...]

    @property
    def price(self) -> tuple[int, int, int]:
        return (1, 0, 1) if self.kind.cost is None else (0, self.kind.cost, 1)


_Price = tuple[int, int, int]
"""Nodes whose cost is not known, the cost of the others, nodes: compared in this order."""

_Counts = tuple[int, ...]
"""Nodes of each source of a domain."""


def _for_one(state: ClusterState, key: str, limit: int) -> ScaleUp:
    refusal = decide(state, key)
    if refusal.placed:
        return ScaleUp(obstacle=NoHelp.FITS, group=key)
    obstacle = no_help(state, key, refusal.verdict, refusal.reason)
    where = candidates(state, roster(state, key))
    if obstacle is not None or isinstance(where, Conflict):
        return ScaleUp(obstacle=obstacle or NoHelp.CONFLICTED, group=key)
    return _Search(state, key, refusal, where).found(limit)


def no_help(state: ClusterState, key: str, verdict: str, reason: str) -> NoHelp | None:
    """Why no new node can help a group that was refused so, as far as that is seen without a search."""
    if verdict == Verdict.HELD:
        return NoHelp.QUOTA if reason == Reason.QUOTA else NoHelp.HELD
    if verdict == Verdict.CONFLICTED:
        return NoHelp.CONFLICTED
    if reason == Reason.UNMODELLED:
        return NoHelp.UNMODELLED
    if numa.asked(state, key):
        return NoHelp.ZONES
    return None if state.records.of(NodeType) else NoHelp.NO_TYPES


class _Search:
    def __init__(self, state: ClusterState, key: str, refusal: Decision, where: Candidates) -> None:
        self._state = state
        self._key = key
        self._who: Roster = roster(state, key)
        self._kinds: Sequence[Kind] = self._who.kinds()
        self._scope = refusal.topology_key if refusal.enforced else ""
        self._where = where
        self._sums = field(state, where.index, self._kinds).sums
        self._refused: dict[str, NotThisType] = {}
        self._tries = _TRIES_ALONE

    def found(self, limit: int) -> ScaleUp:
        domains = self._domains()
        looks = [_Domain(self, domain, sources) for domain, sources in domains.items()]
        looks.sort(key=_Domain.try_alone)
        self._tries = _TRIES_MIXED
        offers = [offer for look in looks for offer in look.offers()]
        options: list[ScaleUpOption] = []
        for _, steps, cheapest in sorted(offers, key=lambda offer: offer[:2]):
            option = self._proved(steps, cheapest)
            if option is not None and all(option.steps != other.steps for other in options):
                options.append(option)
            if len(options) == limit:
                break
        useful = {step.kind for _, steps, _ in offers for step in steps}
        for source in (source for sources in domains.values() for source in sources):
            if source.kind.name not in useful:
                self._refused[source.kind.name] = NotThisType.NOT_ENOUGH
        refused = tuple(sorted(self._refused.items()))
        if options:
            options.sort(
                key=lambda option: (option.unpriced, option.cost, option.nodes, option.steps[0].domain)
            )
            return ScaleUp(tuple(options), refused=refused)
        obstacle = NoHelp.NO_GROWTH if not offers and self._tries > 0 else NoHelp.NOT_TRIED_OUT
        return ScaleUp(obstacle=obstacle, group=self._key, refused=refused)

    # --- where nodes may come

    def _domains(self) -> dict[str, list[_Source]]:
        """Sources by the domain that they add to; "" stands for all of them without a constraint."""
        found: dict[str, list[_Source]] = {}
        for kind in self._state.records.of(NodeType).values():
            sources = self._sources(kind)
            for source in sources:
                found.setdefault(source.domain if self._scope else "", []).append(source)
        return {
            domain: sorted(found[domain], key=lambda one: (one.price, one.kind.name))
            for domain in sorted(found)
        }

    def _sources(self, kind: NodeType) -> list[_Source]:
        """Notes why the type does not help where it has none."""
        places = sorted({(entry.key, entry.domain) for entry in kind.growth})
        if self._scope:
            places = [place for place in places if place[0] == self._scope]
        if not places:
            return self._refuse(kind, NotThisType.NO_LABEL)
        if self._where.pinned:
            places = [place for place in places if place[1] == self._where.index.domains[0]]
        if not places:
            return self._refuse(kind, NotThisType.OTHER_DOMAIN)
        rooms = {place: room_to_grow(self._state, kind.name, *place) for place in places}
        if not any(rooms.values()):
            return self._refuse(kind, NotThisType.GROWN)
        sources: list[_Source] = []
        why = NotThisType.GROWN
        for (key, domain), room in rooms.items():
            node = new_node(kind, key, domain, "new")
            caps = tuple(_takes(node, one) for one in self._kinds)
            if room and any(caps):
                sources.append(_Source(kind, key, domain, room, caps))
            elif room:
                why = self._bar(node)
        return sources or self._refuse(kind, why)

    def _refuse(self, kind: NodeType, why: NotThisType) -> list[_Source]:
        self._refused[kind.name] = why
        return []

    def _bar(self, node: Node) -> NotThisType:
        bars = {bar(node, kind.eligibility) for kind in self._kinds}
        if Bar.NONE in bars:
            return NotThisType.TOO_SMALL
        return NotThisType.TAINT if Bar.TAINT in bars else NotThisType.SELECTOR

    # --- whether so many do

    def may_do(self, domain: str, sources: Sequence[_Source], counts: _Counts) -> bool:
        """False where it is certain that they are too few; exact for one kind of members without terms about
        other pods.
        """
        index = self._where.index
        number = index.number.get(domain) if self._scope else (0 if index.domains else None)
        total = 0
        for place, kind in enumerate(self._kinds):
            there = int(self._sums[place][number]) if number is not None else 0
            more = sum(count * source.caps[place] for source, count in zip(sources, counts, strict=True))
            total += min(there + more, len(kind.pods))
        return total >= self._who.missing

    def part(self, domain: str) -> ClusterState:
        """What matters for the group in the domain: all of it where that is no matter of one domain."""
        if not self._scope or self._who.pairwise or self._state.ever_apart:
            return self._state
        return cut(self._state, self._key, [domain])

    def does(self, part: ClusterState, steps: Sequence[NewNodes]) -> bool:
        """Whether the group is placed with the new nodes, all others apart. False when no tries are left."""
        if self._tries <= 0:
            return False
        self._tries -= 1
        return decide(grown(part, steps), self._key).placed

    @property
    def worn_out(self) -> bool:
        return self._tries <= 0

    def _proved(self, steps: tuple[NewNodes, ...], cheapest: bool) -> ScaleUpOption | None:
        """The steps as an option once they have been decided on the whole state, in the queue. Where groups
        before this one would take the nodes, more of them are tried.
        """
        keys = [self._key]
        fits = fits_after(self._state, steps, keys)
        tried = 0
        while not fits and tried < _WIDER:
            tried += 1
            last = steps[-1]
            if last.count >= room_to_grow(self._state, last.kind, last.key, last.domain):
                return None
            steps = (*steps[:-1], replace(last, count=last.count + 1))
            fits, cheapest = fits_after(self._state, steps, keys), False
        while fits and (fewer := fewer_do(self._state, steps, keys)):
            steps, fits = fewer, fits_after(self._state, fewer, keys)
        return _option(self._state, steps, fits, cheapest=cheapest) if fits else None


class _Domain:
    """One domain: mixtures of its sources, from the cheapest on."""

    def __init__(self, search: _Search, domain: str, sources: Sequence[_Source]) -> None:
        self._search = search
        self._domain = domain
        self._sources = sources
        self._part: ClusterState | None = None
        self._alone_do: list[_Counts] = []
        self._all_tried = False

    def try_alone(self) -> tuple[bool, _Price, str]:
        """Look how many nodes of each type do without the others; the order in which domains are gone on
        with.
        """
        if self._may(tuple(source.room for source in self._sources)):
            found = (self._alone(place) for place in range(len(self._sources)))
            self._alone_do = sorted((counts for counts in found if counts is not None), key=self._price)
        self._all_tried = not self._search.worn_out
        return not self._alone_do, self._best or (0, 0, 0), self._domain

    @property
    def _best(self) -> _Price | None:
        return self._price(self._alone_do[0]) if self._alone_do else None

    def offers(self) -> Iterator[tuple[_Price, tuple[NewNodes, ...], bool]]:
        """The cheapest mixture, then each type alone where that does: price, steps, whether nothing cheaper
        was left untried.
        """
        if not self._may(tuple(source.room for source in self._sources)):
            return
        mixture, whole = self._mixture(self._best)
        whole = whole and self._all_tried and not self._search.worn_out
        if mixture is not None:
            yield self._price(mixture), self._steps(mixture), whole
        for counts in self._alone_do:
            cheapest = whole and mixture is None and self._price(counts) == self._best
            yield self._price(counts), self._steps(counts), cheapest

    def _alone(self, place: int) -> _Counts | None:
        """As few nodes of one source as do without the others."""
        room = self._sources[place].room
        least = self._least(place, room)
        if least is None:
            return None
        too_few, enough, stride = least - 1, least, 1
        while not self._does(self._only(place, enough)):
            if enough >= room:
                return None
            too_few, enough, stride = enough, min(enough + stride, room), 2 * stride
        while enough - too_few > 1:
            middle = (enough + too_few) // 2
            if self._does(self._only(place, middle)):
                enough = middle
            else:
                too_few = middle
        return self._only(place, enough)

    def _least(self, place: int, room: int) -> int | None:
        """The first number that is not certain to be too small, by halving."""
        if not self._may(self._only(place, room)):
            return None
        too_few, enough = 0, room
        while enough - too_few > 1:
            middle = (enough + too_few) // 2
            if self._may(self._only(place, middle)):
                enough = middle
            else:
                too_few = middle
        return enough

    def _mixture(self, below: _Price | None) -> tuple[_Counts | None, bool]:
        """The cheapest mixture of at least two types that does and costs less than ``below``; and whether all
        that cost less were looked at.
        """
        if len(self._sources) < 2:
            return None, True
        prices = [source.price for source in self._sources]
        heap: list[tuple[_Price, _Counts]] = [((0, 0, 0), (0,) * len(prices))]
        for _ in range(_MIXTURES):
            if not heap:
                return None, True
            price, counts = heapq.heappop(heap)
            if below is not None and price >= below:
                return None, True
            if sum(map(bool, counts)) > 1 and self._may(counts) and self._does(counts):
                return counts, not self._search.worn_out
            if self._search.worn_out:
                return None, False
            # Each mixture is reached once: nodes are added to its last type or to one behind it.
            last = max((place for place, count in enumerate(counts) if count), default=0)
            for place in range(last, len(prices)):
                if counts[place] < self._sources[place].room:
                    more = (*counts[:place], counts[place] + 1, *counts[place + 1 :])
                    heapq.heappush(heap, (_plus(price, prices[place]), more))
        return None, False

    def _only(self, place: int, count: int) -> _Counts:
        return tuple(count if other == place else 0 for other in range(len(self._sources)))

    def _may(self, counts: _Counts) -> bool:
        return self._search.may_do(self._domain, self._sources, counts)

    def _does(self, counts: _Counts) -> bool:
        if self._part is None:
            self._part = self._search.part(self._domain)
        return self._search.does(self._part, self._steps(counts))

    def _steps(self, counts: _Counts) -> tuple[NewNodes, ...]:
        return tuple(
            NewNodes(source.kind.name, source.key, source.domain, count)
            for source, count in zip(self._sources, counts, strict=True)
            if count
        )

    def _price(self, counts: _Counts) -> _Price:
        total: _Price = (0, 0, 0)
        for source, count in zip(self._sources, counts, strict=True):
            unpriced, cost, nodes = source.price
            total = _plus(total, (count * unpriced, count * cost, count * nodes))
        return total


def _plus(one: _Price, other: _Price) -> _Price:
    return (one[0] + other[0], one[1] + other[1], one[2] + other[2])


def _takes(node: Node, kind: Kind) -> int:
    """Members of the kind that an empty node takes."""
    if bar(node, kind.eligibility) != Bar.NONE:
        return 0
    has = dict(node.allocatable)
    return min(
        (has.get(resource, 0) // amount for resource, amount in kind.requests if amount > 0), default=0
    )


def _option(
    state: ClusterState, steps: tuple[NewNodes, ...], fits: tuple[GroupFit, ...], *, cheapest: bool
) -> ScaleUpOption:
    costs = [(step.count, state.records.of(NodeType)[step.kind].cost) for step in steps]
    return ScaleUpOption(
        steps,
        fits,
        sum(count * cost for count, cost in costs if cost is not None),
        sum(count for count, cost in costs if cost is None),
        cheapest,
    )
