"""Rows of the projections to the database and back, many at a time.

Arrays go over in binary, one statement for each table and batch: ten times as fast as one object for each
row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import orjson
from django.db import connection
from django.db.models import Field, Model

from scheduling.ledger.binary import binary_cursor
from scheduling.models import Cluster, NodeRow, PodGroupRow, PodRow, TableHead
from scheduling.projections.tables import (
    ClusterRecord,
    NodeRecord,
    PodGroupRecord,
    PodRecord,
    Tables,
)

BATCH = 5_000

Record = TypeVar("Record", NodeRecord, PodRecord, PodGroupRecord)


@dataclass(frozen=True)
class Stored(Generic[Record]):
    """Where records of one kind are stored; ``key``: the columns which, with the cluster, tell rows apart.

    ``staged``: those of the temporary table of this session, which ``staging`` makes, and not of the model's.
    """

    record: type[Record]
    model: type[Model]
    key: tuple[str, ...]
    staged: bool = False

    @cached_property
    def columns(self) -> dict[str, str]:
        """Name -> the column's type."""
        return {field.name: self._type(field.name) for field in fields(self.record)}

    def load(self, stream_id: int, condition: str = "true", *arguments: Any) -> list[Record]:
        """Rows of a cluster for which the SQL condition holds."""
        names = ", ".join(f'"{column}"' for column in self.columns)
        statement = f"select {names} from {self._table} where cluster_id = %s and ({condition})"
        json = [kind == "jsonb" for kind in self.columns.values()]
        with binary_cursor() as cursor:
            rows = cursor.execute(statement, [stream_id, *arguments]).fetchall()
        return [
            self.record(
                *(orjson.loads(value) if is_json else value for value, is_json in zip(row, json, strict=True))
            )
            for row in rows
        ]

    def load_each(
        self, stream_id: int, condition: str, keys: Sequence[Sequence[str]], *more: Any
    ) -> list[Record]:
        """As ``load`` with a condition that holds for none where there are no ``keys``, which are given as
        arrays: a command rarely names objects of every kind, and then nothing is asked.
        """
        return self.load(stream_id, condition, *keys, *more) if keys[0] else []

    def save(self, stream_id: int, records: Sequence[Record]) -> None:
        """Insert the rows, or overwrite those with their keys."""
        for batch in _batches(records):
            arrays: list[list[Any]] = []
            for column, kind in self.columns.items():
                values = [getattr(row, column) for row in batch]
                arrays.append([_text(value) for value in values] if kind == "jsonb" else values)
            with binary_cursor() as cursor:
                cursor.execute(self._insertion, [stream_id, *arrays])

    @cached_property
    def _insertion(self) -> str:
        names = ", ".join(f'"{column}"' for column in self.columns)
        given = ", ".join(f"%b::{'text' if kind == 'jsonb' else kind}[]" for kind in self.columns.values())
        picked = ", ".join(f'x."{column}"::{kind}' for column, kind in self.columns.items())
        key = ", ".join(f'"{column}"' for column in self.key)
        updates = ", ".join(
            f'"{column}" = excluded."{column}"' for column in self.columns if column not in self.key
        )
        return f"""
            insert into {self._table} (cluster_id, {names})
            select %s::bigint, {picked} from unnest({given}) as x({names})
            on conflict (cluster_id, {key}) do update set {updates}
        """

    def delete(self, stream_id: int, keys: Sequence[tuple[str, ...]]) -> None:
        """Delete the rows with these values of the key columns."""
        names = ", ".join(f'"{column}"' for column in self.key)
        given = ", ".join("%b::text[]" for _ in self.key)
        statement = f"""
            delete from {self._table} where cluster_id = %s and ({names}) in (select * from unnest({given}))
        """
        with binary_cursor() as cursor:
            cursor.execute(
                statement, [stream_id, *([key[place] for key in keys] for place in range(len(self.key)))]
            )

    @contextmanager
    def staging(self) -> Iterator[Stored[Record]]:
        """A place for rows that are to become the stored ones, seen by this session only and gone at the end
        (with the session, when something fails).
        """
        staged = replace(self, staged=True)
        key = ", ".join(f'"{column}"' for column in self.key)
        with binary_cursor() as cursor:
            cursor.execute(f"drop table if exists {staged._table}")
            cursor.execute(f"create temp table {staged._table} as select * from {self._table} with no data")
            cursor.execute(f"create unique index on {staged._table} (cluster_id, {key})")
        yield staged
        with binary_cursor() as cursor:
            cursor.execute(f"drop table {staged._table}")

    def take(self, stream_id: int, staged: Stored[Record]) -> None:
        """Make the rows of the cluster those of ``staged``; what is the same already is not written."""
        columns = ", ".join(f'"{column}"' for column in self.columns)
        ours = ", ".join(f'o."{column}"' for column in self.columns)
        theirs = ", ".join(f's."{column}"' for column in self.columns)
        same_key = " and ".join(f'o."{column}" = s."{column}"' for column in self.key)
        with binary_cursor() as cursor:
            cursor.execute(f"analyze {staged._table}")
            # Deleted first, so that values that must be unique may change places.
            cursor.execute(
                f"""delete from {self._table} o where o.cluster_id = %s and not exists (
                    select from {staged._table} s
                    where {same_key} and ({ours}) is not distinct from ({theirs}))""",
                [stream_id],
            )
            cursor.execute(
                f"""insert into {self._table} (cluster_id, {columns})
                    select %s::bigint, {theirs} from {staged._table} s where not exists (
                    select from {self._table} o where o.cluster_id = %s and {same_key})""",
                [stream_id, stream_id],
            )

    @property
    def _table(self) -> str:
        name = str(self.model._meta.db_table)
        return f"pg_temp.staged_{name}" if self.staged else name

    def _type(self, column: str) -> str:
        field: Field[Any, Any] = self.model._meta.get_field(column)  # type: ignore[assignment]
        kind = field.db_type(connection)
        return "text" if kind is None or kind.startswith("varchar") else kind


def _text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _batches(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    for start in range(0, len(records), BATCH):
        yield records[start : start + BATCH]


NODES = Stored(NodeRecord, NodeRow, ("name",))
PODS = Stored(PodRecord, PodRow, ("uid",))
GROUPS = Stored(PodGroupRecord, PodGroupRow, ("namespace", "name", "uid"))


def load_cluster(stream_id: int) -> ClusterRecord | None:
    columns = [field.name for field in fields(ClusterRecord)]
    row = Cluster.objects.filter(pk=stream_id).values_list(*columns).first()
    return None if row is None else ClusterRecord(*row)


def save(stream_id: int, tables: Tables) -> None:
    """Write what the commits changed."""
    save_cluster(stream_id, tables)
    save_rows(stream_id, tables, NODES, PODS, GROUPS)


def save_cluster(stream_id: int, tables: Tables) -> None:
    if tables.cluster is not None and tables.cluster_dirty:
        values = {field.name: getattr(tables.cluster, field.name) for field in fields(ClusterRecord)}
        Cluster.objects.update_or_create(pk=stream_id, defaults=values)


def save_rows(
    stream_id: int,
    tables: Tables,
    nodes: Stored[NodeRecord],
    pods: Stored[PodRecord],
    groups: Stored[PodGroupRecord],
) -> None:
    """To the places given, which are the stored tables or their staging."""
    nodes.save(stream_id, _present(tables.nodes.dirty, tables.nodes.rows.get))
    pods.save(stream_id, _present(tables.pods.dirty, tables.pods.rows.get))
    groups.save(stream_id, _present(tables.groups.dirty, tables.groups.rows.get))
    gone = [key for key in sorted(tables.groups.dirty) if key not in tables.groups.rows]
    if gone:
        groups.delete(stream_id, [(*key.split("/", 1), uid) for key, uid in gone])


Key = TypeVar("Key", bound="str | tuple[str, str]")
Found = TypeVar("Found")


def _present(keys: Iterable[Key], find: Callable[[Key], Found | None]) -> list[Found]:
    return [row for row in map(find, sorted(keys)) if row is not None]


def positions(stream_id: int) -> dict[str, tuple[int, int]]:
    """Projection -> version and seq."""
    rows = TableHead.objects.filter(stream_id=stream_id).values_list("name", "version", "seq")
    return {name: (version, seq) for name, version, seq in rows}


def set_positions(stream_id: int, versions: dict[str, int], seq: int) -> None:
    TableHead.objects.bulk_create(
        [
            TableHead(stream_id=stream_id, name=name, version=version, seq=seq)
            for name, version in versions.items()
        ],
        update_conflicts=True,
        unique_fields=["stream", "name"],
        update_fields=["version", "seq"],
    )
