"""Canaries: start, read, approve, widen, roll back, stop; and throughput that somebody measured."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.http import HttpRequest
from ninja import Field, Router, Schema, Status
from pydantic import ConfigDict

from scheduling.api.auth import OPERATE, SWITCH_GATE, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster, outcome
from scheduling.api.errors import errors
from scheduling.api.schemas import OutcomeOut, Seq
from scheduling.engine.canary import Canary, Measured, Scope
from scheduling.ledger.store import to_datetime
from scheduling.selectors import canary as selectors
from scheduling.services import canary as services
from scheduling.services.execute import Outcome
from scheduling.wording import canary as wording

router = Router(tags=["canary"])

_CRITERIA = ", ".join(wording.CRITERIA)


class ScopeIO(Schema):
    """Groups of these namespaces and of these keys, or the whole cluster."""

    model_config = ConfigDict(extra="forbid")

    namespaces: list[str] = []
    groups: list[str] = Field([], description="namespace/name of PodGroups, open or still to come.")
    whole: bool = Field(False, description="The whole cluster: the gates go on. Only in the last stage.")


class CanaryIn(Schema):
    """The limits are of every window; at least one is needed."""

    model_config = ConfigDict(extra="forbid")

    stages: list[ScopeIO] = Field(description="Each covers all of the one before it.")
    limits: dict[str, int] = Field(
        description=f"By what is judged ({_CRITERIA}): waits in milliseconds, shares and comparisons with "
        "the control in thousandths, throughput in thousandths per second (at least), else groups."
    )
    window_ms: int = Field(3_600_000, description="How long each stage is judged.")
    means: str = Field(
        "scope", description="`scope`: the gates stay off for all others; `gate`: they are on meanwhile."
    )
    approval: str = Field(
        "automatic", description="What follows from a verdict happens by itself, or with `ask` when approved."
    )
    unit: str = Field("steps", description="Of measured throughput: `steps` or `tokens` per second.")


class MeasuredOut(Schema):
    criterion: str
    limit: int
    measured: int | None = Field(description="null: no data. Units as in the limits.")
    groups: int = Field(description="Of how many groups it tells.")
    at_least: bool = Field(description="Some of them still wait, so that it can only be more.")
    verdict: str = Field(description="`passed`, `failed` or `not_enough_data`.")
    sentence: str


class CanaryOut(Schema):
    name: str
    status: str = Field(
        description="`running`, `asking` (waits for a person), `kept`, `rolled_back`, `stopped`."
    )
    means: str
    approval: str
    stages: list[ScopeIO]
    stage: int = Field(description="Index of the one that runs, or ran last.")
    unit: str
    gates: list[str] = Field(description="Gates that it switched on.")
    started_at: datetime
    since: datetime = Field(description="Begin of the window that is open, or was last.")
    until: datetime
    verdict: str = Field(description="Of the last judgement, empty before.")
    measured: list[MeasuredOut] = Field(description="At this moment while it runs, else when it was judged.")
    started_by: Seq
    judged_by: Seq | None


class JudgedGroupOut(Schema):
    key: str
    status: str
    waited_ms: int | None = Field(description="In this window; null when it does not wait.")
    error: str = Field(description="`conflicted`, `domain_lost` or `deadline`; empty for none.")


class CanariesOut(Schema):
    seq: Seq
    now: CanaryOut | None = Field(description="The one that is not over.")
    groups: list[JudgedGroupOut] = Field(description="Those that it judges, at most 200.")
    spread: list[str] = Field(description="Groups that ran spread: left out until their next generation.")
    kept: list[CanaryOut] = Field(description="Those whose groups stay held to one domain.")
    over: list[CanaryOut] = Field(description="The latest others, the last one first.")


class ThroughputIn(Schema):
    """A measurement, never an estimate."""

    model_config = ConfigDict(extra="forbid")

    rate: int = Field(description="Thousandths of the unit per second.")
    unit: str = Field("steps", description="`steps` or `tokens`.")
    source: str = Field(description="What measured it.")


def _scope(scope: Scope) -> ScopeIO:
    return ScopeIO(namespaces=list(scope.namespaces), groups=list(scope.groups), whole=scope.whole)


def _measured(each: Measured, unit: str) -> MeasuredOut:
    return MeasuredOut(
        criterion=each.criterion,
        limit=each.limit,
        measured=each.measured,
        groups=each.groups,
        at_least=each.at_least,
        verdict=each.verdict,
        sentence=wording.measured(each, unit),
    )


def _canary(canary: Canary, measured: tuple[Measured, ...]) -> CanaryOut:
    return CanaryOut(
        name=canary.id,
        status=canary.status,
        means=canary.means,
        approval=canary.approval,
        stages=[_scope(stage) for stage in canary.stages],
        stage=canary.stage,
        unit=canary.unit,
        gates=list(canary.gates),
        started_at=to_datetime(canary.started),
        since=to_datetime(canary.since),
        until=to_datetime(canary.until),
        verdict=canary.verdict,
        measured=[_measured(each, canary.unit) for each in measured],
        started_by=canary.seq,
        judged_by=canary.judged or None,
    )


@router.get(
    "/{cluster}/canaries",
    response={200: CanariesOut, **errors(404)},
    summary="Show canaries",
    **access(VIEW),
)
def list_canaries(request: HttpRequest, cluster: str) -> CanariesOut:
    """The one that is judged, with what is measured until now, and those that were. The whole story of one is
    `events?canary=<name>`.
    """
    found = selectors.current(find_cluster(cluster))
    now = found.now
    return CanariesOut(
        seq=found.seq,
        now=None if now is None else _canary(now.canary, now.measured),
        groups=[
            JudgedGroupOut(key=each.key, status=each.status, waited_ms=each.waited, error=each.error)
            for each in (now.groups if now is not None else ())
        ],
        spread=list(now.spread) if now is not None else [],
        kept=[_canary(each, each.measured) for each in found.kept],
        over=[_canary(each, each.measured) for each in found.over],
    )


@router.post(
    "/{cluster}/canaries",
    response={201: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Start a canary",
    **access(SWITCH_GATE),
)
def start_canary(
    request: HttpRequest, cluster: str, body: CanaryIn, idempotency_key: IdempotencyKey = ""
) -> Status[OutcomeOut]:
    """Groups of the first stage are held to one domain from now on. One at a time; in an observed cluster
    none, since its gates are its own. Its name is `canary-` and `first_seq` of the answer.
    """
    wish = services.CanaryWish(
        stages=tuple(Scope(tuple(one.namespaces), tuple(one.groups), one.whole) for one in body.stages),
        limits=body.limits,
        window=body.window_ms,
        means=body.means,
        approval=body.approval,
        unit=body.unit,
    )
    done = services.start(
        cluster=find_cluster(cluster),
        wish=wish,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(201, outcome(done))


def _carried_out(
    command: Callable[..., Outcome], request: HttpRequest, cluster: str, name: str, key: str
) -> OutcomeOut:
    """One of the commands about a canary that is there."""
    done = command(
        cluster=find_cluster(cluster),
        name=name,
        actor=actor(request),
        command_id=command_id(request, key),
    )
    return outcome(done)


@router.post(
    "/{cluster}/canaries/{name}/approve",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Approve what a verdict asks for",
    **access(SWITCH_GATE),
)
def approve_canary(
    request: HttpRequest, cluster: str, name: str, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Failed: rolled back. Passed: the next stage, or after the last one kept. Not enough data: another
    window.
    """
    return _carried_out(services.approve, request, cluster, name, idempotency_key)


@router.post(
    "/{cluster}/canaries/{name}/widen",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Widen a canary without enough data",
    **access(SWITCH_GATE),
)
def widen_canary(
    request: HttpRequest, cluster: str, name: str, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """The next stage begins. Refused when the last verdict was that it failed."""
    return _carried_out(services.widen, request, cluster, name, idempotency_key)


@router.post(
    "/{cluster}/canaries/{name}/rollback",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Roll a canary back now",
    **access(SWITCH_GATE),
)
def roll_back_canary(
    request: HttpRequest, cluster: str, name: str, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Its groups are plain gangs again, whatever its verdict; gates that it switched on go off."""
    return _carried_out(services.roll_back_now, request, cluster, name, idempotency_key)


@router.post(
    "/{cluster}/canaries/{name}/stop",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Stop a canary",
    **access(SWITCH_GATE),
)
def stop_canary(
    request: HttpRequest, cluster: str, name: str, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """Without a verdict; also one that was kept, whose groups are plain gangs again then."""
    return _carried_out(services.stop, request, cluster, name, idempotency_key)


@router.post(
    "/{cluster}/podgroups/{namespace}/{name}/throughput",
    response={201: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Report measured throughput",
    **access(OPERATE),
)
def report_throughput(
    request: HttpRequest,
    cluster: str,
    namespace: str,
    name: str,
    body: ThroughputIn,
    idempotency_key: IdempotencyKey = "",
) -> Status[OutcomeOut]:
    """Of the open generation. The last one in a canary's window counts for it."""
    done = services.report_throughput(
        cluster=find_cluster(cluster),
        namespace=namespace,
        name=name,
        rate=body.rate,
        unit=body.unit,
        source=body.source,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(201, outcome(done))
