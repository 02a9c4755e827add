"""One group decided as a release of kube-scheduler would: the greedy pass in every placement, then the best
placement by score. Ties are told, never rolled: of equals the first by name is taken.

Where the pass finds nothing, the exact engine is asked about the same nodes: either it proves that nothing
can be found, and says why, or upstream has missed a place that there may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from scheduling.engine.candidates import Candidates, Conflict, candidates
from scheduling.engine.columns import Bools, Ints
from scheduling.engine.decision import Decision, DomainCount, Funnel
from scheduling.engine.model import Pod
from scheduling.engine.pairwise_rules import rules
from scheduling.engine.profiles.greedy import Pass, Quorum, Shuffled, by_name, greedy
from scheduling.engine.profiles.releases import RELEASES, Release
from scheduling.engine.profiles.snapshot import SCORED, Asked, Snapshot, as_upstream_sees, asked, take
from scheduling.engine.profiles.steps import CHOOSE, FILTERS, PLACEMENT_SCORES, Filled
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState

MOST_DRAWS = 32
"""How many ways to roll what upstream rolls are tried at most: orders of the members, ties between nodes."""

_FEWEST_DRAWS = 4
_DRAW_BUDGET = 4_000_000
"""Members times nodes, over all draws: large groups in large clusters are drawn less often."""

_SHOWN_WHEN_PLACED = 8


class Exact(Protocol):
    def __call__(self, state: ClusterState, group_key: str) -> Decision:
        """The decision of the exact engine."""


@dataclass(frozen=True, slots=True)
class _Cycle:
    """``alike``: whether members of one kind fill a placement whatever is rolled. ``priorities``: of each
    member.
    """

    state: ClusterState
    who: Roster
    where: Candidates
    nodes: Snapshot
    members: tuple[Asked, ...]
    priorities: tuple[int, ...]
    quorum: Quorum
    alike: bool
    release: Release


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
    if isinstance(where, Conflict) or not where.index.domains:
        return plain
    if plain.verdict == Verdict.CONFLICTED or plain.reason == Reason.UNMODELLED:
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
    between = rules(state, who)
    numbers = (
        {pod.uid: kind for kind, each in enumerate(between.kinds) for pod in each.pods} if between else {}
    )
    members = tuple(asked(pod, numbers.get(pod.uid, 0)) for pod in who.waiting)
    matters = between is not None and between.among_members
    return _Cycle(
        state=state,
        who=who,
        where=where,
        nodes=take(state, where.index, members, between),
        members=members,
        priorities=tuple(pod.priority for pod in who.waiting),
        quorum=Quorum(who.missing, release.stops_early),
        alike=len(set(members)) == 1 and not matters,
        release=release,
    )


def _decide(cycle: _Cycle, plain: Decision) -> Decision:
    made, luck = _likeliest(cycle, plain.verdict == Verdict.PROVED_INFEASIBLE)
    feasible = np.flatnonzero(made.placed >= cycle.quorum.missing).tolist()
    plain = replace(plain, funnel=_funnel(cycle, len(feasible)), luck=luck)
    if not feasible:
        if plain.verdict == Verdict.PROVED_INFEASIBLE:
            return plain
        return replace(
            _blank(plain),
            verdict=Verdict.NOT_FOUND,
            reason=Reason.NOT_FOUND_BY_HEURISTIC,
            domains=_counts(cycle, made, np.argsort(-made.placed, kind="stable").tolist()),
            method="greedy",
        )
    totals = placement_totals(cycle.nodes, cycle.members, made, feasible, len(cycle.who.bound))
    tied = [feasible[number] for number in CHOOSE(totals)]
    ranked = [domain for _, domain in sorted(zip((-total for total in totals), feasible, strict=True))]
    return _placed(cycle, made, plain, tied, ranked)


def _likeliest(cycle: _Cycle, hopeless: bool) -> tuple[Pass, tuple[int, int]]:
    """The pass in order of age and name, unless most other rolls end otherwise: then the first of those. And
    how many of how many rolls placed the group, (0, 0) when rolls cannot matter.

    Members of one kind fill a placement whatever is rolled, and ties between equal nodes change nothing; both
    are certain, as is what the exact engine proved.
    """
    members, quorum = cycle.members, cycle.quorum
    uncertain = not cycle.alike and not hopeless
    first = greedy(cycle.nodes, members, quorum, by_name, watch=uncertain and not cycle.release.rolls_order)
    if not uncertain or not (cycle.release.rolls_order or first.contested):
        return first, (0, 0)
    placing: list[Pass] = []
    failing: list[Pass] = []
    draws = _DRAW_BUDGET // (len(members) * len(cycle.where.index.order))
    draws = max(_FEWEST_DRAWS, min(draws, MOST_DRAWS))
    for draw in range(draws):
        made = first if draw == 0 else _drawn(cycle, draw)
        (placing if (made.placed >= quorum.missing).any() else failing).append(made)
    likeliest = placing if 2 * len(placing) >= draws else failing
    return likeliest[0], (len(placing), draws)


def _drawn(cycle: _Cycle, draw: int) -> Pass:
    """One roll, the same in every run: members from another one on, and ties in another order."""
    order = list(range(len(cycle.members)))
    if cycle.release.rolls_order:
        cut = draw % len(order)
        order = sorted((*order[cut:], *order[:cut]), key=lambda number: -cycle.priorities[number])
    made = greedy(cycle.nodes, [cycle.members[number] for number in order], cycle.quorum, Shuffled(draw))
    chosen = dict(zip(order, made.chosen, strict=True))
    return replace(made, chosen=tuple(chosen[number] for number in range(len(order))))


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
    return [sum(values[start:end]) for start, end in pairwise(cuts)]


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
