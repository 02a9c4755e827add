"""Two moments of a cluster compared as a list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from scheduling.console.access import VIEW, page
from scheduling.console.forms.compare import SHOWN, Comparison
from scheduling.console.pages import show
from scheduling.ledger import codec, fold
from scheduling.models import Cluster
from scheduling.selectors import history, rack_map, two_moments
from scheduling.selectors.differences import Change, Difference
from scheduling.selectors.moments import BadMoment
from scheduling.selectors.two_moments import TwoMoments
from scheduling.wording import differences, moments
from scheduling.wording import events as wording

ROWS = 100
DOMAINS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """``events``: the address of the events in between about the object."""

    change: Change
    events: str


@page(VIEW)
def compare_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """``a`` and ``b``: moments; without ``b`` the newest one, without ``a`` only choices to begin with."""
    form = Comparison(request.GET, cluster)
    keys = rack_map.topology_keys(cluster)
    context: dict[str, Any] = {
        "form": form,
        "keys": keys,
        "choices": _choices(cluster),
        "zone_name": timezone.get_current_timezone_name(),
    }
    if form.is_valid() and form.cleaned_data["a"]:
        key = form.cleaned_data["key"] or (keys[0]["key"] if keys else "")
        context |= {"key": key, **_compared(cluster, form, key)}
    return show(request, "compare.html", context, cluster=cluster, here="history")


def _compared(cluster: Cluster, form: Comparison, key: str) -> dict[str, Any]:
    try:
        found = two_moments.two_moments(cluster, form.cleaned_data["a"], form.later(), key)
    except BadMoment as error:
        return {"problem": moments.sentence(error)}
    except codec.UnknownEvent as error:
        return {"problem": wording.newer(str(error))}
    except (codec.BadEvent, fold.BrokenHistory) as error:
        return {"problem": wording.no_state(str(error))}
    here = {"a": str(found.a.seq), "b": str(found.b.seq), "key": key}
    told = differences.told(found.difference, found.before, found.after)
    return {
        "found": found,
        "told": [
            (line.sentence, _address(cluster, here | {"show": line.subject, "what": line.what}))
            if line.what
            else (line.sentence, "")
            for line in told
        ],
        "steps": found.b.seq - found.a.seq,
        "domains": found.domains[:DOMAINS],
        "domains_hidden": max(0, len(found.domains) - DOMAINS),
        "same_domains": found.domain_count - len(found.domains),
        "against": urlencode({"at": found.b.seq, "against": found.a.seq}),
        **_listed(cluster, form, found, here),
    }


def _listed(cluster: Cluster, form: Comparison, found: TwoMoments, here: dict[str, str]) -> dict[str, Any]:
    """The objects of one kind that differ, a page of them."""
    counts = {name: len(_of_kind(found.difference, name)) for name in SHOWN}
    shown = form.cleaned_data["show"] or next((name for name in SHOWN if counts[name]), SHOWN[0])
    what, start = form.cleaned_data["what"], form.cleaned_data["start"] or 0
    every = [change for change in _of_kind(found.difference, shown) if not what or what in change.what]
    place = here | {"show": shown} | ({"what": what} if what else {})

    def at(first: int) -> str:
        return _address(cluster, place | {"start": str(first)})

    return {
        "tabs": [(name, counts[name], _address(cluster, here | {"show": name})) for name in SHOWN],
        "shown": shown,
        "what": what,
        "every_what": _address(cluster, here | {"show": shown}),
        "rows": [Row(change, _events(cluster, change, found)) for change in every[start : start + ROWS]],
        "number": len(every),
        "first": start + 1,
        "last": min(start + ROWS, len(every)),
        "previous": at(max(0, start - ROWS)) if start else None,
        "next": at(start + ROWS) if start + ROWS < len(every) else None,
    }


def _of_kind(difference: Difference, subject: str) -> tuple[Change, ...]:
    return {"node": difference.nodes, "podgroup": difference.groups, "pod": difference.pods}[subject]


def _events(cluster: Cluster, change: Change, found: TwoMoments) -> str:
    """What the log has about the object between the two moments."""
    query = {
        "subject": change.subject,
        "namespace": change.namespace,
        "name": change.name,
        "first": str(found.a.seq + 1),
        "last": str(found.b.seq),
    }
    asked = {name: value for name, value in query.items() if value}
    return f"{reverse('history', args=[cluster.name])}?{urlencode(asked)}"


def _address(cluster: Cluster, query: dict[str, str]) -> str:
    return f"{reverse('compare', args=[cluster.name])}?{urlencode(query)}"


def _choices(cluster: Cluster) -> list[tuple[str, str]]:
    """(label, address) of the usual comparisons with the newest moment, as far back as the log goes."""
    first, last = history.period(cluster)
    if first is None or last is None:
        return []
    now = timezone.localtime()
    times = [
        (_("1 hour ago and now"), now - timedelta(hours=1)),
        (_("yesterday, same time, and now"), now - timedelta(days=1)),
        (_("a week ago and now"), now - timedelta(weeks=1)),
    ]
    found = [
        (label, _address(cluster, {"a": moment.isoformat(timespec="seconds")}))
        for label, moment in times
        if moment >= first.recorded_at
    ]
    imported = two_moments.last_of(cluster, "SnapshotImported")
    command = history.of_command(cluster, imported.command_id) if imported is not None else None
    if command is not None and command[0] > first.seq:
        before, after = str(command[0] - 1), str(command[1])
        found.append((_("before and after the last import"), _address(cluster, {"a": before, "b": after})))
    if imported is not None and imported.seq < last.seq:
        found.append((_("the last import and now"), _address(cluster, {"a": str(imported.seq)})))
    return found
