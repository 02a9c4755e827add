"""The log as people read it: filtered, a page at a time, and as a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from scheduling.api import event_export
from scheduling.console import events
from scheduling.console.access import VIEW, page
from scheduling.console.forms.history import HistoryFilter
from scheduling.console.pages import show
from scheduling.models import Cluster
from scheduling.selectors import history
from scheduling.selectors.event_search import Found, search

PAGE = 50


@dataclass(frozen=True, slots=True)
class Chip:
    """``without``: the address of the list without this filter."""

    label: Any
    value: Any
    without: str


@page(VIEW)
def history_list(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """Newest first. ``before``, ``after``: where the page is, as a seq that is not on it."""
    form = HistoryFilter(request.GET)
    first, last = history.period(cluster)
    context: dict[str, Any] = {
        "form": form,
        "first": first,
        "last": last,
        "archives": history.archives(cluster),
        "zone_name": timezone.get_current_timezone_name(),
        "more_filters": any(
            request.GET.get(name) for name in ("first", "last", "cause", "command", "canary")
        ),
    }
    if form.is_valid():
        context |= _found(cluster, form, first.seq if first is not None else 1)
    return show(request, "history.html", context, cluster=cluster, here="history")


def _found(cluster: Cluster, form: HistoryFilter, oldest: int) -> dict[str, Any]:
    given = form.given()
    before, after = form.cleaned_data["before"], form.cleaned_data["after"]
    found = search(cluster, form.filters(), before=before, after=after, limit=PAGE)
    upwards = after is not None
    rows = found.items[::-1] if upwards else found.items
    newer = found.next if upwards else found.high if before is not None else None
    older = found.next if not upwards else found.low if found.low > oldest else None
    return {
        "lines": events.listed(rows),
        "asked": urlencode(given),
        "chips": [
            Chip(label, value, _list(cluster, {key: each for key, each in given.items() if key != name}))
            for name, label, value in form.chips()
        ],
        "found": found,
        "cut_short": found.next is not None and len(found.items) < PAGE,
        "covered": _covered(cluster, found),
        "newest": _list(cluster, given) if newer is not None else None,
        "newer": _list(cluster, given | {"after": str(newer)}) if newer is not None else None,
        "older": _list(cluster, given | {"before": str(older)}) if older is not None else None,
    }


def _covered(cluster: Cluster, found: Found) -> dict[str, Any] | None:
    """From which event to which, with their times, the page has all that the filters leave."""
    if found.low > found.high:
        return None
    times = history.times(cluster, [found.low, found.high])
    return {
        "low": found.low,
        "high": found.high,
        "from": times.get(found.low),
        "to": times.get(found.high),
    }


def _list(cluster: Cluster, query: dict[str, str]) -> str:
    address = reverse("history", args=[cluster.name])
    return f"{address}?{urlencode(query)}" if query else address


@page(VIEW)
def export(request: HttpRequest, cluster: Cluster, form: event_export.Format) -> HttpResponseBase:
    """All that the filters leave, oldest first; filters that cannot be read are told by the list."""
    asked = HistoryFilter(request.GET)
    if not asked.is_valid():
        return redirect(f"{reverse('history', args=[cluster.name])}?{request.GET.urlencode()}")
    return event_export.response(cluster, asked.filters(), form)
