"""Processes that append as fast as they can, to our log or to that of the `eventsourcing` package.

Each has its own connection and, unless they share one, its own stream. They are told to begin together,
and append for a given time. Our events and those of the package hold the same; both sides begin with
event objects and end with a commit.
"""

import multiprocessing
import os
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any
from uuid import uuid4

EVENTS = 4_000
WARM_UP = 3
ACTOR = "user:ada"

OURS, OURS_WITH_TABLES = "ours", "ours, tables and hints too"
SAFE, FUNCTIONS = "eventsourcing, safe", "eventsourcing, db functions"
RECORDER = "eventsourcing, db functions, bodies ready made"


class Writers:
    """``count`` processes, which wait to be used."""

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipes: list[Connection] = []
        for number in range(count):
            ours, theirs = context.Pipe()
            context.Process(target=work, args=(theirs, number), daemon=True).start()
            self.pipes.append(ours)

    def rate(self, side: str, writers: int, batch: int, seconds: float, *, shared: bool = False) -> float:
        """Events a second of so many writers together, in appends of ``batch``. ``shared``: to one stream."""
        used = self.pipes[:writers]
        stream = None
        for pipe in used:
            pipe.send((side, batch, stream))
            opened = pipe.recv()
            stream = opened if shared else None
        for pipe in used:
            pipe.send(seconds)
        return sum(pipe.recv() for pipe in used)

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.send(None)
            pipe.close()


def work(pipe: Connection, number: int) -> None:
    """The life of one process."""
    import django

    django.setup()
    sides = Sides(number)
    while (asked := pipe.recv()) is not None:
        side, batch, stream = asked
        stream, append = sides.open(side, stream)
        for _ in range(WARM_UP if asked[2] is None else 0):
            append(batch)
        pipe.send(stream)
        seconds = pipe.recv()
        began = now = time.perf_counter()
        written = 0
        while now - began < seconds:
            append(batch)
            written += batch
            now = time.perf_counter()
        pipe.send(written / (now - began))
    os._exit(0)


class Sides:
    """Every way to append, over the same events again and again."""

    def __init__(self, number: int) -> None:
        from bench import _library
        from bench._histories import submissions
        from scheduling.ledger.signals import log_advanced

        self.receivers = log_advanced.receivers
        self.events = submissions(EVENTS, seed=number)
        self.place = 0
        self.libraries: dict[str, Any] = {}
        if _library.installed():
            owner = os.environ["DATABASE_OWNER_URL"]
            self.libraries = {
                mode: _library.Library(owner, mode) for mode in (_library.SAFE, _library.FUNCTIONS)
            }
            self.told = _library.bodies(self.events)
            self.bytes = _library.encoded(self.events)

    def open(self, side: str, stream: Any) -> tuple[Any, Callable[[int], None]]:
        """The stream, a new one unless one is given, and what appends so many events to it."""
        if side in (OURS, OURS_WITH_TABLES):
            return self._ours(side == OURS_WITH_TABLES, stream)
        return self._theirs(side, stream)

    def _next(self, of: list[Any], count: int) -> list[Any]:
        if self.place + count > len(of):
            self.place = 0
        taken = of[self.place : self.place + count]
        self.place += count
        return taken

    def _ours(self, tables: bool, stream: int | None) -> tuple[int, Callable[[int], None]]:
        from django.db import transaction

        from bench._histories import START
        from scheduling.ledger import store
        from scheduling.ledger.events import ClusterRegistered, Event
        from scheduling.ledger.signals import log_advanced
        from scheduling.services.execute import OPTIMISTIC_TRIES, append_and_project, lock_head

        # The hints after a commit are the console's, not the log's.
        log_advanced.receivers = self.receivers if tables else []
        log_advanced.sender_receivers_cache.clear()
        write = append_and_project if tables else store.append
        name = f"bench-{uuid4().hex}"
        opened = stream
        if opened is None:
            with transaction.atomic():
                opened = store.open_stream("cluster", name)
        head: int | store.Standing = store.head(opened).seq

        def once(events: list[Event]) -> None:
            nonlocal head
            done = write(opened, head, events, actor=ACTOR, command_id=uuid4().hex, now=START)
            head = done.standing or done.last

        def append(count: int) -> None:
            """As a command does: at once, and with the head locked when others were faster too often."""
            nonlocal head
            events = self._next(self.events, count)
            for _ in range(OPTIMISTIC_TRIES):
                try:
                    with transaction.atomic():
                        return once(events)
                except store.ConflictingAppend as conflict:
                    head = conflict.actual
            with transaction.atomic():
                lock_head(opened)
                head = store.head(opened).seq
                once(events)

        if stream is None:
            with transaction.atomic():
                once([ClusterRegistered(name, "simulated", ())])
        return opened, append

    def _theirs(self, side: str, stream: Any) -> tuple[Any, Callable[[int], None]]:
        from eventsourcing.persistence import IntegrityError

        from bench import _library

        library = self.libraries[_library.SAFE if side == SAFE else _library.FUNCTIONS]
        write, of = (library.record, self.bytes) if side == RECORDER else (library.append, self.told)
        opened = library.begin() if stream is None else stream
        head = library.last(opened)

        def append(count: int) -> None:
            nonlocal head
            told = self._next(of, count)
            while True:
                try:
                    head = write(opened, head, told)
                    return
                except IntegrityError:
                    head = library.last(opened)

        return opened, append
