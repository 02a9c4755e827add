"""What pages and API read of clusters as wholes."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from scheduling.engine.model import TAS_GATES
from scheduling.models import Cluster, NodeRow, PodGroupRow, StreamHead

WAITING = (PodGroupRow.Status.PENDING, PodGroupRow.Status.HELD, PodGroupRow.Status.ERROR)
"""The states of a group that has not got what it asked for."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One cluster as the list shows it. ``seq``: the newest event of its log."""

    cluster: Cluster
    enforced: bool
    seq: int
    nodes: int
    pending: int


def get(name: str) -> Cluster:
    """The cluster of this name; raises Cluster.DoesNotExist."""
    return Cluster.objects.select_related("stream").get(name=name)


def names() -> list[str]:
    """Names of all clusters, sorted."""
    return list(Cluster.objects.order_by("name").values_list("name", flat=True))


def off_gates(cluster: Cluster) -> list[str]:
    """The gates of topology-aware scheduling that are off, in the order they are listed."""
    return [gate for gate in TAS_GATES if not cluster.gates.get(gate, False)]


def enforced(cluster: Cluster) -> bool:
    """Whether the one-domain law holds here: every gate is on."""
    return not off_gates(cluster)


def head(cluster: Cluster) -> int:
    """The newest seq of the cluster's log."""
    return StreamHead.objects.values_list("seq", flat=True).get(stream_id=cluster.pk)


def pending_count(cluster: Cluster) -> int:
    """How many groups wait."""
    return PodGroupRow.objects.filter(cluster=cluster, closed=False, status__in=WAITING).count()


def summaries() -> list[Summary]:
    """Every cluster with its counts, by name; one query however many there are."""

    def counted(rows: type[NodeRow] | type[PodGroupRow], condition: Q) -> Coalesce:
        count = (
            rows._default_manager.filter(condition, cluster=OuterRef("pk"))
            .order_by()
            .values("cluster")
            .annotate(number=Count("pk"))
            .values("number")
        )
        return Coalesce(Subquery(count), 0)

    rows = Cluster.objects.order_by("name").annotate(
        head_seq=F("stream__head__seq"),
        node_count=counted(NodeRow, Q(removed=False)),
        pending=counted(PodGroupRow, Q(closed=False, status__in=WAITING)),
    )
    return [Summary(row, enforced(row), row.head_seq or 0, row.node_count, row.pending) for row in rows]
