"""The log as people and the API read it; ``event_search`` finds what filters leave of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from scheduling.ledger import archives as archived
from scheduling.models import Archive, Cluster, Command, Event
from scheduling.selectors.event_search import Filters, Found, bounds, search

LONGEST_CHAIN = 16
"""So many causes are followed from one event."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What lies beside an event among those that filters leave. ``previous`` and ``following``: seqs, None
    where none was found; then ``sought_down`` or ``sought_up`` is the seq where the search ended early.
    """

    previous: int | None
    following: int | None
    sought_down: int | None = None
    sought_up: int | None = None


def get(cluster: Cluster, seq: int) -> Event:
    """One event; raises Event.DoesNotExist."""
    return Event.objects.get(stream_id=cluster.pk, seq=seq)


def numbered(cluster: Cluster, seqs: list[int]) -> list[Event]:
    """The events of these numbers that there are, oldest first."""
    return list(Event.objects.filter(stream_id=cluster.pk, seq__in=seqs).order_by("seq"))


def times(cluster: Cluster, seqs: Iterable[int]) -> dict[int, datetime]:
    """When the events of these numbers were recorded; those that are not there are left out."""
    rows = Event.objects.filter(stream_id=cluster.pk, seq__in=set(seqs))
    return dict(rows.values_list("seq", "recorded_at"))


def period(cluster: Cluster) -> tuple[Event | None, Event | None]:
    """The first and the last event of the log: what time the history covers."""
    rows = Event.objects.filter(stream_id=cluster.pk)
    return rows.order_by("seq").first(), rows.order_by("-seq").first()


def of_object(cluster: Cluster, subject: str, namespace: str, name: str, limit: int = 20) -> list[Event]:
    """The newest events about one object, newest first."""
    about = Filters(subject=subject, namespace=namespace, name=name)
    return search(cluster, about, limit=limit).items


def neighbours(cluster: Cluster, filters: Filters, seq: int) -> Neighbours:
    """The nearest events before and after ``seq`` that the filters leave."""
    within = bounds(cluster, filters)
    down = search(cluster, filters, before=seq, limit=1, within=within)
    up = search(cluster, filters, after=seq, limit=1, within=within)
    return Neighbours(
        down.items[0].seq if down.items else None,
        up.items[0].seq if up.items else None,
        None if down.items else down.next,
        None if up.items else up.next,
    )


def caused_by(cluster: Cluster, seq: int, *, after: int = 0, limit: int = 20) -> Found:
    """Events that name this one as their cause, oldest first, newer than ``after``."""
    return search(cluster, Filters(cause=seq), after=max(after, seq), limit=limit)


def of_command(cluster: Cluster, command_id: str) -> tuple[int, int] | None:
    """The first and the last seq that a command wrote; None when none of that id did."""
    rows = Command.objects.filter(stream_id=cluster.pk, command_id=command_id)
    return rows.values_list("first_seq", "last_seq").first()


def causes(cluster: Cluster, event: Event, limit: int = LONGEST_CHAIN) -> list[Event]:
    """The event's cause, the cause of that, and so on, nearest first; at most ``limit``, and none that is not
    in the table.
    """
    chain: list[Event] = []
    seq = event.cause
    # A cause lies before what it led to; a log that says otherwise is not followed in a circle.
    while seq is not None and seq < (chain[-1] if chain else event).seq and len(chain) < limit:
        found = Event.objects.filter(stream_id=cluster.pk, seq=seq).first()
        if found is None:
            break
        chain.append(found)
        seq = found.cause
    return chain


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
