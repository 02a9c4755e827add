"""Events about types of nodes and plans for new ones. Times are milliseconds since the epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduling.engine.node_types import NodeType, ScaleUpOption
from scheduling.ledger.events.base import Event


@dataclass(frozen=True, slots=True)
class NodeTypeDefined(Event):
    """For the first time, or anew in place of the one of that name."""

    SUBJECT: ClassVar[str] = "nodetype"
    node_type: NodeType


@dataclass(frozen=True, slots=True)
class NodeTypeRemoved(Event):
    SUBJECT: ClassVar[str] = "nodetype"
    name: str


@dataclass(frozen=True, slots=True)
class ScaleUpPlanned(Event):
    """``groups``: keys, in the order of the queue. ``options``: the cheapest first, each decided on the state
    at ``decided_on`` with its nodes added. ``expires_at``: when the plan lapses unless it is approved.
    """

    SUBJECT: ClassVar[str] = "plan"
    name: str
    groups: tuple[str, ...]
    options: tuple[ScaleUpOption, ...]
    decided_on: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class ScaleUpApproved(Event):
    """``option``: its place among those of the plan. ``deadline``: when the nodes must have joined.
    ``present``: nodes like the promised ones that are there already and do not count.
    """

    SUBJECT: ClassVar[str] = "plan"
    name: str
    option: int
    deadline: int
    present: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScaleUpRejected(Event):
    """``why``: as typed, "" for nothing."""

    SUBJECT: ClassVar[str] = "plan"
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class ScaleUpExpired(Event):
    """``why``: ``time``, ``placed`` (the groups run without it), ``gone`` (the generation of a group that it
    was for is closed).
    """

    SUBJECT: ClassVar[str] = "plan"
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class ScaleUpCompleted(Event):
    """Every promised node joined, ``nodes``, and every group was placed."""

    SUBJECT: ClassVar[str] = "plan"
    name: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScaleUpShort(Event):
    """The plan did not do what it promised. ``why``: ``nodes`` (fewer joined than promised by the deadline),
    ``group`` (all joined, and ``group`` does not fit: ``reason`` is that of its decision), ``not_placed``
    (all joined, ``group`` would fit, and was not placed by the deadline), ``gone`` (``group`` was closed).
    ``nodes``: those that joined.
    """

    SUBJECT: ClassVar[str] = "plan"
    name: str
    why: str
    promised: int
    nodes: tuple[str, ...]
    group: str
    reason: str


EVENTS: tuple[type[Event], ...] = (
    NodeTypeDefined,
    NodeTypeRemoved,
    ScaleUpPlanned,
    ScaleUpApproved,
    ScaleUpRejected,
    ScaleUpExpired,
    ScaleUpCompleted,
    ScaleUpShort,
)
