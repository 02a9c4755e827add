"""The rollout: readiness, facts that are stated, and switches of gates rehearsed."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpRequest
from ninja import Field, Router, Schema, Status

from scheduling.api.auth import RUN, SWITCH_GATE, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster, outcome
from scheduling.api.errors import errors
from scheduling.api.runs import RunBriefOut
from scheduling.api.schemas import OutcomeOut
from scheduling.scenarios import rehearsal
from scheduling.services import readiness, stating
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
