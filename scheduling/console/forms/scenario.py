"""The form of a scenario: what it is called, where it begins, and a card for each step; and how a document
becomes what is typed into it and back, without losing anything on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from scheduling.console.commands import with_first
from scheduling.console.forms import submit
from scheduling.console.forms.scenario_steps import (
    MODELS,
    LongText,
    StepCard,
    Unshowable,
    new_step,
    typed_step,
)
from scheduling.console.forms.submit import count_of, put_rows, take_rows, typed
from scheduling.console.numbers import whole
from scheduling.engine.decide import PROFILES
from scheduling.scenarios.documents import MOST_STEPS
from scheduling.services.problems import INVALID, REQUIRED, Problem
from scheduling.wording import messages
from scheduling.wording import problems as wording
from scheduling.wording.scenarios import profile

_STEP = re.compile(r"^steps\[(\d+)\]\.?(.*)$", re.S)
_HEAD = ("name", "about", "at", "profile")


class HeadForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        required=False,
        max_length=63,
        widget=forms.TextInput({"autocomplete": "off", "size": 32}),
        help_text=_("Lower-case letters, digits and '-'. Under another name it is another scenario."),
    )
    about = LongText(
        label=_("What it is for"), required=False, max_length=2000, widget=forms.Textarea({"rows": 2})
    )
    at = forms.CharField(
        label=_("Where it begins"),
        required=False,
        max_length=60,
        widget=forms.TextInput({"autocomplete": "off", "size": 26}),
        help_text=_("Empty: the newest event when it is run. Else the number of an event, or a time."),
    )
    profile = forms.ChoiceField(
        label=_("Profile"),
        required=False,
        choices=lambda: [(name, profile(name)) for name in PROFILES],
        help_text=_("Who decides: this console, or kube-scheduler as it is in a release."),
    )


class ScenarioForm:
    """``judged``: say what is wrong. ``data`` carries how many steps there are as ``steps`` and the kind of
    each as ``s<i>-step``.
    """

    def __init__(self, data: QueryDict, *, judged: bool = True, moved: int | None = None) -> None:
        self.data = data
        self.head = typed(HeadForm, data, "", judged=judged)
        self.steps: list[StepCard] = []
        self.problems: list[Problem] = []
        for index in range(count_of(data, "steps", 0, MOST_STEPS)):
            if data.get(f"s{index}-step") in MODELS:
                card = StepCard.of(data, index, judged)
                card.moved = index == moved
                self.steps.append(card)
            else:
                message = "is no kind of step"
                self.problems.append(Problem("Scenario", "", "", f"steps[{index}].step", INVALID, message))

    def is_valid(self) -> bool:
        return not self.problems and all([self.head.is_valid(), *(card.is_valid() for card in self.steps)])

    @property
    def wrong(self) -> list[StepCard]:
        """Steps with a problem, once the form was judged."""
        return [card for card in self.steps if card.wrong]

    def value(self) -> dict[str, Any]:
        """The document as far as it was typed, not checked; the form must be valid."""
        given = self.head.cleaned_data
        found = {name: given[name] for name in _HEAD if given[name]}
        if found.get("profile") == PROFILES[0]:
            del found["profile"]
        return found | ({"steps": [card.value() for card in self.steps]} if self.steps else {})

    def blame(self, found: Iterable[Problem]) -> None:
        """Put each problem at the field that its path names; what has no field stays in ``problems``."""
        for problem in found:
            said = messages.translated(problem.message) if problem.reason != REQUIRED else ""
            text = f"{wording.reason(problem)} {said}".strip()
            message = with_first(text, problem.first)
            inner = _STEP.match(problem.path)
            if problem.path in self.head.fields:
                self.head.add_error(problem.path, message)
            elif inner is not None and int(inner[1]) < len(self.steps):
                self.steps[int(inner[1])].blame(inner[2], message)
            else:
                self.problems.append(problem)


def typed_document(document: dict[str, Any]) -> QueryDict:
    """A document, also one that is not right, as it would be typed. Raises Unshowable for what no field of
    the form can show.
    """
    data = QueryDict(mutable=True)
    for name, value in document.items():
        if name == "steps":
            continue
        if name not in _HEAD or not isinstance(value, str) or "\0" in value:
            raise Unshowable(name)
        data[name] = value
    steps = document.get("steps") or []
    if not isinstance(steps, list) or len(steps) > MOST_STEPS:
        raise Unshowable("steps")
    data["steps"] = str(len(steps))
    put_rows(data, "s", (_row(typed_step(step, f"steps[{index}]")) for index, step in enumerate(steps)))
    return data


def reshaped(data: QueryDict, action: str) -> tuple[QueryDict, int | None]:
    """The posted form with a step added (``add-step``, of the kind ``kind``), moved (``up:<i>``,
    ``down:<i>``), twice (``copy:<i>``) or gone (``drop:<i>``), or with other rows in a submission
    (``s<i>:<action of the submit form>``); and the place of the step that it was about, None for none.
    """
    changed = data.copy()
    inner = re.fullmatch(r"s([0-9]{1,4}):(.+)", action)
    if inner is not None:
        return submit.reshaped(changed, inner[2], f"s{inner[1]}-"), int(inner[1])
    name, _colon, place = action.partition(":")
    count = count_of(data, "steps", 0, MOST_STEPS)
    rows = take_rows(changed, "s", count)
    found = whole(place)
    index = found if found is not None and found < count else None
    moved = index
    if name == "add-step" and data.get("kind") in MODELS and count < MOST_STEPS:
        rows.append(_row(new_step(str(data["kind"]))))
        moved = count
    elif index is None:
        moved = None
    elif name == "copy" and count < MOST_STEPS:
        moved = index + 1
        rows.insert(moved, dict(rows[index]))
    elif name == "drop":
        del rows[index]
        moved = None
    elif name in ("up", "down"):
        moved = min(max(index + (1 if name == "down" else -1), 0), count - 1)
        rows.insert(moved, rows.pop(index))
    put_rows(changed, "s", rows)
    changed["steps"] = str(len(rows))
    return changed, moved


def _row(values: dict[str, str]) -> dict[str, list[str]]:
    return {name: [value] for name, value in values.items()}
