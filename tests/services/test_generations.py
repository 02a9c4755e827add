"""A new generation takes the place of an open one, which is closed and never edited."""

from __future__ import annotations

import pytest

from scheduling.engine.waiting import held_to
from scheduling.ledger.events import PodAdded, PodGroupClosed, PodGroupCreated, PodGroupPlaced, PodRemoved
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.generations import (
    NextGeneration,
    forecast,
    next_generation,
    next_generation_events,
    proposals,
)
from scheduling.services.problems import Refused
from scheduling.services.submitting import MemberTemplate, submission
from tests.services.builders import RACK, ZONE, form, gang, members, node, nodes_of, stream, tend
from tests.services.test_sticky_waits import lose, recreated, running

G = "default/g"


def sticky() -> MemoryStream:
    made = running()
    recreated(made)
    tend(made)
    return made


def opened(made: MemoryStream, wanted: NextGeneration) -> PodGroupCreated:
    made.commit(next_generation_events(made.state, G, wanted, made.now_ms))
    return [event for event in made.events if isinstance(event, PodGroupCreated)][-1]


def faults(made: MemoryStream, wanted: NextGeneration) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as refused:
        next_generation_events(made.state, G, wanted, made.now_ms)
    return [(problem.path, problem.reason) for problem in refused.value.problems]


def test_asked_twice_on_the_same_generation_one_is_opened() -> None:
    made = sticky()
    wanted = NextGeneration(checkpoint="s3://ckpt/g/900", generation=1)
    assert opened(made, wanted).group.generation == 2
    with pytest.raises(Refused) as refused:
        next_generation_events(made.state, G, wanted, made.now_ms)
    (problem,) = refused.value.problems
    assert (problem.path, problem.reason) == ("generation", "Conflict")
    assert problem.message == "generation 1 is not the open one, which is generation 2"
    assert faults(made, NextGeneration(generation=3)) == [("generation", "Conflict")]
    assert opened(made, NextGeneration(generation=2)).group.generation == 3


def test_restored_elsewhere_the_members_begin_anew_from_the_checkpoint() -> None:
    made = sticky()
    old = made.state.groups[G]
    was = {pod.uid for pod in made.state.members(G)}
    before = made.state.seq
    created = opened(made, NextGeneration(checkpoint="s3://ckpt/g/900"))
    kinds = [type(event) for event in made.events[before:]]
    assert kinds == [PodRemoved, PodRemoved, PodGroupClosed, PodGroupCreated, PodAdded, PodAdded]
    assert (created.why, created.checkpoint) == ("restored", "s3://ckpt/g/900")
    assert (created.group.generation, created.group.supersedes) == (2, old.uid)
    assert (created.group.topology_key, created.group.min_count) == (RACK, 2)
    assert was.isdisjoint(pod.uid for pod in made.state.members(G))
    made.settle()
    assert {made.state.nodes[name].label(RACK) for name in nodes_of(made, "g").values()} == {"r2"}
    assert [event.how for event in tend(made)] == ["closed"]


def test_the_old_generation_is_closed_as_superseded_and_stays_as_it_was() -> None:
    made = sticky()
    old = made.state.groups[G]
    opened(made, NextGeneration(topology_key=""))
    closed = [event for event in made.events if isinstance(event, PodGroupClosed)]
    assert closed == [PodGroupClosed("default", "g", old.uid, 1, "superseded")]
    first = next(event.group for event in made.events if isinstance(event, PodGroupCreated))
    assert first == old


def test_without_a_constraint_the_law_holds_for_the_next_generation_no_more() -> None:
    made = sticky()
    created = opened(made, NextGeneration(topology_key=""))
    assert (created.why, created.group.topology_key) == ("constraint", "")
    made.settle()
    placed = [event for event in made.events if isinstance(event, PodGroupPlaced)][-1]
    assert not placed.enforced and len(placed.assignments) == 2


def test_mincount_is_lowered_only_where_the_group_is_elastic() -> None:
    made = sticky()
    assert faults(made, NextGeneration(min_count=1)) == [("min_count", "FieldValueForbidden")]
    created = opened(made, NextGeneration(min_count=1, elastic=True))
    assert (created.why, created.group.min_count, created.group.elastic) == ("elastic", 1, True)
    made.settle()
    again = opened(made, NextGeneration(min_count=2))  # raised: no mark is needed for that
    assert again.group.elastic and again.group.min_count == 2


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        (NextGeneration(min_count=0, elastic=True), "min_count"),
        (NextGeneration(min_count=3), "min_count"),
        (NextGeneration(topology_key="no/such/key"), "topology_key"),
        (NextGeneration(topology_key="topology.node.k8s.io/numa"), "topology_key"),
        (NextGeneration(checkpoint="x" * 1_025), "checkpoint"),
    ],
)
def test_refusals_name_the_field_and_store_nothing(wanted: NextGeneration, path: str) -> None:
    made = sticky()
    assert [field for field, _ in faults(made, wanted)] == [path]


def test_topology_spread_of_the_members_that_leaves_no_domain_is_refused_as_at_submission() -> None:
    """A rack as domain and one member a rack at most; beside zones, which the same members fit."""
    nodes = [node(f"n{rack}{n}", f"r{rack}", zone="z", cpu="8") for rack in (1, 2) for n in (1, 2)]
    hard = {"topologyKey": RACK, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    made = stream(*nodes)
    template = MemberTemplate("", 4, {"cpu": "1"}, spread=(hard,))
    wanted = form(count=4, topology_key=ZONE, templates=(template,))
    made.commit(submission(made.state, wanted, 0).events)
    with pytest.raises(Refused) as refused:
        next_generation_events(made.state, G, NextGeneration(topology_key=RACK), made.now_ms)
    (problem,) = refused.value.problems
    assert (problem.kind, problem.name, problem.path) == ("PodGroup", "g", "topology_key")
    assert problem.message == (
        f"members that can come into r1, r2: at most 1 of 4; maxSkew is 1 over {RACK}, of whose domains, 2, "
        "r1 holds the fewest pods that match, 0"
    )
    assert opened(made, NextGeneration()).group.topology_key == ZONE
    assert next_generation(made.state, G, NextGeneration(), made.now_ms).notices == ()


def test_a_preference_that_is_not_looked_at_is_told() -> None:
    soft = {"topologyKey": RACK, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    made = stream(node("a"), node("b"))
    template = MemberTemplate("", 2, {"cpu": "1"}, spread=(soft,))
    made.commit(submission(made.state, form(templates=(template,)), 0).events)
    (notice,) = next_generation(made.state, G, NextGeneration(), made.now_ms).notices
    assert notice.message == f"ScheduleAnyway over {RACK} is a preference: it is not looked at here"


def test_a_generation_opened_after_a_lost_domain_says_so() -> None:
    made = running()
    lose(made)
    held = held_to(made.state, G)
    assert held is not None and held.reason == "domain_lost"
    created = opened(made, NextGeneration())
    assert created.why == "domain_lost"
    made.settle()
    assert set(nodes_of(made, "g").values()) <= {"c", "d"}


def test_only_the_cluster_itself_can_do_it_when_it_is_observed() -> None:
    made = stream(node("a", cpu="1"), gang("g", 2), *members("g", 2), mode="observed")
    assert faults(made, NextGeneration()) == [("mode", "FieldValueForbidden")]


def test_the_forecast_is_what_then_happens_and_changes_nothing() -> None:
    made = sticky()
    seq, pods = made.state.seq, list(made.state.pods)
    told = forecast(made.state, G, NextGeneration(checkpoint="c"), made.now_ms)
    assert (made.state.seq, list(made.state.pods)) == (seq, pods)
    assert told.decision.placed and told.decision.domain == "r2" and told.bound == 1 and told.fewer == 0
    opened(made, NextGeneration(checkpoint="c"))
    made.settle()
    named = dict(told.decision.assignments)
    assert {pod.uid: pod.node for pod in made.state.members(G)} == named


def test_proposals_are_those_that_would_be_placed_at_once() -> None:
    made = running()
    lose(made)
    assert [each.wanted for each in proposals(made.state, G, made.now_ms)] == [
        NextGeneration(),
        NextGeneration(topology_key=""),
    ]


def test_an_elastic_group_is_proposed_the_largest_mincount_that_a_domain_takes() -> None:
    elastic = gang("g", 4)
    elastic["metadata"]["annotations"] = {"tas-console/elastic": "true"}
    made = stream(node("a", cpu="3"), node("c", "r2", cpu="2"), elastic, *members("g", 4))
    made.settle()
    (fewer, unbound) = proposals(made.state, G, made.now_ms)
    assert fewer.wanted == NextGeneration(min_count=3) and fewer.fewer == 1
    assert unbound.wanted == NextGeneration(topology_key="")


def test_nothing_is_proposed_where_nothing_would_do() -> None:
    made = stream(node("a", cpu="1"), gang("g", 2), *members("g", 2))
    made.settle()
    assert proposals(made.state, G, made.now_ms) == ()
