"""Advice for one workload: one topology domain or plain gang, with the numbers and how they were got."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict

from scheduling.console.access import VIEW, page
from scheduling.console.forms.advice import AdviceForm
from scheduling.console.pages import show
from scheduling.engine.communication import FORMULAS, ORIGINS
from scheduling.models import Cluster
from scheduling.scenarios import advice
from scheduling.scenarios.advice import Advice, Side
from scheduling.selectors import rack_map
from scheduling.services.problems import Refused
from scheduling.services.state import state_of
from scheduling.wording import advice as wording

ROOMS = 30
"""Domains that are shown; of the others there is the sum."""
GROUPS = 1000
"""Names that the form offers."""


@page(VIEW)
def advice_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """GET with ``group`` or the numbers of a workload; what is not given has its default."""
    keys = [entry["key"] for entry in rack_map.topology_keys(cluster)]
    context: dict[str, Any] = {
        "tab": "advice",
        "keys": keys,
        "groups": sorted(state_of(cluster).groups)[:GROUPS],
        "formulas": FORMULAS,
        "origins": sorted(ORIGINS.items()),
    }
    if not request.GET:
        context["form"] = AdviceForm(initial={"topology_key": keys[0] if keys else ""})
        return show(request, "advice.html", context, cluster=cluster, here="rollout")
    form = context["form"] = AdviceForm(_whole(request.GET))
    if not form.is_valid():
        return show(request, "advice.html", context, cluster=cluster, here="rollout", status=422)
    try:
        found = advice.advise(cluster=cluster, document=form.document())
    except Refused as refused:
        form.blame(refused.problems)
        return show(request, "advice.html", context, cluster=cluster, here="rollout", status=422)
    return show(request, "advice.html", context | _told(found), cluster=cluster, here="rollout")


def _whole(given: QueryDict) -> QueryDict:
    """With the defaults of the numbers that are not given."""
    whole = given.copy()
    for name, field in AdviceForm().fields.items():
        if name not in whole and field.initial is not None:
            whole[name] = str(field.initial)
    return whole


def _told(found: Advice) -> dict[str, Any]:
    return {
        "found": found,
        "recommendation": wording.recommendation(found),
        "sides": [_side(found.tas, found, found.topology_key), _side(found.plain, found, "")],
        "gain": wording.percent(None if found.gain is None else found.gain - 1000),
        "exposed": wording.percent(found.exposed),
        "break_even": None if found.break_even_ms is None else found.break_even_ms / 1000,
        "how": {code: str(text) for code, text in wording.HOW.items()},
        "rooms": found.rooms[:ROOMS],
        "rooms_left": max(0, len(found.rooms) - ROOMS),
    }


def _side(side: Side, found: Advice, scope_key: str) -> dict[str, Any]:
    estimate = side.estimate
    return {
        "runs": side.runs,
        "outlook": wording.outlook(side, found.topology_key),
        "others": wording.others(side, scope_key),
        "estimate": estimate,
        "supposed": side.supposed,
        "crossing_mb": None if estimate is None else round(estimate.crossing_bytes / 10**6),
        "step_ms": None if estimate is None else round(estimate.step_us / 1000),
        "waits_ms": None if estimate is None else round(estimate.exposed_us / 1000),
        "steps": None if estimate is None else estimate.steps_thousandths,
    }
