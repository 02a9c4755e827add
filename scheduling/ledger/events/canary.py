"""Canaries: started, judged, widened, rolled back, ended; and throughput that somebody measured.

``name`` is that of the canary: canary- and the seq of its CanaryStarted; ``stage`` counts from 0. Times are
milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduling.engine.canary import Limit, Measured, Scope
from scheduling.ledger.events.base import Event


@dataclass(frozen=True, slots=True)
class CanaryStarted(Event):
    """From here on the groups of the first stage are held to one domain, until it is judged at ``until``.

    ``means``: a ``canary.Means``; ``stages``: whom each is for; ``limits``: what every window is judged by;
    ``unit``: of measured throughput, "" without a limit on it; ``window``: how long each is judged;
    ``approval``: a ``canary.Approval``. ``exempt``: (group key, uid) of the stage's groups that run spread
    over domains: they stay as they are. ``gates``: those that were off and are switched on by the events that
    follow.
    """

    SUBJECT: ClassVar[str] = "canary"
    WAKES: ClassVar[bool] = True
    name: str
    means: str
    stages: tuple[Scope, ...]
    limits: tuple[Limit, ...]
    unit: str
    window: int
    approval: str
    until: int
    exempt: tuple[tuple[str, str], ...] = ()
    gates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CanaryJudged(Event):
    """The window from ``since`` to ``until`` against every limit. ``verdict``: a ``canary.Verdict``;
    ``early``: a limit was broken for good before the window was over. ``approval``: ask when a person has to
    say what follows; else it is in the events after this.
    """

    SUBJECT: ClassVar[str] = "canary"
    name: str
    stage: int
    verdict: str
    measured: tuple[Measured, ...]
    since: int
    until: int
    approval: str
    early: bool = False


@dataclass(frozen=True, slots=True)
class CanaryWidened(Event):
    """The next stage begins, with a window until ``until``. ``means``: that of the canary; ``exempt``,
    ``gates``: as in CanaryStarted, of what is new in it.
    """

    SUBJECT: ClassVar[str] = "canary"
    WAKES: ClassVar[bool] = True
    name: str
    stage: int
    means: str
    scope: Scope
    until: int
    exempt: tuple[tuple[str, str], ...] = ()
    gates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CanaryExtended(Event):
    """The same stage is judged once more, over another window until ``until``."""

    SUBJECT: ClassVar[str] = "canary"
    name: str
    stage: int
    until: int


@dataclass(frozen=True, slots=True)
class GateRolledBack(Event):
    """Nobody is held to one domain by the canary any more. ``why``: failed (it was judged so) or person.
    ``scope``: whose groups are plain gangs again; ``gates``: those that go off by the events that follow.
    ``waiting``: keys of the groups that are decided anew; ``running``: how many others stay where they are.
    """

    SUBJECT: ClassVar[str] = "canary"
    WAKES: ClassVar[bool] = True
    name: str
    stage: int
    why: str
    scope: Scope
    gates: tuple[str, ...]
    waiting: tuple[str, ...]
    running: int


@dataclass(frozen=True, slots=True)
class CanaryEnded(Event):
    """``how``: kept (its groups are held to one domain from now on; gates that it switched on stay on),
    stopped (nobody is held by it any more; ``gates`` go off by the events that follow), observed (the cluster
    is only read now, so that nothing is held here).
    """

    SUBJECT: ClassVar[str] = "canary"
    WAKES: ClassVar[bool] = True
    name: str
    stage: int
    how: str
    gates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ThroughputReported(Event):
    """Somebody measured how fast the generation trains: ``rate`` thousandths of ``unit`` (steps or tokens)
    per second. ``source``: what measured it.
    """

    SUBJECT: ClassVar[str] = "podgroup"
    namespace: str
    name: str
    uid: str
    generation: int
    rate: int
    unit: str
    source: str


EVENTS: tuple[type[Event], ...] = (
    CanaryStarted,
    CanaryJudged,
    CanaryWidened,
    CanaryExtended,
    GateRolledBack,
    CanaryEnded,
    ThroughputReported,
)
