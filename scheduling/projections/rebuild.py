"""The tables of a cluster made anew from its log, and compared with what is stored."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from django.db import transaction

from scheduling.ledger import store
from scheduling.models import StreamHead
from scheduling.projections import bases, commit, storage
from scheduling.projections.storage import GROUPS, NODES, PODS
from scheduling.projections.tables import ClusterRecord, NodeRecord, PodGroupRecord, PodRecord, Tables


@dataclass(frozen=True, slots=True)
class Difference:
    """``field`` "" when the whole row is missing on one side (None there)."""

    table: str
    key: str
    field: str
    stored: Any
    rebuilt: Any

    def __str__(self) -> str:
        if self.field:
            return f"{self.table} {self.key}: {self.field} is {self.stored!r}, the log says {self.rebuilt!r}"
        return f"{self.table} {self.key}: " + (
            "is missing" if self.stored is None else "has no place in the log"
        )


def rebuild(stream_id: int) -> int:
    """Replace all rows of the cluster, in one transaction; returns the seq they stand at. Appends wait
    meanwhile. Raises UnknownStream, UnreadableBase.
    """
    with transaction.atomic():
        head = _lock(stream_id)
        tables, begin = bases.beginning(stream_id)
        _replay(tables, stream_id, begin, head)
        for kind in (NODES, PODS, GROUPS):
            kind.clear(stream_id)
        storage.save(stream_id, tables)
        storage.set_positions(stream_id, commit.PROJECTIONS, head)
    return head


def is_behind(stream_id: int) -> bool:
    """Whether other versions of the projections wrote the rows, so that appends are refused."""
    head = store.head(stream_id).seq
    wanted = {name: (version, head) for name, version in commit.PROJECTIONS.items()} if head else {}
    return storage.positions(stream_id) != wanted


def compare(stream_id: int) -> list[Difference]:
    """Every difference between the stored rows and those that the log gives; stored rows are left as they
    are.

    The log is replayed without holding anything up; appends wait only while its end and the rows are read.
    """
    tables, begin = bases.beginning(stream_id)
    tables, seq = _replay(tables, stream_id, begin, store.head(stream_id).seq)
    with transaction.atomic():
        head = _lock(stream_id)
        tables, _ = _replay(tables, stream_id, seq, head)
        cluster = storage.load_cluster(stream_id)
        nodes, pods, groups = NODES.load(stream_id), PODS.load(stream_id), GROUPS.load(stream_id)
        standing = storage.positions(stream_id)
    found: list[Difference] = []
    _compare_rows(found, "clusters", _one(cluster), _one(tables.cluster))
    _compare_rows(found, "nodes", {row.name: row for row in nodes}, tables.nodes.rows)
    _compare_rows(found, "pods", {row.uid: row for row in pods}, tables.pods.rows)
    _compare_rows(
        found,
        "pod_groups",
        {f"{row.key} {row.uid}": row for row in groups},
        {f"{row.key} {row.uid}": row for row in tables.groups.rows.values()},
    )
    wanted = {name: (version, head) for name, version in commit.PROJECTIONS.items()} if head else {}
    if standing != wanted:
        found.append(Difference("positions", str(stream_id), "(version, seq)", standing, wanted))
    return found


def _lock(stream_id: int) -> int:
    """Hold the head of the stream, so that nothing is appended; its seq."""
    row = StreamHead.objects.select_for_update().filter(pk=stream_id).values_list("seq", flat=True).first()
    if row is None:
        raise store.UnknownStream(f"there is no stream {stream_id}")
    return row


def _replay(tables: Tables, stream_id: int, after: int, upto: int) -> tuple[Tables, int]:
    for events in commit.commits(store.read(stream_id, after=after, upto=upto)):
        commit.apply(tables, events)
    return tables, upto


def _one(cluster: ClusterRecord | None) -> dict[str, ClusterRecord]:
    return {} if cluster is None else {cluster.name: cluster}


_Row = ClusterRecord | NodeRecord | PodRecord | PodGroupRecord


def _compare_rows(
    found: list[Difference], table: str, stored: dict[str, Any], rebuilt: dict[str, Any]
) -> None:
    for key in sorted(stored.keys() | rebuilt.keys()):
        left: _Row | None = stored.get(key)
        right: _Row | None = rebuilt.get(key)
        if left is None or right is None:
            found.append(Difference(table, key, "", left, right))
        elif left != right:
            found.extend(
                Difference(table, key, field.name, getattr(left, field.name), getattr(right, field.name))
                for field in fields(left)
                if getattr(left, field.name) != getattr(right, field.name)
            )
