"""The form that asks for a replay of a trace. A file that came with a form in which something is wrong is
kept for a while, so that it need not be chosen again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from scheduling.console import drafts
from scheduling.engine.decide import PROFILES
from scheduling.engine.model import TAS_GATES
from scheduling.services.problems import Problem
from scheduling.wording import messages, traces
from scheduling.wording import problems as wording

FILES = ("trace", "pods", "nodes_file")

_AT = {
    "openb.parts": "parts",
    "openb.gang": "gang",
    "openb.denser": "denser",
    "openb.one_rack": "one_rack",
    "openb.every_ms": "every",
    "openb.run_ms": "run",
}


class TraceForm(forms.Form):
    source = forms.ChoiceField(label=_("Trace"), choices=list(traces.SOURCES.items()))
    trace = forms.FileField(label=_("File (NDJSON)"), required=False, help_text=_("One object a line."))
    pods = forms.FileField(label=_("File of the pods (CSV)"), required=False)
    nodes_file = forms.FileField(label=_("File of the nodes (CSV)"), required=False)
    nodes = forms.ChoiceField(label=_("On the nodes of"), choices=list(traces.NODES.items()))
    occupied = forms.BooleanField(
        label=_("What runs on the cluster now keeps its room"),
        required=False,
        help_text=_("Otherwise its nodes are empty when the trace begins."),
    )
    profile = forms.ChoiceField(label=_("Profile"), choices=[(name, name) for name in PROFILES])
    gates = forms.MultipleChoiceField(
        label=_("Feature gates that are on"),
        required=False,
        choices=[(gate, gate) for gate in TAS_GATES],
        widget=forms.CheckboxSelectMultiple,
        initial=list(TAS_GATES),
    )
    topology_key = forms.CharField(
        label=_("Topology key in place of that of the trace"),
        required=False,
        max_length=316,
        widget=forms.TextInput({"autocomplete": "off", "size": 32}),
        help_text=_("Empty: as the trace has it."),
    )
    soft = forms.ChoiceField(label=_("A preferred or balanced rack is"), choices=list(traces.SOFT.items()))
    parts = forms.ChoiceField(
        label=_("A part of a GPU is"), choices=list(traces.PARTS.items()), initial="milli"
    )
    gang = forms.IntegerField(
        label=_("Most pods alike in a row that make one gang"),
        min_value=1,
        max_value=1000,
        initial=1,
        help_text=_("1: each pod is a workload of its own."),
    )
    denser = forms.IntegerField(
        label=_("Pods come so many times as often"), min_value=1, max_value=1_000_000, initial=1
    )
    one_rack = forms.BooleanField(label=_("Each workload must be in one rack"), required=False, initial=True)
    every = forms.IntegerField(
        label=_("Seconds from pod to pod"),
        min_value=1,
        max_value=86_400,
        initial=60,
        help_text=_("Only for files without times."),
    )
    run = forms.IntegerField(
        label=_("Seconds that a pod runs"),
        min_value=1,
        max_value=86_400 * 30,
        initial=3600,
        help_text=_("Only for files without times."),
    )
    drafts_of = forms.CharField(required=False, widget=forms.HiddenInput)
    """``field:draft`` of files that were sent before, separated by blanks."""

    def __init__(self, *args: Any, owner: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.owner = owner
        self.kept: dict[str, str] = {}
        self._bytes: dict[str, bytes] = {}

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        before = dict(pair.split(":", 1) for pair in str(given.get("drafts_of", "")).split() if ":" in pair)
        for name in FILES:
            upload = given.get(name)
            if upload is not None:
                self._bytes[name] = upload.read()
            elif name in before:
                data = drafts.load(before[name], self.owner)
                if data is None:
                    self.add_error(name, _("The file was kept for too short a time; choose it again."))
                else:
                    self._bytes[name], self.kept[name] = data, before[name]
        return given

    def keep(self) -> dict[str, str]:
        """Keep the files in which nothing is wrong for the next time the form is sent; field -> draft."""
        for name, data in self._bytes.items():
            if name not in self.kept and data and name not in self.errors:
                self.kept[name] = drafts.keep(data, self.owner)
        return {name: draft for name, draft in self.kept.items() if name not in self.errors}

    def drop(self) -> None:
        for draft in self.kept.values():
            drafts.drop(draft, self.owner)

    def contents(self) -> dict[str, bytes]:
        return {
            "trace": self._bytes.get("trace", b""),
            "pods": self._bytes.get("pods", b""),
            "nodes": self._bytes.get("nodes_file", b""),
        }

    def document(self) -> dict[str, Any]:
        """As ``trace_runs.read`` takes it; the form must be valid."""
        given = self.cleaned_data
        return {
            "source": given["source"],
            "file": ", ".join(sorted(given[name].name[:100] for name in FILES if given.get(name)))[:300],
            "nodes": given["nodes"],
            "occupied": given["occupied"],
            "profile": given["profile"],
            "gates": {gate: gate in given["gates"] for gate in TAS_GATES},
            "topology_key": given["topology_key"],
            "soft": given["soft"],
            "openb": {
                "parts": given["parts"],
                "gang": given["gang"],
                "denser": given["denser"],
                "one_rack": given["one_rack"],
                "every_ms": given["every"] * 1000,
                "run_ms": given["run"] * 1000,
            },
        }

    def blame(self, found: Iterable[Problem]) -> list[Problem]:
        """Put each problem at the field it is about; returns the others. What is wrong in a file is at the
        file, with the line.
        """
        others = []
        for problem in found:
            text = f"{wording.reason(problem)} {messages.translated(problem.message)}".strip()
            field = _AT.get(problem.path, problem.path)
            head, colon, _rest = problem.path.partition(": ")
            if problem.path.startswith("line "):
                field, text = "trace", f"{problem.path}: {text}"
            elif head in ("pods", "nodes") and colon:
                field, text = ("pods" if head == "pods" else "nodes_file"), f"{problem.path}: {text}"
            if field in self.fields:
                self.add_error(field, text)
            else:
                others.append(problem)
        return others
