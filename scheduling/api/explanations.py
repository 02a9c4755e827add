"""Why a group waits, or where it would go: the decision at the head of the log, with all its evidence."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from scheduling.api.auth import VIEW, access
from scheduling.api.commands import find_cluster
from scheduling.api.errors import errors, problem
from scheduling.api.moments import find_moment
from scheduling.api.queues import QueueUseOut
from scheduling.api.remedies import (
    CensusOut,
    ChangeSetOut,
    ObstacleOut,
    UpstreamOut,
    census_out,
    change_sets_out,
    obstacles_out,
    upstream_out,
)
from scheduling.api.schemas import AmountOut, LostToOut, ProblemOut, Resources, Seq, lost_to_out
from scheduling.engine.decision import Decision, DomainCount, ShapeCount
from scheduling.services.explain import Explanation, Investigation, investigate
from scheduling.wording import decisions

router = Router(tags=["podgroups"])


class ShapeOut(Schema):
    requests: Resources
    members: int
    bound: int
    placed: int = Field(description="How many of them this decision places.")


class CauseOut(Schema):
    code: str = Field(
        description="taint, cordoned, node_not_ready, selector, capacity:<resource>, or reserved:<name>."
    )
    nodes: int = Field(
        description="Nodes of the domain that this bars, that lack that for one member more, or that lack "
        "only what that reservation holds for others."
    )


class DomainOut(Schema):
    domain: str
    nodes: int
    eligible: int = Field(description="Nodes that taints, selectors, cordons and readiness leave.")
    fits: int = Field(description="Members that fit here now, those already here included.")
    short: int = Field(description="Members short of minCount.")
    reason: str
    short_of: list[AmountOut]
    causes: list[CauseOut]
    never: bool = Field(description="Not even if the domain were empty.")


class FunnelOut(Schema):
    domains: int = Field(description="Values of the topology key.")
    labelled: int = Field(description="Nodes that carry the topology key.")
    eligible: int = Field(description="Domains with a node that a waiting member may use.")
    one_fits: int = Field(description="Domains where one member more fits now.")
    quorum_fits: int = Field(description="Domains known to take the group.")


class AssignmentOut(Schema):
    pod_uid: str
    node: str


class HeldOut(Schema):
    name: str
    domain: str
    holder_kind: str
    holder: str
    left: Resources = Field(description="What it keeps off others now.")


class QuotaOut(Schema):
    queue: str
    quota: int
    used: int = Field(description="GPUs that members of the queue's groups have on nodes.")
    asked: int = Field(description="GPUs that the members missing to minCount ask for.")
    uses: list[QueueUseOut] = Field(description="By whom, the most first.")
    never: bool = Field(description="The whole quota does not do for minCount members, whoever leaves.")


class ExplanationOut(Schema):
    """The decision as it would be made at ``seq``, with its evidence. Nothing is changed by asking."""

    namespace: str
    name: str
    uid: str
    generation: int
    seq: Seq
    at: datetime
    sentence: str = Field(description="The verdict in words, in the language of the request (en, ja).")
    forecast: bool = Field(description="In an observed cluster: placed means would be placed by our cycle.")
    after: list[str] = Field(
        description="In an observed cluster: groups whose forecast room counts as taken, in the order of the "
        "queue."
    )
    complete: bool = Field(description="False when the queue is too long for all of it to be reckoned with.")
    verdict: str
    reason: str
    profile: str
    topology_key: str
    enforced: bool
    domain: str
    need: int
    bound: int
    members: int
    gated: int = Field(description="Members that wait behind scheduling gates.")
    assignments: list[AssignmentOut] = Field(description="Where the members would go; empty unless placed.")
    shapes: list[ShapeOut]
    domains: list[DomainOut] = Field(description="Best first.")
    funnel: FunnelOut
    unlabelled_nodes: int
    fits_across_domains: bool = Field(
        description="Two domains together would do. The law forbids it; it is only told."
    )
    conflict_domains: list[str] = Field(description="Where bound members lie that contradict each other.")
    conflict_nodes: list[str] = Field(description="Nodes of bound members that are gone or unlabelled.")
    over_committed: list[str] = Field(description="Nodes that hold more than they have.")
    unmodelled: list[str]
    method: str = Field(description="counting, heuristic, search, solver, or empty.")
    census: CensusOut | None = Field(description="Of a group that found no place; null otherwise.")
    obstacles: list[ObstacleOut] = Field(description="What is in the way in the nearest domains.")
    reservations: list[HeldOut] = Field(
        description="Reservations for others that keep members off the nearest domains."
    )
    quota: QuotaOut | None = Field(description="Of a group that the quota of its queue holds.")
    changes: list[ChangeSetOut] = Field(
        description="The few smallest changes that would make the group run, smallest first."
    )
    spread: list[ProblemOut] = Field(
        description="What topology spread constraints of members that are to come rule out. With a reason: "
        "no domain is left, as a submission would be told."
    )
    lost_to: LostToOut | None = Field(
        description="The PodGroup that took, in the cycle of the last decision, the room this one fitted in."
    )
    upstream: UpstreamOut


@router.get(
    "/{cluster}/podgroups/{namespace}/{name}/explanation",
    response={200: ExplanationOut, **errors(404, 410, 422)},
    summary="Explain a PodGroup",
    **access(VIEW),
)
def get_explanation(
    request: HttpRequest,
    cluster: str,
    namespace: str,
    name: str,
    at: str = Query("", description="A past moment: the seq of an event, or a time in ISO 8601."),
) -> ExplanationOut:
    """Decides the group on the state as it is now, or as it was at a past moment, and changes nothing.

    Every domain comes with how many members fit, what it is short of and which nodes are left out for
    what. Change sets say what would make the group run; each was decided on a state with the changes
    made. `upstream` is what kube-scheduler would do. Sentences are in the language that `Accept-Language`
    asks for.
    """
    found = find_cluster(cluster)
    seq = find_moment(found, at, "at").seq if at else None
    return explanation_out(investigate(cluster=found, namespace=namespace, name=name, seq=seq))


def explanation_out(found: Investigation) -> ExplanationOut:
    explanation = found.explanation
    decision: Decision = explanation.decision
    namespace, _, name = decision.key.partition("/")
    return ExplanationOut(
        namespace=namespace,
        name=name,
        uid=decision.uid,
        generation=decision.generation,
        seq=explanation.seq,
        at=explanation.at,
        sentence=str(
            decisions.foreseen_sentences(
                decision,
                observed=explanation.observed,
                after=explanation.after,
                complete=explanation.complete,
                schedulers=explanation.schedulers,
            )
        ),
        forecast=explanation.forecast,
        after=list(explanation.after),
        complete=explanation.complete,
        verdict=str(decision.verdict),
        reason=str(decision.reason),
        profile=decision.profile,
        topology_key=decision.topology_key,
        enforced=decision.enforced,
        domain=decision.domain,
        need=decision.need,
        bound=decision.bound,
        members=decision.members,
        gated=decision.gated,
        assignments=[AssignmentOut(pod_uid=uid, node=node) for uid, node in decision.assignments],
        shapes=[_shape(shape) for shape in decision.shapes],
        domains=[_domain(row) for row in decision.domains],
        funnel=FunnelOut(**decision.funnel._asdict()),
        unlabelled_nodes=decision.unlabelled_nodes,
        fits_across_domains=decision.fits_across_domains,
        conflict_domains=list(decision.conflict_domains),
        conflict_nodes=list(decision.conflict_nodes),
        over_committed=list(decision.over_committed),
        unmodelled=list(decision.unmodelled),
        method=decision.method,
        census=census_out(explanation.census),
        obstacles=obstacles_out(explanation.obstacles),
        reservations=[
            HeldOut(
                name=each.reservation.name,
                domain=each.reservation.domain,
                holder_kind=each.reservation.holder_kind,
                holder=each.reservation.holder,
                left=each.left,
            )
            for each in explanation.reservations
        ],
        quota=_quota(explanation),
        changes=change_sets_out(found.changes, decision.topology_key if decision.enforced else ""),
        spread=[problem(told) for told in explanation.spread.all],
        lost_to=lost_to_out(explanation.lost_to),
        upstream=upstream_out(found.comparison),
    )


def _quota(explanation: Explanation) -> QuotaOut | None:
    count = explanation.decision.quota
    if count is None:
        return None
    return QuotaOut(
        queue=count.queue,
        quota=count.quota,
        used=count.used,
        asked=count.asked,
        uses=[QueueUseOut(group=use.key, gpus=use.gpus) for use in explanation.quota_uses],
        never=count.never,
    )


def _shape(shape: ShapeCount) -> ShapeOut:
    return ShapeOut(
        requests=dict(shape.requests), members=shape.members, bound=shape.bound, placed=shape.placed
    )


def _domain(row: DomainCount) -> DomainOut:
    return DomainOut(
        domain=row.domain,
        nodes=row.nodes,
        eligible=row.eligible,
        fits=row.fits,
        short=row.short,
        reason=str(row.reason),
        short_of=[AmountOut(resource=resource, amount=amount) for resource, amount in row.short_of],
        causes=[CauseOut(code=code, nodes=nodes) for code, nodes in row.causes],
        never=row.never,
    )
