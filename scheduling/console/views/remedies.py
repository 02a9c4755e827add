"""Parts of the page of one PodGroup that take longer than the page: what would make it run, and what
kube-scheduler would do. The page asks for them when it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console.access import VIEW, page
from scheduling.console.pages import show_part
from scheduling.engine.change_steps import EndGroup, NewGeneration, ReleaseReservation, Step, Uncordon
from scheduling.engine.changes import ChangeSet
from scheduling.models import Cluster
from scheduling.services import explain
from scheduling.services.problems import Refused
from scheduling.wording import changes as wording
from scheduling.wording import comparison as comparing
from scheduling.wording.decisions import joined

FIRST = 3
"""Change sets that fit beside the map."""


@page(VIEW)
def changes(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """``brief=1``: the first few as links, for the aside of the map."""
    try:
        found = explain.remedies(cluster=cluster, namespace=namespace, name=name)
    except Refused:
        raise Http404(gettext("There is no PodGroup of this name.")) from None
    here = reverse("pod-group", args=[cluster.name, namespace, name])
    context = {
        "changes": change_rows(found.changes, found.scope_key),
        "here": here,
        "namespace": namespace,
        "name": name,
        "group_key": f"{namespace}/{name}",
    }
    if request.GET.get("brief"):
        context["changes"] = context["changes"][:FIRST]
        return show_part(request, "parts/changes_brief.html", context, cluster=cluster)
    return show_part(request, "parts/changes.html", context, cluster=cluster)


@page(VIEW)
def upstream(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    try:
        found = explain.comparison(cluster=cluster, namespace=namespace, name=name)
    except Refused:
        raise Http404(gettext("There is no PodGroup of this name.")) from None
    context = {"comparison": found, "sentences": comparing.sentences(found), "upstream": found.upstream}
    return show_part(request, "parts/upstream.html", context, cluster=cluster)


def change_rows(found: Iterable[ChangeSet], scope_key: str) -> list[dict[str, Any]]:
    """Change sets as ``parts/changes.html`` shows them."""
    return [_entry(change, scope_key) for change in found]


def _entry(change: ChangeSet, key: str) -> dict[str, Any]:
    actions = [_action(step) for step in change.steps]
    return {
        "id": change.id,
        "done": joined(wording.done(change, key)),
        "outcome": wording.outcome(change, key),
        "label": wording.label(change, key),
        "actions": actions if all(actions) else [],
    }


def _action(step: Step) -> dict[str, str] | None:
    """The command that does the step, or the page that asks before it; None when there is none."""
    match step:
        case Uncordon(node=node):
            return {"command": "uncordon", "node": node}
        case EndGroup(group=group):
            namespace, _, name = group.partition("/")
            return {"command": "end", "group": group, "namespace": namespace, "name": name}
        case ReleaseReservation(name=name):
            return {"command": "release", "name": name}
        case NewGeneration(min_count=min_count):
            return {"command": "next", "min_count": str(min_count)}
        case _:
            return None
