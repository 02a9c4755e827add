"""What advice is asked for: a group or a workload, and the numbers of the model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from scheduling.console.forms.submit import RESOURCES
from scheduling.console.forms.waits import BlamedForm
from scheduling.engine import communication
from scheduling.engine.communication import Level
from scheduling.services.problems import Problem
from scheduling.services.submitting import MOST_MEMBERS
from scheduling.wording.advice import LEVELS

MODEL = communication.DEFAULTS
_HOUR_MS = 3_600_000


class AdviceForm(BlamedForm):
    """Asked by GET, so that an answer has an address. Whole numbers, in the units of their labels."""

    group = forms.CharField(
        label=_("An open PodGroup"),
        required=False,
        max_length=316,
        widget=forms.TextInput({"list": "groups", "autocomplete": "off", "size": 32}),
    )
    count = forms.IntegerField(
        label=_("or members alike"), required=False, min_value=1, max_value=MOST_MEMBERS
    )
    min_count = forms.IntegerField(label="minCount", required=False, min_value=1)
    cpu = forms.CharField(label="cpu", required=False, max_length=40)
    memory = forms.CharField(label="memory", required=False, max_length=40)
    gpu = forms.CharField(label="nvidia.com/gpu", required=False, max_length=40)
    node_selector = forms.CharField(
        label="nodeSelector",
        required=False,
        max_length=2000,
        widget=forms.TextInput({"autocomplete": "off", "size": 32, "placeholder": "key=value"}),
    )
    topology_key = forms.CharField(
        label=_("Topology key"),
        required=False,
        max_length=316,
        widget=forms.TextInput({"list": "topology-keys", "autocomplete": "off", "size": 32}),
        help_text=_("Empty: the group's own."),
    )
    job_hours = forms.IntegerField(
        label=_("Length of the job in one domain (hours)"), min_value=1, max_value=87_600, initial=24
    )
    worth = forms.IntegerField(
        label=_("Least gain worth a constraint (%)"), min_value=0, max_value=1000, initial=5
    )
    collective = forms.ChoiceField(
        label=_("All-reduce"), choices=[("ring", _("ring")), ("tree", _("tree"))], initial="ring"
    )
    gradient_mb = forms.IntegerField(
        label=_("Gradient (MB)"), min_value=0, max_value=10**9, initial=MODEL.bytes_per_step // 10**6
    )
    compute_ms = forms.IntegerField(
        label=_("Computing of a step (ms)"),
        min_value=1,
        max_value=86_400_000,
        initial=MODEL.compute_us // 1000,
    )
    overlap = forms.IntegerField(
        label=_("Overlap (thousandths of computing)"),
        min_value=0,
        max_value=1000,
        initial=MODEL.overlap_thousandths,
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        for level in Level:
            link = MODEL.link(level)
            self.fields[f"{level}_mb_s"] = forms.IntegerField(
                label=_("Bandwidth %(level)s (MB/s)") % {"level": LEVELS[level]},
                min_value=1, max_value=communication.MOST_MB_S, initial=link.bandwidth_mb_s,
            )  # fmt: skip
            self.fields[f"{level}_ns"] = forms.IntegerField(
                label=_("Latency %(level)s (ns)") % {"level": LEVELS[level]},
                min_value=0, max_value=communication.MOST_LATENCY_NS, initial=link.latency_ns,
            )  # fmt: skip

    @property
    def links(self) -> list[Any]:
        return [self[f"{level}_{part}"] for level in Level for part in ("mb_s", "ns")]

    def document(self) -> dict[str, Any]:
        """As ``scenarios.advice.AdviceDocument`` has it; the form must be valid."""
        given = self.cleaned_data
        document: dict[str, Any] = {
            "topology_key": given["topology_key"],
            "job_ms": given["job_hours"] * _HOUR_MS,
            "worth": given["worth"] * 10,
            "model": {
                "collective": given["collective"],
                "bytes_per_step": given["gradient_mb"] * 10**6,
                "compute_us": given["compute_ms"] * 1000,
                "overlap_thousandths": given["overlap"],
                **{
                    str(level): {
                        "bandwidth_mb_s": given[f"{level}_mb_s"],
                        "latency_ns": given[f"{level}_ns"],
                    }
                    for level in Level
                },
            },
        }
        if given["group"]:
            document["group"] = given["group"]
        if given["count"]:
            document["workload"] = {
                "namespace": "default",
                "name": "asked-for",
                "min_count": given["min_count"] or given["count"],
                "topology_key": given["topology_key"],
                "templates": [
                    {
                        "count": given["count"],
                        "requests": {resource: given[name] for name, resource in RESOURCES if given[name]},
                        "node_selector": given["node_selector"],
                    }
                ],
            }
        return document

    def clean_node_selector(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for part in filter(None, re.split(r"[\s,]+", self.cleaned_data["node_selector"])):
            key, equals, value = part.partition("=")
            if not equals:
                raise forms.ValidationError(
                    _("“%(line)s” is not of the form key=value."), params={"line": part}
                )
            found[key] = value
        return found

    def blame(self, found: Iterable[Problem], fields: dict[str, str] | None = None) -> None:
        """Paths are of the document."""
        asked = {"workload.min_count": "min_count", "workload.topology_key": "topology_key"}
        asked |= {f"workload.templates[0].requests.{resource}": name for name, resource in RESOURCES}
        asked |= {
            "workload.templates[0].count": "count",
            "workload.templates[0].node_selector": "node_selector",
            "workload.templates[0].requests": "cpu",
        }
        super().blame(found, asked | (fields or {}))
