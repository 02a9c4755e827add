"""Which nodes have room that is held, for the map: GPUs by node, and what reservations that came or went
touched.
"""

from __future__ import annotations

from collections import Counter

from scheduling.engine.change_steps import gpus_of
from scheduling.engine.state import ClusterState
from scheduling.ledger import archives, codec
from scheduling.ledger.events import ReservationMade, ReservationReleased
from scheduling.models import Cluster, Event, NodeRow
from scheduling.services.state import state_of


def of_node(state: ClusterState, name: str) -> int | None:
    """GPUs that are held on a node of the state and not in use; None when nothing of it is held."""
    if name not in state.holds.by_node:
        return None
    held = state.held(name)
    return gpus_of(held.items()) if held else None


def by_node(cluster: Cluster) -> dict[str, int]:
    """As ``of_node``, of all nodes with held room, at the head. The state is asked for only where the log has
    had a reservation.
    """
    made = Event.objects.filter(stream_id=cluster.pk, type=ReservationMade.__name__)
    if not archives.begin(cluster.pk) and not made.exists():
        return {}
    state = state_of(cluster)
    found = {name: of_node(state, name) for name in state.holds.by_node if name in state.nodes}
    return {name: gpus for name, gpus in found.items() if gpus is not None}


def by_domain(cluster: Cluster, key: str) -> dict[str, int]:
    """GPUs that are held and not in use, by domain of a label, at the head."""
    held = by_node(cluster)
    rows = NodeRow.objects.filter(cluster=cluster, removed=False, name__in=held)
    found: Counter[str] = Counter()
    for name, labels in rows.values_list("name", "labels"):
        if key in labels:
            found[labels[key]] += held[name]
    return dict(found)


def touched(cluster: Cluster, since: int, upto: int) -> set[str]:
    """Nodes of the reservations that were made or released by events after ``since``."""
    rows = Event.objects.filter(
        stream_id=cluster.pk, subject=ReservationMade.SUBJECT, seq__gt=since, seq__lte=upto
    )
    nodes: set[str] = set()
    for type_name, version, body in rows.values_list("type", "version", "body"):
        event = codec.decode(type_name, version, body)
        if isinstance(event, ReservationMade):
            nodes.update(event.reservation.nodes)
        elif isinstance(event, ReservationReleased):
            nodes.update(event.nodes)
    return nodes
