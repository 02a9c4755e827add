"""One group decided as a release of kube-scheduler would: the greedy pass in every placement, then the best
placement by score. Ties are told, never rolled: of equals the first by name is taken.

Where the pass finds nothing, the exact engine is asked about the same nodes: either it proves that nothing
can be found, and says why, or upstream has missed a place that there may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from scheduling.engine.candidates import Candidates, Conflict, candidates
from scheduling.engine.columns import Bools, Ints
from scheduling.engine.decision import Decision, DomainCount, Funnel
from scheduling.engine.model import Pod
from scheduling.engine.profiles.greedy import Pass, Quorum, Shuffled, by_name, greedy
from scheduling.engine.profiles.releases import RELEASES, Release
from scheduling.engine.profiles.snapshot import SCORED, Asked, Snapshot, as_upstream_sees, asked, take
from scheduling.engine.profiles.steps import CHOOSE, FILTERS, PLACEMENT_SCORES, Filled
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState

DRAWS = 32
"""Other ways to break the ties between nodes that are tried before it is said that they do not matter."""

_SHOWN_WHEN_PLACED = 8


class Exact(Protocol):
    def __call__(self, state: ClusterState, group_key: str) -> Decision:
        """The decision of the exact engine."""


@dataclass(frozen=True, slots=True)
class _Cycle:
    """``kinds``: how many different members there are."""

    state: ClusterState
    who: Roster
    where: Candidates
    nodes: Snapshot
    members: tuple[Asked, ...]
    quorum: Quorum
    kinds: int


def decide_upstream(state: ClusterState, group_key: str, profile: str, exact: Exact) -> Decision:
    """What the release would do with the group now. KeyError for a profile that is no release."""
    release = RELEASES[profile]
    view = as_upstream_sees(state)
    plain = replace(exact(view, group_key), profile=profile)
    who = roster(view, group_key)
    if plain.verdict == Verdict.HELD or not who.waiting:
        return plain
    if release.equal_priority and plain.verdict != Verdict.CONFLICTED and _priorities_differ(who):
        return replace(_blank(plain), verdict=Verdict.CONFLICTED, reason=Reason.INVALID)
    where = candidates(view, who)
    if plain.verdict == Verdict.CONFLICTED or isinstance(where, Conflict) or plain.reason == Reason.UNMODELLED:
        return plain
    if not where.index.domains:
        return plain
    return _decide(_cycle(view, who, where, release), plain)


def _priorities_differ(who: Roster) -> bool:
    """Whether some member to be placed has another priority than the group, or than the others when the group
    has none.
    """
    priorities = {pod.priority for pod in who.waiting}
    if who.group is not None and who.group.priority is not None:
        priorities.add(who.group.priority)
    return len(priorities) > 1


def _cycle(state: ClusterState, who: Roster, where: Candidates, release: Release) -> _Cycle:
    members = tuple(asked(pod) for pod in who.waiting)
    return _Cycle(
        state=state,
        who=who,
        where=where,
        nodes=take(state, where.index, members),
        members=members,
        quorum=Quorum(who.missing, release.stops_early),
        kinds=len(set(members)),
    )


def _decide(cycle: _Cycle, plain: Decision) -> Decision:
    first = greedy(cycle.nodes, cycle.members, cycle.quorum, by_name, watch=cycle.kinds > 1)
    feasible = np.flatnonzero(first.placed >= cycle.quorum.missing).tolist()
    luck = _depends_on_ties(cycle, first, bool(feasible))
    plain = replace(plain, funnel=_funnel(cycle, len(feasible)))
    if not feasible:
        if plain.verdict == Verdict.PROVED_INFEASIBLE:
            return plain
        return replace(
            _blank(plain),
            verdict=Verdict.NOT_FOUND,
            reason=Reason.NOT_FOUND_BY_HEURISTIC,
            domains=_counts(cycle, first, np.argsort(-first.placed, kind="stable").tolist()),
            method="greedy",
            depends_on_ties=luck,
        )
    totals = placement_totals(cycle.nodes, cycle.members, first, feasible, len(cycle.who.bound))
    tied = [feasible[number] for number in CHOOSE(totals)]
    ranked = [domain for _, domain in sorted(zip((-total for total in totals), feasible, strict=True))]
    return _placed(cycle, first, replace(plain, depends_on_ties=luck), tied, ranked)


def _blank(plain: Decision) -> Decision:
    """What is true of the group whatever is decided: the exact engine's own answer taken out."""
    shapes = tuple(replace(shape, placed=0) for shape in plain.shapes)
    pinned = plain.domain if plain.bound and plain.enforced else ""
    return replace(
        plain, domain=pinned, assignments=(), shapes=shapes, domains=(), fits_across_domains=False, method=""
    )


def placement_totals(
    nodes: Snapshot, members: Sequence[Asked], made: Pass, feasible: Sequence[int], bound: int
) -> list[int]:
    """Score of each feasible placement; a single one is taken unscored, so its total says nothing."""
    index = nodes.index
    sums = {resource: _sums(nodes.alloc[resource], index.starts) for resource in SCORED}
    used = {resource: _sums(nodes.charged[resource], index.starts) for resource in SCORED}
    filled = []
    for domain in feasible:
        inside = [member for member, at in zip(members, made.chosen, strict=True) if at[domain] >= 0]
        charged = tuple(
            used[resource][domain] + sum(dict(member.scored)[resource] for member in inside)
            for resource in SCORED
        )
        alloc = tuple(sums[resource][domain] for resource in SCORED)
        filled.append(Filled(index.domains[domain], bound + len(inside), charged, alloc))
    totals = [0] * len(filled)
    for score, weight in PLACEMENT_SCORES:
        totals = [total + weight * part for total, part in zip(totals, score(filled), strict=True)]
    return totals


def _sums(column: Ints, starts: Ints) -> list[int]:
    """Per domain, in Python's integers: sums of bytes over many nodes times 100 pass int64."""
    cuts = [*starts.tolist(), len(column)]
    values = column.tolist()
    return [sum(values[start:end]) for start, end in zip(cuts, cuts[1:], strict=False)]


def _depends_on_ties(cycle: _Cycle, first: Pass, placed: bool) -> bool:
    """Whether another break of the ties between nodes was found that places the group, or no longer does.

    Members of one kind fill a placement whatever the ties, and ties between equal nodes change nothing; both
    are certain. Otherwise ``DRAWS`` other breaks are tried.
    """
    if cycle.kinds == 1 or not first.contested.any():
        return False
    for draw in range(DRAWS):
        other = greedy(cycle.nodes, cycle.members, cycle.quorum, Shuffled(draw))
        if bool((other.placed >= cycle.quorum.missing).any()) != placed:
            return True
    return False


def _placed(
    cycle: _Cycle, made: Pass, plain: Decision, tied: Sequence[int], ranked: Sequence[int]
) -> Decision:
    index, domain = cycle.where.index, tied[0]
    spots = [int(at[domain]) for at in made.chosen]
    pairs = [(pod, spot) for pod, spot in zip(cycle.who.waiting, spots, strict=True) if spot >= 0]
    into: dict[tuple[tuple[str, int], ...], int] = {}
    for pod, _ in pairs:
        into[pod.shape.requests] = into.get(pod.shape.requests, 0) + 1
    return replace(
        _blank(plain),
        verdict=Verdict.PLACED,
        reason="",
        domain=index.domains[domain],
        assignments=tuple((pod.uid, index.names[spot]) for pod, spot in sorted(pairs, key=_by_pod_name)),
        shapes=tuple(replace(shape, placed=into.get(shape.requests, 0)) for shape in plain.shapes),
        domains=_counts(cycle, made, ranked[:_SHOWN_WHEN_PLACED]),
        method="greedy",
        ties=tuple(index.domains[number] for number in tied) if len(tied) > 1 else (),
    )


def _by_pod_name(pair: tuple[Pod, int]) -> tuple[str, str]:
    return pair[0].name, pair[0].uid


def _usable(cycle: _Cycle) -> Bools:
    """Per position: whether some member may use it, room apart."""
    usable = np.zeros(len(cycle.where.index.order), bool)
    for each in cycle.nodes.usable.values():
        usable |= each
    return usable


def _counts(cycle: _Cycle, made: Pass, shown: Sequence[int]) -> tuple[DomainCount, ...]:
    """What the pass put into each of these placements, in this order."""
    index, bound = cycle.where.index, len(cycle.who.bound)
    eligible = index.sums(_usable(cycle).astype(np.int64)).tolist()
    counts = []
    for domain in shown:
        placed = int(made.placed[domain])
        short = max(cycle.quorum.missing - placed, 0)
        counts.append(
            DomainCount(
                domain=index.domains[domain],
                nodes=int(index.sizes[domain]),
                eligible=eligible[domain],
                fits=bound + placed,
                short=short,
                reason=Reason.NOT_FOUND_BY_HEURISTIC if short else "",
            )
        )
    return tuple(counts)


def _funnel(cycle: _Cycle, feasible: int) -> Funnel:
    index = cycle.where.index
    room = np.zeros(len(index.order), bool)
    for member in set(cycle.members):
        fits = np.ones(len(room), bool)
        for step in FILTERS:
            fits &= step(cycle.nodes, member)
        room |= fits
    return Funnel(
        domains=cycle.where.total,
        labelled=len(index.order),
        eligible=int((index.sums(_usable(cycle).astype(np.int64)) > 0).sum()),
        one_fits=int((index.sums(room.astype(np.int64)) > 0).sum()),
        quorum_fits=feasible,
    )
