"""Traces: ask for a replay, and take away what came of one."""

from __future__ import annotations

from typing import Any, Literal

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, Router, Schema, Status
from pydantic import ConfigDict

from scheduling.api.auth import RUN, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster
from scheduling.api.errors import errors
from scheduling.api.runs import RunBriefOut
from scheduling.models import Run, RunFile
from scheduling.scenarios import trace_runs
from scheduling.selectors import workbench as selectors

router = Router(tags=["runs"])


class TraceIn(Schema):
    """What is replayed, and the files for it as text."""

    model_config = ConfigDict(extra="forbid")

    document: dict[str, Any] = Field(
        description="`source` (kueue, openb or ndjson) and, where they are not as by default, `file`, "
        "`nodes` (trace or cluster), `occupied`, `profile`, `gates`, `topology_key`, `soft` (required or "
        "none), and in `openb`: `parts` (milli or whole), `gang`, `denser`, `one_rack`, `every_ms`, `run_ms`."
    )
    trace: str = Field("", description="NDJSON, for the source ndjson.")
    pods: str = Field("", description="CSV of the pods, for the source openb.")
    nodes: str = Field("", description="CSV of the nodes, for the source openb.")


@router.post(
    "/{cluster}/traces",
    response={201: RunBriefOut, **errors(404, 409, 422)},
    summary="Replay a trace",
    **access(RUN),
)
def replay_trace(
    request: HttpRequest, cluster: str, body: TraceIn, idempotency_key: IdempotencyKey = ""
) -> Status[RunBriefOut]:
    """Asks for a run of kind trace; workers do it. What is wrong in a file is told with its line."""
    run = trace_runs.request(
        cluster=find_cluster(cluster),
        document=trace_runs.read(body.document),
        trace=body.trace.encode(),
        pods=body.pods.encode(),
        nodes=body.nodes.encode(),
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(201, RunBriefOut.from_orm(run))


@router.get(
    "/{cluster}/runs/{number}/trace/{form}",
    response={200: None, **errors(404, 422)},
    summary="Export a replay",
    **access(VIEW),
)
def export_replay(
    request: HttpRequest,
    cluster: str,
    number: int,
    form: Literal["series.csv", "waits.csv", "result.json", "trace.ndjson"],
) -> HttpResponse:
    """The series, the wait of each workload, the result, or the trace that was replayed."""
    try:
        run = selectors.run(find_cluster(cluster), number)
        if run.kind != trace_runs.KIND:
            raise Run.DoesNotExist
        kind, body = trace_runs.exported(run, form)
    except (Run.DoesNotExist, RunFile.DoesNotExist):
        raise Http404(f"There is no replay {number} that has this.") from None
    return HttpResponse(body, content_type=kind)
