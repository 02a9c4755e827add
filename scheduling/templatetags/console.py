"""Words for codes in templates, and the few tags that forms need."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from django import template
from django.forms import BoundField
from django.utils.safestring import SafeString, mark_safe

from scheduling.wording import differences, messages, problems, scenarios, words, workbench

register = template.Library()

_TABLES = {
    "verdict": words.SHOWN_VERDICTS,
    "reason": words.REASONS,
    "status": words.STATUSES,
    "mode": words.MODES,
    "policy": words.POLICIES,
    "subject": words.SUBJECTS,
    "event": words.EVENT_TYPES,
    "close": words.CLOSE_REASONS,
    "lifted": {**words.LIFTED_BY, "never_in_quota": words.LIFTED_FROM_NEVER_IN_QUOTA},
    "problem": words.PROBLEMS,
    "what": differences.WHATS,
    "holder": words.HOLDERS,
    "queue order": words.QUEUE_ORDERS,
    "why": words.WHYS,
    "action": words.WAIT_ACTIONS,
    "run": workbench.KINDS,
    "run status": workbench.STATUSES,
    "became": scenarios.BECAME,
    "role": scenarios.ROLES,
    "reality": scenarios.REALITY,
}

_LOOKS = {
    "scheduled": "ok",
    "pending": "wait",
    "held": "hold",
    "error": "bad",
    "finished": "off",
    "empty": "off",
    "degraded": "bad",
    "placed": "ok",
    "proved_infeasible": "bad",
    "not_found": "wait",
    "conflicted": "bad",
    "short": "bad",
    "lost_domain": "bad",
    "not_ready": "bad",
    "left": "off",
    "closed": "off",
    "cordoned": "wait",
    "ready": "ok",
    "uncordoned": "ok",
    "bound": "ok",
    "joined": "ok",
    "planned": "wait",
    "rejected": "off",
    "expired": "off",
    "completed": "ok",
    "running": "info",
    "waiting": "wait",
    "done": "ok",
    "failed": "bad",
    "cancelled": "off",
    "runs_on": "ok",
    "moved": "info",
    "waits": "wait",
    "waits_on": "wait",
    "stopped": "bad",
    "agrees": "ok",
    "differs": "bad",
    "not_submitted": "off",
    "another_group": "info",
    "not_decided": "wait",
    "ended": "off",
}


@register.filter
def word(code: str, table: str) -> str:
    """``{{ row.reason|word:"reason" }}``: the word for a code in the reader's language."""
    return words.word(_TABLES[table], code)


@register.filter
def look(code: str) -> str:
    """The class of a ``.tag`` for a state or a verdict."""
    return _LOOKS.get(code, "info")


@register.filter
def verdict_look(code: str) -> str:
    """The class of a ``.verdict`` box."""
    return {"placed": "ok", "conflicted": "bad", "held": "info", "forecast": "info"}.get(code, "")


@register.filter
def cause(code: str) -> str:
    return words.cause(code)


@register.filter
def kind(topology_key: str) -> str:
    """What one domain of the key is called: rack, zone."""
    return words.domain_kind(topology_key)


@register.filter
def unmodelled(names: object) -> str:
    return words.unmodelled(names)


@register.filter
def problem(value: object) -> str:
    return problems.sentence(value)


@register.filter
def came_first(value: object) -> str:
    return problems.came_first(value)


@register.filter
def profile(name: str) -> str:
    return scenarios.profile(name)


@register.filter
def message(text: str) -> str:
    """What a reader of manifests said, in the reader's language where it is one of the common sentences."""
    return messages.translated(text)


@register.filter
def of(table: Mapping[str, object] | None, key: str) -> object:
    """``{{ table|of:key }}``: what a mapping has for the key, None when nothing."""
    return table.get(key) if table else None


@register.filter
def problem_subject(value: object) -> str:
    return problems.subject(value)


@register.filter
def domain_segment(value: str) -> str:
    """A label value as a part of an address: ``-``, which is no label value, stands for the empty one."""
    return value or "-"


@register.simple_tag
def command_id() -> SafeString:
    """A hidden field that makes a form sent twice happen once."""
    return mark_safe(f'<input type="hidden" name="command_id" value="{uuid.uuid4()}">')


@register.inclusion_tag("scheduling/parts/field.html")
def field(bound: BoundField) -> dict[str, object]:
    """A form field with its label, hint and errors, tied together for screen readers."""
    hint = f"{bound.auto_id}-hint" if bound.help_text else ""
    errors = f"{bound.auto_id}-errors" if bound.errors else ""
    attributes: dict[str, str | bool] = {}
    if hint or errors:
        attributes["aria-describedby"] = f"{errors} {hint}".strip()
    if errors:
        attributes["aria-invalid"] = "true"
    return {
        "bound": bound,
        "widget": bound.as_widget(attrs=attributes),
        "hint_id": hint,
        "errors_id": errors,
        "tick": getattr(bound.field.widget, "input_type", "") == "checkbox"
        and not hasattr(bound.field, "choices"),
    }
