"""Queues: list them with their use and their order, define one, remove one."""

from __future__ import annotations

from typing import Literal

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema
from pydantic import ConfigDict

from scheduling.api.auth import OPERATE, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster, outcome
from scheduling.api.errors import errors
from scheduling.api.schemas import OutcomeOut, Seq
from scheduling.engine.queues import Queue
from scheduling.models import Cluster
from scheduling.selectors import queues as selectors
from scheduling.services import holding as services
from scheduling.services.state import state_of

router = Router(tags=["queues"])


class QueueUseOut(Schema):
    group: str
    gpus: int


class DefinedQueueOut(Schema):
    name: str
    priority: int
    quota: int | None = Field(description="GPUs of its groups' members on nodes at most; null: no limit.")
    order: str = Field(description="strict or fair.")
    used: int = Field(description="GPUs that members of its groups have on nodes.")
    uses: list[QueueUseOut] = Field(description="By whom, the most first.")
    waiting: list[str] = Field(description="Keys of its groups that wait, in the order of deciding.")
    over_quota: list[str] = Field(description="Those of them that the quota holds.")


class TurnOut(Schema):
    group: str
    queue: str = Field(description="Empty for no defined queue.")
    asked: int = Field(description="GPUs of its waiting members.")
    reason: str = Field(description="Of the last decision about it.")


class QueuesOut(Schema):
    seq: Seq
    items: list[DefinedQueueOut]
    order: list[TurnOut] = Field(description="The first `limit` groups in the order of deciding.")
    waiting: int = Field(description="How many wait in all.")


class QueueIn(Schema):
    """What a queue is from now on."""

    model_config = ConfigDict(extra="forbid")

    priority: int = 0
    quota: int | None = Field(None, description="GPUs; null: no limit.")
    order: Literal["strict", "fair"] = "strict"


@router.get(
    "/{cluster}/queues", response={200: QueuesOut, **errors(404, 422)}, summary="List queues", **access(VIEW)
)
def list_queues(request: HttpRequest, cluster: str, limit: int = Query(100, ge=1, le=1000)) -> QueuesOut:
    """The highest priority first."""
    return queues_out(find_cluster(cluster), limit)


def queues_out(cluster: Cluster, limit: int) -> QueuesOut:
    state = state_of(cluster)
    turns, number = selectors.order(state, limit)
    return QueuesOut(
        seq=state.seq,
        items=[
            DefinedQueueOut(
                name=each.queue.name,
                priority=each.queue.priority,
                quota=each.queue.quota,
                order=each.queue.order,
                used=each.used,
                uses=[QueueUseOut(group=use.key, gpus=use.gpus) for use in each.uses],
                waiting=list(each.waiting),
                over_quota=sorted(each.over_quota),
            )
            for each in selectors.standings(state)
        ],
        order=[
            TurnOut(group=turn.key, queue=turn.queue, asked=turn.asked, reason=turn.reason) for turn in turns
        ],
        waiting=number,
    )


@router.put(
    "/{cluster}/queues/{name}",
    response={200: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Define a queue",
    **access(OPERATE),
)
def define_queue(
    request: HttpRequest, cluster: str, name: str, body: QueueIn, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Defines it or changes it. What it is already writes nothing."""
    done = services.define_queue(
        cluster=find_cluster(cluster),
        queue=Queue(name, body.priority, body.quota, body.order),
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.delete(
    "/{cluster}/queues/{name}",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Remove a queue",
    **access(OPERATE),
)
def remove_queue(
    request: HttpRequest, cluster: str, name: str, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Groups that name it are in no queue then. Refused while a reservation is held for it
    or the preemption policy names it.
    """
    done = services.remove_queue(
        cluster=find_cluster(cluster),
        name=name,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)
