"""Runs of a workbench: list them, read one with its result, cancel one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest
from ninja import Field, Query, Router, Schema

from scheduling.api.auth import RUN, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster
from scheduling.api.errors import errors
from scheduling.models import Run
from scheduling.scenarios import workbench
from scheduling.selectors import workbench as selectors

router = Router(tags=["runs"])


class RunBriefOut(Schema):
    number: int
    kind: str
    scenario: str = Field(description="Name of the saved scenario; empty for none.")
    status: str = Field(description="waiting, running, done, failed or cancelled.")
    base_seq: int = Field(description="The event of the cluster after which it begins.")
    done: int
    total: int = Field(description="0: not known yet.")
    requested_by: str
    requested_at: datetime
    ended_at: datetime | None
    error: str


class RunOut(RunBriefOut):
    document: dict[str, Any] = Field(description="All that it was asked for.")
    result: dict[str, Any] | None


class RunsOut(Schema):
    items: list[RunBriefOut]
    more: bool


def find_run(cluster: str, number: int) -> Run:
    """Raises Http404 with a sentence."""
    try:
        return selectors.run(find_cluster(cluster), number)
    except Run.DoesNotExist:
        raise Http404(f"There is no run {number}.") from None


@router.get(
    "/{cluster}/runs", response={200: RunsOut, **errors(404, 422)}, summary="List runs", **access(VIEW)
)
def list_runs(
    request: HttpRequest,
    cluster: str,
    kind: str = "",
    scenario: str = "",
    before: int | None = Query(None, description="Only runs with a lower number."),
    limit: int = Query(50, ge=1, le=200),
) -> RunsOut:
    """The newest first, without their results."""
    found = selectors.runs(find_cluster(cluster), (kind,) if kind else (), scenario)
    if before is not None:
        found = found.filter(number__lt=before)
    rows = list(found[: limit + 1])
    return RunsOut(items=[RunBriefOut.from_orm(row) for row in rows[:limit]], more=len(rows) > limit)


@router.get(
    "/{cluster}/runs/{number}",
    response={200: RunOut, **errors(404)},
    summary="Read a run",
    **access(VIEW),
)
def read_run(request: HttpRequest, cluster: str, number: int) -> RunOut:
    """What it was asked for, how far it is and what came of it."""
    return RunOut.from_orm(find_run(cluster, number))


@router.post(
    "/{cluster}/runs/{number}/cancel",
    response={200: RunBriefOut, **errors(404, 409, 422)},
    summary="Cancel a run",
    **access(RUN),
)
def cancel_run(
    request: HttpRequest, cluster: str, number: int, idempotency_key: IdempotencyKey = ""
) -> RunBriefOut:
    """Ends it between two slices of its work. One that is over stays as it is."""
    run = workbench.cancel(
        cluster=find_cluster(cluster),
        number=number,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return RunBriefOut.from_orm(run)
