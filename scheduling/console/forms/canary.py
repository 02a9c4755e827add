"""The form that starts a canary: limits in the units of people, stages a row each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from scheduling.console.numbers import whole
from scheduling.engine.canary import Approval, Criterion, Means, Scope
from scheduling.services.canary import MOST_STAGES, CanaryWish
from scheduling.services.problems import Problem
from scheduling.wording import canary as words
from scheduling.wording import messages
from scheduling.wording import problems as wording

LIMIT = "limit_"
WINDOWS = {"seconds": 1_000, "minutes": 60_000, "hours": 3_600_000}
"""Unit -> milliseconds."""

PARTS: dict[Criterion, int] = {
    Criterion.WAIT_MEDIAN: 1_000,
    Criterion.WAIT_P95: 1_000,
    Criterion.WAIT_LONGEST: 1_000,
    Criterion.WAIT_CONTROL: 10,
    Criterion.PENDING: 1,
    Criterion.PENDING_SHARE: 10,
    Criterion.THROUGHPUT: 1_000,
    Criterion.THROUGHPUT_CONTROL: 10,
    Criterion.ERRORS: 1,
}
"""What one of the form's unit (seconds, percent, groups, per second) is in that of the limit."""

LABELS: dict[Criterion, Any] = {
    Criterion.WAIT_MEDIAN: _("Median wait, at most (seconds)"),
    Criterion.WAIT_P95: _("95th percentile of waits, at most (seconds)"),
    Criterion.WAIT_LONGEST: _("Longest wait, at most (seconds)"),
    Criterion.WAIT_CONTROL: _("Median wait, at most (% of the control)"),
    Criterion.PENDING: _("Groups that wait, at most"),
    Criterion.PENDING_SHARE: _("Groups that wait, at most (% of all)"),
    Criterion.THROUGHPUT: _("Median throughput, at least (per second)"),
    Criterion.THROUGHPUT_CONTROL: _("Median throughput, at least (% of the control)"),
    Criterion.ERRORS: _("Groups with an error, at most"),
}

_STAGE = re.compile(r"^stages\[(\d+)\]\.(namespaces|groups|whole)$")
_BETWEEN = re.compile(r"[\s,、]+")


class StageForm(forms.Form):
    """Names as typed, separated by commas or spaces."""

    namespaces = forms.CharField(
        label=_("Namespaces"),
        required=False,
        max_length=10_000,
        widget=forms.TextInput({"list": "namespaces", "autocomplete": "off", "size": 28}),
    )
    groups = forms.CharField(
        label=_("PodGroups (namespace/name)"),
        required=False,
        max_length=10_000,
        widget=forms.TextInput({"list": "groups", "autocomplete": "off", "size": 36}),
    )
    whole = forms.BooleanField(label=_("the whole cluster"), required=False)

    def scope(self) -> Scope:
        given = self.cleaned_data
        return Scope(_names(given["namespaces"]), _names(given["groups"]), given["whole"])


class LimitsForm(forms.Form):
    """Everything but the stages."""

    means = forms.ChoiceField(label=_("What is held to one domain"), choices=list(words.MEANS.items()))
    window = forms.IntegerField(label=_("Judged over"), min_value=1, max_value=3_000_000, initial=60)
    window_unit = forms.ChoiceField(
        label=_("Unit of time"),
        choices=[("seconds", _("seconds")), ("minutes", _("minutes")), ("hours", _("hours"))],
        initial="minutes",
    )
    approval = forms.ChoiceField(label=_("What follows"), choices=list(words.APPROVALS.items()))
    unit = forms.ChoiceField(label=_("Throughput is measured in"), choices=list(words.UNITS.items()))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for criterion in Criterion:
            self.fields[LIMIT + criterion] = forms.DecimalField(
                label=LABELS[criterion],
                required=False,
                min_value=0,
                max_value=10**12,
                decimal_places=len(str(PARTS[criterion])) - 1,
            )

    def limits(self) -> list[forms.BoundField]:
        return [self[LIMIT + criterion] for criterion in Criterion]


class CanaryForm:
    """The whole form. ``data`` carries how many stages there are, as ``stages``."""

    def __init__(self, data: QueryDict | None = None, initial: dict[str, Any] | None = None) -> None:
        self.main = LimitsForm(data)
        rows = _stages(data)
        self.stages = [
            StageForm(data, prefix=f"s{row}", initial=initial if row == 0 else None) for row in range(rows)
        ]
        self.problems: list[str] = []

    @property
    def full(self) -> bool:
        """Whether no stage can be added."""
        return len(self.stages) >= MOST_STAGES

    def is_valid(self) -> bool:
        return all([self.main.is_valid(), *(stage.is_valid() for stage in self.stages)])

    def wish(self) -> CanaryWish:
        """What the service is asked; the form must be valid."""
        given = self.main.cleaned_data
        limits = {
            criterion.value: int(Decimal(given[LIMIT + criterion]) * PARTS[criterion])
            for criterion in Criterion
            if given[LIMIT + criterion] is not None
        }
        return CanaryWish(
            stages=tuple(stage.scope() for stage in self.stages),
            limits=limits,
            window=given["window"] * WINDOWS[given["window_unit"]],
            means=Means(given["means"]).value,
            approval=Approval(given["approval"]).value,
            unit=given["unit"],
        )

    def blame(self, found: Iterable[Problem]) -> None:
        """Put each problem at the field that its path names; what has no field stays in ``problems``."""
        for problem in found:
            message = f"{wording.reason(problem)} {messages.translated(problem.message)}".strip()
            path = problem.path.replace("limits.", LIMIT)
            stage = _STAGE.match(problem.path)
            if stage is not None and int(stage[1]) < len(self.stages):
                self.stages[int(stage[1])].add_error(stage[2], message)
            elif path in self.main.fields:
                self.main.add_error(path, message)
            else:
                self.problems.append(message)


def reshaped(data: QueryDict, action: str) -> QueryDict:
    """The posted form with a stage more (``add``) or less (``remove:<row>``); later rows move up."""
    changed = data.copy()
    name, _colon, place = action.partition(":")
    rows, row_of = _stages(data), whole(place)
    if name == "add" and rows < MOST_STAGES:
        changed["stages"] = str(rows + 1)
        for field in ("namespaces", "groups"):  # a stage covers the one before it
            changed[f"s{rows}-{field}"] = data.get(f"s{rows - 1}-{field}", "")
    elif name == "remove" and row_of is not None and rows > 1:
        for row in range(row_of, rows):
            for field in ("namespaces", "groups", "whole"):
                changed.pop(f"s{row}-{field}", None)
                if row + 1 < rows and f"s{row + 1}-{field}" in data:
                    changed[f"s{row}-{field}"] = str(data[f"s{row + 1}-{field}"])
        changed["stages"] = str(rows - 1)
    return changed


def _stages(data: QueryDict | None) -> int:
    found = whole(str(data.get("stages", ""))) if data is not None else None
    return min(max(found or 1, 1), MOST_STAGES)


def _names(text: str) -> tuple[str, ...]:
    return tuple(sorted({name for name in _BETWEEN.split(text) if name}))
