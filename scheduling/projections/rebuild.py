"""The tables of a cluster made anew from its log, and compared with what is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from django.db import transaction

from scheduling.ledger import store
from scheduling.models import StreamHead
from scheduling.projections import commit, storage
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


FEW = 1_000
"""So many events are left to be read while the head of the stream is held."""

MOST_ROUNDS = 20
"""So often the log is followed to its head without holding it, however fast others append."""

Advance = Callable[[int], object]
"""Told after every commit of how many events more were read."""


def rebuild(stream_id: int, advance: Advance = int) -> int:
    """Replace all rows of the cluster; returns the seq they stand at.

    The log is replayed, and the rows are laid ready, without holding anything up. Appends wait only while
    what came in the end is added and the rows are exchanged, in one transaction: until then the old ones
    are read.
    """
    tables = Tables(whole=True)
    with NODES.staging() as nodes, PODS.staging() as pods, GROUPS.staging() as groups:

        def stage() -> None:
            storage.save_rows(stream_id, tables, nodes, pods, groups)
            tables.rows_written()

        seq = _approach(tables, stream_id, advance, stage)
        with transaction.atomic():
            head = _lock(stream_id)
            _replay(tables, stream_id, seq, head, advance)
            stage()
            NODES.take(stream_id, nodes)
            PODS.take(stream_id, pods)
            GROUPS.take(stream_id, groups)
            storage.save_cluster(stream_id, tables)
            storage.set_positions(stream_id, commit.PROJECTIONS, head)
    return head


def is_behind(stream_id: int) -> bool:
    """Whether other versions of the projections wrote the rows, so that appends are refused."""
    head = store.head(stream_id).seq
    wanted = {name: (version, head) for name, version in commit.PROJECTIONS.items()} if head else {}
    return storage.positions(stream_id) != wanted


def compare(stream_id: int, advance: Advance = int) -> list[Difference]:
    """Every difference between the stored rows and those that the log gives; stored rows are left as they
    are.

    The log is replayed without holding anything up; appends wait only while its end and the rows are read.
    """
    tables = Tables(whole=True)
    seq = _approach(tables, stream_id, advance)
    with transaction.atomic():
        head = _lock(stream_id)
        _replay(tables, stream_id, seq, head, advance)
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


def _approach(
    tables: Tables, stream_id: int, advance: Advance, keep: Callable[[], object] = lambda: None
) -> int:
    """Replay the log from its start to near its head; the seq reached. ``keep`` is called now and then."""
    seq, head = 0, store.head(stream_id).seq
    for _ in range(MOST_ROUNDS):
        _replay(tables, stream_id, seq, head, advance)
        keep()
        seq, head = head, store.head(stream_id).seq
        if head - seq <= FEW:
            break
    return seq


def _replay(tables: Tables, stream_id: int, after: int, upto: int, advance: Advance) -> None:
    for events in commit.commits(store.read(stream_id, after=after, upto=upto)):
        commit.apply(tables, events)
        advance(len(events))


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
