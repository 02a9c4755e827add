"""The log: by page as JSON, whole as NDJSON or CSV, and one event by its number."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Query, Router

from scheduling.api import event_export
from scheduling.api.auth import VIEW, access
from scheduling.api.commands import find_cluster
from scheduling.api.errors import errors
from scheduling.api.event_rows import event_out
from scheduling.api.schemas import ArchiveOut, ArchivesOut, EventOut, EventsOut
from scheduling.ledger.archives import Archived
from scheduling.ledger.events import CATALOGUE
from scheduling.models import Event
from scheduling.selectors import history
from scheduling.selectors.event_search import Filters, search

router = Router(tags=["events"])


@router.get(
    "/{cluster}/events",
    response={200: EventsOut, **errors(404, 410, 422)},
    summary="List events",
    **access(
        VIEW,
        responses={
            200: {
                "content": {
                    "application/x-ndjson": {
                        "schema": {"type": "string", "description": "One EventOut a line."}
                    },
                    "text/csv": {
                        "schema": {
                            "type": "string",
                            "description": "UTF-8 with a byte order mark, one header row; a text that a "
                            "spreadsheet would take for a formula has an apostrophe before it.",
                        }
                    },
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
    subject: Literal[
        "",
        "cluster",
        "node",
        "workload",
        "podgroup",
        "pod",
        "nodetype",
        "plan",
        "reservation",
        "queue",
        "canary",
    ] = Query("", description="Kind of the object it is about."),
    namespace: str = Query(""),
    name: str = Query("", description="Name of the object."),
    actor: str = Query("", description="Who did it."),
    q: str = Query("", description="Part of the body, letter for letter."),
    since: Annotated[datetime | None, Query(description="Recorded then or later.")] = None,
    until: Annotated[datetime | None, Query(description="Recorded before then.")] = None,
    cause: int | None = Query(None, ge=1, description="The seq of the event that led to it."),
    command: str = Query("", description="Id of the command that wrote it."),
    canary: str = Query("", description="About this canary, or caused by an event that is."),
    limit: int = Query(100, ge=1, le=1000, description="Of a page; does not bound ndjson and csv."),
    format: Literal["json", "ndjson", "csv"] = Query(
        "json", description="ndjson and csv stream all that matches, one event a line."
    ),
) -> EventsOut | HttpResponse | StreamingHttpResponse:
    """Oldest first. The log is append-only: a page that was read once never changes. It begins with the
    oldest event that is not archived; to go on from one that is, is answered with 410.
    """
    found = find_cluster(cluster)
    history.refuse_archived(found, after)
    filters = Filters(
        type, subject, namespace, name, actor, q, since, until, cause=cause, command=command, canary=canary
    )
    if format != "json":
        return event_export.response(found, filters, format, after)
    page = search(found, filters, after=after, limit=limit)
    return EventsOut(
        items=[event_out(row) for row in page.items], next=page.next, low=page.low, high=page.high
    )


@router.get(
    "/{cluster}/archives",
    response={200: ArchivesOut, **errors(404)},
    summary="List archives of old events",
    **access(VIEW),
)
def list_archives(request: HttpRequest, cluster: str) -> ArchivesOut:
    """The files that old events are in instead of the database, oldest first."""
    return ArchivesOut(
        items=[
            ArchiveOut(
                first=found.first_seq,
                last=found.last_seq,
                recorded_first=found.first_at,
                recorded_last=found.last_at,
                file=found.file,
                size=found.size,
                sha256=found.sha256,
                hash=bytes(found.hash).hex(),
                archived_by=found.told_seq,
            )
            for found in history.archives(find_cluster(cluster))
        ]
    )


@router.get(
    "/{cluster}/events/{int:seq}",
    response={200: EventOut, **errors(404, 410)},
    summary="Show an event",
    **access(VIEW),
)
def get_event(request: HttpRequest, cluster: str, seq: int) -> EventOut:
    """One event as it was written. 410 says in which file it is."""
    found = find_cluster(cluster)
    try:
        return event_out(history.get(found, seq))
    except Event.DoesNotExist as error:
        archive = history.archive_of(found, seq)
        if archive is not None:
            raise Archived(archive) from error
        raise Http404(f"The log of {cluster} has no event {seq}.") from error
