"""Why a group is not placed: the counts of each domain, the reason of the group, the funnel."""

import pytest

from scheduling.engine.decide import Decision, DomainCount, decide
from scheduling.engine.model import Eligibility, Toleration
from scheduling.engine.reasons import Reason, Verdict
from tests.engine.builders import DEVICE_TAINT, GPU, ZONE, cluster, gang, members, node, pod

G = "ml/g"
IN_ZONE = Eligibility(node_selector=((ZONE, "z1"),))


def only(decision: Decision) -> DomainCount:
    (count,) = decision.domains
    return count


def test_full_now_is_capacity_and_not_even_empty_is_never() -> None:
    state = cluster(node("a", cpu=4000), pod("x", cpu=2000, node="a"), gang("g", 3), members("g", 3))
    decision = decide(state, G)
    assert (decision.reason, only(decision).reason, only(decision).never) == ("capacity", "capacity", False)
    state.set_group(gang("g", 3))
    state.set_node(node("a", cpu=2000))
    decision = decide(state, G)
    assert (decision.reason, only(decision).reason, only(decision).never) == (
        "never_fits",
        "never_fits",
        True,
    )


def test_short_says_members_and_short_of_says_what_they_lack() -> None:
    state = cluster(
        node("a", cpu=64000, gpu=4),
        node("b", cpu=64000, gpu=4),
        pod("x", gpu=3, node="b"),
        gang("g", 8),
        members("g", 8, gpu=1),
    )
    count = only(decide(state, G))
    assert (count.nodes, count.eligible, count.fits, count.short) == (2, 2, 5, 3)
    assert count.short_of == ((GPU, 3),)
    assert count.causes == ((f"capacity:{GPU}", 2),)


def test_room_in_pieces_too_small_names_what_the_nearest_piece_lacks() -> None:
    state = cluster(
        node("a", cpu=3000),
        node("b", cpu=2500),
        node("c", cpu=9000),
        pod("x", cpu=9000, node="c"),
        gang("g", 1),
        members("g", 1, cpu=4000),
    )
    count = only(decide(state, G))
    assert count.fits == 0
    assert count.short_of == (("cpu", 1000),)
    assert count.causes == (("capacity:cpu", 3),)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"taints": (DEVICE_TAINT,)}, Reason.TAINT),
        ({"unschedulable": True}, Reason.CORDONED),
        ({"ready": False}, Reason.NODE_NOT_READY),
        ({"labels": {ZONE: "z2"}}, Reason.SELECTOR),
    ],
)
def test_nodes_that_may_not_be_used_are_counted_and_name_the_reason(
    bad: dict[str, object], reason: Reason
) -> None:
    fine = {"labels": {ZONE: "z1"}}
    state = cluster(
        node("a", cpu=1000, **fine),
        node("b", cpu=1000, **{**fine, **bad}),
        node("c", cpu=1000, **{**fine, **bad}),
        gang("g", 2),
        members("g", 2, eligibility=IN_ZONE),
    )
    decision = decide(state, G)
    assert decision.verdict == Verdict.PROVED_INFEASIBLE
    assert decision.reason == reason
    assert dict(only(decision).causes)[reason] == 2
    assert (only(decision).eligible, only(decision).fits, only(decision).never) == (1, 1, False)


def test_the_bar_that_would_do_if_lifted_alone_is_blamed() -> None:
    state = cluster(
        node("a", cpu=1000, unschedulable=True),
        node("b", cpu=2000, taints=(DEVICE_TAINT,)),
        gang("g", 2),
        members("g", 2),
    )
    assert decide(state, G).reason == Reason.TAINT


def test_when_no_bar_alone_would_do_the_one_on_most_nodes_is_blamed() -> None:
    state = cluster(
        node("a", cpu=1000, unschedulable=True),
        [node(name, cpu=1000, taints=(DEVICE_TAINT,)) for name in ("b", "c")],
        gang("g", 3),
        members("g", 3),
    )
    assert decide(state, G).reason == Reason.TAINT


def test_occupied_nodes_come_before_barred_ones_when_emptying_them_would_do() -> None:
    state = cluster(
        node("a", cpu=2000),
        pod("x", cpu=1000, node="a"),
        node("b", cpu=2000, taints=(DEVICE_TAINT,)),
        gang("g", 2),
        members("g", 2),
    )
    assert decide(state, G).reason == Reason.CAPACITY


def test_the_group_has_the_reason_of_the_domain_where_most_members_fit() -> None:
    state = cluster(
        node("a", "r1", cpu=2000, unschedulable=True),
        node("b", "r2", cpu=2000),
        pod("x", cpu=1000, node="b"),
        gang("g", 2),
        members("g", 2),
    )
    decision = decide(state, G)
    assert [(count.domain, count.fits, count.reason) for count in decision.domains] == [
        ("r2", 1, "capacity"),
        ("r1", 0, "cordoned"),
    ]
    assert decision.reason == Reason.CAPACITY


def test_never_fits_is_said_of_a_group_only_when_it_is_so_in_every_domain() -> None:
    state = cluster(
        node("small", "r1", cpu=2000),
        node("large", "r2", cpu=4000),
        pod("x", cpu=4000, node="large"),
        gang("g", 3),
        members("g", 3),
    )
    decision = decide(state, G)
    assert [(count.domain, count.never) for count in decision.domains] == [("r1", True), ("r2", False)]
    assert decision.reason == Reason.CAPACITY


def test_bound_members_keep_their_room_when_a_domain_is_thought_empty() -> None:
    state = cluster(node("a", cpu=3000), gang("g", 3), members("g", 2, node="a"), pod("g-9", "g", cpu=2000))
    assert only(decide(state, G)).never
    state.set_pod(pod("g-9", "g", cpu=1000))
    state.set_pod(pod("x", cpu=1000, node="a"))
    count = only(decide(state, G))
    assert (count.never, count.fits, count.short, count.reason) == (False, 2, 1, "capacity")


def test_a_key_that_no_node_carries_has_no_domain() -> None:
    decision = decide(cluster(node("a", None), gang("g", 1), members("g", 1)), G)
    assert (decision.verdict, decision.reason) == (Verdict.PROVED_INFEASIBLE, Reason.NO_SUCH_DOMAIN)
    assert (decision.unlabelled_nodes, decision.domains) == (1, ())
    assert not decision.fits_across_domains


def test_a_cluster_without_nodes_has_no_domain_either_and_a_plain_gang_never_fits_it() -> None:
    assert decide(cluster(gang("g", 1), members("g", 1)), G).reason == Reason.NO_SUCH_DOMAIN
    assert decide(cluster(gang("g", 1, key=""), members("g", 1)), G).reason == Reason.NEVER_FITS


def test_unlabelled_nodes_are_counted_and_never_used() -> None:
    state = cluster(node("a", "r1", cpu=1000), node("b", None), gang("g", 2), members("g", 2))
    decision = decide(state, G)
    assert (decision.placed, decision.unlabelled_nodes, decision.fits_across_domains) == (False, 1, False)


def test_domains_together_are_only_those_that_there_are() -> None:
    state = cluster(
        node("a", "r1", cpu=1000), node("b", "r2", cpu=1000), node("c", None), gang("g", 2), members("g", 2)
    )
    assert decide(state, G).fits_across_domains


def test_it_does_not_fit_across_domains_when_the_whole_cluster_is_too_small() -> None:
    state = cluster(node("a", "r1", cpu=1000), node("b", "r2", cpu=1000), gang("g", 3), members("g", 3))
    assert not decide(state, G).fits_across_domains


def test_the_funnel_narrows_from_all_domains_to_those_that_take_the_group() -> None:
    state = cluster(
        node("a", "r1", cpu=3000),
        node("b", "r2", cpu=1000),
        node("c", "r3", cpu=1000),
        pod("x", cpu=1000, node="c"),
        node("d", "r4", unschedulable=True),
        node("e", None),
        gang("g", 2),
        members("g", 2),
    )
    assert decide(state, G).funnel == (4, 4, 3, 2, 1)


def test_a_placement_counts_the_chosen_domain_first_and_then_the_next_best() -> None:
    state = cluster([node(f"n{n}", f"r{n}", cpu=1000 * n) for n in range(6)], gang("g", 2), members("g", 3))
    assert [(count.domain, count.fits, count.short) for count in decide(state, G).domains] == [
        ("r3", 3, 0),
        ("r4", 3, 0),
        ("r5", 3, 0),
        ("r2", 2, 0),
    ]


def test_a_mixed_group_counts_what_is_known_to_fit_and_explains_the_kind_that_is_out() -> None:
    state = cluster(
        node("a", cpu=4000, gpu=4),
        gang("g", 5),
        [pod(f"w-{n}", "g", gpu=1) for n in range(4)],
        pod("lead", "g", cpu=2000),
    )
    decision = decide(state, G)
    count = only(decision)
    assert (decision.verdict, decision.reason) == (Verdict.PROVED_INFEASIBLE, Reason.NEVER_FITS)
    assert count.fits == 4
    assert count.short_of == (("cpu", 2000),) or count.short_of == (("cpu", 1000),)
    assert dict(count.causes) == {"capacity:cpu": 1}


def test_the_summary_tells_whether_a_decision_is_news() -> None:
    state = cluster(node("a", cpu=1000), gang("g", 2), members("g", 2))
    refused = decide(state, G).summary()
    assert (refused.verdict, refused.reason, refused.domain, refused.fits, refused.need) == (
        "proved_infeasible",
        "never_fits",
        "r1",
        1,
        2,
    )
    state.set_node(node("b"))
    assert decide(state, G).summary() != refused
    assert decide(state, G).summary() == decide(state, G).summary()


def test_tolerating_members_are_not_told_of_the_taint() -> None:
    tolerant = Eligibility(tolerations=(Toleration(DEVICE_TAINT.key, "Exists", "", ""),))
    state = cluster(
        node("a", cpu=1000, taints=(DEVICE_TAINT,)), gang("g", 2), members("g", 2, eligibility=tolerant)
    )
    assert only(decide(state, G)).causes == (("capacity:cpu", 1),)


def test_absurd_requests_are_explained_without_overflow() -> None:
    state = cluster(node("a"), gang("g", 9), members("g", 9, cpu=1 << 70))
    decision = decide(state, G)
    assert decision.reason == Reason.NEVER_FITS
    assert all(amount > 0 for _, amount in only(decision).short_of)
