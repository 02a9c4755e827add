"""Clusters: list them, import a dump, switch a gate."""

from __future__ import annotations

from typing import Annotated, Literal

from django.http import HttpRequest
from ninja import Query, Router

from scheduling.api import bodies
from scheduling.api.auth import OPERATE, SWITCH_GATE, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster, outcome
from scheduling.api.errors import ApiError, errors, problem
from scheduling.api.schemas import ClusterOut, ClustersOut, ClusterSummaryOut, GateIn, ImportOut, OutcomeOut
from scheduling.models import Cluster
from scheduling.selectors import clusters as selectors
from scheduling.services import clusters as services
from scheduling.services.clusters import ImportReport, ImportRequest
from scheduling.services.importing import COMPLETE_KINDS

router = Router(tags=["clusters"])


def cluster_out(cluster: Cluster, seq: int) -> ClusterOut:
    return ClusterOut(
        name=cluster.name,
        mode=cluster.mode,  # type: ignore[arg-type]
        gates=cluster.gates,
        enforced=selectors.enforced(cluster),
        kubernetes_version=cluster.kubernetes_version,
        seq=seq,
        last_cycle_seq=cluster.last_cycle_seq,
        last_cycle_at=cluster.last_cycle_at,
        last_import_at=cluster.last_import_at,
        created_at=cluster.created_at,
    )


@router.get("", response={200: ClustersOut, **errors()}, summary="List clusters", **access(VIEW))
def list_clusters(request: HttpRequest) -> ClustersOut:
    """All of them, by name, with their counts."""
    items = [
        ClusterSummaryOut(
            **cluster_out(found.cluster, found.seq).model_dump(), nodes=found.nodes, waiting=found.pending
        )
        for found in selectors.summaries()
    ]
    return ClustersOut(items=items)


@router.get("/{cluster}", response={200: ClusterOut, **errors(404)}, summary="Show a cluster", **access(VIEW))
def get_cluster(request: HttpRequest, cluster: str) -> ClusterOut:
    """Its mode, gates and where its log and its scheduling stand."""
    found = find_cluster(cluster)
    return cluster_out(found, selectors.head(found))


@router.post(
    "/{cluster}/import",
    response={200: ImportOut, **errors(400, 409, 413, 422)},
    summary="Import a dump",
    **access(
        OPERATE,
        **bodies.documents("application/json", "application/yaml", "application/gzip"),
    ),
)
def import_dump(
    request: HttpRequest,
    cluster: str,
    mode: Literal["simulated", "observed"] | None = Query(
        None, description="Needed for a cluster that is new."
    ),
    complete: str = Query(
        "", description="Kinds (Node,Pod,PodGroup) of which the dump has all: what is absent is removed."
    ),
    partial: bool = Query(
        False, description="Take what is valid and leave out the rest, which is then listed."
    ),
    dry_run: bool = Query(False, description="Only tell what would be done."),
    gate: Annotated[
        list[str] | None, Query(description="Feature gate as Name:true or Name:false; may be given again.")
    ] = None,
    idempotency_key: IdempotencyKey = "",
) -> ImportOut:
    """The body is the dump itself: what `kubectl get nodes,pods,podgroups.scheduling.k8s.io -A -o json`
    printed.

    JSON or YAML, gzip or not. A cluster of a new name is made. Without `partial` one refused object refuses
    the whole dump. The same dump again writes nothing.
    """
    kinds = frozenset(filter(None, (kind.strip() for kind in complete.split(","))))
    if unknown := sorted(kinds.difference(COMPLETE_KINDS)):
        raise ApiError(422, f"complete names {', '.join(unknown)}; it can name {', '.join(COMPLETE_KINDS)}.")
    wanted = ImportRequest(
        data=bodies.read(request, limit=bodies.IMPORT_LIMIT),
        mode=mode,
        gates=_gates(gate or []),
        complete=kinds,
        partial=partial,
    )
    if dry_run:
        return import_out(
            services.preview_import(name=cluster, request=wanted), dry_run=True, partial=partial
        )
    report = services.import_cluster(
        name=cluster, request=wanted, actor=actor(request), command_id=command_id(request, idempotency_key)
    )
    return import_out(report, dry_run=False, partial=partial)


def _gates(given: list[str]) -> dict[str, bool] | None:
    chosen = {}
    for text in given:
        name, _, value = text.partition(":")
        if value not in ("true", "false"):
            raise ApiError(422, f"gate={text}: give it as Name:true or Name:false.")
        chosen[name] = value == "true"
    return chosen or None


def import_out(report: ImportReport, *, dry_run: bool, partial: bool) -> ImportOut:
    changes = report.created or any((report.added, report.updated, *report.removed.values()))
    return ImportOut(
        cluster=report.cluster,
        seq=report.seq,
        dry_run=dry_run,
        would_store=changes and (partial or not report.refused),
        created=report.created,
        accepted=report.accepted,
        ignored=report.ignored,
        added=report.added,
        updated=report.updated,
        unchanged=report.unchanged,
        removed={kind: list(names) for kind, names in report.removed.items()},
        refused=[problem(found) for found in report.refused],
        notices=[problem(found) for found in report.notices],
        proposed_mode=report.proposed_mode,
        proposed_gates=report.proposed_gates,
    )


@router.patch(
    "/{cluster}/gates/{gate}",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Switch a feature gate",
    **access(SWITCH_GATE),
)
def switch_gate(
    request: HttpRequest, cluster: str, gate: str, body: GateIn, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """With one of the three off the law is not enforced: constrained groups are placed as plain gangs."""
    done = services.set_gate(
        cluster=find_cluster(cluster),
        gate=gate,
        enabled=body.enabled,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)
