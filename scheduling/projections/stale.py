"""Which rows of nodes and groups an event may concern, beside the one it is about."""

from __future__ import annotations

from collections.abc import Iterator

from scheduling.ledger import events as e
from scheduling.ledger.events import Event
from scheduling.projections.tables import Tables

CHANGES_LAW = (
    e.FeatureGateChanged,
    e.CanaryStarted,
    e.CanaryWidened,
    e.GateRolledBack,
    e.CanaryEnded,
)
"""After these other groups may be held to one domain."""


def mark(tables: Tables, event: Event) -> None:
    """Called before and after the event changed the state: what it left and what it came to both count."""
    state = tables.state
    for uid, key in pods_of(event):
        # Of pods with one name only the newest can be placed: a pod may change how another's group stands.
        for concerned in (uid, state.pod_uid(key)):
            pod = state.pods.get(concerned) if concerned else None
            if pod is not None:
                tables.stale_nodes.update([pod.node] if pod.node else [])
                tables.stale_groups.update([pod.group_key] if pod.group else [])
    match event:
        case e.NodeAdded():
            _mark_node(tables, event.node.name)
        case e.NodeUpdated() | e.NodeRemoved():
            _mark_node(tables, event.name)
        case e.ReservationMade():
            tables.stale_nodes.update(event.reservation.nodes)
        case e.ReservationReleased():
            tables.stale_nodes.update(event.nodes)
        case _ if isinstance(event, CHANGES_LAW):
            tables.stale_groups.update(state.group_keys())
        case e.PodGroupCreated():
            tables.stale_groups.add(event.group.key)
        case (
            e.PodGroupUpdated()
            | e.PodGroupClosed()
            | e.PodGroupPlaced()
            | e.PodGroupUnschedulable()
            | e.PodGroupHeld()
            | e.PodGroupOverQuota()
            | e.PodGroupConflicted()
            | e.PodGroupSettled()
            | e.DomainLost()
            | e.PlacementForecast()
        ):
            tables.stale_groups.add(f"{event.namespace}/{event.name}")


def pods_of(event: Event) -> Iterator[tuple[str, str]]:
    """(uid, key) of every pod that an event changes."""
    match event:
        case e.PodAdded():
            yield event.pod.uid, event.pod.key
        case e.PodUpdated() | e.PodRemoved() | e.MemberEvicted():
            yield event.uid, f"{event.namespace}/{event.name}"
        case e.PodGroupPlaced():
            for uid, name, _ in event.assignments:
                yield uid, f"{event.namespace}/{name}"


def _mark_node(tables: Tables, name: str) -> None:
    """What becomes of a node decides how the groups with members on it stand."""
    tables.stale_nodes.add(name)
    tables.stale_groups.update(pod.group_key for pod in tables.state.pods_on(name) if pod.group)
