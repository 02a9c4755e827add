"""The kinds of runs, and what each has to be able to do for ``runs`` to carry it out.

A kind is a module. It is *sliced* (one worker after the other goes on where the last one stood) or *fanned*
(its points are done by all workers at once). Modules are named here and loaded when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from django.dispatch import Signal

from scheduling.models import Run

run_requested = Signal()
"""After the commit: ``run_id``. A hint; the sweep finds runs that nobody works on."""

_MODULES: dict[str, str] = {
    "scenario": "scenario_runs",
}
"""Kind of run -> module of this package."""

SLICED, FANNED = "sliced", "fanned"


@dataclass(frozen=True, slots=True)
class Slice:
    """How far a run has come; ``result``: what came of it, None while there is more to do."""

    done: int
    total: int
    result: dict[str, Any] | None = None


class Sliced(Protocol):
    """``WORK = SLICED``."""

    WORK: str

    def work(self, run: Run, spent: Callable[[], bool]) -> Slice:
        """Go on with the run until ``spent()`` or the end, and keep what was done (in its fork, or in a
        ``RunFile``), so that the next call goes on from there, in any process. A call that is killed may be
        made again. Raises Refused for what the document asks that cannot be done: then the run fails with it.
        """


class Fanned(Protocol):
    """``WORK = FANNED``."""

    WORK: str

    def count(self, run: Run) -> int:
        """How many points it has."""

    def point(self, run: Run, index: int) -> dict[str, Any]:
        """The result of one point: a function of the run and the index, made in less than 20 seconds."""

    def summary(self, run: Run, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The result of the run, of those of all points in order."""


def names() -> tuple[str, ...]:
    return tuple(_MODULES)


def kind(name: str) -> Sliced | Fanned:
    """Raises KeyError."""
    return cast(Sliced | Fanned, import_module(f"scheduling.scenarios.{_MODULES[name]}"))
