"""Preemption, apart from topology-aware scheduling: policy, proposals, approval."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from django.http import HttpRequest
from ninja import Field, Router, Schema, Status

from scheduling.api.auth import OPERATE, SWITCH_GATE, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster, outcome
from scheduling.api.errors import errors
from scheduling.api.schemas import OutcomeOut, Seq
from scheduling.engine.preemption_records import PreemptionPlan, Victim
from scheduling.ledger.store import to_datetime
from scheduling.models import Cluster
from scheduling.selectors import preemption as selectors
from scheduling.services import preemption as services
from scheduling.wording import preemption as wording

router = Router(tags=["preemption"])

Mode = Literal["off", "propose", "automatic"]


class PolicyOut(Schema):
    mode: Mode = Field(description="`automatic` makes and approves proposals for the queues by itself.")
    queues: list[str] = Field(description="For which the automatic mode acts.")


class PolicyIn(Schema):
    mode: str = Field(description="`off`, `propose` or `automatic`.")
    queues: list[str] = Field(default=[], description="Needed for `automatic`, forbidden otherwise.")


class EvictedOut(Schema):
    uid: str
    name: str
    node: str


class VictimOut(Schema):
    """A group that ends, or members of an elastic gang beyond its minCount that leave."""

    group: str = Field(description="Key of the PodGroup.")
    uid: str
    generation: int
    priority: int
    whole: bool = Field(description="The group ends. Else the members leave and it goes on.")
    members: list[EvictedOut] = Field(description="Members that lose their node.")
    gpus: int = Field(description="GPUs that they hold.")
    created_at: datetime | None = Field(description="Of the group; null when it is not known.")


class CostOut(Schema):
    """Proposals are compared by these, from the first on."""

    ends: bool = Field(description="Whether any group ends.")
    gpus: int
    groups: int = Field(description="Groups that end or lose members.")
    members: int


class ProposalOut(Schema):
    id: str
    group: str = Field(description="Key of the PodGroup that waits.")
    uid: str
    generation: int
    domain: str = Field(description="Where it would run; empty for the whole cluster.")
    victims: list[VictimOut]
    cost: CostOut
    cost_sentence: str
    proved_smallest: bool = Field(
        description="No cheaper set of victims exists. Else it is only known that none can be left out."
    )
    approved: bool = Field(description="The victims were evicted, and the group is not placed yet.")
    proposed_by: Seq = Field(description="seq of the event that proposed it.")
    decided_on: Seq
    expires_at: datetime


class PreemptionOut(Schema):
    policy: PolicyOut
    proposals: list[ProposalOut] = Field(description="Open ones, oldest first.")
    seq: Seq = Field(description="Of the state that tells them.")


def _victim(victim: Victim) -> VictimOut:
    return VictimOut(
        group=victim.key,
        uid=victim.uid,
        generation=victim.generation,
        priority=victim.priority,
        whole=victim.whole,
        members=[EvictedOut(uid=uid, name=name, node=node) for uid, name, node in victim.members],
        gpus=victim.gpus,
        created_at=to_datetime(victim.created) if victim.created else None,
    )


def _proposal(plan: PreemptionPlan) -> ProposalOut:
    ends, gpus, groups, members = plan.cost
    return ProposalOut(
        id=plan.id,
        group=plan.group,
        uid=plan.uid,
        generation=plan.generation,
        domain=plan.domain,
        victims=[_victim(victim) for victim in plan.victims],
        cost=CostOut(ends=bool(ends), gpus=gpus, groups=groups, members=members),
        cost_sentence=wording.cost(*plan.cost),
        proved_smallest=plan.proved_smallest,
        approved=plan.approved,
        proposed_by=plan.seq,
        decided_on=plan.decided_on,
        expires_at=to_datetime(plan.expires),
    )


@router.get(
    "/{cluster}/preemption",
    response={200: PreemptionOut, **errors(404)},
    summary="Show policy and proposals",
    **access(VIEW),
)
def get_preemption(request: HttpRequest, cluster: str) -> PreemptionOut:
    """What became of others is in the log: events whose type begins with `Preemption`."""
    return preemption_out(find_cluster(cluster))


def preemption_out(cluster: Cluster) -> PreemptionOut:
    found = selectors.current(cluster)
    return PreemptionOut(
        policy=PolicyOut.model_validate({"mode": found.policy.mode, "queues": list(found.policy.queues)}),
        proposals=[_proposal(plan) for plan in found.plans],
        seq=found.seq,
    )


@router.patch(
    "/{cluster}/preemption/policy",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Set the policy",
    **access(SWITCH_GATE),
)
def set_policy(
    request: HttpRequest, cluster: str, body: PolicyIn, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Switched off, open proposals end with the next cycle. The same policy again writes nothing."""
    done = services.set_policy(
        cluster=find_cluster(cluster),
        mode=body.mode,
        queues=body.queues,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.post(
    "/{cluster}/podgroups/{namespace}/{name}/preemption",
    response={201: OutcomeOut, **errors(404, 409, 422)},
    summary="Propose a preemption",
    **access(OPERATE),
)
def propose(
    request: HttpRequest, cluster: str, namespace: str, name: str, idempotency_key: IdempotencyKey = ""
) -> Status[OutcomeOut]:
    """Looks for groups of lower priority in one domain whose end makes this one run. Nothing is evicted.

    Where there is nothing to propose, the refusal says why.
    """
    done = services.propose(
        cluster=find_cluster(cluster),
        namespace=namespace,
        name=name,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(201, outcome(done))


@router.post(
    "/{cluster}/preemption/{id}/approve",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Approve a proposal",
    **access(OPERATE),
)
def approve(request: HttpRequest, cluster: str, id: str, idempotency_key: IdempotencyKey = "") -> OutcomeOut:
    """Checked again first, and refused with what has changed when it does not hold any more.

    Then the members are evicted, and the next cycle places the group. Simulated clusters only.
    """
    done = services.approve(
        cluster=find_cluster(cluster),
        id=id,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.post(
    "/{cluster}/preemption/{id}/reject",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Reject a proposal",
    **access(OPERATE),
)
def reject(request: HttpRequest, cluster: str, id: str, idempotency_key: IdempotencyKey = "") -> OutcomeOut:
    """It is over; nobody is evicted."""
    done = services.reject(
        cluster=find_cluster(cluster),
        id=id,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)
