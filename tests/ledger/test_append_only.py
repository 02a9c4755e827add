"""The database itself keeps the log as it was written, whoever asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from psycopg import errors

from scheduling.ledger import store
from scheduling.ledger.events import ClusterModeChanged
from scheduling.ledger.verify import Fault, verify_chain
from tests.ledger.conftest import NOW

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stream(transactional_db: None) -> int:
    with transaction.atomic():
        opened = store.open_stream("cluster", "demo")
        store.append(opened, 0, [ClusterModeChanged("observed")], actor="a", command_id="c", now=NOW)
    return opened


Session = psycopg.Connection[tuple[Any, ...]]


@contextmanager
def session(role: str) -> Iterator[Session]:
    """A connection of its own, not marked as one of a test run, as in production."""
    given = connection.get_connection_params()
    at = {name: given[name] for name in ("host", "port", "dbname") if name in given}
    with psycopg.connect(**at, user=role, autocommit=True) as opened:
        yield opened


@pytest.fixture
def owner(stream: int) -> Iterator[Session]:
    """The role that made the tables."""
    with session("tas_owner") as opened:
        yield opened


@pytest.fixture
def runtime(stream: int) -> Iterator[Session]:
    with session("tas_app") as opened:
        yield opened


@pytest.fixture
def superuser(stream: int) -> Iterator[Session]:
    with session("postgres") as opened:
        yield opened


CHANGES = (
    "update {table} set {column} = 'other'",
    "update {table} set {column} = {column}",
    "delete from {table}",
    "merge into {table} t using (select 1) s on true when matched then delete",
    "merge into {table} t using (select 1) s on true when matched then update set {column} = 'other'",
    "insert into {table} select * from {table} on conflict ({key}) do update set {column} = 'other'",
    "truncate {table}",
    "truncate {table} cascade",
)
TABLES = (
    ("scheduling_event", "actor", "stream_id, seq"),
    ("scheduling_event_{stream}_0", "actor", "stream_id, seq"),
    ("scheduling_command", "command_id", "stream_id, command_id"),
)


def statements(stream: int) -> list[str]:
    return [
        change.format(table=table.format(stream=stream), column=column, key=key)
        for table, column, key in TABLES
        for change in CHANGES
    ]


def test_not_even_the_owner_changes_what_is_written(owner: Session, stream: int) -> None:
    for statement in statements(stream):
        with pytest.raises(errors.RestrictViolation, match="the event log can only be added to"):
            owner.execute(statement)
    assert [item.seq for item in store.read(stream)] == [1]
    assert store.find_command(stream, "c", actor="a") is not None


@pytest.mark.parametrize("replication_role", ["origin", "replica"])
def test_a_superuser_does_not_either_not_even_in_replica_mode(
    superuser: Session, stream: int, replication_role: str
) -> None:
    superuser.execute(f"set session_replication_role = {replication_role}")
    for statement in statements(stream):
        with pytest.raises(errors.RestrictViolation, match="the event log can only be added to"):
            superuser.execute(statement)


def test_the_runtime_has_no_right_to_try(runtime: Session, stream: int) -> None:
    for statement in statements(stream):
        with pytest.raises(errors.InsufficientPrivilege):
            runtime.execute(statement)


def test_only_a_session_that_says_it_is_a_test_may_truncate(owner: Session, stream: int) -> None:
    owner.execute("set tas.test_database = 'on'")
    with pytest.raises(errors.RestrictViolation):
        owner.execute("delete from scheduling_event")
    owner.execute("truncate scheduling_event, scheduling_command")
    assert list(store.read(stream)) == []


@pytest.mark.parametrize("role", ["tas_owner", "postgres"])
def test_a_session_of_its_own_is_no_test(role: str, stream: int) -> None:
    """What lets tests truncate is a setting of their sessions, which no other one has."""
    with session(role) as own:
        assert own.execute("select current_setting('tas.test_database', true)").fetchone() in ((None,), ("",))


def test_the_runtime_cannot_grant_itself_more(runtime: Session) -> None:
    runtime.execute("grant all on scheduling_event to tas_app")  # a warning, and nothing granted
    for right in ("update", "delete", "truncate", "trigger", "references"):
        held = runtime.execute("select has_table_privilege('scheduling_event', %s)", [right]).fetchone()
        assert held == (False,)


def test_the_owner_has_no_replica_mode(owner: Session) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        owner.execute("set session_replication_role = replica")


@pytest.mark.parametrize("role", ["tas_app", "tas_owner", "postgres"])
@pytest.mark.parametrize("table", ["scheduling_event", "scheduling_event_{stream}_0", "scheduling_command"])
def test_copy_adds_no_row_in_the_place_of_another(role: str, table: str, stream: int) -> None:
    """COPY can only add, and what is there keeps its key. The runtime may not even do so to a partition."""
    name = table.format(stream=stream)
    reads, everything = session("postgres"), f"copy (select * from {name}) to stdout"
    with reads as reading, reading.cursor().copy(everything) as out:
        rows = b"".join(bytes(part) for part in out)
    assert rows
    only_the_owner = (role, name[-2:]) == ("tas_app", "_0")
    refused = errors.InsufficientPrivilege if only_the_owner else errors.UniqueViolation
    adds, added = session(role), f"copy {name} from stdin"
    with adds as writing, pytest.raises(refused), writing.cursor().copy(added) as into:
        into.write(rows)
    assert [item.seq for item in store.read(stream)] == [1]


TAKEN_AWAY = {
    "the triggers of the partition": (
        "alter table scheduling_event_{stream}_0 disable trigger all; "
        "update scheduling_event set actor = 'eve'",
        Fault.CHANGED,
    ),
    "the triggers of the parent": (
        "alter table scheduling_event disable trigger all; update scheduling_event set actor = 'eve'",
        Fault.CHANGED,
    ),
    "one trigger for good": (
        "drop trigger append_only_rows on scheduling_event; delete from scheduling_event where seq = 1",
        Fault.REMOVED,
    ),
    "the table of a partition": ("drop table scheduling_event_{stream}_0", Fault.REMOVED),
    "a partition from the log": (
        "alter table scheduling_event detach partition scheduling_event_{stream}_0",
        Fault.REMOVED,
    ),
}


@pytest.mark.parametrize("what", TAKEN_AWAY)
def test_who_owns_the_tables_can_take_the_protection_away_and_the_chain_shows_it(
    what: str, stream: int
) -> None:
    statement, fault = TAKEN_AWAY[what]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local role tas_owner")
        cursor.execute(statement.format(stream=stream))
        report = verify_chain(stream)
        transaction.set_rollback(True)
    assert (report.bad_seq, report.fault) == (1, fault)
    assert verify_chain(stream).ok


def test_the_runtime_cannot_get_around_it(runtime: Session, stream: int) -> None:
    for statement in (
        "alter table scheduling_event disable trigger all",
        f"alter table scheduling_event detach partition scheduling_event_{stream}_0",
        f"drop table scheduling_event_{stream}_0",
        "set session_replication_role = replica",
        f"select * from scheduling_event_{stream}_0",
        "select scheduling_protect('scheduling_stream')",
        "delete from scheduling_stream",
        "delete from scheduling_streamhead",
        "insert into django_migrations (app, name, applied) values ('a', 'b', now())",
        "create table scheduling_other (id bigint)",
        f"alter table scheduling_event_{stream}_0 disable trigger append_only_rows",
        "drop trigger append_only_rows on scheduling_event",
        "drop table scheduling_event cascade",
        "drop function scheduling_refuse_change() cascade",
        "create or replace function scheduling_refuse_change() returns trigger language plpgsql "
        "as 'begin return old; end'",
        "create rule quietly as on delete to scheduling_event do instead nothing",
        "create trigger first before update on scheduling_event for each row "
        "execute function suppress_redundant_updates_trigger()",
        "alter table scheduling_event alter column actor type varchar",
        "alter table scheduling_event owner to tas_app",
        "set role tas_owner",
        f"copy scheduling_event_{stream}_0 from '/dev/null'",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            runtime.execute(statement)


def test_the_runtime_can_do_what_the_console_does(runtime: Session, stream: int) -> None:
    assert runtime.execute("select count(*) from scheduling_event").fetchone() == (1,)
    runtime.execute(
        "insert into scheduling_event select stream_id, 2, type, version, occurred_at, recorded_at, actor, "
        "command_id, cause, subject, namespace, name, body, hash, hash from scheduling_event"
    )
    opened = runtime.execute(
        "insert into scheduling_stream (kind, name) values ('cluster', 'by-runtime') returning id"
    ).fetchone()
    runtime.execute("select scheduling_open_partition(%s, 0)", opened)
    runtime.execute("select scheduling_open_partition(%s, 0)", opened)  # once more does no harm
    with pytest.raises(errors.InsufficientPrivilege):
        runtime.execute(f"delete from scheduling_event_{opened[0]}_0")
    runtime.execute("update scheduling_noderow set ready = false")
    runtime.execute("delete from scheduling_podgrouprow")


def test_no_partition_is_opened_for_what_does_not_exist(runtime: Session, stream: int) -> None:
    for stream_id, block in ((stream + 404, 0), (stream, -1)):
        with pytest.raises(errors.ForeignKeyViolation, match="no stream"):
            runtime.execute("select scheduling_open_partition(%s, %s)", [stream_id, block])


def test_tables_made_later_are_granted_to_the_runtime(owner: Session, runtime: Session) -> None:
    owner.execute("create table later (id bigint generated always as identity, name text)")
    try:
        runtime.execute("insert into later (name) values ('a')")
        runtime.execute("update later set name = 'b'")
        assert runtime.execute("select name from later").fetchall() == [("b",)]
        with pytest.raises(errors.InsufficientPrivilege):
            runtime.execute("truncate later")
    finally:
        owner.execute("drop table later")


def test_events_get_in_at_their_own_place_only(owner: Session, stream: int) -> None:
    again = (
        "insert into scheduling_event select stream_id, {seq}, type, version, occurred_at, recorded_at, "
        "actor, command_id, cause, subject, namespace, name, body, prev_hash, hash from scheduling_event"
    )
    with pytest.raises(errors.UniqueViolation):
        owner.execute(again.format(seq=1))
    with pytest.raises(errors.CheckViolation):  # no partition takes it
        owner.execute(again.format(seq=0))
    with pytest.raises(errors.CheckViolation):
        owner.execute(again.format(seq=store.PARTITION_WIDTH + 1))
