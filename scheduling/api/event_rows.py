"""An event of the log, and fields before and after it, as the API gives them."""

from __future__ import annotations

import orjson

from scheduling.api.schemas import EventOut, FieldOut
from scheduling.models import Event
from scheduling.selectors.pictures import Field
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


def field_out(field: Field) -> FieldOut:
    return FieldOut(name=field.name, before=field.before, after=field.after)
