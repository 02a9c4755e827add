"""A domain that is gone with all members of a group: it is recorded, and nothing is placed elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.engine.change_steps import NewGeneration
from scheduling.engine.changes import change_sets
from scheduling.engine.decide import decide
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.requeue import Changes
from scheduling.engine.state import ClusterState
from scheduling.engine.version import ENGINE
from scheduling.ledger import fold
from scheduling.ledger.events import DomainLost, Event, PodGroupConflicted, PodGroupPlaced
from scheduling.ledger.store import GENESIS, Recorded
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.members import delete_member_events, end_group_events
from scheduling.services.submitting import submit_events
from scheduling.services.waking import changes_of
from tests.services.builders import RACK, form, gang, members, node, nodes_of, stream, text

G = "default/g"
NODES = frozenset({"Node"})
A, B, C = node("a", cpu="2"), node("b", cpu="2"), node("c", "r2")


def running() -> MemoryStream:
    """Four members on a and b, the nodes of r1; r2 is free, and has room for all of them."""
    made = stream(A, B, node("c", "r2", unschedulable=True))
    made.import_data(text(gang("g", 4), *members("g", 4)))
    made.settle()
    assert set(nodes_of(made, "g").values()) == {"a", "b"}
    made.import_data(text(C))
    made.settle()
    return made


def lose(made: MemoryStream, *left: Any) -> list[Event]:
    made.import_data(text(*left), NODES)
    return made.settle()


def losses(made: MemoryStream) -> list[DomainLost]:
    return [event for event in made.events if isinstance(event, DomainLost)]


def test_the_loss_of_the_whole_domain_is_written_before_the_decision_and_nothing_is_placed_elsewhere() -> (
    None
):
    made = running()
    lost, conflicted = lose(made, C)
    uid = made.state.groups[G].uid
    on = made.state.seq - 2
    assert lost == DomainLost("default", "g", uid, 1, RACK, "r1", ("a", "b"), ENGINE, on)
    assert isinstance(conflicted, PodGroupConflicted)
    assert (conflicted.reason, conflicted.nodes, conflicted.bound, conflicted.members) == (
        "domain_lost", ("a", "b"), 0, 4,
    )  # fmt: skip
    assert made.state.lost[G].seq == made.state.seq - 1
    assert set(nodes_of(made, "g").values()) == {""}
    assert made.settle() == []


def test_kube_scheduler_would_place_the_group_elsewhere() -> None:
    """Once no member is bound nothing pins it there: that it waits for a new generation is our law."""
    made = running()
    lose(made, C)
    ours, theirs = (decide(made.state, G, profile=profile) for profile in ("exact", "upstream-1.36"))
    assert (ours.verdict, ours.reason) == (Verdict.CONFLICTED, Reason.DOMAIN_LOST)
    assert (theirs.verdict, theirs.domain) == (Verdict.PLACED, "r2")


def test_a_domain_with_a_node_left_is_not_lost() -> None:
    made = running()
    events = lose(made, node("b", cpu="4"), C)
    assert [type(event) for event in events] == [PodGroupPlaced]
    assert set(nodes_of(made, "g").values()) == {"b"} and made.state.homes == {}


def test_nodes_that_go_one_after_another_lose_it_with_the_last_one() -> None:
    made = running()
    lose(made, B, C)
    assert losses(made) == []
    lose(made, C)
    assert [(event.domain, event.nodes) for event in losses(made)] == [("r1", ("a", "b"))]


def test_a_group_that_was_free_to_go_anywhere_does_not_lose_what_it_left() -> None:
    made = stream(A, B, gang("g", 2), *members("g", 2))
    made.settle()
    (home,) = set(nodes_of(made, "g").values())
    other = node("b" if home == "a" else "a", cpu="1")
    lose(made, other)  # r1 is there still, without room: the group was looked for everywhere
    assert made.state.verdicts[G].reason != Reason.DOMAIN_LOST
    lose(made, C)
    assert losses(made) == [] and set(nodes_of(made, "g").values()) == {"c"}


def test_members_that_a_person_deleted_free_the_domain() -> None:
    made = running()
    for pod in made.state.members(G):
        made.commit(delete_member_events(made.state, pod.uid, made.now_ms))
    lose(made, C)
    assert losses(made) == [] and set(nodes_of(made, "g").values()) == {"c"}


def test_an_open_loss_outlives_members_that_are_deleted() -> None:
    """In an observed cluster pods stay on a node that is gone, until they go too."""
    made = stream(A, C, gang("g", 1), *members("g", 1, on="a"), mode="observed")
    made.import_data(text(C), NODES)
    lost, conflicted = made.settle()
    assert isinstance(lost, DomainLost) and isinstance(conflicted, PodGroupConflicted)
    made.import_data(text(*members("g", 1, uid="another")), frozenset({"Pod"}))
    made.settle()
    decision = decide(made.state, G)
    assert (decision.reason, decision.bound, decision.conflict_nodes) == (Reason.DOMAIN_LOST, 0, ("a",))
    assert len(losses(made)) == 1


def test_relabelled_nodes_lose_the_domain_only_when_they_tell_no_other() -> None:
    made = stream(A, C, gang("g", 1), *members("g", 1, on="a"))
    made.import_data(text(node("a", "r3", cpu="2")))
    made.settle()
    assert losses(made) == [] and decide(made.state, G).placed
    made.import_data(text(node("a", None, cpu="2")))
    made.settle()
    assert [event.domain for event in losses(made)] == ["r3"]
    made.import_data(text(node("a", "r4", cpu="2")))
    made.settle()
    assert decide(made.state, G).placed, "the facts tell a domain again"
    assert len(losses(made)) == 1


def test_it_ends_when_a_node_carries_the_value_again_and_that_wakes_the_group() -> None:
    made = running()
    lose(made, C)
    since = made.state.seq
    made.import_data(text(A, B))
    told = [
        change
        for seq, event in enumerate(made.events[since:], since + 1)
        for change in changes_of(made.state, recorded(seq, event))
    ]
    assert Changes(made.state, told).of_group(G, since) == since + 1
    written = made.settle()
    assert [type(event) for event in written] == [PodGroupPlaced]
    assert (made.state.homes, made.state.lost) == ({}, {})


def test_a_node_outside_of_the_domain_wakes_nobody() -> None:
    made = running()
    lose(made, C)
    since = made.state.seq
    made.import_data(text(node("d", "r2")))
    told = [
        change
        for seq, event in enumerate(made.events[since:], since + 1)
        for change in changes_of(made.state, recorded(seq, event))
    ]
    assert Changes(made.state, told).of_group(G, since) is None
    assert made.settle() == []


def test_the_last_node_of_a_domain_wakes_the_group_though_no_member_is_on_it() -> None:
    made = stream(A, B, C, gang("g", 1), *members("g", 1, on="a"), mode="observed")
    made.import_data(text(B, C), NODES)
    made.settle()
    assert losses(made) == []
    since = made.state.seq
    made.import_data(text(C), NODES)
    removed = recorded(since + 1, made.events[since])
    assert Changes(made.state, changes_of(made.state, removed)).of_group(G, since) == since + 1
    made.settle()
    assert [event.domain for event in losses(made)] == ["r1"]


def test_a_loss_after_it_came_back_is_another_one() -> None:
    made = running()
    lose(made, C)
    made.import_data(text(A, B))
    made.settle()
    where = set(nodes_of(made, "g").values())
    lose(made, *([C] if where == {"a", "b"} else [A, B]))
    assert len(losses(made)) == 2 and decide(made.state, G).reason == Reason.DOMAIN_LOST


def test_a_new_generation_is_free_to_go_elsewhere() -> None:
    made = running()
    lose(made, C)
    (found, *_) = change_sets(made.state, G)
    assert found.steps == (NewGeneration(4, 4, 0),)
    made.commit(end_group_events(made.state, G))
    assert made.state.lost == {}
    made.commit(submit_events(made.state, form("g", 4), made.now_ms))
    made.settle()
    assert made.state.groups[G].generation == 2
    assert set(nodes_of(made, "g").values()) == {"c"}


@pytest.mark.parametrize("key", ["", RACK])
def test_without_the_law_there_is_no_domain_to_lose(key: str) -> None:
    made = MemoryStream(gates={} if key else None)
    made.import_data(text(A, gang("g", 2, key=key), *members("g", 2)))
    made.settle()
    lose(made, C)
    assert losses(made) == [] and set(nodes_of(made, "g").values()) == {"c"}


def test_the_log_tells_it_all_again() -> None:
    made = running()
    lose(made, C)
    state = ClusterState()
    for seq, event in enumerate(made.events, 1):
        fold.apply(state, event, seq)
    assert (state.homes, state.lost) == (made.state.homes, made.state.lost)
    fork = state.fork()
    fork.free_domain(G)
    assert state.lost[G].domain == "r1"


def recorded(seq: int, event: Event) -> Recorded:
    return Recorded(1, seq, event, "t", "t", None, 0, 0, GENESIS, GENESIS)
