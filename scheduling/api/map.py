"""The rack map: a snapshot in columns, and what changed since; both numbered by the log."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from ninja import Query, Router

from scheduling.api.auth import VIEW, access
from scheduling.api.commands import find_cluster
from scheduling.api.errors import ApiError, errors
from scheduling.api.rendering import encode
from scheduling.api.schemas import MapDeltaOut, MapOut
from scheduling.selectors import rack_map

router = Router(tags=["map"])


def etag(epoch: int, seq: int) -> str:
    return f'"{epoch}-{seq}"'


def _columns(body: Any, tag: str) -> HttpResponse:
    """The selector's dict as it is: a schema check of so many numbers would cost more than making them."""
    response = HttpResponse(encode(body), content_type="application/json")
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    return response


@router.get(
    "/{cluster}/map",
    response={200: MapOut, 304: None, **errors(404)},
    summary="Snapshot of the rack map",
    **access(VIEW),
)
def get_map(
    request: HttpRequest,
    cluster: str,
    key: str = Query("", description="Topology key; the one most groups use when not given."),
) -> HttpResponse:
    """All nodes as columns, at one seq. With `If-None-Match`: 304 while the log has not moved."""
    found = find_cluster(cluster)
    unchanged = get_conditional_response(request, etag=etag(*rack_map.head(found)))
    if unchanged is not None:
        return unchanged
    body = rack_map.snapshot(found, key or None)
    return _columns(body, etag(body["epoch"], body["seq"]))


@router.get(
    "/{cluster}/map/deltas",
    response={200: MapDeltaOut, **errors(404, 410, 422)},
    summary="What changed on the rack map",
    **access(VIEW),
)
def get_deltas(
    request: HttpRequest,
    cluster: str,
    since: int = Query(..., ge=0, description="The seq that the caller's map is at."),
    key: str = Query("", description="Topology key of the caller's map."),
    epoch: int | None = Query(None, description="Epoch of the caller's map; 410 when it is another now."),
) -> HttpResponse:
    """Absolute values of the nodes that changed after `since`, so applying them twice does no harm.

    410 when `since` is ahead of the log or of another epoch: take a new snapshot.
    """
    found = find_cluster(cluster)
    body = rack_map.delta(found, key or rack_map.default_key(found), since)
    if body is None or (epoch is not None and epoch != body["epoch"]):
        raise ApiError(410, "The map has another history now; take a new snapshot.")
    return _columns(body, etag(body["epoch"], body["to"]))
