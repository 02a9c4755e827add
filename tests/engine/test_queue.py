"""Who waits, and who comes first."""

from dataclasses import replace

from scheduling.engine.queue import waiting
from tests.engine.builders import cluster, gang, members, node, pod


def test_priority_then_age_then_name() -> None:
    state = cluster(
        [
            gang("b", 1, created=2),
            gang("a", 1, created=2),
            gang("old", 1, created=1),
            gang("vip", 1, priority=5, created=9),
        ],
        [pod(f"{name}-0", name) for name in ("a", "b", "old", "vip")],
    )
    assert waiting(state) == ["ml/vip", "ml/old", "ml/a", "ml/b"]


def test_without_a_priority_of_its_own_a_group_has_the_highest_of_its_members() -> None:
    state = cluster(
        gang("a", 1),
        members("a", 1, priority=3),
        gang("b", 1),
        members("b", 1),
        pod("b-9", "b", priority=4),
        gang("c", 1, priority=0),
        members("c", 1, priority=9),
    )
    assert waiting(state) == ["ml/b", "ml/a", "ml/c"]


def test_a_gang_that_lost_a_member_goes_before_younger_and_older_ones_of_its_priority_only() -> None:
    state = cluster(
        node("a"),
        gang("old", 1, created=1),
        members("old", 1),
        gang("broken", 2, created=5),
        pod("broken-0", "broken", node="a"),
        pod("broken-1", "broken"),
        gang("vip", 1, priority=1, created=9),
        members("vip", 1),
    )
    assert waiting(state) == ["ml/vip", "ml/broken", "ml/old"]


def test_groups_short_of_members_wait_for_a_verdict_and_so_do_pods_without_a_podgroup() -> None:
    state = cluster(gang("few", 3), members("few", 1), gang("empty", 1), pod("x", "missing"))
    assert waiting(state) == ["ml/empty", "ml/few", "ml/missing"]


def test_left_over_members_of_a_running_gang_wait() -> None:
    state = cluster(node("a"), gang("g", 1), pod("g-0", "g", node="a"), pod("g-1", "g"))
    assert waiting(state) == ["ml/g"]


def test_complete_finished_and_leaving_groups_do_not_wait() -> None:
    state = cluster(
        node("a"),
        gang("complete", 2),
        members("complete", 2, node="a"),
        gang("done", 2),
        members("done", 2, node="a", phase="Succeeded"),
        pod("x", "leaving", terminating=True),
        pod("y", "over", phase="Failed"),
    )
    assert waiting(state) == []


def test_a_running_gang_is_not_short_because_a_member_ended_well() -> None:
    state = cluster(node("a"), gang("g", 3), members("g", 3, node="a"))
    state.set_pod(replace(state.pods["pod-g-0"], phase="Succeeded"))
    assert waiting(state) == []
    state.set_pod(replace(state.pods["pod-g-0"], phase="Failed"))
    assert waiting(state) == ["ml/g"]


def test_gated_members_of_a_running_gang_do_not_wait_and_those_it_is_short_of_do() -> None:
    state = cluster(
        node("a"),
        gang("g", 1),
        pod("g-0", "g", node="a"),
        pod("g-1", "g", gated=True),
        gang("h", 1),
        pod("h-0", "h", gated=True),
    )
    assert waiting(state) == ["ml/h"]
