"""The form for a type of nodes: what such a node is, and in which domains how many may come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from scheduling.console.forms.submit import EFFECTS, RESOURCES
from scheduling.engine.node_types import SIMULATED
from scheduling.services.node_types import GrowthForm, NodeTypeForm
from scheduling.services.problems import Problem
from scheduling.wording import messages
from scheduling.wording import problems as wording

_AREA = {"rows": 2, "class": "mono", "spellcheck": "false"}


class TypeForm(forms.Form):
    """Quantities are kept as typed; the service says what is wrong with them. One topology key; the API takes
    several.
    """

    name = forms.CharField(label=_("Name"), max_length=253)
    like = forms.CharField(
        label=_("Like the node"),
        required=False,
        max_length=253,
        help_text=_("Its resources, labels and taints are taken where none are given here."),
    )
    cpu = forms.CharField(label="cpu", required=False, max_length=40)
    memory = forms.CharField(label="memory", required=False, max_length=40)
    gpu = forms.CharField(label="nvidia.com/gpu", required=False, max_length=40)
    others = forms.CharField(
        label=_("Other resources"),
        required=False,
        widget=forms.Textarea(_AREA),
        help_text=_("One resource=amount a line."),
    )
    labels = forms.CharField(
        label="labels", required=False, widget=forms.Textarea(_AREA), help_text=_("One key=value a line.")
    )
    taints = forms.CharField(
        label="taints",
        required=False,
        widget=forms.Textarea(_AREA),
        help_text=_("One a line: key=value:effect or key:effect."),
    )
    key = forms.CharField(
        label=_("Topology key"),
        max_length=317,
        widget=forms.TextInput({"list": "topology-keys", "autocomplete": "off", "size": 32}),
    )
    growth = forms.CharField(
        label=_("Domains that may grow"),
        widget=forms.Textarea({**_AREA, "rows": 3}),
        help_text=_("One domain=nodes a line; the domain need not exist yet."),
    )
    cost = forms.CharField(
        label=_("Cost of a node and hour"),
        required=False,
        max_length=20,
        help_text=_("In units of yours; empty when it is not known."),
    )
    provider = forms.ChoiceField(
        label=_("Nodes come from"),
        required=False,
        initial=SIMULATED,
        choices=[(SIMULATED, _("the console (simulated)")), ("", _("somebody else"))],
    )

    def clean_others(self) -> dict[str, str]:
        return dict(_pairs(self.cleaned_data["others"]))

    def clean_labels(self) -> dict[str, str]:
        return dict(_pairs(self.cleaned_data["labels"]))

    def clean_taints(self) -> tuple[dict[str, str], ...]:
        return tuple(map(_taint, _lines(self.cleaned_data["taints"])))

    def clean_growth(self) -> tuple[tuple[str, int], ...]:
        found = []
        for domain, text in _pairs(self.cleaned_data["growth"]):
            if not (text.isascii() and text.isdigit() and len(text) < 10):
                raise forms.ValidationError(_("“%(text)s” is no number of nodes."), params={"text": text})
            found.append((domain, int(text)))
        return tuple(found)

    def node_type(self) -> NodeTypeForm:
        """What the service is asked; the form must be valid."""
        given = self.cleaned_data
        amounts = {resource: given[field] for field, resource in RESOURCES if given[field]}
        return NodeTypeForm(
            name=given["name"],
            like=given["like"],
            allocatable=amounts | given["others"],
            labels=given["labels"],
            taints=given["taints"],
            growth=tuple(GrowthForm(given["key"], domain, most) for domain, most in given["growth"]),
            cost=given["cost"],
            provider=given["provider"],
        )

    def blame(self, found: Iterable[Problem]) -> None:
        """Put each problem at the field that its path names, else above the form."""
        for problem in found:
            name = problem.path.partition("[")[0]
            if problem.path.endswith(".key"):
                name = "key"
            elif name == "allocatable":
                name = "others"
            message = f"{wording.reason(problem)} {messages.translated(problem.message)}".strip()
            self.add_error(name if name in self.fields else None, message)


class PlanForm(forms.Form):
    """What goes with approving a plan or letting nodes join: empty fields mean the usual."""

    option = forms.IntegerField(required=False, min_value=0)
    minutes = forms.IntegerField(required=False, min_value=1)
    nodes = forms.IntegerField(required=False, min_value=0)

    def given(self, name: str, usual: Any) -> Any:
        value = self.cleaned_data[name]
        return usual if value is None else value


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in _lines(text):
        key, equals, value = line.partition("=")
        if not equals:
            raise forms.ValidationError(_("“%(line)s” is not of the form key=value."), params={"line": line})
        yield key.strip(), value.strip()


def _taint(line: str) -> dict[str, str]:
    rest, _colon, effect = line.rpartition(":")
    if effect not in EFFECTS:
        raise forms.ValidationError(
            _("“%(effect)s” is no effect of a taint: %(effects)s."),
            params={"effect": effect, "effects": ", ".join(EFFECTS)},
        )
    key, _equals, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect}
