"""Plans around a waiting group, carried out by events and a cycle: the group runs, nothing could be left out,
and in small cases nothing cheaper would do. ``manage.py bench plans`` asks the same of 200 groups each.
"""

from dataclasses import replace

import pytest

from bench import _plans
from bench._plans import (
    KEY,
    NOW,
    Tally,
    after,
    cycled,
    preemption_verdict,
    random_state,
    runs,
    scale_up_verdict,
    tally,
)
from scheduling.ledger.events import PreemptionPlanned, ScaleUpPlanned
from scheduling.services import preemption, scale_up

GROUPS = 30


@pytest.mark.parametrize("small", [False, True], ids=["random", "small"])
@pytest.mark.parametrize("verdict", [scale_up_verdict, preemption_verdict])
def test_plans_hold_and_are_the_cheapest(verdict: object, small: bool) -> None:
    found = tally(verdict, GROUPS, small=small)  # type: ignore[arg-type]
    assert (found.plans, found.hold, found.minimal) == (GROUPS, GROUPS, found.tried), found.faults
    assert found.tried == GROUPS or not small or found.tried > GROUPS // 2


# --- the checkers can fail


def planned(kind: type, make: object) -> tuple[object, object]:
    """The first random state with a plan, and the event that tells it."""
    for seed in range(1, 200):
        state = random_state(seed)
        try:
            events = make(state)  # type: ignore[operator]
        except _plans.Refused:
            continue
        if isinstance(events[0], kind):
            return state, events[0]
    raise AssertionError("no random state has a plan")


def test_a_plan_with_a_node_too_many_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    state, told = planned(ScaleUpPlanned, lambda state: scale_up.plan_events(state, [KEY], 60, NOW))
    assert isinstance(told, ScaleUpPlanned)
    (option, *_) = told.options
    places = state.records.of(_plans.NodeType)  # type: ignore[attr-defined]
    step = next(
        step
        for step in option.steps
        if sum(g.most for g in places[step.kind].growth if g.domain == step.domain) > step.count
    )
    more = tuple(replace(one, count=one.count + 1) if one == step else one for one in option.steps)
    wide = replace(told, options=(replace(option, steps=more),))
    monkeypatch.setattr(scale_up, "plan_events", lambda *_: [wide])
    monkeypatch.setattr(scale_up, "_still_holds", lambda *_: None)  # which would refuse it already
    found = scale_up_verdict(state)  # type: ignore[arg-type]
    assert found is not None and not found.holds and "runs without" in found.fault


def test_a_proposal_with_a_victim_too_few_or_too_many_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    state, told = planned(PreemptionPlanned, lambda state: preemption.propose_events(state, KEY, NOW))
    assert isinstance(told, PreemptionPlanned)
    monkeypatch.setattr(preemption, "_change", lambda *_: None)
    fewer = replace(told, victims=told.victims[1:])
    monkeypatch.setattr(preemption, "propose_events", lambda *_: [fewer])
    found = preemption_verdict(state)  # type: ignore[arg-type]
    assert found is not None and found.fault == "the group waits with all victims gone"


def test_a_dearer_plan_is_found_out() -> None:
    """Everything that may go, in a case where less does."""
    for seed in range(1, 200):
        state = random_state(seed, small=True)
        choices = sorted(_plans._choices(state), key=_plans.cost_of)
        doing = [victims for victims in choices if runs(cycled(_plans._without(state, victims)))]
        if len(doing) > 1 and _plans.cost_of(doing[0]) < _plans.cost_of(doing[-1]) and not runs(state):
            assert _plans._no_cheaper_victims(state, _plans.cost_of(doing[0]))
            assert not _plans._no_cheaper_victims(state, _plans.cost_of(doing[-1]))
            return
    raise AssertionError("no random state has two sets of victims")


def test_nothing_changes_the_state_that_is_asked_about() -> None:
    state = random_state(1)
    before = (state.seq, dict(state.nodes), dict(state.pods))
    scale_up_verdict(state)
    preemption_verdict(state)
    assert (state.seq, dict(state.nodes), dict(state.pods)) == before
    assert after(state, []) is not state and Tally().plans == 0
