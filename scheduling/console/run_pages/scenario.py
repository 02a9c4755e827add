"""What the page of a scenario's run shows: the verdict first, then both maps, what changed, how long."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from scheduling.console import map_messages
from scheduling.models import Run
from scheduling.scenarios import documents, scenario_runs
from scheduling.scenarios.scenario_runs import KIND
from scheduling.selectors import clusters, past_map
from scheduling.selectors import workbench as selectors
from scheduling.wording import scenarios as wording

OTHERS = 30
"""Runs that one can be compared with."""
SCRIPTS = ("pair.js",)


def band(run: Run) -> dict[str, Any]:
    """What every page about a fork says of it: that it is none of the cluster, and how old its base is."""
    return {"what_if": run, "moved_on": clusters.head(run.cluster) - run.base_seq}


def context(request: HttpRequest, run: Run) -> dict[str, Any]:
    document = documents.read(run.document)
    steps: list[dict[str, Any]] = [{"sentence": wording.step(step)} for step in document.steps]
    shown = band(run) | {
        "scripts": SCRIPTS,
        "document": document,
        "yaml": documents.to_yaml(document),
        "steps": steps,
    }
    if run.status != Run.Status.DONE or run.result is None:
        return shown
    result = run.result
    for step, told in zip(steps, result["steps"], strict=True):
        step |= told
    return shown | {
        **_pictures(run),
        "result": result,
        "look": wording.LOOKS[result["verdict"]["code"]],
        "verdict": wording.verdict(result),
        "details": wording.details(result),
        "changed": wording.changed(result),
        "asked": [group_row(group) for group in result["asked"]],
        "others": [group_row(group) for group in result["others"]],
        "others_hidden": result["other_count"] - len(result["others"]),
        "key": request.GET.get("key", ""),
        "submitted": any(group["role"] == "submitted" for group in result["asked"]),
        "picked": _picked(result["asked"]),
        "figures": wording.figures(result),
        "timing": wording.timing(result["timing"]),
        "messages_for_map": map_messages.messages(),
        "address": request.build_absolute_uri(reverse("run", args=[run.cluster.name, run.number])),
        "compared_with": others(run),
    }


def _pictures(run: Run) -> dict[str, Any]:
    """``pictures``: where the maps come from; none once its base is archived."""
    try:
        state = scenario_runs.fork_state(run)
    except LookupError:
        return {}
    return {
        "pictures": f"/api/v1/clusters/{run.cluster.name}/runs/{run.number}/map",
        "keys": past_map.topology_keys(state),
    }


def group_row(found: dict[str, Any]) -> dict[str, Any]:
    """A GROUP of a result as a row of a table."""
    namespace, _slash, name = found["key"].partition("/")
    said = wording.told(found)
    return found | {"namespace": namespace, "name": name, "said": said[0] if said else ""}


def _picked(asked: list[dict[str, Any]]) -> str:
    """The group that the maps stress: the first that was submitted, else the first that the steps touched."""
    submitted = [group["key"] for group in asked if group["role"] == "submitted"]
    return next(iter([*submitted, *(group["key"] for group in asked)]), "")


def others(run: Run) -> list[Run]:
    """Runs that this one can be compared with."""
    found = selectors.runs(run.cluster, kinds=(KIND,)).filter(status=Run.Status.DONE).exclude(pk=run.pk)
    return list(found[:OTHERS])
