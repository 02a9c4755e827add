"""One cycle: order, what is news, forecasts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduling.ledger.events import (
    FeatureGateChanged,
    PlacementForecast,
    PodGroupConflicted,
    PodGroupHeld,
    PodGroupPlaced,
    PodGroupUnschedulable,
)
from scheduling.services.deciding import cycle_events
from tests.services.builders import RACK, gang, members, node, nodes_of, pod, stream, text


def test_the_whole_assignment_is_one_event() -> None:
    made = stream(node("a", cpu="1"), node("b", cpu="1"), gang("g", 2), *members("g", 2))
    (event,) = made.settle()
    assert isinstance(event, PodGroupPlaced)
    assert [(name, on) for _, name, on in event.assignments] == [("g-0", "a"), ("g-1", "b")]
    assert (event.domain, event.need, event.members, event.fits) == ("r1", 2, 2, 2)
    assert (event.enforced, event.topology_key, event.shapes) == (True, RACK, ((2, 2),))


def test_a_cycle_changes_no_state_by_itself() -> None:
    made = stream(node("a"), gang("g", 2), *members("g", 2))
    first = cycle_events(made.state, made.now_ms)
    assert cycle_events(made.state, made.now_ms + 99) == first
    assert nodes_of(made, "g") == {"g-0": "", "g-1": ""}


def test_groups_of_one_cycle_do_not_share_a_slot() -> None:
    made = stream(
        node("a", cpu="1"), gang("g1", 1), gang("g2", 1, priority=9), pod("g1-0", "g1"), pod("g2-0", "g2")
    )
    made.settle()
    assert (nodes_of(made, "g1"), nodes_of(made, "g2")) == ({"g1-0": ""}, {"g2-0": "a"})


def test_a_refusal_is_written_again_only_when_the_numbers_of_the_best_domain_change() -> None:
    made = stream(node("a", cpu="1"), node("b", "r2", cpu="2"), gang("g", 4), *members("g", 4))
    (event,) = made.settle()
    assert isinstance(event, PodGroupUnschedulable)
    assert (event.domain, event.fits, event.need, event.verdict) == ("r2", 2, 4, "proved_infeasible")
    assert event.table.domains == ("r2", "r1")
    assert dict(zip(event.table.domains, event.table.fits, strict=True)) == {"r2": 2, "r1": 1}
    codes = event.table.codes
    assert [codes[resource] for resource, _ in event.table.short_of[0]] == ["cpu"]
    assert made.settle() == []
    made.import_data(text(node("c", "r3", cpu="1")))
    assert made.settle() == []
    made.import_data(text(node("c", "r3", cpu="3")))
    (event,) = made.settle()
    assert isinstance(event, PodGroupUnschedulable) and (event.domain, event.fits) == ("r3", 3)


def test_a_refusal_is_told_with_the_room_that_is_left_after_the_cycle() -> None:
    made = stream(node("a", cpu="1"), gang("big", 2, priority=9), *members("big", 2))
    made.import_data(text(gang("small", 1), pod("small-0", "small")))
    placed, refused = cycle_events(made.state, made.now_ms)
    assert isinstance(placed, PodGroupPlaced) and placed.name == "small"
    assert isinstance(refused, PodGroupUnschedulable) and (refused.name, refused.fits) == ("big", 0)


def test_members_beyond_min_count_without_room_are_told_in_the_same_cycle() -> None:
    made = stream(node("a", cpu="2"), gang("g", 1), *members("g", 3))
    placed, left = cycle_events(made.state, made.now_ms)
    assert isinstance(placed, PodGroupPlaced) and placed.fits == 2
    assert isinstance(left, PodGroupUnschedulable) and left.reason == "sticky_domain"


def test_held_and_contradictory_groups_are_said_once() -> None:
    made = stream(node("a"), node("b", "r2"), gang("few", 3), *members("few", 2), pod("lone-0", "lone"))
    events = made.settle()
    assert {(event.name, event.reason) for event in events if isinstance(event, PodGroupHeld)} == {
        ("few", "not_enough_pods"),
        ("lone", "no_podgroup"),
    }
    made.import_data(text(gang("c", 2), pod("c-0", "c", on="a"), pod("c-1", "c", on="b"), pod("c-2", "c")))
    (event,) = made.settle()
    assert isinstance(event, PodGroupConflicted) and event.domains == ("r1", "r2")


def test_an_observed_cluster_gets_forecasts_and_no_binding() -> None:
    made = stream(node("a", cpu="1"), node("b", "r2", cpu="1"), gang("g1", 1), gang("g2", 1), mode="observed")
    made.import_data(text(pod("g1-0", "g1"), pod("g2-0", "g2")))
    events = made.settle()
    assert {event.domain for event in events if isinstance(event, PlacementForecast)} == {"r1", "r2"}
    assert (nodes_of(made, "g1"), nodes_of(made, "g2")) == ({"g1-0": ""}, {"g2-0": ""})
    assert made.settle() == []


def test_with_the_gate_off_a_constrained_group_is_placed_as_a_plain_gang_and_says_so() -> None:
    made = stream(node("a", cpu="1"), node("b", "r2", cpu="1"), gang("g", 2), *members("g", 2))
    made.commit([FeatureGateChanged("TopologyAwareWorkloadScheduling", False)])
    (event,) = made.settle()
    assert isinstance(event, PodGroupPlaced) and not event.enforced
    assert nodes_of(made, "g") == {"g-0": "a", "g-1": "b"}


def test_pods_without_a_group_are_left_where_the_facts_put_them() -> None:
    made = stream(node("a"), pod("alone"))
    assert made.settle() == []


@given(st.permutations(range(6)))
def test_the_order_of_the_input_does_not_change_what_is_decided(order: list[int]) -> None:
    objects = [node("a"), node("b", "r2"), node("c", "r3"), gang("g", 1), gang("h", 1), pod("h-0", "h")]
    made = stream(*(objects[i] for i in order), pod("g-0", "g"))
    usual = stream(*objects, pod("g-0", "g"))
    made.settle()
    usual.settle()
    assert nodes_of(made, "g") == nodes_of(usual, "g")
    assert nodes_of(made, "h") == nodes_of(usual, "h")
