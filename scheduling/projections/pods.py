"""Rows of pods."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

from scheduling.engine.model import Pod, Shape
from scheduling.ledger import codec
from scheduling.ledger import events as e
from scheduling.ledger.fold import BrokenHistory
from scheduling.ledger.store import Recorded, to_datetime
from scheduling.projections.tables import PodRecord, Tables

VERSION = 1


def apply(tables: Tables, recorded: Recorded) -> None:
    event = recorded.event
    if isinstance(event, e.PodAdded):
        _add(tables, event.pod, recorded)
    elif isinstance(event, e.PodUpdated):
        # Only the changed fields are looked at, so an empty pod will do for the others.
        pod = event.changed(Pod(event.namespace, event.name, event.uid, Shape(())))
        columns = _columns(pod)
        changed = {column for field, _ in event.changes for column in _COLUMNS_OF.get(field, (field,))}
        _change(tables, event.uid, {column: columns[column] for column in changed if column in columns})
    elif isinstance(event, e.PodRemoved):
        row = tables.pods.get(event.uid)
        if row is not None and not row.removed:
            _change(tables, event.uid, {"removed": True})
    elif isinstance(event, e.PodGroupPlaced):
        for uid, _, node in event.assignments:
            _change(tables, uid, {"node": node})


_COLUMNS_OF = {"shape": ("requests", "shape", "unmodelled")}


@lru_cache(4096)
def shape_id(shape: Shape) -> str:
    """A short name that pods share exactly when they ask for the same."""
    return hashlib.sha256(codec.canonical(codec.encode_part(shape))).hexdigest()[:16]


def _columns(pod: Pod) -> dict[str, Any]:
    return {
        "node": pod.node,
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


def _add(tables: Tables, pod: Pod, recorded: Recorded) -> None:
    old = tables.pods.get(pod.uid)
    if old is not None:
        tables.displace(old)
    moment = to_datetime(recorded.occurred_at)
    row = PodRecord(
        uid=pod.uid,
        namespace=pod.namespace,
        name=pod.name,
        removed=False,
        changed_seq=old.changed_seq if old is not None else recorded.seq,
        changed_at=old.changed_at if old is not None else moment,
        **_columns(pod),
    )
    tables.place(tables.pods.put(pod.uid, row))


def _change(tables: Tables, uid: str, changes: dict[str, Any]) -> None:
    row = tables.pods.change(uid)
    if row is None or row.removed:
        raise BrokenHistory(f"pod {uid} changed, but it is not there")
    tables.displace(row)
    for column, value in changes.items():
        setattr(row, column, value)
    tables.place(row)
