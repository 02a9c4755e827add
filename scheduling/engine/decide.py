"""One group, one state, one decision. Nothing is changed; the same state gives the same decision to the byte.

The law: with the gates on, at least minCount members are in one topology domain at once, or nothing is
placed. Bound members count, at least one member is placed in the cycle, and placing goes on past minCount
as far as the domain holds. The basic policy has a quorum of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from scheduling.engine import mixed, numa, pairwise, uniform
from scheduling.engine.candidates import Candidates, Conflict, candidates, conflict, enforced, lost_domain
from scheduling.engine.capacity import Field, field, held_by
from scheduling.engine.counts import DomainRows
from scheduling.engine.decision import Decision, DomainCount, Funnel, ShapeCount, VerdictSummary
from scheduling.engine.explain import Pairs, shortfalls
from scheduling.engine.holds import held_rows, seen_by, unreserved
from scheduling.engine.packing import Packing, assignments, wholly_free
from scheduling.engine.pairwise_rules import Rules, rules, without_strangers
from scheduling.engine.profiles.releases import RELEASES
from scheduling.engine.profiles.upstream import decide_upstream
from scheduling.engine.quota import Allowance, allowance
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import Kind, Requests, Roster, roster
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import TopologyIndex

__all__ = ["PROFILES", "Decision", "DomainCount", "Funnel", "ShapeCount", "VerdictSummary", "decide"]

PROFILES = ("exact", *RELEASES)

_EVERYBODY = Allowance()

_SHOWN_WHEN_PLACED = 8
"""Domains counted in a decision that places: the chosen one and the next best."""


def decide(state: ClusterState, group_key: str, *, profile: str = "exact") -> Decision:
    """What to do with the group now. ValueError for an unknown profile; a group nobody names is held.

    The profiles of kube-scheduler leave reservations and quotas out of account: it knows of neither.
    """
    if profile not in PROFILES:
        raise ValueError(f"profile {profile!r} is none of {', '.join(PROFILES)}")
    if profile in RELEASES:  # no release knows of NUMA zones: to it their key is a label that no node has
        return decide_upstream(unreserved(state), group_key, profile, _decide_exact)
    exact: numa.Exact = _decide_exact
    if state.groups.get(group_key) is not None and state.groups[group_key].queue:
        exact = partial(_decide_exact, allowed=allowance(state, roster(state, group_key)))
    state = seen_by(state, group_key)
    if numa.asked(state, group_key):
        return _unless_pods_restrict(state, numa.decide_in_zones(state, group_key, exact))
    return exact(state, group_key)


def _decide_exact(state: ClusterState, group_key: str, allowed: Allowance = _EVERYBODY) -> Decision:
    who = roster(state, group_key)
    start = _start(state, who, "exact")
    held = held_reason(who)
    if held is not None:
        return replace(start, verdict=Verdict.HELD, reason=held)
    where = lost_domain(state, who) or undisputed(state, who)
    if isinstance(where, Conflict):
        return replace(
            start,
            verdict=Verdict.CONFLICTED,
            reason=where.reason,
            conflict_domains=where.domains,
            conflict_nodes=where.nodes,
        )
    if where.pinned:
        start = replace(start, domain=where.index.domains[0])
    if not who.waiting:
        return replace(start, method="counting")
    if allowed.refused is not None:
        return replace(start, verdict=Verdict.HELD, reason=Reason.QUOTA, quota=allowed.refused)
    if who.unmodelled:
        return replace(start, verdict=Verdict.NOT_FOUND, reason=Reason.UNMODELLED, unmodelled=who.unmodelled)
    if allowed.uids is not None:
        return _some_of(state, who, where, start, allowed.uids)
    return _evaluate(state, who, where, start)


def _some_of(
    state: ClusterState, who: Roster, where: Candidates, start: Decision, uids: frozenset[str]
) -> Decision:
    """With only those members to be placed. Where they are of several kinds, others might fit in their stead:
    then it is no proof that these do not, unless all together are proved not to.
    """
    decision = _evaluate(state, _only(who, uids), where, start)
    if decision.verdict != Verdict.PROVED_INFEASIBLE or len(who.kinds()) == 1:
        return decision
    whole = _evaluate(state, who, where, start)
    if whole.verdict == Verdict.PROVED_INFEASIBLE:
        return whole
    return replace(decision, verdict=Verdict.NOT_FOUND, reason=Reason.NOT_FOUND_BY_HEURISTIC)


def _only(who: Roster, allowed: frozenset[str]) -> Roster:
    """The group with some of its waiting members. How many it has of each shape stays as it is."""
    some = tuple(pod for pod in who.waiting if pod.uid in allowed)
    return replace(who, waiting=some, _asked={"counts": who.counts()})


def _unless_pods_restrict(state: ClusterState, decision: Decision) -> Decision:
    """A decision in NUMA zones claims nothing where pods say where members may go: which zones the other pods
    are in is not known, so neither is who is beside whom.
    """
    who = roster(state, decision.key)
    evaluated = decision.verdict in (Verdict.PLACED, Verdict.PROVED_INFEASIBLE, Verdict.NOT_FOUND)
    if not evaluated or not who.waiting or rules(state, who) is None:
        return decision
    shapes = [pod.shape for pod in who.waiting]
    named = {
        "hostPorts": any(shape.host_ports for shape in shapes),
        "podAffinity": any(shape.pod_affinity for shape in shapes),
    }
    used = {name for name, there in named.items() if there}
    if not used or any(shape.pod_anti_affinity for shape in shapes):
        used.add("podAntiAffinity")
    return replace(
        decision,
        verdict=Verdict.NOT_FOUND,
        reason=Reason.UNMODELLED,
        domain=decision.domain if decision.bound else "",
        assignments=(),
        shapes=_shapes(who, (), None),
        domains=(),
        fits_across_domains=False,
        unmodelled=tuple(sorted(used | set(decision.unmodelled))),
        method="",
    )


def held_reason(who: Roster) -> Reason | None:
    """Why the group is not evaluated, None when it is. Members behind scheduling gates exist but cannot be
    placed.
    """
    if who.group is None:
        return Reason.NO_PODGROUP
    if len(who.bound) + len(who.waiting) >= who.need or (who.running and not who.waiting):
        return None
    return Reason.NOT_ENOUGH_PODS


def undisputed(state: ClusterState, who: Roster) -> Candidates | Conflict:
    """Where to look, or what contradicts itself; the members to be placed must name one scheduler."""
    return _schedulers(who) or candidates(state, who)


def dispute(state: ClusterState, who: Roster) -> Conflict | None:
    """What contradicts itself, as of ``undisputed``."""
    return _schedulers(who) or conflict(state, who)


def _schedulers(who: Roster) -> Conflict | None:
    return Conflict(Reason.SCHEDULER_NAME, (), ()) if len(who.schedulers) > 1 else None


def _start(state: ClusterState, who: Roster, profile: str) -> Decision:
    """The part of the decision that holds whatever comes out; as it stands, a group with nothing left to
    place.
    """
    group = who.group
    return Decision(
        key=who.key,
        uid=group.uid if group else "",
        generation=group.generation if group else 0,
        verdict=Verdict.PLACED,
        reason="",
        profile=profile,
        topology_key=group.topology_key if group else "",
        enforced=enforced(state, who),
        domain="",
        need=who.need,
        bound=len(who.bound),
        members=who.known,
        gated=len(who.gated),
        shapes=_shapes(who, (), None),
    )


def _shapes(who: Roster, kinds: Sequence[Kind], best: Packing | None) -> tuple[ShapeCount, ...]:
    """Members by what they request, sorted by it, with those that the packing places."""
    placed: dict[Requests, int] = {}
    if best is not None:
        for kind, take in zip(kinds, best.takes, strict=True):
            placed[kind.requests] = placed.get(kind.requests, 0) + int(take.sum())
    return tuple(
        ShapeCount(requests, members, bound, placed.get(requests, 0))
        for requests, members, bound in who.counts()
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """``best``: the packing chosen, None when none was found. ``others``: how many each feasible domain
    takes, best first. ``tried``: the best packings of several kinds, by domain. ``refuted``: domains that
    the bound allows and a search proved too small. ``proved``: nothing can fit.
    """

    best: Packing | None
    others: list[tuple[int, int]]
    feasible: int
    tried: dict[int, Packing]
    refuted: frozenset[int]
    proved: bool
    method: str


def _evaluate(state: ClusterState, who: Roster, where: Candidates, start: Decision) -> Decision:
    between = rules(state, who)
    seen = _field(state, where.index, between.kinds if between else who.kinds(), between)
    answer = _search(state, seen, who.missing, between)
    start = replace(
        start,
        funnel=_funnel(seen, where, answer),
        unlabelled_nodes=where.index.unlabelled,
        over_committed=state.over_committed(),
        method=answer.method,
    )
    if answer.best is not None:
        return _placed(seen, who, start, answer, answer.best)
    return _refused(state, seen, who, where, start, answer, between)


def _field(state: ClusterState, index: TopologyIndex, kinds: Sequence[Kind], between: Rules | None) -> Field:
    seen = field(state, index, kinds)
    return between.applied(state, seen) if between else seen


def _search(state: ClusterState, seen: Field, missing: int, between: Rules | None) -> _Answer:
    none: frozenset[int] = frozenset()
    if not seen.index.domains:
        return _Answer(None, [], 0, {}, none, True, "counting")
    if between is not None and between.among_members:
        whole = wholly_free(state.columns, seen.index, seen.kinds)
        return _searched(pairwise.search(between, seen, whole, missing))
    if len(seen.kinds) == 1:
        ranked = uniform.ranking(state.columns, seen, missing, _SHOWN_WHEN_PLACED)
        best = uniform.pack(state.columns, seen, ranked.best[0]) if ranked.feasible else None
        others = list(zip(ranked.best, ranked.takes, strict=True))
        return _Answer(best, others, ranked.feasible, {}, none, best is None, "counting")
    whole = wholly_free(state.columns, seen.index, seen.kinds)
    result = mixed.search(seen, whole, missing)
    found = result.found
    others = [(packing.domain, packing.placed) for packing in found[:_SHOWN_WHEN_PLACED]]
    return _Answer(
        best=found[0] if found else None,
        others=others,
        feasible=len(found),
        tried=result.tried,
        refuted=frozenset(result.refuted),
        proved=not found and not result.open,
        method=result.method,
    )


def _searched(made: pairwise.Found) -> _Answer:
    found = made.packings
    return _Answer(
        best=found[0] if found else None,
        others=[(packing.domain, packing.placed) for packing in found[:_SHOWN_WHEN_PLACED]],
        feasible=len(found),
        tried=made.tried,
        refuted=made.exhausted,
        proved=made.proved,
        method="counting" if made.proved and not made.exhausted else "search",
    )


def _funnel(seen: Field, where: Candidates, answer: _Answer) -> Funnel:
    usable, room = np.zeros(len(seen.index.domains), bool), np.zeros(len(seen.index.domains), bool)
    for kind, sums in enumerate(seen.sums):
        usable |= seen.eligible_in(kind) > 0
        room |= sums > 0
    return Funnel(
        domains=where.total,
        labelled=len(seen.index.order),
        eligible=int(np.count_nonzero(usable)),
        one_fits=int(np.count_nonzero(room)),
        quorum_fits=answer.feasible,
    )


def _placed(seen: Field, who: Roster, start: Decision, answer: _Answer, best: Packing) -> Decision:
    pairs = assignments(best, seen.index, seen.kinds)
    return replace(
        start,
        domain=seen.index.domains[best.domain],
        assignments=pairs,
        shapes=_shapes(who, seen.kinds, best),
        domains=tuple(_feasible(seen, domain, len(who.bound) + placed) for domain, placed in answer.others),
    )


def _feasible(seen: Field, domain: int, fits: int) -> DomainCount:
    nodes = int(seen.index.sizes[domain])
    if len(seen.kinds) == 1:
        eligible = int(seen.eligible_in(0)[domain])
    else:
        rows = seen.index.order[seen.index.slice(domain)]
        usable = np.stack([seen.open_at(kind, rows) for kind in range(len(seen.kinds))])
        eligible = int(usable.any(axis=0).sum())
    return DomainCount(seen.index.domains[domain], nodes, eligible, fits, 0)


def _refused(
    state: ClusterState,
    seen: Field,
    who: Roster,
    where: Candidates,
    start: Decision,
    answer: _Answer,
    between: Rules | None,
) -> Decision:
    own = held_by(state.columns, [(pod.node, pod.shape.requests) for pod in who.bound])
    pairs = Pairs(between, without_strangers(state, between, who)) if between else None
    held = held_rows(state) if state.holds else {}
    counts = shortfalls(
        state, seen, own, len(who.bound), who.missing, answer.tried, answer.refuted, pairs, held
    )
    return replace(
        start,
        verdict=Verdict.PROVED_INFEASIBLE if answer.proved else Verdict.NOT_FOUND,
        reason=_reason(start, where, counts) if answer.proved else Reason.NOT_FOUND_BY_HEURISTIC,
        domains=counts,
        fits_across_domains=start.enforced and _fits_across(state, seen, who.missing, between),
    )


def _reason(start: Decision, where: Candidates, counts: DomainRows | tuple[()]) -> str:
    """That of the best domain; ``never_fits`` only when it is so in every domain."""
    if where.pinned:
        return Reason.STICKY_DOMAIN
    if not isinstance(counts, DomainRows):
        return Reason.NO_SUCH_DOMAIN if start.enforced else Reason.NEVER_FITS
    return counts.hopeful or Reason.NEVER_FITS


def _fits_across(state: ClusterState, seen: Field, missing: int, between: Rules | None) -> bool:
    """Whether the group was found, by counting or by the heuristics, to fit over all domains together."""
    everywhere = _field(state, state.index(seen.index.key).together(), seen.kinds, between)
    if not everywhere.index.domains:
        return False
    if between is not None and between.among_members:
        return _search(state, everywhere, missing, between).best is not None
    if len(seen.kinds) == 1:
        return bool(everywhere.sums[0][0] >= missing)
    whole = wholly_free(state.columns, everywhere.index, seen.kinds)
    return bool(mixed.search(everywhere, whole, missing, operations=0, solver_runs=0).found)
