"""The log as people read it: filtered, a page at a time, and each event at an address of its own."""

from __future__ import annotations

import orjson
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from scheduling.console import events
from scheduling.console.access import VIEW, page
from scheduling.console.forms.history import HistoryFilter
from scheduling.console.pages import show
from scheduling.models import Archive, Cluster, Event
from scheduling.selectors import history

ONE_LINE = 80


@page(VIEW)
def history_list(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """Newest first; ``before`` is the seq of the last event of the page before."""
    form = HistoryFilter(request.GET)
    if form.is_valid():
        found = history.page(cluster, form.filters(), before=form.cleaned_data["before"])
    else:
        found = history.Page([], "")
    first, last = history.period(cluster)
    context = {
        "form": form,
        "lines": events.listed(found.items),
        "next": found.next,
        "first": first,
        "last": last,
        "archives": history.archives(cluster),
        "zone_name": timezone.get_current_timezone_name(),
    }
    return show(request, "history.html", context, cluster=cluster, here="history")


@page(VIEW)
def event_page(request: HttpRequest, cluster: Cluster, seq: int) -> HttpResponse:
    try:
        row = history.get(cluster, seq)
    except Event.DoesNotExist:
        archive = history.archive_of(cluster, seq)
        if archive is not None:
            return _archived(request, cluster, seq, archive)
        raise Http404(gettext("The log has no event of this number.")) from None
    _first, last = history.period(cluster)
    body = orjson.loads(row.body)
    context = {
        "line": events.listed([row])[0],
        "fields": [(name, _readable(value)) for name, value in body.items()],
        "hash": bytes(row.hash).hex(),
        "prev_hash": bytes(row.prev_hash).hex(),
        "previous": seq - 1 if seq > 1 else None,
        "following": seq + 1 if last is not None and seq < last.seq else None,
        "led_to": events.listed(history.caused_by(cluster, seq)),
    }
    return show(request, "event.html", context, cluster=cluster, here="history")


def _archived(request: HttpRequest, cluster: Cluster, seq: int, archive: Archive) -> HttpResponse:
    """Where the event is; the status is that of something that was here."""
    kept = history.archived_to(cluster) + 1
    context = {
        "seq": seq,
        "archive": archive,
        "first_kept": kept,
        "kept_url": reverse("event", args=[cluster.name, kept]),
    }
    return show(request, "archived.html", context, cluster=cluster, here="history", status=410)


def _readable(value: object) -> dict[str, object]:
    """A value of the body: text as it is, the rest as JSON, indented when it is long."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    if len(text) <= ONE_LINE:
        return {"text": text, "long": False}
    return {"text": text if isinstance(value, str) else _indented(value), "long": True}


def _indented(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
