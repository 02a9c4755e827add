"""A canary is judged when its window is over, or when a limit is broken for good, and what follows is done if
it need not be asked for: a family of ``tending``. Pure.
"""

from __future__ import annotations

from scheduling.engine.canary import Approval, Canary, CanaryFacts, Criterion, Status, Verdict, the_undecided
from scheduling.engine.canary_judging import breaks_at, broken_for_good, measured, verdict
from scheduling.engine.state import ClusterState
from scheduling.ledger.events import CanaryEnded, CanaryJudged, Event
from scheduling.services.canary import after_passing, roll_back
from scheduling.services.followed import Followed


def tend(state: ClusterState, now_ms: int) -> list[Followed]:
    """See ``tending.Family``."""
    canaries = state.records.of(Canary).values()
    if state.mode != "simulated":
        return [
            Followed(CanaryEnded(each.id, each.stage, "observed"), None) for each in canaries if each.in_force
        ]
    canary = the_undecided(canaries)
    if canary is None or canary.status != Status.RUNNING:
        return []
    over = now_ms >= canary.until
    if not over and canary.limit(Criterion.ERRORS) is None and canary.limit(Criterion.WAIT_LONGEST) is None:
        return []
    told = measured(state, canary, state.records.of(CanaryFacts)[canary.id], now_ms)
    if not over and not broken_for_good(told):
        return []
    found = verdict(told)
    asks = canary.approval == Approval.ASK or found == Verdict.NOT_ENOUGH_DATA
    judged = CanaryJudged(
        name=canary.id,
        stage=canary.stage,
        verdict=found.value,
        measured=told,
        since=canary.since,
        until=now_ms,
        approval=(Approval.ASK if asks else Approval.AUTOMATIC).value,
        early=not over,
    )
    news = [Followed(judged, canary.began)]
    if not asks:
        follows: list[Event] = (
            roll_back(state, canary, "failed")
            if found == Verdict.FAILED
            else after_passing(state, canary, now_ms)
        )
        seq = state.seq + 1  # of the judgement; what is first after it is the cause of the rest
        news += [Followed(event, seq if number == 0 else seq + 1) for number, event in enumerate(follows)]
    return news


def due_at(state: ClusterState) -> int | None:
    """When the window is over, or a group that waits has waited for too long."""
    canary = the_undecided(state.records.of(Canary).values())
    if canary is None or canary.status != Status.RUNNING:
        return None
    early = breaks_at(state, canary)
    return canary.until if early is None else min(canary.until, early)
