"""What pods that are there, and members among themselves, say about where members may go.

Rules as in kube-scheduler (InterPodAffinity, NodePorts), required terms only. Anti-affinity works both ways:
the terms of pods on nodes keep members away, and those of members look at pods on nodes. Affinity wants, for
each of its terms, a pod that meets all of them in the node's place; the first pod of a series needs none when
it meets its own terms and no pod anywhere does. Bound unfinished pods count, terminating ones too; a pod
whose node is not in the cluster, or does not carry the key, is in no place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduling.engine.capacity import Field
from scheduling.engine.columns import Bools, Ints
from scheduling.engine.eligibility import Bar, holds
from scheduling.engine.model import HostPort, Pod, PodTerm
from scheduling.engine.roster import Kind, Roster
from scheduling.engine.shapes import COUNT_LIMIT, Bars
from scheduling.engine.state import Apart as Having
from scheduling.engine.state import ClusterState

EVERY_ADDRESS = "0.0.0.0"

Places = Mapping[str, frozenset[str]]
"""topology key -> values of it."""

_Apart = list[tuple[Having, list[Pod]]]
_Holding = list[tuple[tuple[HostPort, ...], list[Pod]]]


@dataclass(frozen=True, slots=True)
class Apart:
    """An anti-affinity term of members. ``holders``: kinds that have it; ``meant``: kinds it is about."""

    key: str
    holders: frozenset[int]
    meant: frozenset[int]


@dataclass(frozen=True, slots=True)
class Near:
    """The affinity terms of some members, all of which one pod must meet. ``kinds``: those that have them;
    ``meant``: kinds that meet them; ``found``: where pods on nodes do.
    """

    keys: tuple[str, ...]
    kinds: frozenset[int]
    meant: frozenset[int]
    found: Places

    @property
    def anywhere(self) -> bool:
        return any(self.found.values())


@dataclass(frozen=True, slots=True)
class Rules:
    """``kinds``: the waiting members, those together that every rule sees alike. ``clashes``: (kind, kind)
    whose host ports exclude each other, both ways round. ``shut``: per kind, places that anti-affinity with
    pods on nodes forbids; ``taken``: per kind, nodes where a host port of it is in use. ``values``: topology
    key -> number of the value per row, -1 without; ``numbers``: topology key -> value -> number.
    """

    kinds: tuple[Kind, ...]
    aparts: tuple[Apart, ...]
    nears: tuple[Near, ...]
    clashes: frozenset[tuple[int, int]]
    shut: tuple[Places, ...]
    taken: tuple[frozenset[str], ...]
    values: Mapping[str, Ints]
    numbers: Mapping[str, Mapping[str, int]]

    @property
    def among_members(self) -> bool:
        """Whether putting one member somewhere changes where another may go; if not, bars say it all."""
        pairs = {(one, other) for apart in self.aparts for one in apart.holders for other in apart.meant}
        several = (one != other or len(self.kinds[one].pods) > 1 for one, other in pairs | self.clashes)
        return any(several) or any(near.meant for near in self.nears)

    def applied(self, state: ClusterState, seen: Field) -> Field:
        """The nodes with what is certain from the start: places shut, ports taken, nobody near to be with."""
        return seen.barred([self._bars(state, kind) for kind in range(len(self.kinds))])

    def most(self, seen: Field) -> Ints:
        """Upper bound per domain, as ``Field.most``, with members that exclude their own kind counted once a
        place.
        """
        bound = seen.most()
        if not self.among_members or not len(bound):
            return bound
        each = [
            np.minimum(self._alone(seen, kind), len(self.kinds[kind].pods)) for kind in range(len(self.kinds))
        ]
        least: Ints = np.minimum(bound, np.stack(each).sum(axis=0))
        return least

    def keeps_apart(self, kind: int) -> list[str]:
        """Topology keys of whose values one member of the kind fills the whole place for its kind."""
        return [apart.key for apart in self.aparts if kind in apart.holders and kind in apart.meant]

    def found_values(self, near: Near, key: str) -> list[int]:
        """Numbers of the places where pods on nodes are to be near to."""
        return sorted(self.numbers[key][value] for value in near.found[key])

    def kept_off(self, seen: Field, kind: int, takes: Sequence[Ints]) -> dict[Bar, Bools]:
        """Per position, by whom of the members that are in (``takes``: per kind, per position) one more of
        the kind is kept off.
        """
        off: dict[Bar, Bools] = {}
        for other, take in enumerate(takes):
            if (kind, other) in self.clashes:
                _add(off, Bar.HOST_PORT, take > 0)
        for apart in self.aparts:
            for mine, theirs in ((apart.holders, apart.meant), (apart.meant, apart.holders)):
                if kind in mine:
                    _add(off, Bar.ANTI_AFFINITY, self._beside(seen, apart.key, theirs, takes))
        for near in self.nears:
            if kind not in near.kinds or not near.meant:
                continue
            lonely = np.zeros(len(seen.index.order), bool)
            for key in near.keys:
                beside = self._beside(seen, key, near.meant, takes)
                beside |= np.isin(self.values[key][seen.index.order], self.found_values(near, key))
                lonely |= ~beside
            if kind in near.meant and not near.anywhere:
                there: Ints = np.stack([takes[other] for other in near.meant]).sum(axis=0)
                lonely &= (seen.index.sums(there) > 0)[seen.index.of]
            _add(off, Bar.AFFINITY, lonely)
        return off

    def _beside(self, seen: Field, key: str, kinds: Iterable[int], takes: Sequence[Ints]) -> Bools:
        """Per position: whether members of these kinds are in the same place of the key and domain."""
        value = self.values[key][seen.index.order]
        there = np.sum([takes[kind] for kind in kinds], axis=0, dtype=np.int64)
        place = seen.index.of * (int(value.max(initial=0)) + 1) + np.maximum(value, 0)
        full = np.unique(place[(there > 0) & (value >= 0)])
        beside: Bools = np.isin(place, full) & (value >= 0)
        return beside

    def _alone(self, seen: Field, kind: int) -> Ints:
        one_a_node = (kind, kind) in self.clashes
        caps: Ints = np.minimum(seen.caps[kind], 1 if one_a_node else COUNT_LIMIT)
        least = seen.index.sums(caps)
        for key in self.keeps_apart(kind):
            value = self.values[key][seen.index.order]
            free = np.where(value < 0, caps, 0)
            usable = (value >= 0) & (caps > 0)
            span = int(value.max(initial=0)) + 1
            places = np.unique(seen.index.of[usable] * span + value[usable]) // span
            counts = np.bincount(places, minlength=len(least)).astype(np.int64)
            least = np.minimum(least, seen.index.sums(free) + counts)
        return least

    def _bars(self, state: ClusterState, kind: int) -> Bars:
        bars = np.zeros(state.columns.rows, np.int8)
        for near in self.nears:
            if kind in near.kinds:
                for key in near.keys:
                    # a place where nobody is yet may do when members themselves can be the ones to be near
                    places = None if near.meant else near.found.get(key, frozenset())
                    bars[~_inside(state, key, places)] = Bar.AFFINITY
        for name in self.taken[kind]:
            bars[state.columns.slot[name]] = Bar.HOST_PORT
        for key, places in self.shut[kind].items():
            bars[_inside(state, key, places)] = Bar.ANTI_AFFINITY
        return bars


def _add(off: dict[Bar, Bools], bar: Bar, hit: Bools) -> None:
    off[bar] = off[bar] | hit if bar in off else hit


def rules(state: ClusterState, who: Roster) -> Rules | None:
    """What restricts the waiting members, None when nothing does."""
    about = who.about("apart", state.apart_as_of, lambda: _about(state, who.faces))
    if not who.pairwise and not about:
        return None
    apart = [(having, state.pods_apart(having)) for having in about]
    kinds = _kinds(who.waiting, about)
    on_nodes = _on_nodes(state) if any(_terms(kind) for kind in kinds) else []
    made = Rules(
        kinds=kinds,
        aparts=_aparts(kinds),
        nears=_nears(state, kinds, on_nodes),
        clashes=_clashes(kinds),
        shut=_shut(state, kinds, apart, on_nodes),
        taken=_taken(state, kinds, state.holding() if who.pairwise else []),
        values={},
        numbers={},
    )
    keys = {apart.key for apart in made.aparts} | {key for near in made.nears for key in near.keys}
    made = replace(
        made,
        values={key: _values(state, key) for key in sorted(keys)},
        numbers={key: state.index(key).number for key in sorted(keys)},
    )
    return made if made.among_members else _merged(made)


def without_strangers(state: ClusterState, rules: Rules, who: Roster) -> Rules:
    """The same rules when no pod is there but the group's own; whom members want to be near stays."""
    apart = [((pod.namespace, pod.shape.pod_anti_affinity), [pod]) for pod in who.bound]
    holding = [(pod.shape.host_ports, [pod]) for pod in who.bound]
    return replace(
        rules,
        shut=_shut(state, rules.kinds, apart, [pod for pod in who.bound if pod.node in state.nodes]),
        taken=_taken(state, rules.kinds, holding),
    )


def means(term: PodTerm, own: str, pod: Pod) -> bool:
    """Whether the term of a pod in namespace ``own`` is about that pod."""
    if term.selector is None:
        return False
    if term.namespaces is not None and pod.namespace not in (term.namespaces or (own,)):
        return False
    labels = dict(pod.labels)
    return all(holds(requirement, labels) for requirement in term.selector)


def means_all(terms: Sequence[PodTerm], own: str, pod: Pod) -> bool:
    return all(means(term, own, pod) for term in terms)


def clash(ports: Iterable[HostPort], others: Iterable[HostPort]) -> bool:
    """Whether two pods cannot be on one node: a port of the same protocol on the same address, or on all."""
    return any(
        protocol == other and port == number and (EVERY_ADDRESS in (address, at) or address == at)
        for protocol, address, port in ports
        for other, at, number in others
    )


# ---------------------------------------------------------------- members by what rules see of them


def _about(state: ClusterState, faces: Sequence[Pod]) -> list[Having]:
    """The anti-affinity of pods on nodes that is about some member."""
    labels = {pair for pod in faces for pair in pod.labels}
    return [
        (namespace, terms)
        for namespace, terms in state.apart
        if any(
            _possible(term, labels) and any(means(term, namespace, pod) for pod in faces) for term in terms
        )
    ]


def _possible(term: PodTerm, labels: set[tuple[str, str]]) -> bool:
    """False when no pod with some of these labels can be meant; quick, since most terms mean others."""
    return term.selector is not None and all(
        rule.operator != "In" or any((rule.key, value) in labels for value in rule.values)
        for rule in term.selector
    )


def _kinds(members: Sequence[Pod], about: Sequence[Having]) -> tuple[Kind, ...]:
    affinities = {pod.shape.pod_affinity: None for pod in members if pod.shape.pod_affinity}
    antis = {term: None for pod in members for term in pod.shape.pod_anti_affinity}
    found: dict[tuple[object, ...], list[Pod]] = {}
    alike: dict[tuple[tuple[str, str], ...], tuple[bool, ...]] = {}
    for pod in members:
        if pod.labels not in alike:
            alike[pod.labels] = (
                *(means_all(terms, pod.namespace, pod) for terms in affinities),
                *(means(term, pod.namespace, pod) for term in antis),
                *(means(term, namespace, pod) for namespace, terms in about for term in terms),
            )
        what = pod.shape
        key = (
            *(what.requests, what.eligibility, what.host_ports, what.pod_affinity, what.pod_anti_affinity),
            alike[pod.labels],
        )
        found.setdefault(key, []).append(pod)
    return tuple(
        Kind(pods[0].shape.requests, pods[0].shape.eligibility, tuple(pods)) for pods in found.values()
    )


def _merged(made: Rules) -> Rules:
    """Kinds put together again that differ in nothing that can still matter, so that counting stays exact."""
    waits: dict[tuple[object, ...], list[int]] = {}
    for number, kind in enumerate(made.kinds):
        nears = tuple(place for place, near in enumerate(made.nears) if number in near.kinds)
        shut = tuple(sorted((key, tuple(sorted(places))) for key, places in made.shut[number].items()))
        waits.setdefault((kind.requests, kind.eligibility, nears, shut, made.taken[number]), []).append(
            number
        )
    groups = list(waits.values())
    kinds = []
    for group in groups:
        pods = [pod for number in group for pod in made.kinds[number].pods]
        pods.sort(key=lambda pod: (-pod.priority, pod.created, pod.name, pod.uid))
        first = made.kinds[group[0]]
        kinds.append(Kind(first.requests, first.eligibility, tuple(pods)))
    regrouped = tuple(
        replace(near, kinds=frozenset(n for n, group in enumerate(groups) if group[0] in near.kinds))
        for near in made.nears
    )
    return replace(
        made,
        kinds=tuple(kinds),
        aparts=(),
        nears=regrouped,
        clashes=frozenset(),
        shut=tuple(made.shut[group[0]] for group in groups),
        taken=tuple(made.taken[group[0]] for group in groups),
    )


# ---------------------------------------------------------------- rules from terms


def _terms(kind: Kind) -> tuple[PodTerm, ...]:
    return kind.pods[0].shape.pod_affinity + kind.pods[0].shape.pod_anti_affinity


def _on_nodes(state: ClusterState) -> list[Pod]:
    return [pod for pod in state.pods.values() if pod.node and not pod.finished and pod.node in state.nodes]


def _aparts(kinds: Sequence[Kind]) -> tuple[Apart, ...]:
    holders: dict[PodTerm, set[int]] = {}
    for number, kind in enumerate(kinds):
        for term in kind.pods[0].shape.pod_anti_affinity:
            holders.setdefault(term, set()).add(number)
    made = []
    for term, having in holders.items():
        meant = frozenset(
            number for number, kind in enumerate(kinds) if means(term, kind.pods[0].namespace, kind.pods[0])
        )
        if meant:
            made.append(Apart(term.topology_key, frozenset(having), meant))
    return tuple(made)


def _nears(state: ClusterState, kinds: Sequence[Kind], on_nodes: Sequence[Pod]) -> tuple[Near, ...]:
    holders: dict[tuple[PodTerm, ...], set[int]] = {}
    for number, kind in enumerate(kinds):
        if kind.pods[0].shape.pod_affinity:
            holders.setdefault(kind.pods[0].shape.pod_affinity, set()).add(number)
    made = []
    for terms, having in holders.items():
        own = kinds[0].pods[0].namespace
        keys = tuple(sorted({term.topology_key for term in terms}))
        there = [pod.node for pod in on_nodes if means_all(terms, own, pod)]
        meant = (n for n, kind in enumerate(kinds) if means_all(terms, own, kind.pods[0]))
        found = {key: frozenset(_labels(state, there, key)) for key in keys}
        made.append(Near(keys, frozenset(having), frozenset(meant), found))
    return tuple(made)


def _clashes(kinds: Sequence[Kind]) -> frozenset[tuple[int, int]]:
    ports = [kind.pods[0].shape.host_ports for kind in kinds]
    return frozenset(
        (one, other)
        for one, mine in enumerate(ports)
        for other, theirs in enumerate(ports)
        if mine and theirs and clash(mine, theirs)
    )


def _shut(
    state: ClusterState, kinds: Sequence[Kind], apart: _Apart, on_nodes: Sequence[Pod]
) -> tuple[Places, ...]:
    made: list[Places] = []
    for kind in kinds:
        member = kind.pods[0]
        shut: dict[str, set[str]] = {}
        for (namespace, terms), pods in apart:
            for term in terms:
                if means(term, namespace, member):
                    names = [pod.node for pod in pods]
                    shut.setdefault(term.topology_key, set()).update(_labels(state, names, term.topology_key))
        for term in member.shape.pod_anti_affinity:
            names = [pod.node for pod in on_nodes if means(term, member.namespace, pod)]
            shut.setdefault(term.topology_key, set()).update(_labels(state, names, term.topology_key))
        made.append({key: frozenset(places) for key, places in sorted(shut.items()) if places})
    return tuple(made)


def _taken(state: ClusterState, kinds: Sequence[Kind], holding: _Holding) -> tuple[frozenset[str], ...]:
    made = []
    for kind in kinds:
        mine = kind.pods[0].shape.host_ports
        names = (pod.node for ports, pods in holding if clash(mine, ports) for pod in pods)
        made.append(frozenset(name for name in names if name in state.nodes))
    return tuple(made)


def _labels(state: ClusterState, names: Iterable[str], key: str) -> set[str]:
    nodes = (state.nodes.get(name) for name in names)
    values = (node.label(key) for node in nodes if node is not None)
    return {value for value in values if value is not None}


def _values(state: ClusterState, key: str) -> Ints:
    index = state.index(key)
    values = np.full(state.columns.rows, -1, np.int64)
    values[index.order] = index.of
    return values


def _inside(state: ClusterState, key: str, places: frozenset[str] | None) -> Bools:
    """Per row: whether the node lies in one of the places, None: in any."""
    index = state.index(key)
    inside = np.zeros(state.columns.rows, bool)
    if places is None:
        inside[index.order] = True
        return inside
    for place in places:
        if place in index.number:
            inside[index.order[index.slice(index.number[place])]] = True
    return inside
