"""The submit form: a PodGroup and its members by kind, with as many kinds and resources as one needs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from scheduling.console.commands import with_first
from scheduling.console.numbers import whole
from scheduling.services.problems import Problem
from scheduling.services.submitting import MOST_MEMBERS
from scheduling.services.workloads import MemberTemplate, WorkloadForm
from scheduling.wording import messages
from scheduling.wording import problems as wording

MOST_TEMPLATES = 20
MOST_RESOURCES = 20
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
RESOURCES = (("cpu", "cpu"), ("memory", "memory"), ("gpu", "nvidia.com/gpu"))
"""Fields with a resource of their own; any other goes into the free rows."""

_PATH = re.compile(r"^templates\[(\d+)\]\.?([a-z_]*)\.?(.*)$")


class GroupForm(forms.Form):
    """The PodGroup itself."""

    namespace = forms.CharField(label=_("Namespace"), max_length=63, initial="default")
    name = forms.CharField(label=_("Name"), max_length=253)
    policy = forms.ChoiceField(
        label=_("Policy"),
        choices=[("gang", _("gang: minCount members at once")), ("basic", _("basic: one by one"))],
    )
    min_count = forms.IntegerField(label="minCount", min_value=1, initial=1, required=False)
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
    priority = forms.IntegerField(label=_("Priority"), initial=0, required=False)
    queue = forms.CharField(
        label=_("Queue"),
        required=False,
        max_length=63,
        widget=forms.TextInput({"list": "queues", "autocomplete": "off", "placeholder": _("empty: none")}),
    )


class TemplateForm(forms.Form):
    """One kind of member. Quantities are kept as typed; the service says what is wrong with them."""

    role = forms.CharField(label=_("Role (in the pods' names)"), required=False, max_length=63)
    count = forms.IntegerField(label=_("Members"), min_value=1, max_value=MOST_MEMBERS, initial=1)
    cpu = forms.CharField(label="cpu", required=False, max_length=40)
    memory = forms.CharField(label="memory", required=False, max_length=40)
    gpu = forms.CharField(label="nvidia.com/gpu", required=False, max_length=40)
    node_selector = forms.CharField(
        label="nodeSelector",
        required=False,
        widget=forms.Textarea({"rows": 2, "class": "mono", "spellcheck": "false"}),
        help_text=_("One key=value a line."),
    )
    tolerations = forms.CharField(
        label="tolerations",
        required=False,
        widget=forms.Textarea({"rows": 2, "class": "mono", "spellcheck": "false"}),
        help_text=_("One a line: key=value:effect, key:effect for any value, key for any effect, * for all."),
    )

    spread = forms.CharField(
        label="topologySpreadConstraints",
        required=False,
        widget=forms.Textarea({"rows": 2, "class": "mono", "spellcheck": "false"}),
        help_text=_(
            "One a line: key=maxSkew, or key=maxSkew minDomains=n; a ? in front makes it a preference."
        ),
    )

    def clean_node_selector(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in _lines(self.cleaned_data["node_selector"]):
            key, equals, value = line.partition("=")
            if not equals:
                raise forms.ValidationError(
                    _("“%(line)s” is not of the form key=value."), params={"line": line}
                )
            found[key.strip()] = value.strip()
        return found

    def clean_tolerations(self) -> tuple[dict[str, Any], ...]:
        return tuple(_toleration(line) for line in _lines(self.cleaned_data["tolerations"]))

    def clean_spread(self) -> tuple[dict[str, Any], ...]:
        return tuple(_spread_rule(line) for line in _lines(self.cleaned_data["spread"]))


class ResourceForm(forms.Form):
    """A resource that has no field of its own."""

    resource = forms.CharField(label=_("Resource"), required=False, max_length=253)
    amount = forms.CharField(label=_("Amount"), required=False, max_length=40)

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if given.get("amount") and not given.get("resource"):
            self.add_error("resource", _("Name the resource."))
        if given.get("resource") and not given.get("amount"):
            self.add_error("amount", _("Say how much of it."))
        return given


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _whole(line: str) -> dict[str, Any]:
    """What the short forms cannot say is written as in a manifest, as one object of JSON."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise forms.ValidationError(_("“%(line)s” is no object of JSON."), params={"line": line})
    return found


def _toleration(line: str) -> dict[str, Any]:
    """``key=value:effect``, ``key:effect``, ``key`` or ``*`` as in a pod's spec; else JSON."""
    if line.startswith("{"):
        return _whole(line)
    rest, colon, effect = line.rpartition(":")
    if not colon:
        rest, effect = line, ""
    elif effect not in EFFECTS:
        raise forms.ValidationError(
            _("“%(effect)s” is no effect of a taint: %(effects)s."),
            params={"effect": effect, "effects": ", ".join(EFFECTS)},
        )
    toleration = {"effect": effect} if effect else {}
    if rest == "*":
        return {"operator": "Exists", **toleration}
    key, equals, value = rest.partition("=")
    if equals:
        return {"key": key, "operator": "Equal", "value": value, **toleration}
    return {"key": key, "operator": "Exists", **toleration}


_SPREAD_RULE = re.compile(r"(\?)?\s*([^\s=?]+)=(\d{1,9})(?:\s+minDomains=(\d{1,9}))?")


def _spread_rule(line: str) -> dict[str, Any]:
    """``[?]key=maxSkew [minDomains=n]`` as in a pod's spec; else JSON."""
    if line.startswith("{"):
        return _whole(line)
    found = _SPREAD_RULE.fullmatch(line)
    if found is None:
        raise forms.ValidationError(
            _("“%(line)s” is not of the form key=maxSkew or key=maxSkew minDomains=n."), params={"line": line}
        )
    soft, key, skew, least = found.groups()
    when = "ScheduleAnyway" if soft else "DoNotSchedule"
    rule = {"topologyKey": key, "maxSkew": int(skew), "whenUnsatisfiable": when}
    return rule | ({"minDomains": int(least)} if least else {})


_F = TypeVar("_F", bound=forms.Form)


def typed(kind: type[_F], data: Mapping[str, Any] | None, prefix: str, *, judged: bool = True) -> _F:
    """A form with what was typed into it; without ``judged`` nothing is said about it yet."""
    if judged or data is None:
        return kind(data, prefix=prefix)
    start = f"{prefix}-" if prefix else ""
    names = kind.base_fields
    given = {name: data[f"{start}{name}"] for name in names if f"{start}{name}" in data}
    return kind(initial=given, prefix=prefix)


class TemplateRow:
    """A kind of member with its free resource rows, as the page shows them. ``within``: in front of the names
    of all its fields.
    """

    def __init__(
        self, data: Mapping[str, Any] | None, index: int, *, within: str = "", judged: bool = True
    ) -> None:
        self.index = index
        self.prefix = f"{within}t{index}"
        self.form = typed(TemplateForm, data, self.prefix, judged=judged)
        self.resources = [
            typed(ResourceForm, data, f"{self.prefix}-r{number}", judged=judged)
            for number in range(count_of(data, f"{self.prefix}-resources", 0, MOST_RESOURCES))
        ]

    def is_valid(self) -> bool:
        return all([self.form.is_valid(), *(row.is_valid() for row in self.resources)])

    def template(self) -> MemberTemplate:
        given = self.form.cleaned_data
        requests = {resource: given[field] for field, resource in RESOURCES if given[field]}
        for row in self.resources:
            if row.cleaned_data["resource"]:
                requests[row.cleaned_data["resource"]] = row.cleaned_data["amount"]
        return MemberTemplate(
            role=given["role"],
            count=given["count"],
            requests=requests,
            node_selector=given["node_selector"],
            tolerations=given["tolerations"],
            spread=given["spread"],
        )

    def blame(self, field: str, rest: str, message: str) -> bool:
        """Put a message at the field it is about; False when there is no such field."""
        if field in self.form.fields:
            self.form.add_error(field, message)
            return True
        if field != "requests":
            return False
        for name, resource in RESOURCES:
            if rest == resource:
                self.form.add_error(name, message)
                return True
        for row in self.resources:
            if rest and row.cleaned_data.get("resource") == rest:
                row.add_error("amount", message)
                return True
        return False


class SubmitForm:
    """The whole form. ``data`` carries how many rows there are: ``templates`` and, for each,
    ``t<i>-resources``.
    """

    def __init__(self, data: QueryDict | None = None, topology_key: str = "") -> None:
        self.group = GroupForm(data, initial={"topology_key": topology_key})
        rows = count_of(data, "templates", 1, MOST_TEMPLATES) if data is not None else 1
        self.templates = [TemplateRow(data, index) for index in range(rows)]
        self.problems: list[Problem] = []

    def is_valid(self) -> bool:
        return all([self.group.is_valid(), *(row.is_valid() for row in self.templates)])

    def workload(self) -> WorkloadForm:
        """What the service is asked; the form must be valid."""
        given = self.group.cleaned_data
        return WorkloadForm(
            namespace=given["namespace"],
            name=given["name"],
            policy=given["policy"],
            min_count=given["min_count"] if given["min_count"] is not None else 1,
            topology_key=given["topology_key"],
            priority=given["priority"] or 0,
            queue=given["queue"],
            templates=tuple(row.template() for row in self.templates),
        )

    def blame(self, found: Iterable[Problem]) -> None:
        """Put each problem at the field that its path names; what has no field stays in ``problems``."""
        for problem in found:
            text = f"{wording.reason(problem)} {messages.translated(problem.message)}".strip()
            message = with_first(text, problem.first)
            inner = _PATH.match(problem.path)
            if problem.path in self.group.fields:
                self.group.add_error(problem.path, message)
            elif (
                inner is None
                or int(inner[1]) >= len(self.templates)
                or not self.templates[int(inner[1])].blame(inner[2], inner[3], message)
            ):
                self.problems.append(problem)


def count_of(data: Mapping[str, Any] | None, name: str, least: int, most: int) -> int:
    text = str(data.get(name, "")) if data is not None else ""
    found = whole(text)
    return least if found is None else min(max(found, least), most)


def reshaped(data: QueryDict, action: str, within: str = "") -> QueryDict:
    """The posted form with a row more or less: ``add``, ``remove:<i>``, ``add-resource:<i>``,
    ``remove-resource:<i>:<r>``. ``within``: in front of the names of all its fields.

    Fields of rows behind a removed one move up, so that nothing that was typed is lost.
    """
    changed = data.copy()
    name, _colon, place = action.partition(":")
    count, row = f"{within}templates", f"{within}t"
    rows, at = count_of(data, count, 1, MOST_TEMPLATES), whole(place)
    if name == "add":
        changed[count] = str(min(rows + 1, MOST_TEMPLATES))
        changed[f"{row}{rows}-count"] = "1"
    elif name == "remove" and at is not None and rows > 1:
        drop_row(changed, row, at, rows)
        changed[count] = str(rows - 1)
    elif name == "add-resource" and at is not None:
        counter = f"{row}{place}-resources"
        changed[counter] = str(min(count_of(data, counter, 0, MOST_RESOURCES) + 1, MOST_RESOURCES))
    elif name == "remove-resource" and re.fullmatch(r"[0-9]{1,4}:[0-9]{1,4}", place):
        template, resource = place.split(":")
        counter = f"{row}{template}-resources"
        left = count_of(data, counter, 0, MOST_RESOURCES)
        if left:
            drop_row(changed, f"{row}{template}-r", int(resource), left)
            changed[counter] = str(left - 1)
    return changed


def drop_row(data: QueryDict, prefix: str, gone: int, rows: int) -> None:
    """Drop the fields of row ``gone`` and move those of later rows one up."""
    taken = take_rows(data, prefix, rows)
    put_rows(data, prefix, taken[:gone] + taken[gone + 1 :])


def take_rows(data: QueryDict, prefix: str, rows: int) -> list[dict[str, list[str]]]:
    """The fields of each row, which are not in ``data`` any more: name without the row -> values."""
    taken = []
    for index in range(rows):
        head = f"{prefix}{index}-"
        names = [name for name in data if name.startswith(head)]
        taken.append({name.removeprefix(head): data.getlist(name) for name in names})
        for name in names:
            del data[name]
    return taken


def put_rows(data: QueryDict, prefix: str, rows: Iterable[Mapping[str, list[str]]]) -> None:
    for index, row in enumerate(rows):
        for name, values in row.items():
            data.setlist(f"{prefix}{index}-{name}", list(values))
