"""Reservations: list, make, release."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from django.http import HttpRequest
from ninja import Field, Router, Schema, Status
from pydantic import ConfigDict

from scheduling.api.auth import OPERATE, VIEW, access
from scheduling.api.commands import IdempotencyKey, actor, command_id, find_cluster, outcome
from scheduling.api.errors import errors
from scheduling.api.schemas import OutcomeOut, Resources, Seq
from scheduling.ledger.store import to_datetime
from scheduling.models import Cluster
from scheduling.selectors import reservations as selectors
from scheduling.services import holding as services
from scheduling.services.state import state_of

router = Router(tags=["reservations"])

HolderKind = Literal["group", "namespace", "queue"]


class NodeAmountsOut(Schema):
    node: str
    amounts: Resources
    gone: bool = Field(description="The node is not in the cluster any more.")


class ReservationOut(Schema):
    name: str
    topology_key: str
    domain: str
    holder_kind: str = Field(description="group, namespace or queue.")
    holder: str = Field(description="namespace/name of a PodGroup, or a namespace, or a queue.")
    nodes: list[NodeAmountsOut]
    reserved: Resources = Field(description="What is reserved in all.")
    left: Resources = Field(description="What of it the holder does not use: others do not get it.")
    expires_at: datetime | None
    made_seq: Seq


class ReservationsOut(Schema):
    seq: Seq
    items: list[ReservationOut]


class ReservationIn(Schema):
    """Room in one domain: whole free nodes, or room for members."""

    model_config = ConfigDict(extra="forbid")

    topology_key: str
    domain: str
    holder_kind: HolderKind
    holder: str
    nodes: int = Field(0, description="So many wholly free nodes; or `members`.")
    members: int = Field(0, description="Room for so many members: of `requests`, or `like` a group's.")
    requests: dict[str, str] = Field({}, description="What one member requests, as in a pod.")
    like: str = Field("", description="namespace/name of a group whose first members the room is for.")
    minutes: int | None = Field(None, description="Until it expires; null: it does not.")


@router.get(
    "/{cluster}/reservations",
    response={200: ReservationsOut, **errors(404)},
    summary="List reservations",
    **access(VIEW),
)
def list_reservations(request: HttpRequest, cluster: str) -> ReservationsOut:
    """Those that hold room now, in the order in which they were made."""
    return reservations_out(find_cluster(cluster))


def reservations_out(cluster: Cluster) -> ReservationsOut:
    state = state_of(cluster)
    return ReservationsOut(
        seq=state.seq,
        items=[
            ReservationOut(
                name=each.reservation.name,
                topology_key=each.reservation.topology_key,
                domain=each.reservation.domain,
                holder_kind=each.reservation.holder_kind,
                holder=each.reservation.holder,
                nodes=[
                    NodeAmountsOut(node=node, amounts=dict(amounts), gone=node in each.gone)
                    for node, amounts in each.reservation.amounts
                ],
                reserved=each.reserved,
                left=each.left,
                expires_at=None
                if each.reservation.expires is None
                else to_datetime(each.reservation.expires),
                made_seq=each.reservation.made,
            )
            for each in selectors.listed(state)
        ],
    )


@router.post(
    "/{cluster}/reservations",
    response={201: OutcomeOut, **errors(400, 404, 409, 422)},
    summary="Make a reservation",
    **access(OPERATE),
)
def make_reservation(
    request: HttpRequest, cluster: str, body: ReservationIn, idempotency_key: IdempotencyKey = ""
) -> Status[OutcomeOut]:
    """The nodes are chosen as the engine packs members. Refused when the domain has not the room now.

    The reservation's name is in the event that the answer names.
    """
    done = services.reserve(
        cluster=find_cluster(cluster),
        wish=services.Wish(**body.model_dump()),
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return Status(201, outcome(done))


@router.delete(
    "/{cluster}/reservations/{name}",
    response={200: OutcomeOut, **errors(404, 409, 422)},
    summary="Release a reservation",
    **access(OPERATE),
)
def release_reservation(
    request: HttpRequest, cluster: str, name: str, idempotency_key: IdempotencyKey = ""
) -> OutcomeOut:
    """What it held is free for everybody; groups that wait for room are decided again."""
    done = services.release(
        cluster=find_cluster(cluster),
        name=name,
        actor=actor(request),
        command_id=command_id(request, idempotency_key),
    )
    return outcome(done)
