"""Scale-up: node types, plans for new nodes and what they promise, and the groups that wait for some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.api.capacity import plan_out
from scheduling.console.access import OPERATE, VIEW, page
from scheduling.console.commands import actor, carry_out, command_id
from scheduling.console.forms.capacity import PlanForm, TypeForm
from scheduling.console.pages import show
from scheduling.engine.node_types import PlanStatus, ScaleUpOption
from scheduling.kube.export import to_yaml
from scheduling.kube.growth_export import CLASSES
from scheduling.ledger.store import to_datetime
from scheduling.models import Cluster
from scheduling.selectors import capacity, rack_map
from scheduling.selectors.capacity import PlanAndNodes, TypeAndRoom
from scheduling.services import node_types, scale_up, scale_up_export
from scheduling.services.problems import NOT_FOUND, Refused
from scheduling.services.scale_up import JOIN_MINUTES, Approval
from scheduling.storable import is_storable
from scheduling.wording import problems, units, words
from scheduling.wording import scale_up as wording


@page(VIEW)
def capacity_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    return _page(request, cluster, None)


def _page(
    request: HttpRequest, cluster: Cluster, form: TypeForm | None, *, status: int = 200
) -> HttpResponse:
    """``form``: as it was sent, None for an empty one."""
    found = capacity.scale_up_view(cluster)
    keys = rack_map.topology_keys(cluster)
    plans = [_plan(item) for item in found.plans]
    context = {
        "tab": "capacity",
        "open_plans": [plan for plan in plans if plan["open"]],
        "closed_plans": [plan for plan in plans if not plan["open"]],
        "types": [_type(one) for one in found.types],
        "waiting": [
            {"key": one.key, "plan": one.plan, "why": wording.no_help(one.no_help) if one.no_help else ""}
            for one in found.waiting
        ],
        "plannable": sum(not one.plan and not one.no_help for one in found.waiting),
        "form": form or TypeForm(initial={"key": keys[0]["key"] if keys else ""}),
        "form_sent": form is not None,
        "keys": keys,
        "minutes": JOIN_MINUTES,
    }
    return show(request, "capacity.html", context, cluster=cluster, here="capacity", status=status)


def _plan(found: PlanAndNodes) -> dict[str, Any]:
    plan = found.plan
    first = plan.option
    return {
        "name": plan.name,
        "status": plan.status,
        "status_word": words.word(wording.STATUSES, plan.status),
        "open": plan.open,
        "approved": plan.status == PlanStatus.APPROVED,
        "groups": plan.groups,
        "sentence": wording.option_sentence(first),
        "costs": wording.costs(first),
        "cost_sentence": wording.cost_sentence(first),
        "proof": wording.proof(first),
        "nodes": first.nodes,
        "missing": first.nodes - len(found.joined),
        "joined": found.joined,
        "decided_on": plan.decided_on,
        "expires_at": to_datetime(plan.expires_at),
        "deadline": to_datetime(plan.deadline) if plan.deadline else None,
        "why": wording.outcome(plan),
        "options": [
            _option(place, option) for place, option in enumerate(plan.options) if option is not first
        ],
        "place": max(plan.chosen, 0),
    }


def _option(place: int, option: ScaleUpOption) -> dict[str, Any]:
    return {
        "place": place,
        "steps": wording.steps(option),
        "costs": wording.costs(option),
        "proof": wording.proof(option),
        "nodes": option.nodes,
    }


def _type(found: TypeAndRoom) -> dict[str, Any]:
    kind = found.kind
    return {
        "kind": kind,
        "cost": wording.type_cost(kind),
        "room": [
            gettext("%(kind)s %(domain)s: %(room)s of %(most)s")
            % {
                "kind": words.domain_kind(key),
                "domain": words.domain_name(key, domain),
                "room": units.count(room),
                "most": units.count(most),
            }
            for key, domain, most, room in found.room
        ],
    }


# ---------------------------------------------------------------- node types


@page(OPERATE, "POST")
def define_type(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    form = TypeForm(request.POST)
    if not form.is_valid():
        return _page(request, cluster, form, status=422)
    try:
        node_types.define(
            cluster=cluster, form=form.node_type(), actor=actor(request), command_id=command_id(request)
        )
    except Refused as refused:
        form.blame(refused.problems)
        return _page(request, cluster, form, status=422)
    messages.success(
        request, gettext("Node type %(type)s was defined.") % {"type": form.cleaned_data["name"]}
    )
    return redirect(f"{reverse('capacity', args=[cluster.name])}#types")


@page(OPERATE, "POST")
def remove_type(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    return _carried_out(
        request,
        cluster,
        lambda: node_types.remove(
            cluster=cluster, name=name, actor=actor(request), command_id=command_id(request)
        ),
        gettext("Node type %(type)s was removed.") % {"type": name},
    )


# ---------------------------------------------------------------- plans


@page(OPERATE, "POST")
def plan(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """``group``: the one of a button; else ``groups``: those that are ticked."""
    one = request.POST.get("group", "")
    groups = [key for key in ([one] if one else request.POST.getlist("groups")) if is_storable(key)]
    return _carried_out(
        request,
        cluster,
        lambda: scale_up.plan(
            cluster=cluster, groups=groups, actor=actor(request), command_id=command_id(request)
        ),
        gettext("A plan was made for %(groups)s.") % {"groups": ", ".join(groups)},
    )


@page(OPERATE, "POST")
def approve(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    form = PlanForm(request.POST)
    if not form.is_valid():
        return _not_a_number(request, cluster, form)
    approval = Approval(
        form.given("option", 0), form.given("minutes", JOIN_MINUTES), form.given("nodes", None)
    )
    return _carried_out(
        request,
        cluster,
        lambda: scale_up.approve(
            cluster=cluster,
            name=name,
            approval=approval,
            actor=actor(request),
            command_id=command_id(request),
        ),
        gettext("Plan %(plan)s was approved.") % {"plan": name},
    )


@page(OPERATE, "POST")
def reject(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    why = request.POST.get("why", "").strip()
    return _carried_out(
        request,
        cluster,
        lambda: scale_up.reject(
            cluster=cluster,
            name=name,
            why=why if is_storable(why) else "",
            actor=actor(request),
            command_id=command_id(request),
        ),
        gettext("Plan %(plan)s was rejected.") % {"plan": name},
    )


@page(OPERATE, "POST")
def join(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    form = PlanForm(request.POST)
    if not form.is_valid():
        return _not_a_number(request, cluster, form)
    return _carried_out(
        request,
        cluster,
        lambda: scale_up.provision(
            cluster=cluster,
            name=name,
            nodes=form.given("nodes", None),
            actor=actor(request),
            command_id=command_id(request),
        ),
        gettext("Nodes of plan %(plan)s joined.") % {"plan": name},
    )


@page(VIEW)
def export(request: HttpRequest, cluster: Cluster, name: str, form: str) -> HttpResponse:
    """``form``: json, provisioning-request or node-pools. ``option``: place of an option. A file; what cannot
    be exported is told on the page.
    """
    option = request.GET.get("option", "")
    place = int(option) if option.isascii() and option.isdigit() and len(option) < 4 else None
    try:
        if form == "json":
            return _file(f"{name}.json", "application/json", _json(cluster, name))
        if form == "provisioning-request":
            made = scale_up_export.provisioning_request(
                cluster=cluster,
                name=name,
                option=place,
                provisioning_class=request.GET.get("class", CLASSES[0]),
            )
        elif form == "node-pools":
            made = scale_up_export.node_pools(cluster=cluster, name=name, option=place)
        else:
            raise Http404
    except Refused as refused:
        if all(problem.reason == NOT_FOUND for problem in refused.problems):
            raise Http404(gettext("There is no plan of this name.")) from None
        for problem in refused.problems:
            messages.error(request, f"{problems.subject(problem)} {problems.sentence(problem)}".strip())
        return redirect("capacity", cluster.name)
    text = "---\n".join(map(to_yaml, made))
    return _file(f"{name}-{form}.yaml", "application/yaml", text)


def _json(cluster: Cluster, name: str) -> str:
    for found in capacity.scale_up_view(cluster).plans:
        if found.plan.name == name:
            return plan_out(found).model_dump_json(indent=2)
    raise Http404(gettext("There is no plan of this name."))


def _file(name: str, kind: str, text: str) -> HttpResponse:
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _not_a_number(request: HttpRequest, cluster: Cluster, form: PlanForm) -> HttpResponse:
    for name, faults in form.errors.items():
        messages.error(request, f"{name}: {' '.join(map(str, faults))}")
    return redirect("capacity", cluster.name)


def _carried_out(
    request: HttpRequest, cluster: Cluster, command: Callable[[], Any], done: str
) -> HttpResponse:
    return carry_out(request, command, done, reverse("capacity", args=[cluster.name]))
