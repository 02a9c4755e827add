"""Submitting a PodGroup: check where it would land, then submit; or paste manifests."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from scheduling.console.access import OPERATE, page
from scheduling.console.commands import NOT_DONE, actor, command_id, reasons, tell
from scheduling.console.explaining import funnel
from scheduling.console.forms.submit import SubmitForm, reshaped
from scheduling.console.pages import show
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.queues import Queue
from scheduling.models import Cluster
from scheduling.selectors import rack_map
from scheduling.services import workloads
from scheduling.services.explain import NEAR
from scheduling.services.state import state_of
from scheduling.wording import decisions


@page(OPERATE, "GET", "POST")
def submit_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """``tab=yaml``: manifests. POST ``action``: check, submit, or one that adds or removes a row of the
    form.
    """
    if request.GET.get("tab") == "yaml":
        return _manifests(request, cluster)
    if request.method != "POST":
        return _page(request, cluster, SubmitForm(topology_key=_default(_offered(cluster))))
    action = request.POST.get("action", "check")
    if action not in ("check", "submit"):
        return _page(request, cluster, SubmitForm(reshaped(request.POST, action)), untouched=True)
    form = SubmitForm(request.POST)
    if not form.is_valid():
        return _page(request, cluster, form, status=422)
    try:
        if action == "check":
            return _checked(request, cluster, form)
        done = workloads.submit(
            cluster=cluster, form=form.workload(), actor=actor(request), command_id=command_id(request)
        )
    except NOT_DONE as error:
        form.blame(reasons(error))
        return _page(request, cluster, form, status=422)
    given = form.group.cleaned_data
    key = f"{given['namespace']}/{given['name']}"
    messages.success(request, gettext("PodGroup %(group)s was submitted.") % {"group": key})
    tell(request, done)
    return redirect("pod-group", cluster.name, given["namespace"], given["name"])


def _page(
    request: HttpRequest, cluster: Cluster, form: SubmitForm, *, status: int = 200, **context: Any
) -> HttpResponse:
    keys = _offered(cluster)
    context |= {
        "form": form,
        "keys": keys,
        "queues": sorted(state_of(cluster).records.of(Queue)),
        "no_zones": all(entry["key"] != NUMA_KEY for entry in keys),
        "problems": form.problems,
    }
    return show(request, "submit.html", context, cluster=cluster, here="submit", status=status)


def _offered(cluster: Cluster) -> list[rack_map.TopologyKey]:
    """The keys that can be asked for: NUMA zones only when some node tells its own."""
    keys = rack_map.topology_keys(cluster)
    return [entry for entry in keys if entry["key"] != NUMA_KEY or entry["domains"]]


def _default(keys: list[rack_map.TopologyKey]) -> str:
    return keys[0]["key"] if keys else ""


def _checked(request: HttpRequest, cluster: Cluster, form: SubmitForm) -> HttpResponse:
    """Where it would land or why not: decided on the state as it is, nothing written."""
    would = workloads.preview_submit(cluster=cluster, form=form.workload())
    decision = would.decision
    context: dict[str, Any] = {
        "notices": would.notices,
        "decision": decision,
        "shown_verdict": str(decision.verdict),
        "sentences": decisions.sentences(decisions.facts_of_decision(decision)),
        "funnel": funnel(decision) if decision.funnel.domains else [],
        "domain_rows": decision.domains[:NEAR],
        "domains_hidden": max(0, len(decision.domains) - NEAR),
    }
    return _page(request, cluster, form, **context)


def _manifests(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    text = request.POST.get("text", "")
    context: dict[str, Any] = {"text": text, "tab": "yaml"}
    status = 200
    if request.method == "POST":
        try:
            done = workloads.submit_manifests(
                cluster=cluster, data=text.encode(), actor=actor(request), command_id=command_id(request)
            )
        except NOT_DONE as error:
            context["problems"] = reasons(error)
            status = 422
        else:
            messages.success(request, gettext("The manifests were submitted."))
            tell(request, done)
            return redirect("pending", cluster=cluster.name)
    return show(request, "submit_yaml.html", context, cluster=cluster, here="submit", status=status)
