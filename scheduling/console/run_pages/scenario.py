"""What the page of a run of a scenario shows: the verdict first, then both maps, what changed, and how long it
took.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from scheduling.console import map_messages
from scheduling.models import Cluster, Run
from scheduling.scenarios import documents
from scheduling.scenarios.documents import ScenarioDocument
from scheduling.selectors import clusters, past_map
from scheduling.selectors import workbench as selectors
from scheduling.scenarios import scenario_runs
from scheduling.wording import scenarios as wording

KIND = "scenario"
OTHERS = 30
"""Runs that one can be compared with."""
SCRIPTS = ("pair.js",)


def band(run: Run) -> dict[str, Any]:
    """What every page about a fork says of it: that it is none of the cluster, and how old its base is."""
    return {"what_if": run, "moved_on": clusters.head(run.cluster) - run.base_seq}


def context(request: HttpRequest, run: Run) -> dict[str, Any]:
    document: ScenarioDocument = documents.read(run.document)
    shown: dict[str, Any] = band(run) | {
        "document": document,
        "steps": [{"sentence": wording.step(step)} for step in document.steps],
    }
    if run.status != Run.Status.DONE or run.result is None:
        return shown
    result = run.result
    for step, told in zip(shown["steps"], result["steps"], strict=False):
        step |= told
    keys = past_map.topology_keys(scenario_runs.fork_state(run))
    asked = [_group(group) for group in result["asked"]]
    return shown | {
        "scripts": SCRIPTS,
        "result": result,
        "look": wording.LOOKS[result["verdict"]["code"]],
        "verdict": wording.verdict(result),
        "details": wording.details(result),
        "changed": wording.changed(result),
        "asked": asked,
        "others": [_group(group) for group in result["others"]],
        "keys": keys,
        "key": request.GET.get("key", ""),
        "figures": _figures(result),
        "messages_for_map": map_messages.messages(),
        "compared_with": _others(run.cluster, run),
    }


def _group(found: dict[str, Any]) -> dict[str, Any]:
    namespace, _slash, name = found["key"].partition("/")
    said = wording.told(found)
    return found | {"namespace": namespace, "name": name, "said": said[0] if said else ""}


def _figures(result: dict[str, Any]) -> list[tuple[str, int, int]]:
    """(name, before, after) of the figures of the cluster."""
    before, after = result["before"], result["after"]
    return [
        (name, before[name], after[name])
        for name in ("nodes", "usable", "gpus", "used", "running", "waiting")
    ]


def _others(cluster: Cluster, run: Run) -> list[Run]:
    found = selectors.runs(cluster, kinds=(KIND,)).filter(status=Run.Status.DONE).exclude(pk=run.pk)
    return list(found[:OTHERS])
