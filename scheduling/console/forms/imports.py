"""The import form: where the dump comes from, and what the import may do with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from scheduling.console import drafts
from scheduling.engine.model import TAS_GATES
from scheduling.services.clusters import ImportRequest
from scheduling.services.problems import Problem
from scheduling.wording import messages, words

KINDS = ("Node", "Pod", "PodGroup")


class ImportForm(forms.Form):
    """A file, or text, or what a preview kept (``draft``); a new file or text takes the place of the
    draft.
    """

    name = forms.SlugField(
        label=_("Cluster name"),
        max_length=63,
        help_text=_("A new name makes a cluster; a known one is imported again."),
    )
    mode = forms.ChoiceField(
        label=_("Mode"),
        required=False,
        choices=[("", _("as it is, or as proposed")), *words.MODES.items()],
        help_text=_("Simulated: this console schedules. Observed: it only says what it would do."),
    )
    file = forms.FileField(label=_("File"), required=False, help_text=_("JSON or YAML, gzip too."))
    text = forms.CharField(
        label=_("or paste"),
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 8, "class": "mono", "spellcheck": "false"}),
    )
    gates = forms.MultipleChoiceField(
        label=_("Feature gates"),
        required=False,
        choices=[(gate, gate) for gate in TAS_GATES],
        widget=forms.CheckboxSelectMultiple,
    )
    proposed_for = forms.CharField(required=False, widget=forms.HiddenInput)
    complete = forms.MultipleChoiceField(
        label=_("The dump is complete for"),
        required=False,
        choices=[(kind, kind) for kind in KINDS],
        widget=forms.CheckboxSelectMultiple,
        help_text=_("What is absent from a complete dump is removed. Leave off to only add and change."),
    )
    partial = forms.BooleanField(
        label=_("Import what is valid and leave the rest out"),
        required=False,
        help_text=_("Otherwise one refused object refuses the whole import."),
    )
    draft = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, owner: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.owner = owner
        self.bytes = b""

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        upload = given.get("file")
        text = given.get("text", "")
        if upload is not None and text.strip():
            self.add_error("text", _("Give a file or paste text, not both."))
        elif upload is not None:
            self.bytes = upload.read()
        elif text.strip():
            self.bytes = text.encode()
        elif given.get("draft"):
            kept = drafts.load(given["draft"], self.owner)
            if kept is None:
                self.add_error("file", _("The preview is too old; choose the file again."))
            else:
                self.bytes = kept
        else:
            self.add_error("file", _("Choose a file or paste manifests."))
        return given

    def gates_are_chosen(self) -> bool:
        """Whether the ticks mean something: none ticked before a preview has proposed any says nothing."""
        return bool(self.cleaned_data["proposed_for"] or self.cleaned_data["gates"])

    def mode_has_changed(self) -> bool:
        """Whether the gates on the page were proposed for another mode than the one chosen now."""
        proposed_for = self.cleaned_data["proposed_for"]
        return bool(proposed_for) and proposed_for != self.cleaned_data["mode"]

    def blame(self, problems: Iterable[Problem]) -> list[Problem]:
        """Put each problem that is about a field of the form at it; returns the others."""
        others = []
        for problem in problems:
            field = problem.path.partition(".")[0]
            if problem.kind == "Cluster" and field in self.fields:
                self.add_error(field, messages.translated(problem.message))
            else:
                others.append(problem)
        return others

    def request(self) -> ImportRequest:
        """What the service is asked. Gates that nobody has seen a proposal for yet are left to the
        proposal.
        """
        given = self.cleaned_data
        gates = {gate: gate in given["gates"] for gate in TAS_GATES} if self.gates_are_chosen() else None
        return ImportRequest(
            data=self.bytes,
            mode=given["mode"] or None,
            gates=gates,
            complete=frozenset(given["complete"]),
            partial=given["partial"],
        )
