"""Topology domains: the list of one key, and one domain with its nodes and who is in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console.access import VIEW, page
from scheduling.console.pages import show
from scheduling.console.views.domain_table import live_table
from scheduling.engine.numa_names import NUMA_KEY, node_of
from scheduling.models import Cluster
from scheduling.selectors import domains, held_room, numa, rack_map, waits

EMPTY = "-"


@page(VIEW)
def domain_list(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    keys = rack_map.topology_keys(cluster)
    key = request.GET.get("key") or (keys[0]["key"] if keys else "")
    lost = waits.marked_lost(cluster)
    context = {"keys": keys, "key": key, "lost": lost, **live_table(request, cluster, key)}
    return show(request, "domains.html", context, cluster=cluster, here="domains")


def occupants(nodes: Iterable[Iterable[Any]]) -> list[dict[str, Any]]:
    """Who is on these nodes: pods, GPUs and number of nodes of each group, the most GPUs first. Of each node
    its ``(group key or "", pods, GPUs)``.
    """
    pods: dict[str, int] = defaultdict(int)
    gpus: dict[str, int] = defaultdict(int)
    where: dict[str, int] = defaultdict(int)
    for node in nodes:
        for group, number, devices in node:
            pods[group] += number
            gpus[group] += devices
            where[group] += 1
    rows = [
        {"group": group, "pods": pods[group], "gpus": gpus[group], "nodes": where[group]} for group in pods
    ]
    return sorted(rows, key=lambda row: (-int(row["gpus"]), row["group"] == "", row["group"]))


@page(VIEW)
def domain_page(request: HttpRequest, cluster: Cluster, value: str) -> HttpResponse:
    key = request.GET.get("key") or rack_map.default_key(cluster)
    domain = "" if value == EMPTY else value
    nodes = domains.nodes_of(cluster, key, domain)
    if key == NUMA_KEY and value == node_of(value):
        # The map shows nodes for this key; their zones are in the table.
        query = urlencode({"key": key, "q": f"{value}/"})
        return redirect(f"{reverse('domains', args=[cluster.name])}?{query}")
    if not nodes:
        raise Http404(gettext("No node carries this label value."))
    held = held_room.by_node(cluster)
    context = {
        "held": sum(held.get(node.name, 0) for node in nodes),
        "key": key,
        "value": domain,
        "nodes": nodes,
        "numa": key == NUMA_KEY,
        "total": domains.zone_row(cluster, domain) if key == NUMA_KEY else domains.summed(domain, nodes),
        "occupants": occupants(
            [numa.occupants(cluster, domain)] if key == NUMA_KEY else [node.occupants for node in nodes]
        ),
    }
    return show(request, "domain.html", context, cluster=cluster, here="domains")
