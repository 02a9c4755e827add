"""Every sort of step has its sentence and its few words, in both languages, and leaves no number out."""

from __future__ import annotations

import re
from dataclasses import asdict

import pytest
from django.utils import translation

from scheduling.engine.change_steps import (
    AddMembers,
    AddNodes,
    EndGroup,
    LabelNode,
    NewGeneration,
    NodeReady,
    ReleaseReservation,
    Step,
    Tolerate,
    Uncordon,
    Ungate,
    cost,
)
from scheduling.engine.changes import ChangeSet
from scheduling.engine.obstacles import Obstacle
from scheduling.wording import changes
from tests.console.support import RACK

STEPS: list[Step] = [
    Uncordon("n-1"),
    NodeReady("n-2"),
    Tolerate("dedicated", "training", "NoSchedule"),
    LabelNode("n-3", RACK, "r-4"),
    AddNodes("r-5", "n-6", 17),
    ReleaseReservation("r-9", "queue", "research"),
    EndGroup("ml/q", 7, True, 18, 19),
    NewGeneration(21, 22, 23),
    Ungate(24),
    AddMembers(25),
]


def told(*steps: Step) -> ChangeSet:
    return ChangeSet(steps, cost(steps), "r-5", 31, 32)


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.code)
def test_a_step_is_told_with_all_its_numbers(step: Step, language: str) -> None:
    with translation.override(language):
        said = changes.sentence(told(step), RACK)
        short = changes.label(told(step), RACK)

    numbers = [str(value) for value in asdict(step).values() if type(value) is int]
    assert [number for number in numbers if number not in said] == []
    assert "31" in said and "32" in said and "r-5" in said
    assert short and len(short) < 40
    assert (language == "ja") == bool(re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", said))
    assert (language == "ja") == bool(re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", short))


def test_steps_of_one_sort_share_a_sentence_and_many_nodes_are_counted() -> None:
    said = changes.done(told(*(Uncordon(f"n{n}") for n in range(6)), NodeReady("m")), RACK)

    assert said == ["Uncordon nodes n0, n1, n2, n3 and 2 more.", "Node m becomes ready again."]


def test_a_higher_priority_is_never_kept_quiet() -> None:
    said = changes.sentence(told(EndGroup("ml/q", 7, True, 1, 0)), RACK)

    assert "priority 7" in said and "Its priority is higher than that of this group." in said


def test_what_is_in_the_way_is_named() -> None:
    assert changes.obstacle(Obstacle("r", "cordoned", 1, "n1")) == "n1: node cordoned"
    assert changes.obstacle(Obstacle("r", "node_not_ready", 2, "")) == "node not ready: 2 nodes"
    assert changes.obstacle(Obstacle("r", "group", 3, "ml/q")) == "ml/q"
