"""A stream to append to."""

from collections.abc import Callable, Sequence
from itertools import count

import pytest
from django.db import transaction

from scheduling.ledger import store
from scheduling.ledger.events import Event
from scheduling.ledger.store import Appended

NOW = 1_800_000_000_123
Append = Callable[..., Appended]


@pytest.fixture
def stream(db: None) -> int:
    with transaction.atomic():
        return store.open_stream("cluster", "demo")


@pytest.fixture
def append(stream: int) -> Append:
    """Append to the stream where it stands, with a new command id for each call."""
    numbers = count(1)

    def at_head(*events: Event, command_id: str = "", **more: object) -> Appended:
        given: Sequence[Event] = events
        with transaction.atomic():
            return store.append(
                stream,
                store.head(stream).seq,
                given,
                actor="user:ada",
                command_id=command_id or f"command-{next(numbers)}",
                now=NOW,
                **more,  # type: ignore[arg-type]
            )

    return at_head
