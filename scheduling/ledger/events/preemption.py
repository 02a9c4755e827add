"""Preemption: the policy, proposals and what became of them, and members that were evicted.

``id`` names a proposal: p and the seq of its PreemptionPlanned. ``namespace``, ``name``, ``uid`` and
``generation`` are those of the group that waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduling.engine.preemption_records import Victim
from scheduling.ledger.events.base import Event


@dataclass(frozen=True, slots=True)
class PreemptionPolicyChanged(Event):
    """``mode``: off, propose, automatic. ``queues``: for which the automatic mode acts, sorted."""

    mode: str
    queues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreemptionPlanned(Event):
    """Ending the ``victims`` would make the group run in ``domain``, with ``placed`` members of at least
    ``need``. Nothing is evicted by it.

    ``cost``: as ``preemption_records.Cost``. ``proved_smallest``: no cheaper set exists; else none of them
    can be left out, and no more is known. ``decided_on``: seq of the state. ``expires``: in milliseconds.
    ``decision``: seq of the decision for which the automatic mode looked; 0 when a person asked.
    """

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    id: str
    domain: str
    victims: tuple[Victim, ...]
    cost: tuple[int, int, int, int]
    proved_smallest: bool
    placed: int
    need: int
    decided_on: int
    expires: int
    decision: int = 0


@dataclass(frozen=True, slots=True)
class PreemptionNotFound(Event):
    """The automatic mode looked for victims after the decision with seq ``decision``, and there are none.
    ``why``: a ``preemption.Why``. ``by``: key of the group that would take the room, "" otherwise.
    """

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    decision: int
    why: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class PreemptionApproved(Event):
    """The victims are evicted by the events after this. The group does not rest any more; until ``until``
    (milliseconds) it is expected to be placed by a cycle. ``automatic``: by the policy and not by a person.
    """

    SUBJECT: ClassVar[str] = "podgroup"
    WAKES: ClassVar[bool] = True
    namespace: str
    name: str
    uid: str
    generation: int
    id: str
    until: int
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class PreemptionRejected(Event):
    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    id: str


@dataclass(frozen=True, slots=True)
class PreemptionExpired(Event):
    """``reason``: time; outdated, and then ``change`` (a ``preemption_changes.Change``, or policy_off) and
    the ``group`` that it is about ("" for the one that waits); not_placed: approved, and it does not run.
    """

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    id: str
    reason: str
    change: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class PreemptionCompleted(Event):
    """The group for which the victims were evicted runs, with ``bound`` members in ``domain``."""

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    id: str
    domain: str
    bound: int


@dataclass(frozen=True, slots=True)
class MemberEvicted(Event):
    """A pod is gone from its node, for a group that was approved to have its room. ``node`` and ``group`` as
    they were. ``plan``: id of the proposal; ``waiting``: key of the group that waits.
    """

    SUBJECT: ClassVar[str] = "pod"
    WAKES: ClassVar[bool] = True
    namespace: str
    name: str
    uid: str
    node: str
    group: str
    plan: str
    waiting: str


EVENTS: tuple[type[Event], ...] = (
    PreemptionPolicyChanged,
    PreemptionPlanned,
    PreemptionNotFound,
    PreemptionApproved,
    PreemptionRejected,
    PreemptionExpired,
    PreemptionCompleted,
    MemberEvicted,
)
