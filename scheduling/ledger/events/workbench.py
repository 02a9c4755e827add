"""Events of a workbench: which scenarios were saved on a cluster, and which runs were asked for and ended.

They are in a stream of their own and change nothing of the cluster. Documents and results are JSON as text,
with integers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduling.ledger.events.base import Event


@dataclass(frozen=True, slots=True)
class ScenarioSaved(Event):
    """A scenario came to be, or is another from here on. ``document``: all of it."""

    SUBJECT: ClassVar[str] = "scenario"
    name: str
    document: str


@dataclass(frozen=True, slots=True)
class ScenarioRemoved(Event):
    """Its runs stay."""

    SUBJECT: ClassVar[str] = "scenario"
    name: str


@dataclass(frozen=True, slots=True)
class RunRequested(Event):
    """Somebody asked for a run; its number is the seq of this event. ``kind``: scenario, batch, trace,
    matrix, rehearsal; ``scenario``: the saved one that it runs, "" for none; ``base``: the event of the
    cluster after which it begins; ``input_sha256``: of the file that came with it, "" without one.
    """

    SUBJECT: ClassVar[str] = "run"
    kind: str
    scenario: str
    base: int
    document: str
    input_sha256: str = ""


@dataclass(frozen=True, slots=True)
class RunCancelled(Event):
    """Somebody ended the run ``number`` before it was done; ``done`` of ``total`` had been done."""

    SUBJECT: ClassVar[str] = "run"
    number: int
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """The run ``number`` is over. ``error``: why it failed, "" when it is done; then ``result`` holds what
    came of it.
    """

    SUBJECT: ClassVar[str] = "run"
    number: int
    result: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class MeasurementSent(Event):
    """Somebody measured what a cell of the verification matrix ``number`` only estimates, and says how:
    ``steps_thousandths`` (steps in 1,000 seconds) and ``crossing_bytes`` (a step, across domains), None for
    what was not measured; ``source``: where the numbers come from; ``measured_at``: when, milliseconds.
    """

    SUBJECT: ClassVar[str] = "run"
    number: int
    condition: str
    mode: str
    steps_thousandths: int | None
    crossing_bytes: int | None
    source: str
    measured_at: int


EVENTS: tuple[type[Event], ...] = (
    ScenarioSaved,
    ScenarioRemoved,
    RunRequested,
    RunCancelled,
    RunEnded,
    MeasurementSent,
)
