"""Runs of the kind ``scenario``: the steps of a document played on a fork of the cluster, which is kept in a
stream of its own. Neither the cluster's stream nor its tables are touched.

The stream goes on from the event at which it was forked. The events of each step are appended in one
transaction with how far the run has come, which is kept as its ``checkpoint``: whoever goes on folds the
stream and is where the other one was, in the midst of a clock that advances too.

``timing`` of a result, over all slices. Times in ``_us`` are thousandths of milliseconds: ``clock`` as time
passed, ``cpu`` as this process used its processor; ``_ms`` are by the clocks of the database's events::

    {"slices", "cycles", "decisions",     # decisions: groups decided, with news or without
     "load_clock_us", "load_cpu_us",      # the state from snapshot and log
     "decide_clock_us", "decide_cpu_us",  # cycles: decisions and what follows from time
     "play_clock_us", "play_cpu_us",      # steps with their cycles
     "store_clock_us",                    # appending to the stream of the run
     "outcome_clock_us", "outcome_cpu_us",
     "waited_ms", "total_ms"}             # from the request to the first slice, and to the result
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from uuid import uuid4

import orjson
from django.db import transaction
from django.utils import timezone

from scheduling.engine.queue import waiting
from scheduling.engine.state import ClusterState
from scheduling.ledger import fold, store
from scheduling.models import Cluster, Event, Run, RunFile, Stream
from scheduling.scenarios import documents, workbench
from scheduling.scenarios.documents import ScenarioDocument
from scheduling.scenarios.fork import PERSON, Effort, Fork, Place, Told
from scheduling.scenarios.kinds import SLICED, Slice
from scheduling.scenarios.outcome import Base, Mark, outcome
from scheduling.selectors import moments, past_states
from scheduling.selectors.moments import BadMoment, Fault, Moment
from scheduling.services.execute import now_ms
from scheduling.services.problems import INVALID, Problem, Refused

WORK = SLICED
KIND = "scenario"

KEPT = 8
"""States of forks in memory; the least recently used goes first."""

_CHECKPOINT = "checkpoint"


# ---------------------------------------------------------------- asking for one


def base_of(cluster: Cluster, at: str) -> Moment:
    """The moment at which a fork asked for at ``at`` begins; "" is the newest. Raises BadMoment, also for an
    event that is archived: a stream cannot go on from it.
    """
    found = moments.moment(cluster, at) if at else moments.newest(cluster)
    if not Event.objects.filter(stream_id=cluster.pk, seq=found.seq).exists():
        raise BadMoment(Fault.NOT_KEPT, str(found.seq), store.head(cluster.pk).seq)
    return found


def ask(
    *, cluster: Cluster, document: ScenarioDocument, actor: str, scenario: str = "", command_id: str = ""
) -> Run:
    """Ask for a run of the document, which begins where it says. ``scenario``: the name of the saved one that
    this is, "" for none. Raises BadMoment, Refused and CommandReused.
    """
    return workbench.request(
        cluster=cluster,
        kind=KIND,
        document=documents.to_json(document),
        base=base_of(cluster, document.at).seq,
        actor=actor,
        scenario=scenario,
        command_id=command_id,
        asked=document.at,
    )


def base_state(cluster: Cluster, seq: int) -> ClusterState:
    """The cluster's state after an event, as a fork that is the caller's own, with what all that is tried out
    on it asks for first: who belongs to which group. Raises LookupError as ``past_states.state_at``.
    """
    state = past_states.state_at(cluster, seq)
    if not state.rosters:
        waiting(state)
        past_states.keep(cluster, state)
    return state


# ---------------------------------------------------------------- working on one


class Overtaken(Exception):
    """The run is over, or another process went on with it while this one had lost its lock."""


@dataclass(slots=True)
class Reached:
    """How far a run has come. ``marks``: its beginning and each step that is over; ``begun``: events, and own
    ones, of the step that is not. ``spent``: as of ``timing``.
    """

    base: Base
    place: Place
    marks: list[Mark] = field(default_factory=list)
    begun: tuple[int, int] = (0, 0)
    spent: dict[str, int] = field(default_factory=dict)

    def dumped(self) -> bytes:
        return orjson.dumps(self)

    @classmethod
    def loaded(cls, data: bytes) -> Reached:
        value = orjson.loads(data)
        return cls(
            Base(**value["base"]),
            Place(**value["place"]),
            [Mark(**mark) for mark in value["marks"]],
            tuple(value["begun"]),
            value["spent"],
        )


def reached(run: Run) -> Reached | None:
    """How far the run has come; None before its beginning."""
    data = RunFile.objects.filter(run=run, name=_CHECKPOINT).values_list("data", flat=True).first()
    return None if data is None else Reached.loaded(bytes(data))


def work(run: Run, spent: Callable[[], bool]) -> Slice:
    """See ``kinds.Sliced``."""
    document = documents.read(run.document)
    total = len(document.steps)
    try:
        begun = _Slice(run, document)
        while begun.fork.played < total:
            if spent():
                return Slice(begun.fork.played, total)
            begun.step(spent)
        return Slice(total, total, begun.result())
    except Overtaken:
        return Slice(Run.objects.values_list("done", flat=True).get(pk=run.pk), total)


class _Slice:
    """One process at work on a run, from where it stands."""

    def __init__(self, run: Run, document: ScenarioDocument) -> None:
        self.run, self.document = run, document
        self.before: ClusterState | None = None
        found = reached(run)
        self.spent = found.spent if found is not None else {}
        self.count("slices", 1)
        if found is not None:
            self.reached = found
            with self.measured("load"):
                state = _state_upto(run, self._stream, found.base.seq, store.head(self._stream).seq)
                recorded = list(store.read(self._stream, after=found.place.settled))
            self.fork = Fork.resumed(state, found.place, recorded, document.profile)
        else:
            self._open()

    def _open(self) -> None:
        run, asked_at = self.run, store.to_milliseconds(self.run.requested_at)
        self.count("waited_ms", max(0, now_ms() - asked_at))
        with self.measured("load"):
            state = base_state(run.cluster, run.base_seq)
            (row,) = store.stored(run.cluster_id, run.base_seq - 1, run.base_seq)
        at = row.recorded_at if self.document.at else max(row.recorded_at, asked_at)
        self.fork = Fork(state, at, self.document.profile)
        with self.measured("play"):
            told = self.fork.begin()
        self.before = self.fork.state.fork()
        self.reached = Reached(
            Base(run.base_seq, row.recorded_at, state.mode),
            self.fork.place,
            [self._mark("", len(told), _own(told))],
        )
        with transaction.atomic():
            self._must_stand(None)
            name = f"{run.cluster.name}/{run.number}"
            run.fork_id = store.fork_stream(Stream.Kind.SCENARIO, name, run.cluster_id, run.base_seq)
            self._store(told, run.base_seq)

    def step(self, spent: Callable[[], bool]) -> None:
        """The next step, or the rest of the one that was begun; a part of it where ``spent`` says so."""
        fork, stood, seq = self.fork, self.reached.place, self.fork.state.seq
        step = self.document.steps[fork.played]
        with self.measured("play"):
            told = fork.go_on(spent) if fork.until is not None else fork.play(step, spent)
        events, own = self.reached.begun
        events, own = events + len(told), own + _own(told)
        self.reached.place = fork.place
        if fork.until is None:
            self.reached.marks.append(self._mark(step.step, events, own))
            events = own = 0
        self.reached.begun = events, own
        with transaction.atomic():
            self._must_stand(stood)
            self._store(told, seq)

    def result(self) -> dict[str, Any]:
        run = self.run
        before = self.before or fork_state(run, 0)
        with self.measured("outcome"):
            recorded = store.read(self._stream, after=run.base_seq)
            found = outcome(
                before=before,
                after=self.fork.state,
                base=self.reached.base,
                marks=self.reached.marks,
                told=(Told(one.seq, one.event, one.recorded_at, one.actor, one.cause) for one in recorded),
                profile=self.document.profile,
                timing={},
            )
        self._count_effort()
        self.count("total_ms", max(0, now_ms() - store.to_milliseconds(run.requested_at)))
        return found | {"timing": dict(sorted(self.spent.items()))}

    def count(self, name: str, amount: int) -> None:
        self.spent[name] = self.spent.get(name, 0) + amount

    @contextmanager
    def measured(self, name: str) -> Iterator[None]:
        clock, cpu = time.perf_counter_ns(), time.process_time_ns()
        try:
            yield
        finally:
            self.count(f"{name}_clock_us", (time.perf_counter_ns() - clock) // 1000)
            self.count(f"{name}_cpu_us", (time.process_time_ns() - cpu) // 1000)

    @property
    def _stream(self) -> int:
        stream_id: int | None = self.run.fork_id
        assert stream_id is not None
        return stream_id

    def _mark(self, step: str, events: int, own: int) -> Mark:
        return Mark(step, self.fork.state.seq, self.fork.now_ms, events, own)

    def _must_stand(self, stood: Place | None) -> None:
        """In a transaction, until its end nobody else goes on with the run. Raises Overtaken unless it is
        open and stands where this process left it.
        """
        status = Run.objects.select_for_update().values_list("status", flat=True).get(pk=self.run.pk)
        now = reached(self.run)
        if status not in Run.OPEN or (now.place if now is not None else None) != stood:
            raise Overtaken

    def _store(self, told: Sequence[Told], after: int) -> None:
        """The events, and how far the run is."""
        clock, seq = time.perf_counter_ns(), after
        for (at, actor), part in groupby(told, key=lambda one: (one.at, one.actor)):
            batch = list(part)
            store.append(
                self._stream,
                seq,
                [one.event for one in batch],
                actor=actor,
                command_id=uuid4().hex,
                cause=[one.cause for one in batch],
                now=at,
                tell=False,
            )
            seq = batch[-1].seq
        self.count("store_clock_us", (time.perf_counter_ns() - clock) // 1000)
        self._count_effort()
        self.reached.spent = self.spent
        defaults = {"data": self.reached.dumped()}
        RunFile.objects.update_or_create(run=self.run, name=_CHECKPOINT, defaults=defaults)
        Run.objects.filter(pk=self.run.pk).update(
            fork_id=self._stream,
            done=self.fork.played,
            total=len(self.document.steps),
            touched_at=timezone.now(),
        )

    def _count_effort(self) -> None:
        """Take over what the fork has counted since the last time."""
        effort = self.fork.effort
        self.count("cycles", effort.cycles)
        self.count("decisions", effort.decisions)
        self.count("decide_clock_us", effort.clock_ns // 1000)
        self.count("decide_cpu_us", effort.cpu_ns // 1000)
        self.fork.effort = Effort()


def _own(told: Sequence[Told]) -> int:
    return sum(one.actor == PERSON for one in told)


# ---------------------------------------------------------------- reading one


def result_of(run: Run) -> dict[str, Any]:
    """Raises Refused for a run of another kind, and for one that has no result."""
    found: dict[str, Any] | None = run.result
    if run.kind != KIND or found is None:
        message = f"run {run.number} is not one of a scenario with a result"
        raise Refused([Problem("Run", "", str(run.number), "", INVALID, message)])
    return found


def fork_state(run: Run, steps: int | None = None) -> ClusterState:
    """The state of the fork after so many steps (0: at its beginning), or as far as the run has come; also
    of a run that goes on, failed or was cancelled. A fork that is the caller's own.

    LookupError when it has not come that far, or the cluster's state at its base is archived.
    """
    found = reached(run)
    if found is None:
        raise LookupError(f"run {run.number} has not begun")
    if steps is not None and steps >= len(found.marks):
        raise LookupError(f"run {run.number} has not come to step {steps}")
    stream_id: int = Run.objects.values_list("fork_id", flat=True).get(pk=run.pk)
    seq = store.head(stream_id).seq if steps is None else found.marks[steps].seq
    return _state_upto(run, stream_id, found.base.seq, seq)


def _state_upto(run: Run, stream_id: int, base: int, seq: int) -> ClusterState:
    owner = stream_id if seq > base else run.cluster_id
    digest = Event.objects.filter(stream_id=owner, seq=seq).values_list("hash", flat=True).first()
    if digest is None:  # the base, in a file
        return base_state(run.cluster, base)
    name = (stream_id, seq, bytes(digest))  # the hash vouches for all that led to it
    with _lock:
        kept = _kept.get(name)
        if kept is not None:
            _kept.move_to_end(name)
            return kept.fork()
    state = base_state(run.cluster, base)
    fold.fold(state, store.read(stream_id, after=base, upto=seq))
    with _lock:
        _kept[name] = state.fork()
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return state


def clear() -> None:
    """Forget the states that are kept."""
    with _lock:
        _kept.clear()


_kept: OrderedDict[tuple[int, int, bytes], ClusterState] = OrderedDict()
_lock = threading.Lock()
