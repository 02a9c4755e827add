"""Two results of scenarios side by side: their verdicts, figures and sentences, and the groups that do not
stand alike.
"""

from __future__ import annotations

from typing import Any

from scheduling.models import Run
from scheduling.scenarios import documents
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


def differing(a: Run, b: Run) -> list[dict[str, Any]]:
    """Groups that do not stand alike at the end of two results. Of one that a result does not tell of (None)
    its steps changed nothing.
    """
    first, second = _told(a), _told(b)
    rows = []
    for key in sorted(first.keys() | second.keys()):
        left, right = first.get(key), second.get(key)
        if left is not None and right is not None and _end(left) == _end(right):
            continue
        namespace, _slash, name = key.partition("/")
        rows.append({"key": key, "namespace": namespace, "name": name, "a": _cell(left), "b": _cell(right)})
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


def _end(group: dict[str, Any]) -> dict[str, Any] | None:
    """How it stands; a generation made anew in each fork has another uid in each."""
    after: dict[str, Any] | None = group["after"]
    return {name: value for name, value in after.items() if name != "uid"} if after else None


def _cell(group: dict[str, Any] | None) -> dict[str, Any] | None:
    if group is None:
        return None
    said = wording.told(group)
    return group | {"said": said[0] if said else ""}
