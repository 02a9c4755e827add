"""Preemption: the policy, the proposals that are open with what they cost, and what became of others."""

from __future__ import annotations

import re

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console import events
from scheduling.console import preemption as showing
from scheduling.console.access import OPERATE, SWITCH_GATE, VIEW, page
from scheduling.console.commands import actor, carry_out, command_id
from scheduling.console.pages import show
from scheduling.models import Cluster
from scheduling.selectors import preemption as selectors
from scheduling.services import preemption as services

_BETWEEN = re.compile(r"[\s,、]+")


@page(VIEW)
def preemption_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    found = selectors.current(cluster)
    context = {
        "tab": "preemption",
        "policy": showing.policy(found.policy),
        "plans": [showing.shown(cluster, plan) for plan in found.plans],
        "events": events.listed(selectors.happened(cluster)),
    }
    return show(request, "preemption.html", context, cluster=cluster, here="capacity")


@page(SWITCH_GATE, "POST")
def policy(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """``mode``, and ``queues`` separated by commas or spaces."""
    queues = [name for name in _BETWEEN.split(request.POST.get("queues", "")) if name]
    return carry_out(
        request,
        lambda: services.set_policy(
            cluster=cluster,
            mode=request.POST.get("mode", ""),
            queues=queues,
            actor=actor(request),
            command_id=command_id(request),
        ),
        gettext("The policy of preemption was set."),
        reverse("preemption", args=[cluster.name]),
    )


@page(OPERATE, "POST")
def propose(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    return carry_out(
        request,
        lambda: services.propose(
            cluster=cluster,
            namespace=namespace,
            name=name,
            actor=actor(request),
            command_id=command_id(request),
        ),
        gettext("A preemption was proposed. Nothing was evicted: look at what it costs first."),
        reverse("pod-group", args=[cluster.name, namespace, name]) + "#preemption",
    )


@page(OPERATE, "POST")
def approve(request: HttpRequest, cluster: Cluster, id: str) -> HttpResponse:
    return carry_out(
        request,
        lambda: services.approve(
            cluster=cluster, id=id, actor=actor(request), command_id=command_id(request)
        ),
        gettext("Preemption %(id)s was approved; the members were evicted.") % {"id": id},
        reverse("preemption", args=[cluster.name]),
    )


@page(OPERATE, "POST")
def reject(request: HttpRequest, cluster: Cluster, id: str) -> HttpResponse:
    return carry_out(
        request,
        lambda: services.reject(cluster=cluster, id=id, actor=actor(request), command_id=command_id(request)),
        gettext("Preemption %(id)s was rejected. Nobody was evicted.") % {"id": id},
        reverse("preemption", args=[cluster.name]),
    )
