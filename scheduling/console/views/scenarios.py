"""Saved scenarios: the list, one of them with what it does and its runs, and its end."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console.access import RUN, VIEW, page
from scheduling.console.commands import NOT_DONE, actor, carry_out, command_id, reasons, with_first
from scheduling.console.pages import show
from scheduling.models import Cluster, Run, Scenario
from scheduling.scenarios import documents, scenario_runs, workbench
from scheduling.scenarios.documents import ScenarioDocument
from scheduling.scenarios.templates import TEMPLATES
from scheduling.selectors import workbench as selectors
from scheduling.selectors.moments import BadMoment, Moment
from scheduling.services.problems import INVALID, Problem, Refused
from scheduling.wording import moments, problems
from scheduling.wording import scenarios as wording

RUNS = 20


@page(VIEW)
def scenario_list(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    runs = selectors.last_runs(cluster)
    rows = []
    for saved in selectors.scenarios(cluster):
        run = runs.get(saved.name)
        rows.append(_row(saved) | {"run": run, "verdict": verdict(run) if run else ""})
    context = {"tab": "scenarios", "rows": rows, "templates": ready_made()}
    return show(request, "scenarios.html", context, cluster=cluster, here="scenarios")


@page(VIEW)
def scenario_page(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    saved = find(cluster, name)
    runs = selectors.runs(cluster, scenario=name).defer("document")[:RUNS]
    context = _row(saved) | {
        "tab": "scenarios",
        "runs": [{"run": run, "verdict": verdict(run)} for run in runs],
    }
    return show(request, "scenario.html", context, cluster=cluster, here="scenarios")


@page(RUN, "POST")
def run(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    """Run it as it is saved, from where it says that it begins."""
    saved = find(cluster, name)
    return asked(request, cluster, saved.document, name, reverse("scenario", args=[cluster.name, name]))


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


def asked(
    request: HttpRequest, cluster: Cluster, document: dict[str, Any], name: str, back: str
) -> HttpResponse:
    """Ask for a run, and show it; the page ``back`` says why there is none. ``name``: of the saved scenario,
    "" for none.
    """
    try:
        read = documents.read(document)
        begins_at(cluster, read)
        run = scenario_runs.ask(
            cluster=cluster,
            document=read,
            scenario=name,
            actor=actor(request),
            command_id=command_id(request),
        )
    except NOT_DONE as error:
        for problem in reasons(error):
            messages.error(request, with_first(problems.sentence(problem), problem.first))
        return redirect(back)
    return redirect("run", cluster.name, run.number)


def begins_at(cluster: Cluster, document: ScenarioDocument) -> Moment:
    """The moment at which it would begin now. Raises Refused."""
    try:
        return scenario_runs.base_of(cluster, document.at)
    except BadMoment as error:
        said = moments.sentence(error)
        raise Refused([Problem("Scenario", "", document.name, "at", INVALID, said)]) from None


def find(cluster: Cluster, name: str) -> Scenario:
    try:
        return selectors.scenario(cluster, name)
    except Scenario.DoesNotExist:
        raise Http404(gettext("There is no scenario of this name.")) from None


def ready_made() -> list[tuple[str, str, str]]:
    """(code, title, what it is about) of scenarios to begin with."""
    return [(code, str(wording.TEMPLATES[code][0]), str(wording.TEMPLATES[code][1])) for code in TEMPLATES]


def verdict(run: Run) -> str:
    """What came of a run, in a sentence; "" for one that is not done, and for a batch, which has many."""
    if run.kind != scenario_runs.KIND or run.status != Run.Status.DONE or not run.result:
        return ""
    return wording.verdict(run.result)


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
