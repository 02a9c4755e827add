"""Waits and what takes a PodGroup out of one: deadlines, new generations, domains marked lost."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from django.http import Http404, HttpRequest
from ninja import Field, Query, Router, Schema, Status
from pydantic import AwareDatetime, ConfigDict

from scheduling.api.auth import OPERATE, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster, outcome
from scheduling.api.errors import errors
from scheduling.api.schemas import AmountOut, OutcomeOut
from scheduling.engine.waiting import Deadline
from scheduling.ledger.store import to_datetime, to_milliseconds
from scheduling.models import Cluster, PodGroupRow
from scheduling.selectors import lineage as lineages
from scheduling.selectors import pod_groups, waits
from scheduling.services import deadlines, generations, lost_domains
from scheduling.services.generations import Forecast, NextGeneration
from scheduling.wording import decisions

router = Router(tags=["waits"])

Action = Literal["alert", "propose", "close"]

GROUP = "/{cluster}/podgroups/{namespace}/{name}"


class DeadlineOut(Schema):
    at: datetime
    action: str = Field(description="alert, propose or close: what happens, or happened, at its end.")
    default: bool = Field(description="It follows from the wait policy of the cluster.")
    expired_at: datetime | None = Field(description="When it was found to be past; null before.")


class OccupantOut(Schema):
    group: str = Field(description="Group key; empty for pods that belong to no PodGroup.")
    members: int
    gpus: int


class StickyWaitOut(Schema):
    topology_key: str
    domain: str | None = Field(description="Null when its nodes do not tell it any more.")
    since: datetime
    seq: int = Field(description="The event that tells it.")
    occupants: list[OccupantOut] = Field(description="Who else is in the domain, most GPUs first.")
    short_of: list[AmountOut] = Field(description="What it lacks, by the last decision.")


class ForecastOut(Schema):
    """What would be decided about a new generation at once."""

    topology_key: str
    min_count: int
    elastic: bool
    verdict: str
    reason: str
    domain: str
    fits: int
    members: int
    bound: int = Field(description="Members that lose their node by it.")
    fewer: int = Field(description="So many members fewer are guaranteed at once.")
    sentence: str


class WaitOut(Schema):
    since: datetime | None = Field(description="When the wait for minCount began; null without one.")
    degraded_since: datetime | None = Field(description="Since when some members run, but too few.")
    domain_lost: bool
    sticky: StickyWaitOut | None
    deadline: DeadlineOut | None
    unlimited: bool = Field(description="Somebody said that it may wait for as long as it takes.")
    proposals: list[ForecastOut] = Field(
        description="New generations that would be placed at once; looked for when the domain is lost or a "
        "deadline that was to propose is past."
    )


class DeadlineIn(Schema):
    model_config = ConfigDict(extra="forbid")

    at: AwareDatetime | None = Field(description="Null: it waits for as long as it takes.")
    action: Action = "alert"


class NextGenerationIn(Schema):
    """What is to be different; everything else is as in the generation that is open."""

    model_config = ConfigDict(extra="forbid")

    generation: int = Field(
        description="The open generation that this was decided on. When it is not the open one any more, the "
        "request is refused and names who came first: asking twice opens one."
    )
    topology_key: str | None = Field(None, description="Empty for no constraint; null for the same.")
    min_count: int | None = Field(None, description="Lower only where the group is elastic.")
    checkpoint: str = Field("", description="What its members start from; it is kept as text.")
    elastic: bool = Field(False, description="Mark the group as elastic from this generation on.")


class GenerationOut(Schema):
    generation: int
    uid: str
    supersedes: str = Field(description="Uid of the generation that it follows; empty for the first.")
    why: str = Field(
        description="resubmitted, restored, constraint, elastic, domain_lost; empty when nobody said."
    )
    checkpoint: str
    opened_seq: int
    opened_at: datetime
    opened_by: str
    closed_reason: str = Field(description="ended, removed, superseded or expired; empty while it is open.")
    closed_seq: int | None
    closed_at: datetime | None
    closed_by: str


class GenerationsOut(Schema):
    items: list[GenerationOut]


class WaitPolicyOut(Schema):
    after_s: int | None = Field(description="Seconds that a group may wait; null: as long as it takes.")
    action: str | None = Field(description="alert, propose or close; null without a default.")


class WaitPolicyIn(Schema):
    model_config = ConfigDict(extra="forbid")

    after_s: int | None
    action: Action = "alert"


class DomainIn(Schema):
    model_config = ConfigDict(extra="forbid")

    topology_key: str
    domain: str


class LostDomainOut(DomainIn):
    nodes: list[str]


class LostDomainsOut(Schema):
    items: list[LostDomainOut]


def _moment(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else to_datetime(milliseconds)


def deadline_out(found: Deadline | None) -> DeadlineOut | None:
    if found is None:
        return None
    return DeadlineOut(
        at=to_datetime(found.at),
        action=found.action,
        default=found.default,
        expired_at=_moment(found.expired_at),
    )


def forecast_out(made: Forecast) -> ForecastOut:
    decision = made.decision
    return ForecastOut(
        topology_key=made.group.topology_key,
        min_count=made.group.min_count,
        elastic=made.group.elastic,
        verdict=str(decision.verdict),
        reason=str(decision.reason),
        domain=decision.domain,
        fits=decision.domains[0].fits if decision.domains else 0,
        members=decision.members,
        bound=made.bound,
        fewer=made.fewer,
        sentence=str(decisions.sentences(decisions.facts_of_decision(decision))),
    )


def _row(cluster: Cluster, namespace: str, name: str) -> PodGroupRow:
    try:
        return pod_groups.current(cluster, namespace, name)
    except PodGroupRow.DoesNotExist as error:
        raise Http404(f"There is no such PodGroup in {cluster}: {namespace}/{name}.") from error


@router.get(
    f"{GROUP}/wait",
    response={200: WaitOut, **errors(404)},
    summary="Show a wait",
    **access(VIEW),
)
def get_wait(request: HttpRequest, cluster: str, namespace: str, name: str) -> WaitOut:
    """What the open generation waits for, since when, until when, and what would take it out of it."""
    return wait_out(find_cluster(cluster), namespace, name)


def wait_out(cluster: Cluster, namespace: str, name: str) -> WaitOut:
    """Raises Http404."""
    row = _row(cluster, namespace, name)
    wait = waits.of_group(cluster, row.key)
    if wait is None:
        raise Http404(f"No generation of {namespace}/{name} is open.")
    sticky = None
    if wait.sticky is not None:
        sticky = StickyWaitOut(
            topology_key=wait.sticky.topology_key,
            domain=wait.sticky.domain,
            since=to_datetime(wait.sticky.since),
            seq=wait.sticky.seq,
            occupants=[
                OccupantOut(group=one.key, members=one.members, gpus=one.gpus) for one in wait.occupants
            ],
            short_of=[AmountOut(resource=resource, amount=amount) for resource, amount in row.short_of],
        )
    return WaitOut(
        since=_moment(wait.since),
        degraded_since=row.degraded_since,
        domain_lost=wait.lost,
        sticky=sticky,
        deadline=deadline_out(wait.deadline),
        unlimited=wait.unlimited,
        proposals=[forecast_out(made) for made in wait.proposals],
    )


@router.post(
    f"{GROUP}/deadline",
    response={200: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Keep waiting, until a deadline or for as long as it takes",
    **access(OPERATE),
)
def set_deadline(
    request: HttpRequest,
    cluster: str,
    namespace: str,
    name: str,
    body: DeadlineIn,
    idempotency_key: IdempotencyKey = "",
) -> OutcomeOut:
    """Of the open generation. `close` ends it when the deadline is past; simulated clusters only."""
    done = deadlines.set_deadline(
        cluster=find_cluster(cluster),
        namespace=namespace,
        name=name,
        at=None if body.at is None else to_milliseconds(body.at),
        action=body.action,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.delete(
    f"{GROUP}/deadline",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Go back to the default deadline",
    **access(OPERATE),
)
def withdraw_deadline(
    request: HttpRequest, cluster: str, namespace: str, name: str, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """What was said for the open generation holds no more. The default of the cluster, if it has one, counts
    from when the wait began: a wait that is longer is past it at once.
    """
    done = deadlines.withdraw_deadline(
        cluster=find_cluster(cluster),
        namespace=namespace,
        name=name,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.get(
    f"{GROUP}/generations",
    response={200: GenerationsOut, **errors(404)},
    summary="List generations",
    **access(VIEW),
)
def list_generations(request: HttpRequest, cluster: str, namespace: str, name: str) -> GenerationsOut:
    """Newest first: who opened each, why, and how it ended. Those whose beginning is archived are missing."""
    return generations_out(find_cluster(cluster), namespace, name)


def generations_out(cluster: Cluster, namespace: str, name: str) -> GenerationsOut:
    """Raises Http404."""
    _row(cluster, namespace, name)
    told = lineages.lineage(cluster, namespace, name)
    return GenerationsOut(
        items=[
            GenerationOut(**{field: getattr(one, field) for field in GenerationOut.model_fields})
            for one in told
        ]
    )


def _wanted(body: NextGenerationIn) -> NextGeneration:
    return NextGeneration(
        body.topology_key, body.min_count, body.checkpoint, body.elastic, generation=body.generation
    )


@router.post(
    f"{GROUP}/generations",
    response={201: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Open a new generation",
    **access(OPERATE),
)
def open_generation(
    request: HttpRequest,
    cluster: str,
    namespace: str,
    name: str,
    body: NextGenerationIn,
    idempotency_key: IdempotencyKey = "",
) -> Status[OutcomeOut]:
    """Closes the open generation as superseded, removes its members and makes them anew, on no node.
    Simulated clusters only.
    """
    done = generations.open_next(
        cluster=find_cluster(cluster),
        namespace=namespace,
        name=name,
        wanted=_wanted(body),
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(201, outcome(done))


@router.get(
    f"{GROUP}/generations/forecast",
    response={200: ForecastOut, **errors(404, 422)},
    summary="Forecast a new generation",
    **access(VIEW),
)
def forecast_generation(
    request: HttpRequest,
    cluster: str,
    namespace: str,
    name: str,
    topology_key: str | None = Query(None, description="Empty for no constraint; left out for the same."),
    min_count: int | None = Query(None, description="Left out for the same."),
    elastic: bool = Query(False, description="As if the group were marked elastic."),
) -> ForecastOut:
    """What would be decided about it right now, before all others. Nothing is written."""
    made = generations.preview_next(
        cluster=find_cluster(cluster),
        namespace=namespace,
        name=name,
        wanted=NextGeneration(topology_key, min_count, elastic=elastic),
    )
    return forecast_out(made)


@router.get(
    "/{cluster}/wait-policy",
    response={200: WaitPolicyOut, **errors(404)},
    summary="Show the default wait deadline",
    **access(VIEW),
)
def get_policy(request: HttpRequest, cluster: str) -> WaitPolicyOut:
    """For groups without a deadline of their own; counted from when a wait began."""
    return policy_out(find_cluster(cluster))


def policy_out(cluster: Cluster) -> WaitPolicyOut:
    found = waits.policy(cluster)
    if found is None:
        return WaitPolicyOut(after_s=None, action=None)
    return WaitPolicyOut(after_s=found.after // 1000, action=found.action)


@router.post(
    "/{cluster}/wait-policy",
    response={200: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Set the default wait deadline",
    **access(OPERATE),
)
def set_policy(
    request: HttpRequest, cluster: str, body: WaitPolicyIn, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Waits that are longer already expire at once."""
    done = deadlines.set_policy(
        cluster=find_cluster(cluster),
        after=None if body.after_s is None else body.after_s * 1000,
        action=body.action,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.get(
    "/{cluster}/lost-domains",
    response={200: LostDomainsOut, **errors(404)},
    summary="List domains that are marked lost",
    **access(VIEW),
)
def list_lost(request: HttpRequest, cluster: str) -> LostDomainsOut:
    """Those that an operator gave up, in the order in which they were; not those whose nodes are gone."""
    return lost_domains_out(find_cluster(cluster))


def lost_domains_out(cluster: Cluster) -> LostDomainsOut:
    marks = waits.marked_lost(cluster)
    return LostDomainsOut(
        items=[
            LostDomainOut(
                topology_key=mark.topology_key, domain=mark.domain, nodes=[name for name, _, _ in mark.nodes]
            )
            for mark in marks
        ]
    )


@router.post(
    "/{cluster}/lost-domains",
    response={200: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Mark a domain lost",
    **access(OPERATE),
)
def mark_lost(
    request: HttpRequest, cluster: str, body: DomainIn, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Its nodes lose the label and are cordoned until the mark is taken back, so that groups in it have lost
    it. Simulated clusters only.
    """
    done = lost_domains.mark(
        cluster=find_cluster(cluster),
        topology_key=body.topology_key,
        domain=body.domain,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.post(
    "/{cluster}/lost-domains/taken-back",
    response={200: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Take the mark of a lost domain back",
    **access(OPERATE),
)
def take_back(
    request: HttpRequest, cluster: str, body: DomainIn, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Its nodes that are still there, and in no other domain, are as they were."""
    done = lost_domains.take_back(
        cluster=find_cluster(cluster),
        topology_key=body.topology_key,
        domain=body.domain,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)
