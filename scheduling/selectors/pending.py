"""Groups that wait, and why."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Coalesce

from scheduling.models import Cluster, Event, PodGroupRow
from scheduling.selectors.clusters import WAITING
from scheduling.selectors.paging import Page, cut


def _waiting(cluster: Cluster) -> QuerySet[PodGroupRow]:
    return PodGroupRow.objects.filter(cluster=cluster, closed=False, status__in=WAITING)


def page(cluster: Cluster, *, after: str = "", limit: int = 200) -> Page[PodGroupRow]:
    """Waiting groups by reason, then the longest wait first; each has ``since`` (when its wait began).

    ``after``: ``reason|time|pk`` as given by the page before; ValueError when it is not of that form.
    """
    rows = _waiting(cluster).annotate(since=Coalesce("waiting_since", "status_since"))
    if after:
        reason, time, pk = after.split("|")
        since = datetime.fromisoformat(time)
        rows = rows.filter(
            Q(reason__gt=reason)
            | Q(reason=reason, since__gt=since)
            | Q(reason=reason, since=since, pk__gt=int(pk))
        )
    return cut(
        rows.order_by("reason", "since", "pk")[: limit + 1],
        limit,
        lambda row: f"{row.reason}|{row.since.isoformat()}|{row.pk}",  # type: ignore[attr-defined]
    )


def placed(cluster: Cluster) -> int:
    """How many waiting groups were given a place by their last decision: in an observed cluster forecasts."""
    return _waiting(cluster).filter(verdict="placed").count()


def counts(cluster: Cluster) -> dict[str, int]:
    """How many groups wait for each reason ("" before the first decision)."""
    rows = _waiting(cluster).order_by("reason").values_list("reason").annotate(number=Count("pk"))
    return dict(rows)


def decided_at(cluster: Cluster, rows: list[PodGroupRow]) -> dict[int, datetime]:
    """When the last decision of each row was made, by its seq; one query for all."""
    seqs = [row.decision_seq for row in rows if row.decision_seq is not None]
    return dict(Event.objects.filter(stream_id=cluster.pk, seq__in=seqs).values_list("seq", "recorded_at"))
