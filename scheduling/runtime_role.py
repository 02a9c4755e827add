"""What the database role of the running console may do: everything but change or delete what is in the
log.
"""

from typing import Any

from django.conf import settings
from django.db import connections, transaction
from psycopg import sql

APPEND_ONLY = ("scheduling_event", "scheduling_command")
"""Tables that the runtime reads and appends to, and nothing else."""

DEFAULT_NAME = "tas_app"

_RIGHTS = sql.SQL("select, insert, update, delete")

_PARTITIONS = """
    select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and c.relispartition and c.relkind = 'r'
"""


def name() -> str:
    """The role's name, from ``settings.TAS_RUNTIME_ROLE``."""
    return getattr(settings, "TAS_RUNTIME_ROLE", "") or DEFAULT_NAME


def grant(*, using: str, **_: Any) -> None:
    """After migrate: grant the role its rights on all tables, those made later included.

    Does nothing where the role does not exist or is the one that migrates: rights cannot be taken from an
    owner, the triggers then protect the log alone (and a deploy check tells).
    """
    # One transaction: between granting on all tables and revoking on the log, nobody may change the log.
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute("select current_user, current_schema(), to_regclass('scheduling_event') is not null")
        owner, schema, migrated = cursor.fetchone()
        cursor.execute("select from pg_roles where rolname = %s", [name()])
        if cursor.fetchone() is None or owner == name() or not migrated:
            return
        cursor.execute(_PARTITIONS)
        partitions = [row[0] for row in cursor.fetchall()]
        names = {"role": sql.Identifier(name()), "schema": sql.Identifier(schema)}

        def run(statement: str, **more: sql.Composable) -> None:
            cursor.execute(sql.SQL(statement).format(**names, **more))

        run("grant usage on schema {schema} to {role}")
        run("grant {rights} on all tables in schema {schema} to {role}", rights=_RIGHTS)
        run("grant usage on all sequences in schema {schema} to {role}")
        run("alter default privileges in schema {schema} grant {rights} on tables to {role}", rights=_RIGHTS)
        run("alter default privileges in schema {schema} grant usage on sequences to {role}")
        run("grant execute on function scheduling_open_partition(bigint, bigint) to {role}")
        for table in APPEND_ONLY:
            run("revoke all on {table} from {role}", table=sql.Identifier(table))
            run("grant select, insert on {table} to {role}", table=sql.Identifier(table))
        for table in partitions:  # reached through their parent only
            run("revoke all on {table} from {role}", table=sql.Identifier(table))
        run("revoke update, delete on scheduling_stream from {role}")
        run("revoke delete on scheduling_streamhead from {role}")
        run("revoke update on scheduling_snapshot from {role}")
        run("revoke insert, update, delete on django_migrations from {role}")
