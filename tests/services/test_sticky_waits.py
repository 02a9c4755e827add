"""A group that is held to its domain has a wait of its own, from the decision that says so to its end."""

from __future__ import annotations

from scheduling.engine.waiting import Occupant, held_to, occupants, waits_since
from scheduling.engine.waits import StickyWait
from scheduling.ledger.events import StickyWaitEnded, StickyWaitStarted
from scheduling.services.conformance.stream import START_MS, MemoryStream
from scheduling.services.importing import ImportPlan
from scheduling.services.members import delete_member_events, end_group_events
from scheduling.services.switching import cordon_events, gate_events
from tests.services.builders import RACK, gang, members, node, nodes_of, pod, stream, tend, text

G = "default/g"


def running(*more: object) -> MemoryStream:
    """Two members that fill a and b, the nodes of r1; r2 joins afterwards and has room for all."""
    made = stream(node("a", cpu="1"), node("b", cpu="1"), gang("g", 2), *members("g", 2), *more)
    made.settle()
    made.import_data(text(node("c", "r2"), node("d", "r2")))
    made.settle()
    assert set(nodes_of(made, "g").values()) == {"a", "b"}
    assert tend(made) == []
    return made


def recreated(made: MemoryStream) -> str:
    """The node of a member is cordoned and the member made again: it waits. The name of its old node."""
    member = made.state.members(G)[0]
    made.commit(cordon_events(made.state, member.node, True))
    made.commit(delete_member_events(made.state, member.uid, made.now_ms))
    made.settle()
    return member.node


def waits(made: MemoryStream) -> dict[str, StickyWait]:
    return dict(made.state.records.of(StickyWait))


def test_a_member_that_is_made_again_without_room_begins_a_wait_for_its_domain() -> None:
    made = running()
    recreated(made)
    uid = made.state.groups[G].uid
    assert tend(made, 700) == [
        StickyWaitStarted(
            "default", "g", uid, 1, RACK, "r1", "sticky_domain", need=2, bound=1, since=START_MS
        )
    ]
    assert waits(made) == {G: StickyWait(G, uid, RACK, "r1", START_MS, made.state.seq)}
    assert waits_since(made.state, G) == START_MS


def test_a_wait_that_goes_on_is_told_once() -> None:
    made = running()
    recreated(made)
    tend(made)
    made.import_data(text(node("e", "r2")))
    made.settle()
    assert tend(made, 60_000) == []


def test_room_in_the_domain_ends_it_as_placed() -> None:
    made = running()
    cordoned = recreated(made)
    tend(made)
    made.commit(cordon_events(made.state, cordoned, False))
    made.settle()
    uid = made.state.groups[G].uid
    assert tend(made) == [StickyWaitEnded("default", "g", uid, 1, RACK, "r1", "placed", START_MS)]
    assert waits(made) == {} and waits_since(made.state, G) is None


def test_the_end_of_the_group_ends_it_as_closed() -> None:
    made = running()
    recreated(made)
    tend(made)
    uid = made.state.groups[G].uid
    made.commit(end_group_events(made.state, G))
    assert tend(made) == [StickyWaitEnded("default", "g", uid, 1, RACK, "r1", "closed", START_MS)]


def test_a_group_that_loses_its_last_member_on_a_node_is_freed_and_goes_elsewhere() -> None:
    made = running()
    recreated(made)
    tend(made)
    left = next(member for member in made.state.members(G) if member.node)
    made.commit(delete_member_events(made.state, left.uid, made.now_ms))
    assert [event.how for event in tend(made) if isinstance(event, StickyWaitEnded)] == ["freed"]
    made.settle()
    assert {made.state.nodes[name].label(RACK) for name in nodes_of(made, "g").values()} == {"r2"}
    assert tend(made) == []


def test_a_gate_that_is_switched_off_frees_it_with_the_next_decision() -> None:
    made = running()
    recreated(made)
    tend(made)
    made.commit(gate_events(made.state, "GangScheduling", False))
    made.settle()
    assert [type(event) for event in tend(made)] == [StickyWaitEnded]
    assert waits(made) == {}


def test_members_beyond_mincount_have_a_wait_too_though_the_group_runs() -> None:
    made = running()
    made.import_data(text(pod("g-2", "g")))
    made.settle()
    (begun,) = tend(made)
    assert isinstance(begun, StickyWaitStarted) and (begun.bound, begun.need) == (2, 2)
    assert waits_since(made.state, G) is None  # it does not wait for minCount


def lose(made: MemoryStream) -> ImportPlan:
    plan = made.import_data(text(node("c", "r2"), node("d", "r2")), frozenset({"Node"}))
    made.settle()
    return plan


def test_a_lost_domain_is_waited_for_by_its_name_though_no_node_has_it_any_more() -> None:
    made = running()
    lose(made)
    (begun,) = tend(made)
    assert isinstance(begun, StickyWaitStarted)
    assert (begun.domain, begun.reason, begun.bound) == ("r1", "domain_lost", 0)
    held = held_to(made.state, G)
    assert held is not None and held.domain == "r1"


def test_a_group_that_never_ran_waits_for_no_domain_of_its_own() -> None:
    made = stream(node("a", cpu="1"), gang("g", 2), *members("g", 2))
    made.settle()
    assert tend(made) == [] and waits_since(made.state, G) == START_MS


def test_who_has_the_room_of_a_domain_is_told_most_gpus_first() -> None:
    made = stream(
        node("a", gpu=8),
        node("b", "r2", gpu=8),
        gang("small", 1, key=""),
        pod("small-0", "small", on="a", gpu=1),
        pod("small-1", "small", on="a", gpu=1),
        gang("large", 1, key=""),
        pod("large-0", "large", on="a", gpu=4),
        pod("alone", on="a"),
        gang("away", 1, key=""),
        pod("away-0", "away", on="b", gpu=8),
    )
    assert occupants(made.state, RACK, "r1") == (
        Occupant("default/large", 1, 4),
        Occupant("default/small", 2, 2),
        Occupant("", 1, 0),
    )
    assert occupants(made.state, RACK, "nowhere") == ()
