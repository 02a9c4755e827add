"""What an operator states for the rollout: one fact, how it is known."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from scheduling.console.forms.waits import BlamedForm
from scheduling.services import stating
from scheduling.wording import readiness, words

_SOURCES = {stating.ROLLBACK: _("Who is in charge")}


class FactForm(BlamedForm):
    """``fact``: a code of ``stating.KINDS``. What it may say is chosen, or written where it is a text."""

    value = forms.CharField(label=_("Stated"), required=False)
    source = forms.CharField(
        label=_("How it is known"),
        required=False,
        max_length=stating.LONGEST_SOURCE,
        widget=forms.TextInput({"size": 40, "autocomplete": "off"}),
    )

    def __init__(self, fact: str, *args: Any, **more: Any) -> None:
        super().__init__(*args, prefix=fact, **more)
        self.fact = fact
        self.title = words.word(readiness.FACTS, fact)
        kind = stating.KINDS[fact]
        if kind.values:
            choices = [("", _("nothing is stated")), *((code, _word(code)) for code in kind.values)]
            self.fields["value"] = forms.ChoiceField(label=_("Stated"), required=False, choices=choices)
        elif fact == stating.ROLLBACK:
            self.fields["value"].widget = forms.Textarea({"rows": 3})
        self.order_fields(["value", "source"])
        self.fields["source"].label = _SOURCES.get(fact, self.fields["source"].label)


def _word(code: str) -> str:
    return words.word(readiness.FACT_VALUES, code)
