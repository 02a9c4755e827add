"""Bodies of events: what goes in comes out, and nothing else is let in."""

from dataclasses import fields, replace
from typing import Any

import orjson
import pytest
from hypothesis import given

from scheduling.engine.model import Node, Pod, PodGroup, PodTerm, Requirement, Shape
from scheduling.ledger import codec, events
from scheduling.ledger.codec import BadEvent, UnknownEvent
from scheduling.ledger.events import (
    CATALOGUE,
    Event,
    NodeUpdated,
    PodGroupUnschedulable,
    PodGroupUpdated,
    PodUpdated,
)
from scheduling.ledger.upcasters import UPCASTERS
from tests.ledger import examples


def test_every_type_of_the_catalogue_has_an_example_here() -> None:
    assert [type(event).__name__ for event in examples.EXAMPLES] == list(CATALOGUE)


def test_every_event_class_is_in_the_catalogue() -> None:
    declared = {
        name
        for name, thing in vars(events).items()
        if isinstance(thing, type) and issubclass(thing, Event) and thing is not Event
    }
    assert declared == set(CATALOGUE)


@pytest.mark.parametrize("event", examples.EXAMPLES, ids=lambda event: type(event).__name__)
def test_an_example_comes_back_as_it_was(event: Event) -> None:
    text = codec.encode(event)
    assert codec.decode(type(event).__name__, event.VERSION, text) == event


def test_every_older_version_of_every_type_has_an_upcaster_and_an_example_here() -> None:
    older = {(name, version) for name, kind in CATALOGUE.items() for version in range(1, kind.VERSION)}
    assert {(name, version) for name, steps in UPCASTERS.items() for version in steps} == older
    assert set(examples.OLDER) == older


@pytest.mark.parametrize("stored", examples.OLDER, ids=lambda stored: f"{stored[0]} {stored[1]}")
def test_a_body_of_an_older_version_is_read_as_the_event_it_meant(stored: tuple[str, int]) -> None:
    body, event = examples.OLDER[stored]
    assert codec.decode(*stored, body) == event


@given(examples.events())
def test_any_event_comes_back_as_it_was(event: Event) -> None:
    body = codec.to_body(event)
    assert codec.from_body(type(event).__name__, event.VERSION, body) == event
    assert codec.decode(type(event).__name__, event.VERSION, codec.encode(event)) == event


@given(examples.events())
def test_a_body_is_written_in_one_way_only(event: Event) -> None:
    text = codec.encode(event)
    assert codec.canonical(orjson.loads(text)).decode() == text


@given(examples.events())
def test_the_text_is_that_of_the_body(event: Event) -> None:
    assert codec.encode(event) == codec.canonical(codec.to_body(event)).decode()


@pytest.mark.parametrize("event", examples.EXAMPLES, ids=lambda event: type(event).__name__)
def test_a_value_of_another_type_is_refused_by_the_name_of_its_field(event: Event) -> None:
    for field in fields(event):
        wrong: Any = replace(event, **{field.name: 0.5})
        for written in (codec.to_body, codec.encode):
            with pytest.raises(BadEvent, match=rf"{type(event).__name__}\.{field.name}: "):
                written(wrong)


@pytest.mark.parametrize("event", examples.EXAMPLES, ids=lambda event: type(event).__name__)
def test_a_body_with_a_value_of_another_type_is_refused_by_the_name_of_its_field(event: Event) -> None:
    body = codec.to_body(event)
    for name in body:
        with pytest.raises(BadEvent, match=rf"{type(event).__name__} version {event.VERSION}\.{name}: "):
            codec.from_body(type(event).__name__, event.VERSION, {**body, name: 0.5})


def test_an_unknown_field_does_not_pass_for_one_that_is_left_out() -> None:
    body = codec.to_body(events.PodAdded(examples.POD))
    assert "labels" not in body["pod"]
    with pytest.raises(BadEvent, match=r"PodAdded version \d+\.pod\.color: unknown field"):
        codec.from_body("PodAdded", events.PodAdded.VERSION, {"pod": {**body["pod"], "color": "red"}})


def test_keys_are_sorted_and_without_white_space() -> None:
    assert codec.canonical({"b": [1, True, None], "a": "é"}) == '{"a":"é","b":[1,true,null]}'.encode()


@pytest.mark.parametrize("value", [{"a": 1.0}, {"a": [0, {"b": 0.5}]}, [float("nan")]])
def test_floats_have_no_place_in_the_log(value: Any) -> None:
    with pytest.raises(BadEvent, match="float"):
        codec.canonical(value)


def test_a_float_in_an_event_is_refused_by_the_name_of_its_field() -> None:
    shape = replace(examples.SHAPE, requests=(("cpu", 0.5),))  # type: ignore[arg-type]
    with pytest.raises(BadEvent, match=r"PodAdded\.pod\.shape\.requests\[0\]: 0\.5 is no int"):
        codec.to_body(events.PodAdded(replace(examples.POD, shape=shape)))


def test_an_integer_beyond_64_bits_is_refused() -> None:
    with pytest.raises(BadEvent, match="64-bit"):
        codec.encode(events.NodeAdded(Node("n", "u", allocatable=(("memory", 2**64),))))


def test_a_type_that_is_not_known_is_refused_with_a_sentence() -> None:
    with pytest.raises(UnknownEvent, match="'PodPraised', which this version of the console does not know"):
        codec.from_body("PodPraised", 1, {})


def test_a_newer_version_is_refused_with_a_sentence() -> None:
    with pytest.raises(UnknownEvent, match=r"NodeRemoved in version 2; .* knows it up to 1"):
        codec.from_body("NodeRemoved", 2, {"name": "n", "uid": "u"})


def test_an_event_that_is_not_in_the_catalogue_cannot_be_written() -> None:
    class PodPraised(Event):
        pass

    with pytest.raises(UnknownEvent, match="PodPraised is not in the catalogue"):
        codec.to_body(PodPraised())


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"name": "n"}, r"NodeRemoved version 1\.uid: missing"),
        ({"name": "n", "uid": "u", "color": "red"}, r"\.color: unknown field"),
        ({"name": "n", "uid": 7}, r"\.uid: 7 is no str"),
        ([], r"\[\] is no object"),
    ],
)
def test_a_body_of_another_form_is_refused(body: Any, problem: str) -> None:
    with pytest.raises(BadEvent, match=problem):
        codec.from_body("NodeRemoved", 1, body)


def test_a_boolean_is_no_integer() -> None:
    with pytest.raises(BadEvent, match="True is no int"):
        codec.from_body(
            "PodGroupClosed", 1, {"namespace": "a", "name": "b", "uid": "c", "generation": True, "reason": ""}
        )


def test_older_versions_are_brought_up_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events.NodeRemoved, "VERSION", 3)
    steps = {
        1: lambda body: {"node": body["name"], "uid": body["uid"]},  # version 2 called it node
        2: lambda body: {"name": body["node"], "uid": body["uid"].lower()},
    }
    event = codec.from_body("NodeRemoved", 1, {"name": "n", "uid": "U"}, {"NodeRemoved": steps})
    assert event == events.NodeRemoved("n", "u")
    with pytest.raises(UnknownEvent, match="no upcaster leads NodeRemoved from version 1 to 2"):
        codec.from_body("NodeRemoved", 1, {"name": "n", "uid": "U"}, {"NodeRemoved": {2: steps[2]}})


def test_an_update_holds_what_changed_and_nothing_else() -> None:
    event = NodeUpdated.between(examples.NODE, replace(examples.NODE, unschedulable=True, ready=False))
    assert event is not None
    assert codec.to_body(event) == {
        "name": "n1",
        "uid": "node-uid-1",
        "changes": {"ready": False, "unschedulable": True},
    }


def test_a_field_that_goes_back_to_its_default_is_in_the_update() -> None:
    cordoned = replace(examples.NODE, unschedulable=True)
    event = NodeUpdated.between(cordoned, examples.NODE)
    assert event is not None
    assert codec.to_body(event)["changes"] == {"unschedulable": False}


@given(examples.values(Node), examples.values(Node))
def test_an_update_turns_the_old_node_into_the_new_one(old: Node, new: Node) -> None:
    new = replace(new, name=old.name, uid=old.uid)
    event = NodeUpdated.between(old, new)
    if old == new:
        assert event is None
    else:
        assert event is not None
        again = codec.decode("NodeUpdated", 1, codec.encode(event))
        assert isinstance(again, NodeUpdated)
        assert again.changed(old) == new


def test_another_uid_is_another_object_and_no_update() -> None:
    with pytest.raises(ValueError, match="Node uid cannot change"):
        NodeUpdated.between(examples.NODE, replace(examples.NODE, uid="other"))
    with pytest.raises(ValueError, match="Pod uid cannot change"):
        PodUpdated.between(examples.POD, replace(examples.POD, uid="other"))
    with pytest.raises(ValueError, match="PodGroup generation cannot change"):
        PodGroupUpdated.between(examples.GROUP, replace(examples.GROUP, generation=2))


@pytest.mark.parametrize(
    ("event", "subject"),
    [
        (events.ClusterModeChanged("observed"), ("cluster", "", "")),
        (events.NodeAdded(examples.NODE), ("node", "", "n1")),
        (events.NodeRemoved("n1", "u"), ("node", "", "n1")),
        (events.PodAdded(Pod("ml", "p", "u", Shape(()))), ("pod", "ml", "p")),
        (events.PodRemoved("ml", "p", "u", "n1", "train", "deleted"), ("pod", "ml", "p")),
        (events.PodGroupCreated(PodGroup("ml", "g", "u")), ("podgroup", "ml", "g")),
        (events.PodGroupHeld("ml", "g", "", 0, "no_podgroup", 1, 1), ("podgroup", "ml", "g")),
    ],
)
def test_filters_find_an_event_by_the_object_it_is_about(event: Event, subject: tuple[str, str, str]) -> None:
    assert codec.subject(event) == subject


BEFORE_PAIRWISE = (
    '{"pod":{"created":1800000000000,"group":"train","name":"train-0","namespace":"ml","priority":5,"shape":'
    '{"eligibility":{"node_selector":[["zone","z1"]]},"requests":[["cpu",8000],["pods",1]],'
    '"unmodelled":["hostPorts","podAntiAffinity"]},"uid":"pod-uid-0"}}'
)
"""A body as it was stored before pod terms and host ports were part of a shape."""


def test_a_shape_stored_before_terms_and_ports_reads_the_same_and_is_written_the_same() -> None:
    event = codec.decode("PodAdded", 1, BEFORE_PAIRWISE)
    assert isinstance(event, events.PodAdded)
    shape = event.pod.shape
    assert (shape.host_ports, shape.pod_affinity, shape.pod_anti_affinity) == ((), (), ())
    assert shape.unmodelled == ("hostPorts", "podAntiAffinity")
    assert codec.encode(event) == BEFORE_PAIRWISE


def test_terms_and_ports_of_a_shape_are_stored_only_where_there_are_some() -> None:
    term = PodTerm("zone", (Requirement("app", "Exists", ()),))
    plain, ports = Shape((("pods", 1),)), Shape((("pods", 1),), host_ports=(("TCP", "0.0.0.0", 80),))
    assert codec.encode_part(plain) == {"requests": [["pods", 1]]}
    assert codec.encode_part(ports)["host_ports"] == [["TCP", "0.0.0.0", 80]]
    apart = codec.encode_part(Shape((("pods", 1),), pod_anti_affinity=(term,)))
    selector = [{"key": "app", "operator": "Exists", "values": []}]
    assert apart["pod_anti_affinity"] == [{"topology_key": "zone", "selector": selector}]


@given(examples.values(PodGroupUnschedulable))
def test_the_brief_form_leaves_out_only_the_counts_of_domains(event: PodGroupUnschedulable) -> None:
    brief = codec.decode_brief("PodGroupUnschedulable", event.VERSION, codec.encode(event))

    assert isinstance(brief, PodGroupUnschedulable)
    assert replace(brief, table=event.table) == event
    assert brief.table.domains == ((event.domain,) if event.table.domains else ())


@pytest.mark.parametrize("event", examples.EXAMPLES, ids=lambda event: type(event).__name__)
def test_any_other_event_is_whole_in_the_brief_form(event: Event) -> None:
    brief = codec.decode_brief(type(event).__name__, event.VERSION, codec.encode(event))

    assert (brief == event) is not isinstance(event, PodGroupUnschedulable)


def test_the_brief_form_reads_older_versions_and_refuses_newer_ones() -> None:
    event = next(event for event in examples.EXAMPLES if isinstance(event, PodGroupUnschedulable))
    body = codec.to_body(event)
    del body["lost_to"]
    text = codec.canonical(body).decode()

    assert codec.decode_brief("PodGroupUnschedulable", 1, text) == replace(
        event, lost_to=None, table=replace(codec._NO_TABLE, domains=("r1",))
    )
    with pytest.raises(UnknownEvent):
        codec.decode_brief("PodGroupUnschedulable", PodGroupUnschedulable.VERSION + 1, text)
