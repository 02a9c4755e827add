"""Rows of nodes, with what the pods on them hold."""

from __future__ import annotations

from collections import Counter
from typing import Any

from scheduling.engine.model import Node
from scheduling.ledger import events as e
from scheduling.ledger.store import Recorded, to_datetime
from scheduling.projections.tables import NodeRecord, Tables

VERSION = 2


def apply(tables: Tables, recorded: Recorded) -> None:
    event = recorded.event
    if isinstance(event, e.NodeAdded):
        _add(tables, event.node, recorded)
    elif isinstance(event, e.NodeUpdated):
        row = tables.nodes.change(event.name)
        if row is None:
            raise LookupError(f"node {event.name} has no row")
        for column, value in _columns(tables.state.nodes[event.name]).items():
            setattr(row, column, value)
    elif isinstance(event, e.NodeRemoved):
        row = tables.nodes.change(event.name)
        if row is not None and row.uid == event.uid:
            row.removed = True


def settle(tables: Tables) -> None:
    """End of a commit: what is used on a node is the sum of the pods on it."""
    for name in tables.take_stale_nodes():
        row = tables.nodes.change(name)
        if row is None:
            continue  # pods may be bound to a node that nobody has told of
        used: Counter[str] = Counter()
        pods: Counter[str] = Counter()
        devices: Counter[str] = Counter()
        for pod in tables.state.pods_on(name):
            requests = dict(pod.shape.requests)
            used.update(requests)
            pods[pod.group_key] += 1
            devices[pod.group_key] += gpus(requests)
        row.used = dict(sorted(used.items()))
        row.occupants = [[key, pods[key], devices[key]] for key in sorted(pods)]
        row.gpus_used = sum(devices.values())


def gpus(amounts: dict[str, int]) -> int:
    """Devices of every resource that is a GPU by its name."""
    return sum(amount for resource, amount in amounts.items() if resource.endswith("/gpu"))


def _add(tables: Tables, node: Node, recorded: Recorded) -> None:
    moment = to_datetime(recorded.occurred_at)
    old = tables.nodes.get(node.name)
    same = old is not None and old.uid == node.uid and not old.removed
    if old is None:
        index, tables.next_index = tables.next_index, tables.next_index + 1
    else:
        index = old.index
    row = NodeRecord(
        index=index,
        name=node.name,
        uid=node.uid,
        used={},
        occupants=[],
        gpus_used=0,
        removed=False,
        since_seq=old.since_seq if old is not None and same else recorded.seq,
        changed_seq=old.changed_seq if old is not None else recorded.seq,
        changed_at=old.changed_at if old is not None else moment,
        **_columns(node),
    )
    tables.nodes.put(node.name, row)


def _columns(node: Node) -> dict[str, Any]:
    allocatable = dict(node.allocatable)
    return {
        "labels": dict(node.labels),
        "taints": [[taint.key, taint.value, taint.effect] for taint in node.taints],
        "unschedulable": node.unschedulable,
        "ready": node.ready,
        "allocatable": allocatable,
        "zones": [[zone.name, dict(zone.allocatable)] for zone in node.zones],
        "gpus": gpus(allocatable),
    }
