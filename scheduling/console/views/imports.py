"""Import of a dump: look at what it would do, then do it. Nothing that was typed is lost on the way."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.translation import gettext

from scheduling.console import drafts
from scheduling.console.access import OPERATE, page
from scheduling.console.commands import NOT_DONE, actor, command_id, reasons
from scheduling.console.forms.imports import ImportForm
from scheduling.console.pages import owner, show
from scheduling.models import Cluster
from scheduling.selectors import clusters
from scheduling.services import clusters as services
from scheduling.services.gates import proposed_gates
from scheduling.services.problems import Refused


@page(OPERATE, "GET", "POST")
def import_page(request: HttpRequest) -> HttpResponse:
    """GET: the form, ``cluster`` filled in. POST: ``action`` preview (writes nothing) or import."""
    user = owner(request).pk
    if request.method != "POST":
        initial = {"name": request.GET.get("cluster", "")}
        return _page(request, ImportForm(owner=user, initial=initial))
    form = ImportForm(request.POST, request.FILES, owner=user)
    if not form.is_valid():
        return _page(request, form, status=422)
    if form.mode_has_changed():
        again = request.POST.copy()
        del again["proposed_for"]
        again.setlist("gates", [])
        form = ImportForm(again, request.FILES, owner=user)
        form.is_valid()
        messages.warning(
            request,
            gettext("The mode has changed, so the gates are proposed anew. Look at them, then import."),
        )
    elif request.POST.get("action") == "import":
        return _import(request, form)
    return _preview(request, form)


def _page(request: HttpRequest, form: ImportForm, *, status: int = 200, **context: Any) -> HttpResponse:
    return show(request, "import.html", {"form": form, **context}, here="clusters", status=status)


def _known(name: str) -> Cluster | None:
    try:
        return clusters.get(name)
    except Cluster.DoesNotExist:
        return None


def _preview(request: HttpRequest, form: ImportForm) -> HttpResponse:
    name = form.cleaned_data["name"]
    try:
        report = services.preview_import(name=name, request=form.request())
    except Refused as refused:
        return _page(request, form, status=422, problems=form.blame(refused.problems))
    filled = cast(QueryDict, form.data).copy()
    _fill(filled, form, report)
    user = owner(request).pk
    if form.bytes and not form.cleaned_data["text"].strip():
        filled["draft"] = drafts.keep(form.bytes, user)
    return _page(
        request,
        ImportForm(filled, owner=user),
        report=report,
        previewed=True,
        counts=_counts(report),
        ignored=sorted(report.ignored.items()),
        blocked=bool(report.refused) and not form.cleaned_data["partial"],
        kept=bool(filled.get("draft")),
    )


def _counts(report: services.ImportReport) -> list[dict[str, Any]]:
    """One line for each kind that the dump holds or the import would remove."""
    kinds = sorted({*report.accepted, *(kind for kind, names in report.removed.items() if names)})
    return [
        {
            "kind": kind,
            "accepted": report.accepted.get(kind, 0),
            "added": report.added.get(kind, 0),
            "updated": report.updated.get(kind, 0),
            "unchanged": report.unchanged.get(kind, 0),
            "removed": report.removed.get(kind, ()),
        }
        for kind in kinds
    ]


def _fill(filled: QueryDict, form: ImportForm, report: services.ImportReport) -> None:
    """Put what the dump proposes into the fields that nobody has chosen yet."""
    known = _known(form.cleaned_data["name"])
    if not form.cleaned_data["mode"]:
        filled["mode"] = known.mode if known else report.proposed_mode
    if not form.gates_are_chosen():
        gates = known.gates if known else _proposed(report, str(filled["mode"]))
        filled.setlist("gates", [gate for gate, on in gates.items() if on])
    filled["proposed_for"] = str(filled["mode"])


def _proposed(report: services.ImportReport, mode: str) -> dict[str, bool]:
    """The gates proposed for the mode chosen; the report has those for the mode that fits the dump."""
    for_mode = proposed_gates(mode, ())
    return {gate: on or report.proposed_gates.get(gate, False) for gate, on in for_mode.items()}


def _import(request: HttpRequest, form: ImportForm) -> HttpResponse:
    name = form.cleaned_data["name"]
    try:
        report = services.import_cluster(
            name=name, request=form.request(), actor=actor(request), command_id=command_id(request)
        )
    except NOT_DONE as error:
        return _page(request, form, status=422, problems=form.blame(reasons(error)))
    if form.cleaned_data["draft"]:
        drafts.drop(form.cleaned_data["draft"], owner(request).pk)
    if report.added or report.updated or any(report.removed.values()):
        messages.success(request, gettext("The dump was imported into %(cluster)s.") % {"cluster": name})
    else:
        messages.success(request, gettext("The dump holds nothing new for %(cluster)s.") % {"cluster": name})
    return redirect("map", cluster=name)
