"""Renders a page inside the frame that all pages share: clusters to switch to, counts, mode and gates."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from scheduling.console import access, zones
from scheduling.engine.turns import LONGEST_REST
from scheduling.models import Cluster
from scheduling.selectors import canary, clusters, history, law
from scheduling.selectors.law import Enforcement

LAST_CLUSTER = "last_cluster"


def owner(request: HttpRequest) -> User:
    """The signed-in user of a view that ``access.page`` guards."""
    user = request.user
    assert isinstance(user, User)
    return user


SOON = timedelta(milliseconds=LONGEST_REST)


def _cycle_due(cluster: Cluster, head: int) -> bool:
    """Whether a cycle is about to decide something. A deadline may be days away, and tells of itself then."""
    soon = cluster.retry_at is not None and cluster.retry_at - timezone.now() <= SOON
    return head > cluster.last_cycle_seq or soon


def enforcement_context(told: Enforcement) -> dict[str, Any]:
    """What ``parts/enforcement.html`` asks about each group."""
    return {
        "unenforced_keys": told.unenforced,
        "spread_keys": told.spread,
        "canary_of": told.canary_of,
    }


def show(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    cluster: Cluster | None = None,
    here: str = "",
    status: int = 200,
) -> HttpResponse:
    """The template ``scheduling/<template>`` with the frame's context; ``here`` marks the page in the
    navigation.
    """
    user = request.user
    may_view = user.has_perm(access.VIEW)
    frame: dict[str, Any] = {
        "cluster": cluster,
        "cluster_names": clusters.names() if may_view else [],
        "here": here,
        "zone_choice": zones.choice(request),
        "may_view": may_view,
        "may_operate": user.has_perm(access.OPERATE),
        "may_switch": user.has_perm(access.SWITCH_GATE),
        "may_run": user.has_perm(access.RUN),
    }
    if cluster is not None:
        if request.session.get(LAST_CLUSTER) != cluster.name:  # assigning it writes the session
            request.session[LAST_CLUSTER] = cluster.name
        off = clusters.off_gates(cluster)
        head = clusters.head(cluster)
        frame |= {
            "off_gates": off,
            "canary_now": canary.undecided(cluster),
            **enforcement_context(law.enforcement(cluster)),
            "simulated": cluster.mode == Cluster.Mode.SIMULATED,
            "pending_count": clusters.pending_count(cluster),
            "head_seq": head,
            "archived_to": history.archived_to(cluster),
            "cycle_due": _cycle_due(cluster, head),
        }
    return render(request, f"scheduling/{template}", frame | context, status=status)


def show_part(
    request: HttpRequest, template: str, context: dict[str, Any], *, cluster: Cluster
) -> HttpResponse:
    """A part of a page, for htmx: without the frame."""
    frame = {
        "cluster": cluster,
        **enforcement_context(law.enforcement(cluster)),
        "cycle_due": _cycle_due(cluster, clusters.head(cluster)),
        "simulated": cluster.mode == Cluster.Mode.SIMULATED,
        "archived_to": history.archived_to(cluster),
        "may_operate": request.user.has_perm(access.OPERATE),
        "may_run": request.user.has_perm(access.RUN),
    }
    return render(request, f"scheduling/{template}", frame | context)
