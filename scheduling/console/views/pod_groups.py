"""The list of PodGroups."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.translation import gettext

from scheduling.console import explaining
from scheduling.console.access import VIEW, page
from scheduling.console.pages import show
from scheduling.models import Cluster, PodGroupRow
from scheduling.selectors import pod_groups

STATUSES = (*PodGroupRow.Status.values, "degraded")


@page(VIEW)
def pod_group_list(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """``status``, ``namespace``, ``q`` (part of the name), ``closed=1``; ``after`` is made by the page
    before.
    """
    status = request.GET.get("status", "")
    closed = request.GET.get("closed") == "1"
    filters: dict[str, Any] = {
        "status": status if status in STATUSES else "",
        "namespace": request.GET.get("namespace", ""),
        "text": request.GET.get("q", "").strip(),
    }
    try:
        found = pod_groups.page(cluster, **filters, closed=closed, after=request.GET.get("after", ""))
    except ValueError:
        return HttpResponseBadRequest(gettext("The address is not one that this page makes."))
    listed = explaining.Listed.of(cluster, found.items)
    context = {
        **filters,
        "closed": closed,
        "statuses": STATUSES,
        "namespaces": pod_groups.namespaces(cluster),
        "rows": [
            {
                "row": row,
                "domain": listed.domain(row),
                "sentences": explaining.sentences_of_row(row, listed),
            }
            for row in found.items
        ],
        "next": found.next,
    }
    return show(request, "pod_groups.html", context, cluster=cluster, here="pod-groups")
