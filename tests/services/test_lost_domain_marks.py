"""An operator gives a domain up: nothing is placed there, and groups that were in it have lost it."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.engine.waits import MarkedLost
from scheduling.ledger.events import DomainLost, DomainMarkedLost, DomainMarkTakenBack, NodeUpdated
from scheduling.services.lost_domains import mark_events, take_back_events
from scheduling.services.members import delete_member_events
from scheduling.services.problems import Refused
from scheduling.services.submitting import submit_events
from scheduling.services.switching import cordon_events
from tests.services.builders import RACK, form, node, nodes_of, stream, tend, text
from tests.services.test_sticky_waits import running

G = "default/g"


def marked() -> Any:
    made = running()
    made.commit(mark_events(made.state, RACK, "r1"))
    made.settle()
    return made


def test_a_group_in_a_domain_that_is_marked_lost_has_lost_it_though_its_nodes_exist() -> None:
    made = marked()
    assert [event.domain for event in made.events if isinstance(event, DomainLost)] == ["r1"]
    verdict = made.state.verdicts[G]
    assert (verdict.verdict, verdict.reason) == ("conflicted", "domain_lost")
    assert {"a", "b"} <= set(made.state.nodes)
    assert tend(made) == []  # both members are on nodes: none waits
    member = made.state.members(G)[0]
    made.commit(delete_member_events(made.state, member.uid, made.now_ms))
    made.settle()
    (begun,) = tend(made)
    assert (begun.domain, begun.reason, begun.bound) == ("r1", "domain_lost", 1)


def test_nothing_is_placed_on_its_nodes_with_a_constraint_or_without() -> None:
    made = marked()
    for name, key in (("with", RACK), ("without", "")):
        made.commit(submit_events(made.state, form(name, 2, topology_key=key), made.now_ms))
        made.settle()
        assert set(nodes_of(made, name).values()) <= {"c", "d"}


def test_taken_back_everything_is_as_it_was() -> None:
    made = running()
    made.commit(cordon_events(made.state, "b", True))
    before = dict(made.state.nodes)
    made.commit(mark_events(made.state, RACK, "r1"))
    assert made.state.nodes["a"].unschedulable and made.state.nodes["a"].label(RACK) is None
    made.settle()
    made.commit(take_back_events(made.state, RACK, "r1"))
    assert dict(made.state.nodes) == before
    assert not made.state.records.of(MarkedLost)
    made.settle()
    assert made.state.verdicts.get(G) is None or made.state.verdicts[G].verdict != "conflicted"


def test_nodes_that_are_gone_or_were_moved_meanwhile_are_left_alone() -> None:
    made = marked()
    made.import_data(text(node("a", "r2", cpu="1"), node("c", "r2"), node("d", "r2")), frozenset({"Node"}))
    events = take_back_events(made.state, RACK, "r1")
    assert [type(event) for event in events] == [DomainMarkTakenBack]


def test_marked_again_it_takes_the_nodes_that_joined_since() -> None:
    made = marked()
    assert mark_events(made.state, RACK, "r1") == []
    made.import_data(text(node("e", "r1")))
    events = mark_events(made.state, RACK, "r1")
    assert [type(event) for event in events] == [DomainMarkedLost, NodeUpdated]
    made.commit(events)
    assert [name for name, _, _ in made.state.records.of(MarkedLost)[f"{RACK}=r1"].nodes] == ["a", "b", "e"]


@pytest.mark.parametrize(
    ("key", "domain", "path"),
    [(RACK, "r9", "domain"), ("topology.node.k8s.io/numa", "a/node-0", "topology_key")],
)
def test_what_cannot_be_marked_is_refused_by_its_field(key: str, domain: str, path: str) -> None:
    with pytest.raises(Refused) as refused:
        mark_events(running().state, key, domain)
    assert [problem.path for problem in refused.value.problems] == [path]


def test_what_is_not_marked_cannot_be_taken_back() -> None:
    with pytest.raises(Refused, match="not marked lost"):
        take_back_events(running().state, RACK, "r1")
    observed = stream(node("a"), mode="observed")
    for command in (mark_events, take_back_events):
        with pytest.raises(Refused, match="observed cluster"):
            command(observed.state, RACK, "r1")
