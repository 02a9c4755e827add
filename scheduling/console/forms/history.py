"""The filters of the history."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _

from scheduling.selectors.event_search import Filters
from scheduling.wording import words

PLACES = ("before", "after")
"""Where in the list the page is; no filters."""


class LocalTime(forms.DateTimeInput):
    """A time as the browser's own field wants it: without a zone, in the reader's. In an address it may have
    one.
    """

    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__({"step": 1})

    def format_value(self, value: Any) -> str | None:
        moment = parse_datetime(value) if isinstance(value, str) and _is_time(value) else value
        if isinstance(moment, datetime) and timezone.is_aware(moment):
            return f"{timezone.localtime(moment):%Y-%m-%dT%H:%M:%S}"
        return super().format_value(value)


def _is_time(text: str) -> bool:
    try:
        return parse_datetime(text) is not None
    except ValueError:
        return False


class HistoryFilter(forms.Form):
    """All optional. Times are read in the reader's zone; ``first`` and ``last`` bound the numbers of the
    events.
    """

    type = forms.ChoiceField(
        label=_("Type"), required=False, choices=[("", _("any")), *words.EVENT_TYPES.items()]
    )
    subject = forms.ChoiceField(
        label=_("About"), required=False, choices=[("", _("any")), *words.SUBJECTS.items()]
    )
    namespace = forms.CharField(label=_("Namespace"), required=False, max_length=63)
    name = forms.CharField(label=_("Name"), required=False, max_length=253)
    actor = forms.CharField(label=_("Actor"), required=False, max_length=150)
    text = forms.CharField(label=_("Text in the body"), required=False, max_length=200)
    since = forms.DateTimeField(label=_("From"), required=False, widget=LocalTime)
    until = forms.DateTimeField(label=_("To"), required=False, widget=LocalTime)
    first = forms.IntegerField(label=_("From number"), required=False, min_value=1)
    last = forms.IntegerField(label=_("To number"), required=False, min_value=1)
    cause = forms.IntegerField(label=_("Caused by event"), required=False, min_value=1)
    command = forms.CharField(label=_("Command"), required=False, max_length=300)
    canary = forms.CharField(label=_("Canary"), required=False, max_length=63)
    before = forms.IntegerField(required=False, widget=forms.HiddenInput)
    after = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def filters(self) -> Filters:
        """What the selector understands."""
        given = self.cleaned_data
        return Filters(**{name: given[name] for name in Filters.__dataclass_fields__})

    def given(self) -> dict[str, str]:
        """The filters as an address has them, times with their zone, without those that ask nothing."""
        asked = {name: self.cleaned_data[name] for name in self.fields if name not in PLACES}
        return {name: _address(value) for name, value in asked.items() if value}

    def chips(self) -> list[tuple[str, Any, object]]:
        """(field, its label, what it asks for) of each filter that asks something."""
        return [(name, self.fields[name].label, self._shown(name)) for name in self.given()]

    def _shown(self, name: str) -> object:
        value = self.cleaned_data[name]
        if isinstance(value, datetime):
            return f"{timezone.localtime(value):%Y-%m-%d %H:%M:%S %Z}"
        words_for = {"type": words.EVENT_TYPES, "subject": words.SUBJECTS}
        return words.word(words_for[name], value) if name in words_for else value


def _address(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
