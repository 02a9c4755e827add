"""Every node is counted once, and what is in the way is named."""

from __future__ import annotations

from hypothesis import given, settings

from scheduling.engine.census import USABLE, census, refused
from scheduling.engine.decide import decide
from scheduling.engine.obstacles import Obstacle, obstacles
from scheduling.engine.state import ClusterState
from tests.engine.builders import DEVICE_TAINT, GPU, cluster, gang, members, node, pod
from tests.engine.strategies import clusters

KEY = "ml/g"


def test_every_sort_of_node_is_told_apart() -> None:
    state = cluster(
        node("takes", gpu=4),
        node("no-gpu", gpu=0),
        node("no-cpu", cpu=0, gpu=4),
        node("full", cpu=0, gpu=0),
        node("tainted", gpu=4, taints=(DEVICE_TAINT,)),
        node("cordoned", gpu=4, unschedulable=True),
        node("empty", "", gpu=4),
        node("loose", None, gpu=4),
        node("loose-cordoned", None, gpu=4, unschedulable=True),
        gang("g", 3),
        members("g", 3, gpu=4),
    )

    found = census(state, decide(state, KEY))

    assert found is not None
    assert found.nodes == 9
    assert found.unlabelled == (("cordoned", 1), (USABLE, 1))
    assert found.barred == (("cordoned", 1), ("taint", 1))
    assert found.takes == 2
    assert found.partly == ((("cpu",), 1), ((GPU,), 1))
    assert found.full == 1
    assert found.empty_value == 1


def test_how_many_domains_would_hold_the_group_together() -> None:
    state = cluster(
        [node(f"n{n}", f"r{n}", cpu=4000 - 1000 * n) for n in range(3)], gang("g", 7), members("g", 7)
    )

    found = census(state, decide(state, KEY))

    assert found is not None and found.together == 2


def test_a_group_that_is_placed_or_held_has_no_census() -> None:
    placed = cluster(node("n1"), gang("g", 1), members("g", 1))
    held = cluster(node("n1"), gang("g", 2), members("g", 1))

    assert census(placed, decide(placed, KEY)) is None
    assert census(held, decide(held, KEY)) is None


@given(clusters())
@settings(max_examples=150, deadline=None)
def test_no_node_is_counted_twice_or_left_out(state: ClusterState) -> None:
    decision = decide(state, KEY)
    found = census(state, decision)
    if found is None:
        assert not refused(decision) or not state.nodes
        return
    parts = sum(nodes for _, nodes in (*found.unlabelled, *found.barred, *found.partly))
    assert parts + found.takes + found.full + found.elsewhere == found.nodes == len(state.nodes)
    assert sum(nodes for _, nodes in found.unlabelled) == decision.unlabelled_nodes


def test_what_is_in_the_way_is_named_nearest_domain_first() -> None:
    state = cluster(
        [node(f"a{n}", "r1") for n in range(2)],
        node("a2", "r1", unschedulable=True),
        node("b0", "r2"),
        node("b1", "r2", ready=False),
        node("b2", "r2", ready=False),
        node("c0", "r3"),
        gang("other", 1, ""),
        pod("other-0", "other", node="c0", cpu=8000),
        node("d0", "r4", cpu=0),
        gang("g", 3),
        members("g", 3, cpu=8000),
    )
    decision = decide(state, KEY)

    assert obstacles(state, decision, 4) == (
        Obstacle("r1", "cordoned", 1, "a2"),
        Obstacle("r2", "node_not_ready", 2, ""),
        Obstacle("r3", "group", 1, "ml/other"),
    )
    assert [found.domain for found in obstacles(state, decision, 1)] == ["r1"]
