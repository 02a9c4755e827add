"""Which groups of lower priority would have to end so that a waiting group runs: proposed, never done here.

Preemption stands apart from topology-aware scheduling: no cycle preempts, whatever the verdict. Somebody asks
(a person, or a policy for named queues), and what is found is a proposal. Victims are groups of strictly
lower priority than the group that waits, with members in the one domain it would go to; whole groups, or
members of an elastic gang beyond its minCount, which does not end by it. A protected group is never a victim.
What is proposed has been decided on the whole changed state, with everybody who goes before the group in the
queue decided first. No victim can be left out; ``proved_smallest`` says more, that no cheaper plan exists.

``proposal(state, key)`` is the way in; ``search`` tells as well why there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from scheduling.engine import numa
from scheduling.engine.candidates import Candidates, Conflict, candidates
from scheduling.engine.capacity import Field, field, held_by
from scheduling.engine.change_steps import gpus
from scheduling.engine.cuts import cut
from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.holds import seen_by
from scheduling.engine.model import Pod, PodGroup
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.pairwise_rules import rules
from scheduling.engine.preemption_records import Cost, Victim
from scheduling.engine.preemption_room import Room
from scheduling.engine.preemption_search import Atom, Budget, Domain, atom, cost
from scheduling.engine.preemption_trials import ByDecision, ByRoom, Trial
from scheduling.engine.queue import waiting
from scheduling.engine.quota import Allowance, allowance
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import ALL_NODES

OPERATIONS = 120_000
"""What one search may spend, in nodes counted again."""


_MODEL = 20_000
"""Beside these, what may be spent on a plan for each domain as it would be for equal members."""


_TIES = 8
"""Domains that can be no cheaper than the best and are searched all the same, for victims of lower
priority.
"""


class Why(StrEnum):
    """Why nothing is proposed."""

    UNKNOWN = "unknown"
    """There is no such group."""
    NOT_WAITING = "not_waiting"
    """It waits for no room: placed, running with minCount members, or a place is free for it now."""
    HELD = "held"
    """Members or the PodGroup are missing: no room would help."""
    QUOTA = "quota"
    """Its queue's quota holds it, whatever room there is."""
    CONFLICTED = "conflicted"
    """Its facts contradict each other, or its domain is lost."""
    UNMODELLED = "unmodelled"
    """It uses what the engine does not model, so nothing is claimed."""
    ZONES = "zones"
    """Its domains are NUMA zones: what pods hold in one is not known well enough."""
    NO_VICTIMS = "no_victims"
    """No group of lower priority that may go has members in a domain it may use."""
    TOO_LITTLE = "too_little"
    """Proved: not even the end of all of them makes room in one domain."""
    NOT_FOUND = "not_found"
    """The search ended without a plan; that is no proof that there is none."""
    TAKEN = "taken"
    """A plan was found, but a group that goes first in the queue would take the room."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """``uid``, ``generation``: of the group that waits. ``domain``, ``placed``, ``need``: of the decision on
    the changed state: where it would be, how many members would be on nodes, and minCount. ``victims``: by
    key. ``decided_on``: seq of the state.
    """

    group: str
    uid: str
    generation: int
    domain: str
    victims: tuple[Victim, ...]
    cost: Cost
    proved_smallest: bool
    placed: int
    need: int
    decided_on: int


@dataclass(frozen=True, slots=True)
class NoProposal:
    """``by``: key of the group that would take the room."""

    why: Why
    by: str = ""


def proposal(state: ClusterState, key: str) -> Proposal | None:
    """The cheapest victims for the group ``key`` as far as was searched; ``state`` is not changed."""
    found = search(state, key)
    return found if isinstance(found, Proposal) else None


def search(state: ClusterState, key: str) -> Proposal | NoProposal:
    """As ``proposal``, or why there is none."""
    state = seen_by(state, key)  # what is held for the group is its to use
    refused = _needs_none(state, key)
    if refused is not None:
        return NoProposal(refused)
    who = roster(state, key)
    where = candidates(state, who)
    if isinstance(where, Conflict):
        return NoProposal(Why.CONFLICTED)
    return _Search(state, who, where).result()


def may_be_victim(group: PodGroup, its_priority: int, priority: int) -> bool:
    """Whether a group of ``its_priority`` may go for one of ``priority``."""
    return not group.protected and its_priority < priority


def evicted(state: ClusterState, victims: Sequence[Victim]) -> ClusterState:
    """A fork in which the victims are gone; ``state`` is not changed."""
    ahead = state.fork()
    for victim in victims:
        if victim.whole:
            for pod in ahead.pods_naming(victim.key):
                ahead.remove_pod(pod.uid)
            ahead.close_group(victim.key, victim.uid)
        else:
            for uid, _, _ in victim.members:
                ahead.remove_pod(uid)
    return ahead


def outcome(state: ClusterState, key: str, victims: Sequence[Victim]) -> tuple[Decision, str]:
    """What would be decided about the group once the victims are gone and all that go before it in the queue
    are decided; the last of these that was placed, "" when none was.
    """
    ahead = evicted(state, victims)
    made, by = decide(ahead, key), ""
    for other in waiting(ahead):
        if other == key or not made.placed:
            break
        if not roster(ahead, other).waiting:
            continue
        first = decide(ahead, other)
        if first.placed and first.assignments:
            zone = first.domain if first.enforced and first.topology_key == NUMA_KEY else ""
            for uid, node in first.assignments:
                ahead.bind(uid, node, zone)
            made, by = decide(ahead, key), other
    return made, by


def _needs_none(state: ClusterState, key: str) -> Why | None:
    if key not in state.groups:
        return Why.UNKNOWN
    who = roster(state, key)
    if not who.waiting or who.running:
        return Why.HELD if who.known < who.need else Why.NOT_WAITING
    if numa.asked(state, key):
        return Why.ZONES
    made = decide(state, key)
    return Why.NOT_WAITING if made.placed else _of_refusal(made.verdict, made.reason)


def no_use(state: ClusterState, key: str, verdict: str, reason: str) -> Why | None:
    """Why nobody's end can help a group that was refused so, as far as that is seen without a search."""
    if key in state.groups and roster(state, key).running:
        return Why.NOT_WAITING
    if key in state.groups and numa.asked(state, key):
        return Why.ZONES
    return _of_refusal(verdict, reason)


def _of_refusal(verdict: str, reason: str) -> Why | None:
    if verdict == Verdict.HELD:
        return Why.QUOTA if reason == Reason.QUOTA else Why.HELD
    if verdict == Verdict.CONFLICTED:
        return Why.CONFLICTED
    return Why.UNMODELLED if reason == Reason.UNMODELLED else None


class _Search:
    """Domain after domain, those that can be cheapest first."""

    def __init__(self, state: ClusterState, who: Roster, where: Candidates) -> None:
        self._state = state
        self._who = who
        self._index = where.index
        numbers = where.index.of.tolist()
        self._number = dict(zip(where.index.names, numbers, strict=True))
        self._kinds = who.kinds()
        self._between = rules(state, who) is not None
        self._quota = allowance(state, who) != Allowance()
        self._exact = len(self._kinds) == 1 and not self._between
        self._budget = Budget(OPERATIONS)
        self._proved = not any(pod.shape.pod_affinity for pod in who.waiting)

    def result(self) -> Proposal | NoProposal:
        members, limits = self._may_go()
        priority = {group: roster(self._state, group).priority for group in members}
        whole = [atom(group, True, pods, priority[group]) for group, pods in members.items()]
        spare = [atom(group, False, [pod], priority[group]) for group in limits for pod in members[group]]
        if not whole:
            return NoProposal(Why.NO_VICTIMS)
        for atoms in (spare, [*whole, *spare]):
            found = self._cheapest(atoms, limits)
            if found is not None:
                return self._proposed(found)
        if not self._by_domain(whole):
            return NoProposal(Why.NO_VICTIMS)
        return NoProposal(Why.TOO_LITTLE if self._proved else Why.NOT_FOUND)

    def _may_go(self) -> tuple[dict[str, tuple[Pod, ...]], dict[str, int]]:
        """Members on nodes of every group that may be a victim; of elastic gangs, how many are beyond
        minCount.
        """
        state = self._state
        members: dict[str, tuple[Pod, ...]] = {}
        limits: dict[str, int] = {}
        for key in sorted(state.groups):
            who, group = roster(state, key), state.groups[key]
            if key == self._who.key or not who.bound:
                continue
            if not may_be_victim(group, who.priority, self._who.priority):
                continue
            members[key] = who.bound
            if group.elastic and group.policy == "gang" and len(who.bound) > who.need:
                limits[key] = len(who.bound) - who.need
        return members, limits

    def _cheapest(self, atoms: Sequence[Atom], limits: dict[str, int]) -> tuple[Atom, ...] | None:
        best: tuple[Atom, ...] | None = None
        inside = self._by_domain(atoms)
        domains = [self._domain(number, inside[number], limits) for number in self._possible(atoms, inside)]
        ranked = [
            (each.least(), each.promise, number, each) for number, each in enumerate(domains) if each.possible
        ]
        ranked.sort(key=lambda entry: entry[:3])
        for least, _, _, domain in ranked:  # a good plan known early is what lets others be passed over
            if (best is not None and least >= cost(best)) or self._budget.left < OPERATIONS // 2:
                break
            best = domain.begin(best) or best
        ties = 0
        for least, _, _, domain in ranked:
            no_cheaper = best is not None and least >= cost(best)
            if best is not None and (least > cost(best) or ties >= _TIES):
                break
            found = domain.search(best)
            best = found.atoms or best
            self._proved &= no_cheaper or found.proved
            ties += no_cheaper
        return best

    def _by_domain(self, atoms: Sequence[Atom]) -> dict[int, list[Atom]]:
        """Those with members in a domain, by its number."""
        inside: dict[int, list[Atom]] = {}
        for each in atoms:
            for number in {self._number[pod.node] for pod in each.pods if pod.node in self._number}:
                inside.setdefault(number, []).append(each)
        return inside

    def _possible(self, atoms: Sequence[Atom], inside: Collection[int]) -> list[int]:
        """Numbers of the domains that are not proved too small even with all of the atoms gone."""
        gone = {pod.uid: pod for each in atoms for pod in each.pods}
        columns = self._state.columns
        freed = held_by(columns, [(pod.node, pod.shape.requests) for pod in gone.values()])
        room = {name: free + freed[name] if name in freed else free for name, free in columns.free.items()}
        bars = [self._state.bars(kind.eligibility) for kind in self._kinds]
        then: Field = field(self._state, self._index, self._kinds).like(bars, room)
        large = np.flatnonzero(then.bound >= self._who.missing).tolist()
        return [number for number in large if number in inside]

    def _domain(self, number: int, atoms: Sequence[Atom], limits: dict[str, int]) -> Domain:
        names = self._index.names[self._index.slice(number)]
        if self._exact:
            return Domain(self._room(names), atoms, limits, self._budget)
        model = Domain(self._room(names, alike=True), atoms, limits, Budget(_MODEL))
        return Domain(self._room(names), atoms, limits, self._budget, self._trial(number), model)

    def _trial(self, number: int) -> Trial:
        if self._between or self._quota:
            return ByDecision(self._cut(self._index.domains[number]), self._who.key)
        rows = self._index.order[self._index.slice(number)]
        bars = [self._state.bars(kind.eligibility)[rows] for kind in self._kinds]
        where = self._index.only(number).by_position()
        return ByRoom(where, self._kinds, bars, self._who.missing)

    def _room(self, names: Sequence[str], *, alike: bool = False) -> Room:
        return Room(self._state, self._kinds, names, self._who.missing, alike=alike)

    def _cut(self, domain: str) -> ClusterState:
        """Where pods have a say, they may do so from other domains."""
        if self._index.key is ALL_NODES or self._between:
            return self._state
        return cut(self._state, self._who.key, [domain])

    def _proposed(self, found: tuple[Atom, ...]) -> Proposal | NoProposal:
        atoms = self._needed(found)
        victims = _victims(self._state, atoms)
        made, by = outcome(self._state, self._who.key, victims)
        if not made.placed:
            return NoProposal(Why.TAKEN, by) if by else NoProposal(Why.NOT_FOUND)
        group = self._state.groups[self._who.key]
        return Proposal(
            group=group.key,
            uid=group.uid,
            generation=group.generation,
            domain=made.domain,
            victims=victims,
            cost=cost(atoms),
            proved_smallest=self._proved and atoms == found,
            placed=made.fits,
            need=made.need,
            decided_on=self._state.seq,
        )

    def _needed(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """Those of which none can be left out, each decided about on the whole state."""
        ahead = self._state.fork()
        for each in atoms:
            for pod in each.pods:
                ahead.remove_pod(pod.uid)
        kept = list(atoms)
        for each in sorted(atoms, key=lambda each: each.order, reverse=True):
            for pod in each.pods:
                ahead.set_pod(pod)
            if decide(ahead, self._who.key).placed:
                kept.remove(each)
            else:
                for pod in each.pods:
                    ahead.remove_pod(pod.uid)
        return tuple(kept)


def _victims(state: ClusterState, atoms: Sequence[Atom]) -> tuple[Victim, ...]:
    """By key; members of one gang together."""
    found: dict[str, list[Atom]] = {}
    for each in atoms:
        found.setdefault(each.group, []).append(each)
    victims = []
    for key, parts in sorted(found.items()):
        group, pods = state.groups[key], [pod for each in parts for pod in each.pods]
        victims.append(
            Victim(
                key=key,
                uid=group.uid,
                generation=group.generation,
                priority=roster(state, key).priority,
                whole=parts[0].whole,
                members=tuple(sorted(((pod.uid, pod.name, pod.node) for pod in pods), key=lambda m: m[1:])),
                gpus=gpus(tuple(pods)),
                created=group.created,
            )
        )
    return tuple(victims)
