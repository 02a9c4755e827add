"""The form of a batch: a scenario, saved or written here, and one or two axes with fields by their kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from scheduling.scenarios import documents
from scheduling.services.problems import Problem, Refused
from scheduling.wording import batches as words
from scheduling.wording import messages
from scheduling.wording import problems as wording

_AREA = {"class": "mono", "spellcheck": "false"}
_NUMBER = re.compile(r"-?\d{1,15}")
_PATH = re.compile(r"axes\[(\d)\]\.?(\w*)")


class HeadForm(forms.Form):
    scenario = forms.ChoiceField(label=_("Scenario"), required=False)
    document = forms.CharField(
        label=_("or a scenario as YAML"),
        required=False,
        max_length=1 << 20,
        widget=forms.Textarea({**_AREA, "rows": 12}),
    )
    group = forms.CharField(
        label=_("Whose verdict"),
        required=False,
        max_length=316,
        help_text=_("namespace/name; empty: the group that the steps submit last."),
    )

    def __init__(self, data: QueryDict | None, saved: Sequence[str], **more: Any) -> None:
        super().__init__(data, **more)
        chosen = self.fields["scenario"]
        assert isinstance(chosen, forms.ChoiceField)
        chosen.choices = [("", _("the one written below")), *((name, name) for name in saved)]


class AxisForm(forms.Form):
    """Fields of all kinds; ``kept`` names those of the kind that is chosen, the others go."""

    axis = forms.ChoiceField(
        label=_("What varies"), required=False, choices=[("", _("nothing")), *words.AXES.items()]
    )
    step = forms.IntegerField(
        label=_("Step"), min_value=0, initial=0, help_text=_("Counted from 0, as in steps[0].")
    )
    template = forms.IntegerField(
        label=_("Kind of member"), min_value=0, initial=0, help_text=_("Counted from 0.")
    )
    key = forms.CharField(
        label=_("Topology key"),
        max_length=317,
        widget=forms.TextInput({"list": "topology-keys", "autocomplete": "off", "size": 32}),
    )
    domain = forms.CharField(label=_("Domain"), required=False, max_length=63)
    path = forms.CharField(
        label=_("Field"), max_length=400, help_text=_("As problems name it: steps[0].templates[0].count")
    )
    first = forms.IntegerField(label=_("From"), initial=1)
    last = forms.IntegerField(label=_("to"), initial=8)
    by = forms.IntegerField(label=_("every"), min_value=1, initial=1)
    values = forms.CharField(
        label=_("Values"), widget=forms.Textarea({**_AREA, "rows": 4}), help_text=_("One a line.")
    )
    order = forms.ChoiceField(label=_("Which first"), choices=list(words.ORDERS.items()))
    happens = forms.ChoiceField(label=_("The domain"), choices=list(words.HAPPENS.items()))
    before = forms.IntegerField(
        label=_("Before step"), min_value=0, initial=0, help_text=_("Counted from 0.")
    )

    OF = {
        "": (),
        "members": ("step", "template", "first", "last", "by"),
        "min_count": ("step", "first", "last", "by"),
        "lost_nodes": ("key", "domain", "first", "last", "by", "order", "before"),
        "each_domain": ("key", "happens", "before"),
        "range": ("path", "first", "last", "by"),
        "values": ("path", "values"),
    }

    def __init__(self, data: QueryDict | None, place: int, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, prefix=f"a{place}", initial=initial)
        chosen = str(data.get(f"a{place}-axis", "") if data is not None else (initial or {}).get("axis", ""))
        kept = ("axis", *self.OF.get(chosen, ()))
        self.fields = {name: self.fields[name] for name in kept}
        if place == 0:
            first = self.fields["axis"]
            assert isinstance(first, forms.ChoiceField)
            first.required, first.choices = True, list(words.AXES.items())

    def clean_values(self) -> list[int | bool | str]:
        lines = [line.strip() for line in self.cleaned_data["values"].splitlines() if line.strip()]
        return [_value(line) for line in lines]

    def value(self) -> dict[str, Any] | None:
        """As a document has it; None where nothing varies."""
        return dict(self.cleaned_data) if self.cleaned_data["axis"] else None


def _value(text: str) -> int | bool | str:
    if _NUMBER.fullmatch(text):
        return int(text)
    return {"true": True, "false": False}.get(text, text)


class BatchForm:
    def __init__(
        self, data: QueryDict | None, saved: Sequence[str], initial: dict[str, Any] | None = None
    ) -> None:
        begin = initial or {}
        self.head = HeadForm(data, saved, initial=begin)
        self.axes = [AxisForm(data, place, begin.get("axes", [{}, {}])[place]) for place in range(2)]
        self.problems: list[Problem] = []

    def is_valid(self) -> bool:
        return all([self.head.is_valid(), *(axis.is_valid() for axis in self.axes)])

    def value(self, saved: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """The document of the batch; the form must be valid. ``saved``: documents by name. Raises Refused for
        YAML that is none.
        """
        given = self.head.cleaned_data
        if given["scenario"]:
            scenario = saved[given["scenario"]]
        else:
            try:
                scenario = documents.to_json(documents.read_yaml(given["document"]))
            except Refused as refused:
                raise Refused(
                    Problem(each.kind, "", each.name, f"scenario.{each.path}", each.reason, each.message)
                    for each in refused.problems
                ) from None
        axes = [value for axis in self.axes if (value := axis.value())]
        return {"scenario": scenario, "axes": axes, "group": given["group"]}

    def blame(self, found: Iterable[Problem]) -> None:
        """Put each problem at the field that its path names; what has no field stays in ``problems``."""
        for problem in found:
            message = f"{wording.reason(problem)} {messages.translated(problem.message)}".strip()
            inner = _PATH.match(problem.path)
            if inner is not None and int(inner[1]) < len(self.axes):
                axis = self.axes[int(inner[1])]
                axis.add_error(inner[2] if inner[2] in axis.fields else "axis", message)
            elif problem.path.startswith("scenario"):
                path = problem.path.removeprefix("scenario").removeprefix(".")
                field = "scenario" if self.head.cleaned_data.get("scenario") else "document"
                self.head.add_error(field, f"{path}: {message}" if path else message)
            elif problem.path == "group":
                self.head.add_error("group", message)
            else:
                self.problems.append(problem)
