"""Whole decisions as kube-scheduler takes them, and what is told beside them."""

from __future__ import annotations

import pytest

from scheduling.engine.decide import decide
from scheduling.engine.decision import NO_FUNNEL
from scheduling.engine.lost import Lost
from scheduling.engine.profiles.compare import compare
from scheduling.engine.profiles.releases import RELEASES
from scheduling.engine.reasons import Reason, Verdict
from tests.engine.builders import add, basic, cluster, gang, members, node, nodes_of, pod

EVERY = pytest.mark.parametrize("profile", sorted(RELEASES))


@EVERY
def test_members_are_spread_over_the_nodes_of_the_fuller_domain(profile: str) -> None:
    state = cluster(
        [node(name, rack) for name, rack in (("a", "r1"), ("b", "r1"), ("c", "r2"), ("d", "r2"))],
        pod("other", node="c"),
        gang("g", 2),
        members("g", 2),
    )
    decision = decide(state, "ml/g", profile=profile)
    assert (decision.verdict, decision.domain, decision.ties) == (Verdict.PLACED, "r2", ())
    assert nodes_of(decision) == {"pod-g-0": "d", "pod-g-1": "c"}
    assert (decision.profile, decision.method, decision.fits) == (profile, "greedy", 2)


@EVERY
def test_equal_domains_are_told_and_the_first_by_name_is_taken(profile: str) -> None:
    state = cluster(
        node("a", "r2"), node("b", "r1"), node("c", "r3", cpu=16_000), gang("g", 1), pod("p", "g")
    )
    decision = decide(state, "ml/g", profile=profile)
    assert (decision.domain, decision.ties) == ("r1", ("r1", "r2"))


@EVERY
def test_as_many_as_fit_are_placed_beyond_min_count(profile: str) -> None:
    state = cluster(node("a", cpu=3000), gang("g", 2), members("g", 5))
    decision = decide(state, "ml/g", profile=profile)
    assert (len(decision.assignments), decision.shapes[0].placed, decision.shapes[0].members) == (3, 3, 5)


@EVERY
def test_bound_members_pin_the_domain_and_count(profile: str) -> None:
    state = cluster(
        node("a", cpu=2000), node("b", "r2"), gang("g", 2), pod("p", "g", node="a"), pod("q", "g")
    )
    decision = decide(state, "ml/g", profile=profile)
    assert (decision.domain, nodes_of(decision)) == ("r1", {"pod-q": "a"})
    add(state, pod("other", node="a"))
    refused = decide(state, "ml/g", profile=profile)
    assert (refused.verdict, refused.reason) == (Verdict.PROVED_INFEASIBLE, Reason.STICKY_DOMAIN)


@EVERY
def test_nothing_pins_a_group_of_which_no_member_runs_though_its_domain_is_lost(profile: str) -> None:
    state = cluster(node("a", cpu=2000), gang("g", 2), members("g", 2))
    state.lost["ml/g"] = Lost(state.groups["ml/g"].uid, "r9", ("gone",), 1)
    assert decide(state, "ml/g").reason == Reason.DOMAIN_LOST
    assert (decide(state, "ml/g", profile=profile).domain, state.lost.keys()) == ("r1", {"ml/g"})


@EVERY
def test_a_basic_group_places_what_fits_and_needs_one(profile: str) -> None:
    state = cluster(node("a", cpu=1000), basic("g"), members("g", 3))
    assert len(decide(state, "ml/g", profile=profile).assignments) == 1


@EVERY
def test_members_in_two_domains_are_an_error(profile: str) -> None:
    state = cluster(
        node("a"),
        node("b", "r2"),
        gang("g", 3),
        pod("p", "g", node="a"),
        pod("q", "g", node="b"),
        pod("r", "g"),
    )
    decision = decide(state, "ml/g", profile=profile)
    assert (decision.verdict, decision.reason) == (Verdict.CONFLICTED, Reason.CONFLICTING_DOMAINS)


def test_another_priority_than_the_groups_is_an_error_since_1_37() -> None:
    state = cluster(node("a"), gang("g", 1, priority=5), pod("p", "g", priority=4))
    assert decide(state, "ml/g", profile="upstream-1.36").placed
    decision = decide(state, "ml/g", profile="upstream-1.37")
    assert (decision.verdict, decision.assignments) == (Verdict.CONFLICTED, ())


@EVERY
def test_a_refusal_that_counting_proves_says_why(profile: str) -> None:
    state = cluster(node("a", cpu=1000), gang("g", 2), members("g", 2))
    decision = decide(state, "ml/g", profile=profile)
    assert (decision.verdict, decision.reason) == (Verdict.PROVED_INFEASIBLE, Reason.NEVER_FITS)
    assert (decision.funnel.one_fits, decision.funnel.quorum_fits) == (1, 0)


def greedy_trap(*, order: tuple[int, ...]) -> object:
    """Two nodes of 4 cores. The small members are spread, and then no node has 4 cores for the large one."""
    pods = [pod(f"g-{number}", "g", cpu=cpu, created=number) for number, cpu in enumerate(order)]
    return cluster(node("a", cpu=4000), node("b", cpu=4000), gang("g", 3), pods)


def test_small_members_first_spread_and_leave_no_room_for_the_large_one() -> None:
    state = greedy_trap(order=(2000, 2000, 4000))
    told = compare(state, "ml/g", "upstream-1.37")  # type: ignore[arg-type]
    assert told.exact.placed and told.misses and not told.agree
    assert (told.upstream.verdict, told.upstream.reason) == (
        Verdict.NOT_FOUND,
        Reason.NOT_FOUND_BY_HEURISTIC,
    )
    assert told.upstream.luck == (0, 0), (
        "the nodes are alike and 1.37 keeps the order: nothing is left to luck"
    )
    (count,) = told.upstream.domains
    assert (count.domain, count.fits, count.short) == ("r1", 2, 1)


def test_the_large_member_first_finds_its_node() -> None:
    told = compare(greedy_trap(order=(4000, 2000, 2000)), "ml/g", "upstream-1.37")  # type: ignore[arg-type]
    assert told.upstream.placed and told.agree and not told.misses


def test_in_1_36_the_order_of_the_members_is_left_to_luck_and_that_is_told() -> None:
    told = compare(greedy_trap(order=(2000, 2000, 4000)), "ml/g", "upstream-1.36")  # type: ignore[arg-type]
    placing, tried = told.upstream.luck
    assert 0 < placing < tried and told.upstream.depends_on_ties and told.misses
    assert told.upstream.placed == (2 * placing >= tried)


def test_the_same_state_gives_the_same_decision_to_the_byte() -> None:
    for profile in RELEASES:
        first, again = (
            repr(decide(greedy_trap(order=(2000, 2000, 4000)), "ml/g", profile=profile))  # type: ignore[arg-type]
            for _ in range(2)
        )
        assert first == again


def test_a_node_that_is_not_ready_and_not_tainted_tells_the_two_apart() -> None:
    state = cluster(node("a", ready=False), gang("g", 1), pod("p", "g"))
    told = compare(state, "ml/g")
    assert told.upstream.placed and not told.exact.placed and not told.misses and not told.agree


def test_with_nothing_to_place_the_two_agree() -> None:
    told = compare(cluster(node("a"), gang("g", 1), pod("p", "g", node="a")), "ml/g")
    assert told.agree and not told.misses


@EVERY
def test_what_is_not_modelled_is_not_decided(profile: str) -> None:
    state = cluster(node("a"), gang("g", 1), pod("p", "g", unmodelled=("volumes",)))
    decision = decide(state, "ml/g", profile=profile)
    assert (decision.verdict, decision.reason, decision.unmodelled) == (
        Verdict.NOT_FOUND,
        Reason.UNMODELLED,
        ("volumes",),
    )


@EVERY
def test_raising_min_count_of_a_held_group_starts_no_attempt(profile: str) -> None:
    state = cluster(node("a"), gang("g", 5), members("g", 4))
    for need in (5, 6):
        add(state, gang("g", need))
        decision = decide(state, "ml/g", profile=profile)
        assert (decision.verdict, decision.reason) == (Verdict.HELD, Reason.NOT_ENOUGH_PODS)
        assert (decision.funnel, decision.domains, decision.method) == (NO_FUNNEL, (), "")


@EVERY
def test_with_the_gates_off_all_nodes_are_one_placement(profile: str) -> None:
    state = cluster(
        node("a", cpu=1000), node("b", "r2", cpu=1000), gang("g", 2), members("g", 2), gates=False
    )
    decision = decide(state, "ml/g", profile=profile)
    assert (decision.placed, decision.enforced, decision.domain) == (True, False, "")
