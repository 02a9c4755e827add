"""Hints one by one: what wakes a refused group, and what does not."""

from dataclasses import replace

import pytest

from scheduling.engine.decide import decide
from scheduling.engine.model import Taint
from scheduling.engine.requeue import Change, Changes, Kind, always_decided, could_help
from scheduling.engine.state import ClusterState
from tests.engine.builders import DEVICE_TAINT, basic, cluster, gang, members, node, pod

G = "ml/g"
NODE_KINDS = (Kind.FREED, Kind.OPENED, Kind.JOINED, Kind.RESIZED, Kind.RELABELLED)


def refused(*things: object) -> ClusterState:
    """With what was decided about the group recorded at seq 10."""
    state = cluster(*things)  # type: ignore[arg-type]
    state.record_verdict(G, decide(state, G).summary())
    return state


def wakes(state: ClusterState, *changes: Change, since: int = 10) -> int | None:
    return could_help(state, G, Changes(state, changes), since)


def full() -> ClusterState:
    """One rack that is full, and another of one cordoned node."""
    return refused(
        node("a", cpu=2000),
        pod("other", node="a", cpu=1000),
        node("b", "r2", cpu=2000, unschedulable=True),
        node("c", None),
        gang("g", 2),
        members("g", 2),
    )


@pytest.mark.parametrize("kind", NODE_KINDS)
def test_a_group_without_room_is_woken_by_whatever_gives_room_on_a_node_it_may_use(kind: Kind) -> None:
    assert wakes(full(), Change(11, kind, "a")) == 11


@pytest.mark.parametrize("kind", NODE_KINDS)
@pytest.mark.parametrize("where", ["b", "c", "gone"])
def test_what_happens_to_a_node_that_it_may_not_use_or_that_is_in_no_domain_wakes_nobody(
    kind: Kind, where: str
) -> None:
    assert wakes(full(), Change(11, kind, where)) is None


def test_room_given_back_where_it_is_not_told_may_be_anywhere() -> None:
    assert wakes(full(), Change(11, Kind.FREED)) == 11


def test_what_happened_before_is_not_asked_and_the_first_of_several_is_named() -> None:
    found = [Change(seq, Kind.FREED, "a") for seq in (9, 10, 12, 14)]
    assert wakes(full(), *found) == 12
    assert wakes(full(), *found, Change(11, Kind.GROUP, group=G)) == 11
    assert wakes(full(), *found, since=14) is None


def test_what_gives_no_room_wakes_no_refused_group() -> None:
    assert wakes(full(), Change(11, Kind.OTHER), Change(12, Kind.OTHER, "a")) is None


def test_members_and_podgroup_wake_their_own_group_only_and_rules_wake_all() -> None:
    assert wakes(full(), Change(11, Kind.GROUP, group="ml/other")) is None
    assert wakes(full(), Change(11, Kind.GROUP, group=G)) == 11
    assert wakes(full(), Change(11, Kind.RULES)) == 11


def test_a_group_that_would_not_fit_an_empty_cluster_is_woken_by_other_nodes_and_not_by_room() -> None:
    state = refused(
        node("a", cpu=1000), node("b", taints=(DEVICE_TAINT,), cpu=0), gang("g", 2), members("g", 2)
    )
    assert state.verdicts[G].reason == "never_fits"
    for kind in (Kind.FREED, Kind.OPENED):
        assert wakes(state, Change(11, kind, "a")) is None
    for kind in (Kind.JOINED, Kind.RESIZED, Kind.RELABELLED):
        assert wakes(state, Change(11, kind, "a")) == 11
        assert wakes(state, Change(11, kind, "b")) == 11, (
            "once it opens, only the new reason tells that it helps"
        )


def test_a_group_without_any_domain_is_woken_by_a_node_that_carries_the_key() -> None:
    state = refused(node("a", None), gang("g", 1), members("g", 1))
    assert state.verdicts[G].reason == "no_such_domain"
    assert wakes(state, Change(11, Kind.JOINED, "a")) is None
    state.set_node(node("b", "r1"))
    assert wakes(state, Change(11, Kind.JOINED, "b")) == 11


def test_a_pinned_group_is_woken_by_its_own_domain_only() -> None:
    state = refused(
        node("a", cpu=1000),
        node("b", "r2", cpu=4000),
        gang("g", 2),
        pod("g-0", "g", node="a"),
        pod("g-1", "g"),
    )
    assert state.verdicts[G].reason == "sticky_domain"
    assert wakes(state, Change(11, Kind.FREED, "b")) is None
    assert wakes(state, Change(11, Kind.FREED, "a")) == 11


def test_a_held_or_contradictory_group_is_woken_by_what_concerns_it_alone() -> None:
    held = refused(node("a"), gang("g", 3), members("g", 2))
    torn = refused(
        node("a"),
        node("b", "r2"),
        gang("g", 3),
        pod("g-0", "g", node="a"),
        pod("g-1", "g", node="b"),
        pod("g-2", "g"),
    )
    for state in (held, torn):
        assert wakes(state, *(Change(11, kind, "a") for kind in NODE_KINDS)) is None
        assert wakes(state, Change(11, Kind.GROUP, group=G)) == 11


def test_a_basic_group_without_a_key_is_woken_by_any_node_that_it_may_use() -> None:
    state = refused(node("a", None, cpu=0), basic("g", ""), members("g", 1))
    assert wakes(state, Change(11, Kind.RESIZED, "a")) == 11
    state.set_node(replace(state.nodes["a"], taints=(Taint("x", "", "NoSchedule"),)))
    state.record_verdict(G, decide(state, G).summary())
    assert wakes(state, Change(11, Kind.FREED, "a")) is None


def test_what_is_no_proof_or_leaves_members_over_is_decided_in_every_cycle() -> None:
    state = cluster(node("a", cpu=1000), gang("g", 1), members("g", 2, unmodelled=("hostPorts",)))
    assert always_decided(state, G), "never decided"
    state.record_verdict(G, decide(state, G).summary())
    assert state.verdicts[G].verdict == "not_found" and always_decided(state, G)
    state.record_verdict(G, replace(state.verdicts[G], verdict="placed"))
    assert always_decided(state, G)
    state.record_verdict(G, replace(state.verdicts[G], verdict="proved_infeasible"))
    assert not always_decided(state, G)
