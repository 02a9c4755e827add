"""What holds for every cluster: agreement with the exhaustive reference, the law, proofs, determinism."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine import oracle
from scheduling.engine.decide import Decision, decide
from scheduling.engine.eligibility import Bar, bar
from scheduling.engine.reasons import Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from tests.engine.builders import RACK, cluster
from tests.engine.strategies import Thing, clusters, crowded, groups, nodes, strangers, things

G = "ml/g"

EVALUATED = (Verdict.PLACED, Verdict.PROVED_INFEASIBLE, Verdict.NOT_FOUND)


def waits(state: ClusterState, decision: Decision) -> bool:
    """Whether the decision is about members to be placed, neither held nor contradicted nor complete."""
    return decision.verdict in EVALUATED and bool(roster(state, G).waiting)


@settings(max_examples=200, deadline=None)
@given(clusters())
def test_one_shape_is_decided_as_the_exhaustive_reference_decides_it(state: ClusterState) -> None:
    decision = decide(state, G)
    if not waits(state, decision):
        return
    assert (decision.verdict == Verdict.PLACED) == oracle.feasible(state, G)
    assert decision.verdict != Verdict.NOT_FOUND
    if decision.placed:
        assert len(decision.assignments) == max(oracle.most(state, G).values())


@settings(max_examples=200, deadline=None)
@given(clusters(shapes=3) | st.integers(0, 1 << 31).map(crowded))
def test_a_proof_of_infeasibility_is_never_wrong_and_what_is_found_is_never_more_than_possible(
    state: ClusterState,
) -> None:
    decision = decide(state, G)
    if not waits(state, decision):
        return
    most = oracle.most(state, G)
    if decision.verdict == Verdict.PROVED_INFEASIBLE:
        assert not oracle.feasible(state, G)
    elif decision.placed:
        assert len(decision.assignments) <= most[decision.domain]
    for count in decision.domains:
        assert count.fits - decision.bound <= most[count.domain]


@pytest.mark.parametrize("start", range(0, 4000, 1000))
def test_nothing_is_missed_and_nothing_refused_wrongly_where_it_is_a_close_call(start: int) -> None:
    verdicts: Counter[tuple[str, bool]] = Counter()
    for seed in range(start, start + 1000):
        state = crowded(seed)
        decision, possible = decide(state, G), oracle.feasible(state, G)
        verdicts[decision.verdict, possible] += 1
    assert set(verdicts) == {(Verdict.PLACED, True), (Verdict.PROVED_INFEASIBLE, False)}


@settings(max_examples=150, deadline=None)
@given(clusters(shapes=3))
def test_never_is_said_only_of_a_domain_that_would_not_do_even_if_it_were_empty(state: ClusterState) -> None:
    decision = decide(state, G)
    if not waits(state, decision) or decision.placed:
        return
    emptied = oracle.most(state, G, emptied=True)
    missing = roster(state, G).missing
    for count in decision.domains:
        if count.never:
            assert emptied[count.domain] < missing
    if decision.reason == "never_fits":
        assert all(most < missing for most in emptied.values())


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_counts_of_one_shape_are_exact_in_every_domain(state: ClusterState) -> None:
    decision = decide(state, G)
    if not waits(state, decision):
        return
    most = oracle.most(state, G)
    for count in decision.domains:
        assert count.fits == decision.bound + most[count.domain]
        assert count.short == max(0, roster(state, G).missing - most[count.domain])
    if not decision.placed:
        assert {count.domain for count in decision.domains} == set(most)
        assert list(decision.domains) == sorted(decision.domains, key=lambda count: -count.fits)


@settings(max_examples=200, deadline=None)
@given(clusters(shapes=3))
def test_the_law_holds_for_every_placement(state: ClusterState) -> None:
    decision = decide(state, G)
    if not decision.placed:
        assert decision.assignments == ()
        return
    who = roster(state, G)
    after = state.fork()
    for uid, name in decision.assignments:
        assert uid in {pod.uid for pod in who.waiting}
        assert bar(state.nodes[name], state.pods[uid].shape.eligibility) == Bar.NONE
        after.bind(uid, name)
    on_nodes = [pod for pod in after.members(G) if pod.node]
    assert len(on_nodes) >= who.need or not who.waiting
    assert len({after.nodes[pod.node].label(RACK) for pod in on_nodes}) == 1
    assert {after.nodes[pod.node].label(RACK) for pod in on_nodes} == {decision.domain}
    asked = Counter(
        (name, resource)
        for uid, name in decision.assignments
        for resource, amount in state.pods[uid].shape.requests
        if amount
    )
    for name, resource in asked:
        assert oracle.free(after, after.nodes[name])[resource] >= 0


@settings(max_examples=200, deadline=None)
@given(things(shapes=3), st.randoms(use_true_random=False))
def test_the_order_in_which_objects_arrive_changes_nothing(made: list[Thing], random: object) -> None:
    shuffled = list(made)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert repr(decide(cluster(made), G)) == repr(decide(cluster(shuffled), G))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_deciding_changes_nothing_and_two_groups_never_get_the_same_room(data: st.DataObject) -> None:
    made = data.draw(nodes())
    names = [one.name for one in made]
    others = [
        *data.draw(strangers(names)),
        *data.draw(groups("h", names, 2)),
        *data.draw(groups("g", names, 2)),
    ]
    state = cluster(made, others)
    before = {name: state.free(name) for name in names}
    for key in ("ml/h", "ml/g"):
        decision = decide(state, key)
        assert {name: state.free(name) for name in names} == before
        assert repr(decide(state, key)) == repr(decision)
        for uid, name in decision.assignments:
            state.bind(uid, name)
        after = {name: state.free(name) for name in names}
        for name in names:
            for resource, amount in after[name].items():
                assert amount >= min(0, before[name].get(resource, 0))
        before = after
