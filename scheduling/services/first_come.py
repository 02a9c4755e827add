"""Who came first: the event that decided what a command was refused for, or found done already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from scheduling.ledger.store import CommandReused, to_milliseconds
from scheduling.models import Cluster, Event, PodRow
from scheduling.services.problems import CONFLICT, DUPLICATE, FORBIDDEN, NOT_FOUND, First, Problem

LOOKED_AT = 500
"""So many of the newest events of a type are searched where no index leads to the one that is meant."""

_OPENED = {"PodGroup": ("PodGroupCreated", "PodGroupClosed"), "Pod": ("PodAdded", "PodRemoved")}
_ENDED = {kind: (closed, opened) for kind, (opened, closed) in _OPENED.items()} | {
    "Node": ("NodeRemoved", "NodeAdded")
}


def named(cluster: Cluster, problems: Iterable[Problem]) -> list[Problem]:
    """The same, each with the event that came first where there is one: what is there already was created
    by it, what is gone was ended by it.
    """
    return [
        problem if problem.first else replace(problem, first=_first(cluster, problem)) for problem in problems
    ]


def newest(
    cluster: Cluster,
    subject: str,
    namespace: str,
    name: str,
    types: Iterable[str],
    meant: Callable[[Event], bool] = lambda event: True,
) -> First | None:
    """The newest event of these types about one object; of the newest ``LOOKED_AT``, one that is meant."""
    rows = Event.objects.filter(
        stream_id=cluster.pk, subject=subject, namespace=namespace, name=name, type__in=list(types)
    ).order_by("-seq")[:LOOKED_AT]
    return next((_told(cluster, row) for row in rows if meant(row)), None)


def reused(error: CommandReused) -> First | None:
    """The first event of the command that had the id before; None when that wrote none, or is archived."""
    cluster = Cluster.objects.filter(pk=error.stream_id).first()
    row = Event.objects.filter(stream_id=error.stream_id, seq=error.first).first()
    if cluster is None or row is None or error.first > error.last:
        return None
    return _told(cluster, row)


def _first(cluster: Cluster, problem: Problem) -> First | None:
    kind, namespace, name = problem.kind, problem.namespace, problem.name
    if problem.reason == DUPLICATE and kind in _OPENED:
        return _if_last(cluster, kind, namespace, name, *_OPENED[kind])
    if problem.reason == NOT_FOUND and kind in _ENDED and name:
        return _if_last(cluster, kind, namespace, name, *_ENDED[kind])
    if problem.reason == NOT_FOUND and kind == "Pod":
        return _removed(cluster, problem.message.rpartition(" ")[2])
    if (kind, problem.reason, problem.path) == ("PodGroup", CONFLICT, "generation"):
        return newest(cluster, "podgroup", namespace, name, ("PodGroupCreated",))
    if (kind, problem.reason, problem.path) == ("Pod", FORBIDDEN, "spec.nodeName"):
        row = PodRow.objects.filter(cluster=cluster, namespace=namespace, name=name, removed=False).first()
        if row is not None and row.node and row.group:
            uid: str = row.uid
            placed = ("PodGroupPlaced",)
            return newest(cluster, "podgroup", namespace, row.group, placed, lambda event: uid in event.body)
    return None


def _if_last(
    cluster: Cluster, kind: str, namespace: str, name: str, wanted: str, undone: str
) -> First | None:
    """The newest of the two, if it is the wanted one."""
    found = newest(cluster, kind.lower(), namespace, name, (wanted, undone))
    return found if found is not None and found.type == wanted else None


def _removed(cluster: Cluster, uid: str) -> First | None:
    rows = Event.objects.filter(stream_id=cluster.pk, type="PodRemoved").order_by("-seq")[:LOOKED_AT]
    return next((_told(cluster, row) for row in rows if f'"{uid}"' in row.body), None)


def _told(cluster: Cluster, row: Event) -> First:
    return First(cluster.name, row.seq, row.type, row.actor, to_milliseconds(row.recorded_at))
