"""The rack map: a snapshot in columns, and what changed since; both numbered by the log."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from ninja import Field, Query, Router, Schema

from scheduling.api.auth import VIEW, access
from scheduling.api.commands import find_cluster
from scheduling.api.errors import ApiError, errors
from scheduling.api.rendering import encode
from scheduling.api.schemas import Seq
from scheduling.selectors import rack_map

router = Router(tags=["map"])


class TopologyKeyOut(Schema):
    key: str
    domains: int
    groups: int = Field(description="Open PodGroups that it constrains.")


class KpiOut(Schema):
    nodes: int
    gpus: int
    gpus_used: int
    pending: int = Field(description="Groups that wait.")
    unlabelled: int = Field(description="Nodes without the key.")
    largest: int = Field(description="Most usable free GPUs in one domain: no larger gang fits one now.")
    domains_64: int = Field(description="Domains with at least 64 usable free GPUs.")


class MapColumnsOut(Schema):
    """One entry a node in each column but ``owners``."""

    index: list[int] = Field(description="Stable within an epoch.")
    name: list[str]
    domain: list[int] = Field(description="Index into domains, -1 for none.")
    state: list[int] = Field(description="Bits: 1 cordoned, 2 not ready, 4 tainted, 8 removed.")
    gpus: list[int]
    owners: list[int] = Field(
        description="Flat: per node the number of its runs, then each as index into groups (or -1), GPUs."
    )


class MapOut(Schema):
    v: int = Field(description="Version of this form.")
    epoch: int
    seq: Seq
    key: str
    keys: list[TopologyKeyOut]
    domains: list[str]
    groups: list[str]
    nodes: MapColumnsOut
    kpi: KpiOut


class MapDeltaOut(Schema):
    """Also sent over the live socket."""

    t: Literal["delta"]
    epoch: int
    from_: int = Field(alias="from")
    to: Seq
    ts: int = Field(description="When it was made, milliseconds since the Unix epoch.")
    groups: list[str]
    nodes: list[list[Any]] = Field(
        description="[index, name, domain or null, state, gpus, [index into groups or -1, GPUs]...]"
    )
    kpi: KpiOut


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
