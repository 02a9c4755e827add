"""Events of the log as lines of a page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scheduling.models import Event
from scheduling.wording import events


@dataclass(frozen=True, slots=True)
class Line:
    """``event``: the row; ``sentence``: what it says in the reader's language."""

    event: Event
    sentence: str


def listed(rows: Iterable[Event]) -> list[Line]:
    """Each event with its sentence."""
    return [Line(row, events.stored_sentence(row.type, row.version, row.body)) for row in rows]
