"""One cycle as a pure function: waiting groups decided in queue order, each on what the last one left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.lost import newly_lost
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.queue import is_conflicted, waiting
from scheduling.engine.reasons import Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.turns import LostTo
from scheduling.engine.version import ENGINE
from scheduling.ledger import fold
from scheduling.ledger.events import (
    Decided,
    DomainLost,
    DomainTable,
    Event,
    PlacementForecast,
    PodGroupConflicted,
    PodGroupHeld,
    PodGroupOverQuota,
    PodGroupPlaced,
    PodGroupSettled,
    PodGroupUnschedulable,
)
from scheduling.services.contention import Contention


class Told(NamedTuple):
    """A decision, and the seq of the event that woke its group (None: not known)."""

    event: Decided
    cause: int | None


def cycle_events(state: ClusterState, now_ms: int, *, profile: str = "exact") -> list[Event]:
    """What one cycle of every waiting group decides on ``state``, which is not changed. See ``decided``."""
    return [told.event for told in decided(state, now_ms, profile=profile)]


def decided(
    state: ClusterState,
    now_ms: int,
    *,
    profile: str = "exact",
    due: Mapping[str, int | None] | None = None,
) -> Iterator[Told]:
    """The decisions of one cycle, only those that are news; ``state`` is not changed. They are to be appended
    right after the last event of ``state``, in this order: a group that lost its room names the event that
    took it.

    ``due``: the groups to decide, each with the event that woke it; all that wait when not given.

    Each holds on the log right before it: a refusal is told after the placements of the cycle, since what
    those take changes its numbers. So a second cycle on the same facts has no news.

    A domain that is lost is told before all decisions of the cycle. Each event names this engine and the
    seq of ``state``.

    ``now_ms`` changes nothing: the order of the queue comes from the objects' own times, so a replay decides
    the same. In an observed cluster a group that would be placed gives a forecast. Other groups of the cycle
    find its room taken, as they would if the forecast came true; the next cycle starts from the facts again.
    Pods without a group are never placed: they take room where the facts say they are.
    """
    ahead = state.fork()
    keys = waiting(state, profile)
    causes: Mapping[str, int | None] = dict.fromkeys(keys) if due is None else due
    keys = [key for key in keys if key in causes]
    contention = Contention(state, profile)
    seq = state.seq

    def told(event: Decided, key: str) -> Told:
        return Told(replace(event, engine=ENGINE, decided_on=state.seq), causes[key])

    for key in keys:
        loss = _newly_lost(ahead, key)
        if loss is not None:
            fold.apply(ahead, loss, ahead.seq)
            seq += 1
            yield told(loss, key)
    while keys:
        refusals: list[tuple[str, Decided | Decision]] = []
        stand_from = 0  # refusals before this one were decided before room was taken: they are decided again
        for key in keys:
            turn = _turn(ahead, key, profile)
            for placement in turn.placements:
                seq += placement.news
                contention.took(key, seq if placement.news else state.turns[key].seq, placement.assignments)
                if placement.news:
                    yield told(placement.event, key)
            if turn.placements:
                stand_from = len(refusals)
            if turn.refusal is not None:
                refusals.append((key, turn.refusal))
        for key, refusal in refusals[stand_from:]:
            lost_to = None
            if not isinstance(refusal, Decision):
                final = refusal
            else:
                lost_to = contention.winner(key, str(refusal.reason))
                if not _is_lost_anew(state, key, lost_to) and ahead.verdicts.get(key) == refusal.summary():
                    continue
                final = _lost(decision_event(ahead, refusal), lost_to)
            if _apply(ahead, key, final) or _is_lost_anew(state, key, lost_to):
                seq += 1
                yield told(final, key)
        keys = [key for key, _ in refusals[:stand_from]]


@dataclass(frozen=True, slots=True)
class _Placement:
    """``news``: false for a forecast that was told before."""

    event: Decided
    assignments: tuple[tuple[str, str], ...]
    news: bool


@dataclass(slots=True)
class _Turn:
    """What came of one group's turn. ``refusal``: of the members that are left, not applied yet; where
    domains were looked at the decision itself, since its event has them all, and most are no news.
    """

    placements: list[_Placement] = field(default_factory=list)
    refusal: Decided | Decision | None = None


def _turn(ahead: ClusterState, key: str, profile: str) -> _Turn:
    """Place what can be placed, then decide about members beyond minCount that found no room."""
    turn = _Turn()
    while True:
        decision = decide(ahead, key, profile=profile)
        if decision.placed and not decision.assignments:
            if is_conflicted(ahead, key):
                turn.refusal = _settled(decision)
            return turn  # its members are on nodes, and nothing is left to decide
        if not decision.placed:
            evaluated = decision.verdict in (Verdict.PROVED_INFEASIBLE, Verdict.NOT_FOUND)
            turn.refusal = decision if evaluated else decision_event(ahead, decision)
            return turn
        event = decision_event(ahead, decision)
        news = _apply(ahead, key, event)
        forecast = isinstance(event, PlacementForecast)
        turn.placements.append(_Placement(event, decision.assignments, news or not forecast))
        if forecast:
            zone = decision.domain if decision.enforced and decision.topology_key == NUMA_KEY else ""
            for uid, node in decision.assignments:
                ahead.bind(uid, node, zone)
            return turn  # the forecast is what is known of the group, left-over members included


def _newly_lost(state: ClusterState, key: str) -> DomainLost | None:
    group = state.groups.get(key)
    home = newly_lost(state, roster(state, key)) if group is not None else None
    if group is None or home is None:
        return None
    return DomainLost(
        namespace=group.namespace,
        name=group.name,
        uid=group.uid,
        generation=group.generation,
        topology_key=group.topology_key,
        domain=home.domain,
        nodes=home.nodes,
    )


def _apply(ahead: ClusterState, key: str, event: Event) -> bool:
    """Whether the event tells another verdict than the last one of the group."""
    before = ahead.verdicts.get(key)
    fold.apply(ahead, event, ahead.seq)
    return ahead.verdicts.get(key) != before


def _settled(decision: Decision) -> PodGroupSettled:
    namespace, _, name = decision.key.partition("/")
    return PodGroupSettled(
        namespace=namespace,
        name=name,
        uid=decision.uid,
        generation=decision.generation,
        need=decision.need,
        members=decision.members,
        bound=decision.bound,
    )


def _lost(refusal: Decided, lost_to: LostTo | None) -> Decided:
    return replace(refusal, lost_to=lost_to) if isinstance(refusal, PodGroupUnschedulable) else refusal


def _is_lost_anew(state: ClusterState, key: str, lost_to: LostTo | None) -> bool:
    """Whether it names a winner that the last decision did not: news, though the numbers be the same."""
    before = state.turns.get(key)
    return lost_to is not None and (before is None or before.lost_to != lost_to)


def decision_event(state: ClusterState, decision: Decision) -> Decided:
    """The decision as the log keeps it, but for which engine decided and on which seq. Raises KeyError when
    ``state`` is not the one that was decided on.
    """
    namespace, _, name = decision.key.partition("/")
    summary = decision.summary()
    match decision.verdict:
        case Verdict.PLACED:
            kind = PodGroupPlaced if state.mode == "simulated" else PlacementForecast
            return kind(
                namespace=namespace,
                name=name,
                uid=decision.uid,
                generation=decision.generation,
                profile=decision.profile,
                topology_key=decision.topology_key,
                enforced=decision.enforced,
                domain=decision.domain,
                need=decision.need,
                members=decision.members,
                fits=decision.fits,
                assignments=tuple((uid, state.pods[uid].name, node) for uid, node in decision.assignments),
                shapes=_shapes(decision),
            )
        case Verdict.HELD if decision.quota is not None:
            return PodGroupOverQuota(
                namespace=namespace,
                name=name,
                uid=decision.uid,
                generation=decision.generation,
                queue=decision.quota.queue,
                quota=decision.quota.quota,
                used=decision.quota.used,
                asked=decision.quota.asked,
                need=decision.need,
                members=decision.members,
                bound=decision.bound,
            )
        case Verdict.HELD:
            return PodGroupHeld(
                namespace=namespace,
                name=name,
                uid=decision.uid,
                generation=decision.generation,
                reason=str(decision.reason),
                need=decision.need,
                members=decision.members,
                bound=decision.bound,
            )
        case Verdict.CONFLICTED:
            return PodGroupConflicted(
                namespace=namespace,
                name=name,
                uid=decision.uid,
                generation=decision.generation,
                reason=str(decision.reason),
                domains=decision.conflict_domains,
                nodes=decision.conflict_nodes,
                need=decision.need,
                members=decision.members,
                bound=decision.bound,
            )
        case Verdict.PROVED_INFEASIBLE | Verdict.NOT_FOUND:
            return PodGroupUnschedulable(
                namespace=namespace,
                name=name,
                uid=decision.uid,
                generation=decision.generation,
                profile=decision.profile,
                topology_key=decision.topology_key,
                enforced=decision.enforced,
                verdict=str(decision.verdict),
                reason=str(decision.reason),
                domain=summary.domain,
                need=decision.need,
                members=decision.members,
                bound=decision.bound,
                fits=summary.fits,
                short_of=decision.domains[0].short_of if decision.domains else (),
                funnel=tuple(decision.funnel),
                unlabelled_nodes=decision.unlabelled_nodes,
                fits_across_domains=decision.fits_across_domains,
                unmodelled=decision.unmodelled,
                table=_table(decision),
                shapes=_shapes(decision),
            )


def _shapes(decision: Decision) -> tuple[tuple[int, int], ...]:
    return tuple((shape.members, shape.bound + shape.placed) for shape in decision.shapes)


def _table(decision: Decision) -> DomainTable:
    """The counts per domain as columns; each code stands in ``codes`` once."""
    codes: dict[str, int] = {}

    def index(code: str) -> int:
        return codes.setdefault(code, len(codes))

    rows = decision.domains
    reasons = tuple(index(str(row.reason)) for row in rows)
    short_of = tuple(tuple((index(resource), amount) for resource, amount in row.short_of) for row in rows)
    causes = tuple(tuple((index(code), nodes) for code, nodes in row.causes) for row in rows)
    return DomainTable(
        codes=tuple(codes),
        domains=tuple(row.domain for row in rows),
        nodes=tuple(row.nodes for row in rows),
        eligible=tuple(row.eligible for row in rows),
        fits=tuple(row.fits for row in rows),
        reasons=reasons,
        never=tuple(int(row.never) for row in rows),
        short_of=short_of,
        causes=causes,
    )
