"""How every command runs: load the state, decide which events, append and project them in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from django.db import transaction

from scheduling.engine.state import ClusterState
from scheduling.ledger import store
from scheduling.ledger.archives import Archived
from scheduling.ledger.events import Event
from scheduling.ledger.signals import append_reached
from scheduling.ledger.store import Appended, ConflictingAppend, Standing
from scheduling.models import Cluster, StreamHead
from scheduling.projections import writer
from scheduling.services import first_come
from scheduling.services.problems import Problem, Refused
from scheduling.services.state import at_head, save_with

Decide = Callable[[ClusterState, int], Sequence[Event]]
"""(state at the head, now in milliseconds) -> events; raises Refused."""

Causes = Callable[[ClusterState, Sequence[Event]], Sequence[int | None]]
"""(state at the head, events) -> for each event the seq of the one that it follows from."""

OPTIMISTIC_TRIES = 3
"""Then the head row is locked first, so that others cannot be faster for ever."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``events`` went to ``first_seq``..``last_seq``; ``first_seq > last_seq`` when nothing had to be
    written. ``notices``: what is worth knowing of it, told by the command itself the first time.

    ``repeated``: the command had been carried out before, and this is what it did then; ``events`` is empty
    when these are archived.
    """

    first_seq: int
    last_seq: int
    repeated: bool
    events: tuple[Event, ...]
    notices: tuple[Problem, ...] = ()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def execute(
    cluster: Cluster,
    decide: Decide,
    *,
    actor: str,
    command_id: str = "",
    request: str = "",
    causes: Causes | None = None,
) -> Outcome:
    """Carry a command out on the head of the cluster's log, once for each ``command_id`` ("": a new one).

    ``request``: what is asked, so that a command id is not used for two things. Raises Refused, and
    ``store.CommandReused`` for a command id that stood for another request. A problem that is there because
    somebody else came first names that event.
    """
    try:
        return _execute(cluster, decide, actor, command_id, request, causes)
    except Refused as refused:
        raise Refused(first_come.named(cluster, refused.problems)) from None


def _execute(
    cluster: Cluster, decide: Decide, actor: str, command_id: str, request: str, causes: Causes | None
) -> Outcome:
    stream_id: int = cluster.pk
    command = command_id or uuid4().hex
    done = store.find_command(stream_id, command, actor=actor, request=request)
    if done is not None:
        return outcome_of(stream_id, done)
    for _ in range(OPTIMISTIC_TRIES):
        try:
            with transaction.atomic():
                return _attempt(stream_id, decide, actor, command, request, causes)
        except ConflictingAppend:
            continue
    with transaction.atomic():
        lock_head(stream_id)
        return _attempt(stream_id, decide, actor, command, request, causes)


def lock_head(stream_id: int) -> None:
    """Until the transaction ends nobody else appends to the stream."""
    StreamHead.objects.select_for_update().get(stream_id=stream_id)


def append_and_project(
    stream_id: int,
    expected: int | Standing,
    events: Sequence[Event],
    *,
    actor: str,
    command_id: str,
    request: str = "",
    cause: int | Sequence[int | None] | None = None,
    now: int,
) -> Appended:
    """The log and every table move in the caller's transaction, or neither does."""
    appended = store.append(
        stream_id,
        expected,
        events,
        actor=actor,
        command_id=command_id,
        request=request,
        cause=cause,
        now=now,
    )
    if appended.recorded:
        writer.project(stream_id, appended.recorded)
        append_reached.send(sender=None, stream_id=stream_id, point="projected")
    return appended


def outcome_of(stream_id: int, appended: Appended) -> Outcome:
    """What a command did, this time or the time before."""
    if appended.repeated:
        try:
            read = store.read(stream_id, after=appended.first - 1, upto=appended.last)
            events = tuple(item.event for item in read)
        except Archived:
            events = ()
    else:
        events = tuple(item.event for item in appended.recorded)
    return Outcome(appended.first, appended.last, appended.repeated, events)


def _attempt(
    stream_id: int, decide: Decide, actor: str, command_id: str, request: str, causes: Causes | None
) -> Outcome:
    state, now = at_head(stream_id), now_ms()
    events = decide(state, now)
    cause = None if causes is None else causes(state, events)
    # A command that changes nothing is kept too: sent again later, it must not do what it did not do the
    # first time.
    appended = append_and_project(
        stream_id,
        state.seq,
        events,
        actor=actor,
        command_id=command_id,
        request=request,
        cause=cause,
        now=now,
    )
    save_with(state, stream_id, appended)
    return outcome_of(stream_id, appended)
