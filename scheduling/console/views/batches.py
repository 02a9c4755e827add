"""Batches and the verification matrix: their forms, their last runs, one point, and their tables as CSV."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from scheduling.api.batches import csv_response
from scheduling.console.access import RUN, VIEW, page
from scheduling.console.commands import NOT_DONE, actor, command_id, reasons
from scheduling.console.forms.batch import BatchForm
from scheduling.console.forms.matrix import WholeForm
from scheduling.console.pages import show
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.state import ClusterState
from scheduling.models import Cluster, Run
from scheduling.scenarios import axes, batches, documents, matrix, tables
from scheduling.scenarios.documents import ScenarioDocument
from scheduling.scenarios.steps import Members, Submit
from scheduling.selectors import rack_map
from scheduling.selectors import workbench as selectors
from scheduling.services.problems import Refused
from scheduling.services.state import state_of
from scheduling.wording import batches as words
from scheduling.wording import matrix as matrix_words

RUNS = 10
PRODUCT = "nvidia.com/gpu.product"


@page(VIEW)
def batch_list(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    context = {"tab": "batches", "runs": selectors.runs(cluster, (batches.KIND,))[:RUNS]}
    return show(request, "batches.html", context, cluster=cluster, here="scenarios")


@page(RUN, "GET", "POST")
def new_batch(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """``scenario``: the saved one to begin with. POST ``action``: run, or shape, which shows the fields of
    the axes that were chosen.
    """
    saved = {row.name: row.document for row in selectors.scenarios(cluster)}
    if request.method != "POST":
        chosen = request.GET.get("scenario", "")
        begin = {
            "scenario": chosen if chosen in saved else "",
            "document": documents.to_yaml(_example(cluster)),
            "axes": [{"axis": "members", "first": 1, "last": 16}, {}],
        }
        return _batch(request, cluster, BatchForm(None, sorted(saved), begin))
    form = BatchForm(request.POST, sorted(saved))
    if request.POST.get("action") == "shape":
        for part in (form.head, *form.axes):
            part.is_bound, part.initial = False, _typed(part, request)
        return _batch(request, cluster, form)
    if not form.is_valid():
        return _batch(request, cluster, form, status=422)
    try:
        document = axes.read(form.value(saved))
        run = batches.request(
            cluster=cluster,
            document=document,
            scenario=form.head.cleaned_data["scenario"],
            actor=actor(request),
            command_id=command_id(request),
        )
    except NOT_DONE as error:
        form.blame(reasons(error))
        return _batch(request, cluster, form, status=422)
    return redirect("run", cluster.name, run.number)


def _typed(part: Any, request: HttpRequest) -> dict[str, Any]:
    """What was typed into the fields that a form has: shown again, and not judged yet."""
    names = {name: part.add_prefix(name) for name in part.fields}
    return {name: request.POST[posted] for name, posted in names.items() if posted in request.POST}


def _batch(request: HttpRequest, cluster: Cluster, form: BatchForm, *, status: int = 200) -> HttpResponse:
    context = {"tab": "batches", "form": form, "keys": _keys(cluster)}
    return show(request, "batch_form.html", context, cluster=cluster, here="scenarios", status=status)


def _keys(cluster: Cluster) -> list[str]:
    return [entry["key"] for entry in rack_map.topology_keys(cluster) if entry["key"] != NUMA_KEY]


def _example(cluster: Cluster) -> ScenarioDocument:
    """A gang of whole nodes, as the cluster has most of them."""
    begin = _usual(state_of(cluster), _keys(cluster))
    template = Members(count=1, requests=begin["requests"], node_selector=begin["node_selector"])
    step = Submit(
        namespace="default",
        name="tried",
        min_count=1,
        topology_key=begin["topology_key"],
        templates=(template,),
    )
    return ScenarioDocument(steps=(step,))


def _usual(state: ClusterState, keys: list[str]) -> dict[str, Any]:
    """A member that takes the devices (without any: the cpu) of the kind of node that there is most of."""
    kinds: Counter[tuple[str | None, tuple[tuple[str, int], ...]]] = Counter()
    for node in state.nodes.values():
        amounts = dict(node.allocatable)
        devices = tuple(
            (name, amount) for name, amount in amounts.items() if name.endswith("/gpu") and amount
        )
        kinds[node.label(PRODUCT), devices or (("cpu", amounts.get("cpu", 0) // 1000 or 1),)] += 1
    (product, amounts_of), _ = kinds.most_common(1)[0] if kinds else ((None, (("cpu", 1),)), 0)
    return {
        "topology_key": keys[0] if keys else "",
        "requests": {name: str(amount) for name, amount in amounts_of},
        "node_selector": {PRODUCT: product} if product else {},
    }


@page(VIEW)
def run_table(request: HttpRequest, cluster: Cluster, number: int) -> HttpResponse:
    run = _run(cluster, number)
    if run.kind not in tables.TABLES:
        raise Http404(gettext("This run has no table."))
    return csv_response(run)


@page(VIEW)
def point(request: HttpRequest, cluster: Cluster, number: int, index: int) -> HttpResponse:
    """A point of a batch, or a cell of a matrix: its figures, and the scenario that it is."""
    run = _run(cluster, number)
    row = run.points.filter(index=index).first()
    if run.kind not in tables.TABLES or row is None:
        raise Http404(gettext("This run has no such point, or it is not done yet."))
    context: dict[str, Any] = {
        "run": run,
        "tab": "runs",
        "index": index,
        "row": row.result,
        "worker": row.worker,
    }
    try:
        document = _document(run, row.result, index, context)
    except Refused as refused:
        context["problems"] = refused.problems
    else:
        context["yaml"] = documents.to_yaml(document)
        context["steps"] = len(document.steps)
    return show(request, "run_point.html", context, cluster=cluster, here="scenarios")


def _document(run: Run, result: dict[str, Any], index: int, context: dict[str, Any]) -> ScenarioDocument:
    """The scenario of a point. Raises Refused where there is none."""
    if run.kind == matrix.KIND:
        context["cell"] = result
        context["cell_title"] = matrix_words.title(result)
        context["cell_look"] = {"passed": "ok", "failed": "bad"}.get(result["judged"], "info")
        context["told"] = matrix_words.told(result)
        steps = {"steps": result["steps"], "profile": result["profile"], "at": str(run.base_seq)}
        return documents.read(steps)
    opened = batches.opened(run)
    values = batches.values_at(opened.ticks, index)
    names = [words.axis(axis.axis, batches.subject(axis)) for axis in opened.document.axes]
    context["sentence"] = words.point(names, values, result)
    context["columns"] = [(words.COLUMNS[name], words.figure(name, result[name])) for name in words.COLUMNS]
    return batches.point_of(run, index).document.model_copy(update={"name": "", "at": str(run.base_seq)})


@page(VIEW, "GET", "HEAD", "POST")
def matrix_page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """The last one, and the form for another; POST runs it, which takes the right to."""
    if request.method != "POST":
        begin = _usual(state_of(cluster), _keys(cluster))
        requests = begin["requests"]
        initial = {
            "topology_key": begin["topology_key"],
            "cpu": requests.get("cpu", ""),
            "gpu": requests.get("nvidia.com/gpu", ""),
            "node_selector": "\n".join(f"{key}={value}" for key, value in begin["node_selector"].items()),
        }
        return _matrix(request, cluster, WholeForm(initial=initial))
    if not request.user.has_perm(RUN):
        raise PermissionDenied
    return _run_matrix(request, cluster)


def _run_matrix(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    form = WholeForm(request.POST)
    if not form.is_valid():
        return _matrix(request, cluster, form, status=422)
    try:
        run = matrix.request(
            cluster=cluster,
            document=matrix.read(form.value()),
            actor=actor(request),
            command_id=command_id(request),
        )
    except NOT_DONE as error:
        form.blame(reasons(error))
        return _matrix(request, cluster, form, status=422)
    return redirect("run", cluster.name, run.number)


def _matrix(request: HttpRequest, cluster: Cluster, form: WholeForm, *, status: int = 200) -> HttpResponse:
    context = {
        "tab": "matrix",
        "form": form,
        "keys": _keys(cluster),
        "runs": selectors.runs(cluster, (matrix.KIND,))[:RUNS],
    }
    return show(request, "matrix.html", context, cluster=cluster, here="scenarios", status=status)


def _run(cluster: Cluster, number: int) -> Run:
    try:
        return selectors.run(cluster, number)
    except Run.DoesNotExist:
        raise Http404(gettext("There is no run of this number.")) from None
