"""Topology domains: the values of a node label, and what the nodes of each hold."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.db.models import Count, F, Q, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from scheduling.engine.numa import ZoneRoom
from scheduling.engine.numa_names import NUMA_KEY, domain_of, node_of
from scheduling.models import Cluster, NodeRow
from scheduling.projections.nodes import gpus
from scheduling.selectors import numa

_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class DomainRow:
    """One domain. *Usable* nodes are ready and not cordoned; taints and selectors depend on who asks.

    ``gpus_usable``: free GPUs on usable nodes, so also the largest gang of one-GPU members.
    ``whole_nodes``: usable
    nodes with GPUs none of which is taken, so also the largest gang of members that take a whole node.
    ``gpus_held``: of the free ones, those that reservations hold; counted where it was asked for.
    """

    domain: str
    nodes: int
    usable_nodes: int
    gpus: int
    gpus_used: int
    gpus_usable: int
    whole_nodes: int
    gpus_held: int = 0

    @property
    def gpus_free(self) -> int:
        return max(0, self.gpus - self.gpus_used)


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts ``rack-2`` before ``rack-10``."""
    return tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in _DIGITS.split(text) if part
    )


def _live(cluster: Cluster) -> Q:
    return Q(cluster=cluster, removed=False)


def table(cluster: Cluster, key: str) -> list[DomainRow]:
    """Every domain of ``key`` in natural order; nodes without the label are in none."""
    if key == NUMA_KEY:
        return sorted(_zone_rows(cluster), key=lambda row: natural(row.domain))
    usable = Q(ready=True, unschedulable=False)
    rows = (
        NodeRow.objects.filter(_live(cluster), labels__has_key=key)
        .annotate(domain=KeyTextTransform(key, "labels"))
        .order_by()
        .values("domain")
        .annotate(
            nodes=Count("pk"),
            usable_nodes=Count("pk", filter=usable),
            total=Coalesce(Sum("gpus"), 0),
            taken=Coalesce(Sum("gpus_used"), 0),
            usable_free=Coalesce(
                Sum(F("gpus") - F("gpus_used"), filter=usable & Q(gpus__gt=F("gpus_used"))), 0
            ),
            whole=Count("pk", filter=usable & Q(gpus__gt=0, gpus_used=0)),
        )
    )
    found = [
        DomainRow(
            row["domain"],
            row["nodes"],
            row["usable_nodes"],
            row["total"],
            row["taken"],
            row["usable_free"],
            row["whole"],
        )
        for row in rows
    ]
    return sorted(found, key=lambda row: natural(row.domain))


def unlabelled(cluster: Cluster, key: str) -> int:
    """Nodes that do not carry ``key`` and so belong to no domain of it."""
    if key == NUMA_KEY:
        return NodeRow.objects.filter(_live(cluster)).exclude(numa.WITH_ZONES).count()
    return NodeRow.objects.filter(_live(cluster)).exclude(labels__has_key=key).count()


def nodes_of(cluster: Cluster, key: str, value: str) -> list[NodeRow]:
    """The nodes of one domain in natural order of their names."""
    if key == NUMA_KEY:
        return [
            row
            for row in NodeRow.objects.filter(_live(cluster), name=node_of(value))
            if value in (domain_of(row.name, name) for name, _ in row.zones)
        ]
    rows = NodeRow.objects.filter(_live(cluster), labels__contains={key: value})
    return sorted(rows, key=lambda row: natural(row.name))


def zone_row(cluster: Cluster, domain: str) -> DomainRow | None:
    """The row of one NUMA zone, None when there is none of that name."""
    return next((row for row in _zone_rows(cluster) if row.domain == domain), None)


def _zone_rows(cluster: Cluster) -> list[DomainRow]:
    usable = set(
        NodeRow.objects.filter(_live(cluster), ready=True, unschedulable=False).values_list("name", flat=True)
    )
    return [of_zone(zone, zone.node in usable) for zone in numa.rooms(cluster)]


def of_zone(zone: ZoneRoom, usable: bool) -> DomainRow:
    """What is not certain to be free counts as used."""
    total = gpus(dict(zone.allocatable))
    free = max(0, gpus(dict(zone.free)))
    return DomainRow(
        domain=zone.domain,
        nodes=1,
        usable_nodes=int(usable),
        gpus=total,
        gpus_used=total - free,
        gpus_usable=free if usable else 0,
        whole_nodes=int(usable and 0 < total == free),
    )


def summed(domain: str, nodes: list[NodeRow]) -> DomainRow:
    """The row of one domain whose nodes are at hand."""
    usable = [node for node in nodes if node.ready and not node.unschedulable]
    return DomainRow(
        domain=domain,
        nodes=len(nodes),
        usable_nodes=len(usable),
        gpus=sum(node.gpus for node in nodes),
        gpus_used=sum(node.gpus_used for node in nodes),
        gpus_usable=sum(max(0, node.gpus - node.gpus_used) for node in usable),
        whole_nodes=sum(node.gpus > 0 and node.gpus_used == 0 for node in usable),
    )
