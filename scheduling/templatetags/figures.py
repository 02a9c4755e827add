"""Figures of results, which are kept as whole numbers."""

from __future__ import annotations

from django import template
from django.utils.formats import number_format

from scheduling.wording import units

register = template.Library()


@register.filter
def milliseconds(value: int | None) -> str:
    """Under ten seconds exactly: ``1,250 ms``; then as times are told. "–": never measured."""
    if value is None or value == "":
        return "–"
    return f"{units.count(value)} ms" if value < 10_000 else units.took(value)


@register.filter
def per_mille(value: int) -> str:
    """``624`` as ``62.4%``."""
    return f"{number_format(value / 10, decimal_pos=1, use_l10n=True)}%"


@register.filter
def thousandths(value: int) -> str:
    """``1250`` as ``1.2``."""
    return str(number_format(value / 1000, decimal_pos=1, use_l10n=True, force_grouping=True))
