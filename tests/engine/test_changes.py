"""What would make a waiting group run: what is offered does, no step of it can be left out, and one node that
would do alone is not missed.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.census import census
from scheduling.engine.change_steps import (
    AddMembers,
    AddNodes,
    EndGroup,
    LabelNode,
    NewGeneration,
    NodeReady,
    Tolerate,
    Uncordon,
    Ungate,
    applied,
    to_json,
)
from scheduling.engine.changes import ChangeSet, change_sets
from scheduling.engine.decide import decide
from scheduling.engine.model import NumaZone, Taint
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.obstacles import obstacles
from scheduling.engine.reasons import Reason
from scheduling.engine.state import ClusterState
from tests.engine.builders import (
    DEVICE_TAINT,
    RACK,
    basic,
    cluster,
    gang,
    members,
    node,
    pod,
)
from tests.engine.strategies import clusters, crowded

KEY = "ml/g"


def steps(found: tuple[ChangeSet, ...]) -> list[tuple[object, ...]]:
    return [each.steps for each in found]


def holds(state: ClusterState, found: tuple[ChangeSet, ...]) -> None:
    """The law of change sets: all steps place, fewer do not."""
    for each in found:
        decision = decide(applied(state, KEY, each.steps), KEY)
        assert decision.placed
        assert (each.domain, each.placed, each.need) == (decision.domain, decision.fits, decision.need)
        for step in each.steps:
            fewer = tuple(other for other in each.steps if other is not step)
            assert not decide(applied(state, KEY, fewer), KEY).placed
            if isinstance(step, AddNodes) and step.count > 1:
                fewer = tuple(replace(s, count=s.count - 1) if s is step else s for s in each.steps)
                assert not decide(applied(state, KEY, fewer), KEY).placed


# ---------------------------------------------------------------- one sort after the other


def test_a_group_that_waits_for_nothing_needs_no_change() -> None:
    state = cluster(node("n1"), gang("g", 1), members("g", 1))

    assert change_sets(state, KEY) == ()


def test_the_one_cordoned_node_is_named() -> None:
    state = cluster(node("n1"), node("n2", unschedulable=True), gang("g", 2), members("g", 2, cpu=8000))

    found = change_sets(state, KEY)

    assert found[0].steps == (Uncordon("n2"),)
    assert (found[0].domain, found[0].placed, found[0].need) == ("r1", 2, 2)
    assert NewGeneration(1, 2, 0) in [each.steps[0] for each in found]
    holds(state, found)


def test_as_few_cordoned_nodes_of_one_domain_as_do() -> None:
    state = cluster(
        [node(f"a{n}", "r1", unschedulable=True) for n in range(3)],
        [node(f"b{n}", "r2", unschedulable=True, cpu=2000) for n in range(9)],
        gang("g", 2),
        members("g", 2, cpu=8000),
    )

    assert change_sets(state, KEY)[0].steps == (Uncordon("a0"), Uncordon("a1"))


def test_a_node_that_is_away_comes_back_without_its_taints() -> None:
    gone = (Taint("node.kubernetes.io/unreachable", "", "NoExecute"),)
    state = cluster(node("n1"), node("n2", ready=False, taints=gone), gang("g", 2), members("g", 2, cpu=8000))

    assert (NodeReady("n2"),) in steps(change_sets(state, KEY))


def test_a_node_barred_twice_needs_both_bars_lifted() -> None:
    state = cluster(
        node("n1", unschedulable=True, ready=False, taints=(DEVICE_TAINT,)), gang("g", 1), members("g", 1)
    )

    found = change_sets(state, KEY)

    both = (Tolerate("dedicated", "training", "NoSchedule"), NodeReady("n1"), Uncordon("n1"))
    assert both in steps(found)
    holds(state, found)


def test_a_taint_that_keeps_the_members_out_is_named_with_its_value() -> None:
    tainted = [node(f"n{n}", taints=(DEVICE_TAINT,)) for n in range(4)]
    state = cluster(tainted, gang("g", 4), members("g", 4, cpu=8000))

    assert change_sets(state, KEY)[0].steps == (Tolerate("dedicated", "training", "NoSchedule"),)


def test_so_many_copies_of_a_node_that_one_fewer_does_not_do() -> None:
    state = cluster(node("n1", "r1"), node("n2", "r2", cpu=4000), gang("g", 5), members("g", 5, cpu=4000))

    found = change_sets(state, KEY)

    assert (AddNodes("r1", "n1", 2),) in steps(found)
    holds(state, found)


def test_where_domains_are_hosts_no_node_can_be_added_to_one_and_none_be_labelled() -> None:
    host = "kubernetes.io/hostname"
    made = [node(f"n{n}", labels={host: f"n{n}"}, cpu=2000) for n in range(2)]
    state = cluster(made, node("loose"), gang("g", 3, host), members("g", 3))

    found = change_sets(state, KEY)

    assert steps(found) == [(NewGeneration(2, 3, 0),)]


def test_a_node_without_the_label_may_join_the_domain_that_comes_closest() -> None:
    state = cluster(
        node("n1", "r1"), node("n2", "r2"), node("n3", "r2"), node("loose", None), gang("g", 3),
        members("g", 3, cpu=8000),
    )  # fmt: skip

    found = change_sets(state, KEY)

    assert (LabelNode("loose", RACK, "r2"),) in steps(found)
    holds(state, found)


def running(name: str, where: list[str], *, priority: int = 0, gpu: int = 0) -> list[object]:
    return [
        gang(name, 1, "", priority=priority),
        *(pod(f"{name}-{n}", name, node=place, cpu=8000, gpu=gpu) for n, place in enumerate(where)),
    ]


def test_the_group_whose_end_disturbs_least_is_named_with_what_it_holds() -> None:
    state = cluster(
        [node(f"n{n}", "r1", gpu=8) for n in range(3)],
        *running("small", ["n0"], gpu=4),
        *running("large", ["n1", "n2"], gpu=4),
        gang("g", 1),
        members("g", 1, cpu=8000),
    )

    ended = [each.steps for each in change_sets(state, KEY) if isinstance(each.steps[0], EndGroup)]

    assert ended[0] == (EndGroup("ml/small", 0, False, 1, 4),)


def test_a_group_of_higher_priority_comes_last_and_says_so() -> None:
    state = cluster(
        [node(f"n{n}", "r1") for n in range(3)],
        *running("high", ["n0"], priority=7),
        *running("low", ["n1", "n2"]),
        gang("g", 1, priority=3),
        members("g", 1, cpu=8000),
    )
    assert (EndGroup("ml/low", 0, False, 2, 0),) in steps(change_sets(state, KEY))
    assert all("high" not in str(each.steps) for each in change_sets(state, KEY))

    only = cluster(node("n0"), *running("high", ["n0"], priority=7), gang("g", 1), members("g", 1, cpu=8000))
    assert (EndGroup("ml/high", 7, True, 1, 0),) in steps(change_sets(only, KEY))


def test_two_groups_that_share_the_nodes_must_both_end() -> None:
    state = cluster(
        node("n1"),
        *(gang(name, 1, "") for name in ("a", "b")),
        pod("a-0", "a", node="n1", cpu=4000),
        pod("b-0", "b", node="n1", cpu=4000),
        gang("g", 1),
        members("g", 1, cpu=8000),
    )

    found = change_sets(state, KEY)

    assert any(
        {step.group for step in each.steps if isinstance(step, EndGroup)} == {"ml/a", "ml/b"}
        for each in found
    )
    holds(state, found)


def test_bound_members_that_pin_the_domain_are_set_free_by_a_new_generation() -> None:
    state = cluster(
        node("n1", "r1"), node("n2", "r2"), node("n3", "r2"), gang("g", 2),
        pod("g-0", "g", node="n1", cpu=8000), pod("g-1", "g", cpu=8000),
    )  # fmt: skip
    assert decide(state, KEY).reason == Reason.STICKY_DOMAIN

    found = change_sets(state, KEY)

    assert (NewGeneration(2, 2, 1),) in steps(found)
    holds(state, found)


def test_a_group_that_runs_is_not_ended_for_the_members_it_has() -> None:
    state = cluster(
        node("n1", "r1"), node("n2", "r2"), gang("g", 1),
        pod("g-0", "g", node="n1", cpu=8000), pod("g-1", "g", cpu=8000),
    )  # fmt: skip
    assert decide(state, KEY).reason == Reason.STICKY_DOMAIN

    found = change_sets(state, KEY)

    assert not any(isinstance(step, NewGeneration) for each in found for step in each.steps)
    holds(state, found)


def test_a_lost_domain_is_told_by_the_label_that_the_node_gets_back() -> None:
    state = cluster(
        node("n1", "r1"), node("n2", None), node("n3", "r1"), gang("g", 3),
        pod("g-0", "g", node="n1"), pod("g-1", "g", node="n2"), pod("g-2", "g"),
    )  # fmt: skip
    assert decide(state, KEY).reason == Reason.DOMAIN_LOST

    found = change_sets(state, KEY)

    assert (LabelNode("n2", RACK, "r1"),) in steps(found)
    holds(state, found)


def test_a_held_group_is_told_how_many_members_are_missing_or_gated() -> None:
    short = cluster(node("n1"), gang("g", 3), members("g", 2))
    assert steps(change_sets(short, KEY)) == [(AddMembers(1),), (NewGeneration(2, 3, 0),)]

    gated = cluster(node("n1"), gang("g", 3), members("g", 1), pod("late", "g", gated=True))
    assert steps(change_sets(gated, KEY)) == [(NewGeneration(1, 3, 0),), (Ungate(1), AddMembers(1))]


def test_with_a_smaller_min_count_not_all_that_is_missing_need_come() -> None:
    state = cluster(
        node("n1", pods=3), node("n2", pods=0), gang("g", 4), members("g", 2), pod("late", "g", gated=True)
    )

    found = change_sets(state, KEY)

    assert found[0].steps == (NewGeneration(2, 4, 0),)
    holds(state, found)


def test_a_held_group_without_room_is_told_both() -> None:
    state = cluster(node("n1", unschedulable=True), gang("g", 2), members("g", 1))

    found = change_sets(state, KEY)

    assert steps(found) == [(AddMembers(1), Uncordon("n1")), (AddMembers(1), AddNodes("r1", "n1", 1))]
    holds(state, found)


@pytest.mark.parametrize(
    "state",
    [
        cluster(node("n1"), gang("g", 2)),
        cluster(node("n1"), members("g", 2)),
        cluster(node("n1"), gang("g", 1), pod("g-0", "g", cpu=9000, unmodelled=("volumes",))),
        cluster(node("n1", None), gang("g", 1), members("g", 1)),
    ],
    ids=["no member to copy", "no PodGroup", "not modelled", "no domain"],
)
def test_what_cannot_be_decided_is_not_offered(state: ClusterState) -> None:
    assert not decide(state, KEY).placed
    assert change_sets(state, KEY) == ()


def test_a_group_without_a_constraint_has_the_whole_cluster_as_its_domain() -> None:
    state = cluster(
        node("n1", "r1"), node("n2", "r2", unschedulable=True), gang("g", 2, ""), members("g", 2, cpu=8000)
    )

    found = change_sets(state, KEY)

    assert found[0].steps == (Uncordon("n2"),)
    holds(state, found)


def test_members_of_several_shapes_are_helped_too() -> None:
    made = [pod(f"g-{n}", "g", cpu=cpu) for n, cpu in enumerate((8000, 4000, 4000, 2000))]
    state = cluster(
        node("n1"), node("n2", unschedulable=True), node("n3", "r2", cpu=4000), gang("g", 4), made
    )

    found = change_sets(state, KEY)

    assert (AddNodes("r1", "n1", 2),) in steps(found)
    holds(state, found)


def test_a_change_set_is_plain_values_with_a_name_of_its_own() -> None:
    state = cluster(node("n1"), node("n2", unschedulable=True), gang("g", 2), members("g", 2, cpu=8000))

    first, *others = change_sets(state, KEY)

    told = json.loads(json.dumps(first.to_json()))
    assert told["steps"] == [{"step": "uncordon", "node": "n2"}] == [to_json(first.steps[0])]
    assert told["id"] == first.id not in {other.id for other in others}
    assert change_sets(state, KEY) == (first, *others)


def test_asking_changes_nothing_and_gives_no_more_than_asked_for() -> None:
    state = cluster(node("n1"), node("n2", unschedulable=True), gang("g", 2), members("g", 2, cpu=8000))
    before = decide(state, KEY)

    assert len(change_sets(state, KEY, limit=1)) == 1
    assert decide(state, KEY) == before
    assert state.nodes["n2"].unschedulable


# ---------------------------------------------------------------- the law, on random clusters


@given(clusters())
@settings(max_examples=150, deadline=None)
def test_every_change_set_places_and_none_of_its_steps_can_be_left_out(state: ClusterState) -> None:
    found = change_sets(state, KEY)

    holds(state, found)
    assert list(found) == sorted(found, key=lambda each: each.cost)
    assert len(set(steps(found))) == len(found)


@given(st.integers(0, 100_000))
@settings(max_examples=100, deadline=None)
def test_the_same_for_close_calls_with_members_of_several_shapes(seed: int) -> None:
    state = crowded(seed)

    holds(state, change_sets(state, KEY))


@given(clusters())
@settings(max_examples=150, deadline=None)
def test_where_one_node_alone_would_do_the_first_change_set_is_no_larger(state: ClusterState) -> None:
    """Each cordoned node uncordoned by itself, each unready one made ready: the obvious way."""
    refused = decide(state, KEY)
    if refused.placed or refused.reason in (Reason.NOT_ENOUGH_PODS, Reason.NO_PODGROUP):
        return
    alone = [Uncordon(name) for name, one in state.nodes.items() if one.unschedulable]
    back = [NodeReady(name) for name, one in state.nodes.items() if not one.ready]
    single = [step for step in (*alone, *back) if decide(applied(state, KEY, (step,)), KEY).placed]
    if single:
        found = change_sets(state, KEY)
        assert found[0].cost[:3] <= (1, 0, 0)


def test_a_basic_group_needs_one_place_only() -> None:
    state = cluster(node("n1", unschedulable=True), basic("g"), members("g", 3))

    assert change_sets(state, KEY)[0].steps == (Uncordon("n1"),)


def test_a_group_held_to_a_numa_zone_is_told_the_min_count_of_the_best_zone_only() -> None:
    zones = tuple(NumaZone(f"node-{number}", (("cpu", 4000),)) for number in range(2))
    state = cluster(node("n1", cpu=8000, zones=zones), gang("g", 5, NUMA_KEY), members("g", 5))
    refusal = decide(state, KEY)
    assert not refusal.placed and refusal.fits == 4

    found = change_sets(state, KEY)

    assert steps(found) == [(NewGeneration(4, 5, 0),)]
    assert census(state, refusal) is None and obstacles(state, refusal, 3) == ()
    holds(state, found)
