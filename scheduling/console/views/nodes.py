"""Nodes: the list, one node, cordon and uncordon."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console import events
from scheduling.console.access import OPERATE, VIEW, page
from scheduling.console.commands import actor, carry_out, command_id
from scheduling.console.pages import show
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.models import Cluster, NodeRow
from scheduling.selectors import history, nodes, numa, rack_map
from scheduling.services import nodes as services
from scheduling.services.state import state_of


@page(VIEW)
def node_list(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """``q`` (part of the name), ``state``, ``label`` (``key`` or ``key=value``), ``after``."""
    keys = rack_map.topology_keys(cluster)
    key = keys[0]["key"] if keys else ""
    filters: dict[str, Any] = {
        "text": request.GET.get("q", "").strip(),
        "state": request.GET.get("state", ""),
        "label": request.GET.get("label", "").strip(),
    }
    found = nodes.page(cluster, **filters, after=request.GET.get("after", ""))
    context = {
        **filters,
        "key": key,
        "keys": keys,
        "rows": [{"row": row, "domain": _domain(row, key)} for row in found.items],
        "next": found.next,
    }
    return show(request, "nodes.html", context, cluster=cluster, here="nodes")


def _domain(row: NodeRow, key: str) -> str | None:
    """The node's domain; for NUMA zones the node itself, whose page of that name leads to its zones."""
    if key == NUMA_KEY:
        return row.name if row.zones else None
    found: str | None = row.labels.get(key)
    return found


@page(VIEW)
def node_page(request: HttpRequest, cluster: Cluster, node: str) -> HttpResponse:
    try:
        row = nodes.get(cluster, node)
    except NodeRow.DoesNotExist:
        raise Http404(gettext("There is no node of this name.")) from None
    state = state_of(cluster)
    held = state.held(node) if node in state.nodes else {}
    resources = [
        {
            "name": name,
            "has": has,
            "used": row.used.get(name, 0),
            "free": has - row.used.get(name, 0),
            "held": held.get(name, 0),
        }
        for name, has in sorted(row.allocatable.items())
    ]
    context = {
        "row": row,
        "labels": sorted(row.labels.items()),
        "keys": {entry["key"] for entry in rack_map.topology_keys(cluster)},
        "resources": resources,
        "numa_key": NUMA_KEY,
        "held": bool(held),
        "zones": numa.zones_of(cluster, node) if row.zones and not row.removed else [],
        "pods": nodes.pods_on(cluster, node),
        "events": events.listed(history.of_object(cluster, "node", "", node)),
    }
    return show(request, "node.html", context, cluster=cluster, here="nodes")


@page(OPERATE, "POST")
def cordon(request: HttpRequest, cluster: Cluster, node: str) -> HttpResponse:
    return carry_out(
        request,
        lambda: services.cordon(
            cluster=cluster, node=node, actor=actor(request), command_id=command_id(request)
        ),
        gettext("Node %(node)s was cordoned.") % {"node": node},
        reverse("node", args=[cluster.name, node]),
    )


@page(OPERATE, "POST")
def uncordon(request: HttpRequest, cluster: Cluster, node: str) -> HttpResponse:
    return carry_out(
        request,
        lambda: services.uncordon(
            cluster=cluster, node=node, actor=actor(request), command_id=command_id(request)
        ),
        gettext("Node %(node)s was uncordoned.") % {"node": node},
        reverse("node", args=[cluster.name, node]),
    )
