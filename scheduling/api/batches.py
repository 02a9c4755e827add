"""Batches and verification matrices: ask for one, fetch its table, send what was measured."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Body, Field, Router, Schema, Status
from pydantic import ConfigDict

from scheduling.api.auth import RUN, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster
from scheduling.api.errors import errors
from scheduling.api.runs import RunBriefOut
from scheduling.models import Cluster, Run
from scheduling.scenarios import axes, batches, matrix, measurements, tables
from scheduling.selectors import workbench as selectors

router = Router(tags=["batches"])


class BatchIn(Schema):
    """Axes, by their `axis`:

    - `members`: `first`, `last`, `by`; of the template `template` of the submit step `step`.
    - `min_count`: `first`, `last`, `by`; of the step `step`.
    - `lost_nodes`: `first`, `last`, `by` nodes of the domain `domain` of `key`, in the `order` `name`,
      `fullest` or `emptiest`, lost before step `before`.
    - `each_domain`: each domain of `key` in turn `happens` (`lose_nodes`, `cordon`) before step `before`.
    - `range`: `first`, `last`, `by`; of the whole number at `path` (`steps[0].templates[0].count`).
    - `values`: `values`, one after the other, at `path`.
    """

    model_config = ConfigDict(extra="forbid")

    scenario: dict[str, Any] | str = Field(description="A scenario, or the name of a saved one.")
    axes: list[dict[str, Any]] = Field(description="One or two.")
    group: str = Field(
        "", description="`namespace/name` of the group whose verdict is asked; empty: the last submitted."
    )


class MeasurementIn(Schema):
    model_config = ConfigDict(extra="forbid")

    condition: str
    mode: str = Field(description="tas, plain or upstream.")
    steps_thousandths: int | None = Field(None, description="Measured throughput: steps in 1,000 seconds.")
    crossing_bytes: int | None = Field(None, description="Measured bytes across domains in a step.")
    source: str = Field(description="Where the values come from.")
    measured_at: datetime


class MeasurementOut(Schema):
    event: int = Field(description="Number of the event in the workbench.")
    condition: str
    mode: str
    steps_thousandths: int | None
    crossing_bytes: int | None
    source: str
    measured_at: datetime
    sent_by: str
    sent_at: datetime


class MeasurementsOut(Schema):
    items: list[MeasurementOut]


@router.post(
    "/{cluster}/batches",
    response={202: RunBriefOut, **errors(404, 409, 422)},
    summary="Run a batch",
    **access(RUN),
)
def run_batch(
    request: HttpRequest, cluster: str, body: BatchIn, idempotency_key: IdempotencyKey = ""
) -> Status[RunBriefOut]:
    """One scenario over one or two ranges, at most 10,000 points. The run goes on after the answer: read it
    under `runs`.
    """
    found = find_cluster(cluster)
    saved = body.scenario if isinstance(body.scenario, str) else ""
    scenario = _saved(found, saved) if isinstance(body.scenario, str) else body.scenario
    document = axes.read({"scenario": scenario, "axes": body.axes, "group": body.group})
    run = batches.request(
        cluster=found,
        document=document,
        scenario=saved,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(202, RunBriefOut.from_orm(run))


@router.post(
    "/{cluster}/matrices",
    response={202: RunBriefOut, **errors(404, 409, 422)},
    summary="Run a verification matrix",
    **access(RUN),
)
def run_matrix(
    request: HttpRequest,
    cluster: str,
    body: dict[str, Any] = Body(  # noqa: B008
        ...,
        description="`topology_key`, `members`, `template` (`requests`, `node_selector`, `tolerations` of one"
        " member), `release`, `at`, and `training`: the model, of which any part may be left out.",
    ),
    idempotency_key: IdempotencyKey = "",
) -> Status[RunBriefOut]:
    """One gang under ten conditions, with TAS, as a plain gang, and as kube-scheduler decides."""
    run = matrix.request(
        cluster=find_cluster(cluster),
        document=matrix.read(body),
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(202, RunBriefOut.from_orm(run))


@router.get(
    "/{cluster}/runs/{number}/table",
    response={200: None, **errors(404)},
    summary="Table of a run as CSV",
    **access(VIEW),
)
def run_table(request: HttpRequest, cluster: str, number: int) -> HttpResponse:
    """Of a batch or a matrix: a row for each point that is done, with all of its figures."""
    run = _run(cluster, number)
    if run.kind not in tables.TABLES:
        raise Http404(f"A run of the kind {run.kind} has no table.")
    return csv_response(run)


@router.post(
    "/{cluster}/runs/{number}/measurements",
    response={201: MeasurementOut, **errors(404, 409, 422)},
    summary="Send measured values",
    **access(RUN),
)
def send_measurement(
    request: HttpRequest,
    cluster: str,
    number: int,
    body: MeasurementIn,
    idempotency_key: IdempotencyKey = "",
) -> Status[MeasurementOut]:
    """What was measured of a cell of a matrix. It is shown beside the estimate and never mixed with it."""
    found = find_cluster(cluster)
    seq = measurements.send(
        cluster=found,
        number=number,
        **body.dict(),
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    run = _run(cluster, number)
    return Status(201, next(_out(each) for each in measurements.of(run) if each.seq == seq))


@router.get(
    "/{cluster}/runs/{number}/measurements",
    response={200: MeasurementsOut, **errors(404)},
    summary="List measured values",
    **access(VIEW),
)
def list_measurements(request: HttpRequest, cluster: str, number: int) -> MeasurementsOut:
    """The newest first."""
    return MeasurementsOut(items=[_out(each) for each in measurements.of(_run(cluster, number))])


def csv_response(run: Run) -> HttpResponse:
    """As an attachment. The mark in front tells spreadsheets that it is UTF-8."""
    text = tables.to_csv(*tables.TABLES[run.kind](run))
    answer = HttpResponse("\ufeff" + text, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{run.cluster.name}-{run.kind}-{run.number}.csv"'
    return answer


def _out(each: measurements.Measurement) -> MeasurementOut:
    said = each.said
    return MeasurementOut(
        event=each.seq,
        condition=said.condition,
        mode=said.mode,
        steps_thousandths=said.steps_thousandths,
        crossing_bytes=said.crossing_bytes,
        source=said.source,
        measured_at=each.measured_at,
        sent_by=each.sent_by,
        sent_at=each.sent_at,
    )


def _run(cluster: str, number: int) -> Run:
    try:
        return selectors.run(find_cluster(cluster), number)
    except Run.DoesNotExist:
        raise Http404(f"There is no run {number}.") from None


def _saved(cluster: Cluster, name: str) -> dict[str, Any]:
    found = selectors.scenarios(cluster).filter(name=name).first()
    if found is None:
        raise Http404(f"There is no scenario {name}.")
    document: dict[str, Any] = found.document
    return document
