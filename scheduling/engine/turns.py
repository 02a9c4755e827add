"""What is known of a group's past decisions, and how long it rests after one that found no place.

The rest is that of kube-scheduler (``podInitialBackoffSeconds`` 1 and ``podMaxBackoffSeconds`` 10, the
defaults of KubeSchedulerConfiguration v1): it doubles with every attempt that failed in a row. There is no
jitter, here as there, and the times are those of the recorded decisions: the same log and the same ``now``
give the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST_REST = 1_000
"""Milliseconds after the first attempt that failed."""

LONGEST_REST = 10_000
"""Milliseconds; no group rests longer after its last failed attempt."""


@dataclass(frozen=True, slots=True)
class LostTo:
    """Who took the room: the winner's group key and the seq of its placement (or forecast)."""

    key: str
    seq: int


@dataclass(frozen=True, slots=True)
class Turn:
    """The recorded decisions of one generation. ``seq``, ``at``, ``cause``: of the last one.

    ``attempts``: decisions in a row that evaluated the group and found no place, the last of them at
    ``failed_at``; being placed begins the count anew, being held or conflicted is no attempt. An evaluation
    that brought no news is not recorded and not counted. ``lost_to``: told by the last decision.
    ``waits_since``: the first decision since which it was not placed, 0 when it was, or runs. Times are
    milliseconds.
    """

    seq: int
    at: int
    cause: int | None = None
    attempts: int = 0
    failed_at: int = 0
    lost_to: LostTo | None = None
    waits_since: int = 0

    @property
    def rests_until(self) -> int:
        """When the group may be decided again; 0 when it does not rest."""
        return self.failed_at + rest(self.attempts) if self.attempts else 0


def rest(attempts: int) -> int:
    """Milliseconds of rest after so many failed attempts in a row (at least one)."""
    if attempts < 1:
        raise ValueError(f"{attempts} attempts: only a failed one is followed by a rest")
    doublings = min(attempts - 1, LONGEST_REST.bit_length())
    return min(FIRST_REST << doublings, LONGEST_REST)
