"""What follows from the state and the time without anybody asking: deadlines that pass, waits that begin and
end, plans that come true. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from scheduling.engine.state import ClusterState
from scheduling.ledger import fold
from scheduling.services import (
    canary_tending,
    deadlines,
    preemption_tending,
    reserving,
    scale_up_tending,
    sticky_waits,
)
from scheduling.services.followed import Followed

__all__ = ["FAMILIES", "Family", "Followed", "tended"]


class Family(Protocol):
    """A module that tends to one kind of thing."""

    def tend(self, state: ClusterState, now_ms: int) -> list[Followed]:
        """What is news on this state at this time: on the state after these events there is none."""

    def due_at(self, state: ClusterState) -> int | None:
        """When, in milliseconds, time alone will next make news; None for never."""


FAMILIES: tuple[Family, ...] = (
    deadlines,
    sticky_waits,
    reserving,
    scale_up_tending,
    preemption_tending,
    canary_tending,
)
"""In the order in which they are asked; each sees what those before it said."""


def tended(
    state: ClusterState, now_ms: int, families: Sequence[Family] | None = None
) -> tuple[list[Followed], int | None]:
    """The news of all families on ``state``, which is not changed, and when time will next make some."""
    ahead, news = state.fork(), []
    asked = FAMILIES if families is None else families
    for family in asked:
        for followed in family.tend(ahead, now_ms):
            fold.apply(ahead, followed.event, ahead.seq + 1, now_ms)
            news.append(followed)
    times = [at for family in asked if (at := family.due_at(ahead)) is not None]
    return news, min(times, default=None)
