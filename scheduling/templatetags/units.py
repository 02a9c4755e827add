"""Amounts in templates; the work is done in ``scheduling.wording.units``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling.ledger.store import to_datetime
from scheduling.wording import units

register = template.Library()
register.filter("count", units.count)
register.filter("duration", units.duration)
register.filter("took", units.took)


@register.filter
def amount(value: int, resource: str) -> str:
    """``{{ 4000|amount:"cpu" }}`` is ``4``."""
    return units.amount(resource, value)


@register.filter
def quantities(pairs: Iterable[Iterable[object]] | Mapping[str, int] | None) -> str:
    """(resource, amount) pairs, or a mapping of them, as one list."""
    if not pairs:
        return ""
    return units.quantities(pairs.items() if isinstance(pairs, Mapping) else pairs)


@register.filter
def requests(pairs: Iterable[Iterable[object]] | Mapping[str, int]) -> str:
    """What a pod asks for; that it is one pod goes without saying."""
    asked = pairs.items() if isinstance(pairs, Mapping) else pairs
    return units.quantities(pair for pair in map(tuple, asked) if pair != ("pods", 1)) or "–"


@register.filter
def when(value: datetime | None) -> SafeString | str:
    """A time in the reader's zone, always with the zone; the machine-readable one is in UTC."""
    if value is None:
        return "–"
    local = timezone.localtime(value)
    return format_html(
        '<time datetime="{}">{}</time>',
        value.astimezone(timezone.get_fixed_timezone(0)).isoformat(timespec="seconds"),
        f"{local:%Y-%m-%d %H:%M:%S %Z}",
    )


@register.filter
def waited(since: datetime | None) -> str:
    """How long ago a time was."""
    return units.duration((timezone.now() - since).total_seconds()) if since else "–"


@register.filter
def at(milliseconds: int | None) -> SafeString | str:
    """A time of the log as ``when``."""
    return when(None if milliseconds is None else to_datetime(milliseconds))


@register.filter
def ago(milliseconds: int | None) -> str:
    """How long ago a time of the log was."""
    return waited(None if milliseconds is None else to_datetime(milliseconds))


@register.filter
def left(milliseconds: int) -> str:
    """How long it is until a time of the log."""
    return units.duration((to_datetime(milliseconds) - timezone.now()).total_seconds())


@register.filter
def milliseconds(value: int) -> str:
    """How long something took."""
    return units.took(value)


@register.filter
def subtract(value: Any, other: Any) -> int:
    """``value - other`` for whole numbers."""
    return int(value) - int(other)
