"""The log as people and the API read it: filtered, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from scheduling.ledger import archives as archived
from scheduling.models import Archive, Cluster, Event
from scheduling.selectors.paging import Page, cut


@dataclass(frozen=True, slots=True)
class Filters:
    """What an event must be to be listed; "" and None ask nothing. ``text``: part of the body, letter for
    letter.

    ``since`` and ``until``: bounds of the time of recording, the lower one included. ``first`` and
    ``last``: seqs,
    both included.
    """

    type: str = ""
    subject: str = ""
    namespace: str = ""
    name: str = ""
    actor: str = ""
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None
    first: int | None = None
    last: int | None = None


def _select(cluster: Cluster, filters: Filters) -> QuerySet[Event]:
    rows = Event.objects.filter(stream_id=cluster.pk)
    for field in ("type", "subject", "namespace", "name", "actor"):
        value = getattr(filters, field)
        if value:
            rows = rows.filter(**{field: value})
    if filters.text:
        rows = rows.filter(body__contains=filters.text)
    if filters.since is not None:
        rows = rows.filter(recorded_at__gte=filters.since)
    if filters.until is not None:
        rows = rows.filter(recorded_at__lt=filters.until)
    if filters.first is not None:
        rows = rows.filter(seq__gte=filters.first)
    if filters.last is not None:
        rows = rows.filter(seq__lte=filters.last)
    return rows


def page(
    cluster: Cluster,
    filters: Filters,
    *,
    before: int | None = None,
    after: int | None = None,
    limit: int = 50,
) -> Page[Event]:
    """Events newest first, older than ``before``; with ``after`` oldest first, newer than it."""
    rows = _select(cluster, filters)
    if after is not None:
        rows = rows.filter(seq__gt=after).order_by("seq")
    else:
        if before is not None:
            rows = rows.filter(seq__lt=before)
        rows = rows.order_by("-seq")
    return cut(rows[: limit + 1], limit, lambda row: str(row.seq))


def get(cluster: Cluster, seq: int) -> Event:
    """One event; raises Event.DoesNotExist."""
    return Event.objects.get(stream_id=cluster.pk, seq=seq)


def numbered(cluster: Cluster, seqs: list[int]) -> list[Event]:
    """The events of these numbers that there are, oldest first."""
    return list(Event.objects.filter(stream_id=cluster.pk, seq__in=seqs).order_by("seq"))


def caused_by(cluster: Cluster, seq: int, limit: int = 20) -> list[Event]:
    """Events that name this one as their cause, oldest first."""
    return list(Event.objects.filter(stream_id=cluster.pk, cause=seq, seq__gt=seq).order_by("seq")[:limit])


def of_object(cluster: Cluster, subject: str, namespace: str, name: str, limit: int = 20) -> list[Event]:
    """The newest events about one object, newest first."""
    return list(
        Event.objects.filter(stream_id=cluster.pk, subject=subject, namespace=namespace, name=name).order_by(
            "-seq"
        )[:limit]
    )


def period(cluster: Cluster) -> tuple[Event | None, Event | None]:
    """The first and the last event of the log: what time the history covers."""
    rows = Event.objects.filter(stream_id=cluster.pk)
    return rows.order_by("seq").first(), rows.order_by("-seq").first()


def archives(cluster: Cluster) -> list[Archive]:
    """The files of events that are not in the table any more, oldest first."""
    return archived.of(cluster.pk)


def archived_to(cluster: Cluster) -> int:
    """The last seq that is archived, 0 when none is: what the table has comes after it."""
    return archived.begin(cluster.pk)


def archive_of(cluster: Cluster, seq: int) -> Archive | None:
    """The file that an event is in, None when it is in none."""
    return archived.holding(cluster.pk, seq)


def refuse_archived(cluster: Cluster, after: int | None) -> None:
    """Raises Archived for a reader who goes on from ``after`` where the next event is in a file: it would
    miss some. One who begins (None or 0) is given what there is.
    """
    if after:
        archived.refuse(cluster.pk, after + 1)
