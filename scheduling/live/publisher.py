"""Tells the web processes that a log has grown, from whatever process wrote to it.

One event loop in one thread of the process, made at the first hint: a new loop for each call would mean a
new Redis connection for each call. A hint that cannot be sent is logged and forgotten, since every hub also
looks by itself.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from typing import Any

import structlog
from channels.layers import get_channel_layer

from scheduling.ledger.signals import log_advanced
from scheduling.live.protocol import HINT, LogAdvanced, group_of

FLUSH_SECONDS = 2.0
"""How long a process that ends waits for hints on their way."""

log = structlog.get_logger(__name__)


class _Loop:
    """An event loop in a thread of its own, and what is still running in it."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.pending: set[Future[Any]] = set()
        threading.Thread(target=self.loop.run_forever, name="live-publisher", daemon=True).start()
        atexit.register(self.flush)

    def submit(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        self.pending.add(future)
        future.add_done_callback(self._done)
        return future

    def _done(self, future: Future[Any]) -> None:
        self.pending.discard(future)
        if not future.cancelled() and (error := future.exception()) is not None:
            log.warning("live_hint_not_sent", error=str(error))

    def flush(self) -> None:
        if self.pid == os.getpid():  # a forked child inherits this hook, but not the loop
            wait(list(self.pending), timeout=FLUSH_SECONDS)


_lock = threading.Lock()
_current: _Loop | None = None


def _loop() -> _Loop:
    """The loop of this process."""
    global _current
    with _lock:
        if _current is None:
            _current = _Loop()
        return _current


def _forget() -> None:
    """A forked child has its parent's memory but not its threads, and perhaps a lock that nobody will
    open.
    """
    global _lock, _current
    _lock, _current = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)


def publish(stream_id: int, seq: int) -> Future[Any]:
    """Send the hint without waiting for it. The future is for those who have to wait (tests, the end of a
    command).
    """
    hint: LogAdvanced = {"type": HINT, "stream": stream_id, "seq": seq}
    return _loop().submit(get_channel_layer().group_send(group_of(stream_id), hint))


def _on_log_advanced(*, stream_id: int, seq: int, **_: object) -> None:
    publish(stream_id, seq)


def connect() -> None:
    """Subscribe to the ledger; called once when the app is ready."""
    log_advanced.connect(_on_log_advanced, dispatch_uid="scheduling.live.publisher")
