"""States of clusters kept in memory, so that a cycle folds only what is new in the log."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from scheduling.engine.state import ClusterState
from scheduling.ledger import fold, snapshot_store, store
from scheduling.ledger.store import GENESIS


@dataclass(slots=True)
class _Entry:
    """``hash``: of the last event in ``state``. ``saved``: seq of the newest snapshot that is known of."""

    state: ClusterState = field(default_factory=ClusterState)
    hash: bytes = GENESIS
    saved: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def stand(self, state: ClusterState, hash_: bytes) -> None:
        self.state, self.hash, self.saved = state, hash_, state.seq


class StateCache:
    """The states of at most ``capacity`` streams, least recently asked first to go. For any number of
    threads.

    A state begins with the nearest snapshot. What the cache has is checked against the log's hashes on every
    use: where the log does not continue it (a transaction whose events were read was rolled back, a database
    was restored) the state is made anew. Events are only ever read from the log, never handed in, so what did
    not become part of it leaves no trace.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError("a cache of states needs room for one")
        self._capacity = capacity
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, stream_id: int) -> ClusterState:
        """The state at the head of the stream, as a fork that is the caller's own. Raises UnknownStream."""
        entry = self._entry(stream_id)
        with entry.lock:
            head = store.head(stream_id)
            if entry.state.seq == 0 or not self._catch_up(entry, stream_id, head):
                found = snapshot_store.nearest(stream_id, head.seq)
                entry.stand(*((ClusterState(), GENESIS) if found is None else (found[0], found[1].hash)))
                if not self._catch_up(entry, stream_id, head):
                    entry.stand(ClusterState(), GENESIS)
                    raise fold.BrokenHistory(
                        f"the log of stream {stream_id} does not lead from its start to its head: verify_log"
                    )
            return entry.state.fork()

    def save(self, stream_id: int, share: float = 1.0) -> bool:
        """Take a snapshot of what is kept of the stream when it is far from the newest one: ``share`` of the
        usual spacing. Whether one was taken.
        """
        with self._lock:
            entry = self._entries.get(stream_id)
        if entry is None:
            return False
        with entry.lock:
            if not self._is_far(entry, share):
                return False
            entry.saved = max(entry.saved, snapshot_store.newest(stream_id))  # others take them too
            if not self._is_far(entry, share):
                return False
            state, hash_, entry.saved = entry.state.fork(), entry.hash, entry.state.seq
        return snapshot_store.save(stream_id, state, hash_)

    def save_all(self, share: float) -> None:
        """As ``save``, for every stream that is kept."""
        with self._lock:
            streams = list(self._entries)
        for stream_id in streams:
            self.save(stream_id, share)

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
    def _is_far(entry: _Entry, share: float) -> bool:
        return entry.state.seq - entry.saved >= snapshot_store.spacing(entry.state) * share

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
        except BaseException:
            # Half a step may have been taken: nothing of it is to be used again.
            entry.stand(ClusterState(), GENESIS)
            raise
        return entry.state.seq == head.seq and entry.hash == head.hash
