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
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.db import connection, transaction

from scheduling.ledger import codec
from scheduling.ledger.binary import binary_cursor
from scheduling.ledger.events import Event
from scheduling.ledger.signals import log_advanced
from scheduling.models import Stream, StreamHead

GENESIS = bytes(32)
PARTITION_WIDTH = 1_000_000
"""Events in one partition of a stream; ``scheduling_open_partition`` has the same number."""
CHUNK = 5_000
"""Rows sent in one statement, and rows read at a time."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Head:
    """The last event of a stream: ``seq`` 0 and GENESIS before the first."""

    seq: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Recorded:
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

    ``repeated``: the command had been carried out before, nothing was written and ``recorded`` is empty.
    """

    first: int
    last: int
    repeated: bool
    recorded: tuple[Recorded, ...] = ()


class ConflictingAppend(Exception):
    """Others appended in between: the stream is at ``actual``, not at ``expected``. Decide again from
    there.
    """

    def __init__(self, stream_id: int, expected: int, actual: int) -> None:
        super().__init__(f"stream {stream_id} is at {actual}, not at {expected}")
        self.stream_id, self.expected, self.actual = stream_id, expected, actual


class CommandReused(Exception):
    """A command id that stood for another request, or for that of another actor, is used again."""

    def __init__(self, stream_id: int, command_id: str) -> None:
        super().__init__(
            f"command id {command_id!r} was already used in stream {stream_id} for another request"
        )
        self.stream_id, self.command_id = stream_id, command_id


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


def head(stream_id: int) -> Head:
    """Where the stream stands. Raises UnknownStream."""
    return _look(stream_id, "").head


def find_command(stream_id: int, command_id: str, *, actor: str, request: str = "") -> Appended | None:
    """What the command did when it was carried out before; None when it was not.

    Ask before deciding: a decision on the state after the command may well refuse what the command did.
    Raises CommandReused and UnknownStream.
    """
    found = _look(stream_id, command_id)
    return _repeated(found.command, stream_id, command_id, _fingerprint(actor, request))


def append(
    stream_id: int,
    expected_seq: int,
    events: Sequence[Event],
    *,
    actor: str,
    command_id: str,
    request: str = "",
    cause: int | Sequence[int | None] | None = None,
    now: int,
    occurred_at: int | None = None,
) -> Appended:
    """Add events after ``expected_seq``, all or none, inside the caller's ``transaction.atomic``.

    ``request`` tells what was asked for, in any form that is the same when the same is asked again. A command
    that was carried out before writes nothing, whatever ``expected_seq`` and ``events`` are. ``cause`` is
    the seq of the event that led to these, or one such seq (None: not known) for each of them. ``now`` and
    ``occurred_at`` (``now`` when not given) are milliseconds; ``recorded_at`` is ``now``, or that of the last
    event if this is later. ``log_advanced`` is sent when the transaction commits.

    Raises ConflictingAppend, CommandReused, UnknownStream, BadEvent; TransactionManagementError outside of
    atomic.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("append belongs inside transaction.atomic")
    if not command_id:
        raise ValueError("append needs a command id: it is what makes a repeated command harmless")
    fingerprint = _fingerprint(actor, request)
    found = _look(stream_id, command_id)
    done = _repeated(found.command, stream_id, command_id, fingerprint)
    if done is not None:
        return done
    start = found.head
    if start.seq != expected_seq:
        raise ConflictingAppend(stream_id, expected_seq, start.seq)
    occurred = now if occurred_at is None else occurred_at
    recorded_at = max(now, found.recorded_at)
    causes = [cause] * len(events) if cause is None or isinstance(cause, int) else cause
    rows = _chain(stream_id, start, events, actor, command_id, causes, occurred, recorded_at)
    end = Head(rows[-1].seq, rows[-1].hash) if rows else start
    for block in range(_block(start.seq + 1), _block(end.seq) + 1):
        if block > 0 and block * PARTITION_WIDTH >= start.seq:
            _open_partition(stream_id, block)
    with binary_cursor() as cursor:
        moved_at = to_datetime(recorded_at if rows else found.recorded_at)
        move = [end.seq, end.hash, moved_at, stream_id, start.seq, start.hash]
        keep = [stream_id, command_id, fingerprint, start.seq + 1, end.seq]
        common = [stream_id, to_datetime(occurred), to_datetime(recorded_at), actor, command_id]
        cursor.execute(_MOVE_AND_INSERT, move + keep + common + _columns(rows[:CHUNK]))
        moved = cursor.fetchone() == (1,)
        if moved:
            for offset in range(CHUNK, len(rows), CHUNK):
                cursor.execute(_INSERT, common + _columns(rows[offset : offset + CHUNK]))
    if not moved:
        # Somebody else moved the head and committed: perhaps the same command, sent twice at once.
        now_there = _look(stream_id, command_id)
        again = _repeated(now_there.command, stream_id, command_id, fingerprint)
        if again is not None:
            return again
        raise ConflictingAppend(stream_id, expected_seq, now_there.head.seq)
    recorded = tuple(row.recorded(event) for row, event in zip(rows, events, strict=True))
    if recorded:
        woke = any(event.WAKES for event in events)
        # Robust: the command has happened by then, so a receiver's failure is logged and not the caller's.
        send = partial(log_advanced.send_robust, sender=None, stream_id=stream_id, seq=end.seq, woke=woke)
        transaction.on_commit(partial(send, events=tuple(events)))
    return Appended(start.seq + 1, end.seq, repeated=False, recorded=recorded)


def read(
    stream_id: int, after: int = 0, upto: int | None = None, limit: int | None = None
) -> Iterator[Recorded]:
    """Events with ``after < seq <= upto``, in order, at most ``limit``; fetched in pages, so any number may
    be read.

    The head row of a stream is locked from an append to its commit, so seqs become visible in order: a reader
    never sees one whose predecessor may still come. Raises BadEvent and UnknownEvent.
    """
    for row in stored(stream_id, after, upto, limit):
        yield row.recorded()


def seq_at(stream_id: int, at: int) -> int:
    """The last seq recorded at or before ``at`` (milliseconds), 0 when there is none.

    Raises UnknownStream, and LookupError where events are missing: for a time before the oldest one in the
    table when this is not the first of the stream, or in a log with holes.
    """
    if head(stream_id).seq == 0:
        return 0
    with binary_cursor() as cursor:
        row = cursor.execute(_SEQ_AT, {"stream": stream_id, "at": to_datetime(at)}).fetchone()
    if row is None:
        raise LookupError(f"events of stream {stream_id} are missing: verify_log")
    first, seq = row
    if seq < first and first > 1:
        raise LookupError(
            f"stream {stream_id} begins with event {first} in this database: what it was before is not told"
        )
    return int(seq)


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row of the log as it lies there, undecoded; ``meta`` and ``body`` are what its hash covers."""

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
        meta = [self.stream_id, self.seq, self.type, self.version, self.occurred_at, self.recorded_at]
        meta += [self.actor, self.command_id, self.cause, self.subject, self.namespace, self.name]
        return hashlib.sha256(self.prev_hash + codec.canonical(meta) + b"\n" + self.body.encode()).digest()

    def recorded(self, event: Event | None = None) -> Recorded:
        """With the event decoded, unless it is given."""
        event = codec.decode(self.type, self.version, self.body) if event is None else event
        return Recorded(
            self.stream_id, self.seq, event, self.actor, self.command_id, self.cause,
            self.occurred_at, self.recorded_at, self.prev_hash, self.hash,
        )  # fmt: skip


def stored(
    stream_id: int, after: int = 0, upto: int | None = None, limit: int | None = None
) -> Iterator[StoredRow]:
    """As ``read``, but the rows as they are stored."""
    left = limit
    while left is None or left > 0:
        wanted = CHUNK if left is None else min(left, CHUNK)
        with binary_cursor() as cursor:
            rows = cursor.execute(_PAGE, [stream_id, after, upto, upto, wanted]).fetchall()
        for row in rows:
            times = to_milliseconds(row[4]), to_milliseconds(row[5])
            yield StoredRow(*(*row[:4], *times, *row[6:]))
        if len(rows) < wanted:
            return
        after = rows[-1][1]
        left = None if left is None else left - len(rows)


# --- steps

_FIELDS = """stream_id, seq, type, version, occurred_at, recorded_at, actor, command_id, cause,
    subject, namespace, name, body, prev_hash, hash"""

_PAGE = f"""
    select {_FIELDS} from scheduling_event
    where stream_id = %s and seq > %s and (%s::bigint is null or seq <= %s) order by seq limit %s
"""

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

# psycopg sends arrays in binary with %b, five times as fast as text for arrays of JSON.
_ROWS = """
    select %s::bigint, x.seq, x.type, x.version, %s::timestamptz, %s::timestamptz, %s::text, %s::text,
           nullif(x.cause, 0), x.subject, x.namespace, x.name, x.body, x.prev_hash, x.hash
    from unnest(%b::bigint[], %b::bigint[], %b::text[], %b::smallint[], %b::text[], %b::text[], %b::text[],
                %b::text[], %b::bytea[], %b::bytea[]) as
                x(cause, seq, type, version, subject, namespace, name, body, prev_hash, hash)
"""

_INSERT = f"insert into scheduling_event ({_FIELDS}) {_ROWS}"

# One round trip: only who finds the head where it was expected moves it, and only who moves it inserts.
_MOVE_AND_INSERT = f"""
    with moved as (
        update scheduling_streamhead set seq = %s, hash = %b, recorded_at = %s
        where stream_id = %s and seq = %s and hash = %b returning 1
    ), command as (
        insert into scheduling_command (stream_id, command_id, fingerprint, first_seq, last_seq)
        select %s::bigint, %s::text, %b::bytea, %s::bigint, %s::bigint from moved
    ), added as (
        insert into scheduling_event ({_FIELDS}) {_ROWS} where exists (select from moved)
    )
    select count(*) from moved
"""


_LOOK = """
    select h.seq, h.hash, h.recorded_at, c.fingerprint, c.first_seq, c.last_seq
    from scheduling_streamhead h
    left join scheduling_command c on c.stream_id = h.stream_id and c.command_id = %s
    where h.stream_id = %s
"""


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a stream stands. ``recorded_at``: of its last event; ``command``: what is kept of the command."""

    head: Head
    recorded_at: int
    command: tuple[bytes, int, int] | None


def _look(stream_id: int, command_id: str) -> _Found:
    with binary_cursor() as cursor:
        row = cursor.execute(_LOOK, [command_id, stream_id]).fetchone()
    if row is None:
        raise UnknownStream(f"there is no stream {stream_id}")
    command = None if row[3] is None else (bytes(row[3]), row[4], row[5])
    return _Found(Head(row[0], bytes(row[1])), to_milliseconds(row[2]), command)


def _repeated(
    command: tuple[bytes, int, int] | None, stream_id: int, command_id: str, fingerprint: bytes
) -> Appended | None:
    if command is None:
        return None
    if command[0] != fingerprint:
        raise CommandReused(stream_id, command_id)
    return Appended(command[1], command[2], repeated=True)


def _chain(
    stream_id: int,
    start: Head,
    events: Sequence[Event],
    actor: str,
    command_id: str,
    causes: Sequence[int | None],
    occurred: int,
    recorded: int,
) -> list[StoredRow]:
    rows: list[StoredRow] = []
    previous = start.hash
    for seq, (event, cause) in enumerate(zip(events, causes, strict=True), start.seq + 1):
        subject, namespace, name = codec.subject(event)
        row = StoredRow(
            stream_id, seq, type(event).__name__, event.VERSION, occurred, recorded, actor, command_id, cause,
            subject, namespace, name, codec.encode(event), previous, GENESIS,
        )  # fmt: skip
        row = replace(row, hash=row.computed_hash())
        previous = row.hash
        rows.append(row)
    return rows


def _columns(rows: Sequence[StoredRow]) -> list[Any]:
    names = ("seq", "type", "version", "subject", "namespace", "name", "body", "prev_hash", "hash")
    columns = [[getattr(row, name) for row in rows] for name in names]
    return [[row.cause or 0 for row in rows], *columns]  # 0, never a seq: an array of nothing has no type


def _block(seq: int) -> int:
    return max(seq - 1, 0) // PARTITION_WIDTH


def _open_partition(stream_id: int, block: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("select scheduling_open_partition(%s, %s)", [stream_id, block])


def _fingerprint(actor: str, request: str) -> bytes:
    return hashlib.sha256(codec.canonical([actor, request])).digest()
