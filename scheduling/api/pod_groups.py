"""PodGroups and their members: list, show, submit as a form or as manifests, end, delete one member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from django.http import Http404, HttpRequest
from ninja import Query, Router, Status

from scheduling.api import bodies
from scheduling.api.auth import OPERATE, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster, outcome
from scheduling.api.errors import errors
from scheduling.api.schemas import (
    AmountOut,
    MemberOut,
    OutcomeOut,
    PodGroupDetailOut,
    PodGroupOut,
    PodGroupsOut,
    QueueOut,
    SpreadIn,
    WorkloadIn,
    lost_to_out,
)
from scheduling.engine.turns import Turn
from scheduling.ledger.store import to_datetime
from scheduling.models import Cluster, PodGroupRow, PodRow
from scheduling.selectors import pod_groups as selectors
from scheduling.services import workloads as services
from scheduling.services.standing import Standing, standings
from scheduling.services.state import state_of
from scheduling.services.workloads import MemberTemplate, WorkloadForm

router = Router(tags=["podgroups"])


def pod_groups_out(cluster: Cluster, rows: Sequence[PodGroupRow]) -> list[PodGroupOut]:
    """With the domains of those that run without a decision of ours."""
    running = selectors.bound_domains(cluster, rows)
    turns = state_of(cluster).turns
    return [
        _pod_group_out(
            row, row.domain or running.get(row.key, ""), None if row.closed else turns.get(row.key)
        )
        for row in rows
    ]


def _pod_group_out(row: PodGroupRow, domain: str, turn: Turn | None) -> PodGroupOut:
    return PodGroupOut(
        namespace=row.namespace,
        name=row.name,
        generation=row.generation,
        uid=row.uid,
        policy=row.policy,
        min_count=row.min_count,
        topology_key=row.topology_key,
        priority=row.priority,
        queue_name=row.queue,
        status=row.status,
        degraded=row.degraded,
        degraded_since=row.degraded_since,
        elastic=row.elastic,
        verdict=row.verdict,
        reason=row.reason,
        domain=domain,
        fits=row.fits,
        need=row.need,
        members=row.members,
        bound=row.bound,
        short_of=[AmountOut(resource=resource, amount=amount) for resource, amount in row.short_of],
        unmodelled=row.unmodelled,
        closed=row.closed,
        close_reason=row.close_reason,
        created_at=row.created_at,
        waiting_since=row.waiting_since,
        lost_to=lost_to_out(turn.lost_to if turn is not None else None),
        decision_seq=row.decision_seq,
        changed_seq=row.changed_seq,
    )


def member_out(row: PodRow) -> MemberOut:
    return MemberOut(
        uid=row.uid,
        namespace=row.namespace,
        name=row.name,
        node=row.node,
        phase=row.phase,
        terminating=row.terminating,
        requests=row.requests,
    )


@router.get(
    "/{cluster}/podgroups",
    response={200: PodGroupsOut, **errors(404, 422)},
    summary="List PodGroups",
    **access(VIEW),
)
def list_pod_groups(
    request: HttpRequest,
    cluster: str,
    status: Literal["", "scheduled", "pending", "held", "error", "finished", "empty", "degraded"] = Query(""),
    namespace: str = Query(""),
    q: str = Query("", description="Part of the name."),
    closed: bool = Query(False, description="The closed generations instead of the open ones."),
    after: str = Query("", pattern="^(|[^/]+/[^/]+/[0-9]+)$", description="`next` of the page before."),
    limit: int = Query(100, ge=1, le=1000),
) -> PodGroupsOut:
    """By namespace, name and generation."""
    found = find_cluster(cluster)
    page = selectors.page(
        found,
        status=status,
        namespace=namespace,
        text=q,
        closed=closed,
        after=after,
        limit=limit,
    )
    return PodGroupsOut(items=pod_groups_out(found, page.items), next=page.next or None)


@router.post(
    "/{cluster}/podgroups",
    response={201: OutcomeOut, **errors(400, 404, 409, 413, 422)},
    summary="Submit a PodGroup",
    **access(OPERATE),
)
def submit(
    request: HttpRequest, cluster: str, body: WorkloadIn, idempotency_key: IdempotencyKey = ""
) -> Status[OutcomeOut]:
    """Creates the PodGroup and its members in a simulated cluster.

    A name whose PodGroup is open is refused: end that first, then this makes the next generation. Whether it
    fits is decided by the next cycle: ask for its explanation, or watch the log.
    """
    form = WorkloadForm(
        namespace=body.namespace,
        name=body.name,
        policy=body.policy,
        min_count=body.min_count,
        topology_key=body.topology_key,
        priority=body.priority,
        queue=body.queue,
        templates=tuple(
            MemberTemplate(
                role=template.role,
                count=template.count,
                requests=template.requests,
                node_selector=template.node_selector,
                tolerations=tuple(toleration.model_dump() for toleration in template.tolerations),
                spread=tuple(_spread(rule) for rule in template.spread),
            )
            for template in body.templates
        ),
    )
    done = services.submit(
        cluster=find_cluster(cluster),
        form=form,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(201, outcome(done))


def _spread(rule: SpreadIn) -> dict[str, Any]:
    """As in a pod's spec."""
    written: dict[str, Any] = {
        "topologyKey": rule.topology_key,
        "maxSkew": rule.max_skew,
        "whenUnsatisfiable": rule.when_unsatisfiable,
        "nodeAffinityPolicy": rule.node_affinity_policy,
        "nodeTaintsPolicy": rule.node_taints_policy,
    }
    return written | ({"minDomains": rule.min_domains} if rule.min_domains is not None else {})


@router.post(
    "/{cluster}/podgroups/manifests",
    response={201: OutcomeOut, **errors(400, 404, 409, 413, 422)},
    summary="Submit manifests",
    **access(OPERATE, **bodies.documents("application/yaml", "application/json", "application/gzip")),
)
def submit_manifests(
    request: HttpRequest, cluster: str, idempotency_key: IdempotencyKey = ""
) -> Status[OutcomeOut]:
    """The body is PodGroup and Pod manifests as for `kubectl apply`. All of them are taken, or none."""
    done = services.submit_manifests(
        cluster=find_cluster(cluster),
        data=bodies.read(request, limit=bodies.MANIFESTS_LIMIT),
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(201, outcome(done))


@router.get(
    "/{cluster}/podgroups/{namespace}/{name}",
    response={200: PodGroupDetailOut, **errors(404)},
    summary="Show a PodGroup",
    **access(VIEW),
)
def get_pod_group(
    request: HttpRequest,
    cluster: str,
    namespace: str,
    name: str,
    generation: int | None = Query(
        None, ge=0, description="One of its generations; the open or else the newest when not given."
    ),
) -> PodGroupDetailOut:
    """One generation with its members; those of a closed generation are gone and so not listed."""
    found = find_cluster(cluster)
    try:
        row = selectors.current(found, namespace, name, generation)
    except PodGroupRow.DoesNotExist as error:
        raise Http404(f"There is no such PodGroup in {cluster}: {namespace}/{name}.") from error
    pods = [] if row.closed else [member_out(pod) for pod in selectors.members(found, namespace, name)]
    (group,) = pod_groups_out(found, [row])
    queue = None if row.closed else _queue_out(standings(found, [row.key])[row.key])
    return PodGroupDetailOut(**group.model_dump(), queue=queue, pods=pods)


def _queue_out(standing: Standing) -> QueueOut:
    return QueueOut(
        attempts=standing.attempts,
        decided_at=None if standing.decided_at is None else to_datetime(standing.decided_at),
        woken_by=standing.woken_by,
        retry_at=None if standing.retry_at is None else to_datetime(standing.retry_at),
        lost_to=lost_to_out(standing.lost_to),
    )


@router.delete(
    "/{cluster}/podgroups/{namespace}/{name}",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="End a PodGroup",
    **access(OPERATE),
)
def end_pod_group(
    request: HttpRequest, cluster: str, namespace: str, name: str, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Closes the open generation and removes its members. Simulated clusters only."""
    done = services.end_group(
        cluster=find_cluster(cluster),
        namespace=namespace,
        name=name,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.delete(
    "/{cluster}/pods/{any:uid}",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Delete a member",
    **access(OPERATE),
)
def delete_member(
    request: HttpRequest, cluster: str, uid: str, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Removes one pod. Its workload controller makes another, which the domain of the others pins."""
    done = services.delete_member(
        cluster=find_cluster(cluster),
        uid=uid,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)
