"""Groups of several shapes: the exact search, the solver beyond its budget, and what they are called."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine import exact, mixed, oracle, solver
from scheduling.engine.box import Box
from scheduling.engine.capacity import field
from scheduling.engine.decide import decide
from scheduling.engine.packing import wholly_free
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from tests.engine.builders import RACK, cluster, gang, node, pod
from tests.engine.generate import random_case, tight_case
from tests.engine.strategies import clusters, crowded

G = "ml/g"


def boxes(state: ClusterState) -> list[tuple[str, Box]]:
    kinds = roster(state, G).kinds()
    index = state.index(RACK)
    if len(kinds) < 2:
        return []
    seen = field(state, index, kinds)
    whole = wholly_free(state.columns, index, kinds)
    return [(name, Box(seen, whole, number)) for number, name in enumerate(index.domains)]


def the_box(state: ClusterState) -> Box:
    return boxes(state)[0][1]


@settings(max_examples=300, deadline=None)
@given(clusters(shapes=3) | st.integers(0, 1 << 31).map(crowded))
def test_the_exact_search_finds_the_most_members_that_trying_everything_finds(state: ClusterState) -> None:
    most = oracle.most(state, G)
    for domain, box in boxes(state):
        takes = exact.most(box).takes
        assert takes is not None
        assert box.holds(takes)
        if domain in most:
            assert takes.sum() == most[domain]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 1 << 31).map(crowded))
def test_groups_of_several_shapes_are_decided_as_trying_everything_decides_them(state: ClusterState) -> None:
    decision = decide(state, G)
    assert decision.verdict in (Verdict.PLACED, Verdict.PROVED_INFEASIBLE)
    assert decision.placed == oracle.feasible(state, G)
    if decision.placed:
        assert len(decision.assignments) == max(oracle.most(state, G).values())
        assert decision.method in ("counting", "heuristic", "search")
    else:
        assert decision.method in ("counting", "search")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 31).map(crowded))
def test_the_solver_agrees_with_the_exact_search(state: ClusterState) -> None:
    for _, box in boxes(state):
        optimum = exact.most(box).takes
        assert optimum is not None
        best = int(optimum.sum())
        if best:
            solved = solver.most(box, best)
            assert solved.takes is not None
            assert (box.holds(solved.takes), int(solved.takes.sum())) == (True, best)
        if best < box.wanted:
            refused = solver.most(box, best + 1)
            assert (refused.takes, refused.refuted) == (None, True)


@pytest.mark.parametrize("make", [random_case, tight_case])
@pytest.mark.parametrize(("nodes", "kinds", "cases"), [(8, 2, 60), (16, 3, 40), (48, 4, 2)])
def test_search_and_solver_agree_on_generated_domains(make, nodes: int, kinds: int, cases: int) -> None:  # type: ignore[no-untyped-def]
    random = Random(nodes * 100 + kinds)
    for _ in range(cases):
        state = make(random, nodes, kinds, taints=True).state()
        decision, box = decide(state, G), the_box(state)
        solved = solver.most(box, box.wanted)
        assert solved.takes is not None or solved.refuted
        assert decision.verdict == (Verdict.PROVED_INFEASIBLE if solved.refuted else Verdict.PLACED)


def test_beyond_the_budget_the_solver_decides_and_without_it_nobody_claims_a_proof() -> None:
    random = Random(5)
    words = set()
    for _ in range(60):
        state = tight_case(random, 12, 3).state()
        kinds = roster(state, G).kinds()
        seen = field(state, state.index(RACK), kinds)
        whole, missing = wholly_free(state.columns, state.index(RACK), kinds), roster(state, G).missing
        full = mixed.search(seen, whole, missing)
        solved = mixed.search(seen, whole, missing, per_domain=0)
        rough = mixed.search(seen, whole, missing, operations=0, solver_runs=0)
        assert bool(full.found) == bool(solved.found)
        assert not full.open and not solved.open
        assert not rough.found or full.found
        assert rough.found or rough.open or (seen.most() < missing).all()
        words |= {solved.method, "open" if rough.open else ""}
    assert words >= {"heuristic", "solver", "counting", "open"}


def test_what_largest_first_does_not_come_upon_is_found() -> None:
    """11 = 6 + 5, 9 = 6 + 3, 8 = 4 + 4 is the only way."""
    sizes = [6, 6, 5, 4, 4, 3]
    state = cluster(
        [node(f"n{cpu}", cpu=cpu) for cpu in (8, 9, 11)],
        gang("g", 6),
        [pod(f"g-{number}", "g", cpu=size) for number, size in enumerate(sizes)],
    )
    decision = decide(state, G)
    assert (decision.verdict, decision.method, len(decision.assignments)) == (Verdict.PLACED, "search", 6)


def test_what_the_sums_allow_and_the_pieces_do_not_is_proved_by_search() -> None:
    """24 of 24 cores asked for; 10 and 8 leave 2 each that nothing fills."""
    sizes = [7, 7, 5, 5]
    state = cluster(
        [node("a", cpu=13), node("b", cpu=11)],
        gang("g", 4),
        [pod(f"g-{number}", "g", cpu=size) for number, size in enumerate(sizes)],
    )
    decision = decide(state, G)
    assert not oracle.feasible(state, G)
    assert (decision.verdict, decision.method) == (Verdict.PROVED_INFEASIBLE, "search")
    assert decision.reason == Reason.NEVER_FITS
    assert [count.fits for count in decision.domains] == [max(oracle.most(state, G).values())]


def test_a_refusal_by_search_is_for_now_where_other_pods_could_leave() -> None:
    sizes = [7, 7, 5, 5]
    state = cluster(
        [node("a", cpu=13), node("b", cpu=12)],
        pod("x", cpu=1, node="b"),
        gang("g", 4),
        [pod(f"g-{number}", "g", cpu=size) for number, size in enumerate(sizes)],
    )
    decision = decide(state, G)
    assert (decision.verdict, decision.method) == (Verdict.PROVED_INFEASIBLE, "search")
    assert (decision.reason, decision.domains[0].never) == (Reason.CAPACITY, False)


def test_a_group_too_large_for_every_budget_is_not_found_and_not_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(solver, "MOST_VARIABLES", 0)
    monkeypatch.setattr(mixed.exact, "most", lambda box, budget: exact.Optimum(None, 0))
    sizes = [7, 7, 5, 5]
    state = cluster(
        [node("a", cpu=13), node("b", cpu=11)],
        gang("g", 4),
        [pod(f"g-{number}", "g", cpu=size) for number, size in enumerate(sizes)],
    )
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.NOT_FOUND, Reason.NOT_FOUND_BY_HEURISTIC)
    assert decision.method == "search"
    assert 0 < decision.domains[0].fits < 4


def test_of_equally_many_members_the_higher_priorities_are_in() -> None:
    state = cluster(
        node("a", cpu=10),
        gang("g", 2),
        [pod(f"low-{number}", "g", cpu=3) for number in range(3)],
        pod("high", "g", cpu=4, priority=5),
    )
    takes = exact.most(the_box(state)).takes
    assert takes is not None
    assert takes.sum(axis=1).tolist() == [1, 2]
    assert "pod-high" in dict(decide(state, G).assignments)


def test_wholly_free_nodes_are_the_last_to_be_used() -> None:
    state = cluster(
        [node("a", cpu=10), node("b", cpu=11), node("c", cpu=10)],
        pod("x", cpu=1, node="b"),
        gang("g", 2),
        pod("g-0", "g", cpu=6),
        pod("g-1", "g", cpu=4),
    )
    takes = exact.most(the_box(state)).takes
    assert takes is not None
    assert takes.sum(axis=0).tolist() == [0, 2, 0]


def test_the_same_case_costs_the_same_operations() -> None:
    box = the_box(tight_case(Random(3), 16, 3).state())
    first, second = exact.most(box), exact.most(box)
    assert first.operations == second.operations > 0
    assert np.array_equal(first.takes, second.takes)  # type: ignore[arg-type]
    assert exact.most(box, first.operations - 1).takes is None
