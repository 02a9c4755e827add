"""One commit through all projections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from scheduling.ledger import fold
from scheduling.ledger.store import Recorded, to_datetime
from scheduling.projections import clusters, nodes, pod_groups, pods, stale
from scheduling.projections.tables import Tables

PROJECTIONS = {
    "clusters": clusters.VERSION,
    "nodes": nodes.VERSION,
    "pods": pods.VERSION,
    "pod_groups": pod_groups.VERSION,
}
"""Name -> version of its rules. A higher one asks for a rebuild."""


def apply(tables: Tables, commit: Sequence[Recorded]) -> None:
    """Change the tables by the events of one append."""
    for recorded in commit:
        stale.mark(tables, recorded.event)
        fold.apply(tables.state, recorded)
        stale.mark(tables, recorded.event)
        clusters.apply(tables, recorded)
        nodes.apply(tables, recorded)
        pods.apply(tables, recorded)
        pod_groups.apply(tables, recorded)
    last = commit[-1]
    moment = to_datetime(last.occurred_at)
    nodes.settle(tables)
    pod_groups.settle(tables, moment)
    for table in (tables.nodes, tables.pods, tables.groups):
        table.stamp(last.seq, moment)


def commits(recorded: Iterable[Recorded]) -> Iterator[list[Recorded]]:
    """Events of the log as they were appended: a command id stands for one append of a stream."""
    for _, events in groupby(recorded, key=lambda item: item.command_id):
        yield list(events)
