"""The rollout of topology-aware scheduling: how ready a cluster is, and what operators state about it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from scheduling.console.access import SWITCH_GATE, VIEW, page
from scheduling.console.commands import NOT_DONE, actor, command_id, reasons
from scheduling.console.forms.rollout import FactForm
from scheduling.console.pages import show
from scheduling.engine.rollout_facts import RolloutFact
from scheduling.kube.releases import RELEASES
from scheduling.models import Cluster
from scheduling.services import readiness, stating
from scheduling.services.readiness import Row
from scheduling.wording import readiness as wording

NAMED = 12
"""So many groups or nodes of a row are shown at once; the others on demand."""


@page(VIEW)
def rollout_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    return _page(request, cluster)


@page(SWITCH_GATE, "POST")
def state_fact(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """POST ``fact``, and ``value`` and ``source``, each with the fact in front; no value takes it back."""
    fact = request.POST.get("fact", "")
    if fact not in stating.KINDS:
        raise Http404(gettext("There is no fact of this name."))
    form = FactForm(fact, request.POST)
    if not form.is_valid():
        return _page(request, cluster, form, status=422)
    try:
        stating.state_fact(
            cluster=cluster, fact=fact, **form.cleaned_data, actor=actor(request),
            command_id=command_id(request),
        )  # fmt: skip
    except NOT_DONE as error:
        form.blame(reasons(error))
        return _page(request, cluster, form, status=422)
    said = (
        gettext("%(fact)s is stated.") if form.cleaned_data["value"] else gettext("%(fact)s was taken back.")
    )
    messages.success(request, said % {"fact": form.title})
    return redirect("rollout", cluster.name)


def _page(
    request: HttpRequest, cluster: Cluster, sent: FactForm | None = None, *, status: int = 200
) -> HttpResponse:
    found = readiness.readiness(cluster)
    stated = {fact.fact: fact for fact in found.stated}
    context = {
        "tab": "readiness",
        "found": found,
        "overall": wording.overall(found),
        "rows": [_row(row) for row in found.rows],
        "releases": RELEASES,
        "forms": [
            sent if sent is not None and sent.fact == fact else _form(fact, stated.get(fact))
            for fact in stating.KINDS
        ],
        "sent": sent,
    }
    return show(request, "rollout.html", context, cluster=cluster, here="rollout", status=status)


def _form(fact: str, stated: RolloutFact | None) -> FactForm:
    given = {"value": stated.value, "source": stated.source} if stated is not None else {}
    return FactForm(fact, initial=given)


def _row(row: Row) -> dict[str, Any]:
    items = [{"kind": item.kind, "name": item.name, "said": wording.item(item)} for item in row.items]
    return {
        "row": row,
        "title": wording.title(row),
        "sentence": wording.sentence(row),
        "to_do": wording.to_do(row),
        "read": wording.read(row),
        "owner": dict(row.values).get("owner", ""),
        "items": items[:NAMED],
        "more": items[NAMED:],
    }
