"""Events about a cluster as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduling.ledger.events.base import Event


@dataclass(frozen=True, slots=True)
class ClusterRegistered(Event):
    """``gates``: (name, on) pairs; ``mode``: simulated or observed; ``kubernetes_version``: "" when not
    told.
    """

    name: str
    mode: str
    gates: tuple[tuple[str, bool], ...]
    kubernetes_version: str = ""


@dataclass(frozen=True, slots=True)
class ClusterModeChanged(Event):
    WAKES: ClassVar[bool] = True
    mode: str


@dataclass(frozen=True, slots=True)
class FeatureGateChanged(Event):
    WAKES: ClassVar[bool] = True
    gate: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class SnapshotImported(Event):
    """Written last in the batch of an import that changed something.

    ``sha256``: of the input as given. ``complete``: kinds for which absence removed objects. ``accepted`` and
    ``ignored``: (kind, count). ``refused``: objects left out by a partial import, (kind, namespace/name,
    path, message).
    """

    sha256: str
    complete: tuple[str, ...]
    accepted: tuple[tuple[str, int], ...]
    ignored: tuple[tuple[str, int], ...]
    refused: tuple[tuple[str, str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class EventsArchived(Event):
    """The events ``first`` to ``last`` are in a file, and are taken out of the database after this.

    ``recorded_first`` and ``recorded_last``: when these two were recorded, in milliseconds. ``hash``: of the
    last one, in hexadecimal; what follows it stays and goes on from there. ``size``: of the file, in bytes;
    ``sha256``: of the file. It wakes everybody, because cycles cannot ask any more which of the archived
    events woke whom.
    """

    WAKES: ClassVar[bool] = True
    first: int
    last: int
    recorded_first: int
    recorded_last: int
    hash: str
    file: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class EventsRestored(Event):
    """The events ``first`` to ``last`` are in the database again, from this file, hash by hash."""

    first: int
    last: int
    file: str
    sha256: str


EVENTS: tuple[type[Event], ...] = (
    ClusterRegistered,
    ClusterModeChanged,
    FeatureGateChanged,
    SnapshotImported,
    EventsArchived,
    EventsRestored,
)
