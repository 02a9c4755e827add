"""Sentences about scenarios and runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext, pgettext_lazy

from scheduling.ledger import events as log
from scheduling.wording import matrix, units, words

KINDS: dict[str, Any] = {
    "scenario": pgettext_lazy("run", "scenario"),
    "batch": pgettext_lazy("run", "batch"),
    "trace": pgettext_lazy("run", "trace"),
    "matrix": pgettext_lazy("run", "verification matrix"),
    "rehearsal": pgettext_lazy("run", "rehearsal"),
}

STATUSES: dict[str, Any] = {
    "waiting": pgettext_lazy("run status", "waiting for a worker"),
    "running": pgettext_lazy("run status", "running"),
    "done": pgettext_lazy("run status", "done"),
    "failed": pgettext_lazy("run status", "failed"),
    "cancelled": pgettext_lazy("run status", "cancelled"),
}


def _saved(event: log.ScenarioSaved) -> str:
    return gettext("Scenario %(name)s was saved.") % {"name": event.name}


def _removed(event: log.ScenarioRemoved) -> str:
    return gettext("Scenario %(name)s was removed; its runs stay.") % {"name": event.name}


def _requested(event: log.RunRequested) -> str:
    values = {
        "kind": words.word(KINDS, event.kind),
        "scenario": event.scenario,
        "base": units.count(event.base),
    }
    if event.scenario:
        return gettext("A run (%(kind)s) of %(scenario)s was asked for, from event %(base)s on.") % values
    return gettext("A run (%(kind)s) was asked for, from event %(base)s on.") % values


def _cancelled(event: log.RunCancelled) -> str:
    return gettext("Run %(number)s was cancelled after %(done)s of %(total)s.") % {
        "number": event.number,
        "done": units.count(event.done),
        "total": units.count(event.total),
    }


def _ended(event: log.RunEnded) -> str:
    values = {"number": event.number, "error": event.error}
    if event.error:
        return gettext("Run %(number)s failed: %(error)s") % values
    return gettext("Run %(number)s is done.") % values


def _measured(event: log.MeasurementSent) -> str:
    values = {
        "condition": words.word(matrix.CONDITIONS, event.condition),
        "mode": words.word(matrix.MODES, event.mode),
        "number": event.number,
        "steps": units.thousandths(event.steps_thousandths or 0),
        "bytes": units.byte_count(event.crossing_bytes or 0),
        "source": event.source,
    }
    if event.crossing_bytes is None:
        told = gettext(
            "Measured for run %(number)s, %(condition)s, %(mode)s: %(steps)s steps/s (%(source)s)."
        )
    elif event.steps_thousandths is None:
        told = gettext(
            "Measured for run %(number)s, %(condition)s, %(mode)s: %(bytes)s across domains in a step "
            "(%(source)s)."
        )
    else:
        told = gettext(
            "Measured for run %(number)s, %(condition)s, %(mode)s: %(steps)s steps/s, %(bytes)s across "
            "domains in a step (%(source)s)."
        )
    return told % values


SENTENCES: dict[str, Callable[[Any], str]] = {
    "ScenarioSaved": _saved,
    "ScenarioRemoved": _removed,
    "RunRequested": _requested,
    "RunCancelled": _cancelled,
    "RunEnded": _ended,
    "MeasurementSent": _measured,
}
