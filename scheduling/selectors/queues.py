"""Queues of a cluster: what is used of them, by whom, and who waits in which order. Pure, of a state."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.change_steps import gpus
from scheduling.engine.queue import waiting
from scheduling.engine.queues import Queue
from scheduling.engine.quota import groups_in, queue_of
from scheduling.engine.reasons import Reason
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState


@dataclass(frozen=True, slots=True)
class Use:
    """A group that has GPUs of a quota."""

    key: str
    gpus: int


@dataclass(frozen=True, slots=True)
class QueueStanding:
    """``uses``: the most GPUs first. ``waiting``: keys in the order of deciding; ``over_quota``: those of
    them of which the last decision was that the quota holds them.
    """

    queue: Queue
    uses: tuple[Use, ...]
    waiting: tuple[str, ...]
    over_quota: frozenset[str]

    @property
    def used(self) -> int:
        return sum(use.gpus for use in self.uses)

    @property
    def percent(self) -> int:
        """Of the quota; 100 at most, 0 without one."""
        return min(100, 100 * self.used // self.queue.quota) if self.queue.quota else 0

    @property
    def over(self) -> bool:
        """More is used than the quota allows now."""
        return self.queue.quota is not None and self.used > self.queue.quota


@dataclass(frozen=True, slots=True)
class Turn:
    """``asked``: GPUs of its waiting members. ``reason``: of the last decision about it, "" for none."""

    key: str
    queue: str
    asked: int
    reason: str


def uses(state: ClusterState, name: str) -> tuple[Use, ...]:
    """Who has GPUs of a queue's quota, the most first."""
    found = [Use(key, gpus(roster(state, key).bound)) for key in groups_in(state, name)]
    return tuple(sorted((use for use in found if use.gpus), key=lambda use: (-use.gpus, use.key)))


def standings(state: ClusterState) -> list[QueueStanding]:
    """All queues, the highest priority first, then by name."""
    order = waiting(state)
    queues = sorted(state.records.of(Queue).values(), key=lambda queue: (-queue.priority, queue.name))
    of: dict[str, list[str]] = {queue.name: [] for queue in queues}
    for key in order:
        queue = queue_of(state, state.groups.get(key))
        if queue is not None:
            of[queue.name].append(key)
    return [
        QueueStanding(
            queue,
            uses(state, queue.name),
            tuple(of[queue.name]),
            frozenset(key for key in of[queue.name] if _reason(state, key) == Reason.QUOTA),
        )
        for queue in queues
    ]


def order(state: ClusterState, limit: int) -> tuple[list[Turn], int]:
    """The first of those that wait, in the order in which they are decided, and how many wait."""
    keys = waiting(state)
    found = []
    for key in keys[:limit]:
        queue = queue_of(state, state.groups.get(key))
        asked = gpus(roster(state, key).waiting)
        found.append(Turn(key, queue.name if queue is not None else "", asked, _reason(state, key)))
    return found, len(keys)


def undefined(state: ClusterState) -> list[tuple[str, int]]:
    """Names of queues that groups name without their being defined, and how many groups do."""
    named = {group.queue for group in state.groups.values() if group.queue}
    known = state.records.of(Queue)
    return [(name, len(groups_in(state, name))) for name in sorted(named - set(known))]


def _reason(state: ClusterState, key: str) -> str:
    last = state.verdicts.get(key)
    return last.reason if last is not None else ""
