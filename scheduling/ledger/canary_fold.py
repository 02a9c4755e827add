"""What events do to canaries: how one stands, whom it holds, and what is counted in its window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scheduling.engine.canary import (
    KEPT,
    MOST_SAMPLES,
    Approval,
    Canary,
    CanaryFacts,
    CanaryScope,
    Means,
    Scope,
    Status,
    the_undecided,
)
from scheduling.engine.canary_judging import waited_from
from scheduling.engine.state import ClusterState
from scheduling.ledger import events as e

COUNTED = frozenset(
    (e.PodGroupPlaced, e.PodGroupConflicted, e.DomainLost, e.WaitDeadlineExpired, e.ThroughputReported)
)
"""What counts for an open window."""

ABOUT = frozenset(
    (e.CanaryStarted, e.CanaryJudged, e.CanaryWidened, e.CanaryExtended, e.GateRolledBack, e.CanaryEnded)
)

READ = ABOUT | COUNTED
"""Whatever canaries are concerned with: the others are passed over by one look-up."""


def apply(state: ClusterState, event: e.Event, at: int) -> None:
    """The part of an event that is about canaries, after all else of it; ``state.seq`` is the event's."""
    match event:
        case e.CanaryStarted():
            _start(state, event, at)
        case e.CanaryJudged():
            _judge(state, event)
        case e.CanaryWidened():
            exempt = _exempt(state, event.name) + tuple(uid for _, uid in event.exempt)
            _hold(state, event.name, event.means, event.scope, exempt)
            _open(state, event.name, at, event.until, stage=event.stage, gates=event.gates)
        case e.CanaryExtended():
            _open(state, event.name, at, event.until)
        case e.GateRolledBack():
            _end(state, event.name, Status.ROLLED_BACK)
        case e.CanaryEnded():
            _end(state, event.name, Status.KEPT if event.how == "kept" else Status.STOPPED)
        case _:
            _count(state, event, at)


def _start(state: ClusterState, event: e.CanaryStarted, at: int) -> None:
    exempt = tuple(uid for _, uid in event.exempt)
    _hold(state, event.name, event.means, event.stages[0], exempt)
    canary = Canary(
        id=event.name,
        means=event.means,
        stages=event.stages,
        limits=event.limits,
        unit=event.unit,
        window=event.window,
        approval=event.approval,
        started=at,
        since=at,
        until=event.until,
        seq=state.seq,
        began=state.seq,
        gates=event.gates,
    )
    state.records.put(canary)
    state.records.put(CanaryFacts(event.name))


def _judge(state: ClusterState, event: e.CanaryJudged) -> None:
    status = Status.ASKING if event.approval == Approval.ASK else Status.RUNNING
    _move_on(
        state,
        event.name,
        status=status.value,
        judged=state.seq,
        verdict=event.verdict,
        measured=event.measured,
        until=event.until,
    )
    state.records.drop(CanaryFacts, event.name)


def _open(
    state: ClusterState,
    name: str,
    at: int,
    until: int,
    *,
    stage: int | None = None,
    gates: tuple[str, ...] = (),
) -> None:
    canary = state.records.of(Canary).get(name)
    if canary is None:
        return
    _move_on(
        state,
        name,
        status=Status.RUNNING.value,
        since=at,
        until=until,
        began=state.seq,
        stage=canary.stage if stage is None else stage,
        gates=canary.gates + gates,
    )
    state.records.put(CanaryFacts(name))


def _end(state: ClusterState, name: str, status: Status) -> None:
    """Of those that are over, the latest are remembered."""
    _move_on(state, name, status=status.value)
    state.records.drop(CanaryFacts, name)
    if status != Status.KEPT:
        state.records.drop(CanaryScope, name)
    canary = state.records.of(Canary).get(name)
    if canary is None:
        return
    state.records.drop(Canary, name)  # behind all others, in the order in which they ended
    state.records.put(canary)
    over = [known for known, each in state.records.of(Canary).items() if not each.in_force]
    for old in over[:-KEPT]:
        state.records.drop(Canary, old)


def _hold(state: ClusterState, name: str, means: str, scope: Scope, exempt: tuple[str, ...]) -> None:
    """Where the gates hold everybody the canary holds nobody: it only leaves out whom it found spread."""
    named = scope if means == Means.SCOPE else Scope()
    state.records.put(CanaryScope(name, named.namespaces, named.groups, tuple(sorted(exempt))))


def _exempt(state: ClusterState, name: str) -> tuple[str, ...]:
    held = state.records.of(CanaryScope).get(name)
    return () if held is None else held.exempt


def _move_on(state: ClusterState, name: str, **fields: Any) -> None:
    """The part of a state that tables hold knows whom a canary holds, and no more of it."""
    canary = state.records.of(Canary).get(name)
    if canary is not None:
        state.records.put(replace(canary, **fields))


# ---------------------------------------------------------------- what is counted


def _count(state: ClusterState, event: Any, at: int) -> None:
    canary = the_undecided(state.records.of(Canary).values())
    facts = state.records.of(CanaryFacts).get(canary.id) if canary is not None else None
    key = f"{event.namespace}/{event.name}"
    group = state.groups.get(key)
    if canary is None or facts is None or group is None or group.uid != event.uid or not group.topology_key:
        return
    if group.uid in _exempt(state, canary.id):
        return
    inside = canary.scope.covers(group)
    match event:
        case e.PodGroupPlaced():
            if event.fits - len(event.assignments) < event.need <= event.fits:
                wait = (key, max(0, at - waited_from(state, key, canary.since)))
                state.records.put(_with_wait(facts, wait, inside))
        case e.ThroughputReported():
            if event.unit == canary.unit:
                others = tuple(each for each in facts.throughput if each[0] != key)
                state.records.put(
                    replace(facts, throughput=(*others, (key, inside, event.rate))[-MOST_SAMPLES:])
                )
        case _ if inside and all(known != key for known, _, _ in facts.errors):
            what = {e.PodGroupConflicted: "conflicted", e.DomainLost: "domain_lost"}.get(
                type(event), "deadline"
            )
            if len(facts.errors) < MOST_SAMPLES:
                state.records.put(replace(facts, errors=(*facts.errors, (key, what, state.seq))))


def _with_wait(facts: CanaryFacts, wait: tuple[str, int], inside: bool) -> CanaryFacts:
    """Beyond ``MOST_SAMPLES`` the longest one is still kept, in the place of the last."""
    kept = facts.waits if inside else facts.control
    if len(kept) >= MOST_SAMPLES:
        if wait[1] <= max(each[1] for each in kept):
            return replace(facts, more=facts.more + inside)
        facts = replace(facts, more=facts.more + inside)
        kept = kept[:-1]
    return replace(facts, waits=(*kept, wait)) if inside else replace(facts, control=(*kept, wait))
