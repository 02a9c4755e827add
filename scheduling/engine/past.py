"""What commands must know of the past and decisions need not: who bound a pod, which generations are over,
what Workloads were seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduling.engine.model import Workload
from scheduling.engine.roll import Shared


@dataclass(frozen=True, slots=True)
class Closed:
    generation: int
    uid: str


@dataclass(slots=True)
class Past:
    """``placed``: uids of pods that our own cycles put on a node, as long as they are there; the value says
    nothing. ``closed``: the last generation that ended, by group key; none is ever dropped, since a group of
    that name that comes back is the next generation and says which one it supersedes. ``workloads``: as last
    seen, by key.
    """

    placed: Shared[str, bool] = field(default_factory=Shared)
    closed: Shared[str, Closed] = field(default_factory=Shared)
    workloads: Shared[str, Workload] = field(default_factory=Shared)

    def place(self, uid: str) -> None:
        self.placed.own()[uid] = True

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        if uid in self.placed.table:
            del self.placed.own()[uid]

    def end(self, key: str, closed: Closed) -> None:
        self.closed.own()[key] = closed

    def see(self, workload: Workload) -> None:
        self.workloads.own()[workload.key] = workload

    def fork(self) -> Past:
        return Past(self.placed.copy(), self.closed.copy(), self.workloads.copy())
