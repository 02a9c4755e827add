"""One event at an address of its own: what happened, why, what it led to, what was so before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console import events
from scheduling.console.access import VIEW, page
from scheduling.console.events import Line
from scheduling.console.forms.history import HistoryFilter
from scheduling.console.numbers import whole
from scheduling.console.pages import show, show_part
from scheduling.ledger import codec, fold
from scheduling.ledger.store import to_milliseconds
from scheduling.models import Archive, Cluster, Event
from scheduling.selectors import effects, history
from scheduling.selectors.event_search import Filters
from scheduling.wording import events as wording
from scheduling.wording import units

ONE_LINE = 80
LED_TO = 20


@dataclass(frozen=True, slots=True)
class Link:
    """One event of a chain of causes. ``took``: the time from it to the next one down the chain."""

    line: Line
    took: str


@page(VIEW)
def event_page(request: HttpRequest, cluster: Cluster, seq: int) -> HttpResponse:
    """The filters of the list that led here go on in the address, so that previous and next stay in it.
    ``led``: from which event on what it led to is listed.
    """
    try:
        row = _event(cluster, seq)
    except Http404:
        archive = history.archive_of(cluster, seq)
        if archive is None:
            raise
        return _archived(request, cluster, seq, archive)
    form = HistoryFilter(request.GET)
    given = form.given() if form.is_valid() else {}
    beside = history.neighbours(cluster, form.filters() if given else Filters(), seq)
    about = Filters(subject=row.subject, namespace=row.namespace, name=row.name)
    same = history.neighbours(cluster, about, seq) if row.name else history.Neighbours(None, None)
    led = whole(request.GET.get("led", "")) or 0
    led_to = history.caused_by(cluster, seq, after=led, limit=LED_TO)
    asked = urlencode(given)
    context = {
        "line": events.listed([row])[0],
        "fields": _fields(row),
        "hash": bytes(row.hash).hex(),
        "prev_hash": bytes(row.prev_hash).hex(),
        "asked": asked,
        "list": f"{reverse('history', args=[cluster.name])}{'?' if asked else ''}{asked}",
        "beside": beside,
        "same": same,
        "command": history.of_command(cluster, row.command_id),
        "chain": _chain(cluster, row),
        "led_to": events.listed(led_to.items),
        "led_next": led_to.next,
    }
    return show(request, "event.html", context, cluster=cluster, here="history")


@page(VIEW)
def event_state(request: HttpRequest, cluster: Cluster, seq: int) -> HttpResponse:
    """The part of the page that has to fold the log: before and after, and the cluster at that moment."""
    row = _event(cluster, seq)
    context: dict[str, Any] = {"event": row, "seq": seq, "before": seq - 1}
    try:
        context["effect"] = effects.effect(cluster, seq)
    except codec.UnknownEvent as error:
        context["problem"] = wording.newer(str(error))
    except (codec.BadEvent, fold.BrokenHistory) as error:
        context["problem"] = wording.no_state(str(error))
    return show_part(request, "parts/event_state.html", context, cluster=cluster)


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


def _event(cluster: Cluster, seq: int) -> Event:
    try:
        return history.get(cluster, seq)
    except Event.DoesNotExist:
        raise Http404(gettext("The log has no event of this number.")) from None


def _chain(cluster: Cluster, row: Event) -> list[Link]:
    """The causes of an event, the first one first; its own cause comes last."""
    found = history.causes(cluster, row)
    after = [row, *found]
    return [
        Link(line, units.took(to_milliseconds(effect.recorded_at) - to_milliseconds(line.event.recorded_at)))
        for line, effect in reversed(list(zip(events.listed(found), after[:-1], strict=True)))
    ]


def _fields(row: Event) -> list[tuple[str, dict[str, object]]]:
    body = orjson.loads(row.body)
    return [(name, _readable(value)) for name, value in body.items()]


def _readable(value: object) -> dict[str, object]:
    """A value of the body: text as it is, the rest as JSON, indented when it is long."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    if len(text) <= ONE_LINE:
        return {"text": text, "long": False}
    return {"text": text if isinstance(value, str) else _indented(value), "long": True}


def _indented(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
