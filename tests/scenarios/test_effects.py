"""What each step does at once, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.engine.growth import TYPE_LABEL
from scheduling.engine.model import Toleration
from scheduling.engine.roster import roster
from scheduling.ledger.events import (
    Event,
    FeatureGateChanged,
    NodeAdded,
    NodeRemoved,
    NodeUpdated,
    PodAdded,
    PodGroupClosed,
    PodGroupCreated,
    PodRemoved,
    PodUpdated,
    ReservationReleased,
)
from scheduling.scenarios import effects
from scheduling.scenarios.steps import STEPS
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.node_types import GrowthForm, NodeTypeForm, define_events
from scheduling.services.numa import NO_ZONES
from scheduling.services.problems import Refused
from scheduling.services.reserving import Wish, reserve_events
from tests.scenarios.builders import SMALL, G, racks, step, submit
from tests.services.builders import GPU, RACK, gang, members, node, nodes_of, pod, stream, text

R1 = {"key": RACK, "domain": "r1"}
R2 = {"key": RACK, "domain": "r2"}


def played(made: MemoryStream, name: str, /, **fields: Any) -> list[Event]:
    """The events of the step, which have happened then."""
    events = effects.events_of(made.state, step(name, **fields), made.now_ms)
    made.commit(events)
    return events


def problems(made: MemoryStream, name: str, /, **fields: Any) -> list[tuple[str, str, str]]:
    """(kind, path, reason) of what is refused."""
    with pytest.raises(Refused) as refused:
        effects.events_of(made.state, step(name, **fields), made.now_ms)
    return [(problem.kind, problem.path, problem.reason) for problem in refused.value.problems]


def kinds(events: list[Event]) -> list[type[Event]]:
    return [type(event) for event in events]


def test_every_step_has_an_effect() -> None:
    assert {
        kind for kind in STEPS if effects._events.dispatch(kind) is effects._events.dispatch(object)
    } == set()


def test_a_submitted_group_has_the_members_of_its_templates() -> None:
    made = racks()
    events = effects.events_of(made.state, submit(), made.now_ms)
    assert kinds(events) == [PodGroupCreated, PodAdded, PodAdded]
    made.commit(events)
    assert made.state.groups["default/new"].topology_key == RACK
    assert [dict(member.shape.requests)[GPU] for member in made.state.members("default/new")] == [2, 2]


def test_a_submission_is_refused_at_the_field_of_the_step() -> None:
    made = racks()
    bad = [{"count": 2, "requests": {"cpu": "much"}}]
    with pytest.raises(Refused) as refused:
        effects.events_of(made.state, submit(templates=bad), made.now_ms)
    assert [problem.path for problem in refused.value.problems] == ["templates[0].requests.cpu"]
    numbered = effects.numbered(refused.value, 3)
    assert [problem.path for problem in numbered.problems] == ["steps[3].templates[0].requests.cpu"]


def test_a_manifest_holds_several_groups_and_names_what_is_wrong_in_it() -> None:
    made = racks()
    manifest = text(gang("a", 1), *members("a", 1), gang("b", 1), *members("b", 1)).decode()
    assert kinds(played(made, "submit_manifest", manifest=manifest)).count(PodGroupCreated) == 2
    bad = text(pod("lonely")).decode()
    with pytest.raises(Refused) as refused:
        played(made, "submit_manifest", manifest=bad)
    (problem,) = refused.value.problems
    assert (problem.kind, problem.name, problem.path) == ("Pod", "lonely", "manifest")
    assert problem.message.startswith("spec.schedulingGroup.podGroupName: ")


def test_a_lost_node_takes_its_pods_with_it_and_members_are_made_anew() -> None:
    made = racks(pod("alone", on="n0"))
    here = nodes_of(made, "g")
    on_n0 = [name for name, where in here.items() if where == "n0"]
    events = played(made, "lose_nodes", node="n0")
    removed = [event for event in events if isinstance(event, PodRemoved)]
    assert {event.reason for event in removed} == {"node_lost"}
    assert sorted(event.name for event in removed) == sorted(["alone", *on_n0])
    added = [event for event in events if isinstance(event, PodAdded)]
    assert [event.pod.name for event in added] == on_n0
    assert all(event.pod.node == "" and event.replaces for event in added)
    assert isinstance(events[-1], NodeRemoved)
    assert "n0" not in made.state.nodes


def test_a_whole_domain_is_lost_node_by_node() -> None:
    made = racks()
    events = played(made, "lose_nodes", **R1)
    assert [event.name for event in events if isinstance(event, NodeRemoved)] == ["n0", "n1"]
    assert problems(made, "lose_nodes", **R1) == [("Domain", "domain", "NotFound")]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("lose_nodes", {}),
        ("cordon", {}),
        ("uncordon", {}),
        ("set_ready", {"ready": False}),
        ("set_label", {"label": "a", "value": "b"}),
        ("remove_label", {"label": "a"}),
        ("change_gpu", {"product": "B200"}),
    ],
)
def test_nodes_that_are_not_there_are_refused(name: str, fields: dict[str, Any]) -> None:
    made = racks()
    assert problems(made, name, node="n9", **fields) == [("Node", "node", "NotFound")]
    assert problems(made, name, key=RACK, domain="r9", **fields) == [("Domain", "domain", "NotFound")]
    numa = {"key": "topology.node.k8s.io/numa", "domain": "n0/0"}
    assert problems(made, name, **numa, **fields) == [("Domain", "key", "FieldValueForbidden")]


def test_cordons_come_and_go_and_say_nothing_twice() -> None:
    made = racks()
    assert [event.name for event in played(made, "cordon", **R1)] == ["n0", "n1"]  # type: ignore[attr-defined]
    assert played(made, "cordon", node="n0") == []
    assert kinds(played(made, "uncordon", node="n0")) == [NodeUpdated]
    assert not made.state.nodes["n0"].unschedulable


def test_nodes_become_ready_without_the_taints_that_said_they_were_not() -> None:
    away = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
    made = stream(node("n0", ready=False, taints=[away]))
    played(made, "set_ready", node="n0", ready=True)
    assert (made.state.nodes["n0"].ready, made.state.nodes["n0"].taints) == (True, ())
    played(made, "set_ready", node="n0", ready=False)
    assert not made.state.nodes["n0"].ready


def test_labels_are_set_and_removed() -> None:
    made = racks()
    played(made, "set_label", node="n0", label=RACK, value="r9")
    assert made.state.nodes["n0"].label(RACK) == "r9"
    played(made, "remove_label", key=RACK, domain="r2", label=RACK)
    assert [made.state.nodes[name].label(RACK) for name in ("n2", "n3")] == [None, None]
    assert problems(made, "remove_label", node="n2", label=RACK) == [("Node", "label", "NotFound")]
    assert problems(made, "set_label", node="n2", label="a b", value="c") == [
        ("Node", "label", "FieldValueInvalid")
    ]
    assert problems(made, "set_label", node="n2", label="a", value="b c") == [
        ("Node", "value", "FieldValueInvalid")
    ]


def test_nodes_of_a_type_join_the_domain() -> None:
    made = racks()
    form = NodeTypeForm(
        "big", like="n0", allocatable={"cpu": "64", GPU: "8"}, growth=(GrowthForm(RACK, "r3", 4),)
    )
    made.commit(define_events(made.state, form))
    events = played(made, "add_nodes", count=2, type="big", key=RACK, domain="r3")
    assert [event.node.name for event in events if isinstance(event, NodeAdded)] == ["big-r3-1", "big-r3-2"]
    assert made.state.nodes["big-r3-1"].label(TYPE_LABEL) == "big"
    assert problems(made, "add_nodes", count=1, type="big") == [("NodeType", "key", "FieldValueRequired")]
    assert problems(made, "add_nodes", count=1, type="none", key=RACK) == [("NodeType", "type", "NotFound")]


def test_nodes_like_another_are_empty_ready_and_not_cordoned() -> None:
    made = racks()
    played(made, "cordon", node="n0")
    events = played(made, "add_nodes", count=2, like="n0", key=RACK, domain="r7")
    names = [event.node.name for event in events if isinstance(event, NodeAdded)]
    assert names == ["n0-new-1", "n0-new-2"]
    for name in names:
        new = made.state.nodes[name]
        assert (new.label(RACK), new.label("kubernetes.io/hostname"), new.unschedulable) == (
            "r7",
            name,
            False,
        )
        assert made.state.pods_on(name) == []
    assert len({event.node.uid for event in events if isinstance(event, NodeAdded)}) == 2
    assert problems(made, "add_nodes", count=1, like="n9") == [("Node", "like", "NotFound")]
    assert problems(made, "add_nodes", count=1, like="n0", domain="r7") == [
        ("Node", "key", "FieldValueRequired")
    ]


def test_a_node_gets_another_gpu() -> None:
    made = racks()
    played(made, "change_gpu", **R1, product="B200", gpus=2)
    changed = made.state.nodes["n0"]
    assert (changed.label("nvidia.com/gpu.product"), dict(changed.allocatable)[GPU]) == ("B200", 2)
    played(made, "change_gpu", node="n2", product="B200")
    assert dict(made.state.nodes["n2"].allocatable)[GPU] == 4
    bare = stream(node("n0"))
    assert problems(bare, "change_gpu", node="n0", product="B200") == [("Node", "node", "FieldValueInvalid")]
    assert problems(bare, "change_gpu", node="n0", product="B200", gpus=2) == [
        ("Node", "gpus", "FieldValueInvalid")
    ]


def test_a_member_is_recreated_by_its_name_or_the_first_ones() -> None:
    made = racks()
    old = {member.name: member.uid for member in made.state.members(G)}
    events = played(made, "recreate_members", group=G, pod="g-1")
    assert kinds(events) == [PodRemoved, PodAdded]
    assert isinstance(events[1], PodAdded) and events[1].replaces == old["g-1"]
    assert len(roster(made.state, G).bound) == 1
    assert problems(made, "recreate_members", group=G, pod="g-1") == [("PodGroup", "pod", "NotFound")]
    assert problems(made, "recreate_members", group=G, count=2) == [
        ("PodGroup", "count", "FieldValueInvalid")
    ]


def test_another_min_count_is_a_new_generation() -> None:
    made = racks()
    events = played(made, "change_min_count", group=G, min_count=1)
    assert kinds(events) == [PodRemoved, PodRemoved, PodGroupClosed, PodGroupCreated, PodAdded, PodAdded]
    group = made.state.groups[G]
    assert (group.generation, group.min_count, group.elastic) == (2, 1, True)
    assert problems(made, "change_min_count", group=G, min_count=9) == [
        ("PodGroup", "min_count", "FieldValueInvalid")
    ]


def test_a_group_ends() -> None:
    made = racks()
    assert kinds(played(made, "end_group", group=G)) == [PodRemoved, PodRemoved, PodGroupClosed]
    for name in ("end_group", "recreate_members", "ungate", "add_members"):
        assert problems(made, name, group=G) == [("PodGroup", "group", "NotFound")]
    assert problems(made, "change_min_count", group=G, min_count=1) == [("PodGroup", "group", "NotFound")]
    assert problems(made, "tolerate", group=G, key="a", effect="NoSchedule") == [
        ("PodGroup", "group", "NotFound")
    ]


def test_gates_that_the_console_knows_are_switched() -> None:
    made = racks()
    assert kinds(played(made, "switch_gate", gate="GangScheduling", enabled=False)) == [FeatureGateChanged]
    assert played(made, "switch_gate", gate="GangScheduling", enabled=False) == []
    assert problems(made, "switch_gate", gate="Nonsense", enabled=True) == [
        ("Cluster", "gate", "FieldValueInvalid")
    ]


def test_waiting_members_tolerate_a_taint() -> None:
    made = racks(gang("w", 3), *members("w", 3, gpu=4))
    events = played(made, "tolerate", group="default/w", key="dedicated", value="x", effect="NoSchedule")
    assert kinds(events) == [PodUpdated] * 3
    wanted = Toleration("dedicated", "Equal", "x", "NoSchedule")
    assert all(wanted in member.shape.eligibility.tolerations for member in made.state.members("default/w"))
    assert problems(made, "tolerate", group=G, key="a", effect="NoSchedule") == [
        ("PodGroup", "group", "FieldValueInvalid")
    ]


def test_gated_members_are_freed_of_their_gates() -> None:
    made = racks(gang("w", 1), *members("w", 2))
    assert problems(made, "ungate", group="default/w") == [("PodGroup", "count", "FieldValueInvalid")]
    held = [dict(one) for one in members("v", 2)]
    for one in held:
        one["spec"] = one["spec"] | {"schedulingGates": [{"name": "wait"}]}
    made.import_data(text(gang("v", 2), *held))
    assert kinds(played(made, "ungate", group="default/v", count=2)) == [PodUpdated] * 2
    assert len(roster(made.state, "default/v").waiting) == 2


def test_members_are_added_like_the_last_one() -> None:
    made = racks()
    events = played(made, "add_members", group=G, count=2)
    assert [event.pod.name for event in events if isinstance(event, PodAdded)] == ["g-1-new-1", "g-1-new-2"]
    assert [dict(member.shape.requests)[GPU] for member in made.state.members(G)] == [3, 3, 3, 3]
    assert len(roster(made.state, G).waiting) == 2


def test_a_reservation_is_released() -> None:
    made = racks()
    wish = Wish(RACK, "r2", "namespace", "other", nodes=1)
    made.commit(reserve_events(made.state, wish, made.now_ms))
    (name,) = [event.reservation.name for event in made.events[-1:]]  # type: ignore[attr-defined]
    assert kinds(played(made, "release_reservation", name=name)) == [ReservationReleased]
    assert problems(made, "release_reservation", name=name) == [("Reservation", "name", "NotFound")]


def test_time_alone_does_nothing_at_once() -> None:
    assert played(racks(), "advance_clock", seconds=60) == []


def test_nothing_is_played_on_an_observed_cluster() -> None:
    made = stream(node("n0"), mode="observed")
    assert problems(made, "cordon", node="n0") == [("Cluster", "mode", "FieldValueForbidden")]


def test_what_submissions_refuse_by_the_state_is_refused_here() -> None:
    made = racks()
    with pytest.raises(Refused) as refused:
        effects.events_of(made.state, submit(topology_key="topology.node.k8s.io/numa"), made.now_ms)
    assert [(one.path, one.message) for one in refused.value.problems] == [("topology_key", NO_ZONES)]
    with pytest.raises(Refused) as refused:
        effects.events_of(made.state, submit("g", templates=SMALL), made.now_ms)
    assert [one.path for one in refused.value.problems] == ["name"]
