"""The rack map of a past moment, and what each event after it changed: made from states of the log alone.

A snapshot has the form and the order of ``rack_map``'s, so that the newest moment of the log looks as the
tables do. Node indices are those of the table of nodes, which keeps a row for every node that ever was: they
mean the same node in every snapshot, live or past, and in every frame, as long as ``epoch`` is the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from scheduling.engine.model import Node
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.state import ClusterState
from scheduling.engine.status import GroupStatus, group_status
from scheduling.ledger import fold, store
from scheduling.ledger.store import Recorded
from scheduling.models import Cluster, Event, NodeRow
from scheduling.projections import stale
from scheduling.projections.nodes import gpus
from scheduling.projections.tables import Tables
from scheduling.projections.writer import TablesBehind
from scheduling.selectors import held_room, history, past_states, rack_map
from scheduling.selectors.rack_map import REMOVED, Entry, Kpi, Snapshot

MOST_EVENTS = 1_000
"""Events of one replay."""
MOST_PATCHES = 20_000
"""A replay ends with the event that brings it to so many nodes, however few events that are."""
MARKS = 120
"""Events of known time that the period of a log is told with."""

WAITING = (GroupStatus.PENDING, GroupStatus.HELD, GroupStatus.ERROR)


@dataclass(frozen=True, slots=True)
class Mark:
    seq: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Period:
    """What the map can be shown for: from ``first`` to ``last``. ``marks``: events spread evenly over it,
    both ends included, whose times tell how fast things happened in between.
    """

    first: Mark
    last: Mark
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class Frame:
    """What one event changed: nodes as ``rack_map.Delta`` has them, and the headline numbers if they are
    others than before.
    """

    recorded: Recorded
    nodes: list[list[Any]]
    kpi: Kpi | None


@dataclass(frozen=True, slots=True)
class Replay:
    """``base``: how the nodes that any frame changes were after event ``start``; with it the frames can be
    taken back as well as applied. ``kpi``: the headline numbers then. ``end``: seq of the last frame, which
    is less than was asked for when a bound was met. ``groups``: what patches index.
    """

    epoch: int
    key: str
    start: int
    end: int
    head: int
    groups: list[str]
    base: list[list[Any]]
    kpi: Kpi
    frames: list[Frame]


def period(cluster: Cluster) -> Period | None:
    """None for a log without events."""
    first, last = history.period(cluster)
    if first is None or last is None:
        return None
    span = last.seq - first.seq
    seqs = {first.seq + span * place // MARKS for place in range(MARKS + 1)}
    rows = Event.objects.filter(stream_id=cluster.pk, seq__in=seqs).order_by("seq")
    marks = [Mark(seq, recorded_at) for seq, recorded_at in rows.values_list("seq", "recorded_at")]
    return Period(marks[0], marks[-1], marks)


def snapshot(cluster: Cluster, seq: int, key: str | None = None) -> Snapshot:
    """The map right after event ``seq``. None or "" for the key: what was the default key then. LookupError
    when the log is not that far.
    """
    return _snapshot(past_states.state_at(cluster, seq), *_places(cluster), key)


def fork_snapshot(cluster: Cluster, state: ClusterState, key: str | None = None) -> Snapshot:
    """The map of a state that went its own way from one of the cluster's. Nodes that the cluster never had
    get the indices after those of its table, by name: so two pictures of one fork agree on them as long as
    only the later one has such nodes.
    """
    epoch, places = _places(cluster)
    first = max(places.values(), default=-1) + 1
    new = sorted(name for name in state.nodes if name not in places)
    return _snapshot(state, epoch, places | {name: first + at for at, name in enumerate(new)}, key)


def _snapshot(state: ClusterState, epoch: int, places: dict[str, int], key: str | None) -> Snapshot:
    keys = topology_keys(state)
    key = key or rack_map.default_of(keys)
    picture = Picture(state, places, key)
    entries = sorted(picture.entries.values(), key=lambda entry: entry.index)
    return rack_map.assembled(epoch, state.seq, key, keys, entries, picture.kpi())


def replay(cluster: Cluster, start: int, *, limit: int, key: str) -> Replay:
    """What the events after ``start`` changed, one by one, until a bound or the head. LookupError when the
    log is not that far.
    """
    state = past_states.state_at(cluster, start)
    epoch, places = _places(cluster)
    tables = Tables(whole=True)
    tables.state = state
    picture = Picture(state, places, key or rack_map.default_of(topology_keys(state)))
    group_index: dict[str, int] = {}
    base: dict[str, list[Any]] = {}
    first = last = picture.kpi()
    frames: list[Frame] = []
    patches = 0
    for recorded in store.read(cluster.pk, after=start, limit=limit):
        stale.mark(tables, recorded.event)
        fold.apply(state, recorded)
        stale.mark(tables, recorded.event)
        nodes: list[list[Any]] = []
        for name in tables.take_stale_nodes():
            before = picture.entries.get(name)
            if not picture.renew_node(name):
                continue
            if name not in base:
                base[name] = picture.patch(name, before, group_index)
            nodes.append(picture.patch(name, picture.entries.get(name), group_index))
        for group in tables.take_stale_groups():
            picture.renew_group(group)
        headline = picture.kpi()
        frames.append(Frame(recorded, nodes, None if headline == last else headline))
        last = headline
        patches += len(nodes)
        if patches >= MOST_PATCHES:
            break
    end = frames[-1].recorded.seq if frames else start
    if frames:
        past_states.keep(cluster, state)
    head = store.head(cluster.pk).seq
    return Replay(epoch, picture.key, start, end, head, list(group_index), list(base.values()), first, frames)


def topology_keys(state: ClusterState) -> list[rack_map.TopologyKey]:
    """The keys that can name domains, as they were."""
    used = Counter(group.topology_key for group in state.groups.values() if group.topology_key)
    labels = [dict(node.labels) for node in state.nodes.values()]
    zones = sum(len(node.zones) for node in state.nodes.values())
    return rack_map.topology_keys_of(dict(used), labels, zones)


def kpi(state: ClusterState, key: str) -> Kpi:
    """The headline numbers of a state."""
    return Picture.of(state, key).kpi()


@dataclass(slots=True)
class Picture:
    """The nodes of a state as the map draws them, kept up while the state moves on. ``places``: name to
    index.
    """

    state: ClusterState
    places: dict[str, int]
    key: str
    entries: dict[str, Entry] = field(default_factory=dict)
    _all: int = 0
    _used: int = 0
    _unlabelled: int = 0
    _free: Counter[str] = field(default_factory=Counter)
    _largest: tuple[int, int] | None = None
    _waiting: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, state: ClusterState, key: str) -> Picture:
        """For whom indices do not matter."""
        return cls(state, {name: place for place, name in enumerate(state.nodes)}, key)

    def __post_init__(self) -> None:
        held: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for pod in self.state.pods.values():
            if pod.node and not pod.finished:
                held[pod.node][pod.group_key] += _devices(pod.shape.requests)
        for name in self.state.nodes:
            self._put(name, sorted(held[name].items()) if name in held else [])
        self._waiting = {key for key in self.state.group_keys() if group_status(self.state, key) in WAITING}

    def renew_node(self, name: str) -> bool:
        """Look at a node again; whether anything that the map shows is different."""
        before = self.entries.pop(name, None)
        if before is not None:
            self._count(before, -1)
        if name in self.state.nodes:
            held: Counter[str] = Counter()
            for pod in self.state.pods_on(name):
                held[pod.group_key] += _devices(pod.shape.requests)
            self._put(name, sorted(held.items()))
        return self.entries.get(name) != before

    def renew_group(self, key: str) -> None:
        """Look again whether a group waits."""
        known = key in self.state.groups or bool(self.state.pods_naming(key))
        if known and group_status(self.state, key) in WAITING:
            self._waiting.add(key)
        else:
            self._waiting.discard(key)

    def kpi(self) -> Kpi:
        if self._largest is None:
            free = self._free.values()
            large = sum(1 for amount in free if amount >= rack_map.LARGE_DOMAIN_GPUS)
            self._largest = max(free, default=0), large
        return {
            "nodes": len(self.entries),
            "gpus": self._all,
            "gpus_used": self._used,
            "pending": len(self._waiting),
            "unlabelled": self._unlabelled,
            "largest": self._largest[0],
            "domains_64": self._largest[1],
        }

    def patch(self, name: str, entry: Entry | None, group_index: dict[str, int]) -> list[Any]:
        """The row of a delta for a node; None: it is not there."""
        if entry is None:
            return [self._index(name), name, None, REMOVED, 0]
        found = rack_map.runs(entry.occupants, group_index, entry.held)
        return [entry.index, name, entry.domain, entry.state, entry.gpus, *found]

    def _put(self, name: str, occupants: list[tuple[str, int]]) -> None:
        node = self.state.nodes[name]
        bits = rack_map.state_bits(node.unschedulable, node.ready, bool(node.taints) and _tainted(node))
        index, domain = self._index(name), _domain(node, self.key)
        held = held_room.of_node(self.state, name)
        entry = Entry(index, name, domain, bits, _devices(node.allocatable), occupants, held)
        self.entries[name] = entry
        self._count(entry, 1)

    def _index(self, name: str) -> int:
        index = self.places.get(name)
        if index is None:
            raise TablesBehind(f"node {name} of the log has no row: rebuild_projections")
        return index

    def _count(self, entry: Entry, sign: int) -> None:
        used = entry.gpus_used if entry.occupants else 0
        self._all += sign * entry.gpus
        self._used += sign * used
        if entry.domain is None:
            self._unlabelled += sign
        elif not entry.state & (rack_map.CORDONED | rack_map.NOT_READY):
            self._free[entry.domain] += sign * max(entry.gpus - used, 0)
            self._largest = None


@lru_cache(maxsize=4096)
def _devices(amounts: tuple[tuple[str, int], ...]) -> int:
    """Pods and nodes are many and their amounts few."""
    return gpus(dict(amounts))


def _domain(node: Node, key: str) -> str | None:
    if key == NUMA_KEY:
        return node.name if node.zones else None
    for name, value in node.labels:
        if name == key:
            return value
    return None


def _tainted(node: Node) -> bool:
    return any(rack_map.keeps_away(taint.key, taint.effect) for taint in node.taints)


def _places(cluster: Cluster) -> tuple[int, dict[str, int]]:
    """The epoch, and the index of every node that ever was."""
    with rack_map.one_moment():
        epoch, _ = rack_map.head(cluster)
        rows: Iterable[tuple[str, int]] = NodeRow.objects.filter(cluster=cluster).values_list("name", "index")
        return epoch, dict(rows)
