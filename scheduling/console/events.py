"""Events of the log as lines of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from scheduling.ledger.events import PodGroupUnschedulable
from scheduling.models import Event
from scheduling.wording import events

_LOST_TO = re.compile(r'"lost_to":\{"key":"(?:[^"\\]|\\.)*","seq":(\d+)\}')
"""In a canonical body, which may have the counts of a thousand domains and is not read whole for this."""


@dataclass(frozen=True, slots=True)
class Line:
    """``event``: the row; ``sentence``: what it says in the reader's language; ``winner``: of a decision of a
    group that lost its room in the same cycle, the seq of the event that took it.
    """

    event: Event
    sentence: str
    winner: int | None = None


def listed(rows: Iterable[Event]) -> list[Line]:
    """Each event with its sentence."""
    return [_line(row) for row in rows]


def _line(row: Event) -> Line:
    sentence = events.stored_sentence(row.type, row.version, row.body)
    if row.type != PodGroupUnschedulable.__name__:
        return Line(row, sentence)
    found = _LOST_TO.search(row.body)
    return Line(row, sentence, int(found[1]) if found else None)
