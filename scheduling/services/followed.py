"""What a family of ``tending`` answers."""

from __future__ import annotations

from typing import NamedTuple

from scheduling.ledger.events import Event


class Followed(NamedTuple):
    """An event, and the seq of the one that it follows from (None: of the time alone)."""

    event: Event
    cause: int | None
