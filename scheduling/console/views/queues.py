"""Queues: use, order and who waits; define, edit, remove."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console.access import OPERATE, VIEW, page
from scheduling.console.commands import actor, carry_out, command_id
from scheduling.console.forms.holds import QueueForm
from scheduling.console.pages import show
from scheduling.engine.queues import Queue
from scheduling.models import Cluster
from scheduling.selectors import queues
from scheduling.services import holding
from scheduling.services.problems import Refused
from scheduling.services.state import state_of

SHOWN = 50
"""Groups of the order that the page has."""


@page(VIEW, "GET", "HEAD", "POST")
def queues_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """POST defines a queue, which takes the right to operate. ``edit``: the one that the form begins with."""
    if request.method != "POST":
        queue = state_of(cluster).records.of(Queue).get(request.GET.get("edit", ""))
        begin = (
            {}
            if queue is None
            else {
                "name": queue.name,
                "priority": queue.priority,
                "quota": queue.quota,
                "order": queue.order,
            }
        )
        return _page(request, cluster, QueueForm(initial=begin))
    if not request.user.has_perm(OPERATE):
        raise PermissionDenied
    form = QueueForm(request.POST)
    if not form.is_valid():
        return _page(request, cluster, form, status=422)
    try:
        holding.define_queue(
            cluster=cluster, queue=form.queue(), actor=actor(request), command_id=command_id(request)
        )
    except Refused as refused:
        form.blame(refused.problems)
        return _page(request, cluster, form, status=422)
    messages.success(request, gettext("Queue %(name)s is defined.") % {"name": form.cleaned_data["name"]})
    return redirect("queues", cluster.name)


def _page(request: HttpRequest, cluster: Cluster, form: QueueForm, *, status: int = 200) -> HttpResponse:
    state = state_of(cluster)
    turns, waiting = queues.order(state, SHOWN)
    context = {
        "form": form,
        "rows": queues.standings(state),
        "turns": turns,
        "waiting": waiting,
        "undefined": queues.undefined(state),
        "tab": "queues",
    }
    return show(request, "queues.html", context, cluster=cluster, here="capacity", status=status)


@page(OPERATE, "POST")
def remove(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    return carry_out(
        request,
        lambda: holding.remove_queue(
            cluster=cluster, name=name, actor=actor(request), command_id=command_id(request)
        ),
        gettext("Queue %(name)s was removed.") % {"name": name},
        reverse("queues", args=[cluster.name]),
    )
