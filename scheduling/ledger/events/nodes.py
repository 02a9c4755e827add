"""Events about nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from scheduling.engine.model import Node, altered
from scheduling.ledger.events.base import Event, NodeChanges, differences


@dataclass(frozen=True, slots=True)
class NodeAdded(Event):
    """Version 2: a node may have NUMA zones."""

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "node"
    WAKES: ClassVar[bool] = True
    node: Node


@dataclass(frozen=True, slots=True)
class NodeUpdated(Event):
    """What changed of a node, and only that. Made with ``between``, used with ``changed``. Version 2: its
    NUMA zones too.
    """

    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "node"
    WAKES: ClassVar[bool] = True
    name: str
    uid: str
    changes: NodeChanges

    @classmethod
    def between(cls, old: Node, new: Node) -> Self | None:
        """The event that turns ``old`` into ``new``; None when they are equal; ValueError for another
        node.
        """
        changes = differences(old, new, ("name", "uid"))
        return cls(new.name, new.uid, changes) if changes else None

    def changed(self, old: Node) -> Node:
        return altered(old, self.changes)


@dataclass(frozen=True, slots=True)
class NodeRemoved(Event):
    SUBJECT: ClassVar[str] = "node"
    WAKES: ClassVar[bool] = True
    name: str
    uid: str


EVENTS: tuple[type[Event], ...] = (
    NodeAdded,
    NodeUpdated,
    NodeRemoved,
)
