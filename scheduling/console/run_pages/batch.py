"""The page of a batch: a heat map of its points, and their figures."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest

from scheduling.models import Run
from scheduling.scenarios import batches
from scheduling.wording import batches as words
from scheduling.wording import units

ROWS = 100
LEVELS = 5
"""Shades of a number, from none to the largest there is."""


def context(request: HttpRequest, run: Run) -> dict[str, Any]:
    if not run.result:
        verdicts = run.points.values_list("result__verdict", flat=True)
        return {"tab": "batches", "so_far": sorted(Counter(verdicts).items())}
    result = run.result
    measure = request.GET.get("show", "verdict" if result["group"] or _submits(run) else "waiting")
    measure = measure if measure in words.MEASURES else "verdict"
    points = _points(result)
    names = [words.axis(axis["axis"], axis["of"]) for axis in result["axes"]]
    rows = Paginator(points, ROWS).get_page(request.GET.get("page"))
    return {
        "tab": "batches",
        "measure": measure,
        "measures": words.MEASURES.items(),
        "names": names,
        "columns": result["axes"][-1]["values"],
        "grid": _grid(result, points, measure, names),
        "rows": rows,
        "figures": [words.COLUMNS[name] for name in words.COLUMNS],
        "workers": result["workers"].items(),
        "count": len(points),
        "tally": sorted(Counter(point["verdict"] for point in points).items()),
        "signs": words.SIGNS,
    }


def _submits(run: Run) -> bool:
    return any(step["step"].startswith("submit") for step in run.document["scenario"].get("steps", []))


def _points(result: dict[str, Any]) -> list[dict[str, Any]]:
    columns = result["columns"]
    ticks = [axis["values"] for axis in result["axes"]]
    made = []
    for index in range(len(columns["verdict"])):
        row = {name: column[index] for name, column in columns.items()}
        made.append(row | {"index": index, "values": batches.values_at(ticks, index)})
    return made


def _grid(
    result: dict[str, Any], points: list[dict[str, Any]], measure: str, names: list[str]
) -> list[dict[str, Any]]:
    """Rows of the map: with one axis a strip."""
    width = len(result["axes"][-1]["values"])
    heads = result["axes"][0]["values"] if len(result["axes"]) == 2 else [""]
    most = max((point[measure] for point in points), default=0) if measure != "verdict" else 0
    return [
        {
            "head": head,
            "cells": [
                _cell(point, measure, most, names) for point in points[place * width : (place + 1) * width]
            ],
        }
        for place, head in enumerate(heads)
    ]


def _cell(point: dict[str, Any], measure: str, most: int, names: list[str]) -> dict[str, Any]:
    told = words.point(names, point["values"], point)
    if measure == "verdict" or point["verdict"] == batches.REFUSED:
        look = point["verdict"]
        shown = words.SIGNS[point["verdict"]]
    else:
        look = f"n{-(-LEVELS * point[measure] // most) if most else 0}"
        shown = units.count(point[measure])
    return {"index": point["index"], "look": look, "shown": shown, "told": told}
