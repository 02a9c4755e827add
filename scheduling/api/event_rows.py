"""An event of the log as the API gives it."""

from __future__ import annotations

import orjson

from scheduling.api.schemas import EventOut
from scheduling.models import Event
from scheduling.wording import events as wording


def event_out(row: Event) -> EventOut:
    return EventOut(
        seq=row.seq,
        type=row.type,
        version=row.version,
        subject=row.subject,
        namespace=row.namespace,
        name=row.name,
        actor=row.actor,
        command_id=row.command_id,
        sentence=wording.stored_sentence(row.type, row.version, row.body),
        cause=row.cause,
        occurred_at=row.occurred_at,
        recorded_at=row.recorded_at,
        hash=bytes(row.hash).hex(),
        body=orjson.loads(row.body),
    )
