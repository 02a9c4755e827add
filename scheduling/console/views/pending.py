"""Groups that wait, grouped by the reason; kept fresh by htmx whenever the log advances."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.html import format_html
from django.utils.translation import gettext

from scheduling.console import explaining
from scheduling.console.access import VIEW, page
from scheduling.console.pages import show
from scheduling.models import Cluster
from scheduling.selectors import clusters, pending
from scheduling.services.standing import standings
from scheduling.wording import units


@page(VIEW)
def pending_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    after = request.GET.get("after", "")
    try:
        found = pending.page(cluster, after=after)
    except ValueError:
        return HttpResponseBadRequest(gettext("The address is not one that this page makes."))
    counts = pending.counts(cluster)
    decided = pending.decided_at(cluster, found.items)
    enforced = clusters.enforced(cluster)
    standing = standings(cluster, [row.key for row in found.items])
    rows: list[dict[str, Any]] = [
        {
            "row": row,
            "sentences": explaining.sentences_of_row(row, enforced),
            "decided_at": decided.get(row.decision_seq or 0),
            "queue": explaining.queue(standing[row.key]),
        }
        for row in found.items
    ]
    reasons = [
        {"reason": reason, "count": counts.get(reason, 0), "rows": list(members)}
        for reason, members in groupby(rows, key=lambda entry: entry["row"].reason)
    ]
    context = {"reasons": reasons, "total": sum(counts.values()), "next": found.next, "after": after}
    return show(request, "pending.html", context, cluster=cluster, here="pending")


@page(VIEW)
def pending_count(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """The number beside "Pending" in the navigation."""
    return HttpResponse(format_html("{}", units.count(clusters.pending_count(cluster))))
