"""The generations of a PodGroup as the log tells them: who opened each, why, from what, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from scheduling.ledger import codec
from scheduling.ledger import events as e
from scheduling.models import Cluster, Event


@dataclass(frozen=True, slots=True)
class Generation:
    """``why``, ``checkpoint``, ``supersedes``: as in PodGroupCreated. ``closed_*``: "" and None while it is
    open.
    """

    generation: int
    uid: str
    supersedes: str
    why: str
    checkpoint: str
    opened_seq: int
    opened_at: datetime
    opened_by: str
    closed_reason: str = ""
    closed_seq: int | None = None
    closed_at: datetime | None = None
    closed_by: str = ""


def lineage(cluster: Cluster, namespace: str, name: str) -> list[Generation]:
    """Newest first; those of which the beginning is archived are missing. Raises BadEvent."""
    found: dict[str, Generation] = {}
    for row, event in _told(cluster, namespace, name):
        if isinstance(event, e.PodGroupCreated):
            group = event.group
            found[group.uid] = Generation(
                generation=group.generation,
                uid=group.uid,
                supersedes=group.supersedes,
                why=event.why,
                checkpoint=event.checkpoint,
                opened_seq=row.seq,
                opened_at=row.recorded_at,
                opened_by=row.actor,
            )
        elif isinstance(event, e.PodGroupClosed) and event.uid in found:
            found[event.uid] = replace(
                found[event.uid],
                closed_reason=event.reason,
                closed_seq=row.seq,
                closed_at=row.recorded_at,
                closed_by=row.actor,
            )
    return sorted(found.values(), key=lambda one: -one.generation)


def _told(cluster: Cluster, namespace: str, name: str) -> list[tuple[Event, e.Event]]:
    rows = Event.objects.filter(
        stream_id=cluster.pk,
        subject="podgroup",
        namespace=namespace,
        name=name,
        type__in=(e.PodGroupCreated.__name__, e.PodGroupClosed.__name__),
    ).order_by("seq")
    return [(row, codec.decode(row.type, row.version, row.body)) for row in rows]
