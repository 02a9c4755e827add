"""Types of nodes: by hand or like a node, checked field by field, and not removed under a plan."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.engine.model import Taint
from scheduling.engine.node_types import Growth, NodeType
from scheduling.ledger.events import NodeTypeDefined, NodeTypeRemoved
from scheduling.services.node_types import GrowthForm, NodeTypeForm, define_events, remove_events
from scheduling.services.problems import Refused
from scheduling.services.scale_up import plan_events
from tests.services.builders import GPU, RACK, ZONE, gang, members, node, stream

HERE = (GrowthForm(RACK, "r1", 4),)


def type_form(name: str = "big", **more: Any) -> NodeTypeForm:
    values: dict[str, Any] = {"allocatable": {"cpu": "8", GPU: "2"}, "growth": HERE, "cost": "1.5"}
    return NodeTypeForm(name, **values | more)


def defined(form: NodeTypeForm, *manifests: Any) -> NodeType:
    (event,) = define_events(stream(*manifests).state, form)
    assert isinstance(event, NodeTypeDefined)
    return event.node_type


def refused(form: NodeTypeForm) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as caught:
        define_events(stream(node("a")).state, form)
    return [(problem.path, problem.reason) for problem in caught.value.problems]


def test_a_type_by_hand() -> None:
    made = defined(
        type_form(labels={ZONE: "z1"}, taints=({"key": "gpu", "effect": "NoSchedule"},), provider="simulated")
    )
    assert made == NodeType(
        "big",
        (("cpu", 8000), (GPU, 2), ("pods", 110)),
        ((ZONE, "z1"),),
        (Taint("gpu", "", "NoSchedule"),),
        (Growth(RACK, "r1", 4),),
        1500,
        "simulated",
    )


def test_a_type_like_a_node_leaves_its_name_and_its_domain_behind() -> None:
    like = node("a", "r7", zone="z1", gpu=8, taints=[{"key": "gpu", "effect": "NoSchedule"}], pods="20")
    made = defined(NodeTypeForm("big", "a", growth=HERE), like)
    assert made.labels == ((ZONE, "z1"),)
    assert dict(made.allocatable)["pods"] == 20
    assert made.taints == (Taint("gpu", "", "NoSchedule"),)
    assert made.cost is None


def test_what_the_form_gives_takes_the_place_of_what_the_node_has() -> None:
    made = defined(NodeTypeForm("big", "a", {"cpu": "2"}, {"x": "y"}, growth=HERE), node("a", zone="z1"))
    assert (made.allocatable, made.labels) == ((("cpu", 2000), ("pods", 110)), (("x", "y"),))


def test_the_same_again_is_no_news_and_another_takes_its_place() -> None:
    made = stream()
    made.commit(define_events(made.state, type_form()))
    assert define_events(made.state, type_form()) == []
    made.commit(define_events(made.state, type_form(cost="")))
    assert [kind.cost for kind in made.state.records.of(NodeType).values()] == [None]


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({"name": ""}, ("name", "FieldValueRequired")),
        ({"name": "Big!"}, ("name", "FieldValueInvalid")),
        ({"like": "nobody"}, ("like", "NotFound")),
        ({"allocatable": {}}, ("allocatable", "FieldValueRequired")),
        ({"allocatable": {"cpu": "many"}}, ("allocatable", "FieldValueInvalid")),
        ({"labels": {"a b": "c"}}, ("labels", "FieldValueInvalid")),
        ({"labels": {RACK: "r1"}}, ("labels", "FieldValueForbidden")),
        ({"taints": ({"key": "a", "effect": "Sometimes"},)}, ("taints", "FieldValueNotSupported")),
        ({"growth": ()}, ("growth", "FieldValueRequired")),
        ({"growth": (GrowthForm("", "r1", 1),)}, ("growth[0].key", "FieldValueInvalid")),
        (
            {"growth": (GrowthForm("kubernetes.io/hostname", "a", 1),)},
            ("growth[0].key", "FieldValueForbidden"),
        ),
        ({"growth": (GrowthForm(RACK, "r 1", 1),)}, ("growth[0].domain", "FieldValueInvalid")),
        ({"growth": (GrowthForm(RACK, "r1", 0),)}, ("growth[0].most", "FieldValueInvalid")),
        ({"growth": (*HERE, *HERE)}, ("growth[1]", "FieldValueDuplicate")),
        ({"growth": HERE * 201}, ("growth", "FieldValueInvalid")),
        ({"cost": "-1"}, ("cost", "FieldValueInvalid")),
        ({"cost": "1.2345"}, ("cost", "FieldValueInvalid")),
        ({"provider": "cloud"}, ("provider", "FieldValueInvalid")),
    ],
)
def test_bad_input_is_refused_at_its_field(more: dict[str, Any], wrong: tuple[str, str]) -> None:
    assert wrong in refused(type_form(**more))


def test_a_type_is_removed_once() -> None:
    made = stream()
    made.commit(define_events(made.state, type_form()))
    made.commit(remove_events(made.state, "big"))
    assert isinstance(made.events[-1], NodeTypeRemoved)
    with pytest.raises(Refused, match="there is no node type big"):
        remove_events(made.state, "big")


def test_a_type_that_an_open_plan_needs_is_not_removed() -> None:
    made = stream(gang("g", 1), *members("g", 1))
    made.commit(define_events(made.state, type_form()))
    made.commit(plan_events(made.state, ["default/g"], 60, made.now_ms))
    with pytest.raises(Refused, match="the open plan scale-up-6 needs it"):
        remove_events(made.state, "big")
