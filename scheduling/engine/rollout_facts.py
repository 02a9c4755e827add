"""What operators state about a cluster that no dump tells: as they said it, never as measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RolloutFact:
    """``fact``: a code of ``services.stating``; ``source``: how they know it. ``seq``, ``at`` (milliseconds):
    of the event that says it, whose actor said it.
    """

    fact: str
    value: str
    source: str
    seq: int
    at: int

    @property
    def id(self) -> str:
        return self.fact
