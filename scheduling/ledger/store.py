"""Append to the log and read from it: all of its SQL is here.

``recorded_at`` never falls within a stream: it is the clock's time or, where the clock stands behind the last
event, that event's. So a time names one place in a stream (``fold.seq_at``).

The chain. ``hash`` is SHA-256 over the hash of the event before (32 zero bytes at the start), the canonical
JSON list ``[stream, seq, type, version, occurred_at, recorded_at, actor, command_id, cause, subject,
namespace, name]`` with times in milliseconds, one newline, and the body as stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from django.db import connection, transaction

from scheduling.ledger import archives, codec
from scheduling.ledger.binary import binary_cursor
from scheduling.ledger.events import Event
from scheduling.ledger.signals import append_reached, log_advanced
from scheduling.models import Stream, StreamHead

GENESIS = bytes(32)
PARTITION_WIDTH = 1_000_000
"""Events in one partition of a stream; ``scheduling_open_partition`` has the same number."""
CHUNK = 5_000
"""Rows read at a time."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_EPOCH_2000 = 946_684_800_000
"""Milliseconds."""


@dataclass(frozen=True, slots=True)
class Head:
    """The last event of a stream: ``seq`` 0 and GENESIS before the first."""

    seq: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an append left its stream. ``recorded_at``: of the last event, in milliseconds."""

    head: Head
    recorded_at: int


class Recorded(NamedTuple):
    """An event in the log. Times are milliseconds since the epoch; ``cause``: seq of the event that led to
    it.
    """

    stream_id: int
    seq: int
    event: Event
    actor: str
    command_id: str
    cause: int | None
    occurred_at: int
    recorded_at: int
    prev_hash: bytes
    hash: bytes


@dataclass(frozen=True, slots=True)
class Appended:
    """``first`` to ``last`` are the command's events; ``last`` is ``first - 1`` when it had none.

    ``repeated``: the command had been carried out before, nothing was written, ``recorded`` is empty and
    ``standing`` is None.
    """

    first: int
    last: int
    repeated: bool
    recorded: tuple[Recorded, ...] = ()
    standing: Standing | None = None


class ConflictingAppend(Exception):
    """Others appended in between: the stream is at ``actual``, not at ``expected``. Decide again from
    there.
    """

    def __init__(self, stream_id: int, expected: int, actual: int) -> None:
        super().__init__(f"stream {stream_id} is at {actual}, not at {expected}")
        self.stream_id, self.expected, self.actual = stream_id, expected, actual


class CommandReused(Exception):
    """A command id that stood for another request, or for that of another actor, is used again. ``first`` to
    ``last``: what was written then; nothing if ``first`` is greater.
    """

    def __init__(self, stream_id: int, command_id: str, first: int, last: int) -> None:
        super().__init__(
            f"command id {command_id!r} was already used in stream {stream_id} for another request"
        )
        self.stream_id, self.command_id = stream_id, command_id
        self.first, self.last = first, last


class UnknownStream(LookupError):
    """There is no stream of that id."""


def to_datetime(milliseconds: int) -> datetime:
    return _EPOCH + milliseconds * _MILLISECOND


def to_milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MILLISECOND


def open_stream(kind: str, name: str) -> int:
    """A new stream, at seq 0. IntegrityError when there is one of that kind and name.

    Until the transaction ends, no other stream can be opened; appends and reads are not held up.
    """
    stream = Stream.objects.create(kind=kind, name=name)
    StreamHead.objects.create(stream=stream)
    _open_partition(stream.pk, 0)
    stream_id: int = stream.pk
    return stream_id


def fork_stream(kind: str, name: str, parent: int, seq: int) -> int:
    """A new stream that goes on from event ``seq`` of another: its first event is ``seq + 1``, chained to
    that one. The events up to ``seq`` stay the parent's alone.

    IntegrityError when there is one of that kind and name, LookupError when the parent has no such event in
    its table (Archived where it is in a file). As to waiting see ``open_stream``.
    """
    row = next(stored(parent, seq - 1, seq), None)
    if row is None:
        raise LookupError(f"stream {parent} has no event {seq}")
    stream = Stream.objects.create(kind=kind, name=name)
    StreamHead.objects.create(stream=stream, seq=seq, hash=row.hash, recorded_at=to_datetime(row.recorded_at))
    _open_partition(stream.pk, _block(seq + 1))
    stream_id: int = stream.pk
    return stream_id


def head(stream_id: int) -> Head:
    """Where the stream stands. Raises UnknownStream."""
    return _look(stream_id, "").stands.head


def find_command(stream_id: int, command_id: str, *, actor: str, request: str = "") -> Appended | None:
    """What the command did when it was carried out before; None when it was not.

    Ask before deciding: a decision on the state after the command may well refuse what the command did.
    Raises CommandReused and UnknownStream.
    """
    found = _look(stream_id, command_id)
    return _repeated(found.command, stream_id, command_id, _fingerprint(actor, request))


def append(
    stream_id: int,
    expected: int | Standing,
    events: Sequence[Event],
    *,
    actor: str,
    command_id: str,
    request: str = "",
    cause: int | Sequence[int | None] | None = None,
    now: int,
    occurred_at: int | None = None,
    tell: bool = True,
) -> Appended:
    """Add events after the seq that is ``expected``, all or none, inside the caller's ``transaction.atomic``.
    Who appended the last event says so by its ``Standing``: that the stream need not be asked for.

    ``request`` tells what was asked for, in any form that is the same when the same is asked again. A command
    that was carried out before writes nothing, whatever ``expected`` and ``events`` are. ``cause`` is
    the seq of the event that led to these, or one such seq (None: not known) for each of them. ``now`` and
    ``occurred_at`` (``now`` when not given) are milliseconds; ``recorded_at`` is ``now``, or that of the last
    event if this is later. ``log_advanced`` is sent when the transaction commits, unless ``tell`` is false:
    for a stream that nobody watches and no cycle serves.

    Raises ConflictingAppend, CommandReused, UnknownStream, BadEvent; TransactionManagementError outside of
    atomic.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("append belongs inside transaction.atomic")
    if not command_id:
        raise ValueError("append needs a command id: it is what makes a repeated command harmless")
    fingerprint = _fingerprint(actor, request)
    if isinstance(expected, Standing):
        stands = expected
    else:
        found = _look(stream_id, command_id)
        done = _repeated(found.command, stream_id, command_id, fingerprint)
        if done is not None:
            return done
        stands = found.stands
        if stands.head.seq != expected:
            raise ConflictingAppend(stream_id, expected, stands.head.seq)
    start = stands.head
    occurred = now if occurred_at is None else occurred_at
    recorded_at = max(now, stands.recorded_at)
    causes = [cause] * len(events) if cause is None or isinstance(cause, int) else cause
    rows, recorded = _chain(stream_id, start, events, actor, command_id, causes, occurred, recorded_at)
    end = Head(recorded[-1].seq, recorded[-1].hash) if recorded else start
    for block in range(_block(start.seq + 1), _block(end.seq) + 1):
        if block > 0 and block * PARTITION_WIDTH >= start.seq:
            _open_partition(stream_id, block)
    append_reached.send(sender=None, stream_id=stream_id, point="appending")
    with binary_cursor() as cursor:
        moved_at = recorded_at if recorded else stands.recorded_at
        move = [end.seq, end.hash, to_datetime(moved_at), stream_id, start.seq, start.hash]
        keep = [stream_id, command_id, fingerprint, start.seq + 1, end.seq]
        moved = cursor.execute(_MOVE, [*move, stream_id, command_id, *keep]).fetchone() == (1,)
        if moved and rows:
            with cursor.copy(_COPY) as copy:
                copy.set_types(_COPY_TYPES)
                for row in rows:
                    copy.write_row(row)
    if not moved:
        # Somebody else moved the head and committed, or the same command was sent before.
        now_there = _look(stream_id, command_id)
        again = _repeated(now_there.command, stream_id, command_id, fingerprint)
        if again is not None:
            return again
        raise ConflictingAppend(stream_id, start.seq, now_there.stands.head.seq)
    append_reached.send(sender=None, stream_id=stream_id, point="appended")
    if recorded and tell:
        woke = any(event.WAKES for event in events)
        transaction.on_commit(partial(_tell, stream_id, end.seq, woke, tuple(events)))
    return Appended(start.seq + 1, end.seq, False, tuple(recorded), Standing(end, moved_at))


def read(
    stream_id: int, after: int = 0, upto: int | None = None, limit: int | None = None
) -> Iterator[Recorded]:
    """Events with ``after < seq <= upto``, in order, at most ``limit``; fetched in pages, so any number may
    be read.

    Raises Archived where the next event is in a file: a reader that may begin there says so with ``after``
    (``archives.begin``). The head row of a stream is locked from an append to its commit, so seqs become
    visible in order: a reader never sees one whose predecessor may still come. Raises BadEvent and
    UnknownEvent.
    """
    for row in _rows(_READ, stream_id, after, upto, limit):
        _, seq, kind, version, occurred, recorded, actor, command, cause, body, previous, hash_ = row
        try:
            event = codec.decode(kind, version, body)
        except codec.BadEvent as error:
            raise error.at(seq) from error
        # Not through Recorded's own making, which is a call of Python's for each of a million.
        told = (stream_id, seq, event, actor, command, cause, occurred, recorded, previous, hash_)
        yield tuple.__new__(Recorded, told)


def seq_at(stream_id: int, at: int) -> int:
    """The last seq recorded at or before ``at`` (milliseconds), 0 when there is none.

    Raises UnknownStream, Archived for a time in the midst of archived events, and LookupError where events
    are missing.
    """
    if head(stream_id).seq == 0:
        return 0
    with binary_cursor() as cursor:
        row = cursor.execute(_SEQ_AT, {"stream": stream_id, "at": to_datetime(at)}).fetchone()
    if row is None:
        raise LookupError(f"events of stream {stream_id} are missing: verify_log")
    first, seq = row
    if seq < first and first > 1:
        return archives.seq_at(stream_id, to_datetime(at))
    return int(seq)


class StoredRow(NamedTuple):
    """A row of the log as it lies there, undecoded. Its hash covers all of it: the first twelve as a list."""

    stream_id: int
    seq: int
    type: str
    version: int
    occurred_at: int
    recorded_at: int
    actor: str
    command_id: str
    cause: int | None
    subject: str
    namespace: str
    name: str
    body: str
    prev_hash: bytes
    hash: bytes

    def computed_hash(self) -> bytes:
        """What ``hash`` has to be."""
        return _hash(self.prev_hash, list(self[:12]), self.body.encode())

    def recorded(self) -> Recorded:
        """With the event decoded."""
        try:
            event = codec.decode(self.type, self.version, self.body)
        except codec.BadEvent as error:
            raise error.at(self.seq) from error
        return Recorded(
            self.stream_id, self.seq, event, self.actor, self.command_id, self.cause,
            self.occurred_at, self.recorded_at, self.prev_hash, self.hash,
        )  # fmt: skip


def stored(
    stream_id: int,
    after: int = 0,
    upto: int | None = None,
    limit: int | None = None,
    *,
    table: str = "scheduling_event",
) -> Iterator[StoredRow]:
    """As ``read``, but the rows as they are stored. ``table``: one partition, for its owner."""
    return map(StoredRow._make, _rows(_STORED.format(table=table), stream_id, after, upto, limit))


# --- steps


COLUMNS = StoredRow._fields
"""Of the table, in the order of ``StoredRow``."""


def _rows(
    page: str, stream_id: int, after: int, upto: int | None, limit: int | None
) -> Iterator[tuple[Any, ...]]:
    left = limit
    while (left is None or left > 0) and (upto is None or after < upto):
        wanted = CHUNK if left is None else min(left, CHUNK)
        with binary_cursor() as cursor:
            rows = cursor.execute(page, [stream_id, after, upto, upto, wanted], binary=True).fetchall()
        if not rows or rows[0][1] != after + 1:
            archives.refuse(stream_id, after + 1)
        yield from rows
        if len(rows) < wanted:
            return
        after = rows[-1][1]
        left = None if left is None else left - len(rows)


def _tell(stream_id: int, seq: int, woke: bool, events: tuple[Event, ...]) -> None:
    """After the commit. Robust: the command has happened by then, so a receiver's failure is logged and not
    the caller's.
    """
    append_reached.send(sender=None, stream_id=stream_id, point="committed")
    log_advanced.send_robust(sender=None, stream_id=stream_id, seq=seq, woke=woke, events=events)


_FIELDS = ", ".join(COLUMNS)

# Times as integers and the result in binary: reading texts as times costs more than all the rest. In floating
# point, which costs the server a third of what numeric does: a microsecond is far more than its error.
_META = """
    select stream_id, seq, type, version, floor(date_part('epoch', occurred_at) * 1000 + 0.0005)::bigint,
           floor(date_part('epoch', recorded_at) * 1000 + 0.0005)::bigint, actor, command_id, cause,
"""
_WHERE = " where stream_id = %s and seq > %s and (%s::bigint is null or seq <= %s) order by seq limit %s"
_STORED = f"{_META} subject, namespace, name, body, prev_hash, hash from {{table}} {_WHERE}"
_READ = f"{_META} body, prev_hash, hash from scheduling_event {_WHERE}"

# A binary search over the primary key, in one statement: of recorded_at there is no index.
_SEQ_AT = """
    with recursive ends as (
        select min(seq) as first, max(seq) as last from scheduling_event where stream_id = %(stream)s
    ), search(low, high) as (
        select first - 1, last from ends where first is not null
        union all
        select case when e.recorded_at <= %(at)s::timestamptz then s.middle else s.low end,
               case when e.recorded_at <= %(at)s::timestamptz then s.high else s.middle - 1 end
        from (select low, high, (low + high + 1) / 2 as middle from search where low < high) s
        join scheduling_event e on e.stream_id = %(stream)s and e.seq = s.middle
    )
    select ends.first, search.low from search, ends where search.low = search.high
"""

# One round trip: only who finds the head where it was expected moves it, and only for a new command.
_MOVE = """
    with moved as (
        update scheduling_streamhead set seq = %s, hash = %b, recorded_at = %s
        where stream_id = %s and seq = %s and hash = %b
          and not exists (select from scheduling_command where stream_id = %s and command_id = %s)
        returning 1
    ), command as (
        insert into scheduling_command (stream_id, command_id, fingerprint, first_seq, last_seq)
        select %s::bigint, %s::text, %b::bytea, %s::bigint, %s::bigint from moved
    )
    select count(*) from moved
"""

# Of all ways to send rows the cheapest for both sides, from the first row on. A time is sent as what it is
# there: microseconds since 2000, eight bytes.
_COPY = f"copy scheduling_event ({_FIELDS}) from stdin (format binary)"
_COPY_TYPES = (
    "int8", "int8", "text", "int2", "int8", "int8", "text", "text", "int8",
    "text", "text", "text", "bytea", "bytea", "bytea",
)  # fmt: skip

_LOOK = """
    select h.seq, h.hash, h.recorded_at, c.fingerprint, c.first_seq, c.last_seq
    from scheduling_streamhead h
    left join scheduling_command c on c.stream_id = h.stream_id and c.command_id = %s
    where h.stream_id = %s
"""


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a stream stands. ``command``: what is kept of the command."""

    stands: Standing
    command: tuple[bytes, int, int] | None


def _look(stream_id: int, command_id: str) -> _Found:
    with binary_cursor() as cursor:
        row = cursor.execute(_LOOK, [command_id, stream_id]).fetchone()
    if row is None:
        raise UnknownStream(f"there is no stream {stream_id}")
    command = None if row[3] is None else (bytes(row[3]), row[4], row[5])
    return _Found(Standing(Head(row[0], bytes(row[1])), to_milliseconds(row[2])), command)


def _repeated(
    command: tuple[bytes, int, int] | None, stream_id: int, command_id: str, fingerprint: bytes
) -> Appended | None:
    if command is None:
        return None
    if command[0] != fingerprint:
        raise CommandReused(stream_id, command_id, command[1], command[2])
    return Appended(command[1], command[2], repeated=True)


def _chain(
    stream_id: int,
    start: Head,
    events: Sequence[Event],
    actor: str,
    command_id: str,
    causes: Sequence[int | None],
    occurred: int,
    recorded_at: int,
) -> tuple[list[tuple[Any, ...]], list[Recorded]]:
    """Rows of ``_FIELDS``, and the same as events."""
    rows: list[tuple[Any, ...]] = []
    made: list[Recorded] = []
    previous = start.hash
    codec.canonical([occurred, recorded_at, actor, command_id, *causes])  # refuses floats
    times = (occurred - _EPOCH_2000) * 1000, (recorded_at - _EPOCH_2000) * 1000
    for seq, (event, cause) in enumerate(zip(events, causes, strict=True), start.seq + 1):
        body = codec.encoded(event)
        kind = type(event).__name__
        version = event.VERSION
        about, namespace, name = codec.subject(event)
        hash_ = _hash(
            previous,
            [stream_id, seq, kind, version, occurred, recorded_at,
             actor, command_id, cause, about, namespace, name],
            body,
        )  # fmt: skip
        rows.append(
            (stream_id, seq, kind, version, *times,
             actor, command_id, cause, about, namespace, name, body, previous, hash_)
        )  # fmt: skip
        told = (stream_id, seq, event, actor, command_id, cause, occurred, recorded_at, previous, hash_)
        made.append(tuple.__new__(Recorded, told))
        previous = hash_
    return rows, made


def _hash(previous: bytes, meta: list[Any], body: bytes) -> bytes:
    return hashlib.sha256(b"%b%b\n%b" % (previous, codec.flat(meta), body)).digest()


def _block(seq: int) -> int:
    return max(seq - 1, 0) // PARTITION_WIDTH


def _open_partition(stream_id: int, block: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("select scheduling_open_partition(%s, %s)", [stream_id, block])


def _fingerprint(actor: str, request: str) -> bytes:
    return hashlib.sha256(codec.canonical([actor, request])).digest()
