"""Fields before and after in templates; the words are made in ``scheduling.wording.differences``."""

from __future__ import annotations

from django import template

from scheduling.selectors.pictures import Field
from scheduling.wording import differences

register = template.Library()


@register.filter
def was(field: Field) -> str:
    """The value before."""
    return differences.value(field.name, field.before)


@register.filter
def became(field: Field) -> str:
    """The value after."""
    return differences.value(field.name, field.after)
