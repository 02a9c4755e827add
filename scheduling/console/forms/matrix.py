"""The form of the verification matrix: the gang, and the model of traffic and throughput."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from scheduling.console.forms.submit import RESOURCES, TemplateForm
from scheduling.engine import communication
from scheduling.engine.decide import PROFILES
from scheduling.scenarios.training import fields
from scheduling.services.problems import Problem
from scheduling.wording import matrix as words
from scheduling.wording import messages
from scheduling.wording import problems as wording


class MatrixForm(TemplateForm):
    """What a member asks for is as in the form that submits."""

    topology_key = forms.CharField(
        label=_("Topology key"),
        max_length=317,
        widget=forms.TextInput({"list": "topology-keys", "autocomplete": "off", "size": 32}),
    )
    members = forms.IntegerField(
        label=_("Members, all of which must run"), min_value=2, max_value=500, initial=4
    )
    release = forms.ChoiceField(
        label=_("Upstream profile"),
        initial="upstream-1.36",
        choices=[(name, name) for name in PROFILES if name != "exact"],
    )
    at = forms.CharField(
        label=_("Begins at"), required=False, max_length=60, help_text=_("Event or time; empty: now.")
    )
    role = None  # type: ignore[assignment]
    count = None  # type: ignore[assignment]
    spread = None  # type: ignore[assignment]

    def value(self) -> dict[str, Any]:
        """The document, apart from the model; the form must be valid."""
        given = self.cleaned_data
        template = {
            "requests": {resource: given[field] for field, resource in RESOURCES if given[field]},
            "node_selector": given["node_selector"],
            "tolerations": list(given["tolerations"]),
        }
        return {
            "topology_key": given["topology_key"],
            "members": given["members"],
            "template": template,
            "release": given["release"],
            "at": given["at"],
        }

    def blame(self, problem: Problem) -> bool:
        """Whether it has a field."""
        path = problem.path.removeprefix("template.")
        at = {f"requests.{resource}": field for field, resource in RESOURCES}.get(path, path.split("[")[0])
        at = "gpu" if at.startswith("requests") and at not in self.fields else at
        if at not in self.fields:
            return False
        self.add_error(at, f"{wording.reason(problem)} {messages.translated(problem.message)}".strip())
        return True


class ModelForm(forms.Form):
    """Every part of the model with where its default comes from."""

    collective = forms.ChoiceField(choices=list(words.COLLECTIVES.items()))

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, prefix="m")
        for name, value in fields(communication.DEFAULTS).items():
            if name != "collective":
                self.fields[_flat(name)] = forms.IntegerField(min_value=0)
            field = self.fields[_flat(name)]
            field.initial = value
            field.label = str(words.FIELDS[name])
            field.help_text = words.origin(name)

    def value(self) -> dict[str, Any]:
        """As the document has it; the form must be valid."""
        found: dict[str, Any] = {}
        for name in fields(communication.DEFAULTS):
            part, dot, rest = name.partition(".")
            value = self.cleaned_data[_flat(name)]
            if dot:
                found.setdefault(part, {})[rest] = value
            else:
                found[name] = value
        return found

    def blame(self, problem: Problem) -> bool:
        at = _flat(problem.path.removeprefix("training."))
        if not problem.path.startswith("training.") or at not in self.fields:
            return False
        self.add_error(at, f"{wording.reason(problem)} {messages.translated(problem.message)}".strip())
        return True


def _flat(name: str) -> str:
    return name.replace(".", "_")


class WholeForm:
    def __init__(self, data: Any = None, initial: dict[str, Any] | None = None) -> None:
        self.gang = MatrixForm(data, initial=initial)
        self.model = ModelForm(data)
        self.problems: list[Problem] = []

    def is_valid(self) -> bool:
        return all([self.gang.is_valid(), self.model.is_valid()])

    def value(self) -> dict[str, Any]:
        return self.gang.value() | {"training": self.model.value()}

    def blame(self, found: Iterable[Problem]) -> None:
        for problem in found:
            if not self.gang.blame(problem) and not self.model.blame(problem):
                self.problems.append(problem)
