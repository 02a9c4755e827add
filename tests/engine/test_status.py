"""The one word for a group."""

from scheduling.engine.roster import roster
from scheduling.engine.status import GroupStatus, group_status
from tests.engine.builders import basic, cluster, gang, members, node, pod

G = "ml/g"


def test_a_group_without_pods_is_empty() -> None:
    assert group_status(cluster(gang("g", 2)), G) == GroupStatus.EMPTY
    assert group_status(cluster(), "ml/nobody") == GroupStatus.EMPTY


def test_a_group_whose_pods_have_all_ended_is_finished() -> None:
    state = cluster(gang("g", 2), pod("g-0", "g", phase="Succeeded"), pod("g-1", "g", phase="Failed"))
    assert group_status(state, G) == GroupStatus.FINISHED


def test_min_count_on_nodes_is_scheduled_and_one_for_basic() -> None:
    assert (
        group_status(cluster(node("a"), gang("g", 2), members("g", 2, node="a")), G) == GroupStatus.SCHEDULED
    )
    assert (
        group_status(cluster(node("a"), basic("g"), pod("g-0", "g", node="a"), pod("g-1", "g")), G)
        == "scheduled"
    )


def test_too_few_members_or_no_podgroup_is_held() -> None:
    assert group_status(cluster(gang("g", 2), members("g", 1)), G) == GroupStatus.HELD
    assert group_status(cluster(node("a"), members("g", 2, node="a")), G) == GroupStatus.HELD
    assert group_status(cluster(gang("g", 1), pod("g-0", "g", gated=True)), G) == GroupStatus.HELD


def test_enough_members_not_on_nodes_is_pending() -> None:
    assert group_status(cluster(gang("g", 2), members("g", 2)), G) == GroupStatus.PENDING


def test_contradicting_members_are_an_error_before_anything_is_scheduled() -> None:
    state = cluster(
        node("a", "r1"), node("b", "r2"), gang("g", 2), pod("g-0", "g", node="a"), pod("g-1", "g", node="b")
    )
    assert group_status(state, G) == GroupStatus.ERROR


def test_a_lost_domain_is_an_error_and_without_enforcement_it_is_not() -> None:
    made = (gang("g", 1), pod("g-0", "g", node="gone"), pod("g-1", "g"))
    assert group_status(cluster(*made), G) == GroupStatus.ERROR
    assert group_status(cluster(*made, gates=False), G) == GroupStatus.SCHEDULED


def test_below_min_count_with_members_on_nodes_is_degraded_beside_its_status() -> None:
    state = cluster(node("a"), gang("g", 2), pod("g-0", "g", node="a"), pod("g-1", "g"))
    assert (group_status(state, G), roster(state, G).degraded) == (GroupStatus.PENDING, True)
    state.bind("pod-g-1", "a")
    assert (group_status(state, G), roster(state, G).degraded) == (GroupStatus.SCHEDULED, False)


def test_none_on_nodes_is_not_degraded_and_members_that_ended_well_do_not_degrade() -> None:
    assert not roster(cluster(gang("g", 2), members("g", 2)), G).degraded
    state = cluster(node("a"), gang("g", 2), pod("g-0", "g", node="a"), pod("g-1", "g", phase="Succeeded"))
    assert (group_status(state, G), roster(state, G).degraded) == (GroupStatus.SCHEDULED, False)
