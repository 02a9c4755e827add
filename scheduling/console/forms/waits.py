"""What an operator says about a wait: until when, and what the next generation is to be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from scheduling.engine.model import PodGroup
from scheduling.engine.waits import ACTIONS
from scheduling.services.generations import LONGEST_CHECKPOINT, NextGeneration
from scheduling.services.problems import REQUIRED, Problem
from scheduling.wording import messages, words
from scheduling.wording import problems as wording

UNITS = {"minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}


class BlamedForm(forms.Form):
    """``problems``: what has no field here that is seen."""

    problems: list[Problem]

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.problems = []

    def blame(self, found: Iterable[Problem], fields: dict[str, str] | None = None) -> None:
        """Put each problem at the field that its path names (``fields``: path -> field)."""
        for problem in found:
            field = (fields or {}).get(problem.path, problem.path)
            if field in self.fields and not self.fields[field].widget.is_hidden:
                self.add_error(field, f"{wording.reason(problem)} {messages.translated(problem.message)}")
            else:
                self.problems.append(problem)


class DeadlineForm(BlamedForm):
    """How long, and what then. An empty ``amount`` is for as long as it takes."""

    amount = forms.IntegerField(label=_("Wait at most"), required=False, min_value=1, max_value=527_040)
    unit = forms.ChoiceField(
        label=_("Unit"),
        choices=[("minutes", _("minutes")), ("hours", _("hours")), ("days", _("days"))],
        initial="hours",
    )
    action = forms.ChoiceField(
        label=_("And then"), choices=[(code, words.WAIT_ACTIONS[code]) for code in ACTIONS]
    )

    def after(self) -> int | None:
        """Milliseconds; None for as long as it takes."""
        amount = self.cleaned_data["amount"]
        return None if amount is None else amount * UNITS[self.cleaned_data["unit"]]


class GenerationForm(BlamedForm):
    """``generation``: the open one that the page showed when it was sent. The page always sends the one that
    it shows.
    """

    generation = forms.IntegerField(min_value=1, widget=forms.HiddenInput())

    def clean(self) -> dict[str, Any]:
        if "generation" in self.errors:
            message = "the open generation that this was decided on must be named"
            self.problems.append(Problem("PodGroup", "", "", "generation", REQUIRED, message))
        return self.cleaned_data


class RestoreForm(GenerationForm):
    """The same again from a checkpoint."""

    checkpoint = forms.CharField(
        label=_("Checkpoint"),
        max_length=LONGEST_CHECKPOINT,
        widget=forms.TextInput({"size": 48, "autocomplete": "off", "spellcheck": "false"}),
        help_text=_("Where the job finds it, such as s3://bucket/run/step-1200. It is kept as text."),
    )

    def wanted(self) -> NextGeneration:
        given = self.cleaned_data
        return NextGeneration(checkpoint=given["checkpoint"], generation=given["generation"])


class NextForm(GenerationForm):
    """Another constraint, and for an elastic group another minCount."""

    topology_key = forms.CharField(
        label=_("Topology key"),
        required=False,
        max_length=317,
        widget=forms.TextInput(
            {
                "list": "topology-keys",
                "autocomplete": "off",
                "size": 32,
                "placeholder": _("empty: no constraint"),
            }
        ),
    )
    min_count = forms.IntegerField(label="minCount", min_value=1, required=False)
    elastic = forms.BooleanField(
        label=_("The group is elastic: it goes on with fewer members"), required=False
    )
    checkpoint = forms.CharField(
        label=_("Checkpoint (may be empty)"),
        required=False,
        max_length=LONGEST_CHECKPOINT,
        widget=forms.TextInput({"size": 32, "autocomplete": "off", "spellcheck": "false"}),
    )

    @classmethod
    def of(cls, group: PodGroup) -> NextForm:
        """As the open generation is."""
        return cls(
            initial={
                "topology_key": group.topology_key,
                "min_count": group.min_count,
                "elastic": group.elastic,
            }
        )

    def wanted(self) -> NextGeneration:
        given = self.cleaned_data
        return NextGeneration(
            topology_key=given["topology_key"],
            min_count=given["min_count"],
            checkpoint=given["checkpoint"],
            elastic=given["elastic"],
            generation=given["generation"],
        )
