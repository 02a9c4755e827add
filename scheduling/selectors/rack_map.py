"""The rack map of a cluster: a columnar snapshot, absolute values of what changed since, and the headline
numbers.

Everything in one answer is of one moment (one REPEATABLE READ transaction) and carries ``epoch`` (the
version of the node table) and ``seq`` (the newest event in it). Node indices are stable within an epoch.

A node's *runs* are ``(group, gpus)`` pairs: how many of its GPUs the members of a PodGroup hold, -1 for pods
of none, -2 for room that a reservation holds and its holder does not use (the last run). ``gpus`` 0 means
that the group has members there that use no GPU, or that no GPU is held. What is left up to the node's
``gpus`` is free.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypedDict

import orjson
from django.db import connection, transaction
from django.db.models import Case, Count, F, Func, Q, QuerySet, Sum, TextField, Value
from django.db.models.functions import Cast, Greatest

from scheduling.engine.numa_names import NUMA_KEY
from scheduling.models import Cluster, NodeRow, PodGroupRow, TableHead
from scheduling.selectors import held_room, numa

VERSION = 1

CORDONED, NOT_READY, TAINTED, REMOVED = 1, 2, 4, 8
"""Bits of a node's ``state``. TAINTED: NoSchedule or NoExecute, the taints that Kubernetes sets by itself
left out.
"""

HELD = -2
"""In the place of a group: room that is held."""

LARGE_DOMAIN_GPUS = 64
"""``domains_64`` counts the domains with at least so many usable free GPUs."""

_TOPOLOGY_WORD = re.compile(r"rack|zone|block|row|switch|domain|hostname|region|nvlink|clique")


class TopologyKey(TypedDict):
    """A label key that can name domains: how many values it has, how many open PodGroups are constrained by
    it.
    """

    key: str
    domains: int
    groups: int


class Kpi(TypedDict):
    """``largest``: the most free GPUs that usable nodes (ready, not cordoned) of one domain have together,
    which is the upper bound for a gang that fits one domain now. ``unlabelled``: nodes without the key.
    ``pending``: waiting groups."""

    nodes: int
    gpus: int
    gpus_used: int
    pending: int
    unlabelled: int
    largest: int
    domains_64: int


class Columns(TypedDict):
    """One entry a node in each column but ``owners``: there per node the number of its runs, then the runs,
    all flat.

    ``domain`` and the groups in ``owners`` are indices into the snapshot's lists.
    """

    index: list[int]
    name: list[str]
    domain: list[int]
    state: list[int]
    gpus: list[int]
    owners: list[int]


@dataclass(slots=True)
class Entry:
    """One node, never changed; not frozen, because there are ten thousand of them and that costs time.
    ``occupants``: (group key or "", GPUs) of what is on it, by key. ``held``: GPUs that are held and not in
    use, None when nothing of it is held.
    """

    index: int
    name: str
    domain: str | None
    state: int
    gpus: int
    occupants: list[tuple[str, int]]
    held: int | None = None

    @property
    def gpus_used(self) -> int:
        return sum(amount for _, amount in self.occupants)


class Snapshot(TypedDict):
    v: int
    epoch: int
    seq: int
    key: str
    keys: list[TopologyKey]
    domains: list[str]
    groups: list[str]
    nodes: Columns
    kpi: Kpi


Delta = TypedDict(
    "Delta",
    {
        "t": Literal["delta"],
        "epoch": int,
        "from": int,
        "to": int,
        "ts": int,
        "groups": list[str],
        # [index, name, domain or None, state, gpus, [group index, -1 or -2, gpus]...]
        "nodes": list[list[Any]],
        "kpi": Kpi,
    },
)
"""Nodes changed in ``(from, to]`` with their values as of ``to``; group indices are into this message's
``groups``.
"""


@contextmanager
def one_moment() -> Iterator[None]:
    """Everything read inside is of one moment. Inside a transaction already open, its isolation is what
    counts.
    """
    nested = connection.in_atomic_block
    with transaction.atomic():
        if not nested:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def head(cluster: Cluster) -> tuple[int, int]:
    """(epoch, seq) of the node table."""
    return TableHead.objects.filter(stream_id=cluster.pk, name="nodes").values_list("version", "seq").get()


def snapshot(cluster: Cluster, key: str | None = None) -> Snapshot:
    """The whole map by a topology key; None or "": the default key. Removed nodes are left out."""
    with one_moment():
        epoch, seq = head(cluster)
        rows = list(
            _nodes(cluster)
            .filter(removed=False)
            .order_by("index")
            .values_list(
                "index",
                "name",
                _text("labels"),
                _text("taints"),
                "unschedulable",
                "ready",
                "gpus",
                _text("occupants"),
                numa.box(),
                numa.how_many(),
            )
        )
        all_labels = [orjson.loads(row[2]) for row in rows]
        keys = topology_keys_of(_keys_in_use(cluster), all_labels, sum(row[9] for row in rows))
        key = key or default_of(keys)
        held = held_room.by_node(cluster)
        headline = kpi(cluster, key)

    values = [row[8] for row in rows] if key == NUMA_KEY else [labels.get(key) for labels in all_labels]
    entries = [
        Entry(
            row[0],
            row[1],
            value,
            _state(row[4], row[5], row[3]),
            row[6],
            _occupants(row[7]),
            held.get(row[1]) if held else None,
        )
        for row, value in zip(rows, values, strict=True)
    ]
    return assembled(epoch, seq, key, keys, entries, headline)


def assembled(
    epoch: int, seq: int, key: str, keys: list[TopologyKey], entries: list[Entry], headline: Kpi
) -> Snapshot:
    """The columns of nodes that are there, given by index."""
    domains = sorted({entry.domain for entry in entries if entry.domain is not None}, key=_natural)
    domain_index: dict[str | None, int] = {name: number for number, name in enumerate(domains)}
    group_index: dict[str, int] = {}
    owners: list[int] = []
    for entry in entries:
        found = runs(entry.occupants, group_index, entry.held)
        owners.append(len(found))
        for run in found:
            owners += run
    return {
        "v": VERSION,
        "epoch": epoch,
        "seq": seq,
        "key": key,
        "keys": keys,
        "domains": domains,
        "groups": list(group_index),
        "nodes": {
            "index": [entry.index for entry in entries],
            "name": [entry.name for entry in entries],
            "domain": [domain_index.get(entry.domain, -1) for entry in entries],
            "state": [entry.state for entry in entries],
            "gpus": [entry.gpus for entry in entries],
            "owners": owners,
        },
        "kpi": headline,
    }


def delta(cluster: Cluster, key: str, since: int) -> Delta | None:
    """What changed after ``since``; None when the log has not come that far (the asker is of another
    history).
    """
    with one_moment():
        epoch, seq = head(cluster)
        if since > seq:
            return None
        rows = list(
            _nodes(cluster)
            .filter(Q(changed_seq__gt=since) | Q(name__in=held_room.touched(cluster, since, seq)))
            .order_by("index")
            .values_list(
                "index",
                "name",
                _domain(key),
                _text("taints"),
                "unschedulable",
                "ready",
                "gpus",
                _text("occupants"),
                "removed",
            )
        )
        headline = kpi(cluster, key)
        held = held_room.by_node(cluster) if rows else {}
    group_index: dict[str, int] = {}
    nodes: list[list[Any]] = []
    for index, name, domain, taints, unschedulable, ready, gpus, occupants, removed in rows:
        state = _state(unschedulable, ready, taints) | (REMOVED if removed else 0)
        nodes.append(
            [index, name, domain, state, gpus, *runs(_occupants(occupants), group_index, held.get(name))]
        )
    return {
        "t": "delta",
        "epoch": epoch,
        "from": since,
        "to": seq,
        "ts": time.time_ns() // 1_000_000,
        "groups": list(group_index),
        "nodes": nodes,
        "kpi": headline,
    }


def kpi(cluster: Cluster, key: str) -> Kpi:
    """The headline numbers of the map by a topology key, counted by the database."""
    usable_free = Sum(
        Greatest(F("gpus") - F("gpus_used"), 0), filter=Q(ready=True, unschedulable=False), default=0
    )
    by_domain = list(
        _nodes(cluster)
        .filter(removed=False)
        .annotate(domain=_domain(key))
        .values("domain")
        .annotate(count=Count("pk"), total=Sum("gpus"), used=Sum("gpus_used"), free=usable_free)
        .values_list("domain", "count", "total", "used", "free")
    )
    free = [row[4] for row in by_domain if row[0] is not None]
    return {
        "nodes": sum(row[1] for row in by_domain),
        "gpus": sum(row[2] for row in by_domain),
        "gpus_used": sum(row[3] for row in by_domain),
        "pending": PodGroupRow.objects.filter(
            cluster=cluster, closed=False, waiting_since__isnull=False
        ).count(),
        "unlabelled": sum(row[1] for row in by_domain if row[0] is None),
        "largest": max(free, default=0),
        "domains_64": sum(1 for amount in free if amount >= LARGE_DOMAIN_GPUS),
    }


def topology_keys(cluster: Cluster) -> list[TopologyKey]:
    """Label keys of the cluster's nodes that can name domains, the most used by PodGroups first."""
    with one_moment():
        rows = list(_nodes(cluster).filter(removed=False).values_list(_text("labels"), numa.how_many()))
        all_labels = [orjson.loads(labels) for labels, _ in rows]
        return topology_keys_of(_keys_in_use(cluster), all_labels, sum(zones for _, zones in rows))


def default_key(cluster: Cluster) -> str:
    """The key most used by PodGroups, else a rack-like one, "" when the nodes carry none."""
    return default_of(topology_keys(cluster))


def topology_keys_of(used: dict[str, int], all_labels: list[dict[str, str]], zones: int) -> list[TopologyKey]:
    """``used``: how many open PodGroups name each key; ``all_labels``: of every node; ``zones``: how many
    NUMA zones there are. Beside keys in use those whose name says that they are about topology.
    """
    names = set(used).union(key for key in set().union(*all_labels) if _TOPOLOGY_WORD.search(key))
    names.discard(NUMA_KEY)
    values = {key: {labels[key] for labels in all_labels if key in labels} for key in names}
    counts = {key: len(found) for key, found in values.items()}
    if zones or NUMA_KEY in used:
        counts[NUMA_KEY] = zones
    keys: list[TopologyKey] = [
        {"key": key, "domains": found, "groups": used.get(key, 0)} for key, found in counts.items()
    ]
    return sorted(keys, key=lambda entry: (-entry["groups"], "rack" not in entry["key"], entry["key"]))


def default_of(keys: list[TopologyKey]) -> str:
    return keys[0]["key"] if keys else ""


def _keys_in_use(cluster: Cluster) -> dict[str, int]:
    return dict(
        PodGroupRow.objects.filter(cluster=cluster, closed=False)
        .exclude(topology_key="")
        .values_list("topology_key")
        .annotate(groups=Count("pk"))
        .order_by()
    )


def _nodes(cluster: Cluster) -> QuerySet[NodeRow]:
    return NodeRow.objects.filter(cluster=cluster)


def _text(column: str) -> Cast:
    """A JSON column as text: orjson reads it faster than the database driver does."""
    return Cast(column, TextField())


def _domain(key: str) -> Func | Case:
    """The node's value of a label. Not a key transform: that would take a key of digits for an array
    index.
    """
    if key == NUMA_KEY:
        return numa.box()
    return Func(F("labels"), Value(key), function="jsonb_extract_path_text", output_field=TextField())


def _state(unschedulable: bool, ready: bool, taints: str) -> int:
    return state_bits(unschedulable, ready, _tainted(taints))


def state_bits(unschedulable: bool, ready: bool, tainted: bool) -> int:
    return (CORDONED if unschedulable else 0) | (0 if ready else NOT_READY) | (TAINTED if tainted else 0)


@lru_cache(maxsize=1024)
def _tainted(taints: str) -> bool:
    """Nodes are many and their lists of taints few."""
    return any(keeps_away(key, effect) for key, _, effect in orjson.loads(taints))


def keeps_away(key: str, effect: str) -> bool:
    """Whether a taint makes its node TAINTED."""
    return effect in ("NoSchedule", "NoExecute") and not key.startswith("node.kubernetes.io/")


def _occupants(stored: str) -> list[tuple[str, int]]:
    return [(group, gpus) for group, _, gpus in orjson.loads(stored)]


def runs(
    occupants: Iterable[tuple[str, int]], group_index: dict[str, int], held: int | None = None
) -> list[list[int]]:
    """The runs of a node; groups not seen before are appended to ``group_index``."""
    found = [
        [group_index.setdefault(group, len(group_index)) if group else -1, gpus]
        for group, gpus in occupants
        if group or gpus
    ]
    return found if held is None else [*found, [HELD, held]]


def _natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key by which rack-2 comes before rack-10."""
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", name) if part]
