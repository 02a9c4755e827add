"""The filters of the history."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from scheduling.selectors.history import Filters
from scheduling.wording import words


class HistoryFilter(forms.Form):
    """All optional. Times are read in the reader's zone; ``seq`` bounds the numbers of the events."""

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
    since = forms.DateTimeField(
        label=_("From"), required=False, widget=forms.DateTimeInput({"type": "datetime-local", "step": 1})
    )
    until = forms.DateTimeField(
        label=_("To"), required=False, widget=forms.DateTimeInput({"type": "datetime-local", "step": 1})
    )
    first = forms.IntegerField(label=_("From number"), required=False, min_value=1)
    last = forms.IntegerField(label=_("To number"), required=False, min_value=1)
    before = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def filters(self) -> Filters:
        """What the selector understands."""
        given = self.cleaned_data
        return Filters(**{name: given[name] for name in Filters.__dataclass_fields__})
