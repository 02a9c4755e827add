"""Reservations and queues of a cluster: made, released, defined, removed."""

from __future__ import annotations

from scheduling.engine.queues import Queue
from scheduling.models import Cluster
from scheduling.services.execute import Outcome, execute
from scheduling.services.queueing import define_queue_events, remove_queue_events
from scheduling.services.reserving import Wish, release_events, reserve_events

__all__ = ["Wish", "define_queue", "release", "remove_queue", "reserve"]


def reserve(*, cluster: Cluster, wish: Wish, actor: str, command_id: str = "") -> Outcome:
    """Room is held; the outcome's event names the reservation. Raises Refused."""
    return execute(
        cluster,
        lambda state, now: reserve_events(state, wish, now),
        actor=actor,
        command_id=command_id,
        request=f"reserve {wish!r}",
    )


def release(*, cluster: Cluster, name: str, actor: str, command_id: str = "") -> Outcome:
    """The room is free for everybody again. Raises Refused."""
    return execute(
        cluster,
        lambda state, _: release_events(state, name),
        actor=actor,
        command_id=command_id,
        request=f"release {name}",
    )


def define_queue(*, cluster: Cluster, queue: Queue, actor: str, command_id: str = "") -> Outcome:
    """A queue comes to be, or is another from now on. Raises Refused."""
    return execute(
        cluster,
        lambda state, _: define_queue_events(state, queue),
        actor=actor,
        command_id=command_id,
        request=f"define {queue!r}",
    )


def remove_queue(*, cluster: Cluster, name: str, actor: str, command_id: str = "") -> Outcome:
    """Groups in it are in no queue then. Raises Refused."""
    return execute(
        cluster,
        lambda state, _: remove_queue_events(state, name),
        actor=actor,
        command_id=command_id,
        request=f"remove queue {name}",
    )
