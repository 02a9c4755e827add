"""Traces: ask for a replay, and take away what came of one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from scheduling.console.access import RUN, VIEW, page
from scheduling.console.commands import NOT_DONE, actor, command_id, reasons
from scheduling.console.forms.traces import TraceForm
from scheduling.console.pages import owner, show
from scheduling.models import Cluster, Run, RunFile
from scheduling.scenarios import trace_runs
from scheduling.selectors import workbench as selectors
from scheduling.services.problems import Problem

SHOWN = 20
"""Replays in the list."""


@page(VIEW, "GET", "HEAD", "POST")
def traces_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """POST asks for a replay, which takes the right to run scenarios."""
    user = owner(request).pk
    if request.method != "POST":
        return _page(request, cluster, TraceForm(owner=user))
    if not request.user.has_perm(RUN):
        raise PermissionDenied
    form = TraceForm(request.POST, request.FILES, owner=user)
    problems: list[Problem] = []
    if form.is_valid():
        try:
            run = trace_runs.request(
                cluster=cluster,
                document=trace_runs.read(form.document()),
                actor=actor(request),
                command_id=command_id(request),
                **form.contents(),
            )
        except NOT_DONE as error:
            problems = form.blame(reasons(error))
        else:
            form.drop()
            messages.success(request, gettext("Run %(number)s was asked for.") % {"number": run.number})
            return redirect("run", cluster.name, run.number)
    return _page(request, cluster, form, problems=problems, status=422)


@page(VIEW)
def export(request: HttpRequest, cluster: Cluster, number: int, form: str) -> HttpResponse:
    """What a replay gave, or the trace itself in our own format."""
    try:
        run = selectors.run(cluster, number)
        if run.kind != trace_runs.KIND:
            raise Run.DoesNotExist
        kind, body = trace_runs.exported(run, form)
    except (Run.DoesNotExist, RunFile.DoesNotExist):
        raise Http404(gettext("There is no such replay, or it has no result yet.")) from None
    name = f"{cluster.name}-run-{number}-{form}"
    return HttpResponse(
        body, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


def _page(
    request: HttpRequest,
    cluster: Cluster,
    form: TraceForm,
    *,
    problems: list[Problem] | None = None,
    status: int = 200,
) -> HttpResponse:
    kept = form.keep() if status != 200 else {}
    context: dict[str, Any] = {
        "tab": "traces",
        "form": form,
        "problems": problems or [],
        "kept": " ".join(f"{name}:{draft}" for name, draft in kept.items()),
        "kept_names": [form.fields[name].label for name in kept],
        "runs": selectors.runs(cluster, (trace_runs.KIND,))[:SHOWN],
    }
    return show(request, "traces.html", context, cluster=cluster, here="scenarios", status=status)
