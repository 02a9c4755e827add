"""Why a group waits, or where it would go: the decision at the head of the log, with all its evidence."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Router

from scheduling.api.auth import VIEW, access
from scheduling.api.commands import find_cluster
from scheduling.api.errors import errors
from scheduling.api.schemas import (
    AmountOut,
    AssignmentOut,
    CauseOut,
    DomainOut,
    ExplanationOut,
    FunnelOut,
    ShapeOut,
)
from scheduling.engine.decision import Decision, DomainCount, ShapeCount
from scheduling.services.explain import Explanation, explain
from scheduling.wording import decisions

router = Router(tags=["podgroups"])


@router.get(
    "/{cluster}/podgroups/{namespace}/{name}/explanation",
    response={200: ExplanationOut, **errors(404)},
    summary="Explain a PodGroup",
    **access(VIEW),
)
def get_explanation(request: HttpRequest, cluster: str, namespace: str, name: str) -> ExplanationOut:
    """Decides the group on the state as it is now, and changes nothing.

    Every domain comes with how many members fit, what it is short of and which nodes are left out for
    what. The sentence is in the language that `Accept-Language` asks for.
    """
    return explanation_out(explain(cluster=find_cluster(cluster), namespace=namespace, name=name))


def explanation_out(explanation: Explanation) -> ExplanationOut:
    decision: Decision = explanation.decision
    namespace, _, name = decision.key.partition("/")
    return ExplanationOut(
        namespace=namespace,
        name=name,
        uid=decision.uid,
        generation=decision.generation,
        seq=explanation.seq,
        at=explanation.at,
        sentence=str(decisions.sentences(decisions.facts_of_decision(decision))),
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
