"""The rollout of topology-aware scheduling: how ready a cluster is, what operators state about it, and
switches of gates rehearsed.
"""

from __future__ import annotations

import csv
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from scheduling.console.access import RUN, SWITCH_GATE, VIEW, page
from scheduling.console.commands import NOT_DONE, actor, command_id, reasons
from scheduling.console.forms.rollout import FactForm
from scheduling.console.pages import show
from scheduling.console.rehearsing import offered
from scheduling.console.run_pages import rehearsal as pages
from scheduling.engine.model import TAS_GATES
from scheduling.engine.rollout_facts import RolloutFact
from scheduling.kube.releases import RELEASES
from scheduling.models import Cluster, Run
from scheduling.scenarios import rehearsal
from scheduling.services import readiness, stating
from scheduling.services.readiness import Row
from scheduling.wording import problems
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


@page(RUN, "POST")
def rehearse(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """POST ``gate``, as often as there are gates to switch: ``Name:true`` or ``Name:false``."""
    given = [text.rpartition(":") for text in request.POST.getlist("gate")]
    try:
        run = rehearsal.request(
            cluster=cluster,
            gates={name: value == "true" for name, _, value in given},
            actor=actor(request),
            command_id=command_id(request),
        )
    except NOT_DONE as error:
        for problem in reasons(error):
            messages.error(request, problems.sentence(problem))
        return redirect("rollout", cluster.name)
    return redirect("run", cluster.name, run.number)


@page(VIEW)
def rehearsal_csv(request: HttpRequest, cluster: Cluster, number: int) -> HttpResponse:
    run = Run.objects.filter(cluster=cluster, number=number, kind=rehearsal.KIND).first()
    if run is None or run.result is None:
        raise Http404(gettext("There is no rehearsal of this number that is done."))
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="rehearsal-{number}.csv"'
    response.write("\ufeff")
    csv.writer(response).writerows([pages.COLUMNS, *pages.rows(run.result)])
    return response


def _switches(cluster: Cluster) -> list[dict[str, Any]]:
    """All on and all off, as far as they are not so; a gate alone is on the page of that gate."""
    found = []
    for on, title in ((True, gettext("All gates on")), (False, gettext("All gates off"))):
        gates = {gate: on for gate in TAS_GATES if cluster.gates.get(gate, False) != on}
        if gates:
            found.append({"title": title, **offered(cluster, gates)})
    return found


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
        "switches": _switches(cluster),
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
