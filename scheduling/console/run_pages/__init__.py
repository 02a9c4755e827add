"""What the page of a run shows for each kind of run: a template in ``runs/`` and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from scheduling.console.run_pages import batch, matrix, rehearsal, scenario, trace
from scheduling.models import Run

Context = Callable[[HttpRequest, Run], dict[str, Any]]
"""Of a run, also of one that is not over: its template shows what there is. ``scripts`` and
``styles``: what it loads."""

PAGES: dict[str, Context] = {
    "scenario": scenario.context,
    "batch": batch.context,
    "matrix": matrix.context,
    "rehearsal": rehearsal.context,
    "trace": trace.context,
}
"""Kind of run -> context of ``scheduling/runs/<kind>.html``, which is part of the page of the run."""
