"""Rows of pods."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

from scheduling.engine.model import Pod, Shape
from scheduling.ledger import codec
from scheduling.ledger import events as e
from scheduling.ledger.store import Recorded, to_datetime
from scheduling.projections.stale import pods_of
from scheduling.projections.tables import PodRecord, Tables

VERSION = 2


def apply(tables: Tables, recorded: Recorded) -> None:
    event = recorded.event
    if isinstance(event, e.PodAdded):
        _add(tables, event.pod, recorded)
    elif isinstance(event, e.PodRemoved | e.MemberEvicted):
        row = tables.pods.change(event.uid)
        if row is not None:
            row.removed = True
    elif isinstance(event, e.PodUpdated):
        columns = {column for field, _ in event.changes for column in _COLUMNS_OF.get(field, (field,))}
        _update(tables, event.uid, columns)
    elif isinstance(event, e.PodGroupPlaced):
        for uid, _ in pods_of(event):
            _update(tables, uid, {"node", "zone"})


_COLUMNS_OF = {"shape": ("requests", "shape", "unmodelled"), "node": ("node", "zone")}


@lru_cache(4096)
def shape_id(shape: Shape) -> str:
    """A short name that pods share exactly when they ask for the same."""
    return hashlib.sha256(codec.canonical(codec.encode_part(shape))).hexdigest()[:16]


def _add(tables: Tables, pod: Pod, recorded: Recorded) -> None:
    old = tables.pods.get(pod.uid)
    moment = to_datetime(recorded.occurred_at)
    row = PodRecord(
        uid=pod.uid,
        namespace=pod.namespace,
        name=pod.name,
        removed=False,
        added_seq=old.added_seq if old is not None and not old.removed else recorded.seq,
        changed_seq=old.changed_seq if old is not None else recorded.seq,
        changed_at=old.changed_at if old is not None else moment,
        **_columns(tables, pod),
    )
    tables.pods.put(pod.uid, row)


def _update(tables: Tables, uid: str, columns: set[str]) -> None:
    """Set the columns from the pod in the state, which knows of it what the row did and what changed."""
    row = tables.pods.change(uid)
    if row is None:
        raise LookupError(f"pod {uid} has no row")
    for column, value in _columns(tables, tables.state.pods[uid]).items():
        if column in columns:
            setattr(row, column, value)


def _columns(tables: Tables, pod: Pod) -> dict[str, Any]:
    return {
        "node": pod.node,
        "zone": tables.state.zone_of.get(pod.uid, ""),
        "group": pod.group,
        "phase": pod.phase,
        "terminating": pod.terminating,
        "gated": pod.gated,
        "scheduler_name": pod.scheduler_name,
        "priority": pod.priority,
        "requests": dict(pod.shape.requests),
        "shape": shape_id(pod.shape),
        "unmodelled": list(pod.shape.unmodelled),
        "created": to_datetime(pod.created) if pod.created else None,
    }
