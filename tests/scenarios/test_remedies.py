"""What would make a group run, as steps of a scenario: played, it does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine import change_steps as changes
from scheduling.engine.changes import change_sets
from scheduling.engine.decide import decide
from scheduling.engine.state import ClusterState
from scheduling.ledger import fold
from scheduling.scenarios import documents, effects
from scheduling.scenarios import steps as s
from scheduling.scenarios.documents import ScenarioDocument
from scheduling.scenarios.remedies import from_changes
from tests.engine.builders import RACK
from tests.engine.strategies import clusters, crowded

KEY = "ml/g"


def runs_after_each(state: ClusterState) -> int:
    found = change_sets(state, KEY)
    for each in found:
        ahead = state.fork()
        for step in from_changes(KEY, each.steps, RACK if state.tas_enforced else ""):
            for event in effects.events_of(ahead, step, 1):
                fold.apply(ahead, event, ahead.seq + 1, 1)
        decision = decide(ahead, KEY)
        assert decision.placed
        assert (decision.domain, decision.fits, decision.need) == (each.domain, each.placed, each.need)
    return len(found)


@settings(max_examples=150, deadline=None)
@given(state=clusters(2))
def test_what_is_offered_for_any_group_does_when_it_is_played(state: ClusterState) -> None:
    runs_after_each(state)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_what_is_offered_for_close_calls_does_when_it_is_played(seed: int) -> None:
    runs_after_each(crowded(seed))


@pytest.mark.parametrize(
    ("change", "step"),
    [
        (changes.Uncordon("n"), s.Uncordon(node="n")),
        (changes.NodeReady("n"), s.SetReady(node="n", ready=True)),
        (
            changes.Tolerate("a", "b", "NoSchedule"),
            s.Tolerate(group=KEY, key="a", value="b", effect="NoSchedule"),
        ),
        (changes.LabelNode("n", RACK, "r1"), s.SetLabel(node="n", label=RACK, value="r1")),
        (changes.AddNodes("r1", "n", 2), s.AddNodes(count=2, like="n", key=RACK, domain="r1")),
        (changes.ReleaseReservation("r-1", "group", "a/b"), s.ReleaseReservation(name="r-1")),
        (changes.EndGroup("a/b", 0, False, 2, 8), s.EndGroup(group="a/b")),
        (changes.NewGeneration(2, 3, 0), s.ChangeMinCount(group=KEY, min_count=2)),
        (changes.Ungate(2), s.Ungate(group=KEY, count=2)),
        (changes.AddMembers(2), s.AddMembers(group=KEY, count=2)),
    ],
)
def test_each_change_is_a_step(change: changes.Step, step: s.Part) -> None:
    (made,) = from_changes(KEY, [change], RACK)
    assert made == step
    document = ScenarioDocument(steps=(made,))  # type: ignore[arg-type]
    assert documents.read(documents.to_json(document)) == document


def test_every_change_has_a_step() -> None:
    known = {type(change) for change, _ in test_each_change_is_a_step.pytestmark[0].args[1]}  # type: ignore[attr-defined]
    assert known == set(changes.Step.__args__)  # type: ignore[attr-defined]
