"""The form of a scenario: new or saved, as cards or as YAML; checked, saved, run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from scheduling.console.access import RUN, VIEW, page
from scheduling.console.commands import NOT_DONE, actor, command_id, reasons
from scheduling.console.forms.scenario import ScenarioForm, reshaped, typed_document
from scheduling.console.forms.scenario_steps import MODELS, Unshowable
from scheduling.console.numbers import whole
from scheduling.console.pages import show, show_part
from scheduling.console.scenario_drafts import drafted, from_submission
from scheduling.console.scenario_offers import holding, offers
from scheduling.console.views.scenarios import begins_at, find
from scheduling.ledger.store import to_milliseconds
from scheduling.models import Cluster, Scenario
from scheduling.scenarios import documents, scenario_runs, workbench
from scheduling.scenarios.documents import ScenarioDocument
from scheduling.scenarios.fork import Fork, Unsettled
from scheduling.selectors import past_states
from scheduling.selectors import workbench as selectors
from scheduling.selectors.moments import Moment
from scheduling.services.execute import now_ms
from scheduling.services.problems import CONFLICT, INVALID, Problem, Refused
from scheduling.services.state import state_of
from scheduling.wording import scenarios as wording

CHECKED_S = 3.0
"""A check plays as many steps as can be played in this time; the run plays them all."""
DONE = ("check", "save", "save-over", "save-run", "run")


@dataclass(slots=True)
class Written:
    """The YAML tab: what was written there, and what is wrong with it."""

    text: str
    problems: list[Problem] = field(default_factory=list)

    def blame(self, found: tuple[Problem, ...]) -> None:
        self.problems += found


Draft = ScenarioForm | Written


@page(RUN, "GET", "POST")
def new_scenario(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """What it begins with is in the address (``scenario_drafts.drafted``), or posted by the submit form."""
    if request.method != "POST":
        return _begun(request, cluster, None, drafted(request, cluster))
    if request.POST.get("action") == "try-first":
        return _page(request, cluster, None, ScenarioForm(from_submission(request.POST), judged=False))
    return _posted(request, cluster, None)


@page(VIEW)
def names(request: HttpRequest, cluster: Cluster, offered: str) -> HttpResponse:
    """Part of the form: what a list offers for what is typed into any of its fields."""
    found = holding(state_of(cluster), offered, map(str, request.GET.values()))
    return show_part(request, "parts/names.html", {"names": found.names}, cluster=cluster)


@page(RUN, "GET", "POST")
def edit_scenario(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    saved = find(cluster, name)
    if request.method != "POST":
        return _begun(request, cluster, saved, saved.document)
    return _posted(request, cluster, saved)


def _begun(
    request: HttpRequest, cluster: Cluster, saved: Scenario | None, document: dict[str, Any]
) -> HttpResponse:
    try:
        draft: Draft = ScenarioForm(typed_document(document), judged=False)
    except Unshowable:
        draft = Written(documents.written(document))
    return _page(request, cluster, saved, draft)


def _posted(request: HttpRequest, cluster: Cluster, saved: Scenario | None) -> HttpResponse:
    action = request.POST.get("action", "check")
    if request.POST.get("tab") == "yaml":
        written = Written(request.POST.get("text", ""))
        if action == "form":
            return _as_form(request, cluster, saved, written)
        if action not in DONE:
            return _page(request, cluster, saved, written)
        draft: Draft = written
    elif action != "yaml" and action not in DONE:
        data, moved = reshaped(request.POST, action)
        name = action.partition(":")[0]
        focus = name if name in ("up", "down") else "card"
        form = ScenarioForm(data, judged=False, moved=moved)
        return _page(request, cluster, saved, form, focus=focus)
    else:
        draft = ScenarioForm(request.POST)
        if not draft.is_valid():
            return _page(request, cluster, saved, draft, status=422)
        if action == "yaml":
            return _page(request, cluster, saved, Written(documents.written(draft.value())))
    try:
        document = _document(draft)
        return _done(request, cluster, saved, draft, document, action)
    except NOT_DONE as error:
        found = reasons(error)
        draft.blame(found)
        meanwhile = _meanwhile(cluster, found)
        return _page(request, cluster, saved, draft, status=422, meanwhile=meanwhile)


def _document(draft: Draft) -> ScenarioDocument:
    return documents.read_yaml(draft.text) if isinstance(draft, Written) else documents.read(draft.value())


def _as_form(
    request: HttpRequest, cluster: Cluster, saved: Scenario | None, written: Written
) -> HttpResponse:
    """From YAML to cards. What the cards can show is shown there, with what is wrong at its field."""
    try:
        value = documents.parsed(written.text)
    except Refused as error:
        written.blame(error.problems)
        return _page(request, cluster, saved, written, status=422)
    wrong: tuple[Problem, ...] = ()
    try:
        documents.read(value)
    except Refused as error:
        wrong = error.problems
    try:
        form = ScenarioForm(typed_document(value), judged=bool(wrong))
    except Unshowable as error:
        message = "no field of the form can show this"
        written.blame(wrong or (Problem("Scenario", "", "", error.path, INVALID, message),))
        return _page(request, cluster, saved, written, status=422)
    if wrong and form.is_valid():
        form.blame(wrong)
    return _page(request, cluster, saved, form, status=422 if wrong else 200)


def _done(
    request: HttpRequest,
    cluster: Cluster,
    saved: Scenario | None,
    draft: Draft,
    document: ScenarioDocument,
    action: str,
) -> HttpResponse:
    """Raises Refused and CommandReused."""
    base = begins_at(cluster, document)
    if action == "check":
        told = _checked(cluster, document, base)
        return _page(request, cluster, saved, draft, told=told)
    if action == "run":
        run = scenario_runs.ask(
            cluster=cluster, document=document, actor=actor(request), command_id=command_id(request)
        )
        return redirect("run", cluster.name, run.number)
    same = saved is not None and saved.name == document.name
    given = request.POST.get("over" if action == "save-over" else "revision", "")
    revision = (whole(given) or 0) if same or action == "save-over" else 0
    workbench.save(
        cluster=cluster,
        document=document,
        actor=actor(request),
        command_id=command_id(request),
        revision=revision,
    )
    if action == "save-run":
        run = scenario_runs.ask(
            cluster=cluster,
            document=document,
            scenario=document.name,
            actor=actor(request),
            command_id=f"{command_id(request)}-run" if command_id(request) else "",
        )
        return redirect("run", cluster.name, run.number)
    messages.success(request, gettext("Scenario %(name)s was saved.") % {"name": document.name})
    return redirect("scenario", cluster.name, document.name)


@dataclass(frozen=True, slots=True)
class Checked:
    """Steps of a scenario played at once, nothing stored: what came of each, in events. ``left``: steps that
    there was no time for.
    """

    base: Moment
    counts: tuple[tuple[str, int], ...]
    left: int


def _checked(cluster: Cluster, document: ScenarioDocument, base: Moment) -> Checked:
    """Raises Refused with the step that cannot be done."""
    begun = time.monotonic()

    def spent() -> bool:
        return time.monotonic() - begun > CHECKED_S

    state = past_states.state_at(cluster, base.seq)
    now = now_ms() if not document.at else to_milliseconds(base.recorded_at)
    fork = Fork(state, now, document.profile)
    counts: list[tuple[str, int]] = []
    try:
        fork.begin()
        for step in document.steps:
            told = fork.play(step, spent)
            if fork.until is not None or spent():
                break
            counts.append((wording.step(step), len(told)))
    except Unsettled as error:
        raise Refused([Problem("Scenario", "", document.name, "", CONFLICT, str(error))]) from None
    return Checked(base, tuple(counts), len(document.steps) - len(counts))


def _meanwhile(cluster: Cluster, found: tuple[Problem, ...]) -> Scenario | None:
    """What somebody else saved, where that is why nothing was saved."""
    names = [problem.name for problem in found if problem.path == "name" and problem.reason == CONFLICT]
    try:
        return selectors.scenario(cluster, names[0]) if names else None
    except Scenario.DoesNotExist:
        return None


def _page(
    request: HttpRequest,
    cluster: Cluster,
    saved: Scenario | None,
    draft: Draft,
    *,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    given = request.POST.get("revision", "")
    context |= {
        "tab": "scenarios",
        "saved": saved,
        "revision": given if whole(given) is not None else saved.revision if saved else 0,
        "draft": draft,
        "as_yaml": isinstance(draft, Written),
        "kinds": [(kind, wording.STEP_KINDS[kind]) for kind in MODELS],
        "lists": {} if isinstance(draft, Written) else offers(state_of(cluster)),
    }
    return show(request, "scenario_form.html", context, cluster=cluster, here="scenarios", status=status)
