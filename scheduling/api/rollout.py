"""The rollout: readiness, facts that are stated, switches of gates rehearsed, advice for a workload."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema, Status

from scheduling.api.auth import RUN, SWITCH_GATE, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster, outcome
from scheduling.api.errors import ApiError, errors
from scheduling.api.runs import RunBriefOut
from scheduling.api.schemas import OutcomeOut
from scheduling.engine.change_steps import EndGroup
from scheduling.scenarios import advice, rehearsal
from scheduling.services import readiness, stating
from scheduling.wording import advice as advised
from scheduling.wording import readiness as wording

router = Router(tags=["rollout"])


class ItemOut(Schema):
    kind: str = Field(description="group, node or step.")
    name: str
    why: str
    names: list[str]


class EvidenceOut(Schema):
    read: str = Field(description="state, import, switch, stated, release, or empty: nothing tells it.")
    seq: int | None = Field(description="The event that it was read from.")
    actor: str
    at: datetime | None
    sources: list[str]


class RowOut(Schema):
    code: str
    about: str = Field(description="The gate or topology key; empty for the cluster.")
    standing: str = Field(description="green, red or unknown.")
    said: str
    values: dict[str, str | int]
    sentence: str
    to_do: str
    items: list[ItemOut]
    evidence: EvidenceOut
    fact: str = Field(description="What can be stated to make it known.")


class ReadinessOut(Schema):
    seq: int
    ready: bool
    sentence: str
    red: int
    unknown: int
    release: str = Field(description="Kubernetes release by which it was judged; empty when not followed.")
    rows: list[RowOut]


class RehearsalIn(Schema):
    gates: dict[str, bool] = Field(
        description="The gates to be switched, and to what.",
        examples=[{"TopologyAwareWorkloadScheduling": False}],
    )


class SideOut(Schema):
    runs: bool = Field(description="Whether it would be placed now.")
    verdict: str
    reason: str
    domains: dict[str, int] = Field(description="Members by domain; empty while it would wait.")
    estimate: dict[str, Any] | None = Field(description="By the model, not measured.")
    supposed: bool = Field(description="Estimated for a domain that has no room now.")
    ends: list[list[str]] = Field(description="Groups after whose end it would run.")
    changes: list[dict[str, Any]] = Field(description="The smallest changes after which it would run.")
    sentence: str


class RoomOut(Schema):
    domain: str
    nodes: int
    free_gpus: int
    fits: int = Field(description="Members that would fit at most.")
    stranded: bool


class AdviceOut(Schema):
    seq: int
    group: str
    topology_key: str
    members: int
    need: int
    recommend: str = Field(description="tas, plain, or empty for no advice.")
    why: str
    sentence: str
    gain_thousandths: int | None = Field(
        description="Throughput in one domain against plain gang, 1000: as much."
    )
    exposed_thousandths: int | None = Field(
        description="Part of a plain gang's step that waits to communicate."
    )
    break_even_ms: int | None = Field(description="So long a wait pays for the gain.")
    stranded_gpus: int
    free_gpus: int
    rooms: list[RoomOut]
    tas: SideOut
    plain: SideOut
    model: dict[str, Any]


class FactIn(Schema):
    value: str = Field(description="Empty takes back what was stated.")
    source: str = ""


@router.get(
    "/{cluster}/readiness",
    response={200: ReadinessOut, **errors(404)},
    summary="How ready the cluster is",
    **access(VIEW),
)
def read_readiness(request: HttpRequest, cluster: str) -> ReadinessOut:
    """For topology-aware scheduling: rows that are green, red or not known, with what each rests on."""
    found = readiness.readiness(find_cluster(cluster))
    return ReadinessOut(
        seq=found.seq,
        ready=found.ready,
        sentence=wording.overall(found),
        red=found.count(readiness.Standing.RED),
        unknown=found.count(readiness.Standing.UNKNOWN),
        release=found.release.version if found.release is not None else "",
        rows=[_row(row) for row in found.rows],
    )


@router.put(
    "/{cluster}/readiness/facts/{fact}",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="State a fact",
    **access(SWITCH_GATE),
)
def state_fact(
    request: HttpRequest, cluster: str, fact: str, body: FactIn, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """What no dump tells; it is shown as stated by you and never taken for measured."""
    done = stating.state_fact(
        cluster=find_cluster(cluster),
        fact=fact,
        value=body.value,
        source=body.source,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)


@router.post(
    "/{cluster}/rehearsals",
    response={202: RunBriefOut, **errors(404, 409, 422)},
    summary="Rehearse a switch of gates",
    **access(RUN),
)
def rehearse(
    request: HttpRequest, cluster: str, body: RehearsalIn, idempotency_key: IdempotencyKey = ""
) -> Status[RunBriefOut]:
    """On a copy, by a worker; nothing is switched. The result is that of the run: which groups would change,
    and how.
    """
    run = rehearsal.request(
        cluster=find_cluster(cluster),
        gates=body.gates,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(202, RunBriefOut.from_orm(run))


@router.get(
    "/{cluster}/advice",
    response={200: AdviceOut, **errors(404, 422)},
    summary="Advise one domain or plain gang",
    **access(VIEW),
)
def advise(
    request: HttpRequest,
    cluster: str,
    group: str | None = Query(None, description="An open one; or give a workload."),
    workload: str | None = Query(
        None, description="JSON of one that is not submitted, with the fields of a submission."
    ),
    topology_key: str = Query("", description="Empty for the one that it names."),
    job_ms: int = Query(24 * 3600 * 1000, description="Length of the job with all members in one domain."),
    worth: int = Query(50, description="Least gain that is worth a constraint, in thousandths."),
    model: str = Query(
        "{}", description="JSON of what differs from the default model, with names as the answer has them."
    ),
) -> AdviceOut:
    """Gain by the model, wait and room left over; decided on copies, nothing is written."""
    document: dict[str, Any] = {
        "topology_key": topology_key,
        "job_ms": job_ms,
        "worth": worth,
        "model": _json("model", model),
    }
    if group is not None:
        document["group"] = group
    if workload is not None:
        document["workload"] = _json("workload", workload)
    found = advice.advise(cluster=find_cluster(cluster), document=document)
    return AdviceOut(
        seq=found.seq,
        group=found.key,
        topology_key=found.topology_key,
        members=found.members,
        need=found.need,
        recommend=found.recommend,
        why=found.why,
        sentence=advised.recommendation(found),
        gain_thousandths=found.gain,
        exposed_thousandths=found.exposed,
        break_even_ms=found.break_even_ms,
        stranded_gpus=found.stranded,
        free_gpus=found.free,
        rooms=[
            RoomOut(
                domain=room.domain, nodes=room.nodes, free_gpus=room.free, fits=room.fits,
                stranded=room.stranded,
            )
            for room in found.rooms
        ],
        tas=_side(found, found.tas),
        plain=_side(found, found.plain),
        model=asdict(found.training),
    )  # fmt: skip


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ApiError(422, f"{name} is no JSON: {error}") from None


def _side(found: advice.Advice, side: advice.Side) -> SideOut:
    return SideOut(
        runs=side.runs,
        verdict=str(side.decision.verdict),
        reason=str(side.decision.reason),
        domains=dict(side.places),
        estimate=None if side.estimate is None else asdict(side.estimate),
        supposed=side.supposed,
        ends=[[step.group for step in one.steps if isinstance(step, EndGroup)] for one in side.ends],
        changes=[one.to_json() for one in side.changes],
        sentence=advised.outlook(side, found.topology_key),
    )


def _row(row: readiness.Row) -> RowOut:
    first = row.first
    return RowOut(
        code=row.code,
        about=row.about,
        standing=row.standing,
        said=row.said,
        values=dict(row.values),
        sentence=wording.sentence(row),
        to_do=wording.to_do(row),
        items=[
            ItemOut(kind=item.kind, name=item.name, why=item.why, names=list(item.names))
            for item in row.items
        ],
        evidence=EvidenceOut(
            read=row.read,
            seq=first.seq if first else None,
            actor=first.actor if first else "",
            at=datetime.fromtimestamp(first.at / 1000, UTC) if first else None,
            sources=list(row.sources),
        ),
        fact=row.fact,
    )
