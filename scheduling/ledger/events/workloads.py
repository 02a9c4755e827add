"""Events about Workloads, PodGroups and pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from scheduling.engine.model import Pod, PodGroup, Workload, altered
from scheduling.ledger.events.base import Event, PodChanges, PodGroupChanges, differences


@dataclass(frozen=True, slots=True)
class WorkloadAdded(Event):
    """A Workload as first seen, or seen again with other templates."""

    SUBJECT: ClassVar[str] = "workload"
    workload: Workload


@dataclass(frozen=True, slots=True)
class PodGroupCreated(Event):
    """A generation begins. ``why``: of one that follows another, what made somebody open it: resubmitted,
    restored, constraint, elastic, domain_lost, "" where nobody said; ``checkpoint``: what its members start
    from, "" for nothing. Version 2: these two, and what annotations say of the group.
    """

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "podgroup"
    WAKES: ClassVar[bool] = True
    group: PodGroup
    why: str = ""
    checkpoint: str = ""


@dataclass(frozen=True, slots=True)
class PodGroupUpdated(Event):
    """What Kubernetes 1.37 lets change (minCount), and our annotations, seen from a cluster; our own commands
    make generations. Version 2: the annotations.
    """

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "podgroup"
    WAKES: ClassVar[bool] = True
    namespace: str
    name: str
    uid: str
    generation: int
    changes: PodGroupChanges

    @classmethod
    def between(cls, old: PodGroup, new: PodGroup) -> Self | None:
        """As NodeUpdated.between; another uid or generation is another PodGroup."""
        changes = differences(old, new, ("namespace", "name", "uid", "generation"))
        return cls(new.namespace, new.name, new.uid, new.generation, changes) if changes else None

    def changed(self, old: PodGroup) -> PodGroup:
        return altered(old, self.changes)


@dataclass(frozen=True, slots=True)
class PodGroupClosed(Event):
    """``reason``: ended (by a person), removed (gone from the cluster), superseded (by a new generation)."""

    SUBJECT: ClassVar[str] = "podgroup"
    WAKES: ClassVar[bool] = True
    namespace: str
    name: str
    uid: str
    generation: int
    reason: str


@dataclass(frozen=True, slots=True)
class PodAdded(Event):
    """``replaces``: uid of the lost member that the workload controller made this one for, "" otherwise."""

    SUBJECT: ClassVar[str] = "pod"
    WAKES: ClassVar[bool] = True
    pod: Pod
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class PodUpdated(Event):
    """What changed of a pod, and only that (as NodeUpdated)."""

    SUBJECT: ClassVar[str] = "pod"
    WAKES: ClassVar[bool] = True
    namespace: str
    name: str
    uid: str
    changes: PodChanges

    @classmethod
    def between(cls, old: Pod, new: Pod) -> Self | None:
        """As NodeUpdated.between."""
        changes = differences(old, new, ("namespace", "name", "uid"))
        return cls(new.namespace, new.name, new.uid, changes) if changes else None

    def changed(self, old: Pod) -> Pod:
        return altered(old, self.changes)


@dataclass(frozen=True, slots=True)
class PodRemoved(Event):
    """``node`` and ``group`` as they were. ``reason``: removed (absent from a complete import), deleted (by a
    person), node_lost, group_ended."""

    SUBJECT: ClassVar[str] = "pod"
    WAKES: ClassVar[bool] = True
    namespace: str
    name: str
    uid: str
    node: str
    group: str
    reason: str


EVENTS: tuple[type[Event], ...] = (
    WorkloadAdded,
    PodGroupCreated,
    PodGroupUpdated,
    PodGroupClosed,
    PodAdded,
    PodUpdated,
    PodRemoved,
)
