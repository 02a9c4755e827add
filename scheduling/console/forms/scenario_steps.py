"""One card of the form of a scenario: its fields are made of the model of the step, so that a step that gets
a field more has it on the page too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args, get_origin

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from pydantic.fields import FieldInfo

from scheduling.console.forms.submit import (
    MOST_RESOURCES,
    MOST_TEMPLATES,
    RESOURCES,
    TemplateRow,
    count_of,
    typed,
)
from scheduling.scenarios.steps import STEPS, Part
from scheduling.wording.scenarios import STEP_KINDS

MODELS: dict[str, type[Part]] = {kind.model_fields["step"].default: kind for kind in STEPS}
"""Kind of step -> its model, in the order in which they are offered."""

SUBMIT = "submit"


@dataclass(frozen=True, slots=True)
class Look:
    """How a field of a step is shown. ``offers``: the list on the page that names what there is."""

    label: Any
    hint: Any = ""
    offers: str = ""
    choices: tuple[tuple[str, Any], ...] = ()
    wide: bool = False


_PLACE = _("Either a node, or a topology key and one of its domains: then all its nodes.")
_GROUP = Look("PodGroup", "namespace/name", "groups")

LOOKS: dict[str, Look] = {
    "node": Look(_("Node"), _PLACE, "nodes"),
    "key": Look(_("Topology key"), "", "topology-keys"),
    "domain": Look(_("Domain"), "", "domains"),
    "namespace": Look(_("Namespace"), "", "namespaces"),
    "name": Look(_("Name")),
    "policy": Look(
        _("Policy"),
        choices=(("gang", _("gang: minCount members at once")), ("basic", _("basic: one by one"))),
    ),
    "min_count": Look("minCount"),
    "topology_key": Look(_("Topology key"), _("empty: no constraint"), "topology-keys"),
    "priority": Look(_("Priority")),
    "queue": Look(_("Queue"), _("empty: none"), "queues"),
    "manifest": Look(_("PodGroups and their Pods, YAML or JSON"), wide=True),
    "ready": Look(
        _("They become"),
        choices=(
            ("false", pgettext_lazy("node state", "not ready")),
            ("true", pgettext_lazy("node state", "ready")),
        ),
    ),
    "label": Look(_("Label"), "", "labels"),
    "value": Look(_("Value")),
    "count": Look(_("How many")),
    "type": Look(_("Node type"), _("Either a type, or a node that the new ones are like."), "node-types"),
    "like": Look(_("Like node"), "", "nodes"),
    "product": Look(_("GPU product"), "", "products"),
    "gpus": Look(_("GPUs a node"), _("empty: as many as before")),
    "group": _GROUP,
    "pod": Look(_("Pod"), _("empty: the first ones")),
    "gate": Look(_("Feature gate"), "", "gates"),
    "enabled": Look(
        _("Switch it"),
        choices=(("false", pgettext_lazy("gate", "off")), ("true", pgettext_lazy("gate", "on"))),
    ),
    "seconds": Look(_("Seconds"), _("3600 are an hour, 86400 a day.")),
    "effect": Look(_("Effect")),
    "tolerate.key": Look(_("Key of the taint")),
    "tolerate.value": Look(_("Value of the taint")),
    "release_reservation.name": Look(_("Reservation"), "", "reservations"),
    "set_label.value": Look(_("Value"), _("May be empty: that is a value too.")),
    "add_nodes.key": Look(_("Topology key"), _("of the domain they join"), "topology-keys"),
    "change_gpu.label": Look(_("Label of the product"), "", "labels"),
}
"""Name of a field, or kind of step and name where it is special there."""

_WHOLE = r"[-+]?\d{1,18}"
_FIRST = ("node", "key", "domain", "group", "gate")


class LongText(forms.CharField):
    """Browsers send the ends of lines as CR LF; documents have LF."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")


def look(kind: str, name: str) -> Look:
    return LOOKS.get(f"{kind}.{name}") or LOOKS.get(name) or Look(name)


@cache
def fields(kind: str) -> dict[str, FieldInfo]:
    """What is typed into a card of the kind: what the step is about first. The members that a submission has
    are rows of their own.
    """
    found = {
        name: info for name, info in MODELS[kind].model_fields.items() if name not in ("step", "templates")
    }
    return dict(sorted(found.items(), key=lambda item: item[0] not in _FIRST))


@cache
def form_class(kind: str) -> type[forms.Form]:
    made = {name: _field(kind, name, info) for name, info in fields(kind).items()}
    return type(f"{MODELS[kind].__name__}Form", (forms.Form,), made)


def _options(kind: str, name: str, info: FieldInfo) -> tuple[tuple[str, Any], ...]:
    if get_origin(info.annotation) is Literal:
        return look(kind, name).choices or tuple((value, value) for value in get_args(info.annotation))
    return look(kind, name).choices if info.annotation is bool else ()


def is_whole(info: FieldInfo) -> bool:
    return info.annotation is int or info.annotation == int | None


def _field(kind: str, name: str, info: FieldInfo) -> forms.Field:
    """Nothing is required and nothing bounded here: the document says that."""
    shown = look(kind, name)
    start = "" if info.is_required() or info.default is None else as_text(info.default)
    common: dict[str, Any] = {
        "label": shown.label,
        "help_text": shown.hint,
        "required": False,
        "initial": start,
    }
    if options := _options(kind, name, info):
        return forms.ChoiceField(choices=options, **common)
    if is_whole(info):
        bounds = {
            side: getattr(rule, side)
            for rule in info.metadata
            for side in ("ge", "le")
            if hasattr(rule, side)
        }
        names = {"ge": "min", "le": "max"}
        return forms.IntegerField(
            widget=forms.NumberInput({names[side]: bound for side, bound in bounds.items()}), **common
        )
    if shown.wide:
        widget: forms.Widget = forms.Textarea({"rows": 12, "class": "mono", "spellcheck": "false"})
        return LongText(widget=widget, strip=False, **common)
    listed = {"list": shown.offers, "autocomplete": "off"} if shown.offers else {}
    return forms.CharField(widget=forms.TextInput({"size": 24, **listed}), **common)


def as_text(value: object) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _said(kind: str, name: str, info: FieldInfo, given: Mapping[str, Any]) -> Any:
    """What a document has for a field; None: it is left out of it."""
    found = given.get(name)
    if is_whole(info):
        return found
    if info.annotation is bool:
        return {"true": True, "false": False}.get(str(found))
    if found:
        return found
    if name == "domain" and kind != "add_nodes" and given.get("key"):
        return ""  # an empty label value is a domain too
    bounded = any(
        getattr(rule, "min_length", None) or getattr(rule, "pattern", None) for rule in info.metadata
    )
    return "" if info.is_required() and not bounded and info.annotation is str else None


@dataclass(slots=True)
class StepCard:
    """``index``: its place from 0. ``problems``: messages that have no field. ``rows``: the kinds of members
    of a submission.
    """

    index: int
    kind: str
    form: forms.Form
    rows: list[TemplateRow]
    problems: list[str] = field(default_factory=list)
    moved: bool = False

    @classmethod
    def of(cls, data: Mapping[str, Any], index: int, judged: bool) -> StepCard:
        """KeyError for a kind that there is not."""
        prefix = f"s{index}"
        kind = str(data.get(f"{prefix}-step", ""))
        form = typed(form_class(kind), data, prefix, judged=judged)
        number = count_of(data, f"{prefix}-templates", 1, MOST_TEMPLATES) if kind == SUBMIT else 0
        rows = [TemplateRow(data, place, within=f"{prefix}-", judged=judged) for place in range(number)]
        return cls(index, kind, form, rows)

    @property
    def prefix(self) -> str:
        return f"s{self.index}"

    @property
    def title(self) -> str:
        return str(STEP_KINDS[self.kind])

    @property
    def wrong(self) -> bool:
        forms_of_it = [self.form, *(part for row in self.rows for part in (row.form, *row.resources))]
        return bool(self.problems) or any(part.errors for part in forms_of_it)

    def is_valid(self) -> bool:
        return all([self.form.is_valid(), *(row.is_valid() for row in self.rows)])

    def value(self) -> dict[str, Any]:
        """The step as a document has it; the card must be valid."""
        given = self.form.cleaned_data
        said = {name: _said(self.kind, name, info, given) for name, info in fields(self.kind).items()}
        step = {"step": self.kind, **{name: value for name, value in said.items() if value is not None}}
        if self.rows:
            step["templates"] = [_members(row) for row in self.rows]
        return step

    def blame(self, path: str, message: str) -> None:
        """``path``: within the step."""
        if path in self.form.fields:
            self.form.add_error(path, message)
            return
        name, _bracket, rest = path.partition("[")
        place, _close, inner = rest.partition("]")
        if name == "templates" and place.isdigit() and int(place) < len(self.rows):
            part, _dot, below = inner.removeprefix(".").partition(".")
            if self.rows[int(place)].blame(part.partition("[")[0], below, message):
                return
        self.problems.append(f"{path}: {message}" if path else message)


def _members(row: TemplateRow) -> dict[str, Any]:
    made = row.template()
    found: dict[str, Any] = {"role": made.role, "count": made.count, "requests": dict(made.requests)}
    found |= {"node_selector": dict(made.node_selector), "tolerations": list(made.tolerations)}
    found["spread"] = list(made.spread)
    return {name: value for name, value in found.items() if value}


class Unshowable(ValueError):
    """A value that no field of the form can show; ``path`` says which."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def new_step(kind: str) -> dict[str, str]:
    """The fields of a card as it is added."""
    found = {"step": kind}
    for name, info in fields(kind).items():
        options = _options(kind, name, info)
        if not info.is_required() and info.default is not None:
            found[name] = as_text(info.default)
        elif options:
            found[name] = options[0][0]
    if kind == SUBMIT:
        found |= {"templates": "1", "t0-count": "1", "t0-resources": "0", "namespace": "default"}
    return found


def typed_step(step: Any, path: str) -> dict[str, str]:
    """A step of a document, also of one that is not right, as the fields of a card. Raises Unshowable."""
    kind = step.get("step") if isinstance(step, dict) else None
    if not isinstance(kind, str) or kind not in MODELS:
        raise Unshowable(f"{path}.step" if isinstance(step, dict) else path)
    found = new_step(kind)
    for name, info in fields(kind).items():
        if name not in step:
            if info.is_required() or info.default is None:
                found.pop(name, None)
            continue
        found[name] = _text(step[name], f"{path}.{name}")
    rows = step.get("templates", [])
    if not isinstance(rows, list) or len(rows) > MOST_TEMPLATES or (rows and kind != SUBMIT):
        raise Unshowable(f"{path}.templates")
    unknown = [name for name in step if name not in (*fields(kind), "step", "templates")]
    if unknown:
        raise Unshowable(f"{path}.{unknown[0]}")
    if rows:
        found["templates"] = str(len(rows))
        for place, row in enumerate(rows):
            inner = _typed_members(row, f"{path}.templates[{place}]")
            found |= {f"t{place}-{name}": value for name, value in inner.items()}
    return found


def _text(value: Any, path: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str | int) or (isinstance(value, str) and "\0" in value):
        raise Unshowable(path)
    return as_text(value)


def _typed_members(row: Any, path: str) -> dict[str, str]:
    known = ("role", "count", "requests", "node_selector", "tolerations", "spread")
    if not isinstance(row, dict) or any(name not in known for name in row):
        raise Unshowable(path)
    requests = _mapping(row.get("requests", {}), f"{path}.requests")
    own = {resource: name for name, resource in RESOURCES}
    found = {own[resource]: amount for resource, amount in requests.items() if resource in own}
    others = [(resource, amount) for resource, amount in requests.items() if resource not in own]
    if len(others) > MOST_RESOURCES:
        raise Unshowable(f"{path}.requests")
    for number, (resource, amount) in enumerate(others):
        found |= {f"r{number}-resource": resource, f"r{number}-amount": amount}
    selector = _mapping(row.get("node_selector", {}), f"{path}.node_selector")
    return found | {
        "resources": str(len(others)),
        "role": _text(row.get("role", ""), f"{path}.role"),
        "count": _text(row.get("count", 1), f"{path}.count"),
        "node_selector": "\n".join(f"{key}={value}" for key, value in selector.items()),
        "tolerations": _lines(row.get("tolerations", []), f"{path}.tolerations", _toleration),
        "spread": _lines(row.get("spread", []), f"{path}.spread", _spread),
    }


def _mapping(value: Any, path: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise Unshowable(path)
    for key, text in value.items():
        if not isinstance(text, str) or "\n" in key + text:
            raise Unshowable(f"{path}.{key}")
    return value


def _lines(value: Any, path: str, short: Any) -> str:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise Unshowable(path)
    return "\n".join(short(entry) or json.dumps(entry, ensure_ascii=False) for entry in value)


def _toleration(entry: dict[str, Any]) -> str:
    """As the form writes it; "" for one that it has no short form for."""
    effect = f":{entry['effect']}" if entry.get("effect") else ""
    if not {*entry} <= {"key", "operator", "value", "effect"}:
        return ""
    if entry.get("operator") == "Exists" and "value" not in entry:
        return f"{entry.get('key', '*')}{effect}"
    if entry.get("operator") == "Equal" and "key" in entry and "value" in entry:
        return f"{entry['key']}={entry['value']}{effect}"
    return ""


def _spread(entry: dict[str, Any]) -> str:
    when = entry.get("whenUnsatisfiable")
    if (
        not {*entry} <= {"topologyKey", "maxSkew", "whenUnsatisfiable", "minDomains"}
        or "topologyKey" not in entry
    ):
        return ""
    if when not in ("DoNotSchedule", "ScheduleAnyway") or not isinstance(entry.get("maxSkew"), int):
        return ""
    soft = "?" if when == "ScheduleAnyway" else ""
    least = f" minDomains={entry['minDomains']}" if "minDomains" in entry else ""
    return f"{soft}{entry['topologyKey']}={entry['maxSkew']}{least}"
