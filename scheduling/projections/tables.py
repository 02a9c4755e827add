"""Rows of the projections in memory, with what they looked like before a commit.

The fields of a record are the columns of the model of that name. Values of JSON columns are replaced, never
changed in place.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from scheduling.engine.state import ClusterState


@dataclass(slots=True)
class ClusterRecord:
    """``canaries``: whom canaries hold, as ``objects.canary_scope`` reads it."""

    name: str
    mode: str
    gates: dict[str, bool]
    kubernetes_version: str
    created_at: datetime
    last_import_at: datetime | None
    canaries: list[list[Any]] = field(default_factory=list)


@dataclass(slots=True)
class NodeRecord:
    index: int
    name: str
    uid: str
    labels: dict[str, str]
    taints: list[list[str]]
    unschedulable: bool
    ready: bool
    allocatable: dict[str, int]
    zones: list[list[Any]]
    used: dict[str, int]
    occupants: list[list[Any]]
    gpus: int
    gpus_used: int
    removed: bool
    since_seq: int
    changed_seq: int
    changed_at: datetime


@dataclass(slots=True)
class PodRecord:
    uid: str
    namespace: str
    name: str
    node: str
    zone: str
    group: str
    phase: str
    terminating: bool
    gated: bool
    scheduler_name: str
    priority: int
    requests: dict[str, int]
    shape: str
    unmodelled: list[str]
    created: datetime | None
    removed: bool
    added_seq: int
    changed_seq: int
    changed_at: datetime

    @property
    def group_key(self) -> str:
        return f"{self.namespace}/{self.group}" if self.group else ""


@dataclass(slots=True)
class PodGroupRecord:
    namespace: str
    name: str
    generation: int
    uid: str
    policy: str
    min_count: int
    topology_key: str
    priority: int | None
    status: str
    degraded: bool
    verdict: str
    reason: str
    domain: str
    fits: int
    need: int
    members: int
    bound: int
    short_of: list[list[Any]]
    unmodelled: list[str]
    spec_unmodelled: list[str]
    closed: bool
    close_reason: str
    created_at: datetime
    waiting_since: datetime | None
    status_since: datetime
    decision_seq: int | None
    changed_seq: int
    changed_at: datetime
    elastic: bool
    protected: bool
    queue: str
    degraded_since: datetime | None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Changing(Protocol):
    changed_seq: int
    changed_at: datetime


Key = TypeVar("Key", bound="str | tuple[str, str]")
Record = TypeVar("Record", bound=Changing)


class Table(Generic[Key, Record]):
    """Rows by key. ``dirty``: keys of rows that the commits so far changed or took away.

    A partial table holds the rows that were loaded; asking it for another one is an error of the loading and
    raises LookupError, since it cannot tell a row that does not exist from one that it has not seen.
    """

    def __init__(self, *, whole: bool) -> None:
        self.rows: dict[Key, Record] = {}
        self.dirty: set[Key] = set()
        self._loaded: set[Key] | None = None if whole else set()
        self._before: dict[Key, Record | None] = {}

    def load(self, asked: Iterable[Key], found: dict[Key, Record]) -> None:
        """Take over stored rows; ``asked``: all keys that were looked for."""
        if self._loaded is not None:
            self._loaded.update(asked)
            self._loaded.update(found)
        for key, row in found.items():
            self.rows.setdefault(key, row)

    def get(self, key: Key) -> Record | None:
        """A row to look at."""
        if self._loaded is not None and key not in self._loaded:
            raise LookupError(f"{key} was not loaded")
        return self.rows.get(key)

    def change(self, key: Key) -> Record | None:
        """A row to change."""
        row = self.get(key)
        if row is not None and key not in self._before:
            self._before[key] = copy(row)
        return row

    def put(self, key: Key, row: Record) -> Record:
        """A new row, in the place of any other."""
        self._before.setdefault(key, self.get(key))
        self.rows[key] = row
        return row

    def remove(self, key: Key) -> None:
        self._before.setdefault(key, self.get(key))
        self.rows.pop(key, None)

    def stamp(self, seq: int, moment: datetime) -> None:
        """End of a commit: rows that are not what they were before it are marked as changed by it."""
        for key, before in self._before.items():
            row = self.rows.get(key)
            if row == before:
                continue
            if row is not None:
                row.changed_seq, row.changed_at = seq, moment
            self.dirty.add(key)
        self._before.clear()


class Tables:
    """All projections of one cluster; ``whole``: they start empty, or hold everything there is.

    ``state`` is the cluster as the events make it. When not whole it holds what the loaded rows know: all
    pods on the nodes of ``loaded_nodes``, all pods that name the groups of ``loaded_groups``, and what else
    decides how these stand. ``groups`` by (key, uid). The ``stale`` sets name the nodes and groups to settle
    at the end of the commit. ``next_index``: for the next new node.
    """

    def __init__(self, *, whole: bool) -> None:
        self.state = ClusterState()
        self.cluster: ClusterRecord | None = None
        self.cluster_dirty = False
        self.nodes: Table[str, NodeRecord] = Table(whole=whole)
        self.pods: Table[str, PodRecord] = Table(whole=whole)
        self.groups: Table[tuple[str, str], PodGroupRecord] = Table(whole=whole)
        self.loaded_nodes: set[str] | None = None if whole else set()
        self.loaded_groups: set[str] | None = None if whole else set()
        self.stale_nodes: set[str] = set()
        self.stale_groups: set[str] = set()
        self.next_index = 0

    def rows_written(self) -> None:
        """The rows that the commits so far changed are kept somewhere: only what later ones change is
        dirty.
        """
        for table in (self.nodes, self.pods, self.groups):
            table.dirty.clear()

    def take_stale_nodes(self) -> list[str]:
        """Sorted; none are left. LookupError when what is on one of them was not loaded."""
        return _take(self.stale_nodes, self.loaded_nodes)

    def take_stale_groups(self) -> list[str]:
        """Sorted; none are left. LookupError when the members of one of them were not loaded."""
        return _take(self.stale_groups, self.loaded_groups)


def _take(stale: set[str], loaded: set[str] | None) -> list[str]:
    taken = sorted(stale)
    stale.clear()
    if loaded is not None and not loaded.issuperset(taken):
        raise LookupError(f"the pods of {sorted(set(taken) - loaded)} were not loaded")
    return taken
