"""One group decided: when it is held, contradicted, placed, refused, and where its members go."""

import pytest

from scheduling.engine.decide import decide
from scheduling.engine.model import TAS_GATES, Eligibility, NodeSelectorTerm, Requirement, Toleration
from scheduling.engine.reasons import Reason, Verdict
from tests.engine.builders import DEVICE_TAINT, GPU, basic, cluster, gang, members, node, nodes_of, pod

G = "ml/g"


def pinned_to(name: str) -> Eligibility:
    return Eligibility(terms=(NodeSelectorTerm((), (Requirement("metadata.name", "In", (name,)),)),))


# --- held


def test_pods_without_their_podgroup_are_held() -> None:
    decision = decide(cluster(node("a"), members("g", 3)), G)
    assert (decision.verdict, decision.reason) == (Verdict.HELD, Reason.NO_PODGROUP)
    assert (decision.uid, decision.generation, decision.members) == ("", 0, 3)


def test_a_group_that_nobody_knows_is_held_for_want_of_its_podgroup() -> None:
    assert decide(cluster(), "ml/nobody").reason == Reason.NO_PODGROUP


def test_fewer_members_than_min_count_are_held_whatever_room_there_is() -> None:
    decision = decide(cluster(node("a"), gang("g", 3), members("g", 2)), G)
    assert (decision.verdict, decision.reason) == (Verdict.HELD, Reason.NOT_ENOUGH_PODS)
    assert (decision.need, decision.members) == (3, 2)


def test_members_behind_scheduling_gates_exist_but_cannot_make_the_quorum() -> None:
    decision = decide(cluster(node("a"), gang("g", 2), pod("g-0", "g"), pod("g-1", "g", gated=True)), G)
    assert (decision.verdict, decision.reason) == (Verdict.HELD, Reason.NOT_ENOUGH_PODS)
    assert (decision.members, decision.gated) == (2, 1)


def test_gated_members_stay_behind_when_the_others_are_enough() -> None:
    decision = decide(cluster(node("a"), gang("g", 1), pod("g-0", "g"), pod("g-1", "g", gated=True)), G)
    assert nodes_of(decision) == {"pod-g-0": "a"}


def test_an_unbound_member_being_deleted_is_neither_counted_nor_placed() -> None:
    state = cluster(node("a"), gang("g", 2), pod("g-0", "g"), pod("g-1", "g", terminating=True))
    assert decide(state, G).reason == Reason.NOT_ENOUGH_PODS


def test_of_two_unbound_pods_with_one_name_only_the_newer_is_a_member() -> None:
    state = cluster(
        node("a"), gang("g", 2), pod("g-0", "g", uid="old"), pod("g-0", "g", uid="new", created=1)
    )
    assert decide(state, G).members == 1


def test_an_unknown_profile_is_an_error() -> None:
    with pytest.raises(ValueError, match="profile 'fast' is none of exact"):
        decide(cluster(), G, profile="fast")


# --- contradicted


def test_bound_members_in_two_domains_are_a_conflict_and_the_empty_value_is_a_domain() -> None:
    state = cluster(
        node("a", ""),
        node("b", "r2"),
        gang("g", 3),
        pod("g-0", "g", node="a"),
        pod("g-1", "g", node="b"),
        pod("g-2", "g"),
    )
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.CONFLICTED, Reason.CONFLICTING_DOMAINS)
    assert decision.conflict_domains == ("", "r2")
    assert decision.assignments == ()


@pytest.mark.parametrize("where", ["gone", "unlabelled"])
def test_a_bound_member_whose_node_is_gone_or_unlabelled_loses_the_domain(where: str) -> None:
    state = cluster(
        node("a"),
        node("unlabelled", None),
        gang("g", 2),
        pod("g-0", "g", node=where),
        pod("g-1", "g", node="a"),
        pod("g-2", "g"),
    )
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.CONFLICTED, Reason.DOMAIN_LOST)
    assert (decision.conflict_domains, decision.conflict_nodes) == (("r1",), (where,))


def test_members_of_two_schedulers_are_a_conflict() -> None:
    state = cluster(node("a"), gang("g", 2), pod("g-0", "g"), pod("g-1", "g", scheduler_name="other"))
    assert decide(state, G).reason == Reason.SCHEDULER_NAME


def test_where_no_domain_is_enforced_nothing_contradicts() -> None:
    made = (
        node("a", "r1"),
        node("b", "r2"),
        pod("g-0", "g", node="a"),
        pod("g-1", "g", node="b"),
        pod("g-2", "g"),
    )
    assert decide(cluster(*made, gang("g", 3), gates=False), G).placed
    assert decide(cluster(*made, gang("g", 3, key="")), G).placed


# --- the law


def test_a_gang_goes_into_one_rack_though_two_would_share_it_sooner() -> None:
    state = cluster(
        node("a", "r1", cpu=2000),
        node("b", "r2", cpu=1000),
        node("c", "r2", cpu=2000),
        gang("g", 3),
        members("g", 3),
    )
    decision = decide(state, G)
    assert (decision.domain, decision.enforced) == ("r2", True)
    assert set(nodes_of(decision).values()) == {"b", "c"}


def test_a_gang_that_fits_only_over_two_racks_is_not_placed() -> None:
    state = cluster(
        node("a", "r1", cpu=2000),
        node("b", "r2", cpu=1000),
        node("full", "r2"),
        pod("x", cpu=8000, node="full"),
        gang("g", 3),
        members("g", 3),
    )
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.PROVED_INFEASIBLE, Reason.CAPACITY)
    assert decision.fits_across_domains
    assert decision.assignments == ()


def test_with_a_gate_off_the_constraint_is_not_enforced_and_the_gang_is_placed_as_a_plain_one() -> None:
    state = cluster(node("a", "r1", cpu=2000), node("b", "r2", cpu=1000), gang("g", 3), members("g", 3))
    assert not decide(state, G).placed
    state.set_gate(TAS_GATES[2], False)
    decision = decide(state, G)
    assert decision.placed
    assert (decision.enforced, decision.domain, decision.topology_key) == (
        False,
        "",
        gang("g", 3).topology_key,
    )


def test_a_gang_without_a_key_uses_all_nodes_labelled_or_not() -> None:
    state = cluster(
        node("a", "r1", cpu=1000), node("b", None, cpu=1000), gang("g", 2, key=""), members("g", 2)
    )
    decision = decide(state, G)
    assert set(nodes_of(decision).values()) == {"a", "b"}
    assert not decision.enforced


def test_as_many_members_are_placed_as_fit_not_only_min_count() -> None:
    state = cluster(node("a", "r1", cpu=3000), node("b", "r2", cpu=5000), gang("g", 2), members("g", 6))
    decision = decide(state, G)
    assert (decision.domain, len(decision.assignments), decision.fits) == ("r2", 5, 5)


def test_members_that_must_stay_out_are_the_least_important_then_the_youngest() -> None:
    state = cluster(
        node("a", cpu=2000),
        gang("g", 1),
        pod("old", "g"),
        pod("young", "g", created=5),
        pod("vip", "g", created=9, priority=1),
    )
    assert set(nodes_of(decide(state, G))) == {"pod-old", "pod-vip"}


def test_a_basic_group_needs_one_and_stays_in_one_domain() -> None:
    state = cluster(node("a", "r1", cpu=1000), node("b", "r2", cpu=2000), basic("g"), members("g", 3))
    decision = decide(state, G)
    assert (decision.domain, len(decision.assignments), decision.need) == ("r2", 2, 1)


# --- sticky


def test_bound_members_pin_the_domain_and_count_towards_min_count() -> None:
    state = cluster(
        node("a", "r1", cpu=3000),
        node("b", "r2"),
        gang("g", 3),
        pod("g-0", "g", node="a"),
        pod("g-1", "g", node="a"),
        pod("g-2", "g"),
    )
    decision = decide(state, G)
    assert (decision.domain, decision.bound, decision.fits) == ("r1", 2, 3)
    assert nodes_of(decision) == {"pod-g-2": "a"}


def test_a_member_missing_from_a_full_pinned_domain_waits_though_another_is_empty() -> None:
    state = cluster(
        node("a", "r1", cpu=2000),
        node("b", "r2"),
        gang("g", 3),
        pod("g-0", "g", node="a"),
        pod("g-1", "g", node="a"),
        pod("g-2", "g"),
    )
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.PROVED_INFEASIBLE, Reason.STICKY_DOMAIN)
    assert decision.domain == "r1"
    assert [(count.domain, count.fits, count.short) for count in decision.domains] == [("r1", 2, 1)]
    assert decision.funnel.domains == 2


def test_at_least_one_member_must_be_placed_even_when_the_bound_are_enough() -> None:
    state = cluster(node("a", cpu=1000), gang("g", 1), pod("g-0", "g", node="a"), pod("g-1", "g"))
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.PROVED_INFEASIBLE, Reason.STICKY_DOMAIN)
    assert decision.domains[0].short == 1


def test_a_terminating_bound_member_pins_holds_and_counts_until_it_is_gone() -> None:
    state = cluster(
        node("a", "r1", cpu=1000),
        node("b", "r2"),
        gang("g", 1),
        pod("g-0", "g", node="a", terminating=True),
        pod("g-1", "g"),
    )
    assert decide(state, G).reason == Reason.STICKY_DOMAIN
    state.remove_pod("pod-g-0")
    assert decide(state, G).placed


def test_a_group_that_lost_all_members_chooses_anew() -> None:
    state = cluster(node("a", "r1", cpu=1000), node("b", "r2"), gang("g", 2), members("g", 2))
    assert decide(state, G).domain == "r2"


def test_a_complete_group_is_placed_with_nothing_to_assign() -> None:
    decision = decide(cluster(node("a"), gang("g", 2), members("g", 2, node="a")), G)
    assert (decision.verdict, decision.assignments, decision.domain) == (Verdict.PLACED, (), "r1")


def test_members_that_ended_well_do_not_make_a_running_gang_short() -> None:
    state = cluster(
        node("a"), gang("g", 3), members("g", 2, node="a"), pod("done", "g", phase="Succeeded", node="a")
    )
    assert decide(state, G).verdict == Verdict.PLACED
    state.set_pod(pod("done", "g", phase="Failed", node="a"))
    assert decide(state, G).reason == Reason.NOT_ENOUGH_PODS


# --- which domain, which node


def test_the_domain_with_most_members_wins_before_anything_else() -> None:
    state = cluster(
        node("a", "r1", gpu=3),
        node("b", "r2", gpu=4),
        pod("x", gpu=1, node="a"),
        gang("g", 1),
        members("g", 4, gpu=1, cpu=0),
    )
    assert decide(state, G).domain == "r2"


def test_then_the_domain_where_fewest_wholly_free_nodes_are_broken() -> None:
    state = cluster(
        node("a", "r1", gpu=4),
        node("b", "r2", gpu=8),
        pod("x", gpu=2, cpu=0, node="b"),
        gang("g", 4),
        members("g", 4, gpu=1, cpu=0),
    )
    assert decide(state, G).domain == "r2"


def test_then_the_domain_with_least_capacity_left_then_the_first_by_name() -> None:
    made = [node("a", "r3", gpu=6), node("b", "r2", gpu=4), node("c", "r1", gpu=4)]
    state = cluster(made, gang("g", 4), members("g", 4, gpu=1, cpu=0))
    assert decide(state, G).domain == "r1"
    state.set_node(node("c", "r1", gpu=5))
    assert decide(state, G).domain == "r2"


def test_tightest_nodes_are_filled_first_and_wholly_free_ones_last() -> None:
    state = cluster(
        node("a", gpu=8),
        node("b", gpu=8),
        node("c", gpu=8),
        pod("x", gpu=6, cpu=0, node="c"),
        pod("y", gpu=5, cpu=0, node="b"),
        gang("g", 5),
        members("g", 5, gpu=1, cpu=0),
    )
    assert sorted(nodes_of(decide(state, G)).values()) == ["b", "b", "b", "c", "c"]


def test_equal_nodes_are_taken_by_name() -> None:
    state = cluster(
        node("b", gpu=1), node("a", gpu=1), node("c", gpu=1), gang("g", 2), members("g", 2, gpu=1)
    )
    assert nodes_of(decide(state, G)) == {"pod-g-0": "a", "pod-g-1": "b"}


def test_assignments_are_sorted_by_pod_name() -> None:
    state = cluster(node("a"), gang("g", 3), [pod(name, "g") for name in ("c", "a", "b")])
    assert [uid for uid, _ in decide(state, G).assignments] == ["pod-a", "pod-b", "pod-c"]


def test_a_negative_node_neither_lends_to_nor_takes_from_its_rack() -> None:
    state = cluster(
        node("a", gpu=1),
        node("b", gpu=2),
        pod("x", gpu=3, cpu=0, node="a"),
        gang("g", 2),
        members("g", 2, gpu=1, cpu=0),
    )
    decision = decide(state, G)
    assert set(nodes_of(decision).values()) == {"b"}
    assert decision.over_committed == ("a",)


def test_a_resource_that_is_not_asked_for_does_not_stand_in_the_way() -> None:
    state = cluster(node("a", gpu=1), pod("x", gpu=3, cpu=0, node="a"), gang("g", 1), members("g", 1))
    assert decide(state, G).placed


def test_a_resource_that_nobody_offers_fits_nowhere() -> None:
    decision = decide(cluster(node("a"), gang("g", 1), members("g", 1, gpu=1)), G)
    assert (decision.verdict, decision.reason) == (Verdict.PROVED_INFEASIBLE, Reason.NEVER_FITS)


def test_the_number_of_pods_is_a_resource() -> None:
    state = cluster(node("a", pods=2), pod("x", node="a"), gang("g", 2), members("g", 2))
    decision = decide(state, G)
    assert not decision.placed
    assert ("pods", 1) in decision.domains[0].short_of


# --- several shapes


def test_members_of_two_shapes_share_a_domain_and_the_larger_does_not_lose_its_place() -> None:
    state = cluster(
        node("a", cpu=4000),
        node("b", cpu=2000),
        gang("g", 4),
        [pod(f"g-{n}", "g") for n in range(3)],
        pod("lead", "g", cpu=3000),
    )
    decision = decide(state, G)
    assert decision.placed
    assert nodes_of(decision)["pod-lead"] == "a"


def test_a_leader_without_devices_goes_where_the_workers_cannot() -> None:
    state = cluster(
        node("a", cpu=1000),
        node("b", cpu=4000, gpu=4),
        gang("g", 5),
        [pod(f"g-{n}", "g", gpu=1) for n in range(4)],
        pod("lead", "g"),
    )
    assert nodes_of(decide(state, G))["pod-lead"] == "a"


def test_counts_per_shape_show_a_role_that_is_missing_though_min_count_is_met() -> None:
    state = cluster(
        node("a", cpu=64000, gpu=8),
        gang("g", 3),
        pod("lead", "g", cpu=1000),
        [pod(f"small-{n}", "g", cpu=0, gpu=1) for n in range(3)],
        [pod(f"big-{n}", "g", cpu=0, gpu=99) for n in range(3)],
    )
    decision = decide(state, G)
    assert [(dict(s.requests).get(GPU), s.members, s.bound, s.placed) for s in decision.shapes] == [
        (None, 1, 0, 1),
        (1, 3, 0, 3),
        (99, 3, 0, 0),
    ]


def test_when_not_all_can_be_in_the_higher_priority_is() -> None:
    state = cluster(
        node("a", cpu=3000), gang("g", 1), pod("low", "g", cpu=2000), pod("high", "g", cpu=2500, priority=9)
    )
    assert set(nodes_of(decide(state, G))) == {"pod-high"}


def test_members_tied_to_nodes_of_two_racks_are_proved_not_to_fit_in_one() -> None:
    state = cluster(
        node("a", "r1"),
        node("b", "r2"),
        gang("g", 2),
        pod("g-0", "g", eligibility=pinned_to("a")),
        pod("g-1", "g", eligibility=pinned_to("b")),
    )
    assert decide(state, G).verdict == Verdict.PROVED_INFEASIBLE
    state.set_gate(TAS_GATES[0], False)
    assert nodes_of(decide(state, G)) == {"pod-g-0": "a", "pod-g-1": "b"}


def test_dominance_is_not_claimed_where_the_larger_may_go_and_the_smaller_may_not() -> None:
    tolerant = Eligibility(tolerations=(Toleration(DEVICE_TAINT.key, "Exists", "", ""),))
    state = cluster(
        node("a", cpu=2000, taints=(DEVICE_TAINT,)),
        node("b", cpu=1000),
        gang("g", 2),
        pod("big", "g", cpu=2000, eligibility=tolerant),
        pod("small", "g", cpu=1000),
    )
    assert nodes_of(decide(state, G)) == {"pod-big": "a", "pod-small": "b"}


def test_what_the_engine_does_not_model_is_named_and_nothing_is_claimed() -> None:
    state = cluster(node("a"), gang("g", 1), pod("g-0", "g", unmodelled=("podAntiAffinity",)))
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.NOT_FOUND, Reason.UNMODELLED)
    assert (decision.unmodelled, decision.assignments) == (("podAntiAffinity",), ())


def test_what_the_podgroup_itself_asks_that_is_not_modelled_counts_too() -> None:
    state = cluster(node("a"), gang("g", 1, unmodelled=("resourceClaims",)), members("g", 1))
    assert decide(state, G).unmodelled == ("resourceClaims",)
