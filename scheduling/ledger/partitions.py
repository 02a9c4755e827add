"""The partitions of the log as tables: looked at by anybody, detached and attached by the role that owns
them.

Nothing here holds up appends or reads: a partition is detached CONCURRENTLY, and attaching locks the table
that comes, not the one it comes to. Detaching cannot be part of a transaction, so what a killed process
leaves is a partition that is archived and still there, whole, in one of three forms (see ``Standing``); each
step can be taken again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.db import connection, transaction
from psycopg import sql

from scheduling.ledger import store
from scheduling.ledger.binary import binary_cursor
from scheduling.ledger.store import StoredRow, to_datetime

PARENT = "scheduling_event"


class Standing(StrEnum):
    """Of the table of a partition. DETACHING: on its way out, seen by readers that began before. LOOSE: a
    table of its own.
    """

    ATTACHED = "attached"
    DETACHING = "detaching"
    LOOSE = "loose"


@dataclass(frozen=True, slots=True)
class Partition:
    """``first`` to ``last``: the seqs it takes. ``size``: with its indexes, in bytes."""

    stream_id: int
    block: int
    standing: Standing
    size: int

    @property
    def table(self) -> str:
        return f"{PARENT}_{self.stream_id}_{self.block}"

    @property
    def first(self) -> int:
        return self.block * store.PARTITION_WIDTH + 1

    @property
    def last(self) -> int:
        return (self.block + 1) * store.PARTITION_WIDTH


def owner() -> tuple[str, str]:
    """Who owns the log, and as whom this process is connected. The two are the same where it may be detached
    from: members of the owning role are taken for it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "select pg_get_userbyid(relowner), current_user, pg_has_role(relowner, 'usage')"
            " from pg_class where oid = to_regclass(%s)",
            [PARENT],
        )
        owned_by, here, may = cursor.fetchone()
    return owned_by, owned_by if may else here


def of(stream_id: int) -> list[Partition]:
    """All that there are of a stream, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTITIONS, [PARENT, rf"^{PARENT}_{stream_id}_(\d+)$"])
        return [
            Partition(stream_id, int(block), Standing(standing), size)
            for block, standing, size in cursor.fetchall()
        ]


def rows(partition: Partition) -> Iterator[StoredRow]:
    """All its events in order, wherever it stands; as the owner."""
    yield from store.stored(partition.stream_id, partition.first - 1, partition.last, table=partition.table)


def detach(partition: Partition) -> None:
    """Take it out of the log, as a table of its own; waits for readers that began before, and nobody waits
    for it. Not inside a transaction.
    """
    names = {"parent": sql.Identifier(PARENT), "table": sql.Identifier(partition.table)}
    step = "finalize" if partition.standing is Standing.DETACHING else "concurrently"
    if partition.standing is not Standing.LOOSE:
        _run(f"alter table {{parent}} detach partition {{table}} {step}", names)


def drop(partition: Partition) -> None:
    """Remove a table that is no part of the log; the database refuses for one that is."""
    if partition.standing is not Standing.LOOSE:
        raise ValueError(f"{partition.table} is {partition.standing}")
    _run("drop table {table}", {"table": sql.Identifier(partition.table)})


def load(stream_id: int, block: int, found: Iterable[StoredRow]) -> Partition:
    """A new table with these events, as a partition would be and not yet one."""
    made = Partition(stream_id, block, Standing.LOOSE, 0)
    names = {"parent": sql.Identifier(PARENT), "table": sql.Identifier(made.table)}
    with transaction.atomic():
        _run("create table {table} (like {parent} including all)", names)
        _take_rights(made)
        columns = sql.SQL(", ").join(map(sql.Identifier, store.COLUMNS))
        copy = sql.SQL("copy {table} ({columns}) from stdin").format(columns=columns, **names)
        with binary_cursor() as cursor, cursor.copy(copy) as target:
            for row in found:
                times = to_datetime(row.occurred_at), to_datetime(row.recorded_at)
                values = [getattr(row, name) for name in store.COLUMNS]
                values[4:6] = times
                target.write_row(values)
    return made


def attach(partition: Partition) -> None:
    """Make the table a partition, protected as all others are; part of the caller's transaction."""
    names = {"parent": sql.Identifier(PARENT), "table": sql.Identifier(partition.table)}
    bounds: dict[str, sql.Composable] = {
        "stream": sql.Literal(partition.stream_id),
        "first": sql.Literal(partition.first),
        "end": sql.Literal(partition.last + 1),
    }
    _take_rights(partition)
    _run(
        "alter table {parent} attach partition {table}"
        " for values from ({stream}, {first}) to ({stream}, {end})",
        {**names, **bounds},
    )
    _run("select scheduling_protect({name}::regclass)", {"name": sql.Literal(partition.table)})


# --- steps

_PARTITIONS = r"""
    select substring(c.relname from '\d+$')::bigint as block,
           case when not c.relispartition then 'loose'
                when i.inhdetachpending then 'detaching' else 'attached' end,
           pg_total_relation_size(c.oid)
    from pg_class c left join pg_inherits i on i.inhrelid = c.oid
    where c.relkind = 'r' and c.relnamespace = (select relnamespace from pg_class where oid = to_regclass(%s))
      and c.relname ~ %s
    order by block
"""


def _take_rights(partition: Partition) -> None:
    """The owner's default privileges are for tables that are changed; a partition is reached through its
    parent only.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "select distinct case when a.grantee = 0 then null else pg_get_userbyid(a.grantee) end"
            " from pg_class c, aclexplode(c.relacl) a"
            " where c.oid = to_regclass(%s) and a.grantee <> c.relowner",
            [partition.table],
        )
        grantees = [row[0] for row in cursor.fetchall()]
    for grantee in grantees:
        whom = sql.SQL("public") if grantee is None else sql.Identifier(grantee)
        _run("revoke all on {table} from {whom}", {"table": sql.Identifier(partition.table), "whom": whom})


def _run(statement: str, names: Mapping[str, sql.Composable]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(statement).format(**names))
