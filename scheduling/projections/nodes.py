"""Rows of nodes, with what the pods on them hold."""

from __future__ import annotations

from collections import Counter
from typing import Any

from scheduling.engine.model import Node
from scheduling.ledger import events as e
from scheduling.ledger.fold import BrokenHistory
from scheduling.ledger.store import Recorded, to_datetime
from scheduling.projections.tables import NodeRecord, Tables

VERSION = 1


def apply(tables: Tables, recorded: Recorded) -> None:
    event = recorded.event
    if isinstance(event, e.NodeAdded):
        _add(tables, event.node, recorded)
        _stale(tables, event.node.name)
    elif isinstance(event, e.NodeUpdated):
        row = tables.nodes.change(event.name)
        if row is None or row.uid != event.uid:
            raise BrokenHistory(f"node {event.name} ({event.uid}) changed, but it is not there")
        # Only the changed fields are looked at, so an empty node will do for the others.
        node = event.changed(Node(event.name, event.uid))
        for field, _ in event.changes:
            setattr(row, field, _columns(node)[field])
        row.gpus = gpus(row.allocatable)
        _stale(tables, event.name)
    elif isinstance(event, e.NodeRemoved):
        row = tables.nodes.change(event.name)
        if row is not None and row.uid == event.uid:
            row.removed = True
            _stale(tables, event.name)


def settle(tables: Tables) -> None:
    """End of a commit: what is used on a node is the sum of the pods on it."""
    for name in sorted(tables.on_node.stale):
        row = tables.nodes.change(name)
        if row is None:
            continue  # pods may be bound to a node that nobody has told of
        used: Counter[str] = Counter()
        pods: Counter[str] = Counter()
        devices: Counter[str] = Counter()
        for pod in tables.pods_on(name):
            used.update(pod.requests)
            pods[pod.group_key] += 1
            devices[pod.group_key] += gpus(pod.requests)
        row.used = dict(sorted(used.items()))
        row.occupants = [[key, pods[key], devices[key]] for key in sorted(pods)]
        row.gpus_used = sum(devices.values())
    tables.on_node.stale.clear()


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
    columns = _columns(node)
    tables.nodes.put(
        node.name,
        NodeRecord(
            index=index,
            name=node.name,
            uid=node.uid,
            used={},
            occupants=[],
            gpus=gpus(columns["allocatable"]),
            gpus_used=0,
            removed=False,
            since_seq=old.since_seq if old is not None and same else recorded.seq,
            changed_seq=old.changed_seq if old is not None else recorded.seq,
            changed_at=old.changed_at if old is not None else moment,
            **columns,
        ),
    )


def _columns(node: Node) -> dict[str, Any]:
    return {
        "labels": dict(node.labels),
        "taints": [[taint.key, taint.value, taint.effect] for taint in node.taints],
        "unschedulable": node.unschedulable,
        "ready": node.ready,
        "allocatable": dict(node.allocatable),
    }


def _stale(tables: Tables, name: str) -> None:
    """The node, and the groups whose bound members' domain it tells."""
    tables.on_node.stale.add(name)
    tables.naming.stale.update(pod.group_key for pod in tables.pods_on(name) if pod.group)
