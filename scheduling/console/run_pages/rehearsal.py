"""The result of a rehearsal: counts, and a table of the groups that would change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpRequest

from scheduling.models import Run
from scheduling.scenarios.rehearsal import CHANGES
from scheduling.selectors import clusters
from scheduling.wording import readiness
from scheduling.wording import rehearsal as wording

ROWS = 200
"""Groups that the page shows at once; the file has all of them."""

COLUMNS = ("group", "change", "before", "after", "new member", "kube-scheduler")


def context(request: HttpRequest, run: Run) -> dict[str, Any]:
    """``change``: a kind of change, ``q``: a part of a group's name."""
    result = run.result
    asked = {"gates": readiness.gates(sorted(run.document["gates"].items()))}
    if result is None:
        return asked
    change, text = request.GET.get("change", ""), request.GET.get("q", "").strip()
    entries = [
        entry
        for entry in result["groups"]
        if (not change or entry["change"] == change) and text.lower() in entry["key"].lower()
    ]
    return asked | {
        "headline": wording.headline(result),
        "bad": wording.is_bad(result),
        "notes": [str(wording.NOTES[note]) for note in result["notes"]],
        "counts": [(kind, result["counts"][kind]) for kind in CHANGES if kind in result["counts"]],
        "change": change,
        "q": text,
        "entries": shown(result, entries[:ROWS]),
        "left_out": max(0, len(entries) - ROWS),
        "age": wording.age(clusters.head(run.cluster) - run.base_seq),
        "observed": result["mode"] == "observed",
    }


def shown(result: Mapping[str, Any], entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each as sentences."""
    return [
        {
            "key": entry["key"],
            "change": entry["change"],
            "before": wording.outlook(entry["before"], entry["topology_key"]),
            "after": wording.outlook(entry["after"], entry["topology_key"]),
            "member": wording.member(entry),
            "upstream": wording.upstream(entry, result["profile"]),
        }
        for entry in entries
    ]


def rows(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Every group that would change, as the file has it: codes and sentences."""
    return [
        (
            each["key"],
            each["change"],
            each["before"],
            each["after"],
            " ".join(each["member"]),
            each["upstream"],
        )
        for each in shown(result, result["groups"])
    ]
