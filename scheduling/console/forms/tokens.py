"""A new API token: what it is for and how long it lives."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class TokenForm(forms.Form):
    name = forms.CharField(label=_("What it is for"), max_length=100)
    days = forms.TypedChoiceField(
        label=_("Expires"),
        coerce=int,
        initial=90,
        choices=[(7, _("in 7 days")), (90, _("in 90 days")), (365, _("in a year")), (0, _("never"))],
    )

    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=days) if days else None
