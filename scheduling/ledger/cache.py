"""States of clusters kept in memory, so that a cycle folds only what is new in the log."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from scheduling.engine.state import ClusterState
from scheduling.ledger import bases, fold, store
from scheduling.ledger.archives import Archived
from scheduling.ledger.store import GENESIS


@dataclass(slots=True)
class _Entry:
    """``hash``: of the last event in ``state``."""

    state: ClusterState = field(default_factory=ClusterState)
    hash: bytes = GENESIS
    lock: threading.Lock = field(default_factory=threading.Lock)


class StateCache:
    """The states of at most ``capacity`` streams, least recently asked first to go. For any number of
    threads.

    What it has is checked against the log's hashes on every use: where the log does not continue it (a
    transaction whose events were read was rolled back, a database was restored) the state is folded anew.
    Events are only ever read from the log, never handed in, so what did not become part of it leaves no
    trace.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError("a cache of states needs room for one")
        self._capacity = capacity
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, stream_id: int) -> ClusterState:
        """The state at the head of the stream, as a fork that is the caller's own. Raises UnknownStream and
        UnreadableBase.
        """
        entry = self._entry(stream_id)
        with entry.lock:
            head = store.head(stream_id)
            tried: bytes | None = None
            while not self._catch_up(entry, stream_id, head):
                begun = bases.beginning(stream_id)
                if begun.hash == tried:
                    raise fold.BrokenHistory(
                        f"the log of stream {stream_id} does not lead from its start to its head: verify_log"
                    )
                entry.state, entry.hash = begun.state, begun.hash
                tried = begun.hash
            return entry.state.fork()

    def clear(self) -> None:
        """Drop everything kept."""
        with self._lock:
            self._entries.clear()

    def _entry(self, stream_id: int) -> _Entry:
        with self._lock:
            entry = self._entries.setdefault(stream_id, _Entry())
            self._entries.move_to_end(stream_id)
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
            return entry

    @staticmethod
    def _catch_up(entry: _Entry, stream_id: int, head: store.Head) -> bool:
        """Fold what is missing up to ``head``; False when the log does not continue the entry."""
        if entry.state.seq > head.seq:
            return False
        try:
            for recorded in store.read(stream_id, after=entry.state.seq, upto=head.seq):
                if recorded.seq != entry.state.seq + 1 or recorded.prev_hash != entry.hash:
                    return False
                fold.apply(entry.state, recorded)
                entry.hash = recorded.hash
        except Archived:
            return False  # what follows the entry was taken out of the table since
        except BaseException:
            # Half a step may have been taken: nothing of it is to be used again.
            entry.state, entry.hash = ClusterState(), GENESIS
            raise
        return entry.state.seq == head.seq and entry.hash == head.hash
