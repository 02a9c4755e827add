"""Snapshots in the database: when one is taken, which are kept, and the nearest one before an event.

They are a cache: dropped, they cost time and nothing else. One is used only when it can be read by this
version of the console, has its digest, and the log has the event with the hash that it was taken at; any
other is told once in the log of the process, ignored, and deleted when the next one is taken.

**When**: after ``spacing`` events, which grows with the cluster and with the groups that it has had: packing
costs by the object and folding by the event, so that packing stays a small part of what the appends in
between cost, and a cold start folds for well under a second. With an append of that size, by whoever appends
it; when a process ends that is a good part of it ahead.

**Which**: at most ``KEPT`` and ``KEPT_BYTES`` a stream. Over that goes the one whose neighbours are nearest
to one another, the older first, never the newest: what is kept is spread evenly over the log, so that any
past state is near one.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from django.db import transaction

from scheduling.engine.state import ClusterState
from scheduling.ledger import snapshots
from scheduling.ledger.binary import binary_cursor
from scheduling.ledger.snapshots import BadSnapshot
from scheduling.ledger.store import Head

SPACING = 2_000
"""Events between two snapshots of a small cluster."""

OBJECTS_PER_EVENT = 16
"""One event more for so many nodes, pods and generations that ended."""

KEPT = 64
KEPT_BYTES = 256 << 20

log = structlog.get_logger(__name__)

_told: set[int] = set()
"""Ids of snapshots that were ignored by this process, and said to be."""


def spacing(state: ClusterState) -> int:
    """Events after which a new snapshot of such a state is worth its cost."""
    objects = len(state.nodes) + len(state.pods) + len(state.past.closed.table)
    return SPACING + objects // OBJECTS_PER_EVENT


def newest(stream_id: int) -> int:
    """Seq of the newest snapshot that may be used, 0 when there is none."""
    return next((seq for _, seq, _, usable in _listed(stream_id, None) if usable), 0)


def nearest(stream_id: int, upto: int) -> tuple[ClusterState, Head] | None:
    """The state of the newest good snapshot at or before the event ``upto``, and the event it was taken at.
    None when there is none.
    """
    for number, seq, hash_, usable in _listed(stream_id, upto):
        if not usable:
            _tell(number, stream_id, seq, "the log has no such event")
        elif number not in _told:
            data = _data(number)
            try:
                if data is not None:
                    return _checked(data, seq), Head(seq, hash_)
            except BadSnapshot as error:
                _tell(number, stream_id, seq, str(error))
    return None


def save(stream_id: int, state: ClusterState, hash_: bytes) -> bool:
    """Keep the state, which is that after the event with this hash. False when the log has no such event, or
    there is a snapshot of it.
    """
    data = snapshots.pack(state)
    with transaction.atomic(), binary_cursor() as cursor:
        cursor.execute(_CLEAN, [stream_id, snapshots.KIND, sorted(_told)])
        cursor.execute(
            _INSERT, [stream_id, state.seq, hash_, snapshots.KIND, data, stream_id, state.seq, hash_]
        )
        saved = cursor.rowcount == 1
        if saved:
            rows = cursor.execute(_SIZES, [stream_id]).fetchall()
            cursor.execute(_DELETE, [_too_many(rows)])
    if saved:
        log.info("snapshot taken", stream=stream_id, seq=state.seq, bytes=len(data))
    return saved


# --- steps

# An event is there itself or, where its partition was detached, by what the next one or the head says of it.
_USABLE = """
    (exists (select from scheduling_event e
             where e.stream_id = s.stream_id and e.seq = s.seq and e.hash = s.hash)
     or exists (select from scheduling_event e
                where e.stream_id = s.stream_id and e.seq = s.seq + 1 and e.prev_hash = s.hash))
"""

_LIST = f"""
    select s.id, s.seq, s.hash, {_USABLE} from scheduling_snapshot s
    where s.stream_id = %s and s.format = %s and (%s::bigint is null or s.seq <= %s) order by s.seq desc
"""

_CLEAN = f"""
    delete from scheduling_snapshot s
    where s.stream_id = %s and (s.format <> %s or s.id = any(%b::bigint[]) or not {_USABLE})
"""

_INSERT = """
    insert into scheduling_snapshot (stream_id, seq, hash, format, data, taken_at)
    select %s::bigint, %s::bigint, %b::bytea, %s::text, %b::bytea, now()
    where exists (select from scheduling_event where stream_id = %s and seq = %s and hash = %b)
    on conflict do nothing
"""

_DATA = "select data from scheduling_snapshot where id = %s"
_SIZES = "select id, seq, octet_length(data) from scheduling_snapshot where stream_id = %s order by seq"
_DELETE = "delete from scheduling_snapshot where id = any(%b::bigint[])"


def _listed(stream_id: int, upto: int | None) -> list[tuple[int, int, bytes, bool]]:
    """(id, seq, hash, whether the log has its event), newest first."""
    with binary_cursor() as cursor:
        rows = cursor.execute(_LIST, [stream_id, snapshots.KIND, upto, upto]).fetchall()
    return [(number, seq, bytes(hash_), usable) for number, seq, hash_, usable in rows]


def _data(number: int) -> bytes | None:
    with binary_cursor() as cursor:
        row = cursor.execute(_DATA, [number], binary=True).fetchone()  # as text it is twice as long
    return None if row is None else row[0]


def _checked(data: bytes, seq: int) -> ClusterState:
    state = snapshots.unpack(data)
    if state.seq != seq:
        raise BadSnapshot(f"it holds the state at event {state.seq}")
    return state


def _tell(number: int, stream_id: int, seq: int, why: str) -> None:
    if number not in _told:
        _told.add(number)
        log.warning("snapshot ignored", stream=stream_id, seq=seq, why=why)


def _too_many(rows: Sequence[tuple[int, int, int]]) -> list[int]:
    """Ids of those to be dropped, of (id, seq, bytes) in order of seq."""
    kept = list(rows)
    dropped = []
    while len(kept) > 1 and (len(kept) > KEPT or sum(size for _, _, size in kept) > KEPT_BYTES):
        seqs = [0, *(seq for _, seq, _ in kept)]
        gaps = [after - before for before, after in zip(seqs, seqs[2:], strict=False)]
        dropped.append(kept.pop(gaps.index(min(gaps)))[0])
    return dropped
