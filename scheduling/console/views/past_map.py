"""The rack map of the past: one moment, or what is different between two."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from scheduling.console import events, explaining, map_messages
from scheduling.console.pages import enforcement_context, show, show_part
from scheduling.console.views.domain_table import table_context, zones_told
from scheduling.engine.model import TAS_GATES
from scheduling.engine.state import ClusterState
from scheduling.models import Cluster
from scheduling.selectors import (
    clusters,
    history,
    law,
    past_domains,
    past_groups,
    past_map,
    past_states,
)
from scheduling.selectors.moments import BadMoment, Moment, moment
from scheduling.selectors.rack_map import default_of
from scheduling.wording import moments as wording

PICKABLE = 50


def show_past(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """``at``: the moment; ``against``: the moment it is compared with; all else as for the live map. 404 with
    a page that asks again for what is no moment of the log.
    """
    at, against = request.GET["at"], request.GET.get("against", "")
    try:
        shown = moment(cluster, at)
        other = moment(cluster, against) if against else None
    except BadMoment as error:
        asked = {"sentence": wording.sentence(error), "asked": at, "asked_against": against}
        return show(request, "map_moment.html", asked, cluster=cluster, here="map", status=404)
    state = past_states.state_at(cluster, shown.seq)
    keys = past_map.topology_keys(state)
    key = request.GET.get("key") or default_of(keys)
    context = frame(cluster, state, shown) | {
        "keys": keys,
        "key": key,
        "zones_told": zones_told(keys),
        "kpi": past_map.kpi(state, key),
        "against": other,
    }
    if request.GET.get("view") == "table":
        context |= table_context(request, key, *past_domains.table(state, key))
        return show(request, "map_table.html", context, cluster=cluster, here="map")
    context |= {
        "messages_for_map": map_messages.past_messages(),
        "line": events.listed([history.get(cluster, shown.seq)])[0],
        "zone_name": timezone.get_current_timezone_name(),
        **_group(cluster, state, shown, request.GET.get("pg", "")),
    }
    return show(request, "map.html", context, cluster=cluster, here="map")


def show_past_group(request: HttpRequest, cluster: Cluster, at: str, picked: str) -> HttpResponse:
    """The aside, with the banner about gates that belongs to the same moment."""
    try:
        shown = moment(cluster, at)
    except BadMoment as error:
        context: dict[str, Any] = {"moment_error": wording.sentence(error)}
        return show_part(request, "parts/past_group.html", context, cluster=cluster)
    state = past_states.state_at(cluster, shown.seq)
    context = frame(cluster, state, shown) | _group(cluster, state, shown, picked) | {"swapped": True}
    return show_part(request, "parts/past_group.html", context, cluster=cluster)


def frame(cluster: Cluster, state: ClusterState, shown: Moment) -> dict[str, Any]:
    """What every page in the past has in place of what is true now. Nothing can be changed from there."""
    off = [gate for gate in TAS_GATES if not state.gates.get(gate, False)]
    return {
        "past_moment": shown,
        "ahead": clusters.head(cluster) - shown.seq,
        "off_gates": off,
        **enforcement_context(law.enforcement_then(state)),
        "simulated": state.mode == Cluster.Mode.SIMULATED,
        "may_operate": False,
        "may_switch": False,
    }


def _group(cluster: Cluster, state: ClusterState, shown: Moment, picked: str) -> dict[str, Any]:
    waiting, count = past_groups.waiting(state, PICKABLE)
    context: dict[str, Any] = {"group": None, "waiting": waiting, "waiting_count": count}
    if "/" not in picked:
        return context
    group = past_groups.get(state, picked)
    if group is None:
        return context | {"unknown_group": picked}
    decided = history.numbered(cluster, [group.decision_seq] if group.decision_seq else [])
    return (
        context
        | {"group": group, "decided": events.listed(decided)[0] if decided else None}
        | explaining.past_context(cluster, group, shown.seq)
    )
