"""Saved scenarios: the list, one of them with what it does and its runs, and its end."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console.access import RUN, VIEW, page
from scheduling.console.commands import actor, carry_out, command_id
from scheduling.console.pages import show
from scheduling.models import Cluster, Scenario
from scheduling.scenarios import documents, workbench
from scheduling.scenarios.templates import TEMPLATES
from scheduling.selectors import workbench as selectors
from scheduling.services.problems import Refused
from scheduling.wording import scenarios as wording

RUNS = 20


@page(VIEW)
def scenario_list(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    runs = selectors.last_runs(cluster)
    rows = [_row(saved) | {"run": runs.get(saved.name)} for saved in selectors.scenarios(cluster)]
    context = {"tab": "scenarios", "rows": rows, "templates": ready_made()}
    return show(request, "scenarios.html", context, cluster=cluster, here="scenarios")


@page(VIEW)
def scenario_page(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    saved = find(cluster, name)
    context = _row(saved) | {
        "tab": "scenarios",
        "runs": selectors.runs(cluster, scenario=name)[:RUNS],
    }
    return show(request, "scenario.html", context, cluster=cluster, here="scenarios")


@page(RUN, "POST")
def remove(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    find(cluster, name)
    return carry_out(
        request,
        lambda: workbench.remove(
            cluster=cluster, name=name, actor=actor(request), command_id=command_id(request)
        ),
        gettext("Scenario %(name)s was removed; its runs stay.") % {"name": name},
        reverse("scenarios", args=[cluster.name]),
    )


def find(cluster: Cluster, name: str) -> Scenario:
    try:
        return selectors.scenario(cluster, name)
    except Scenario.DoesNotExist:
        raise Http404(gettext("There is no scenario of this name.")) from None


def ready_made() -> list[tuple[str, str, str]]:
    """(code, title, what it is about) of scenarios to begin with."""
    return [(code, *map(str, wording.TEMPLATES[code])) for code in TEMPLATES]


def _row(saved: Scenario) -> dict[str, Any]:
    """A saved scenario in sentences; what a newer console saved may be none that this one can read."""
    try:
        document = documents.read(saved.document)
    except Refused as error:
        return {"saved": saved, "problems": error.problems}
    return {
        "saved": saved,
        "document": document,
        "summary": wording.summary(document.steps),
        "steps": [wording.step(step) for step in document.steps],
        "yaml": documents.to_yaml(document),
    }
