"""Canaries in templates; the work is done in ``scheduling.wording.canary``."""

from __future__ import annotations

from django import template

from scheduling.engine.canary import Measured
from scheduling.wording import canary, words

register = template.Library()
register.filter("canary_scope", canary.scope)


@register.filter
def canary_verdict(code: str) -> str:
    return words.word(canary.VERDICTS, code)


@register.filter
def found(each: Measured, unit: str) -> str:
    """What was measured, with its unit."""
    return canary.found(each, unit)


@register.filter
def allowed(each: Measured, unit: str) -> str:
    """The limit, with its unit."""
    return canary.allowed(each.criterion, each.limit, unit)
