"""Why an event happened and what it changed."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from ninja import Field, Router, Schema

from scheduling.api.auth import VIEW, access
from scheduling.api.commands import find_cluster
from scheduling.api.errors import errors, no_state
from scheduling.api.event_rows import event_out, field_out
from scheduling.api.schemas import EventOut, FieldOut
from scheduling.ledger import codec, fold
from scheduling.models import Event
from scheduling.selectors import effects, history

router = Router(tags=["events"])


class CausesOut(Schema):
    items: list[EventOut] = Field(
        description="The cause of the event, the cause of that, and so on: at most 16, as far as they are in "
        "the log."
    )


class BesideOut(Schema):
    subject: str
    namespace: str
    name: str
    fields: list[FieldOut] = Field(description="All of its fields; none where the state keeps nothing of it.")


class MoveOut(Schema):
    pod: str
    before: str = Field(description='The node that the pod was on, "" for none.')
    after: str


class ThenOut(Schema):
    nodes: int
    usable: int = Field(description="Nodes that are ready and not cordoned.")
    gpus: int
    gpus_used: int
    groups: int
    running: int = Field(description="PodGroups with minCount members on nodes.")
    waiting: int


class EffectOut(Schema):
    objects: list[BesideOut] = Field(description="What the event is about; after a pod its PodGroup.")
    moves: list[MoveOut] = Field(description="Of a placement: its members.")
    then: ThenOut = Field(description="The cluster right after the event.")


def _missing(cluster: str, seq: int) -> Http404:
    return Http404(f"The log of {cluster} has no event {seq}.")


@router.get(
    "/{cluster}/events/{int:seq}/causes",
    response={200: CausesOut, **errors(404)},
    summary="Show why an event happened",
    **access(VIEW),
)
def get_causes(request: HttpRequest, cluster: str, seq: int) -> CausesOut:
    """The chain of causes, nearest first. What it led to: `events?cause=<seq>`."""
    found = find_cluster(cluster)
    try:
        row = history.get(found, seq)
    except Event.DoesNotExist as error:
        raise _missing(cluster, seq) from error
    return CausesOut(items=[event_out(cause) for cause in history.causes(found, row)])


@router.get(
    "/{cluster}/events/{int:seq}/effect",
    response={200: EffectOut, **errors(404, 503)},
    summary="Show what an event changed",
    **access(VIEW),
)
def get_effect(request: HttpRequest, cluster: str, seq: int) -> EffectOut:
    """The objects that it is about right before and right after it.

    503 where the log does not lead to a state that this version of the console can tell.
    """
    found = find_cluster(cluster)
    try:
        effect = effects.effect(found, seq)
    except LookupError as error:
        raise _missing(cluster, seq) from error
    except (codec.BadEvent, fold.BrokenHistory) as error:
        raise no_state(error) from error
    then = effect.then
    return EffectOut(
        objects=[
            BesideOut(
                subject=beside.about.subject,
                namespace=beside.about.namespace,
                name=beside.about.name,
                fields=[field_out(field) for field in beside.fields],
            )
            for beside in effect.objects
        ],
        moves=[MoveOut(pod=move.pod, before=move.before, after=move.after) for move in effect.moves],
        then=ThenOut(
            nodes=then.nodes,
            usable=then.usable,
            gpus=then.use.gpus,
            gpus_used=then.use.used,
            groups=then.groups,
            running=then.running,
            waiting=then.waiting,
        ),
    )
