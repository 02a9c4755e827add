"""The rack map: a snapshot in columns, what changed since, and the same for moments of the past; all numbered
by the log.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from ninja import Field, Query, Router, Schema

from scheduling.api.auth import VIEW, access
from scheduling.api.commands import find_cluster
from scheduling.api.errors import ApiError, errors
from scheduling.api.moments import find_moment
from scheduling.api.rendering import encode
from scheduling.api.schemas import Seq
from scheduling.ledger.store import to_datetime
from scheduling.models import Cluster
from scheduling.selectors import clusters, history, past_map, rack_map
from scheduling.wording import events as wording

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


class PastMapOut(MapOut):
    """With `at`."""

    recorded_at: datetime = Field(description="When event `seq` was recorded.")


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


NodePatches = Field(
    description="[index, name, domain or null, state, gpus, [index into groups or -1, GPUs]...]"
)


class FrameOut(Schema):
    """What one event changed."""

    seq: Seq
    recorded_at: datetime
    type: str
    sentence: str = Field(description="In the language of the request (en, ja).")
    nodes: list[list[Any]] = NodePatches
    kpi: KpiOut | None = Field(description="null when they are as before.")


class ReplayOut(Schema):
    """Events after ``from`` up to ``to``. ``base`` has every node that a frame changes as it was at ``from``:
    with it the frames can be taken back as well as applied.
    """

    v: int
    epoch: int
    key: str
    from_: int = Field(alias="from")
    to: Seq = Field(description="The last event in it. Ask on from there while it is less than `head`.")
    head: Seq
    groups: list[str]
    base: list[list[Any]] = NodePatches
    kpi: KpiOut = Field(description="At `from`.")
    frames: list[FrameOut]


class MarkOut(Schema):
    seq: Seq
    recorded_at: datetime


class PeriodOut(Schema):
    """What moments the map can be shown for."""

    first: MarkOut
    last: MarkOut
    marks: list[MarkOut] = Field(description="Events evenly spread over the period, both ends included.")


def etag(epoch: int, seq: int) -> str:
    return f'"{epoch}-{seq}"'


def past_etag(cluster: Cluster, seq: int) -> str:
    """By the hash of the event, which vouches for all before it: the same tag is the same past."""
    epoch, _ = rack_map.head(cluster)
    return f'"{rack_map.VERSION}-{epoch}-{seq}-{bytes(history.get(cluster, seq).hash).hex()[:16]}"'


def _columns(body: Any, tag: str) -> HttpResponse:
    """The selector's dict as it is: a schema check of so many numbers would cost more than making them."""
    response = HttpResponse(encode(body), content_type="application/json")
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    return response


@router.get(
    "/{cluster}/map",
    response={200: MapOut | PastMapOut, 304: None, **errors(404, 410, 422)},
    summary="Snapshot of the rack map",
    **access(VIEW),
)
def get_map(
    request: HttpRequest,
    cluster: str,
    key: str = Query("", description="Topology key; the one most groups use when not given."),
    at: str = Query("", description="A past moment: the seq of an event, or a time in ISO 8601."),
) -> HttpResponse:
    """All nodes as columns, at one seq. With `If-None-Match`: 304 while the log has not moved.

    With `at` as they were right after that event. The `ETag` of a past moment never changes, and a 304 costs
    no fold. Node indices mean the same nodes in every answer of one `epoch`.
    """
    found = find_cluster(cluster)
    if at:
        return _past(request, found, at, key)
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


def _past(request: HttpRequest, cluster: Cluster, at: str, key: str) -> HttpResponse:
    moment = find_moment(cluster, at, "at")
    tag = past_etag(cluster, moment.seq)
    unchanged = get_conditional_response(request, etag=tag)
    if unchanged is not None:
        unchanged["ETag"] = tag
        return unchanged
    body = past_map.snapshot(cluster, moment.seq, key or None)
    return _columns({**body, "recorded_at": moment.recorded_at}, tag)


@router.get(
    "/{cluster}/map/period",
    response={200: PeriodOut, **errors(404)},
    summary="The time that the map can go back",
    **access(VIEW),
)
def get_period(request: HttpRequest, cluster: str) -> PeriodOut:
    """From the first event that is kept to the newest one. 404 while the log is empty."""
    period = past_map.period(find_cluster(cluster))
    if period is None:
        raise ApiError(404, "The log has no event yet.")
    return PeriodOut(
        first=_mark(period.first), last=_mark(period.last), marks=[_mark(mark) for mark in period.marks]
    )


@router.get(
    "/{cluster}/map/replay",
    response={200: ReplayOut, **errors(404, 410, 422)},
    summary="What events changed on the map, one by one",
    **access(VIEW),
)
def get_replay(
    request: HttpRequest,
    cluster: str,
    after: int = Query(..., ge=0, description="The seq that the caller's picture is of; 0 for none yet."),
    limit: int = Query(250, ge=1, le=past_map.MOST_EVENTS, description="Events at most."),
    key: str = Query("", description="Topology key of the caller's picture."),
    epoch: int | None = Query(None, description="Epoch of the caller's picture; 410 when it is another."),
) -> HttpResponse:
    """One frame an event, in order, with absolute values of the nodes it changed.

    Ends before `limit` at the head of the log, or with the event that brings it to 20,000 nodes. 410 when
    `after` is ahead of the log, or of another epoch: take a new snapshot.
    """
    found = find_cluster(cluster)
    if after > clusters.head(found) or epoch not in (None, rack_map.head(found)[0]):
        raise ApiError(410, "The map has another history now; take a new snapshot.")
    if after:
        find_moment(found, str(after), "after")
    replay = past_map.replay(found, after, limit=limit, key=key)
    body = {
        "v": rack_map.VERSION,
        "epoch": replay.epoch,
        "key": replay.key,
        "from": replay.start,
        "to": replay.end,
        "head": replay.head,
        "groups": replay.groups,
        "base": replay.base,
        "kpi": replay.kpi,
        "frames": [
            {
                "seq": frame.recorded.seq,
                "recorded_at": to_datetime(frame.recorded.recorded_at),
                "type": type(frame.recorded.event).__name__,
                "sentence": wording.sentence(frame.recorded.event),
                "nodes": frame.nodes,
                "kpi": frame.kpi,
            }
            for frame in replay.frames
        ],
    }
    response = HttpResponse(encode(body), content_type="application/json")
    response["Cache-Control"] = "private, no-cache"
    return response


def _mark(mark: past_map.Mark) -> MarkOut:
    return MarkOut(seq=mark.seq, recorded_at=mark.recorded_at)
