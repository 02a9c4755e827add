"""What a cluster keeps of preemption: the policy, the open proposals, and whose decision was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

OFF = "off"
PROPOSE = "propose"
AUTOMATIC = "automatic"

MODES = (OFF, PROPOSE, AUTOMATIC)
"""Nobody is ever proposed; a person asks and approves; for named queues both happen without being asked."""


class Cost(NamedTuple):
    """What a proposal costs, compared from the left: whether a group ends at all (0: only members beyond
    minCount of elastic gangs go), then GPUs that its victims hold, groups touched, members that lose their
    node. Of equal ones those with victims of the lowest priority, then with the youngest members, then the
    first by name, as far as was searched.
    """

    ends: int
    gpus: int
    groups: int
    members: int


@dataclass(frozen=True, slots=True)
class Victim:
    """A group that ends (``whole``), or members of an elastic gang beyond its minCount that go.

    ``members``: (pod uid, pod name, node) of those that lose their node, by name. ``gpus``: what these hold.
    ``created``: of the group, in milliseconds, 0 when it is not known.
    """

    key: str
    uid: str
    generation: int
    priority: int
    whole: bool
    members: tuple[tuple[str, str, str], ...]
    gpus: int
    created: int = 0


@dataclass(frozen=True, slots=True)
class PreemptionPolicy:
    """``mode``: one of MODES. ``queues``: for which the automatic mode acts, sorted; others may propose."""

    mode: str = OFF
    queues: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return "preemption"


@dataclass(frozen=True, slots=True)
class PreemptionPlan:
    """An open proposal for the generation ``uid`` of the group ``group``. ``id``: p and the seq of its
    PreemptionPlanned. ``expires``: in milliseconds; of an approved one, until when the group must be placed.
    ``cost``: as Cost. ``decided_on``: seq of the state that it was found on.
    """

    id: str
    group: str
    uid: str
    generation: int
    domain: str
    victims: tuple[Victim, ...]
    cost: tuple[int, int, int, int]
    proved_smallest: bool
    decided_on: int
    expires: int
    approved: bool = False

    @property
    def seq(self) -> int:
        """Of the event that proposed it."""
        return int(self.id[1:])


@dataclass(frozen=True, slots=True)
class PreemptionTried:
    """The automatic mode has looked for victims after the decision with seq ``decision`` about the generation
    ``uid`` of group ``id``.
    """

    id: str
    uid: str
    decision: int
