"""The state and the past of a stream at its head, kept in this process and caught up from the log."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from scheduling.engine.state import ClusterState
from scheduling.ledger import archives, bases, codec
from scheduling.ledger.bases import UnreadableBase
from scheduling.ledger.cache import StateCache
from scheduling.models import Base, Cluster
from scheduling.models import Event as EventRow
from scheduling.services import past
from scheduling.services.past import TYPES, Past

CLUSTERS_KEPT = 8
"""So many streams are kept in memory; the least recently used one is folded anew when it is asked for."""

_TYPE_NAMES = [kind.__name__ for kind in TYPES]


@dataclass(slots=True)
class _Kept:
    """``hash``: of the event at ``past.seq``, as long as the log has it the past is true."""

    past: Past = field(default_factory=Past)
    hash: bytes = b""


_states = StateCache(CLUSTERS_KEPT)
_pasts: OrderedDict[int, _Kept] = OrderedDict()
_lock = threading.Lock()


def state_of(cluster: Cluster) -> ClusterState:
    """The state at the head, as a fork that is the caller's own."""
    return at_head(cluster.pk)


def at_head(stream_id: int) -> ClusterState:
    """As ``state_of``, for any stream. Raises UnknownStream."""
    return _states.get(stream_id)


def past_of(stream_id: int, seq: int) -> Past:
    """What the log tells up to ``seq``. Shared between threads: read only."""
    with _lock:
        kept = _pasts.get(stream_id) or _beginning(stream_id)
        _pasts[stream_id] = kept
        _pasts.move_to_end(stream_id)
        if len(_pasts) > CLUSTERS_KEPT:
            _pasts.popitem(last=False)
        if kept.past.seq > seq or not _is_true(stream_id, kept):
            kept = _pasts[stream_id] = _beginning(stream_id)
        while kept.past.seq < seq and not _catch_up(stream_id, kept, seq):
            kept = _pasts[stream_id] = _beginning(stream_id)
        return kept.past


def past_at(stream_id: int, seq: int) -> Past:
    """As ``past_of``, and the caller's own. Raises Archived for a seq before the events in the table."""
    while True:
        kept = _beginning(stream_id)
        if seq < kept.past.seq:
            archives.refuse(stream_id, seq)
        if _catch_up(stream_id, kept, seq):
            return kept.past


def _beginning(stream_id: int) -> _Kept:
    """What the events in the table go on from."""
    base = bases.newest(stream_id)
    if base is None:
        return _Kept()
    if base.versions.get("past") != past.VERSION:
        raise UnreadableBase(stream_id, f"its past is of version {base.versions.get('past')}")
    packed = Base.objects.filter(stream_id=stream_id, seq=base.seq).values_list("past", flat=True).get()
    return _Kept(past.unpack(bytes(packed)), bytes(base.hash))


def _is_true(stream_id: int, kept: _Kept) -> bool:
    """False where events were read in a transaction that was rolled back, the database was restored, or what
    followed was archived.
    """
    return kept.past.seq == 0 or _hash(stream_id, kept.past.seq) == kept.hash


def _catch_up(stream_id: int, kept: _Kept, seq: int) -> bool:
    """False when some of the events were archived before they were read: ``kept`` is of no use then."""
    begun = kept.past.seq
    rows = EventRow.objects.filter(
        stream_id=stream_id, type__in=_TYPE_NAMES, seq__gt=kept.past.seq, seq__lte=seq
    ).order_by("seq")
    for number, type_name, version, body in rows.values_list("seq", "type", "version", "body").iterator():
        try:
            kept.past.apply(codec.decode(type_name, version, body))
        except codec.BadEvent as error:
            raise error.at(number) from error
    kept.past.seq, kept.hash = seq, _hash(stream_id, seq)
    return archives.begin(stream_id) <= begun


def _hash(stream_id: int, seq: int) -> bytes:
    """Of an event in the table, or of the last one that is archived."""
    found = EventRow.objects.filter(stream_id=stream_id, seq=seq).values_list("hash", flat=True).first()
    if found is None:
        archive = archives.newest(stream_id)
        found = archive.hash if archive is not None and archive.last_seq == seq else b""
    return bytes(found)
