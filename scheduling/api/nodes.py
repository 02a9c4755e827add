"""Nodes: list them by page, show one, cordon and uncordon."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from ninja import Query, Router

from scheduling.api.auth import OPERATE, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster, outcome
from scheduling.api.errors import errors
from scheduling.api.schemas import NodeOut, NodesOut, OccupantOut, OutcomeOut, TaintOut, ZoneOut
from scheduling.models import NodeRow
from scheduling.selectors import nodes as selectors
from scheduling.services import nodes as services

router = Router(tags=["nodes"])


def node_out(row: NodeRow) -> NodeOut:
    return NodeOut(
        name=row.name,
        uid=row.uid,
        labels=row.labels,
        taints=[TaintOut(key=key, value=value, effect=effect) for key, value, effect in row.taints],
        unschedulable=row.unschedulable,
        ready=row.ready,
        allocatable=row.allocatable,
        zones=[ZoneOut(name=name, allocatable=amounts) for name, amounts in row.zones],
        used=row.used,
        gpus=row.gpus,
        gpus_used=row.gpus_used,
        removed=row.removed,
        occupants=[OccupantOut(group=group, pods=pods, gpus=gpus) for group, pods, gpus in row.occupants],
        changed_seq=row.changed_seq,
        changed_at=row.changed_at,
    )


@router.get(
    "/{cluster}/nodes", response={200: NodesOut, **errors(404, 422)}, summary="List nodes", **access(VIEW)
)
def list_nodes(
    request: HttpRequest,
    cluster: str,
    q: str = Query("", description="Part of the name."),
    state: str = Query(
        "",
        pattern=f"^(|{'|'.join(selectors.STATES)}|unlabelled:.+)$",
        description="cordoned, not_ready, tainted, free (a GPU is left), or unlabelled:<label key>.",
    ),
    label: str = Query("", description="key=value, or key alone for any value."),
    after: str = Query("", description="`next` of the page before."),
    limit: int = Query(100, ge=1, le=1000),
) -> NodesOut:
    """By name. Nodes that are gone are not listed."""
    page = selectors.page(find_cluster(cluster), text=q, state=state, label=label, after=after, limit=limit)
    return NodesOut(items=[node_out(row) for row in page.items], next=page.next or None)


@router.get(
    "/{cluster}/nodes/{node}", response={200: NodeOut, **errors(404)}, summary="Show a node", **access(VIEW)
)
def get_node(request: HttpRequest, cluster: str, node: str) -> NodeOut:
    """Also one that has been removed, as it was then."""
    try:
        return node_out(selectors.get(find_cluster(cluster), node))
    except NodeRow.DoesNotExist as error:
        raise Http404(f"There is no node named {node} in {cluster}.") from error


@router.post(
    "/{cluster}/nodes/{node}/cordon",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Cordon a node",
    **access(OPERATE),
)
def cordon(request: HttpRequest, cluster: str, node: str, idempotency_key: IdempotencyKey = "") -> OutcomeOut:
    """Nothing new is placed on it; what runs there stays. Cordoning a cordoned node writes nothing."""
    done = services.cordon(
        cluster=find_cluster(cluster),
        node=node,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.post(
    "/{cluster}/nodes/{node}/uncordon",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Uncordon a node",
    **access(OPERATE),
)
def uncordon(
    request: HttpRequest, cluster: str, node: str, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Uncordoning a node that is not cordoned writes nothing."""
    done = services.uncordon(
        cluster=find_cluster(cluster),
        node=node,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)
