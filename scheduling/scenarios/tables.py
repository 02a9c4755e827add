"""Results of batches and matrices as rows of a table, for CSV: a column a figure, a row a point."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from scheduling.models import Run
from scheduling.scenarios import batches, matrix, measurements

Table = tuple[list[str], list[list[Any]]]


def batch(run: Run) -> Table:
    """What there is: of a batch that is not over, the points that are done."""
    document, ticks, _ = batches.opened(run)
    names = [f"{axis.axis} {batches.subject(axis)}" for axis in document.axes]
    rows = [
        [index, *batches.values_at(ticks, index), *(result[name] for name in batches.COLUMNS), worker]
        for index, result, worker in run.points.order_by("index").values_list("index", "result", "worker")
    ]
    return ["point", *names, *batches.COLUMNS, "worker"], rows


MATRIX_COLUMNS = (
    "condition", "mode", "profile", "outcome", "judged", "verdict", "reason", "candidate_count", "eligible",
    "fits", "need", "bound", "wait_ms",
)  # fmt: skip
ESTIMATED = ("crossing_bytes", "communication_us", "step_us", "steps_thousandths", "relative_thousandths")
MEASURED = ("steps_thousandths", "crossing_bytes", "source", "measured_at")


def cells(run: Run) -> Table:
    sent = measurements.newest(run)
    rows = []
    for found in run.points.order_by("index").values_list("result", flat=True):
        estimate = found["estimate"] or {}
        of_cell = sent.get((found["condition"], found["mode"]))
        measured: list[Any] = [""] * len(MEASURED)
        if of_cell is not None:
            said = of_cell.said
            measured = [
                _blank(said.steps_thousandths),
                _blank(said.crossing_bytes),
                said.source,
                of_cell.measured_at.isoformat(),
            ]
        rows.append(
            [
                *(found[name] for name in MATRIX_COLUMNS),
                *(estimate.get(name, "") for name in ESTIMATED),
                *measured,
                found["problem"]["code"] if found["problem"] else "",
            ]
        )
    header = [
        *MATRIX_COLUMNS,
        *(f"estimated_{name}" for name in ESTIMATED),
        *(f"measured_{name}" for name in MEASURED),
        "problem",
    ]
    return header, rows


def _blank(value: int | None) -> int | str:
    return "" if value is None else value


TABLES = {batches.KIND: batch, matrix.KIND: cells}
"""Kind of run -> its table."""


def to_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Text that a spreadsheet would take for a formula gets a mark in front."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([_plain(value) for value in row] for row in rows)
    return text.getvalue()


def _plain(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
