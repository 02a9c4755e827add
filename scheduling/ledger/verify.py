"""Whether a stream is what was appended to it: every hash made again, from the first event to the head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from scheduling.ledger import archives, store
from scheduling.ledger.store import GENESIS, Head, StoredRow
from scheduling.models import Event, Run

TOLD_EVERY = 1_000


class Fault(StrEnum):
    CHANGED = "changed"
    REMOVED = "removed"
    INSERTED = "inserted"
    REORDERED = "reordered"


@dataclass(frozen=True, slots=True)
class ChainReport:
    """``events``: how many were found good. ``bad_seq``: the first place that is not as it was written; None
    when all are.

    Events that were exchanged together with their hashes break the chain only where they end, so the last of
    them is named. A log rewritten whole, head included, is sound in itself: compare ``head`` with one noted
    elsewhere (``ledger.heads``).
    """

    stream_id: int
    events: int
    head: Head
    bad_seq: int | None = None
    fault: Fault | None = None
    sentence: str = ""

    @property
    def ok(self) -> bool:
        return self.bad_seq is None


@dataclass(frozen=True, slots=True)
class _Bad:
    seq: int
    fault: Fault
    how: str


def verify_chain(
    stream_id: int, since: Head | None = None, advance: Callable[[int], object] = int
) -> ChainReport:
    """Walk the chain after ``since`` and stop at the first fault. ``advance`` is told now and then of how
    many events more were seen.

    When not given it is the last archived event as it was noted when its partition was detached (see
    ``archives``), and the start of the stream when none was. Raises UnknownStream.
    """
    while True:
        start = since or beginning(stream_id)
        report = _walk(stream_id, start, advance)
        # Events that are archived in the meantime are missed where the walk stood, and nowhere else.
        if report.ok or since is not None or beginning(stream_id) == start:
            return report


def beginning(stream_id: int) -> Head:
    """The last event that is not the stream's own in the table: archived, before the first, or that of the
    cluster at which the stream was forked.
    """
    archive = archives.newest(stream_id)
    if archive is not None:
        return Head(archive.last_seq, bytes(archive.hash))
    return _forked_at(stream_id) or Head(0, GENESIS)


def _forked_at(stream_id: int) -> Head | None:
    """None for a stream that begins by itself. Where the cluster's event is in a file, which is verified by
    itself, the fork's own word is taken for its hash.
    """
    run = Run.objects.filter(fork_id=stream_id).values_list("cluster_id", "base_seq").first()
    if run is None:
        return None
    cluster_id, seq = run
    digest = Event.objects.filter(stream_id=cluster_id, seq=seq).values_list("hash", flat=True).first()
    if digest is None and archives.begin(cluster_id) >= seq:
        first = next(store.stored(stream_id, after=seq, limit=1), None)
        digest = first.prev_hash if first is not None else store.head(stream_id).hash
    return Head(seq, bytes(digest) if digest is not None else GENESIS)


def _walk(stream_id: int, start: Head, advance: Callable[[int], object]) -> ChainReport:
    head = store.head(stream_id)
    good = before = start
    bad: _Bad | None = None
    try:
        for row in store.stored(stream_id, after=start.seq, upto=head.seq):
            bad = _check(row, good, before, start)
            if bad is not None:
                break
            before, good = good, Head(row.seq, row.hash)
            if row.seq % TOLD_EVERY == 0:
                advance(TOLD_EVERY)
    except archives.Archived as error:
        bad = _Bad(good.seq + 1, Fault.REMOVED, str(error))
    if bad is None:
        bad = _check_end(stream_id, good, before, head)
    if bad is None:
        return ChainReport(stream_id, good.seq - start.seq, head)
    sentence = f"event {bad.seq} of stream {stream_id} was {bad.fault}: {bad.how}"
    return ChainReport(stream_id, max(bad.seq - 1 - start.seq, 0), head, bad.seq, bad.fault, sentence)


def _check(row: StoredRow, good: Head, before: Head, start: Head) -> _Bad | None:
    """What is wrong at the row after ``good``, which came after ``before``."""
    if row.seq != good.seq + 1:
        return _Bad(good.seq + 1, Fault.REMOVED, f"after event {good.seq} comes event {row.seq}")
    if row.computed_hash() != row.hash:
        return _explain(row, good, before)
    if row.prev_hash == good.hash:
        return None
    if good == start:
        return _Bad(row.seq, Fault.CHANGED, "it does not follow the event before the start")
    if _leads_to_head(row):
        return _Bad(good.seq, Fault.CHANGED, f"event {row.seq} was written after an event with another hash")
    return _Bad(row.seq, Fault.CHANGED, f"it does not follow event {good.seq}")


def _check_end(stream_id: int, good: Head, before: Head, head: Head) -> _Bad | None:
    if good.seq < head.seq:
        return _Bad(good.seq + 1, Fault.REMOVED, f"the log ends at {good.seq}, its head is at {head.seq}")
    if good.hash != head.hash:
        following = next(store.stored(stream_id, after=good.seq, limit=1), None)
        if following is not None and _was(following, good.seq, before):
            return _Bad(good.seq, Fault.INSERTED, f"event {following.seq} was written as event {good.seq}")
        return _Bad(good.seq, Fault.CHANGED, "the head has another hash")
    # In this order: whatever is appended in between is before the head by then.
    newest = Event.objects.filter(stream_id=stream_id).order_by("-seq").values_list("seq", flat=True).first()
    now = store.head(stream_id)
    if newest is not None and newest > now.seq:
        return _Bad(now.seq + 1, Fault.INSERTED, "it lies after the head, so no append wrote it")
    return None


def _leads_to_head(row: StoredRow) -> bool:
    """Whether all that comes after the row was written after it, up to the head."""
    head = store.head(row.stream_id)
    seq, last = row.seq, row.hash
    for following in store.stored(row.stream_id, after=row.seq, upto=head.seq):
        if (following.seq, following.prev_hash) != (seq + 1, last):
            return False
        if following.computed_hash() != following.hash:
            return False
        seq, last = following.seq, following.hash
    return Head(seq, last) == head


def _explain(row: StoredRow, good: Head, before: Head) -> _Bad:
    """A row that does not have the hash of what it holds: was it written like this, at another place?"""
    last = store.head(row.stream_id).seq
    origin = next(
        (seq for seq in range(1, last + 1) if row._replace(seq=seq).computed_hash() == row.hash), None
    )
    written = Event.objects.filter(stream_id=row.stream_id)
    if origin is None or written.filter(hash=row.hash).count() > 1:
        following = next(store.stored(row.stream_id, after=row.seq, limit=1), None)
        if following is not None and _was(following, row.seq, good):
            return _Bad(row.seq, Fault.INSERTED, f"event {following.seq} was written as event {row.seq}")
        if origin is None:
            return _Bad(row.seq, Fault.CHANGED, "it does not have the hash of what it holds")
        if origin == good.seq and row.hash == good.hash:
            return _Bad(row.seq, Fault.INSERTED, f"it is event {origin} once more")
        return _Bad(row.seq, Fault.CHANGED, f"its place holds a copy of event {origin}")
    if _was(row, good.seq, before):
        return _Bad(good.seq, Fault.INSERTED, f"event {row.seq} was written as event {good.seq}")
    how = f"its place holds what was written as event {origin}"
    if written.filter(hash=row.prev_hash).exists():
        return _Bad(row.seq, Fault.REORDERED, how)
    return _Bad(row.seq, Fault.REMOVED, how)


def _was(row: StoredRow, seq: int, predecessor: Head) -> bool:
    """Whether the row was written at ``seq``, right after ``predecessor``."""
    return row.prev_hash == predecessor.hash and row._replace(seq=seq).computed_hash() == row.hash
