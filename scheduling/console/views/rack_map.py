"""The rack map, its table of domains for whoever cannot use a picture, and the verdict of the picked
group.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from scheduling.console import explaining, map_messages
from scheduling.console.access import VIEW, page
from scheduling.console.pages import show, show_part
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.models import Cluster, PodGroupRow
from scheduling.selectors import domains, pending, pod_groups, rack_map

SORTS = {
    "domain": lambda row: domains.natural(row.domain),
    "nodes": lambda row: row.nodes,
    "usable": lambda row: row.usable_nodes,
    "gpus": lambda row: row.gpus,
    "used": lambda row: row.gpus_used,
    "free": lambda row: row.gpus_usable,
    "whole": lambda row: row.whole_nodes,
}
COLUMNS = (
    ("domain", _("Domain")),
    ("nodes", _("Nodes")),
    ("usable", _("Usable nodes")),
    ("gpus", _("GPUs")),
    ("used", _("GPUs in use")),
    ("free", _("Largest gang, 1 GPU each")),
    ("whole", _("Largest gang, whole nodes")),
)
ROWS = 200
PICKABLE = 50


@page(VIEW)
def first_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    return redirect("map", cluster=cluster.name)


@page(VIEW)
def map_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """``key``: topology key; ``view=table`` with ``q``, ``free``, ``sort``, ``dir``, ``from``; ``pg``:
    picked group.
    """
    keys = rack_map.topology_keys(cluster)
    key = request.GET.get("key") or (keys[0]["key"] if keys else "")
    context: dict[str, Any] = {
        "keys": keys,
        "key": key,
        "zones_told": any(entry["key"] == NUMA_KEY for entry in keys),
        "kpi": rack_map.kpi(cluster, key),
    }
    if request.GET.get("view") == "table":
        return show(
            request,
            "map_table.html",
            context | table_context(request, cluster, key),
            cluster=cluster,
            here="map",
        )
    context |= {
        "messages_for_map": map_messages.messages(),
        "waiting": pending.page(cluster, limit=PICKABLE),
        **_picked(cluster, request.GET.get("pg", "")),
    }
    return show(request, "map.html", context, cluster=cluster, here="map")


def table_context(request: HttpRequest, cluster: Cluster, key: str) -> dict[str, Any]:
    """The table of domains, filtered and sorted as the address says."""
    text = request.GET.get("q", "").strip()
    free = request.GET.get("free", "")
    sort = request.GET.get("sort", "domain")
    sort = sort if sort in SORTS else "domain"
    down = request.GET.get("dir") == "desc"
    start = request.GET.get("from", "")
    first = int(start) if start.isdigit() else 0
    rows = domains.table(cluster, key) if key else []
    if text:
        rows = [row for row in rows if text.lower() in row.domain.lower()]
    if free.isdigit():
        rows = [row for row in rows if row.gpus_usable >= int(free)]
    rows.sort(key=SORTS[sort], reverse=down)
    query = request.GET.copy()
    query["dir"] = "desc" if down else "asc"

    def address(**changes: str) -> str:
        changed = query.copy()
        for name, value in changes.items():
            changed[name] = value
        return f"?{changed.urlencode()}"

    return {
        "columns": [
            {
                "sort": column,
                "label": label,
                "number": column != "domain",
                "address": address(
                    sort=column, dir="desc" if column == sort and not down else "asc", **{"from": ""}
                ),
            }
            for column, label in COLUMNS
        ],
        "next_address": address(**{"from": str(first + ROWS)}),
        "numa": key == NUMA_KEY,
        "rows": rows[first : first + ROWS],
        "found": len(rows),
        "text": text,
        "free": free,
        "sort": sort,
        "dir": "desc" if down else "asc",
        "next_from": first + ROWS if first + ROWS < len(rows) else None,
        "unlabelled": domains.unlabelled(cluster, key) if key else 0,
    }


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
    """The aside of the map for the group that the address of the page names (``HX-Current-URL``) or
    ``?pg=``.
    """
    picked = request.GET.get("pg")
    if picked is None:
        query = parse_qs(urlsplit(request.headers.get("HX-Current-URL", "")).query)
        picked = query.get("pg", [""])[0]
    context = _picked(cluster, picked) | {"waiting": pending.page(cluster, limit=PICKABLE)}
    return show_part(request, "parts/map_group.html", context, cluster=cluster)
