"""Node types that a cluster can grow by, and plans for new nodes: made, approved, rejected, carried out,
exported.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.http import Http404, HttpRequest
from ninja import Field, Query, Router, Schema, Status
from pydantic import ConfigDict

from scheduling.api.auth import OPERATE, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster, outcome
from scheduling.api.errors import errors
from scheduling.api.schemas import OutcomeOut, Resources, Seq, TaintOut
from scheduling.engine.node_types import PlanStatus, ScaleUpOption
from scheduling.engine.scale_up import ScaleUp
from scheduling.kube.growth_export import CLASSES
from scheduling.ledger.store import to_datetime
from scheduling.models import Cluster
from scheduling.selectors import capacity as selectors
from scheduling.selectors.capacity import PlanAndNodes, TypeAndRoom
from scheduling.services import node_types, scale_up, scale_up_export
from scheduling.services.node_types import GrowthForm, NodeTypeForm
from scheduling.services.scale_up import JOIN_MINUTES, VALID_MINUTES, Approval
from scheduling.wording import scale_up as wording

router = Router(tags=["capacity"])


# ---------------------------------------------------------------- what goes in and comes out


class GrowthIn(Schema):
    model_config = ConfigDict(extra="forbid")

    key: str = Field(description="Topology key.")
    domain: str = Field(description="Value of the key; it need not exist yet.")
    most: int = Field(description="Nodes of the type that may be there at most.")


class TaintIn(Schema):
    model_config = ConfigDict(extra="forbid")

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class NodeTypeIn(Schema):
    model_config = ConfigDict(extra="forbid")

    name: str
    like: str = Field(
        "", description="A node whose resources, labels and taints are taken where none are given."
    )
    allocatable: dict[str, str] = Field({}, description="Quantities, as in a manifest.")
    labels: dict[str, str] = {}
    taints: list[TaintIn] = []
    growth: list[GrowthIn]
    cost: str = Field("", description="Units for a node and hour, at most three decimals; empty: not known.")
    provider: Literal["", "simulated"] = Field(
        "", description="`simulated`: the console adds the nodes of an approved plan itself."
    )


class GrowthOut(Schema):
    key: str
    domain: str
    most: int
    room: int = Field(description="Of these may still be planned.")


class NodeTypeOut(Schema):
    name: str
    allocatable: Resources
    labels: dict[str, str]
    taints: list[TaintOut]
    growth: list[GrowthOut]
    cost: int | None = Field(description="Thousandths of a unit for a node and hour; null: not known.")
    provider: str


class NodeTypesOut(Schema):
    items: list[NodeTypeOut]


class NewNodesOut(Schema):
    type: str
    key: str
    domain: str
    count: int


class GroupFitOut(Schema):
    """What was decided about a group with the new nodes there."""

    group: str
    domain: str
    placed: int = Field(description="Members on nodes then.")
    need: int = Field(description="minCount.")


class OptionOut(Schema):
    sentence: str = Field(description="In the language of the request (en, ja).")
    steps: list[NewNodesOut]
    fits: list[GroupFitOut]
    nodes: int
    cost: int = Field(description="Thousandths of a unit for an hour, of the nodes whose cost is known.")
    unpriced: int = Field(description="Nodes whose cost is not known.")
    cheapest: bool = Field(description="Proved: no mixture of types in this domain costs less.")


class PlanOut(Schema):
    name: str
    status: PlanStatus
    groups: list[str]
    options: list[OptionOut] = Field(description="The cheapest first.")
    chosen: int | None = Field(description="Place of the approved option.")
    decided_on: Seq
    expires_at: datetime
    deadline: datetime | None = Field(description="When the nodes must have joined.")
    joined: list[str]
    why: str = Field(description="Why it is closed, as the event says.")


class PlansOut(Schema):
    items: list[PlanOut]


class RefusedTypeOut(Schema):
    type: str
    reason: str
    message: str


class PreviewOut(Schema):
    """What could be planned; nothing is written."""

    options: list[OptionOut]
    obstacle: str = Field(description="Why nothing can be planned; empty otherwise.")
    message: str
    refused: list[RefusedTypeOut] = Field(description="Types that do not help.")


class PlanIn(Schema):
    model_config = ConfigDict(extra="forbid")

    groups: list[str] = Field(description="Keys of waiting PodGroups, namespace/name.")
    minutes: int = Field(VALID_MINUTES, description="How long it may be approved.")


class ApprovalIn(Schema):
    model_config = ConfigDict(extra="forbid")

    option: int = 0
    minutes: int = Field(JOIN_MINUTES, description="Within which the nodes must have joined.")
    nodes: int | None = Field(
        None, description="Nodes that the simulated provider lets join at once; null: all of them."
    )


class RejectionIn(Schema):
    model_config = ConfigDict(extra="forbid")

    why: str = ""


class JoinIn(Schema):
    model_config = ConfigDict(extra="forbid")

    nodes: int | None = Field(None, description="null: all that are missing.")


class ManifestsOut(Schema):
    """A Kubernetes List, for `kubectl apply -f`."""

    apiVersion: Literal["v1"] = "v1"
    kind: Literal["List"] = "List"
    items: list[dict[str, Any]]


def type_out(found: TypeAndRoom) -> NodeTypeOut:
    kind = found.kind
    return NodeTypeOut(
        name=kind.name,
        allocatable=dict(kind.allocatable),
        labels=dict(kind.labels),
        taints=[TaintOut(key=taint.key, value=taint.value, effect=taint.effect) for taint in kind.taints],
        growth=[
            GrowthOut(key=key, domain=domain, most=most, room=room) for key, domain, most, room in found.room
        ],
        cost=kind.cost,
        provider=kind.provider,
    )


def option_out(option: ScaleUpOption) -> OptionOut:
    return OptionOut(
        sentence=wording.option_sentence(option),
        steps=[
            NewNodesOut(type=step.kind, key=step.key, domain=step.domain, count=step.count)
            for step in option.steps
        ],
        fits=[
            GroupFitOut(group=fit.group, domain=fit.domain, placed=fit.placed, need=fit.need)
            for fit in option.fits
        ],
        nodes=option.nodes,
        cost=option.cost,
        unpriced=option.unpriced,
        cheapest=option.cheapest,
    )


def plan_out(found: PlanAndNodes) -> PlanOut:
    plan = found.plan
    return PlanOut(
        name=plan.name,
        status=PlanStatus(plan.status),
        groups=list(plan.groups),
        options=[option_out(option) for option in plan.options],
        chosen=plan.chosen if plan.chosen >= 0 else None,
        decided_on=plan.decided_on,
        expires_at=to_datetime(plan.expires_at),
        deadline=to_datetime(plan.deadline) if plan.deadline else None,
        joined=list(found.joined),
        why=plan.why,
    )


def preview_out(found: ScaleUp) -> PreviewOut:
    return PreviewOut(
        options=[option_out(option) for option in found.options],
        obstacle=found.obstacle or "",
        message=scale_up.OBSTACLES[found.obstacle] if found.obstacle else "",
        refused=[
            RefusedTypeOut(type=kind, reason=why, message=scale_up.TYPES[why]) for kind, why in found.refused
        ],
    )


# ---------------------------------------------------------------- node types


@router.get(
    "/{cluster}/node-types",
    response={200: NodeTypesOut, **errors(404)},
    summary="List node types",
    **access(VIEW),
)
def list_node_types(request: HttpRequest, cluster: str) -> NodeTypesOut:
    """Types of nodes by which the cluster can grow, by name."""
    return types_out(find_cluster(cluster))


def types_out(cluster: Cluster) -> NodeTypesOut:
    return NodeTypesOut(items=[type_out(one) for one in selectors.scale_up_view(cluster).types])


@router.post(
    "/{cluster}/node-types",
    response={201: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Define a node type",
    **access(OPERATE),
)
def define_node_type(
    request: HttpRequest, cluster: str, body: NodeTypeIn, idempotency_key: IdempotencyKey = ""
) -> Status[OutcomeOut]:
    """By hand, or like a node. A type of that name is replaced."""
    form = NodeTypeForm(
        name=body.name,
        like=body.like,
        allocatable=body.allocatable,
        labels=body.labels,
        taints=tuple(taint.model_dump() for taint in body.taints),
        growth=tuple(GrowthForm(entry.key, entry.domain, entry.most) for entry in body.growth),
        cost=body.cost,
        provider=body.provider,
    )
    done = node_types.define(
        cluster=find_cluster(cluster),
        form=form,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(201, outcome(done))


@router.delete(
    "/{cluster}/node-types/{name}",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Remove a node type",
    **access(OPERATE),
)
def remove_node_type(
    request: HttpRequest, cluster: str, name: str, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Refused while an open plan needs it. Nodes of the type stay."""
    done = node_types.remove(
        cluster=find_cluster(cluster),
        name=name,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


# ---------------------------------------------------------------- plans


@router.get(
    "/{cluster}/scale-up",
    response={200: PlansOut, **errors(404)},
    summary="List scale-up plans",
    **access(VIEW),
)
def list_plans(request: HttpRequest, cluster: str) -> PlansOut:
    """Open ones first, the newest first; of the closed ones the latest hundred."""
    return plans_out(find_cluster(cluster))


def plans_out(cluster: Cluster) -> PlansOut:
    return PlansOut(items=[plan_out(one) for one in selectors.scale_up_view(cluster).plans])


@router.post(
    "/{cluster}/scale-up",
    response={201: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Plan a scale-up",
    **access(OPERATE),
)
def plan_scale_up(
    request: HttpRequest, cluster: str, body: PlanIn, idempotency_key: IdempotencyKey = ""
) -> Status[OutcomeOut]:
    """New nodes that make the waiting groups run, proved by deciding with the nodes there; the name of the
    plan is in its event. Refused where no growth of the defined types helps, with why for each of them.
    """
    done = scale_up.plan(
        cluster=find_cluster(cluster),
        groups=body.groups,
        minutes=body.minutes,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(201, outcome(done))


@router.get(
    "/{cluster}/scale-up/{plan}",
    response={200: PlanOut, **errors(404)},
    summary="Show a scale-up plan",
    **access(VIEW),
)
def get_plan(request: HttpRequest, cluster: str, plan: str) -> PlanOut:
    """With its alternatives, and the nodes that have joined."""
    return found_plan_out(find_cluster(cluster), plan)


def found_plan_out(cluster: Cluster, plan: str) -> PlanOut:
    """Raises Http404."""
    for one in selectors.scale_up_view(cluster).plans:
        if one.plan.name == plan:
            return plan_out(one)
    raise Http404(f"There is no plan {plan} in {cluster}.")


@router.get(
    "/{cluster}/podgroups/{namespace}/{name}/scale-up",
    response={200: PreviewOut, **errors(404)},
    summary="Preview a scale-up",
    **access(VIEW),
)
def preview_scale_up(request: HttpRequest, cluster: str, namespace: str, name: str) -> PreviewOut:
    """What could be planned for one group right now, or why nothing can. Nothing is written."""
    return preview_out(scale_up.preview(cluster=find_cluster(cluster), groups=[f"{namespace}/{name}"]))


@router.post(
    "/{cluster}/scale-up/{plan}/approve",
    response={200: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Approve a scale-up plan",
    **access(OPERATE),
)
def approve_plan(
    request: HttpRequest, cluster: str, plan: str, body: ApprovalIn, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """It is proved again first. In a simulated cluster nodes of the simulated provider join at once."""
    done = scale_up.approve(
        cluster=find_cluster(cluster),
        name=plan,
        approval=Approval(body.option, body.minutes, body.nodes),
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.post(
    "/{cluster}/scale-up/{plan}/reject",
    response={200: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Reject a scale-up plan",
    **access(OPERATE),
)
def reject_plan(
    request: HttpRequest, cluster: str, plan: str, body: RejectionIn, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Only one that is not approved yet."""
    done = scale_up.reject(
        cluster=find_cluster(cluster),
        name=plan,
        why=body.why,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.post(
    "/{cluster}/scale-up/{plan}/nodes",
    response={200: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Let nodes of a plan join",
    **access(OPERATE),
)
def join_nodes(
    request: HttpRequest, cluster: str, plan: str, body: JoinIn, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Nodes of an approved plan join a simulated cluster. Simulated clusters only."""
    done = scale_up.provision(
        cluster=find_cluster(cluster),
        name=plan,
        nodes=body.nodes,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


# ---------------------------------------------------------------- for autoscalers


@router.get(
    "/{cluster}/scale-up/{plan}/provisioning-request",
    response={200: ManifestsOut, **errors(404, 409, 422)},
    summary="Export a plan for cluster-autoscaler",
    **access(VIEW),
)
def export_provisioning_request(
    request: HttpRequest,
    cluster: str,
    plan: str,
    option: int | None = Query(
        None, description="Place of an option; the approved or the cheapest one if none."
    ),
    provisioning_class: str = Query(CLASSES[0], description=f"One of {', '.join(CLASSES)}."),
) -> ManifestsOut:
    """In each namespace PodTemplates and a ProvisioningRequest (autoscaling.x-k8s.io/v1) that counts them."""
    made = scale_up_export.provisioning_request(
        cluster=find_cluster(cluster), name=plan, option=option, provisioning_class=provisioning_class
    )
    return ManifestsOut(items=made)


@router.get(
    "/{cluster}/scale-up/{plan}/node-pools",
    response={200: ManifestsOut, **errors(404, 409, 422)},
    summary="Export a plan for Karpenter",
    **access(VIEW),
)
def export_node_pools(
    request: HttpRequest,
    cluster: str,
    plan: str,
    option: int | None = Query(
        None, description="Place of an option; the approved or the cheapest one if none."
    ),
) -> ManifestsOut:
    """NodePools (karpenter.sh/v1) that may make just these nodes; `nodeClassRef` is to be filled in."""
    made = scale_up_export.node_pools(cluster=find_cluster(cluster), name=plan, option=option)
    return ManifestsOut(items=made)
