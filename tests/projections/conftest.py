"""A cluster whose log and tables are written together."""

from dataclasses import dataclass, field

import pytest
from django.db import transaction

from scheduling.engine.model import TAS_GATES
from scheduling.ledger import store
from scheduling.ledger.events import ClusterRegistered, Event
from scheduling.models import NodeRow, PodGroupRow, PodRow
from scheduling.projections import writer

START = 1_800_000_000_000


@dataclass
class Written:
    """``at`` is the time of the next commit, in milliseconds; each one takes a second."""

    stream: int
    at: int = START
    seq: int = 0
    commands: int = field(default=0)

    def commit(self, *events: Event) -> int:
        """Append and project; the seq of the last event."""
        self.commands += 1
        with transaction.atomic():
            done = store.append(
                self.stream, self.seq, events, actor="a", command_id=f"command-{self.commands}", now=self.at
            )
            writer.project(self.stream, done.recorded)
        self.seq = done.last
        self.at += 1_000
        return self.seq

    def node(self, name: str) -> NodeRow:
        return NodeRow.objects.get(cluster=self.stream, name=name)

    def pod(self, uid: str) -> PodRow:
        return PodRow.objects.get(cluster=self.stream, uid=uid)

    def group(self, name: str, uid: str | None = None) -> PodGroupRow:
        """The open row, or that of a uid."""
        rows = PodGroupRow.objects.filter(cluster=self.stream, namespace="ml", name=name)
        return rows.get(closed=False) if uid is None else rows.get(uid=uid)


@pytest.fixture
def cluster(db: None) -> Written:
    with transaction.atomic():
        written = Written(store.open_stream("cluster", "demo"))
    written.commit(
        ClusterRegistered("demo", "simulated", tuple((gate, True) for gate in TAS_GATES), "v1.36.2")
    )
    return written
