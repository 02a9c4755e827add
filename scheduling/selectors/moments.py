"""A moment in the history of a cluster as addresses name it: the seq of an event, or a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.utils import timezone

from scheduling.ledger import archives, fold, store
from scheduling.models import Cluster, Event

_SEQ = re.compile(r"[0-9]+")
_PLUS_LOST = re.compile(r"(.+:\d\d(?:\.\d+)?) (\d\d:?\d\d)")
"""A time whose ``+`` was taken for a space, as addresses do with one that is not encoded."""
_MOST_DIGITS = 18
"""A longer number is beyond every log."""
_SHOWN = 60
"""So much of what is no moment is repeated in the sentence about it."""


class Fault(StrEnum):
    UNREADABLE = "unreadable"
    AFTER_HEAD = "after_head"
    BEFORE_FIRST = "before_first"
    BEFORE_TABLE = "before_table"
    FUTURE = "future"
    NOT_KEPT = "not_kept"
    ARCHIVED = "archived"


_SENTENCES = {
    Fault.UNREADABLE: (
        "{text!r} is neither the number of an event nor a time such as 2026-11-29T16:24:07+09:00"
    ),
    Fault.AFTER_HEAD: "{text} lies after the head of the log, event {head}",
    Fault.BEFORE_FIRST: "{text} lies before the first event of the log",
    Fault.BEFORE_TABLE: "{text} lies before the oldest event that is in the table of events",
    Fault.FUTURE: "{text} lies in the future",
    Fault.NOT_KEPT: "event {text} is not in the table of events",
    Fault.ARCHIVED: "{text} lies among archived events, which are in the file {file}",
}


class BadMoment(ValueError):
    """``text`` names no moment of the cluster; ``fault`` says why, ``head`` is the newest seq of the log,
    ``file`` the archive that it lies in.
    """

    def __init__(self, fault: Fault, text: str, head: int, file: str = "") -> None:
        text = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
        super().__init__(_SENTENCES[fault].format(text=text, head=head, file=file))
        self.fault, self.text, self.head, self.file = fault, text, head, file


@dataclass(frozen=True, slots=True)
class Moment:
    """Right after event ``seq``, which was recorded at ``recorded_at``."""

    seq: int
    recorded_at: datetime


def moment(cluster: Cluster, text: str) -> Moment:
    """The moment that ``text`` names: ``1234``, or a time in ISO 8601 (without a zone: in the active one),
    which means the last event recorded by then. Raises BadMoment.
    """
    text = text.strip()
    head = store.head(cluster.pk).seq
    seq = _numbered(text, head) if _SEQ.fullmatch(text) else _timed(cluster, text, head)
    return _at(cluster, text, seq, head)


def newest(cluster: Cluster) -> Moment:
    """The moment of the last event. Raises BadMoment for a log without any."""
    head = store.head(cluster.pk).seq
    if not head:
        raise BadMoment(Fault.BEFORE_FIRST, "0", head)
    return _at(cluster, str(head), head, head)


def _at(cluster: Cluster, text: str, seq: int, head: int) -> Moment:
    rows = Event.objects.filter(stream_id=cluster.pk, seq=seq)
    recorded_at = rows.values_list("recorded_at", flat=True).first()
    if recorded_at is not None:
        return Moment(seq, recorded_at)
    archive = archives.holding(cluster.pk, seq)
    if archive is None:
        raise BadMoment(Fault.NOT_KEPT, text, head)
    if archive.last_seq == archives.begin(cluster.pk) == seq:  # what it was then is kept
        return Moment(seq, archive.last_at)
    raise BadMoment(Fault.ARCHIVED, text, head, archive.file)


def _numbered(text: str, head: int) -> int:
    if len(text) > _MOST_DIGITS or int(text) > head:
        raise BadMoment(Fault.AFTER_HEAD, text, head)
    if int(text) == 0:
        raise BadMoment(Fault.BEFORE_FIRST, text, head)
    return int(text)


def _timed(cluster: Cluster, text: str, head: int) -> int:
    try:
        time = datetime.fromisoformat(_PLUS_LOST.sub(r"\1+\2", text))
    except ValueError:
        raise BadMoment(Fault.UNREADABLE, text, head) from None
    if timezone.is_naive(time):
        time = timezone.make_aware(time)
    if time > timezone.now():
        raise BadMoment(Fault.FUTURE, text, head)
    rows = Event.objects.filter(stream_id=cluster.pk).order_by("seq").values_list("seq", "recorded_at")
    oldest = rows.first()
    if oldest is None or time < oldest[1]:
        if oldest is None or oldest[0] == 1:
            raise BadMoment(Fault.BEFORE_FIRST, text, head)
        return _among_archives(cluster, text, time, head)
    return fold.seq_at(cluster.pk, store.to_milliseconds(time))


def _among_archives(cluster: Cluster, text: str, time: datetime, head: int) -> int:
    """The last event of an archive that ends by ``time``; within one no event is known."""
    files = archives.of(cluster.pk)
    begun = [archive for archive in files if archive.first_at <= time]
    if not begun:
        fault = Fault.BEFORE_FIRST if files and files[0].first_seq == 1 else Fault.BEFORE_TABLE
        raise BadMoment(fault, text, head)
    if time < begun[-1].last_at:
        raise BadMoment(Fault.ARCHIVED, text, head, begun[-1].file)
    return begun[-1].last_seq
