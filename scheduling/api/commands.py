"""What operations that change something share: the cluster they name, who asks, the Idempotency-Key."""

from __future__ import annotations

from typing import Annotated

from django.http import Http404, HttpRequest
from ninja import Header

from scheduling.api.auth import caller
from scheduling.api.errors import problem
from scheduling.api.schemas import OutcomeOut, RecordedOut
from scheduling.models import Cluster
from scheduling.selectors import clusters
from scheduling.services.execute import Outcome

IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="Any text of yours. The same request sent again with it is carried out once.",
    ),
]


def find_cluster(name: str) -> Cluster:
    """Raises Http404 with a sentence."""
    try:
        return clusters.get(name)
    except Cluster.DoesNotExist as error:
        raise Http404(f"There is no cluster named {name}.") from error


def command_id(request: HttpRequest, key: str) -> str:
    """The key as the log keeps it; those of different users never meet. "" makes the service choose one."""
    return f"api:{caller(request).pk}:{key}" if key else ""


def actor(request: HttpRequest) -> str:
    """Whom the log names: the user, whether they came by browser or by token."""
    return caller(request).get_username()


def outcome(done: Outcome) -> OutcomeOut:
    events = [
        RecordedOut(seq=done.first_seq + place, type=type(event).__name__)
        for place, event in enumerate(done.events)
    ]
    return OutcomeOut(
        first_seq=done.first_seq,
        last_seq=done.last_seq,
        repeated=done.repeated,
        events=events,
        notices=[problem(notice) for notice in done.notices],
    )
