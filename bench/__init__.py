"""Benches: one file a question. A bench is a module with `main(argv) -> Report` and, where it needs
PostgreSQL and Valkey, `NEEDS_STACK = True`; with `DURABLE = True` PostgreSQL keeps what it commits as it does
in production, which throw-away servers else do not. `manage.py bench NAME --json` closes with one JSON line.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


def time_rounds(work: Callable[[], object], *, rounds: int = 5) -> list[float]:
    """Milliseconds of each of `rounds` calls, after one call that warms up."""
    work()
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


@dataclass
class Row:
    """One measurement: what, its samples, their unit."""

    what: str
    samples: list[float]
    unit: str = "ms"

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


@dataclass
class Report:
    """The answer of one bench: rows of medians, with the spread beside them."""

    question: str
    rows: list[Row] = field(default_factory=list)

    def add(self, what: str, samples: list[float], unit: str = "ms") -> None:
        self.rows.append(Row(what, samples, unit))

    def table(self) -> str:
        width = max([4, *(len(row.what) for row in self.rows)])
        lines = [self.question, f"{'':{width}}  {'median':>12}  {'min':>12}  {'max':>12}  unit"]
        lines += [
            f"{row.what:{width}}  "
            + "  ".join(f"{value:12,.3f}" for value in (row.median, min(row.samples), max(row.samples)))
            + f"  {row.unit}"
            for row in self.rows
        ]
        return "\n".join(lines)

    def json(self) -> str:
        rows = [
            {"what": r.what, "unit": r.unit, "median": r.median, "min": min(r.samples), "max": max(r.samples)}
            for r in self.rows
        ]
        return json.dumps({"question": self.question, "rows": rows})


class Figures(Report):
    """Rows of medians, then the figures that the bench is for, None where one could not be taken. The JSON
    line has the figures and nothing else.
    """

    def __init__(self, question: str, keys: Iterable[str]) -> None:
        super().__init__(question)
        self.figures: dict[str, float | None] = dict.fromkeys(keys)
        self.notes: list[str] = []

    def table(self) -> str:
        figures = [
            f"{key:24} {'not measured' if value is None else format(value, '12,.3f')}"
            for key, value in self.figures.items()
        ]
        return "\n".join([super().table(), "", *figures, *self.notes])

    def json(self) -> str:
        return json.dumps(
            {key: None if value is None else round(value, 3) for key, value in self.figures.items()}
        )
