"""The ways out of a wait, each on a page that says what it does and what would come of it before it does it;
the default deadline of a cluster; domains marked lost.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console.access import OPERATE, page
from scheduling.console.commands import actor, carry_out, command_id
from scheduling.console.forms.waits import UNITS, DeadlineForm, NextForm, RestoreForm
from scheduling.console.pages import show
from scheduling.engine.model import PodGroup
from scheduling.engine.waits import WaitPolicy
from scheduling.models import Cluster
from scheduling.selectors import domains, rack_map, waits
from scheduling.services import deadlines, generations, lost_domains
from scheduling.services.execute import now_ms
from scheduling.services.generations import NextGeneration
from scheduling.services.problems import Refused
from scheduling.services.state import state_of
from scheduling.storable import is_storable
from scheduling.wording import decisions


def _open(cluster: Cluster, namespace: str, name: str) -> PodGroup:
    group = state_of(cluster).groups.get(f"{namespace}/{name}")
    if group is None:
        raise Http404(gettext("No generation of this PodGroup is open."))
    return group


@page(OPERATE, "GET", "POST")
def keep_waiting(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """GET asks; POST sets a deadline or none, or with ``default`` goes back to that of the cluster."""
    group = _open(cluster, namespace, name)
    if request.method == "POST" and "default" in request.POST:
        said = gettext("The default wait deadline of the cluster holds for PodGroup %(group)s again.")
        return carry_out(
            request,
            lambda: deadlines.withdraw_deadline(
                cluster=cluster,
                namespace=namespace,
                name=name,
                actor=actor(request),
                command_id=command_id(request),
            ),
            said % {"group": group.key},
            reverse("pod-group", args=[cluster.name, namespace, name]),
        )
    form = DeadlineForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        after = form.after()
        try:
            deadlines.set_deadline(
                cluster=cluster,
                namespace=namespace,
                name=name,
                at=None if after is None else now_ms() + after,
                action=form.cleaned_data["action"],
                actor=actor(request),
                command_id=command_id(request),
            )
        except Refused as refused:
            form.blame(refused.problems, {"at": "amount"})
        else:
            said = gettext("PodGroup %(group)s goes on waiting.") % {"group": group.key}
            messages.success(request, said)
            return redirect("pod-group", cluster.name, namespace, name)
    wait = waits.of_group(cluster, group.key)
    context: dict[str, Any] = {"group": group, "form": form, "wait": wait}
    if wait is not None and wait.default is not None:
        context["default_after"] = wait.default.after / 1000
    return _page(request, cluster, "wait_keep.html", context)


@page(OPERATE, "GET", "POST")
def restore(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """GET shows what would come of it; POST does it."""
    group = _open(cluster, namespace, name)
    form = RestoreForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        done = _opened(request, cluster, group, form, form.wanted())
        if done is not None:
            return done
    context = {"group": group, "form": form, **_forecast(cluster, group, form, NextGeneration())}
    return _page(request, cluster, "wait_restore.html", context)


@page(OPERATE, "GET", "POST")
def next_generation(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """GET shows the form, with ``topology_key``, ``min_count`` and ``checkpoint`` of the address in it; POST
    ``action``: check or open.
    """
    group = _open(cluster, namespace, name)
    form = NextForm(request.POST) if request.method == "POST" else NextForm.of(group)
    context: dict[str, Any] = {"group": group, "form": form, "keys": rack_map.topology_keys(cluster)}
    if request.method == "POST" and form.is_valid():
        wanted = form.wanted()
        if request.POST.get("action") == "open":
            done = _opened(request, cluster, group, form, wanted)
            if done is not None:
                return done
        else:
            context |= _forecast(cluster, group, form, wanted)
    elif request.method != "POST":
        for field in ("topology_key", "min_count", "checkpoint"):
            if field in request.GET:
                form.initial[field] = request.GET[field]
    return _page(request, cluster, "wait_next.html", context)


def _opened(
    request: HttpRequest,
    cluster: Cluster,
    group: PodGroup,
    form: RestoreForm | NextForm,
    wanted: NextGeneration,
) -> HttpResponse | None:
    """Where a command that was carried out leads; None when it was refused, which the form says then."""
    try:
        generations.open_next(
            cluster=cluster,
            namespace=group.namespace,
            name=group.name,
            wanted=wanted,
            actor=actor(request),
            command_id=command_id(request),
        )
    except Refused as refused:
        form.blame(refused.problems)
        return None
    said = gettext("Generation %(number)s of PodGroup %(group)s was opened; the next cycle decides about it.")
    messages.success(request, said % {"number": group.generation + 1, "group": group.key})
    return redirect("pod-group", cluster.name, group.namespace, group.name)


def _forecast(
    cluster: Cluster, group: PodGroup, form: RestoreForm | NextForm, wanted: NextGeneration
) -> dict[str, Any]:
    """What would be decided about it now; what keeps it from being opened goes to the form."""
    try:
        made = generations.preview_next(
            cluster=cluster, namespace=group.namespace, name=group.name, wanted=wanted
        )
    except Refused as refused:
        if form.is_bound:
            form.blame(refused.problems)
        else:
            form.problems += refused.problems
        return {}
    return {
        "forecast": made,
        "decision": made.decision,
        "shown_verdict": str(made.decision.verdict),
        "sentences": decisions.sentences(decisions.facts_of_decision(made.decision)),
    }


@page(OPERATE, "GET", "POST")
def wait_policy(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    known = waits.policy(cluster)
    form = DeadlineForm(request.POST or None, initial=_as_typed(known))
    if request.method == "POST" and form.is_valid():
        try:
            deadlines.set_policy(
                cluster=cluster,
                after=form.after(),
                action=form.cleaned_data["action"],
                actor=actor(request),
                command_id=command_id(request),
            )
        except Refused as refused:
            form.blame(refused.problems, {"after": "amount"})
        else:
            messages.success(request, gettext("The default wait deadline was changed."))
            return redirect("cluster-settings", cluster.name)
    context = {"form": form, "policy": known}
    return _page(request, cluster, "wait_policy.html", context, here="cluster-settings")


def _as_typed(policy: WaitPolicy | None) -> dict[str, Any]:
    """In the largest unit that gives a whole number."""
    if policy is None:
        return {}
    units = [(unit, size) for unit, size in UNITS.items() if policy.after % size == 0]
    unit, size = units[-1] if units else ("minutes", UNITS["minutes"])
    return {"amount": max(1, policy.after // size), "unit": unit, "action": policy.action}


@page(OPERATE, "GET", "POST")
def lost_domain(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """``key``, ``value``: the domain. GET asks; POST with ``lost`` (1 or 0) marks it or takes the mark
    back.
    """
    given = request.POST if request.method == "POST" else request.GET
    key, value = given.get("key", ""), given.get("value", "")
    if not is_storable(key + value):  # no label holds it, and the database compares no such text
        raise Http404(gettext("No node carries this label value."))
    mark = next(
        (mark for mark in waits.marked_lost(cluster) if (mark.topology_key, mark.domain) == (key, value)),
        None,
    )
    nodes = domains.nodes_of(cluster, key, value)
    if mark is None and not nodes:
        raise Http404(gettext("No node carries this label value."))
    if request.method == "POST":
        lost = request.POST.get("lost") == "1"
        command = lost_domains.mark if lost else lost_domains.take_back
        said = (
            gettext("Domain %(domain)s was marked lost.")
            if lost
            else gettext("Domain %(domain)s is not marked lost any more.")
        )
        return carry_out(
            request,
            lambda: command(
                cluster=cluster,
                topology_key=key,
                domain=value,
                actor=actor(request),
                command_id=command_id(request),
            ),
            said % {"domain": value},
            f"{reverse('domains', args=[cluster.name])}",
        )
    context = {"key": key, "value": value, "mark": mark, "nodes": nodes}
    return _page(request, cluster, "domain_lost.html", context, here="domains")


def _page(
    request: HttpRequest, cluster: Cluster, template: str, context: dict[str, Any], here: str = "pod-groups"
) -> HttpResponse:
    form = context.get("form")
    refused = form is not None and form.is_bound and (form.errors or form.problems)
    return show(request, template, context, cluster=cluster, here=here, status=422 if refused else 200)
