"""States of past moments, a few kept in this process: who looks at a moment asks for it, and for moments near
it, many times.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from scheduling.engine.state import ClusterState
from scheduling.ledger import fold, store
from scheduling.models import Cluster, Event

KEPT = 4
"""Past states in memory; the least recently used goes first. They share what they have in common."""
NEAR = 2_000
"""From a kept state at most so many events back, the events between are folded instead of all."""

_kept: OrderedDict[tuple[int, int, bytes], ClusterState] = OrderedDict()
_lock = threading.Lock()


def state_at(cluster: Cluster, seq: int) -> ClusterState:
    """The state after event ``seq``, 0 for none, as a fork that is the caller's own. LookupError when the log
    is not that far.
    """
    hashes = _hashes(cluster, seq)
    with _lock:
        known = [key for key in _kept if key[0] == cluster.pk and key[1:] in hashes]
        nearest = max(known, key=lambda key: key[1], default=None)
        if nearest is not None:
            _kept.move_to_end(nearest)
            state = _kept[nearest].fork()
    if nearest is None:
        state = fold.state_at(cluster.pk, seq)
    elif nearest[1] < seq:
        fold.fold(state, store.read(cluster.pk, after=nearest[1], upto=seq))
        if state.seq != seq:
            raise LookupError(f"stream {cluster.pk} is at {state.seq}: there is no state at {seq}")
    if nearest is None or nearest[1] < seq:
        keep(cluster, state)
    return state


def keep(cluster: Cluster, state: ClusterState) -> None:
    """Keep a copy of a state that was read from the log."""
    found = _hashes(cluster, state.seq, near=0)
    with _lock:
        for seq, digest in found:
            _kept[cluster.pk, seq, digest] = state.fork()
        while len(_kept) > KEPT:
            _kept.popitem(last=False)


def clear() -> None:
    with _lock:
        _kept.clear()


def _hashes(cluster: Cluster, seq: int, near: int = NEAR) -> set[tuple[int, bytes]]:
    """Seq and hash of the event ``seq`` and of those kept ones not far before it: a hash vouches for all
    that led to it, so a state of another history (a database that was restored) is never taken.
    """
    with _lock:
        wanted = {key[1] for key in _kept if key[0] == cluster.pk and seq - near <= key[1] <= seq}
    rows = Event.objects.filter(stream_id=cluster.pk, seq__in={seq, *wanted}).values_list("seq", "hash")
    return {(number, bytes(digest)) for number, digest in rows}
