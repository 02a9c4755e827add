"""Events about queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduling.engine.queues import Queue
from scheduling.ledger.events.base import Event


@dataclass(frozen=True, slots=True)
class QueueDefined(Event):
    """A queue comes to be, or is another from now on."""

    SUBJECT: ClassVar[str] = "queue"
    WAKES: ClassVar[bool] = True
    queue: Queue


@dataclass(frozen=True, slots=True)
class QueueRemoved(Event):
    """Groups that name it are in no queue from now on."""

    SUBJECT: ClassVar[str] = "queue"
    WAKES: ClassVar[bool] = True
    name: str


EVENTS: tuple[type[Event], ...] = (QueueDefined, QueueRemoved)
