"""Canaries: the one that is judged, started and decided about, and those that were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console import events
from scheduling.console.access import SWITCH_GATE, VIEW, page
from scheduling.console.commands import NOT_DONE, actor, carry_out, command_id, reasons
from scheduling.console.forms.canary import CanaryForm, reshaped
from scheduling.console.pages import show
from scheduling.models import Cluster
from scheduling.selectors import canary as selectors
from scheduling.selectors import clusters, pod_groups
from scheduling.selectors.event_search import Filters, search
from scheduling.services import canary as services

NAMED = 500
"""Groups that the form offers."""
TOLD = 20
"""Events of the canary that are listed."""

_ACTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "approve": (services.approve, lambda: gettext("What its verdict asks for was done.")),
    "widen": (services.widen, lambda: gettext("The next stage began.")),
    "rollback": (services.roll_back_now, lambda: gettext("It was rolled back.")),
    "stop": (services.stop, lambda: gettext("It was stopped.")),
}


@page(VIEW, "GET", "HEAD", "POST")
def canary_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """POST starts a canary, or with ``action`` changes the rows of the form, which takes the right to switch
    gates. ``namespace``, ``group``: for the form.
    """
    if request.method != "POST":
        begin = {"namespaces": request.GET.get("namespace", ""), "groups": request.GET.get("group", "")}
        return _page(request, cluster, CanaryForm(initial=begin))
    if not request.user.has_perm(SWITCH_GATE):
        raise PermissionDenied
    if action := request.POST.get("action", ""):
        return _page(request, cluster, CanaryForm(reshaped(request.POST, action)), unjudged=True)
    form = CanaryForm(request.POST)
    if not form.is_valid():
        return _page(request, cluster, form, status=422)
    try:
        services.start(
            cluster=cluster, wish=form.wish(), actor=actor(request), command_id=command_id(request)
        )
    except NOT_DONE as error:
        form.blame(reasons(error))
        return _page(request, cluster, form, status=422)
    messages.success(request, gettext("The canary began."))
    return redirect("canary", cluster.name)


def _page(
    request: HttpRequest, cluster: Cluster, form: CanaryForm, *, status: int = 200, unjudged: bool = False
) -> HttpResponse:
    """``unjudged``: the form is only changed, so that what is not filled in yet is no mistake."""
    if unjudged:
        for each in (form.main, *form.stages):
            each.is_valid()
            each.errors.clear()
    found = selectors.current(cluster)
    told = search(cluster, Filters(canary=found.now.canary.id), limit=TOLD).items if found.now else []
    context = {
        "tab": "canary",
        "now": found.now,
        "kept": found.kept,
        "over": found.over,
        "events": events.listed(told),
        "form": form,
        "all_on": not clusters.off_gates(cluster),
        "namespaces": pod_groups.namespaces(cluster),
        "groups": sorted(pod_groups.constrained_keys(cluster))[:NAMED],
    }
    return show(request, "canary.html", context, cluster=cluster, here="rollout", status=status)


@page(SWITCH_GATE, "POST")
def canary_action(request: HttpRequest, cluster: Cluster, name: str, action: str) -> HttpResponse:
    """``action``: approve, widen, rollback or stop."""
    if action not in _ACTIONS:
        raise Http404(gettext("There is no such action."))
    command, done = _ACTIONS[action]
    return carry_out(
        request,
        lambda: command(cluster=cluster, name=name, actor=actor(request), command_id=command_id(request)),
        done(),
        reverse("canary", args=[cluster.name]),
    )
