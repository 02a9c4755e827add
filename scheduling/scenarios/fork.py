"""A state that goes its own way: steps are played on it one after the other, each followed by cycles until
nothing is new. In memory and pure: what happens is handed back as events; whoever wants to keep them does.

A fork is simulated. Of an observed cluster it is assumed that what our cycles forecast comes true: ``begin``
says so by a ``ClusterModeChanged``, and places those groups before anything is played. What a simulated
cluster had not decided yet at that moment is decided there too, so that all that follows comes of the steps.

Time: a step happens at once. Groups that it woke and that rest from a failed attempt are decided when their
rest is over, which is some seconds later at most; only ``AdvanceClock`` lets more time pass, and stops
wherever a rest ends or something falls due on the way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scheduling.engine.canary import Canary
from scheduling.engine.queue import waiting
from scheduling.engine.state import ClusterState
from scheduling.ledger import fold
from scheduling.ledger.events import CanaryEnded, ClusterModeChanged, Event
from scheduling.ledger.store import Recorded
from scheduling.scenarios.effects import events_of, numbered
from scheduling.scenarios.steps import AdvanceClock, Part
from scheduling.services.conformance.stream import Unsettled
from scheduling.services.deciding import decided
from scheduling.services.problems import Refused
from scheduling.services.tending import tended
from scheduling.services.waking import Due, Looked, due

__all__ = ["PERSON", "SCHEDULER", "Effort", "Fork", "Place", "Told", "Unsettled"]

MOST_CYCLES = 200
"""At one moment, and of one step without more time passing."""

PERSON, SCHEDULER = "scenario", "scheduler"
"""Actors: whoever wrote the step, and cycles."""


class Told(NamedTuple):
    """An event of the fork. ``at``: when, in milliseconds of its own time; ``cause``: the seq of the event
    that led to it, None when it is not known.
    """

    seq: int
    event: Event
    at: int
    actor: str
    cause: int | None


@dataclass(slots=True)
class Effort:
    """What cycles have cost. ``decisions``: groups that were decided, with news or without. Times are
    nanoseconds of the clock and of the processor, of this process.
    """

    cycles: int = 0
    decisions: int = 0
    clock_ns: int = 0
    cpu_ns: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fork stands, besides its state: with that and the events after ``settled`` another process goes
    on from there and makes the same events. ``until``: up to when the clock is still to go in the step that
    was begun, None between steps; ``looked``, ``looked_at``: what its last cycle had seen
    (``waking.Looked``).
    """

    played: int
    now_ms: int
    settled: int
    looked: int
    looked_at: int
    until: int | None = None


class Fork:
    """``state``: where it stands, to be read; ``now_ms``: its own time; ``played``: steps that are over.
    ``effort``: what its cycles have cost here. ``until``: as of ``Place``.
    """

    def __init__(self, state: ClusterState, now_ms: int, profile: str = "exact") -> None:
        """On a copy of ``state``, about which nothing is known to be decided: see ``begin``."""
        self.state = state.fork()
        self.now_ms = now_ms
        self.profile = profile
        self.played = 0
        self.until: int | None = None
        self.effort = Effort()
        self._fresh = True
        self._looked = Looked(state.seq, now_ms)
        self._settled = state.seq
        self._recorded: list[Recorded] = []  # after ``_settled``
        self._told: list[Told] = []

    @classmethod
    def resumed(
        cls, state: ClusterState, place: Place, recorded: Sequence[Recorded] = (), profile: str = "exact"
    ) -> Fork:
        """As it was at ``place``. ``state``: with all of its events; ``recorded``: those after
        ``place.settled``.
        """
        fork = cls(state, place.now_ms, profile)
        fork.played, fork.until, fork._fresh = place.played, place.until, False
        fork._looked, fork._settled = Looked(place.looked, place.looked_at), place.settled
        fork._recorded = list(recorded)
        return fork

    @property
    def place(self) -> Place:
        looked = self._looked
        return Place(self.played, self.now_ms, self._settled, looked.seq, looked.at, self.until)

    def begin(self) -> list[Told]:
        """Become simulated and decide what was left undecided; nothing on a state that is simulated and
        settled. To be called before the first step. Raises Unsettled.
        """
        if self.state.mode != "simulated":
            self._commit([(ClusterModeChanged("simulated"), None)], PERSON)
        self._settle()
        return self._handed_over()

    def play(self, step: Part, spent: Callable[[], bool] = lambda: False) -> list[Told]:
        """All that comes of the next step. Where ``spent`` says so while the clock advances, the step is not
        over (``until``): to be gone on with. Raises Refused with the place of the step in all paths; the fork
        is as it was then. Raises Unsettled.
        """
        try:
            events = events_of(self.state, step, self.now_ms)
        except Refused as refused:
            raise numbered(refused, self.played) from None
        self._commit([(event, None) for event in events], PERSON)
        self.until = self.now_ms + (step.seconds * 1000 if isinstance(step, AdvanceClock) else 0)
        return self.go_on(spent)

    def go_on(self, spent: Callable[[], bool] = lambda: False) -> list[Told]:
        """The rest of the step that was begun. As ``play``."""
        if self.until is None:
            raise ValueError("no step was begun")
        if self._advance(self.until, spent):
            self._settle()
            self.until = None
            self.played += 1
        return self._handed_over()

    def end_canaries(self) -> None:
        """Nobody is held or judged by a canary any more, and none is rolled back while the clock goes on; the
        gates stay as they are.
        """
        canaries = [each for each in self.state.records.of(Canary).values() if each.in_force]
        self._commit([(CanaryEnded(each.id, each.stage, "stopped"), None) for each in canaries], PERSON)

    # --- steps

    def _advance(self, target: int, spent: Callable[[], bool]) -> bool:
        """Let time pass, with a stop wherever something happens by itself; whether ``target`` is reached."""
        cycles = 0  # at this moment
        while self.now_ms < target:
            news, stops = self._cycle()
            cycles += 1
            if news:
                self._must_end(cycles)
                continue
            self.now_ms = min([at for at in stops if self.now_ms < at <= target], default=target)
            cycles = 0
            if spent() and self.now_ms < target:
                return False
        return True

    def _settle(self) -> None:
        """Cycles until one has no news and no group that was woken rests any more."""
        cycles = 0
        while True:
            news, (rest, _) = self._cycle()
            cycles += 1
            if not news and rest == _NEVER:
                break
            self._must_end(cycles)
            if not news:
                self.now_ms = rest
        self._looked, self._settled = Looked(self.state.seq, self.now_ms), self.state.seq
        self._recorded.clear()

    def _must_end(self, cycles: int) -> None:
        if cycles >= MOST_CYCLES:
            raise Unsettled(f"step {self.played}: {MOST_CYCLES} cycles and still something new")

    def _cycle(self) -> tuple[bool, tuple[int, int]]:
        """Whether there was news; when the next rest of a group that was woken ends, and when something
        falls due next.
        """
        clock, cpu = time.perf_counter_ns(), time.process_time_ns()
        begun = self.state.seq
        groups = self._due()
        self._commit(decided(self.state, self.now_ms, profile=self.profile, due=groups.causes), SCHEDULER)
        self._looked = Looked(self.state.seq, self.now_ms)
        news, falls_due = tended(self.state, self.now_ms)
        self._commit(news, SCHEDULER)
        self.effort.cycles += 1
        self.effort.decisions += len(groups.causes)
        self.effort.clock_ns += time.perf_counter_ns() - clock
        self.effort.cpu_ns += time.process_time_ns() - cpu
        rest = groups.retry_at
        stops = _NEVER if rest is None else rest, _NEVER if falls_due is None else falls_due
        return self.state.seq > begun, stops

    def _due(self) -> Due:
        if self._fresh:
            self._fresh = False
            return Due(dict.fromkeys(waiting(self.state, self.profile), None), {})
        return due(self.state, self._recorded, self._looked, self.now_ms)

    def _commit(self, events: Iterable[tuple[Event, int | None]], actor: str) -> None:
        """``events``: with their causes; all are made before the first one happens."""
        for event, cause in list(events):
            seq = self.state.seq + 1
            item = Recorded(0, seq, event, actor, "", cause, self.now_ms, self.now_ms, b"", b"")
            fold.apply(self.state, item)
            self._recorded.append(item)
            self._told.append(Told(seq, event, self.now_ms, actor, cause))

    def _handed_over(self) -> list[Told]:
        told, self._told = self._told, []
        return told


_NEVER = 1 << 62
