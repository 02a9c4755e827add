"""Runs of a workbench: the list, one run as it goes on and when it is over, and its end by hand."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console.access import RUN, VIEW, page
from scheduling.console.commands import actor, carry_out, command_id
from scheduling.console.pages import show
from scheduling.console.run_pages import PAGES
from scheduling.models import Cluster, Run
from scheduling.scenarios import workbench
from scheduling.selectors import workbench as selectors

ROWS = 50


@page(VIEW)
def run_list(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    found = Paginator(selectors.runs(cluster), ROWS).get_page(request.GET.get("page"))
    return show(request, "runs.html", {"tab": "runs", "runs": found}, cluster=cluster, here="scenarios")


@page(VIEW)
def run_page(request: HttpRequest, cluster: Cluster, number: int) -> HttpResponse:
    run = find(cluster, number)
    known = PAGES.get(run.kind)
    context: dict[str, Any] = {
        "run": run,
        "tab": {"scenario": "scenarios", "trace": "traces"}.get(run.kind, "runs"),
        "result_template": f"scheduling/runs/{run.kind}.html" if known else None,
        **(known(request, run) if known else {}),
    }
    return show(request, "run.html", context, cluster=cluster, here="scenarios")


@page(RUN, "POST")
def cancel(request: HttpRequest, cluster: Cluster, number: int) -> HttpResponse:
    find(cluster, number)
    return carry_out(
        request,
        lambda: workbench.cancel(
            cluster=cluster, number=number, actor=actor(request), command_id=command_id(request)
        ),
        gettext("Run %(number)s was cancelled.") % {"number": number},
        reverse("run", args=[cluster.name, number]),
    )


def find(cluster: Cluster, number: int) -> Run:
    try:
        return selectors.run(cluster, number)
    except Run.DoesNotExist:
        raise Http404(gettext("There is no run of this number.")) from None
