"""The log: by page as JSON, whole as NDJSON, and one event by its number."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Literal

import orjson
from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils import translation
from ninja import Query, Router

from scheduling.api.auth import VIEW, access
from scheduling.api.commands import find_cluster
from scheduling.api.errors import errors
from scheduling.api.rendering import encode
from scheduling.api.schemas import EventOut, EventsOut
from scheduling.ledger.events import CATALOGUE
from scheduling.models import Cluster, Event
from scheduling.selectors import clusters, history
from scheduling.selectors.history import Filters
from scheduling.wording import events as wording

router = Router(tags=["events"])

BATCH = 500
"""Events read at a time while streaming: what a slow reader makes the server hold."""


def event_out(row: Event) -> EventOut:
    body = orjson.loads(row.body)
    return EventOut(
        seq=row.seq,
        type=row.type,
        version=row.version,
        subject=row.subject,
        namespace=row.namespace,
        name=row.name,
        actor=row.actor,
        command_id=row.command_id,
        sentence=wording.stored_sentence(row.type, row.version, body),
        cause=row.cause,
        occurred_at=row.occurred_at,
        recorded_at=row.recorded_at,
        hash=bytes(row.hash).hex(),
        body=body,
    )


@router.get(
    "/{cluster}/events",
    response={200: EventsOut, **errors(404, 422)},
    summary="List events",
    **access(
        VIEW,
        responses={
            200: {
                "content": {
                    "application/x-ndjson": {
                        "schema": {"type": "string", "description": "One EventOut a line."}
                    }
                }
            }
        },
    ),
)
def list_events(
    request: HttpRequest,
    cluster: str,
    after: int = Query(0, ge=0, description="Only events with a greater seq."),
    type: str = Query("", pattern=f"^(|{'|'.join(CATALOGUE)})$", description="An event type."),
    subject: Literal["", "cluster", "node", "workload", "podgroup", "pod"] = Query(
        "", description="Kind of the object it is about."
    ),
    namespace: str = Query(""),
    name: str = Query("", description="Name of the object."),
    actor: str = Query("", description="Who did it."),
    q: str = Query("", description="Part of the body, letter for letter."),
    since: Annotated[datetime | None, Query(description="Recorded then or later.")] = None,
    until: Annotated[datetime | None, Query(description="Recorded before then.")] = None,
    limit: int = Query(100, ge=1, le=1000, description="Of a page; does not bound format=ndjson."),
    format: Literal["json", "ndjson"] = Query(
        "json", description="ndjson streams all that matches, one event a line."
    ),
) -> EventsOut | HttpResponse | StreamingHttpResponse:
    """Oldest first. The log is append-only: a page that was read once never changes."""
    found = find_cluster(cluster)
    filters = Filters(type, subject, namespace, name, actor, q, since, until)
    if format == "ndjson":
        lines = _lines(found, filters, after, clusters.head(found), translation.get_language())
        response = StreamingHttpResponse(lines, content_type="application/x-ndjson")
        response["X-Accel-Buffering"] = "no"
        return response
    page = history.page(found, filters, after=after, limit=limit)
    return EventsOut(items=[event_out(row) for row in page.items], next=int(page.next) if page.next else None)


async def _lines(
    cluster: Cluster, filters: Filters, after: int, head: int, language: str | None
) -> AsyncIterator[bytes]:
    """What was in the log when the stream began; read page by page as the caller takes it."""

    def batch(after: int) -> tuple[bytes, int | None]:
        page = history.page(cluster, filters, after=after, limit=BATCH)
        with translation.override(language):
            rows = [event_out(row).model_dump() for row in page.items if row.seq <= head]
        more = int(page.next) if page.next and int(page.next) < head else None
        return b"".join(encode(row) + b"\n" for row in rows), more

    position: int | None = after
    while position is not None:
        text, position = await sync_to_async(batch)(position)
        if text:
            yield text


@router.get(
    "/{cluster}/events/{int:seq}",
    response={200: EventOut, **errors(404)},
    summary="Show an event",
    **access(VIEW),
)
def get_event(request: HttpRequest, cluster: str, seq: int) -> EventOut:
    """One event as it was written."""
    try:
        return event_out(history.get(find_cluster(cluster), seq))
    except Event.DoesNotExist as error:
        raise Http404(f"The log of {cluster} has no event {seq}.") from error
