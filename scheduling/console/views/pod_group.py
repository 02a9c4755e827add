"""One PodGroup: why it is where it is or why it waits, its members, generations, events and manifest."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console import events, explaining
from scheduling.console import preemption as showing
from scheduling.console.access import OPERATE, VIEW, page
from scheduling.console.commands import actor, carry_out, command_id
from scheduling.console.pages import show
from scheduling.kube import export
from scheduling.models import Cluster, PodGroupRow
from scheduling.selectors import capacity, history, lineage, pod_groups, preemption, waits
from scheduling.services import workloads
from scheduling.services.state import state_of

MEMBERS = 500
EVENTS = 30


@page(VIEW)
def pod_group_page(
    request: HttpRequest, cluster: Cluster, namespace: str, name: str, generation: int | None = None
) -> HttpResponse:
    """``domains=all`` shows every domain, ``tab=yaml`` the manifests."""
    try:
        row = pod_groups.current(cluster, namespace, name, generation)
    except PodGroupRow.DoesNotExist:
        raise Http404(gettext("There is no PodGroup of this name.")) from None
    told = lineage.lineage(cluster, namespace, name)
    context: dict[str, Any] = {
        "row": row,
        "generations": pod_groups.generations(cluster, namespace, name),
        "lineage": {each.uid: each for each in told},
    }
    if request.GET.get("tab") == "yaml":
        context |= {"tab": "yaml", "yaml": _manifests(cluster, row)}
        return show(request, "pod_group_yaml.html", context, cluster=cluster, here="pod-groups")
    members = [] if row.closed else pod_groups.members(cluster, namespace, name)
    happened = history.of_object(cluster, "podgroup", namespace, name, limit=EVENTS)
    context |= {
        **explaining.context(cluster, row, every_domain=request.GET.get("domains") == "all"),
        **explaining.queue_context(cluster, row),
        "wait": None if row.closed else waits.of_group(cluster, row.key),
        "members": members[:MEMBERS],
        **_preemption(cluster, row),
        "members_hidden": max(0, len(members) - MEMBERS),
        "events": events.listed(happened),
        "scale_up_plan": "" if row.closed else capacity.open_plan_for(state_of(cluster), row.key),
    }
    return show(request, "pod_group.html", context, cluster=cluster, here="pod-groups")


def _preemption(cluster: Cluster, row: PodGroupRow) -> dict[str, Any]:
    """The policy and the open proposal, for a group that is not closed."""
    if row.closed:
        return {}
    policy, plan = preemption.of_group(cluster, row.key)
    return {
        "preemption_mode": policy.mode,
        "plan": showing.shown(cluster, plan) if plan is not None else None,
    }


def _manifests(cluster: Cluster, row: PodGroupRow) -> str:
    """PodGroup and members as manifests; "" for a generation that is closed or a PodGroup that does not
    exist.
    """
    state = state_of(cluster)
    group = state.groups.get(row.key)
    if group is None or group.uid != row.uid:
        return ""
    parts = [export.pod_group_manifest(group)]
    parts += [export.pod_manifest(pod) for pod in sorted(state.members(row.key), key=lambda pod: pod.name)]
    return "---\n".join(export.to_yaml(part) for part in parts)


@page(OPERATE, "POST")
def end(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    return carry_out(
        request,
        lambda: workloads.end_group(
            cluster=cluster,
            namespace=namespace,
            name=name,
            actor=actor(request),
            command_id=command_id(request),
        ),
        gettext("PodGroup %(group)s was ended.") % {"group": f"{namespace}/{name}"},
        reverse("pod-group", args=[cluster.name, namespace, name]),
    )


@page(OPERATE, "POST")
def delete_member(
    request: HttpRequest, cluster: Cluster, namespace: str, name: str, uid: str
) -> HttpResponse:
    return carry_out(
        request,
        lambda: workloads.delete_member(
            cluster=cluster, uid=uid, actor=actor(request), command_id=command_id(request)
        ),
        gettext("The member was deleted; its controller makes another one."),
        reverse("pod-group", args=[cluster.name, namespace, name]),
    )
