"""The rack map as it is, its table of domains for whoever cannot use a picture, and the verdict of the picked
group.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from scheduling.console import explaining, map_messages
from scheduling.console.access import VIEW, page
from scheduling.console.pages import show, show_part
from scheduling.console.views import past_map
from scheduling.console.views.domain_table import live_table, zones_told
from scheduling.models import Cluster, PodGroupRow
from scheduling.selectors import pending, pod_groups, rack_map

PICKABLE = 50


@page(VIEW)
def first_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    return redirect("map", cluster=cluster.name)


@page(VIEW)
def map_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """``key``: topology key; ``view=table`` with ``q``, ``free``, ``sort``, ``dir``, ``from``; ``pg``:
    picked group; ``at``: the past moment to show instead, ``against``: the one to compare it with.
    """
    if "at" in request.GET:
        return past_map.show_past(request, cluster)
    keys = rack_map.topology_keys(cluster)
    key = request.GET.get("key") or (keys[0]["key"] if keys else "")
    context: dict[str, Any] = {
        "keys": keys,
        "key": key,
        "zones_told": zones_told(keys),
        "kpi": rack_map.kpi(cluster, key),
    }
    if request.GET.get("view") == "table":
        return show(
            request,
            "map_table.html",
            context | live_table(request, cluster, key),
            cluster=cluster,
            here="map",
        )
    context |= {
        "messages_for_map": map_messages.messages(),
        "waiting": pending.page(cluster, limit=PICKABLE),
        **_picked(cluster, request.GET.get("pg", "")),
    }
    return show(request, "map.html", context, cluster=cluster, here="map")


def _picked(cluster: Cluster, key: str) -> dict[str, Any]:
    namespace, _, name = key.partition("/")
    if not name:
        return {"group": None}
    try:
        row = pod_groups.current(cluster, namespace, name)
    except PodGroupRow.DoesNotExist:
        return {"group": None, "unknown_group": key}
    return {"group": row, **explaining.context(cluster, row)}


@page(VIEW)
def picked_group(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """The aside of the map for the group and the moment that the address of the page names
    (``HX-Current-URL``), or ``pg`` and ``at``.
    """
    shown = parse_qs(urlsplit(request.headers.get("HX-Current-URL", "")).query)
    picked = request.GET.get("pg", shown.get("pg", [""])[0])
    at = request.GET.get("at", shown.get("at", [""])[0])
    if at:
        return past_map.show_past_group(request, cluster, at, picked)
    context = _picked(cluster, picked) | {"waiting": pending.page(cluster, limit=PICKABLE)}
    return show_part(request, "parts/map_group.html", context, cluster=cluster)
