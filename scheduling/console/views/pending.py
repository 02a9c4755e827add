"""Groups that wait, grouped by the reason; kept fresh by htmx whenever the log advances."""

from __future__ import annotations

from datetime import datetime
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.html import format_html
from django.utils.translation import gettext

from scheduling.console import explaining
from scheduling.console.access import VIEW, page
from scheduling.console.pages import show
from scheduling.models import Cluster, PodGroupRow
from scheduling.selectors import clusters, pending, waits
from scheduling.services.standing import standings
from scheduling.wording import units

ALERTS = 20
"""Groups that are named above the list because their deadline is past."""


@page(VIEW)
def pending_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    after = request.GET.get("after", "")
    try:
        found = pending.page(cluster, after=after)
    except ValueError:
        return HttpResponseBadRequest(gettext("The address is not one that this page makes."))
    counts = pending.counts(cluster)
    decided = pending.decided_at(cluster, found.items)
    listed = explaining.Listed.of(cluster, found.items)
    keys = [row.key for row in found.items]
    standing, until = standings(cluster, keys), waits.deadlines(cluster, keys)
    rows = []
    for row in found.items:
        queue = explaining.queue(standing[row.key])
        at = decided.get(row.decision_seq or 0) or (queue["decided_at"] if row.decision_seq else None)
        rows.append(_entry(row, listed, at) | {"queue": queue, "deadline": until.get(row.key)})
    rows.sort(key=_section)
    whole = not after and not found.next
    if listed.observed:
        counts["forecast"] = pending.placed(cluster)
        counts[""] = counts.get("", 0) - counts["forecast"]
    reasons = []
    for section, grouped in groupby(rows, key=_section):
        members = list(grouped)
        number = len(members) if whole else counts.get(section, 0)
        reasons.append({"reason": section, "count": number, "rows": members})
    context = {
        "reasons": reasons,
        "total": sum(counts.values()),
        "next": found.next,
        "after": after,
        "expired": list(waits.expired(cluster).items())[:ALERTS],
    }
    return show(request, "pending.html", context, cluster=cluster, here="pending")


def _entry(row: PodGroupRow, listed: explaining.Listed, decided_at: datetime | None) -> dict[str, Any]:
    facts = explaining.facts_of_row(row, listed)
    return {
        "row": row,
        "reason": "forecast" if facts.forecast else facts.reason,
        "verdict": "forecast" if facts.forecast else facts.verdict,
        "domain": facts.domain if facts.verdict else None,
        "sentences": explaining.sentences_of_row(row, listed),
        "decided_at": decided_at,
    }


def _section(entry: dict[str, Any]) -> str:
    reason: str = entry["reason"]
    return reason


@page(VIEW)
def pending_count(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """The number beside "Pending" in the navigation."""
    return HttpResponse(format_html("{}", units.count(clusters.pending_count(cluster))))
