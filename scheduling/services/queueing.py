"""Queues as events: defined, changed, removed; and who names one that is not there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from scheduling.engine.model import PodGroup
from scheduling.engine.preemption_records import PreemptionPolicy
from scheduling.engine.queues import ORDERS, Queue
from scheduling.engine.reservations import Reservation
from scheduling.engine.state import ClusterState
from scheduling.kube.names import dns_label_problem
from scheduling.kube.pod_groups import QUEUE
from scheduling.ledger.events import Event, QueueDefined, QueueRemoved
from scheduling.services.problems import FORBIDDEN, INVALID, NOT_FOUND, REQUIRED, Problem, Refused

LARGEST = (1 << 31) - 1
"""Priority and quota, as a PriorityClass has it."""


def define_queue_events(state: ClusterState, queue: Queue) -> list[Event]:
    """The queue from now on; nothing when it is so already. Raises Refused; paths are its fields."""
    problems = list(_problems(queue))
    if problems:
        raise Refused(problems)
    return [] if state.records.of(Queue).get(queue.name) == queue else [QueueDefined(queue)]


def remove_queue_events(state: ClusterState, name: str) -> list[Event]:
    """Groups in it are in no queue then. Raises Refused when there is none, while room is held for it, and
    while the preemption policy names it.
    """
    if name not in state.records.of(Queue):
        raise Refused([Problem("Queue", "", name, "", NOT_FOUND, f"there is no queue {name}")])
    held = [
        each.name
        for each in state.records.of(Reservation).values()
        if (each.holder_kind, each.holder) == ("queue", name)
    ]
    if held:
        message = f"room is held for it: release {', '.join(held)} first"
        raise Refused([Problem("Queue", "", name, "", FORBIDDEN, message)])
    if any(name in policy.queues for policy in state.records.of(PreemptionPolicy).values()):
        message = "the preemption policy names it: change that first"
        raise Refused([Problem("Queue", "", name, "", FORBIDDEN, message)])
    return [QueueRemoved(name)]


def undefined_queues(state: ClusterState, groups: Iterable[PodGroup], path: str) -> list[Problem]:
    """A problem at ``path`` for each group that names a queue that is not defined."""
    return [
        Problem(
            "PodGroup", group.namespace, group.name, path, INVALID, f"there is no queue {group.queue}"
        )
        for group in groups
        if group.queue and group.queue not in state.records.of(Queue)
    ]  # fmt: skip


def undefined_notices(state: ClusterState, groups: Iterable[PodGroup]) -> list[Problem]:
    """The same as notices: in a cluster that is imported such a group is in no queue."""
    return [
        replace(problem, reason="", message=f"{problem.message}: the group is treated as one without a queue")
        for problem in undefined_queues(state, groups, f"metadata.annotations[{QUEUE}]")
    ]


def _problems(queue: Queue) -> Iterator[Problem]:
    def problem(path: str, reason: str, message: str) -> Problem:
        return Problem("Queue", "", queue.name, path, reason, message)

    if not queue.name:
        yield problem("name", REQUIRED, "a name is needed")
    elif wrong := dns_label_problem(queue.name):
        yield problem("name", INVALID, f"a queue's name {wrong}")
    if abs(queue.priority) > LARGEST:
        yield problem("priority", INVALID, f"{queue.priority} is not between -{LARGEST} and {LARGEST}")
    if queue.quota is not None and not 0 <= queue.quota <= LARGEST:
        yield problem("quota", INVALID, f"GPUs: 0 to {LARGEST}, or none for no limit, not {queue.quota}")
    if queue.order not in ORDERS:
        yield problem("order", INVALID, f"{queue.order!r} is neither {' nor '.join(ORDERS)}")
    elif queue.order == "fair" and not queue.quota:
        yield problem("quota", REQUIRED, "a fair queue shares by its quota, so it needs one above 0")
