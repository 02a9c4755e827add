"""The log as a file, streamed: CSV for spreadsheets, NDJSON for programs. Pages and API send the same.

Events are read batch by batch as the reader takes them, so that the server holds one batch however long the
file is, and reads none for a reader who has gone. The file ends where the log ended when it was begun.
"""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Iterable
from typing import Literal

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse
from django.utils import translation

from scheduling.api.event_rows import event_out
from scheduling.api.rendering import encode
from scheduling.models import Cluster, Event
from scheduling.selectors import history
from scheduling.selectors.event_search import Filters, search, settled

Format = Literal["csv", "ndjson"]

BATCH = 500
"""Events read at a time: what a slow reader makes the server hold."""

CONTENT_TYPES: dict[Format, str] = {"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}

COLUMNS = (
    "seq", "recorded_at", "occurred_at", "type", "version", "subject", "namespace", "name", "actor",
    "command_id", "cause", "sentence", "hash", "body",
)  # fmt: skip

_BYTE_ORDER_MARK = "\ufeff"
"""Without it spreadsheets take UTF-8 for another encoding."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def response(cluster: Cluster, filters: Filters, form: Format, after: int = 0) -> StreamingHttpResponse:
    """All that the filters leave after ``after``, oldest first, as an attachment whose name tells cluster and
    period.
    """
    fixed = settled(cluster, filters)
    lines = _stream(cluster, fixed, form, after, translation.get_language())
    answer = StreamingHttpResponse(lines, content_type=CONTENT_TYPES[form])
    answer["Content-Disposition"] = f'attachment; filename="{_file_name(cluster, fixed, after)}.{form}"'
    answer["X-Accel-Buffering"] = "no"
    return answer


def safe(cell: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


async def _stream(
    cluster: Cluster, filters: Filters, form: Format, after: int, language: str | None
) -> AsyncIterator[bytes]:
    if form == "csv":
        yield (_BYTE_ORDER_MARK + _csv([COLUMNS])).encode()

    def batch(after: int) -> tuple[bytes, int | None]:
        found = search(cluster, filters, after=after, limit=BATCH)
        with translation.override(language):
            return _text(found.items, form), found.next

    position: int | None = after
    while position is not None:
        text, position = await sync_to_async(batch)(position)
        if text:
            yield text


def _text(rows: list[Event], form: Format) -> bytes:
    if form == "csv":
        return _csv(map(_cells, rows)).encode()
    return b"".join(encode(event_out(row).model_dump()) + b"\n" for row in rows)


def _cells(row: Event) -> list[object]:
    event = event_out(row).model_dump()
    event["body"] = row.body
    for name in ("recorded_at", "occurred_at"):
        event[name] = event[name].isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return [safe(value) if isinstance(value := event[name], str) else value for name in COLUMNS]


def _csv(rows: Iterable[Iterable[object]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()


def _file_name(cluster: Cluster, fixed: Filters, after: int) -> str:
    low, high = max(fixed.first or 1, after + 1), fixed.last or 0
    times = history.times(cluster, [low, high])
    if low > high or not {low, high} <= times.keys():
        return f"{cluster.name}-events"
    return f"{cluster.name}-events-{times[low]:%Y%m%dT%H%M%SZ}-{times[high]:%Y%m%dT%H%M%SZ}"
