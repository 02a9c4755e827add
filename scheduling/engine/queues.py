"""Queues: named, with a priority and maybe a quota of GPUs."""

from __future__ import annotations

from dataclasses import dataclass

ORDERS = ("strict", "fair")


@dataclass(frozen=True, slots=True)
class Queue:
    """``quota``: GPUs that members of its groups may have on nodes together, None for no limit. ``order``:
    ``fair`` shares with the other fair queues of its priority, see ``engine/queue.py``.
    """

    name: str
    priority: int = 0
    quota: int | None = None
    order: str = "strict"

    @property
    def id(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class QuotaCount:
    """GPUs: ``used`` by members on nodes of the queue's groups, ``asked`` by the members that are missing to
    minCount (at least one), ``own`` by its members on nodes, which ``used`` counts too.
    """

    queue: str
    quota: int
    used: int
    asked: int
    own: int = 0

    @property
    def never(self) -> bool:
        """The whole quota does not do for minCount members, whoever else leaves."""
        return self.own + self.asked > self.quota
