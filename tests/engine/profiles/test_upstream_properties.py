"""What holds for every cluster: the pass keeps the law and the room, and never finds what there is not."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.decide import Decision, decide
from scheduling.engine.profiles.compare import compare
from scheduling.engine.profiles.releases import RELEASES
from scheduling.engine.profiles.snapshot import as_upstream_sees
from scheduling.engine.reasons import Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from tests.engine.builders import RACK
from tests.engine.strategies import clusters, crowded

G = "ml/g"
PROFILES = st.sampled_from(sorted(RELEASES))
ANY = clusters(shapes=3) | st.integers(0, 1 << 31).map(crowded)


def assert_keeps_the_law(state: ClusterState, decision: Decision) -> None:
    placed = dict(decision.assignments)
    who = roster(state, G)
    assert placed.keys() <= {pod.uid for pod in who.waiting}
    assert len(placed) >= who.missing
    assert {state.nodes[name].label(RACK) for name in placed.values()} == {decision.domain}
    assert sum(shape.placed for shape in decision.shapes) == len(placed)
    after = state.fork()
    for uid, name in placed.items():
        after.bind(uid, name)
    for uid, name in placed.items():
        for resource, _ in state.pods[uid].shape.requests:
            assert after.free(name)[resource] >= 0, (name, resource)


@settings(max_examples=200, deadline=None)
@given(ANY, PROFILES)
def test_what_is_placed_keeps_the_law_and_the_room(state: ClusterState, profile: str) -> None:
    decision = decide(state, G, profile=profile)
    if decision.assignments:
        assert_keeps_the_law(state, decision)
        assert decision.domain in (decision.ties or (decision.domain,))
    else:
        assert decision.verdict != Verdict.PLACED or not roster(state, G).waiting


@settings(max_examples=200, deadline=None)
@given(ANY, PROFILES)
def test_nothing_is_placed_that_is_proved_not_to_fit(state: ClusterState, profile: str) -> None:
    view = as_upstream_sees(state)
    if decide(view, G).verdict == Verdict.PROVED_INFEASIBLE:
        assert decide(state, G, profile=profile).verdict in (Verdict.PROVED_INFEASIBLE, Verdict.CONFLICTED)


@settings(max_examples=200, deadline=None)
@given(clusters(shapes=1))
def test_members_of_one_shape_are_never_missed(state: ClusterState) -> None:
    view = as_upstream_sees(state)
    exact, upstream = decide(view, G), decide(state, G, profile="upstream-1.36")
    assert exact.verdict == upstream.verdict
    # Its domain score can prefer a fuller domain to one that takes a member more.
    assert len(exact.assignments) >= len(upstream.assignments)
    if exact.need == exact.members:
        assert len(exact.assignments) == len(upstream.assignments)
    assert upstream.luck == (0, 0)
    assert compare(view, G).misses is False


@settings(max_examples=100, deadline=None)
@given(ANY, PROFILES)
def test_the_state_is_not_changed_and_the_answer_stays_the_same(state: ClusterState, profile: str) -> None:
    before = decide(state, G)
    first = decide(state, G, profile=profile)
    assert decide(state.fork(), G, profile=profile) == first
    assert decide(state, G) == before


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 1 << 31).map(crowded))
def test_the_verdict_is_the_likelier_one_of_the_rolls(state: ClusterState) -> None:
    decision = decide(state, G, profile="upstream-1.36")
    placing, tried = decision.luck
    if tried:
        assert decision.placed == (2 * placing >= tried)
    assert replace(decision, luck=(0, 0)).depends_on_ties is False
