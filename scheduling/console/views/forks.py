"""What is asked of a scenario's run: again on the newest event, and a PodGroup as it stands in its fork."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console import explaining, two_runs
from scheduling.console.access import RUN, VIEW, page
from scheduling.console.numbers import whole
from scheduling.console.pages import show, show_part
from scheduling.console.run_pages.scenario import band, others
from scheduling.console.views.remedies import change_rows
from scheduling.console.views.runs import find
from scheduling.console.views.scenarios import asked
from scheduling.engine.model import TAS_GATES
from scheduling.engine.state import ClusterState
from scheduling.models import Cluster, Run
from scheduling.scenarios import scenario_runs
from scheduling.scenarios.reality import reality as held_against
from scheduling.selectors import past_groups
from scheduling.services.explain import investigated
from scheduling.services.problems import Refused
from scheduling.wording import comparison, problems
from scheduling.wording import scenarios as wording

MEMBERS = 200


@page(RUN, "POST")
def run_again(request: HttpRequest, cluster: Cluster, number: int) -> HttpResponse:
    """The same document from the newest event on, whatever it began at."""
    run = find_scenario_run(cluster, number)
    newest = {name: value for name, value in run.document.items() if name != "at"}
    return asked(request, cluster, newest, run.scenario, reverse("run", args=[cluster.name, number]))


@page(VIEW)
def reality(request: HttpRequest, cluster: Cluster, number: int) -> HttpResponse:
    """Part of the page of a run: the groups that it submitted, held against what happened."""
    run = find_scenario_run(cluster, number)
    context: dict[str, Any] = {"run": run}
    try:
        groups = held_against(run)["groups"]
    except Refused as refused:
        context["error"] = "; ".join(problems.sentence(problem) for problem in refused.problems)
    except LookupError:
        context["error"] = gettext("The events at which it was forked are archived.")
    else:
        context["groups"] = [_held(group) for group in groups]
    return show_part(request, "parts/reality.html", context, cluster=cluster)


def _held(group: dict[str, Any]) -> dict[str, Any]:
    namespace, _slash, name = group["key"].partition("/")
    return group | {
        "namespace": namespace,
        "name": name,
        "look": {"agrees": "ok", "differs": "bad"}.get(group["verdict"], "info"),
        "said": wording.reality(group),
        "rows": wording.reality_rows(group),
    }


@page(VIEW)
def compare(request: HttpRequest, cluster: Cluster, number: int) -> HttpResponse:
    """``with``: the number of the other run."""
    other = whole(request.GET.get("with", ""))
    pair = [find_scenario_run(cluster, number)]
    if other is not None:
        pair.append(find_scenario_run(cluster, other))
    context: dict[str, Any] = {
        "tab": "scenarios",
        "run": pair[0],
        **band(pair[0]),
        "runs_to_choose": others(pair[0]),
    }
    done = [run for run in pair if run.status == Run.Status.DONE and run.result is not None]
    try:
        states = [scenario_runs.fork_state(run) for run in done]
    except LookupError:
        states = []
    if len(states) == 2:
        rows = two_runs.differing(pair[0], pair[1], states)
        context |= {
            "sides": [two_runs.side(run) for run in pair],
            "same_base": pair[0].base_seq == pair[1].base_seq,
            "rows": rows[: two_runs.MOST],
            "rows_hidden": max(0, len(rows) - two_runs.MOST),
            "figures": two_runs.figures(pair[0], pair[1]),
        }
    else:
        context |= {
            "not_done": [run for run in pair if run not in done],
            "archived": len(states) < len(done),
        }
    return show(request, "run_compare.html", context, cluster=cluster, here="scenarios")


@page(VIEW)
def group_page(
    request: HttpRequest, cluster: Cluster, number: int, namespace: str, name: str
) -> HttpResponse:
    """``domains=all`` shows every domain."""
    run = find_scenario_run(cluster, number)
    try:
        state = scenario_runs.fork_state(run)
    except LookupError:
        raise Http404(gettext("There is no such state any more, or not yet.")) from None
    group = past_groups.get(state, f"{namespace}/{name}")
    try:
        found = investigated(state, f"{namespace}/{name}")
    except Refused:
        group = None
    if group is None:
        raise Http404(gettext("There is no PodGroup of this name in the scenario.")) from None
    every = request.GET.get("domains") == "all"
    explanation = found.explanation
    members = sorted(state.members(group.key), key=lambda pod: pod.name)
    context = {
        **band(run),
        **_gates(state),
        **explaining.explained(explanation, group.status, every_domain=every),
        "tab": "scenarios",
        "run": run,
        "group": group,
        "group_key": group.key,
        "changes": change_rows(found.changes, group.topology_key if state.tas_enforced else ""),
        "comparison": found.comparison,
        "upstream": found.comparison.upstream,
        "upstream_sentences": comparison.sentences(found.comparison),
        "members": members[:MEMBERS],
        "members_hidden": max(0, len(members) - MEMBERS),
    }
    return show(request, "run_group.html", context, cluster=cluster, here="scenarios")


def find_scenario_run(cluster: Cluster, number: int) -> Run:
    run = find(cluster, number)
    if run.kind != scenario_runs.KIND:
        raise Http404(gettext("This run is of no scenario."))
    return run


def _gates(state: ClusterState) -> dict[str, Any]:
    """Whether the law holds in the fork, in place of whether it does in the cluster."""
    off = [gate for gate in TAS_GATES if not state.gates.get(gate, False)]
    return {"enforced": not off}
