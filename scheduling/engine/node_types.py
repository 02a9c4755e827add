"""Types of nodes that a cluster can grow by, and the plans that grow it: records of what operators laid down.

A type carries no value of its growth's topology keys: that comes from the domain that grows. A type whose
growth names no such key is no help to a group that is held to one domain of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scheduling.engine.model import Taint

SIMULATED = "simulated"
"""The provider whose nodes the console itself adds, in a simulated cluster."""


@dataclass(frozen=True, slots=True)
class Growth:
    """So many nodes of the type, ``most``, may there be in the domain ``domain`` of the key, which need not
    exist yet.
    """

    key: str
    domain: str
    most: int


@dataclass(frozen=True, slots=True)
class NodeType:
    """``allocatable``, ``labels``, ``taints``: as of Node, without host name and without the keys of
    ``growth``. ``cost``: thousandths of a unit for a node and hour, None when it is not known.
    ``provider``: ``SIMULATED``, or "" for nodes that somebody else brings.
    """

    name: str
    allocatable: tuple[tuple[str, int], ...]
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    growth: tuple[Growth, ...] = ()
    cost: int | None = None
    provider: str = ""

    @property
    def id(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, order=True)
class NewNodes:
    """``count`` nodes of the type ``kind`` in the domain of the key."""

    kind: str
    key: str
    domain: str
    count: int


@dataclass(frozen=True, slots=True)
class GroupFit:
    """What was decided about a group with the new nodes there: its domain ("" without constraint), how many
    members are on nodes then, ``bound`` of them already, minCount.
    """

    group: str
    uid: str
    domain: str
    placed: int
    bound: int
    need: int


@dataclass(frozen=True, slots=True)
class ScaleUpOption:
    """``steps``: with all of them the groups run; with one node fewer, whichever, one of them waits.
    ``cost``: thousandths of a unit for an hour, of the nodes whose cost is known; ``unpriced``: how many are
    not among these. ``cheapest``: proved to cost the least of all mixtures of types in its domain.
    """

    steps: tuple[NewNodes, ...]
    fits: tuple[GroupFit, ...]
    cost: int
    unpriced: int
    cheapest: bool

    @property
    def nodes(self) -> int:
        return sum(step.count for step in self.steps)


class PlanStatus(StrEnum):
    """``PLANNED`` and ``APPROVED`` are open, the others final."""

    PLANNED = "planned"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    COMPLETED = "completed"
    SHORT = "short"


@dataclass(frozen=True, slots=True)
class ScaleUpPlan:
    """``options``: the cheapest first; ``chosen``: the one that was approved, -1 before. ``decided_on``: seq
    of the state that they were found on. ``expires_at``: when it lapses unless approved; ``deadline``: when
    its nodes must have joined, 0 before; both in milliseconds. ``present``: nodes like the promised ones that
    were there at the approval; ``nodes``: those that joined for it, told when it is closed. ``why``: of the
    event that closed it.
    """

    name: str
    groups: tuple[str, ...]
    options: tuple[ScaleUpOption, ...]
    decided_on: int
    expires_at: int
    status: str = PlanStatus.PLANNED.value
    chosen: int = -1
    deadline: int = 0
    present: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    why: str = ""

    @property
    def id(self) -> str:
        return self.name

    @property
    def open(self) -> bool:
        return self.status in (PlanStatus.PLANNED, PlanStatus.APPROVED)

    @property
    def option(self) -> ScaleUpOption:
        """The approved one, else the cheapest."""
        return self.options[max(self.chosen, 0)]


KEPT = 100
"""Closed plans that a state remembers, the latest."""

PARTS = (Growth, NewNodes, GroupFit, ScaleUpOption)
"""What the records are made of."""
