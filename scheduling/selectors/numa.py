"""NUMA zones as domains of the key ``NUMA_KEY``: what pages read of them.

Zones lie inside nodes, so a map of nodes shows for this key every node that tells its zones as one box. What
is free in a zone comes from the state that decisions are made on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db.models import Case, F, Func, IntegerField, Q, TextField, When
from django.db.models.functions import Cast

from scheduling.engine.numa import ZoneRoom, zone_rooms
from scheduling.engine.numa_names import node_of
from scheduling.models import Cluster, PodRow
from scheduling.projections.nodes import gpus
from scheduling.services.state import state_of

WITH_ZONES = ~Q(zones=[])


@dataclass(frozen=True, slots=True)
class ZoneUse:
    """One resource of a zone. ``free``: what is certain, negative when over-committed."""

    name: str
    has: int
    free: int


@dataclass(frozen=True, slots=True)
class ZoneRow:
    """``vague``: more may be free than ``uses`` say: pods on the node do not tell which zone they use."""

    domain: str
    node: str
    uses: list[ZoneUse]
    vague: bool


def rooms(cluster: Cluster) -> list[ZoneRoom]:
    """Every zone of the cluster, by domain."""
    return zone_rooms(state_of(cluster))


def zones_of(cluster: Cluster, node: str) -> list[ZoneRow]:
    """The zones of one node, with the resources that decisions limit there."""
    return [_row(zone) for zone in rooms(cluster) if zone.node == node]


def occupants(cluster: Cluster, domain: str) -> list[list[str | int]]:
    """``[group key or "", pods, GPUs]`` of the pods that were placed in the zone."""
    pods, devices = Counter[str](), Counter[str]()
    rows = PodRow.objects.filter(cluster=cluster, node=node_of(domain), zone=domain, removed=False)
    for row in rows.exclude(node="").exclude(phase__in=("Succeeded", "Failed")):
        group = f"{row.namespace}/{row.group}" if row.group else ""
        pods[group] += 1
        devices[group] += gpus(row.requests)
    return [[group, pods[group], devices[group]] for group in sorted(pods)]


def how_many() -> Func:
    """How many zones a node tells of."""
    return Func(F("zones"), function="jsonb_array_length", output_field=IntegerField())


def box() -> Case:
    """The box of a node on the map: its name when it tells its zones, null when it does not."""
    return Case(When(WITH_ZONES, then=Cast(F("name"), TextField())), output_field=TextField())


def _row(zone: ZoneRoom) -> ZoneRow:
    free = dict(zone.free)
    uses = [ZoneUse(name, has, free.get(name, 0)) for name, has in zone.allocatable]
    return ZoneRow(zone.domain, zone.node, uses, zone.vague)
