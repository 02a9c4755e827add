"""The page of a verification matrix: every cell with what had to happen, what did, and what it costs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.http import HttpRequest

from scheduling.engine import communication
from scheduling.engine.communication import FORMULAS
from scheduling.models import Run
from scheduling.scenarios import matrix, measurements, training
from scheduling.wording import matrix as words
from scheduling.wording import units

Json = dict[str, Any]


def context(request: HttpRequest, run: Run) -> Json:
    """Also of one that goes on: the cells that are done."""
    cells = dict(run.points.values_list("index", "result"))
    sent = measurements.newest(run)
    asked = training.fields(matrix.read(run.document).training.training())
    rows = []
    for place, condition in enumerate(matrix.CONDITIONS):
        first = place * len(matrix.MODES)
        found = [
            _cell(first + at, cells.get(first + at), condition, mode, sent)
            for at, mode in enumerate(matrix.MODES)
        ]
        rows.append(
            {
                "code": condition,
                "name": words.CONDITIONS[condition],
                "made": words.MADE[condition],
                "cells": found,
            }
        )
    return {
        "tab": "matrix",
        "rows": rows,
        "modes": [(mode, words.MODES[mode]) for mode in matrix.MODES],
        "tally": sorted(Counter(cell["judged"] for cell in cells.values()).items()),
        "judgements": words.JUDGEMENTS,
        "looks": words.LOOKS,
        "document": run.document,
        "model": [
            {
                "name": words.FIELDS[name],
                "value": words.COLLECTIVES[str(value)] if name == "collective" else units.count(int(value)),
                "origin": words.origin(name)
                if value == training.fields(communication.DEFAULTS)[name]
                else "",
            }
            for name, value in asked.items()
        ],
        "formulas": [
            {"name": words.FORMULAS[each.gives], "text": each.text, "source": each.source}
            for each in FORMULAS
        ],
        "workers": run.result["workers"].items() if run.result else (),
    }


def _cell(
    index: int,
    cell: Json | None,
    condition: str,
    mode: str,
    sent: dict[tuple[str, str], measurements.Measurement],
) -> Json:
    expected, anchor = words.EXPECTED[matrix.EXPECTED[condition, mode].why]
    found: Json = {
        "index": index,
        "mode": words.MODES[mode],
        "expected": expected,
        "anchor": anchor,
        "cell": cell,
    }
    if cell is None:
        return found
    measured = sent.get((condition, mode))
    return found | {
        "outcome": words.OUTCOMES[cell["outcome"]],
        "judged": words.JUDGEMENTS[cell["judged"]],
        "look": words.LOOKS[cell["judged"]],
        "told": words.told(cell),
        "wait": words.wait(cell),
        "estimate": _estimate(cell["estimate"]) if cell["estimate"] else None,
        "measured": _measured(measured, cell["estimate"]) if measured else None,
    }


def _estimate(estimate: Json) -> Json:
    return {
        "crossing": units.byte_count(estimate["crossing_bytes"]),
        "communication": units.took(estimate["communication_us"] // 1000),
        "step": units.took(estimate["step_us"] // 1000),
        "steps": units.thousandths(estimate["steps_thousandths"]),
        "relative": _percent(estimate["relative_thousandths"]),
    }


def _measured(each: measurements.Measurement, estimate: Json | None) -> Json:
    """Beside the estimate, with how far it is from it."""
    said = each.said
    found: Json = {"each": each, "steps": "", "crossing": "", "steps_off": "", "crossing_off": ""}
    if said.steps_thousandths is not None:
        found["steps"] = units.thousandths(said.steps_thousandths)
        found["steps_off"] = _off(said.steps_thousandths, (estimate or {}).get("steps_thousandths"))
    if said.crossing_bytes is not None:
        found["crossing"] = units.byte_count(said.crossing_bytes)
        found["crossing_off"] = _off(said.crossing_bytes, (estimate or {}).get("crossing_bytes"))
    return found


def _off(measured: int, estimated: int | None) -> str:
    if not estimated:
        return ""
    thousandths = round(1000 * (measured - estimated) / estimated)
    return f"{'+' if thousandths >= 0 else '−'}{_percent(abs(thousandths))}"


def _percent(thousandths: int) -> str:
    return f"{units.thousandths(thousandths * 100)} %"
