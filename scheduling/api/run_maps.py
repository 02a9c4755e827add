"""The rack map of a scenario's fork, before its steps and after them."""

from __future__ import annotations

from typing import Literal

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Router

from scheduling.api.auth import VIEW, access
from scheduling.api.commands import find_cluster
from scheduling.api.errors import ApiError, errors
from scheduling.api.map import MapOut
from scheduling.api.rendering import encode
from scheduling.models import Run
from scheduling.scenarios import scenario_runs
from scheduling.selectors import past_map
from scheduling.selectors import workbench as selectors

router = Router(tags=["runs"])


@router.get(
    "/{cluster}/runs/{number}/map",
    response={200: MapOut, **errors(404, 410, 422)},
    summary="Rack map of a scenario's fork",
    **access(VIEW),
)
def get_run_map(
    request: HttpRequest,
    cluster: str,
    number: int,
    when: Literal["before", "after"] = Query("after", description="Before its first step, or as it is."),
    key: str = Query("", description="Topology key; the one most groups use when not given."),
) -> HttpResponse:
    """As `map` of the cluster, with `seq` of the fork. Nodes that only the fork has come after those of the
    cluster. 410 when the events at which it was forked are archived.
    """
    try:
        run = selectors.run(find_cluster(cluster), number)
    except Run.DoesNotExist:
        raise Http404(f"There is no run {number}.") from None
    if run.kind != scenario_runs.KIND:
        raise Http404(f"Run {number} is of no scenario.")
    try:
        state = scenario_runs.fork_state(run, 0 if when == "before" else None)
    except LookupError as error:
        raise ApiError(410, f"There is no such state any more, or not yet: {error}.") from None
    body = past_map.fork_snapshot(run.cluster, state, key or None)
    response = HttpResponse(encode(body), content_type="application/json")
    response["Cache-Control"] = "private, no-cache"
    return response
