"""The rows of a cluster as they stood after its last archived event, as bytes and back."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, get_type_hints

import orjson

from scheduling.ledger import bases, fold, store
from scheduling.ledger.bases import UnreadableBase
from scheduling.models import Base
from scheduling.projections import commit
from scheduling.projections.tables import ClusterRecord, NodeRecord, PodGroupRecord, PodRecord, Tables


def pack(tables: Tables) -> bytes:
    """All rows, in a fixed order. ``tables`` are whole and at the end of a commit."""
    return zlib.compress(
        orjson.dumps(
            {
                "cluster": _values([] if tables.cluster is None else [tables.cluster]),
                "nodes": _values([row for _, row in sorted(tables.nodes.rows.items())]),
                "pods": _values([row for _, row in sorted(tables.pods.rows.items())]),
                "groups": _values([row for _, row in sorted(tables.groups.rows.items())]),
            },
            option=orjson.OPT_SORT_KEYS,
        )
    )


def unpack(data: bytes) -> Tables:
    """The rows, all of them to be saved; their state is empty."""
    told = orjson.loads(zlib.decompress(data))
    tables = Tables(whole=True)
    for cluster in _records(ClusterRecord, told["cluster"]):
        tables.cluster, tables.cluster_dirty = cluster, True
    for node in _records(NodeRecord, told["nodes"]):
        tables.nodes.rows[node.name] = node
    for pod in _records(PodRecord, told["pods"]):
        tables.pods.rows[pod.uid] = pod
    for group in _records(PodGroupRecord, told["groups"]):
        tables.groups.rows[group.key, group.uid] = group
    tables.nodes.dirty.update(tables.nodes.rows)
    tables.pods.dirty.update(tables.pods.rows)
    tables.groups.dirty.update(tables.groups.rows)
    tables.next_index = len(tables.nodes.rows)
    return tables


def beginning(stream_id: int) -> tuple[Tables, int]:
    """What a replay of the events in the table starts from, and the seq after which it starts: empty tables
    and 0, or the rows and the state at the end of the append that the last archived event is part of.

    Raises UnreadableBase when the rows were made by other rules.
    """
    base = bases.newest(stream_id)
    if base is None:
        return Tables(whole=True), 0
    made = {name: base.versions.get(name) for name in commit.PROJECTIONS}
    if made != commit.PROJECTIONS:
        raise UnreadableBase(stream_id, f"its tables are of versions {made}, needed are {commit.PROJECTIONS}")
    rows = Base.objects.filter(stream_id=stream_id, seq=base.seq).values_list("tables", flat=True).get()
    tables = unpack(bytes(rows))
    state = bases.beginning(stream_id).state
    tables.state = fold.fold(state, store.read(stream_id, after=base.seq, upto=base.tables_seq))
    return tables, base.tables_seq


def _values(rows: Sequence[Any]) -> list[list[Any]]:
    return [[getattr(row, field.name) for field in fields(row)] for row in rows]


def _records(kind: type[Any], told: list[list[Any]]) -> list[Any]:
    hints = get_type_hints(kind)
    times = [hints[field.name] in (datetime, datetime | None) for field in fields(kind)]
    return [
        kind(
            *(
                datetime.fromisoformat(value) if is_time and value else value
                for value, is_time in zip(
                    row, times, strict=False
                )  # a column of a later version: its default
            )
        )
        for row in told
    ]
