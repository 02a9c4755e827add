"""Bound members: how many they count for, and which domain they hold the group to."""

from dataclasses import replace

import pytest

from scheduling.engine.decide import decide
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.state import ClusterState
from tests.engine.builders import RACK, basic, cluster, gang, node, nodes_of, pod

G = "ml/g"


def running(need: int = 3, racks: tuple[str | None, str | None] = ("r1", "r1")) -> ClusterState:
    """Two members on nodes a and b, one that waits; rack r1 has node c too, r2 has d."""
    return cluster(
        node("a", racks[0]),
        node("b", racks[1]),
        node("c", "r1"),
        node("d", "r2"),
        gang("g", need),
        pod("g-0", "g", node="a"),
        pod("g-1", "g", node="b"),
        pod("g-2", "g"),
    )


def relabel(state: ClusterState, name: str, rack: str) -> None:
    labels = dict(state.nodes[name].labels) | {RACK: rack}
    state.set_node(replace(state.nodes[name], labels=tuple(sorted(labels.items()))))


def test_bound_members_count_towards_the_quorum() -> None:
    decision = decide(running(), G)
    assert (decision.verdict, decision.bound, decision.fits, decision.need) == (Verdict.PLACED, 2, 3, 3)


def test_bound_members_of_a_group_that_is_held_are_told_and_nothing_is_evaluated() -> None:
    decision = decide(running(need=4), G)
    assert (decision.verdict, decision.reason) == (Verdict.HELD, Reason.NOT_ENOUGH_PODS)
    assert (decision.bound, decision.domains, decision.funnel.domains) == (2, (), 0)


def test_a_node_relabelled_under_one_of_several_members_is_a_conflict() -> None:
    state = running()
    relabel(state, "b", "r2")
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.CONFLICTED, Reason.CONFLICTING_DOMAINS)
    assert decision.conflict_domains == ("r1", "r2")


def test_nodes_relabelled_under_all_members_take_the_group_along() -> None:
    state = running()
    relabel(state, "a", "r2")
    relabel(state, "b", "r2")
    decision = decide(state, G)
    assert (decision.verdict, decision.domain) == (Verdict.PLACED, "r2")
    assert set(nodes_of(decision).values()) <= {"a", "b", "d"}


@pytest.mark.parametrize("empty", ["a", "b"])
def test_the_empty_value_is_a_domain_that_contradicts_another_and_pins_like_any(empty: str) -> None:
    torn = running(racks=("", "r1") if empty == "a" else ("r1", ""))
    assert decide(torn, G).conflict_domains == ("", "r1")
    together = running(racks=("", ""))
    decision = decide(together, G)
    assert (decision.verdict, decision.domain) == (Verdict.PLACED, "")
    assert set(nodes_of(decision).values()) <= {"a", "b"}


def test_a_lost_node_is_a_lost_domain_though_the_others_are_still_in_one() -> None:
    state = running()
    state.remove_node("b", "node-b")
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.CONFLICTED, Reason.DOMAIN_LOST)
    assert (decision.conflict_domains, decision.conflict_nodes) == (("r1",), ("b",))
    state.set_node(node("b", "r1", uid="another"))
    assert decide(state, G).placed, "the node came back"


def test_when_the_member_on_the_lost_node_goes_the_others_pin_again() -> None:
    state = running(need=2)
    state.remove_node("b", "node-b")
    state.remove_pod("pod-g-1")
    decision = decide(state, G)
    assert (decision.verdict, decision.domain) == (Verdict.PLACED, "r1")


def test_when_all_bound_members_are_gone_the_group_is_free_again() -> None:
    state = running(need=1)
    for name in ("a", "b", "c"):
        state.set_node(replace(state.nodes[name], unschedulable=True))
    assert decide(state, G).reason == Reason.STICKY_DOMAIN
    state.remove_pod("pod-g-0")
    assert decide(state, G).reason == Reason.STICKY_DOMAIN, "one is left"
    state.remove_pod("pod-g-1")
    decision = decide(state, G)
    assert (decision.verdict, decision.domain) == (Verdict.PLACED, "r2")


def test_a_basic_group_is_pinned_by_its_members_too_and_needs_but_one() -> None:
    state = cluster(
        node("a", cpu=1000),
        node("d", "r2"),
        basic("g"),
        pod("g-0", "g", node="a"),
        pod("g-1", "g"),
        pod("g-2", "g"),
    )
    decision = decide(state, G)
    assert (decision.reason, decision.need, decision.domain) == (Reason.STICKY_DOMAIN, 1, "r1")
    state.remove_pod("pod-g-0")
    assert decide(state, G).domain == "r2"
