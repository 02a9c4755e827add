"""Events about waits: a group held to its domain, deadlines, and domains that an operator marks lost.

Times are milliseconds since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduling.ledger.events.base import Event


@dataclass(frozen=True, slots=True)
class StickyWaitStarted(Event):
    """Members of the group wait for the one domain that it may not leave. ``domain``: None when its nodes do
    not tell it any more; ``reason``: sticky_domain or domain_lost; ``bound`` members are on nodes; ``need``:
    minCount; ``since``: when it was decided. Follows from that decision, which is its cause.
    """

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    topology_key: str
    domain: str | None
    reason: str
    need: int
    bound: int
    since: int


@dataclass(frozen=True, slots=True)
class StickyWaitEnded(Event):
    """``how``: placed (its members are on nodes), closed (the generation is over), freed (it is held to that
    domain no more, or waits for something else). ``since``: as when it started.
    """

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    topology_key: str
    domain: str | None
    how: str
    since: int


@dataclass(frozen=True, slots=True)
class WaitDeadlineSet(Event):
    """Somebody said how long the group may wait. ``at``: None for as long as it takes; ``action`` when it is
    past: alert, propose or close.
    """

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    at: int | None
    action: str


@dataclass(frozen=True, slots=True)
class WaitDeadlineWithdrawn(Event):
    """What somebody said of how long the group may wait holds no more; the default of the cluster does.
    ``at``: what was said, None for as long as it takes.
    """

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    at: int | None


@dataclass(frozen=True, slots=True)
class WaitDeadlineExpired(Event):
    """The group still waits at its deadline ``at``. ``action``: what was done about it; ``since``: when the
    wait began; ``default``: the deadline was that of the cluster; ``expired_at``: when it was found.
    """

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    at: int
    action: str
    since: int
    default: bool
    expired_at: int


@dataclass(frozen=True, slots=True)
class WaitDeadlineLifted(Event):
    """The group does not wait any more, so that its deadline counts no longer. ``expired``: it was past."""

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    at: int | None
    expired: bool


@dataclass(frozen=True, slots=True)
class WaitPolicyChanged(Event):
    """The default for all groups without a deadline of their own. ``after``: milliseconds of waiting, None
    for no default.
    """

    after: int | None
    action: str


@dataclass(frozen=True, slots=True)
class DomainMarkedLost(Event):
    """An operator gave the domain up, though its nodes are there. What becomes of them is in the events that
    follow: each loses the label and is cordoned. ``nodes``: (name, uid, whether it was cordoned before).
    """

    topology_key: str
    domain: str
    nodes: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, slots=True)
class DomainMarkTakenBack(Event):
    """The nodes that are still there and without the label get it back, in the events that follow."""

    topology_key: str
    domain: str


EVENTS: tuple[type[Event], ...] = (
    StickyWaitStarted,
    StickyWaitEnded,
    WaitDeadlineSet,
    WaitDeadlineWithdrawn,
    WaitDeadlineExpired,
    WaitDeadlineLifted,
    WaitPolicyChanged,
    DomainMarkedLost,
    DomainMarkTakenBack,
)
