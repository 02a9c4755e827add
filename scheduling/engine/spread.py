"""One domain for a gang, and topology spread constraints on its members: in which domains both can hold.

The rule of kube-scheduler (PodTopologySpread, Filter) is asked each time a member comes: pods like the
selector where it goes, itself if it is one of them, less the fewest in any domain of the constraint's key, at
most ``maxSkew``. A domain is left if minCount members can come one after the other, in some order. Pods that
match count where they are now. Room does not: nodes are taken as empty but for the group's own members, ready
and uncordoned, since all that may pass while the group waits. So ``SPREAD`` is a proof as long as no pod that
matches comes or goes and no node, label or taint changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from scheduling.engine.candidates import Conflict, candidates, enforced
from scheduling.engine.capacity import held_by
from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Ints
from scheduling.engine.eligibility import Bar, holds, repelled, selects
from scheduling.engine.model import Eligibility, Pod, Requirement, SpreadConstraint
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.packed import labelled
from scheduling.engine.roster import Requests, Roster, roster
from scheduling.engine.state import ClusterState

LOOKS = 60_000
"""Steps of members in one question, in all domains together, before the rest is left open; a step among many
nodes counts for several. Some seconds at most.
"""

_MANY = 1 << 40


class Left(StrEnum):
    FITS = "fits"
    """An order in which minCount members can come was found."""
    SPREAD = "spread"
    """Without the constraints they fit into the empty domain, with them they never do."""
    SMALL = "small"
    """They do not fit even without the constraints."""
    OPEN = "open"
    """Neither was found within the budget."""


class Why(StrEnum):
    UNLABELLED = "unlabelled"
    """No node that the members may use carries the key of the constraint."""
    MIN_DOMAINS = "min_domains"
    """There are fewer domains than minDomains, so the fewest counts as 0."""
    SKEW = "skew"
    """The domain that holds fewest holds too few."""
    TOGETHER = "together"
    """Each constraint alone can be met, all of them together cannot."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What keeps a domain short. ``pod``: uid of a member with the constraint, ``place``: its place in that
    member's list. ``takes``: members that can come at most. ``fewest``: pods that match in the domain of
    ``constraint.topology_key`` that holds fewest, ``in_domain``, now; ``domains``: how many there are.
    """

    why: Why
    pod: str
    place: int
    constraint: SpreadConstraint
    takes: int
    fewest: int
    in_domain: str
    domains: int


@dataclass(frozen=True, slots=True)
class DomainSpread:
    """``limit``: of SPREAD only."""

    domain: str
    left: Left
    limit: Limit | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """``missing``: members that must come at once. ``enforced``: held to one domain; else the one in
    ``domains`` is the whole cluster, named "". ``soft``: constraints that are preferences, each key once.
    """

    key: str
    missing: int
    enforced: bool
    domains: tuple[DomainSpread, ...]
    soft: tuple[SpreadConstraint, ...]

    @property
    def impossible(self) -> bool:
        """Some domain would do without the constraints, and none does with them."""
        found = {entry.left for entry in self.domains}
        return Left.SPREAD in found and found <= {Left.SPREAD, Left.SMALL}

    @property
    def narrowed(self) -> bool:
        """Some domains are ruled out, and some are left."""
        return not self.impossible and any(entry.left is Left.SPREAD for entry in self.domains)


def spread(state: ClusterState, key: str, there: Mapping[str, Sequence[Pod]] | None = None) -> Spread | None:
    """None without constraints on members that are to come, and without PodGroup. ``there``: what
    ``pods_there`` gave for this state, for those who ask about many groups.
    """
    who = roster(state, key)
    coming = (*who.waiting, *who.gated)
    soft = {one.topology_key: one for pod in coming for one in pod.shape.spread if not one.hard}
    hard = any(one.hard for pod in coming for one in pod.shape.spread)
    if who.group is None or not (soft or hard):
        return None
    found: tuple[DomainSpread, ...] = ()
    if hard and len(coming) >= who.missing:
        found = _domains(state, who, coming, there or pods_there(state, coming[0].namespace))
    return Spread(key, who.missing, enforced(state, who), found, tuple(soft.values()))


def pods_there(state: ClusterState, namespace: str | None = None) -> dict[str, list[Pod]]:
    """By namespace, or of one only, the pods that may count: on a node, and as in kube-scheduler not those
    that are being deleted.
    """
    slot = state.columns.slot
    found: dict[str, list[Pod]] = {}
    for pod in state.pods.values():
        if (
            pod.node in slot
            and not pod.finished
            and not pod.terminating
            and namespace in (None, pod.namespace)
        ):
            found.setdefault(pod.namespace, []).append(pod)
    return found


# --- the question, made of the state


@dataclass(frozen=True, slots=True)
class _Kind:
    """Members alike. ``may``: per row of the columns, whether selector and taints let them there. ``own``:
    places of the tracks that they must keep.
    """

    count: int
    requests: Requests
    may: Bools
    own: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Track:
    """One constraint as one kind of member sees it. ``value``: per row, number of its value of the key, -1
    without. ``counts_here``: per row, whether pods there count. ``counts``: per value, pods that match;
    ``real``: whether the value is a domain of the constraint. ``fed_by``: per kind, whether it matches.
    """

    pod: str
    place: int
    constraint: SpreadConstraint
    value: Ints
    counts_here: Bools
    counts: Ints
    real: Bools
    names: tuple[str, ...]
    fed_by: tuple[bool, ...]

    @property
    def domains(self) -> int:
        return int(np.count_nonzero(self.real))

    @property
    def few(self) -> bool:
        return self.domains < self.constraint.min_domains


def _domains(
    state: ClusterState, who: Roster, coming: Sequence[Pod], there: Mapping[str, Sequence[Pod]]
) -> tuple[DomainSpread, ...]:
    kinds, tracks = _asked(state, coming, there.get(coming[0].namespace, ()))
    own = held_by(state.columns, [(pod.node, pod.shape.requests) for pod in who.bound])
    asked = sorted({resource for kind in kinds for resource, _ in kind.requests})
    nothing = np.zeros(state.columns.rows, np.int64)
    room = np.stack([state.columns.alloc.get(name, nothing) - own.get(name, 0) for name in asked])
    wants = np.array(
        [[min(dict(kind.requests).get(name, 0), AMOUNT_LIMIT) for name in asked] for kind in kinds], np.int64
    )
    budget = _Budget(LOOKS)
    known: dict[object, tuple[Left, tuple[Why, int, int] | None]] = {}
    found = []
    for name, rows in _candidates(state, who):
        case = _Case(who.missing, [kind.count for kind in kinds], wants, room[:, rows], kinds, tracks, rows)
        mark = case.mark()
        if mark not in known:
            known[mark] = _judged(case, budget)
        left, blamed = known[mark]
        found.append(DomainSpread(name, left, _limit(tracks, blamed) if blamed else None))
    return tuple(found)


def _candidates(state: ClusterState, who: Roster) -> Iterator[tuple[str, Ints]]:
    """The domains that the group may use, each with its rows. A NUMA zone counts as the node it is in."""
    slot = state.columns.slot
    if who.group is not None and enforced(state, who) and who.group.topology_key == NUMA_KEY:
        pinned = {pod.node for pod in who.bound}
        for name in sorted(state.nodes):
            if state.nodes[name].zones and (not pinned or name in pinned):
                yield name, np.array([slot[name]], np.int64)
        return
    where = candidates(state, who)
    if not isinstance(where, Conflict):
        for number, name in enumerate(where.index.domains):
            yield name, where.index.order[where.index.slice(number)]


def _asked(
    state: ClusterState, coming: Sequence[Pod], bound: Sequence[Pod]
) -> tuple[list[_Kind], list[_Track]]:
    """Kinds of members, told apart by what they ask and by which selectors mean them."""
    selectors = {one.selector for pod in coming for one in pod.shape.spread if one.hard}
    groups: dict[object, list[Pod]] = {}
    for pod in coming:
        meant = frozenset(selector for selector in selectors if _means(selector, pod))
        hard = tuple(one for one in pod.shape.spread if one.hard)
        groups.setdefault((pod.shape.requests, pod.shape.eligibility, hard, meant), []).append(pod)
    faces = [pods[0] for pods in groups.values()]
    views = {pod.shape.eligibility: _View(state, pod.shape.eligibility) for pod in faces}
    tracks: dict[object, tuple[int, _Track]] = {}
    kinds = []
    for face, pods in zip(faces, groups.values(), strict=True):
        own = []
        rules = [(place, rule) for place, rule in enumerate(face.shape.spread) if rule.hard]
        keys = frozenset(rule.topology_key for _, rule in rules)
        for place, rule in rules:
            name = (rule, face.shape.eligibility, keys)
            if name not in tracks:
                made = _track(state, face, place, keys, views[face.shape.eligibility], bound, faces)
                tracks[name] = (len(tracks), made)
            own.append(tracks[name][0])
        view = views[face.shape.eligibility]
        kinds.append(_Kind(len(pods), face.shape.requests, view.selected & view.tolerated, tuple(own)))
    return kinds, [track for _, track in tracks.values()]


class _View:
    """Per row of the columns, whether selector and affinity mean the node, and whether its taints are
    tolerated; cordons and readiness do not count.
    """

    def __init__(self, state: ClusterState, wanted: Eligibility) -> None:
        bars = state.bars(wanted)
        there = np.zeros(len(bars), bool)
        there[list(state.columns.slot.values())] = True
        self.selected = there & (bars != Bar.SELECTOR)
        self.tolerated = there & (bars == Bar.NONE)
        # The other bars come before that of taints, or hide them.
        for row in np.flatnonzero(there & (bars != Bar.NONE) & (bars != Bar.TAINT)).tolist():
            node = state.nodes[state.columns.node[row]]
            self.selected[row] = selects(wanted, node)
            self.tolerated[row] = not repelled(node, wanted.tolerations)


def _track(
    state: ClusterState,
    face: Pod,
    place: int,
    keys: frozenset[str],
    view: _View,
    bound: Sequence[Pod],
    faces: Sequence[Pod],
) -> _Track:
    constraint = face.shape.spread[place]
    slot = state.columns.slot
    counts_here = np.ones(state.columns.rows, bool)
    for key in keys:
        carries = np.zeros(state.columns.rows, bool)
        carries[[slot[name] for name in labelled(state.nodes, key)[1]]] = True
        counts_here &= carries
    if constraint.honors_affinity:
        counts_here &= view.selected
    if constraint.honors_taints:
        counts_here &= view.tolerated
    values, holders = labelled(state.nodes, constraint.topology_key)
    names = tuple(sorted(set(values)))
    number = {name: place for place, name in enumerate(names)}
    value = np.full(state.columns.rows, -1, np.int64)
    value[[slot[name] for name in holders]] = [number[text] for text in values]
    counts = np.zeros(len(names), np.int64)
    for pod in bound:
        row = slot[pod.node]
        if counts_here[row] and _means(constraint.selector, pod):
            counts[value[row]] += 1
    real = np.zeros(len(names), bool)
    real[value[counts_here]] = True
    fed_by = tuple(_means(constraint.selector, other) for other in faces)
    return _Track(face.uid, place, constraint, value, counts_here, counts, real, names, fed_by)


def _means(selector: tuple[Requirement, ...] | None, pod: Pod) -> bool:
    labels: Mapping[str, str] = dict(pod.labels)
    return selector is not None and all(holds(one, labels) for one in selector)


# --- one domain


class _Case:
    """One domain and the members that want to come. Values of keys are numbered anew, in order of rows, so
    that domains alike have one mark. ``outside``: per track, the fewest in any domain of it that no node
    here is in.
    """

    def __init__(
        self,
        missing: int,
        members: Sequence[int],
        wants: Ints,
        room: Ints,
        kinds: Sequence[_Kind],
        tracks: Sequence[_Track],
        rows: Ints,
    ) -> None:
        self.missing, self.members, self.wants, self.room = missing, tuple(members), wants, room
        self.may = [kind.may[rows] for kind in kinds]
        self.own = [kind.own for kind in kinds]
        self.fed = [tuple(kind for kind, does in enumerate(track.fed_by) if does) for track in tracks]
        self.skew = [track.constraint.max_skew for track in tracks]
        self.few = [track.few for track in tracks]
        self.value: list[Ints] = []
        self.counts_here: list[Bools] = []
        self.counts: list[Ints] = []
        self.real: list[Bools] = []
        self.outside: list[int] = []
        for track in tracks:
            far = track.value[rows]
            inside, first = np.unique(far[far >= 0], return_index=True)
            inside = inside[np.argsort(first)]
            near = np.full(len(track.counts) + 1, -1, np.int64)
            near[inside] = np.arange(len(inside))
            elsewhere = track.real.copy()
            elsewhere[inside] = False
            self.value.append(near[far])
            self.counts_here.append(track.counts_here[rows])
            self.counts.append(track.counts[inside])
            self.real.append(track.real[inside])
            self.outside.append(int(track.counts[elsewhere].min(initial=_MANY)))

    @property
    def nodes(self) -> int:
        return len(self.room[0])

    def mark(self) -> object:
        """Equal for domains in which the same holds."""
        parts = (self.room, *self.may, *self.value, *self.counts_here, *self.counts, *self.real)
        return (self.nodes, tuple(part.tobytes() for part in parts), tuple(self.outside))


class _Budget:
    def __init__(self, looks: int) -> None:
        self._looks = looks

    def spend(self, looks: int) -> bool:
        """Whether there was as much left."""
        self._looks -= looks
        return self._looks >= 0


class _Board:
    """The domain while members come. ``tracks``: the constraints that count."""

    def __init__(self, case: _Case, tracks: frozenset[int]) -> None:
        self.case = case
        self.room = case.room.copy()
        self.left = list(case.members)
        self.counts = [counts.copy() for counts in case.counts]
        self.own = [tuple(track for track in own if track in tracks) for own in case.own]
        self.fed = [
            tuple(track for track in sorted(tracks) if kind in case.fed[track])
            for kind in range(len(case.members))
        ]
        self.placed = 0
        self.where = np.zeros((len(case.members), case.nodes), np.int64)

    def fewest(self, track: int) -> int:
        case = self.case
        if case.few[track]:
            return 0
        fewest = min(int(self.counts[track][case.real[track]].min(initial=_MANY)), case.outside[track])
        return 0 if fewest == _MANY else fewest

    def open_to(self, kind: int) -> Bools:
        """The nodes to which one of the kind may come now."""
        case = self.case
        wants = case.wants[kind][:, None]
        may: Bools = case.may[kind] & ((self.room >= wants) | (wants == 0)).all(axis=0)
        for track in self.own[kind]:
            value = case.value[track]
            most = case.skew[track] + self.fewest(track) - (track in self.fed[kind])
            may &= (value >= 0) & (np.append(self.counts[track], 0)[value] <= most)
        return may

    def put(self, kind: int, node: int, number: int = 1) -> None:
        """``number``: -1 takes it away again."""
        case = self.case
        self.room[:, node] -= number * case.wants[kind]
        self.left[kind] -= number
        self.placed += number
        self.where[kind, node] += number
        for track in self.fed[kind]:
            if case.counts_here[track][node]:
                self.counts[track][case.value[track][node]] += number

    def burden(self, kind: int) -> Ints:
        """Per node, how far one more of the kind raises it above the others."""
        total = np.zeros(self.case.nodes, np.int64)
        for track in self.fed[kind]:
            here = self.case.counts_here[track]
            total += np.where(here, np.append(self.counts[track], 0)[self.case.value[track]], 0)
        return total

    def moves(self) -> list[tuple[int, int]]:
        """(kind, node) of all that may come next, those that raise least first."""
        found: list[tuple[int, int, int]] = []
        for kind, left in enumerate(self.left):
            if left:
                nodes = np.flatnonzero(self.open_to(kind))
                found += zip(
                    self.burden(kind)[nodes].tolist(), [kind] * len(nodes), nodes.tolist(), strict=True
                )
        return [(kind, node) for _, kind, node in sorted(found)]

    def best(self) -> tuple[int, int] | None:
        """The first of ``moves``."""
        first: tuple[int, int, int] | None = None
        for kind, left in enumerate(self.left):
            nodes = np.flatnonzero(self.open_to(kind)) if left else np.zeros(0, np.int64)
            if len(nodes):
                burden = self.burden(kind)[nodes]
                at = int(np.argmin(burden))
                found = (int(burden[at]), kind, int(nodes[at]))
                first = found if first is None else min(first, found)
        return None if first is None else first[1:]


@dataclass(frozen=True, slots=True)
class _Answer:
    """``fits``: None when the budget ended. ``most``: members that came, at most if ``fits`` is known."""

    fits: bool | None
    most: int


def _caps(case: _Case, kind: int) -> Ints:
    """Per node, members of the kind that it takes alone, constraints apart."""
    wants, room = case.wants[kind], case.room
    asked = np.flatnonzero(wants > 0)
    each = (room[asked] // wants[asked][:, None]).min(axis=0, initial=_MANY)
    caps: Ints = np.where(case.may[kind], np.clip(each, 0, case.members[kind]), 0)
    return caps


def _at_most(case: _Case, track: int) -> int:
    """An upper bound of members that come with this constraint alone, without trying: no minimum ever rises
    above that of the domains outside. For members alike only, else there is none.
    """
    if len(case.members) > 1:
        return _MANY
    value, caps = case.value[track], _caps(case, 0)
    board = _Board(case, frozenset((track,)))
    if track not in board.fed[0]:
        return int(caps[board.open_to(0)].sum())
    ceiling = 0 if case.few[track] else case.outside[track]
    inside = value >= 0
    if ceiling == _MANY or not case.counts_here[track][inside & (caps > 0)].all():
        return _MANY
    room = np.clip(case.skew[track] + ceiling - case.counts[track], 0, None)
    takes = np.zeros(len(room), np.int64)
    np.add.at(takes, value[inside], caps[inside])
    return int(np.minimum(takes, room).sum())


def _solved(case: _Case, tracks: frozenset[int], budget: _Budget) -> _Answer:
    came, exact = _one_after_other(case, tracks, budget)
    if came >= case.missing or exact:
        return _Answer(came >= case.missing, came)
    return _searched(case, tracks, budget, came)


def _one_after_other(case: _Case, tracks: frozenset[int], budget: _Budget) -> tuple[int, bool]:
    """How many come when each goes to where fewest are, and whether no order brings more.

    That is so for members alike and one constraint that they raise themselves: who comes later never finds a
    smaller minimum, and what has no room left keeps it where it is.
    """
    board = _Board(case, tracks)
    while board.placed < case.missing and (move := board.best()) is not None:
        if not budget.spend(1 + case.nodes // 4096):
            return board.placed, False
        board.put(*move)
    moving = set(board.own[0]) & set(board.fed[0])
    return board.placed, len(case.members) == 1 and len(moving) <= 1


def _searched(case: _Case, tracks: frozenset[int], budget: _Budget, most: int) -> _Answer:
    """Every order of coming, positions that differ in nothing that counts only once."""
    board = _Board(case, tracks)
    classes = _classes(case, tracks)
    seen: set[object] = set()
    path: list[tuple[int, int]] = []
    open_moves = [board.moves()]
    while open_moves:
        if not open_moves[-1]:
            open_moves.pop()
            if path:
                board.put(*path.pop(), -1)
            continue
        move = open_moves[-1].pop(0)
        board.put(*move)
        most = max(most, board.placed)
        if board.placed >= case.missing:
            return _Answer(True, board.placed)
        columns = board.where.T.tolist()
        position = tuple(sorted((one, tuple(column)) for one, column in zip(classes, columns, strict=True)))
        if position in seen:
            board.put(*move, -1)
            continue
        seen.add(position)
        if not budget.spend(1 + case.nodes // 8):
            return _Answer(None, most)
        path.append(move)
        open_moves.append(board.moves())
    return _Answer(False, most)


def _classes(case: _Case, tracks: frozenset[int]) -> list[int]:
    """Per node a number; nodes of one number may be exchanged. Where no other node here has a node's value,
    only the count of it matters.
    """
    numbers: dict[object, int] = {}
    found = []
    shared = {track: np.bincount(case.value[track] + 1) > 1 for track in tracks}
    for node in range(case.nodes):
        parts: list[object] = [tuple(case.room[:, node].tolist()), tuple(bool(may[node]) for may in case.may)]
        for track in sorted(tracks):
            value = int(case.value[track][node])
            alone = value >= 0 and not shared[track][value + 1]
            told = (int(case.counts[track][value]), bool(case.real[track][value])) if alone else value
            parts.append((alone, told, bool(case.counts_here[track][node])))
        found.append(numbers.setdefault(tuple(parts), len(numbers)))
    return found


def _judged(case: _Case, budget: _Budget) -> tuple[Left, tuple[Why, int, int] | None]:
    """What holds in the domain and, for SPREAD, why, by which track, and how many can come."""
    every = frozenset(range(len(case.value)))
    short = [(most, track) for track in sorted(every) if (most := _at_most(case, track)) < case.missing]
    if short:
        enough = int(_caps(case, 0).sum()) >= case.missing
        return (Left.SPREAD, _blamed(case, *min(short))) if enough else (Left.SMALL, None)
    if _one_after_other(case, every, budget)[0] >= case.missing:
        return Left.FITS, None
    bare = _solved(case, frozenset(), budget)
    if bare.fits is not True:
        return (Left.SMALL if bare.fits is False else Left.OPEN), None
    alone = [(_solved(case, frozenset((track,)), budget), track) for track in sorted(every)]
    short = [(one.most, track) for one, track in alone if one.fits is False]
    if not short:
        answer = _solved(case, every, budget)
        if answer.fits is not False:
            return (Left.FITS if answer.fits else Left.OPEN), None
        return Left.SPREAD, (Why.TOGETHER, 0, answer.most)
    return Left.SPREAD, _blamed(case, *min(short))


def _blamed(case: _Case, most: int, track: int) -> tuple[Why, int, int]:
    usable = np.stack([may for may, own in zip(case.may, case.own, strict=True) if track in own]).any(axis=0)
    if not (case.value[track][usable] >= 0).any():
        return Why.UNLABELLED, track, most
    return Why.MIN_DOMAINS if case.few[track] else Why.SKEW, track, most


def _limit(tracks: Sequence[_Track], blamed: tuple[Why, int, int]) -> Limit:
    why, number, takes = blamed
    track = tracks[number]
    real = np.flatnonzero(track.real)
    fewest, where = 0, ""
    if len(real):
        at = int(real[np.argmin(track.counts[real])])
        fewest, where = int(track.counts[at]), track.names[at]
    return Limit(why, track.pod, track.place, track.constraint, takes, fewest, where, track.domains)
