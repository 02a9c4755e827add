"""Scenarios as documents: what they are in YAML and JSON, and what is refused at which field."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.scenarios import documents, steps
from scheduling.scenarios.documents import ScenarioDocument, read, read_yaml
from scheduling.services.problems import INVALID, REQUIRED, Refused

EVERY_KIND: list[dict[str, Any]] = [
    {"step": "submit", "namespace": "ml", "name": "yes", "min_count": 2, "templates": [
        {"role": "on", "count": 2, "requests": {"cpu": "08", "nvidia.com/gpu": "1"},
         "tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 30}]}]},
    {"step": "submit_manifest", "manifest": "kind: Pod\nmetadata:\n  name: a\n"},
    {"step": "lose_nodes", "node": "n1"},
    {"step": "cordon", "key": "rack", "domain": ""},
    {"step": "uncordon", "key": "rack", "domain": "012"},
    {"step": "set_ready", "node": "n1", "ready": False},
    {"step": "set_label", "node": "n1", "label": "rack", "value": "1e3"},
    {"step": "remove_label", "node": "n1", "label": "rack"},
    {"step": "add_nodes", "count": 3, "like": "n1"},
    {"step": "change_gpu", "node": "n1", "product": "H100", "gpus": 0},
    {"step": "recreate_members", "group": "ml/a", "count": 2},
    {"step": "change_min_count", "group": "ml/a", "min_count": 7},
    {"step": "end_group", "group": "ml/a"},
    {"step": "switch_gate", "gate": "GangScheduling", "enabled": False},
    {"step": "advance_clock", "seconds": 60},
    {"step": "tolerate", "group": "ml/a", "key": "k", "effect": "NoSchedule"},
    {"step": "release_reservation", "name": "r-1"},
    {"step": "ungate", "group": "ml/a", "count": 2},
    {"step": "add_members", "group": "ml/a", "count": 2},
]  # fmt: skip


def refused(value: Any) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as error:
        read_yaml(value) if isinstance(value, str) else read(value)
    return [(problem.path, problem.reason) for problem in error.value.problems]


def test_every_kind_of_step_is_here() -> None:
    assert [each["step"] for each in EVERY_KIND] == [
        kind.model_fields["step"].default for kind in steps.STEPS
    ]


def test_yaml_and_json_go_into_each_other_unchanged() -> None:
    document = read({"name": "all", "about": "1: two\n- three", "at": "0042", "steps": EVERY_KIND})
    assert read_yaml(documents.to_yaml(document)) == document
    assert read(documents.to_json(document)) == document
    assert documents.to_json(document)["steps"] == EVERY_KIND


def test_the_kind_of_a_step_is_written_first() -> None:
    document = ScenarioDocument(steps=(steps.Cordon(node="n1"),))
    assert documents.to_yaml(document) == "steps:\n- step: cordon\n  node: n1\n"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"steps": [{"step": "cordon"}]}, [("steps[0]", INVALID)]),
        ({"steps": [{"step": "cordon", "node": "a", "key": "b", "domain": "c"}]}, [("steps[0]", INVALID)]),
        ({"steps": [{"node": "n1"}]}, [("steps[0]", REQUIRED)]),
        ({"steps": [{"step": "explode"}]}, [("steps[0]", INVALID)]),
        ({"steps": [{"step": "end_group"}]}, [("steps[0].group", REQUIRED)]),
        ({"steps": [{"step": "end_group", "group": "ml"}]}, [("steps[0].group", INVALID)]),
        ({"steps": [{"step": "advance_clock", "seconds": "60"}]}, [("steps[0].seconds", INVALID)]),
        ({"steps": [{"step": "end_group", "group": "a/b", "why": ""}]}, [("steps[0].why", INVALID)]),
        ({"profile": "best"}, [("profile", INVALID)]),
        ({"name": "No name"}, [("name", INVALID)]),
        ({"about": "\0"}, [("about", INVALID)]),
        ({"steps": [{"step": "end_group", "group": "a/\ud800"}]}, [("steps[0].group", INVALID)]),
        ("a: [", [("", INVALID)]),
        ("- a", [("", INVALID)]),
        ("a: 1\n---\nb: 1", [("", INVALID)]),
        ("", [("", INVALID)]),
    ],
)
def test_what_is_wrong_is_named_with_its_place(value: Any, found: list[tuple[str, str]]) -> None:
    assert refused(value) == found


@pytest.mark.parametrize("number", ["0.5", ".nan", ".inf", "1e3", str(2**63), str(-(10**30))])
def test_numbers_that_the_log_cannot_hold_are_refused_at_their_place(number: str) -> None:
    text = f"""
        steps:
        - step: submit
          namespace: a
          name: b
          templates: [{{tolerations: [{{key: a, tolerationSeconds: {number}}}]}}]
        """
    assert refused(text) == [("steps[0].templates[0].tolerations[0].tolerationSeconds", INVALID)]
