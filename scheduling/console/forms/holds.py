"""Forms for reservations and queues."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from scheduling.engine.queues import Queue
from scheduling.services.holding import Wish
from scheduling.services.problems import Problem
from scheduling.wording import messages, words
from scheduling.wording import problems as wording

RESOURCES = (("cpu", "cpu"), ("memory", "memory"), ("gpu", "nvidia.com/gpu"))


class _Blamed(forms.Form):
    """A form that shows a service's problems at its fields."""

    AT: dict[str, str] = {}
    """Path of a problem -> field, where they differ."""

    def blame(self, found: Iterable[Problem]) -> None:
        for problem in found:
            message = f"{wording.reason(problem)} {messages.translated(problem.message)}".strip()
            path = self.AT.get(problem.path, problem.path)
            self.add_error(path if path in self.fields else None, message)


class ReservationForm(_Blamed):
    """Either whole nodes, or room for members. Quantities are kept as typed."""

    AT = {"requests": "cpu"}

    topology_key = forms.CharField(
        label=_("Topology key"),
        max_length=317,
        widget=forms.TextInput({"list": "topology-keys", "autocomplete": "off", "size": 32}),
    )
    domain = forms.CharField(label=_("Domain"), required=False, max_length=63)
    holder_kind = forms.ChoiceField(label=_("For a"), choices=list(words.HOLDERS.items()))
    holder = forms.CharField(
        label=_("Name"), max_length=320, help_text=_("namespace/name of a PodGroup, a namespace, or a queue.")
    )
    nodes = forms.IntegerField(label=_("Whole free nodes"), min_value=0, required=False)
    members = forms.IntegerField(label=_("or room for members"), min_value=0, required=False)
    like = forms.CharField(
        label=_("like those of the PodGroup"), required=False, max_length=320, help_text="namespace/name"
    )
    cpu = forms.CharField(label=_("or each with cpu"), required=False, max_length=40)
    memory = forms.CharField(label="memory", required=False, max_length=40)
    gpu = forms.CharField(label="nvidia.com/gpu", required=False, max_length=40)
    minutes = forms.IntegerField(
        label=_("Expires after minutes"), min_value=1, required=False, help_text=_("Empty: never.")
    )

    def wish(self) -> Wish:
        given = self.cleaned_data
        return Wish(
            topology_key=given["topology_key"],
            domain=given["domain"],
            holder_kind=given["holder_kind"],
            holder=given["holder"],
            nodes=given["nodes"] or 0,
            members=given["members"] or 0,
            requests={resource: given[field] for field, resource in RESOURCES if given[field]},
            like=given["like"],
            minutes=given["minutes"],
        )


class QueueForm(_Blamed):
    """A queue as it is to be."""

    name = forms.CharField(label=_("Name"), max_length=63)
    priority = forms.IntegerField(label=_("Priority"), initial=0, required=False)
    quota = forms.IntegerField(
        label=_("GPU quota"), min_value=0, required=False, help_text=_("Empty: no limit.")
    )
    order = forms.ChoiceField(label=_("Order"), choices=list(words.QUEUE_ORDERS.items()))

    def queue(self) -> Queue:
        given: dict[str, Any] = self.cleaned_data
        return Queue(given["name"], given["priority"] or 0, given["quota"], given["order"])
