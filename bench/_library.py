"""The same log kept by the `eventsourcing` package, in the way that its documentation shows.

Events are classes of an aggregate with a plain JSON body, written by `EventStore.put` of an
`Application`, which is what `save()` calls: the package's own mapper and recorder. Its recorder is
measured in both of its modes: the safe one locks the table for each append; with
POSTGRES_ENABLE_DB_FUNCTIONS it does not, and a reader that follows its notifications loses events that
were still being written when it passed.

The aggregate keeps what our own state keeps of nodes, groups and pods, and adds up what is used on each
node, as plain dicts: less work than ours, which also keeps columns and indexes to decide on.
"""

import importlib.util
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import psycopg

from scheduling.ledger import codec
from scheduling.ledger.events import Event

SAFE, FUNCTIONS = "safe", "functions"


def installed() -> bool:
    return importlib.util.find_spec("eventsourcing") is not None


def bodies(events: Sequence[Event]) -> list[tuple[str, dict[str, Any]]]:
    """(type, body as plain JSON) of each: made beforehand, so that making its events costs it little."""
    return [(type(event).__name__, orjson.loads(codec.encode(event))) for event in events]


def encoded(events: Sequence[Event]) -> list[tuple[str, bytes]]:
    """(type, body as bytes) of each."""
    return [(type(event).__name__, codec.encoded(event)) for event in events]


class Library:
    """An application of the package in a schema of its own. ``owner``: address of a role that may make it."""

    def __init__(self, owner: str, mode: str) -> None:
        from eventsourcing.application import Application

        from bench import _library_cluster

        found = psycopg.conninfo.conninfo_to_dict(owner)
        schema = f"library_{mode}"
        with psycopg.connect(owner, autocommit=True) as connection:
            # Writers of one bench begin at once, and its tables are made by whoever comes first.
            connection.execute("select pg_advisory_lock(20260101)")
            connection.execute(f"create schema if not exists {schema}")
            self.application = Application[UUID](
                {
                    "PERSISTENCE_MODULE": "eventsourcing.postgres",
                    "POSTGRES_DBNAME": str(found["dbname"]),
                    "POSTGRES_HOST": str(found["host"]),
                    "POSTGRES_PORT": str(found.get("port", 5432)),
                    "POSTGRES_USER": str(found["user"]),
                    "POSTGRES_PASSWORD": "unused: the socket trusts its user",
                    "POSTGRES_SCHEMA": schema,
                    "POSTGRES_ENABLE_DB_FUNCTIONS": "yes" if mode == FUNCTIONS else "no",
                }
            )
        self.kinds = _library_cluster.KINDS
        self.cluster = _library_cluster.Cluster
        self.at = datetime.now(UTC)

    def begin(self) -> UUID:
        """A new cluster with its first event."""
        cluster = self.cluster()
        self.application.save(cluster)
        return cluster.id

    def append(self, stream: UUID, version: int, told: Sequence[tuple[str, dict[str, Any]]]) -> int:
        """Write events after ``version``; returns the new one."""
        events = [
            self.kinds[kind](originator_id=stream, originator_version=number, timestamp=self.at, body=body)
            for number, (kind, body) in enumerate(told, version + 1)
        ]
        self.application.events.put(events)
        return version + len(events)

    def record(self, stream: UUID, version: int, told: Sequence[tuple[str, bytes]]) -> int:
        """The recorder alone, with bodies that are bytes already."""
        from eventsourcing.persistence import StoredEvent

        stored = [
            StoredEvent(stream, number, kind, body) for number, (kind, body) in enumerate(told, version + 1)
        ]
        self.application.recorder.insert_events(stored)
        return version + len(stored)

    def last(self, stream: UUID) -> int:
        newest = self.application.recorder.select_events(stream, desc=True, limit=1)
        return newest[0].originator_version if newest else 0

    def rebuild(self, stream: UUID) -> Any:
        """The aggregate of all of its events."""
        return self.application.repository.get(stream)

    def close(self) -> None:
        self.application.close()
