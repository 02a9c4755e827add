"""What a cluster is after its first events, carried on event by event: where folding the others begins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from scheduling.engine.state import ClusterState
from scheduling.ledger import bases, fold
from scheduling.ledger.store import Head, Recorded
from scheduling.models import Base
from scheduling.projections import bases as table_bases
from scheduling.projections import commit
from scheduling.projections.tables import Tables


@dataclass(slots=True)
class Ground:
    """``state`` stands at ``state.seq``, ``tables`` at ``tables_seq``, the end of the append that this event
    is part of, because rows change by whole appends.
    """

    state: ClusterState = field(default_factory=ClusterState)
    tables: Tables = field(default_factory=lambda: Tables(whole=True))
    tables_seq: int = 0

    @classmethod
    def of(cls, stream_id: int) -> Ground:
        """At the last archived event. Raises UnreadableBase."""
        state = bases.beginning(stream_id).state
        tables, seq = table_bases.beginning(stream_id)
        return cls(state, tables, seq)

    def advance(self, recorded: Iterable[Recorded], last: int) -> None:
        """Go on to event ``last``. ``recorded``: what follows ``state.seq``, at least to the end of the
        append that ``last`` is part of.
        """
        rest = iter(recorded)
        for item in islice(rest, max(min(self.tables_seq, last) - self.state.seq, 0)):
            fold.apply(self.state, item)
        if self.tables_seq < last:
            self.tables.state = self.state
            for events in commit.commits(rest):
                self._append(events, last)
                if self.tables_seq >= last:
                    break

    def _append(self, events: list[Recorded], last: int) -> None:
        within = [item for item in events if item.seq <= last]
        if len(within) < len(events):
            self.state = fold.fold(self.tables.state.fork(), within)
        commit.apply(self.tables, events)
        self.tables_seq = events[-1].seq

    def base(self, stream_id: int, at: Head) -> Base:
        """To be stored; ``at``: the event that the state stands at."""
        return Base(
            stream_id=stream_id,
            seq=at.seq,
            hash=at.hash,
            versions={"state": bases.VERSION, **commit.PROJECTIONS},
            state=bases.pack(self.state),
            tables=table_bases.pack(self.tables),
            tables_seq=self.tables_seq,
        )
