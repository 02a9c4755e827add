"""Every step has a title and a sentence, in both languages."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import translation

from scheduling.scenarios import documents
from scheduling.scenarios.steps import STEPS
from scheduling.wording import scenarios

NODE = {"node": "n1"}
RACK = {"key": "topology.example.com/rack", "domain": "r1"}
GROUP = {"group": "ml/job"}
ALL = [
    ({"step": "submit", "namespace": "ml", "name": "j", "topology_key": "rack", "templates": [{"count": 2}]},
     "Submit ml/j with 2 members, minCount 1 in one rack."),
    ({"step": "submit", "namespace": "ml", "name": "job", "templates": [{}]},
     "Submit ml/job with 1 member, minCount 1, anywhere."),
    ({"step": "submit", "namespace": "ml", "name": "job", "policy": "basic", "templates": [{}]},
     "Submit ml/job with 1 member, one by one."),
    ({"step": "submit_manifest", "manifest": "a: 1\nb: 2"}, "Submit manifests of 2 lines."),
    ({"step": "lose_nodes", **NODE}, "Node n1 is lost."),
    ({"step": "lose_nodes", **RACK}, "All nodes of rack r1 are lost."),
    ({"step": "cordon", **NODE}, "Cordon node n1."),
    ({"step": "cordon", **RACK, "domain": ""}, "Cordon all nodes of rack (empty label value)."),
    ({"step": "uncordon", **NODE}, "Uncordon node n1."),
    ({"step": "set_ready", **NODE, "ready": True}, "Node n1 becomes ready."),
    ({"step": "set_ready", **RACK, "ready": False}, "All nodes of rack r1 become not ready."),
    ({"step": "set_label", **NODE, "label": "a", "value": "b"}, "Node n1 is labelled a=b."),
    ({"step": "remove_label", **RACK, "label": "a"}, "All nodes of rack r1 lose their label a."),
    ({"step": "add_nodes", "count": 1, "type": "big"}, "Add 1 node of type big."),
    ({"step": "add_nodes", "count": 2, "like": "n1", **RACK}, "Add 2 nodes like n1 to rack r1."),
    ({"step": "change_gpu", **NODE, "product": "x"}, "Node n1 has GPUs of the type x."),
    ({"step": "change_gpu", **NODE, "product": "x", "gpus": 1}, "Node n1 has 1 GPU of the type x."),
    ({"step": "change_gpu", **RACK, "product": "x", "gpus": 4},
     "All nodes of rack r1 have 4 GPUs of the type x."),
    ({"step": "recreate_members", **GROUP}, "1 bound member of ml/job dies and is made anew."),
    ({"step": "recreate_members", **GROUP, "pod": "p"}, "Member p of ml/job dies and is made anew."),
    ({"step": "change_min_count", **GROUP, "min_count": 3}, "ml/job is made anew with minCount 3."),
    ({"step": "end_group", **GROUP}, "ml/job ends."),
    ({"step": "switch_gate", "gate": "G", "enabled": False}, "Switch feature gate G off."),
    ({"step": "advance_clock", "seconds": 3600}, "The clock goes forward: 1 h 0 min."),
    ({"step": "tolerate", **GROUP, "key": "k", "effect": "NoSchedule"},
     "The waiting members of ml/job tolerate k:NoSchedule."),
    ({"step": "release_reservation", "name": "r-1"}, "Reservation r-1 is released."),
    ({"step": "ungate", **GROUP, "count": 2}, "2 members of ml/job have their scheduling gates taken off."),
    ({"step": "add_members", **GROUP}, "1 member more of ml/job is made."),
]  # fmt: skip


def test_no_kind_of_step_is_without_a_title_or_a_sentence() -> None:
    kinds = {kind.model_fields["step"].default for kind in STEPS}

    assert set(scenarios.STEP_KINDS) == kinds
    assert {step["step"] for step, _ in ALL} == kinds


@pytest.mark.parametrize(("step", "said"), ALL)
def test_a_step_is_told_in_a_sentence(step: dict[str, Any], said: str) -> None:
    (read,) = documents.read({"steps": [step]}).steps

    with translation.override("en"):
        assert scenarios.step(read) == said
    with translation.override("ja"):
        assert scenarios.step(read) != said
        assert "%(" not in scenarios.step(read)


def test_a_summary_tells_the_first_steps_and_how_many_more_there_are() -> None:
    steps = documents.read({"steps": [{"step": "cordon", "node": f"n{place}"} for place in range(5)]}).steps

    assert scenarios.summary(steps) == "Cordon node n0. Cordon node n1. Cordon node n2. And 2 steps more."
    assert scenarios.summary(()) == "It has no step yet."
