"""A replay of a trace: the figures, the plots and what lies behind them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext

from scheduling.console.numbers import whole
from scheduling.models import Run
from scheduling.scenarios import trace_runs
from scheduling.selectors import workbench as selectors
from scheduling.wording import traces as wording

MOST_ROWS = 60
"""Of the table beside the plots; the file has every point."""

OTHERS = 20
"""Replays that can be put into the same plots."""


def context(request: HttpRequest, run: Run) -> dict[str, Any]:
    """``with``: the number of another replay that is drawn into the same plots."""
    found: dict[str, Any] = {
        "scripts": ("plots.js",),
        "styles": ("plots.css",),
        "document": trace_runs.TraceDocument.model_validate(run.document),
        "gates_off": [name for name, on in trace_runs.gates_of_run(run).items() if not on],
    }
    if run.result is None:
        return found
    others = selectors.runs(run.cluster, (trace_runs.KIND,)).filter(status=Run.Status.DONE)
    other = _other(request, run)
    series = run.result["series"]
    step = -(-len(series["at_ms"]) // MOST_ROWS)
    return found | {
        "result": run.result,
        "others": others.exclude(pk=run.pk)[:OTHERS],
        "other": other,
        "plots": _plots(run, other),
        "figures": [_figures(each) for each in (run, other) if each is not None],
        "step": step,
        "columns": _names(series),
        "rows": [
            [at, *(values[place] for values in _columns(series))]
            for place, at in list(enumerate(series["at_ms"]))[::step]
        ],
    }


def _other(request: HttpRequest, run: Run) -> Run | None:
    given = whole(request.GET.get("with", ""))
    if given is None:
        return None
    try:
        other = selectors.run(run.cluster, given)
    except Run.DoesNotExist:
        return None
    return other if other.kind == trace_runs.KIND and other.result is not None and other != run else None


def _figures(run: Run) -> dict[str, Any]:
    assert run.result is not None
    return {"run": run, **run.result}


def _names(series: dict[str, Any]) -> list[str]:
    use = [gettext("use of %(resource)s, ‰") % {"resource": name} for name in series["use_per_mille"]]
    quota = [
        gettext("use of the quota of %(resource)s, ‰") % {"resource": name}
        for name in series["quota_use_per_mille"]
    ]
    return [
        *use, *quota, gettext("waiting, thousandths"), gettext("fragmentation, ‰"), gettext("placed"),
        gettext("mean wait, ms"),
    ]  # fmt: skip


def _columns(series: dict[str, Any]) -> list[list[int]]:
    return [
        *series["use_per_mille"].values(), *series["quota_use_per_mille"].values(),
        series["waiting_thousandths"], series["fragmentation_per_mille"], series["placed"],
        series["mean_wait_ms"],
    ]  # fmt: skip


def _plots(run: Run, other: Run | None) -> dict[str, Any]:
    """What ``plots.ts`` draws: for each plot its title, unit and lines. Points of lines are [ms, value];
    ``by``: what a value is divided by. A second run is drawn dashed.
    """
    charts: dict[str, dict[str, Any]] = {
        "use": {"title": str(wording.PLOTS["use"]), "unit": "%", "by": 10, "lines": []},
        "waiting": {"title": str(wording.PLOTS["waiting"]), "unit": "", "by": 1000, "lines": []},
        "fragmentation": {"title": str(wording.PLOTS["fragmentation"]), "unit": "%", "by": 10, "lines": []},
        "wait": {"title": str(wording.PLOTS["wait"]), "unit": "s", "by": 1000, "lines": []},
    }
    for each in (run, other):
        if each is None:
            continue
        assert each.result is not None
        series = each.result["series"]
        for name, values in series["use_per_mille"].items():
            _draw(charts["use"], name, each, run, values)
        for name, values in series["quota_use_per_mille"].items():
            _draw(charts["use"], gettext("quota of %(resource)s") % {"resource": name}, each, run, values)
        _draw(charts["waiting"], gettext("waiting"), each, run, series["waiting_thousandths"])
        _draw(
            charts["fragmentation"], gettext("free of no use"), each, run, series["fragmentation_per_mille"]
        )
        placed = series["placed"]
        mean = [wait if number else None for wait, number in zip(series["mean_wait_ms"], placed, strict=True)]
        _draw(charts["wait"], gettext("mean wait"), each, run, mean)
    return {"time": gettext("time of the trace"), "charts": list(charts.values())}


def _draw(chart: dict[str, Any], label: str, run: Run, first: Run, values: list[int | None]) -> None:
    assert run.result is not None
    label = f"{label} ({run.number})"
    chart["lines"].append(
        {"label": label, "dashed": run != first, "at": run.result["series"]["at_ms"], "values": values}
    )
