"""One of a thing is never called by the plural: no "1 nodes", in any sentence of the console."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils.translation import override

from scheduling.engine.change_steps import Step
from scheduling.engine.queues import QuotaCount
from scheduling.management.commands.update_translations import messages as every_message
from scheduling.management.counting import counted
from scheduling.wording import changes, decisions, events, matrix, rehearsal, units
from tests.console.support import RACK
from tests.console.test_wording import EVENTS, every_situation
from tests.console.test_wording_changes import STEPS, told

NO_NOUNS = re.compile(
    "across|as|becomes|comes|differs|does|exists|fits|gets|goes|has|holds|is|its|keeps|lies|loses|ms|names|needs|"
    "runs|spans|this|times|uses|waits|was"
)
"""Words in s that follow a number or a name and are no plurals; ``times`` multiplies."""

_BEFORE = "bound|constrained|equal|fewer|free|mixed|more|new|NUMA|other|such|waiting|wholly|running"
_PLURAL = re.compile(rf"\b1 (?:of (?:at least |its )?1 )?(?:(?:{_BEFORE}) )*([A-Za-z]+s)\b(?!/s\b)")
_VERB = re.compile(
    rf"(?<!to )\b1 (?:of (?:at least |its )?1 )?(?:(?:{_BEFORE}) )*(?:(?!must)[a-z]+ )?(?:are|were|have)\b"
)
_VALUE = re.compile(r"%\(\w+\)s|\{\w+\}")
_NAME = re.compile(r"%\((?:canary|domain|group|name|node|release|scope)\)s")
"""What stands for a name, and never for a number."""

_BOUND = "%(most)s"
"""How much of something there may be at most: never one."""

FROM_TWO_ON = frozenset(
    (
        "Live has moved on by {count} events.",
        "uncordon %(n)s nodes",
        "%(n)s nodes ready again",
        "label %(n)s nodes",
        "release %(n)s reservations",
        "end %(n)s groups",
        "By chance: %(theirs)s is 1 of %(ties)s equal ones: %(names)s.",
        "%(number)s nodes have no label %(key)s and belong to none of its domains: %(names)s",
        "the value %(value)s of %(key)s spans %(number)s zones, yet it is one domain",
        "%(n)s %(kind)s domains together would hold it. The one-domain law forbids that, so it is not done.",
        "One domain: %(times)s times the throughput of a plain gang over %(domains)s places, without a wait.",
        "Where kube-scheduler rolls, %(k)s of %(n)s rolls that were tried place the group.",
        "placed by chance in %(k)s of %(n)s rolls",
        "Of %(n)s ways to roll that were tried, %(k)s place the group.",
        "node %(name)s offers %(number)s kinds of GPUs: which ones are meant is not clear",
        "is larger than %(most)s MiB: %(number)s bytes",
        "No group waits without members that our cycle would place for more than %(minutes)s minutes.",
        "Groups without a bound member that wait for more than %(minutes)s minutes though our cycle would "
        "place them: %(found)s. The scheduler may count members that are gone.",
        "%(names)s would wait; %(running)s of %(asked)s groups would run.",
    )
)
"""Said of more than one only: of one another sentence is said, or none. Rolls are four at least, and minutes
ten.
"""


def wrong(said: str) -> list[str]:
    """What in a sentence calls one thing by the plural."""
    nouns = [found[0] for found in _PLURAL.finditer(said) if not NO_NOUNS.fullmatch(found[1])]
    return nouns + [found[0] for found in _VERB.finditer(said)]


def of_one(message: str) -> str:
    """The message with one in the place of every number."""
    return _VALUE.sub("1", _NAME.sub("X", message.replace(_BOUND, "2")))


def with_numbers(value: Any, number: int) -> Any:
    """The value with this number in the place of every other."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return number
    if isinstance(value, tuple):
        return tuple(with_numbers(part, number) for part in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {
            part.name: with_numbers(getattr(value, part.name), number) for part in dataclasses.fields(value)
        }
        return dataclasses.replace(value, **parts)
    return value


def test_the_check_itself_finds_plurals_of_one() -> None:
    assert wrong("1 bound members pin it") == ["1 bound members"]
    assert wrong("1 of 1 members; 1 GPUs") == ["1 of 1 members", "1 GPUs"]
    assert wrong("1 member are bound, 1 are needed") == ["1 member are", "1 are"]
    assert wrong("1 node is gone, 11 nodes are, 1 has, 1 steps/s") == []
    assert wrong(of_one("Nodes of %(domain)s are %(n)s nodes, 1 mixed groups, at most %(most)s")) == [
        "1 nodes", "1 mixed groups",
    ]  # fmt: skip


def test_no_message_calls_one_thing_by_the_plural() -> None:
    """Of pages and of sentences alike: with one in every place, in the form for one where there are two."""
    found = {}
    for message, *_ in every_message(Path(settings.BASE_DIR)):
        said = message if isinstance(message, str) else message[0]
        if said not in FROM_TWO_ON and (faults := wrong(of_one(said))):
            found[said] = faults

    assert not found


@pytest.mark.parametrize("number", [1, 2])
def test_no_event_of_one_thing_is_told_in_the_plural(number: int) -> None:
    found = {}
    for event in EVENTS:
        said = events.sentence(with_numbers(event, number))
        if faults := wrong(said):
            found[said] = faults

    assert not found


def test_no_decision_about_one_thing_is_told_in_the_plural() -> None:
    found = {}
    for facts in every_situation():
        for quota in (None, QuotaCount("research", 1, 1, 1)):
            for flags in ({}, {"forecast": True}, {"planned": True}, {"beside": True}):
                one = dataclasses.replace(with_numbers(facts, 1), quota=quota, **flags)
                for said in (str(decisions.sentences(one)), str(decisions.bound_sentences(one))):
                    if faults := wrong(said):
                        found[said] = faults

    assert not found


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.code)
def test_no_change_of_one_thing_is_told_in_the_plural(step: Step) -> None:
    one = dataclasses.replace(told(with_numbers(step, 1)), placed=1, need=1)

    assert not wrong(changes.sentence(one, RACK)) and not wrong(changes.label(one, RACK))
    assert not wrong(changes.sentence(one, ""))


def test_no_rehearsal_of_one_group_is_told_in_the_plural() -> None:
    for counts in ({"same": 1}, {"waits": 1}, {"same": 0, "runs": 1}):
        assert not wrong(rehearsal.headline({"gates": {"TAS": True}, "counts": counts}))


@pytest.mark.parametrize("outcome", ["together", "waits"])
def test_no_cell_of_the_matrix_with_one_member_is_told_in_the_plural(outcome: str) -> None:
    cell = {
        "problem": None, "outcome": outcome, "bound": 1, "need": 1, "fits": 1, "in": ["r1"], "luck": [0, 0],
        "without_domain": 0, "verdict": "proved_infeasible", "reason": "capacity",
    }  # fmt: skip

    assert wrong(" ".join(matrix.told(cell))) == []


def test_one_pod_of_a_resource_list_is_one_pod() -> None:
    assert units.quantities((("pods", 1), ("cpu", 1000))) == "1 cpu, 1 pod"
    assert units.quantities((("pods", 110),)) == "110 pods"
    with override("ja"):
        assert units.quantities((("pods", 1),)) == units.quantities((("pods", 2),)).replace("2", "1")


def test_commands_count_the_same_way() -> None:
    assert [counted(number, "event") for number in (0, 1, 2, 1200)] == [
        "0 events", "1 event", "2 events", "1,200 events",
    ]  # fmt: skip
