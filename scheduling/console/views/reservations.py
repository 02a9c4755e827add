"""Reservations: the list, making one, releasing one."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console.access import OPERATE, VIEW, page
from scheduling.console.commands import actor, carry_out, command_id
from scheduling.console.forms.holds import ReservationForm
from scheduling.console.pages import show
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.ledger.store import to_datetime
from scheduling.models import Cluster
from scheduling.selectors import rack_map, reservations
from scheduling.services import holding
from scheduling.services.problems import Refused
from scheduling.services.state import state_of


@page(VIEW, "GET", "HEAD", "POST")
def reservations_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """POST makes a reservation, which takes the right to operate. ``key``, ``domain``: for the form."""
    keys = [entry["key"] for entry in rack_map.topology_keys(cluster) if entry["key"] != NUMA_KEY]
    if request.method != "POST":
        begin = {
            "topology_key": request.GET.get("key") or (keys[0] if keys else ""),
            "domain": request.GET.get("domain", ""),
        }
        return _page(request, cluster, keys, ReservationForm(initial=begin))
    if not request.user.has_perm(OPERATE):
        raise PermissionDenied
    form = ReservationForm(request.POST)
    if not form.is_valid():
        return _page(request, cluster, keys, form, status=422)
    try:
        done = holding.reserve(
            cluster=cluster, wish=form.wish(), actor=actor(request), command_id=command_id(request)
        )
    except Refused as refused:
        form.blame(refused.problems)
        return _page(request, cluster, keys, form, status=422)
    messages.success(request, gettext("Room is held: event %(seq)s.") % {"seq": done.last_seq})
    return redirect("reservations", cluster.name)


def _page(
    request: HttpRequest, cluster: Cluster, keys: list[str], form: ReservationForm, *, status: int = 200
) -> HttpResponse:
    state = state_of(cluster)
    rows = [
        {
            "held": each,
            "expires": None if each.reservation.expires is None else to_datetime(each.reservation.expires),
        }
        for each in reservations.listed(state)
    ]
    context = {"form": form, "keys": keys, "rows": rows, "tab": "reservations"}
    return show(request, "reservations.html", context, cluster=cluster, here="capacity", status=status)


@page(OPERATE, "POST")
def release(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    return carry_out(
        request,
        lambda: holding.release(
            cluster=cluster, name=name, actor=actor(request), command_id=command_id(request)
        ),
        gettext("Reservation %(name)s was released.") % {"name": name},
        reverse("reservations", args=[cluster.name]),
    )
