"""Search of the log: what the filters leave, a page at a time, at a cost that does not grow with the log.

An index serves an object, a type that is not common, a cause, a command, and bounds in seq or time, in the
order of the log. What no index serves (a common type, text, actor, a namespace or a name alone) is looked for
event by event, in at most ``MOST_LOOKED_AT`` of them for one page and for at most ``PATIENCE`` seconds; a
page says which seqs it covers, and the next one goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from scheduling.ledger import fold, store
from scheduling.models import Cluster, Command, Event
from scheduling.models.event import COMMON_TYPES

MOST_LOOKED_AT = 50_000
"""Events looked at one by one for a page."""
PATIENCE = 0.04
"""Seconds after which a page looks at no further chunk of events, once it looked at ``LEAST_LOOKED_AT``."""
LEAST_LOOKED_AT = 10_000
FIRST_CHUNK = 1_000
"""Events looked at first; every further chunk is twice as large, up to ``LARGEST_CHUNK``."""
LARGEST_CHUNK = 5_000

OF_A_NAMESPACE = ("workload", "podgroup", "pod")
OF_NO_NAMESPACE = ("node", "cluster", "nodetype", "plan", "reservation", "queue", "canary")

Conditions = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Filters:
    """What an event must be to be listed; "" and None ask nothing. ``text``: part of the body, letter for
    letter. ``cause``: seq of the event that led to it. ``command``: id of the command that wrote it.

    ``canary``: about the canary of this name, or caused by an event that is.

    ``since`` and ``until``: bounds of the time of recording, the lower one included. ``first`` and ``last``:
    seqs, both included.
    """

    type: str = ""
    subject: str = ""
    namespace: str = ""
    name: str = ""
    actor: str = ""
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None
    first: int | None = None
    last: int | None = None
    cause: int | None = None
    command: str = ""
    canary: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """``items``: events in the order asked for. ``next``: the seq from which the following page goes on, None
    when nothing is left. ``low`` to ``high``: the seqs of which ``items`` has every event that the filters
    leave; none where ``low`` is greater. ``looked_at``: how many events were looked at one by one.
    """

    items: list[Event]
    next: int | None
    low: int
    high: int
    looked_at: int


def search(
    cluster: Cluster,
    filters: Filters,
    *,
    before: int | None = None,
    after: int | None = None,
    limit: int = 50,
    within: tuple[int, int] | None = None,
) -> Found:
    """Events newest first, older than ``before``; with ``after`` oldest first, newer than it. ``within``: the
    ``bounds`` of these filters, where they are known.
    """
    low, high = bounds(cluster, filters) if within is None else within
    if after is not None:
        span = _Span(max(low, after + 1), high, newest_first=False)
    else:
        span = _Span(low, high if before is None else min(high, before - 1), newest_first=True)
    deadline = time.monotonic() + PATIENCE
    items: list[Event] = []
    looked_at, left = 0, span
    for step in _steps(cluster, filters, span, limit + 1):
        items += step.rows[: limit + 1 - len(items)]
        looked_at, left = looked_at + step.looked_at, step.left
        late = looked_at >= LEAST_LOOKED_AT and time.monotonic() > deadline
        if len(items) > limit or looked_at >= MOST_LOOKED_AT or late:
            break
    if len(items) > limit:
        del items[limit:]
        left = span.beyond(items[-1].seq)
    if not left:
        return Found(items, None, span.low, span.high, looked_at)
    if span.newest_first:
        return Found(items, left.high + 1, left.high + 1, span.high, looked_at)
    return Found(items, left.low - 1, span.low, left.low - 1, looked_at)


def gather(cluster: Cluster, filters: Filters, *, after: int | None = None, limit: int = 50) -> list[Event]:
    """As ``search``, by as many searches as it takes to have ``limit`` events or all there are."""
    fixed = settled(cluster, filters)
    items: list[Event] = []
    before: int | None = None
    while len(items) < limit:
        found = search(cluster, fixed, before=before, after=after, limit=limit - len(items))
        items += found.items
        if found.next is None:
            break
        before, after = (found.next, None) if after is None else (None, found.next)
    return items


def settled(cluster: Cluster, filters: Filters) -> Filters:
    """The same filters on the log as it is now, with every bound as a seq: for many searches in a row."""
    low, high = bounds(cluster, filters)
    return replace(filters, first=low, last=high, since=None, until=None, command="")


def bounds(cluster: Cluster, filters: Filters) -> tuple[int, int]:
    """The lowest and the highest seq that the filters leave by seq, time and command; none where the lowest
    is greater.
    """
    rows = Event.objects.filter(stream_id=cluster.pk).order_by("seq")
    oldest, newest = rows.first(), rows.last()
    if oldest is None or newest is None:
        return 1, 0
    lows, highs = [oldest.seq, filters.first or 1], [newest.seq]
    if filters.last is not None:
        highs.append(filters.last)
    if filters.since is not None and filters.since > oldest.recorded_at:
        lows.append(_before(cluster, filters.since, newest) + 1)
    if filters.until is not None and filters.until <= newest.recorded_at:
        highs.append(_before(cluster, filters.until, newest) if filters.until > oldest.recorded_at else 0)
    if filters.command:
        wrote = Command.objects.filter(stream_id=cluster.pk, command_id=filters.command)
        first, last = wrote.values_list("first_seq", "last_seq").first() or (1, 0)
        lows.append(first)
        highs.append(last)
    return max(lows), min(highs)


@dataclass(frozen=True, slots=True)
class _Span:
    """The seqs ``low`` to ``high``, to be walked from one end to the other."""

    low: int
    high: int
    newest_first: bool

    def __bool__(self) -> bool:
        return self.low <= self.high

    def rows(self, cluster: Cluster) -> QuerySet[Event]:
        rows = Event.objects.filter(stream_id=cluster.pk, seq__gte=self.low, seq__lte=self.high)
        return rows.order_by("-seq" if self.newest_first else "seq")

    def ahead(self, number: int) -> _Span:
        """The next so many seqs."""
        if self.newest_first:
            return replace(self, low=max(self.low, self.high - number + 1))
        return replace(self, high=min(self.high, self.low + number - 1))

    def beyond(self, seq: int) -> _Span:
        """What is left after ``seq``."""
        return replace(self, high=seq - 1) if self.newest_first else replace(self, low=seq + 1)

    def without(self, part: _Span) -> _Span:
        """What is left after ``part``, which is ``ahead``."""
        return self.beyond(part.low if self.newest_first else part.high)


@dataclass(frozen=True, slots=True)
class _Step:
    """``rows``: those of a piece of the span that the filters leave; ``left``: the span after that piece."""

    rows: QuerySet[Event]
    looked_at: int
    left: _Span


def _steps(cluster: Cluster, filters: Filters, span: _Span, wanted: int) -> Iterator[_Step]:
    """The span piece by piece. Where an index gives all that is asked for, one piece holds ``wanted``."""
    branches, rest = _split(cluster, filters)
    chunk = FIRST_CHUNK
    while span:
        if branches:
            number = chunk if rest else min(wanted, LARGEST_CHUNK)
            named = _named(cluster, branches, span, number)
            left = span.beyond(named[-1]) if len(named) == number else span.without(span)
            rows = span.rows(cluster).filter(seq__in=named)
            looked_at = len(named) if rest else 0
        elif rest:
            part = span.ahead(chunk)
            rows, left, looked_at = part.rows(cluster), span.without(part), part.high - part.low + 1
        else:
            rows, left, looked_at = span.rows(cluster), span.without(span), 0
        yield _Step(rows.filter(**rest), looked_at, left)
        span = left
        chunk = min(2 * chunk, LARGEST_CHUNK)


def _split(cluster: Cluster, filters: Filters) -> tuple[list[Conditions], Conditions]:
    """The conditions that an index serves in the order of the log, one set of them for each index scan, and
    what is left to ask of each event. No set: no index serves any.
    """
    fields = ("type", "subject", "namespace", "name", "actor")
    rest: Conditions = {field: value for field in fields if (value := getattr(filters, field))}
    if filters.text:
        rest["body__contains"] = filters.text
    if filters.cause is not None and not filters.canary:
        return [{"cause": filters.cause}], rest
    if filters.canary:
        if filters.cause is not None:
            rest["cause"] = filters.cause
        about = {"subject": "canary", "namespace": "", "name": filters.canary}
        told = Event.objects.filter(stream_id=cluster.pk, **about).values_list("seq", flat=True)
        return [about, *({"cause": seq} for seq in told)], rest
    objects = _objects(filters)
    if objects is not None:
        for field in ("subject", "namespace", "name"):
            rest.pop(field, None)
        return objects, rest
    if filters.type and filters.type not in COMMON_TYPES:
        return [{"type": rest.pop("type")}], rest
    return [], rest


def _objects(filters: Filters) -> list[Conditions] | None:
    """The objects that are meant, each in full; None when the filters leave open which those are."""
    if not filters.name:
        return None
    subjects: tuple[str, ...] = OF_A_NAMESPACE if filters.namespace else OF_NO_NAMESPACE
    if filters.subject:
        subjects = (filters.subject,)
    elif not filters.namespace:
        return None
    if not filters.namespace and filters.subject in OF_A_NAMESPACE:
        return None
    about = {"namespace": filters.namespace, "name": filters.name}
    return [{"subject": subject, **about} for subject in subjects]


def _named(cluster: Cluster, branches: list[Conditions], span: _Span, number: int) -> list[int]:
    """The next so many seqs that an index tells, in the order of the span."""
    seqs: list[int] = []
    for conditions in branches:
        rows = span.rows(cluster).filter(**conditions)
        seqs += rows.values_list("seq", flat=True)[:number]
    return sorted(set(seqs), reverse=span.newest_first)[:number]


def _before(cluster: Cluster, moment: datetime, newest: Event) -> int:
    """The last seq recorded before ``moment``, which is after the time of the oldest event."""
    if moment > newest.recorded_at:
        return newest.seq
    # Times are recorded in whole milliseconds.
    whole = store.to_milliseconds(moment)
    exact = store.to_datetime(whole) == moment
    return fold.seq_at(cluster.pk, whole - 1 if exact else whole)
