"""Two results of scenarios side by side: their verdicts, figures and sentences, and the groups that do not
stand alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduling.engine.state import ClusterState
from scheduling.models import Run
from scheduling.scenarios import comparing, documents
from scheduling.wording import scenarios as wording

MOST = 200
"""Groups that differ are listed up to so many."""


def side(run: Run) -> dict[str, Any]:
    """What one of the two is told with. The run must be done."""
    assert run.result is not None
    document = documents.read(run.document)
    return {
        "run": run,
        "steps": [wording.step(step) for step in document.steps],
        "verdict": wording.verdict(run.result),
        "details": wording.details(run.result),
        "look": wording.LOOKS[run.result["verdict"]["code"]],
        "changed": wording.changed(run.result),
    }


def differing(a: Run, b: Run, states: Sequence[ClusterState]) -> list[dict[str, Any]]:
    """Groups that do not stand alike at the ends of both forks, whose states are given."""
    first, second = _told(a), _told(b)
    rows = []
    for found in comparing.differing(*states):
        namespace, _slash, name = found["key"].partition("/")
        cells = {
            side: {"standing": found[side], **_said(told.get(found["key"]))}
            for side, told in (("a", first), ("b", second))
        }
        rows.append({"key": found["key"], "namespace": namespace, "name": name, **cells})
    return rows


def figures(a: Run, b: Run) -> list[tuple[str, int, int]]:
    """(name, at the end of the one, of the other)."""
    return [
        (name, first, second)
        for (name, _, first), (_, _, second) in zip(
            *(wording.figures(run.result or {}) for run in (a, b)), strict=True
        )
    ]


def _told(run: Run) -> dict[str, dict[str, Any]]:
    result = run.result or {}
    return {group["key"]: group for group in (*result["asked"], *result["others"])}


def _said(group: dict[str, Any] | None) -> dict[str, Any]:
    """What a result says of a group that its steps changed."""
    if group is None:
        return {"became": "", "said": ""}
    said = wording.told(group)
    return {"became": group["became"], "said": said[0] if said else ""}
