"""Scenarios: saved documents, runs of them, what came of these, and whether reality agreed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema
from pydantic import ConfigDict

from scheduling.api.auth import RUN, VIEW, access
from scheduling.api.bodies import documents as taken
from scheduling.api.bodies import read
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster
from scheduling.api.errors import ApiError, errors
from scheduling.api.explanations import ExplanationOut, explanation_out
from scheduling.api.moments import find_moment
from scheduling.api.runs import RunBriefOut, find_run
from scheduling.ledger.archives import Archived
from scheduling.models import Cluster, Run, Scenario
from scheduling.scenarios import comparing, documents, scenario_runs, workbench
from scheduling.scenarios import reality as realities
from scheduling.scenarios.documents import ScenarioDocument
from scheduling.selectors import workbench as selectors
from scheduling.selectors.moments import BadMoment
from scheduling.services.explain import investigated
from scheduling.services.problems import INVALID, Problem, Refused

router = Router(tags=["scenarios"])

LIMIT = 4 << 20
"""Bytes of a document as sent."""

YAML = "application/yaml"
_DOCUMENT = taken(YAML, "application/json")

At = Query(
    "", max_length=60, description="Where it begins, instead of what the document says: an event or a time."
)


class ScenarioBriefOut(Schema):
    name: str
    about: str
    at: str = Field(description="Where it begins: empty for the newest event when it is run.")
    profile: str
    steps: list[str] = Field(description="Kinds of its steps, in their order.")
    revision: int = Field(description="Give it to save only if nobody else has meanwhile.")
    saved_by: str
    saved_at: datetime


class ScenarioOut(ScenarioBriefOut):
    document: dict[str, Any] = Field(description="All of it, as it is saved.")


class ScenariosOut(Schema):
    items: list[ScenarioBriefOut]


class CopyIn(Schema):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="Of the new scenario.")


class NothingOut(Schema):
    """Done; there is nothing to tell of it."""


class ComparisonOut(Schema):
    """What differs between two results. The parts are those of results."""

    a: dict[str, Any]
    b: dict[str, Any]
    same: dict[str, bool] = Field(description="Whether base, steps and profile are.")
    groups: list[dict[str, Any]] = Field(description="PodGroups that stand otherwise at the two ends.")
    group_count: int
    difference: dict[str, Any] = Field(description="From the end of a to the end of b.")


class RealityOut(Schema):
    head: int = Field(description="Up to which event the log of the cluster was read.")
    groups: list[dict[str, Any]] = Field(
        description="Each PodGroup that the scenario submitted: forecast, what happened, whether they agree."
    )


# ---------------------------------------------------------------- saved ones


@router.get(
    "/{cluster}/scenarios",
    response={200: ScenariosOut, **errors(404)},
    summary="List scenarios",
    **access(VIEW),
)
def list_scenarios(request: HttpRequest, cluster: str) -> ScenariosOut:
    """The saved ones, by name, without their steps' fields."""
    found = selectors.scenarios(find_cluster(cluster))
    return ScenariosOut(items=[brief(row) for row in found])


@router.get(
    "/{cluster}/scenarios/{name}",
    response={200: ScenarioOut, **errors(404, 422)},
    summary="Read a scenario",
    **access(VIEW),
)
def read_scenario(
    request: HttpRequest,
    cluster: str,
    name: str,
    format: Literal["", "json", "yaml"] = Query("", description="Instead of what `Accept` asks for."),
) -> ScenarioOut | HttpResponse:
    """As JSON with who saved it; as YAML the document alone, as it can be saved again."""
    row = find_scenario(find_cluster(cluster), name)
    if format == "yaml" or (not format and "yaml" in request.headers.get("Accept", "")):
        return HttpResponse(documents.to_yaml(documents.read(row.document)), content_type=YAML)
    return scenario_out(row)


@router.put(
    "/{cluster}/scenarios/{name}",
    response={200: ScenarioOut, **errors(400, 404, 409, 413, 422)},
    summary="Save a scenario",
    **access(RUN, **_DOCUMENT),
)
def save_scenario(
    request: HttpRequest,
    cluster: str,
    name: str,
    revision: int | None = Query(None, description="The one that was edited; 0: only as a new one."),
    idempotency_key: IdempotencyKey = "",
) -> ScenarioOut:
    """The body is the document, in YAML or JSON. Steps are checked in themselves; what they name need not be
    there before they are run. As it is saved already, it is not saved again.
    """
    found = find_cluster(cluster)
    document = _document(request, name)
    row = workbench.save(
        cluster=found,
        document=document,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
        revision=revision,
    )
    return scenario_out(row)


@router.delete(
    "/{cluster}/scenarios/{name}",
    response={200: NothingOut, **errors(404, 409, 422)},
    summary="Remove a scenario",
    **access(RUN),
)
def remove_scenario(
    request: HttpRequest, cluster: str, name: str, idempotency_key: IdempotencyKey = ""
) -> NothingOut:
    """Its runs stay."""
    workbench.remove(
        cluster=find_cluster(cluster),
        name=name,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return NothingOut()


@router.post(
    "/{cluster}/scenarios/{name}/copy",
    response={200: ScenarioOut, **errors(400, 404, 409, 422)},
    summary="Copy a scenario",
    **access(RUN),
)
def copy_scenario(
    request: HttpRequest, cluster: str, name: str, body: CopyIn, idempotency_key: IdempotencyKey = ""
) -> ScenarioOut:
    """Under a new name, to go on from there. Refused where there is one of that name."""
    found = find_cluster(cluster)
    document = documents.read({**find_scenario(found, name).document, "name": body.name})
    row = workbench.save(
        cluster=found,
        document=document,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
        revision=0,
    )
    return scenario_out(row)


# ---------------------------------------------------------------- runs


@router.post(
    "/{cluster}/scenarios/{name}/run",
    response={200: RunBriefOut, **errors(404, 409, 410, 422)},
    summary="Run a saved scenario",
    **access(RUN),
)
def run_scenario(
    request: HttpRequest, cluster: str, name: str, at: str = At, idempotency_key: IdempotencyKey = ""
) -> RunBriefOut:
    """Asks for it; workers do it. Read the run to see how far it is and what came of it."""
    found = find_cluster(cluster)
    document = documents.read(find_scenario(found, name).document)
    return _asked(request, found, document, at, name, idempotency_key)


@router.post(
    "/{cluster}/scenario-runs",
    response={200: RunBriefOut, **errors(400, 404, 409, 410, 413, 422)},
    summary="Run a scenario that is not saved",
    **access(RUN, **_DOCUMENT),
)
def run_document(
    request: HttpRequest, cluster: str, at: str = At, idempotency_key: IdempotencyKey = ""
) -> RunBriefOut:
    """The body is the document, in YAML or JSON."""
    found = find_cluster(cluster)
    return _asked(request, found, _document(request, ""), at, "", idempotency_key)


@router.post(
    "/{cluster}/runs/{number}/rerun",
    response={200: RunBriefOut, **errors(404, 409, 410, 422)},
    summary="Run a scenario again",
    **access(RUN),
)
def rerun(
    request: HttpRequest,
    cluster: str,
    number: int,
    at: str = Query("", max_length=60, description="Where it begins; the newest event when not given."),
    idempotency_key: IdempotencyKey = "",
) -> RunBriefOut:
    """A new run of the same document, on a newer instant or on another one."""
    run = _run(cluster, number)
    document = documents.read(run.document).model_copy(update={"at": at})
    return _asked(request, run.cluster, document, at, run.scenario, idempotency_key)


@router.get(
    "/{cluster}/runs/{number}/podgroups/{namespace}/{name}/explanation",
    response={200: ExplanationOut, **errors(404, 410, 422)},
    summary="Explain a PodGroup in a scenario",
    **access(VIEW),
)
def explain_in_fork(
    request: HttpRequest,
    cluster: str,
    number: int,
    namespace: str,
    name: str,
    step: int | None = Query(None, ge=0, description="After so many steps; as far as the run has come."),
) -> ExplanationOut:
    """As the explanation of a PodGroup of the cluster, in the state that the scenario made."""
    run = _run(cluster, number)
    with _known_states():
        state = scenario_runs.fork_state(run, step)
    return explanation_out(investigated(state, f"{namespace}/{name}"))


@router.get(
    "/{cluster}/runs/{number}/compare/{other}",
    response={200: ComparisonOut, **errors(404, 410, 422)},
    summary="Compare two results",
    **access(VIEW),
)
def compare_runs(request: HttpRequest, cluster: str, number: int, other: int) -> dict[str, Any]:
    """Two runs of scenarios on this cluster: their verdicts, and what differs between their ends."""
    first, second = _run(cluster, number), _run(cluster, other)
    with _known_states():
        return comparing.compared(first, second)


@router.get(
    "/{cluster}/runs/{number}/reality",
    response={200: RealityOut, **errors(404, 410, 422)},
    summary="Ask whether reality agreed",
    **access(VIEW),
)
def read_reality(request: HttpRequest, cluster: str, number: int) -> dict[str, Any]:
    """Holds the forecast for each PodGroup that the scenario submitted against what happened when one of that
    name was submitted to the cluster later, and says what changed in between.
    """
    run = _run(cluster, number)
    with _known_states():
        return realities.reality(run)


# ---------------------------------------------------------------- steps


def find_scenario(cluster: Cluster, name: str) -> Scenario:
    """Raises Http404 with a sentence."""
    try:
        return selectors.scenario(cluster, name)
    except Scenario.DoesNotExist:
        raise Http404(f"There is no scenario {name}.") from None


def _run(cluster: str, number: int) -> Run:
    run = find_run(cluster, number)
    if run.kind != scenario_runs.KIND:
        message = f"run {number} is of the kind {run.kind}, not of a scenario"
        raise Refused([Problem("Run", "", str(number), "", INVALID, message)])
    return run


def _document(request: HttpRequest, name: str) -> ScenarioDocument:
    """Of the body. ``name``: the one that it must have, or gets if it has none; "" for any."""
    try:
        text = read(request, limit=LIMIT).decode()
    except UnicodeDecodeError as error:
        raise ApiError(400, f"The body is not UTF-8: {error.reason}.") from error
    document = documents.read_yaml(text)
    if name and document.name not in ("", name):
        message = f"the document is named {document.name}, the address {name}"
        raise Refused([Problem("Scenario", "", name, "name", INVALID, message)])
    return documents.read({**documents.to_json(document), "name": name}) if name else document


def _asked(
    request: HttpRequest, cluster: Cluster, document: ScenarioDocument, at: str, scenario: str, key: str
) -> RunBriefOut:
    if at:
        document = document.model_copy(update={"at": at})
    try:
        run = scenario_runs.ask(
            cluster=cluster,
            document=document,
            actor=actor(request),
            scenario=scenario,
            command_id=command_id(request, key),
        )
    except BadMoment as error:
        find_moment(cluster, document.at, "at")  # says it as everywhere
        raise ApiError(410, f"Event {error.text} is not in the table of events.") from error
    return RunBriefOut.from_orm(run)


@contextmanager
def _known_states() -> Iterator[None]:
    """What a run has not come to is not there; what is archived is gone."""
    try:
        yield
    except Archived:
        raise
    except LookupError as error:
        raise Http404(f"{str(error)[0].upper()}{str(error)[1:]}.") from error


def brief(row: Scenario) -> ScenarioBriefOut:
    return ScenarioBriefOut(**_fields(row))


def scenario_out(row: Scenario) -> ScenarioOut:
    return ScenarioOut(**_fields(row), document=row.document)


def _fields(row: Scenario) -> dict[str, Any]:
    body = row.document
    return {
        "name": row.name,
        "about": body.get("about", ""),
        "at": body.get("at", ""),
        "profile": body.get("profile", "exact"),
        "steps": [step["step"] for step in body.get("steps", [])],
        "revision": row.revision,
        "saved_by": row.saved_by,
        "saved_at": row.saved_at,
    }
