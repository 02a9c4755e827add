"""Settings of a cluster: feature gates and mode, each behind a page that tells the consequence; import
again.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console.access import SWITCH_GATE, VIEW, page
from scheduling.console.commands import actor, carry_out, command_id
from scheduling.console.pages import show
from scheduling.console.rehearsing import offered
from scheduling.engine.model import TAS_GATES
from scheduling.models import Cluster, PodGroupRow
from scheduling.selectors import canary, clusters, pod_groups, waits
from scheduling.services import clusters as services
from scheduling.wording import words


@page(VIEW)
def settings_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    policy = waits.policy(cluster)
    context = {
        "gates": [(name, cluster.gates.get(name, False)) for name in TAS_GATES],
        "wait_policy": policy,
        "wait_after": 0 if policy is None else policy.after / 1000,
    }
    return show(request, "cluster_settings.html", context, cluster=cluster, here="cluster-settings")


@page(VIEW)
def gates_banner(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """What an open page asks when the log has grown: whether a gate is off now.

    ``shown``: the gates that the page calls off, joined by commas; ``canary``: the one that it names, with
    its status. 204 while that is right, so that the banner is not said again at every event; else the banner,
    or its empty place.
    """
    off, now = clusters.off_gates(cluster), canary.undecided(cluster)
    named = "" if now is None else f"{now.id} {now.status} {now.stage}"
    if (request.GET.get("shown"), request.GET.get("canary", "")) == (",".join(off), named):
        return HttpResponse(status=204)
    context = {"cluster": cluster, "off_gates": off, "canary_now": now, "role": "alert"}
    return render(request, "scheduling/parts/gates_banner.html", context)


@page(SWITCH_GATE, "GET", "POST")
def gate(request: HttpRequest, cluster: Cluster, gate: str) -> HttpResponse:
    """GET asks, POST with ``enabled`` (1 or 0) switches."""
    if gate not in TAS_GATES:
        raise Http404(gettext("There is no feature gate of this name."))
    if request.method == "POST":
        enabled = request.POST.get("enabled") == "1"
        done = (
            gettext("Feature gate %(gate)s was switched on.")
            if enabled
            else gettext("Feature gate %(gate)s was switched off.")
        )
        return carry_out(
            request,
            lambda: services.set_gate(
                cluster=cluster,
                gate=gate,
                enabled=enabled,
                actor=actor(request),
                command_id=command_id(request),
            ),
            done % {"gate": gate},
            reverse("cluster-settings", args=[cluster.name]),
        )
    off = clusters.off_gates(cluster)
    now_on = gate not in off
    context = {
        "gate": gate,
        "now_on": now_on,
        "stays_off": [name for name in off if name != gate],
        "constrained": len(pod_groups.constrained_keys(cluster)),
        **offered(cluster, {gate: not now_on}),
    }
    return show(request, "gate.html", context, cluster=cluster, here="cluster-settings")


@page(SWITCH_GATE, "GET", "POST")
def mode(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """GET asks, POST with ``mode`` changes it."""
    other = Cluster.Mode.OBSERVED if cluster.mode == Cluster.Mode.SIMULATED else Cluster.Mode.SIMULATED
    if request.method == "POST":
        wanted = request.POST.get("mode", "")
        return carry_out(
            request,
            lambda: services.set_mode(
                cluster=cluster, mode=wanted, actor=actor(request), command_id=command_id(request)
            ),
            gettext("The cluster became %(mode)s.") % {"mode": words.word(words.MODES, wanted)},
            reverse("cluster-settings", args=[cluster.name]),
        )
    waiting = PodGroupRow.Status.PENDING
    context = {"other": other.value, "pending_groups": pod_groups.count(cluster, waiting)}
    return show(request, "mode.html", context, cluster=cluster, here="cluster-settings")
