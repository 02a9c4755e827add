"""The table of topology domains: filtered, sorted and cut as the address says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from scheduling.console.numbers import whole
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.models import Cluster
from scheduling.selectors import domains, held_room
from scheduling.selectors.domains import DomainRow
from scheduling.selectors.rack_map import TopologyKey

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


def zones_told(keys: list[TopologyKey]) -> bool:
    """Whether any node tells its NUMA zones."""
    return any(entry["key"] == NUMA_KEY for entry in keys)


def live_table(request: HttpRequest, cluster: Cluster, key: str) -> dict[str, Any]:
    """The table of the domains of ``key`` as they are."""
    rows = domains.table(cluster, key) if key else []
    held = held_room.by_domain(cluster, key) if rows else {}
    if held:
        rows = [replace(row, gpus_held=held.get(row.domain, 0)) for row in rows]
    return table_context(request, key, rows, domains.unlabelled(cluster, key) if key else 0)


def table_context(request: HttpRequest, key: str, rows: list[DomainRow], unlabelled: int) -> dict[str, Any]:
    """The table of domains, filtered and sorted as the address says."""
    text = request.GET.get("q", "").strip()
    free = whole(request.GET.get("free", ""))
    sort = request.GET.get("sort", "domain")
    sort = sort if sort in SORTS else "domain"
    down = request.GET.get("dir") == "desc"
    first = whole(request.GET.get("from", "")) or 0
    if text:
        rows = [row for row in rows if text.lower() in row.domain.lower()]
    if free is not None:
        rows = [row for row in rows if row.gpus_usable >= free]
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
        "unlabelled": unlabelled,
    }
