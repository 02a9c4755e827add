"""What a new scenario begins with, by what the address of the form says. Nothing is stored."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, QueryDict
from django.utils.translation import gettext

from scheduling.console.numbers import whole
from scheduling.models import Cluster, Run, Scenario
from scheduling.scenarios import documents, scenario_runs
from scheduling.scenarios.documents import ScenarioDocument
from scheduling.scenarios.remedies import from_changes
from scheduling.scenarios.scenario_runs import KIND
from scheduling.scenarios.templates import TEMPLATES, template
from scheduling.selectors import rack_map
from scheduling.selectors import workbench as selectors
from scheduling.services import explain
from scheduling.services.problems import Refused
from scheduling.services.state import state_of


def drafted(request: HttpRequest, cluster: Cluster) -> dict[str, Any]:
    """``template``; ``copy`` of a saved one; ``run``, whose document is taken; ``group`` and ``change``: what
    would make it run, with ``run`` after its steps; ``node``, or ``key`` and ``domain``, that are lost;
    ``at``. Raises Http404 for what is not there.
    """
    asked = request.GET
    document: dict[str, Any] = {}
    if asked.get("template") in TEMPLATES:
        document = template(asked["template"], state_of(cluster), rack_map.default_key(cluster))
    elif "copy" in asked:
        document = {**_saved(cluster, asked["copy"]), "name": ""}
    elif "group" in asked:
        run = _run(cluster, str(asked["run"])) if "run" in asked else None
        document = _remedy(cluster, str(asked["group"]), asked.get("change", ""), run)
    elif "run" in asked:
        document = {**_run(cluster, str(asked["run"])).document, "name": ""}
    elif asked.get("node"):
        document = {"steps": [{"step": "lose_nodes", "node": asked["node"]}]}
    elif asked.get("key") and "domain" in asked:
        lost = {"step": "lose_nodes", "key": asked["key"], "domain": asked["domain"]}
        document = {"steps": [lost]}
    if asked.get("at"):
        document["at"] = str(asked["at"])
    return {name: value for name, value in document.items() if value != ""}


def from_submission(posted: QueryDict) -> QueryDict:
    """What was typed into the submit form, or pasted there, as the first step of a scenario: to be tried
    before it is submitted.
    """
    data = QueryDict(mutable=True)
    data["steps"] = "1"
    if "text" in posted:
        data["s0-step"], data["s0-manifest"] = "submit_manifest", str(posted["text"])
        return data
    data["s0-step"] = "submit"
    for name in posted:
        if name not in ("csrfmiddlewaretoken", "command_id", "action"):
            data.setlist(f"s0-{name}", posted.getlist(name))
    return data


def _saved(cluster: Cluster, name: str) -> dict[str, Any]:
    try:
        return dict(selectors.scenario(cluster, name).document)
    except Scenario.DoesNotExist:
        raise Http404(gettext("There is no scenario of this name.")) from None


def _run(cluster: Cluster, number: str) -> Run:
    try:
        run = selectors.run(cluster, -1 if (found := whole(number)) is None else found)
    except Run.DoesNotExist:
        raise Http404(gettext("There is no run of this number.")) from None
    if run.kind != KIND:
        raise Http404(gettext("This run is of no scenario."))
    return run


def _remedy(cluster: Cluster, key: str, change: str, run: Run | None) -> dict[str, Any]:
    """What would make the group run, now or at the end of a run, whose steps then come before it."""
    namespace, _slash, name = key.partition("/")
    document: dict[str, Any] = {}
    try:
        if run is None:
            found = explain.remedies(cluster=cluster, namespace=namespace, name=name)
            changes, scope_key = found.changes, found.scope_key
        else:
            document = {**run.document, "name": ""}
            state = scenario_runs.fork_state(run)
            changes = explain.investigated(state, key).changes
            group = state.groups.get(key)
            scope_key = group.topology_key if group is not None and state.tas_enforced else ""
    except (Refused, LookupError):
        raise Http404(gettext("There is no PodGroup of this name.")) from None
    for offered in changes:
        if offered.id == change:
            steps = from_changes(key, offered.steps, scope_key)
            more = documents.to_json(ScenarioDocument.model_validate({"steps": steps}))["steps"]
            return document | {"steps": [*document.get("steps", []), *more]}
    raise Http404(gettext("Things have changed: this would not make it run any more."))
