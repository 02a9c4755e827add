"""A log and tables that another version of the console wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar
from unittest.mock import patch

from django.db import transaction

from scheduling.ledger import store
from scheduling.ledger.events import CATALOGUE, Event, NodeRemoved
from scheduling.models import Cluster, TableHead
from scheduling.projections import commit, nodes


@dataclass(frozen=True, slots=True)
class PodPraised(Event):
    """An event of the future."""

    SUBJECT: ClassVar[str] = "pod"
    namespace: str
    name: str


def append_newer(cluster: Cluster, event: Event | None = None) -> int:
    """Append an event that this console does not know, as the newer one does, tables included; its seq."""
    event = event or PodPraised("ml", "train-0")
    with patch.dict(CATALOGUE, {type(event).__name__: type(event)}), transaction.atomic():
        head = store.head(cluster.pk).seq
        done = store.append(
            cluster.pk, head, [event], actor="a", command_id=f"newer {head}", now=1_900_000_000_000
        )
    TableHead.objects.filter(stream=cluster.pk).update(seq=done.last)
    return done.last


def append_newer_version(cluster: Cluster) -> int:
    """The same with a type that is known up to an older version; its seq."""
    with patch.object(NodeRemoved, "VERSION", 2):
        return append_newer(cluster, NodeRemoved("n", "u"))


@contextmanager
def newer_tables() -> Iterator[None]:
    """Inside, this console has other rules for its tables than those that made them."""
    with patch.dict(commit.PROJECTIONS, {"nodes": nodes.VERSION + 1}):
        yield
