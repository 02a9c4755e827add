"""Two moments, and what of their difference is shown."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from scheduling.models import Cluster
from scheduling.selectors.differences import What
from scheduling.selectors.moments import BadMoment, Moment, moment, newest
from scheduling.wording import moments, words

SHOWN = ("node", "podgroup", "pod")


class MomentField(forms.CharField):
    """The number of an event or a time. Becomes a Moment; None when it is left open."""

    def __init__(self, label: Any) -> None:
        super().__init__(label=label, required=False, max_length=60, strip=True)
        self.cluster: Cluster | None = None

    def clean(self, value: object) -> Moment | None:
        text = super().clean(value)
        if not text:
            return None
        assert self.cluster is not None
        try:
            return moment(self.cluster, text)
        except BadMoment as error:
            raise forms.ValidationError(moments.sentence(error)) from None


class Comparison(forms.Form):
    """``show``, ``what``, ``start``: which objects are listed, and from which place on."""

    a = MomentField(_("Earlier moment"))
    b = MomentField(_("Later moment"))
    key = forms.CharField(label=_("GPUs by"), required=False, max_length=320)
    show = forms.ChoiceField(
        required=False, choices=[("", ""), *((name, words.SUBJECTS[name]) for name in SHOWN)]
    )
    what = forms.ChoiceField(required=False, choices=[("", ""), *((what, what) for what in What)])
    start = forms.IntegerField(required=False, min_value=0)

    def __init__(self, data: object, cluster: Cluster) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.cluster = cluster
        for name in ("a", "b"):
            self.fields[name].cluster = cluster  # type: ignore[attr-defined]

    def later(self) -> Moment:
        """The later moment; the newest one when it is left open."""
        return self.cleaned_data["b"] or newest(self.cluster)
