"""Nodes and pods as arrays: what a snapshot of a state holds of them, and the tables a state makes of it.

Rows are in the order of the state's dicts. Names and uids are ``Names``; where a pod is, is a number of
``places``: "", then the nodes, then names that no node has. Every other text is a number of ``texts``, in
which "" is the first. What can be worked out is not packed: room, counts and indexes are made of the rows,
and objects when they are asked for (``roll``).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, overload
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Columns, Ints
from scheduling.engine.frozen import opened
from scheduling.engine.model import Node, NumaZone, Pod, Shape, Taint
from scheduling.engine.roll import Made, Objects, Roll

FORMAT = 2
"""Of what is packed and of what the engine makes of it: a change of either is a new one."""

Column = NDArray[Any]
"""Integers of any width: written as narrow as they allow."""

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_ASKED_OFTEN = 8
"""Once an eighth of the names were looked for one by one, a dict of all is quicker."""

_UNSCHEDULABLE, _READY = 1, 2
_TERMINATING, _GATED, _PLACED = 1, 2, 4


class Numbers(dict[T, int]):
    """Numbers for values, given as they come."""

    def __missing__(self, value: T) -> int:
        number = self[value] = len(self)
        return number


def texts(*names: str) -> Numbers[str]:
    """A list of texts that begins with "" and the names."""
    return Numbers(zip(("", *names), range(len(names) + 1), strict=True))


@dataclass(frozen=True)
class Pairs:
    """A tuple of (key, number) pairs in each row. ``keys``: the tuples of keys that occur; ``of``: which of
    them a row has; ``numbers``: those of all rows, one after the other.
    """

    keys: tuple[tuple[str, ...], ...]
    of: Column
    numbers: Column

    @cached_property
    def starts(self) -> Ints:
        """Where the numbers of each row begin."""
        sizes = np.array([len(keys) for keys in self.keys], np.int64)[self.of]
        starts: Ints = np.cumsum(sizes) - sizes
        return starts

    def row(self, row: int) -> tuple[tuple[str, int], ...]:
        keys = self.keys[self.of.item(row)]
        start = self.starts.item(row)
        return tuple(zip(keys, self.numbers[start : start + len(keys)].tolist(), strict=True))

    def column(self, key: str) -> tuple[Ints, Column]:
        """The rows that have the key, and their numbers."""
        rows, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for number, keys in enumerate(self.keys):
            if key in keys:
                rows.append(np.flatnonzero(self.of == number))
                places.append(self.starts[rows[-1]] + keys.index(key))
        return np.concatenate(rows), self.numbers[np.concatenate(places)]


def pairs(rows: Iterable[tuple[tuple[str, T], ...]], number: Callable[[T], int]) -> Pairs:
    keys: Numbers[tuple[str, ...]] = Numbers()
    of: list[int] = []
    numbers: list[int] = []
    for row in rows:
        of.append(keys[tuple([key for key, _ in row])])
        numbers.extend([number(value) for _, value in row])
    return Pairs(tuple(keys), _column(of), _column(numbers))


class Names(Sequence[str]):
    """Texts of which one is found, or read, without the others being made. ``data``: all of them as UTF-8;
    ``ends``: where each ends. ``hashes``: their CRC-32 in ascending order; ``order``: the row of each.
    """

    def __init__(self, data: Column, ends: Column, hashes: Column, order: Column) -> None:
        self.data, self.ends, self.hashes, self.order = data, ends, hashes, order
        self._asked = 0

    @classmethod
    def of(cls, names: Sequence[str]) -> Names:
        encoded = [name.encode() for name in names]
        hashes = np.array([crc32(name) for name in encoded], np.int64)
        order = np.argsort(hashes, kind="stable")
        data = np.frombuffer(b"".join(encoded), np.uint8)
        return cls(data, np.cumsum([len(name) for name in encoded], dtype=np.int64), hashes[order], order)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[place] for place in range(*row.indices(len(self)))]
        start = self.ends.item(row - 1) if row else 0
        return self.data[start : self.ends.item(row)].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self.all)

    @cached_property
    def all(self) -> list[str]:
        data, start, made = self.data.tobytes(), 0, []
        for end in self.ends.tolist():
            made.append(data[start:end].decode())
            start = end
        return made

    @cached_property
    def rows(self) -> dict[str, int]:
        """Where each is; the last of equal ones."""
        return dict(zip(self.all, range(len(self)), strict=True))

    def find(self, name: str) -> int | None:
        """The row, any of several; None when there is none."""
        if "rows" in self.__dict__ or self._asked * _ASKED_OFTEN > len(self):
            return self.rows.get(name)
        self._asked += 1
        wanted = crc32(name.encode())
        place = int(np.searchsorted(self.hashes, wanted))
        while place < len(self) and self.hashes[place] == wanted:
            row: int = self.order.item(place)
            if self[row] == name:
                return row
            place += 1
        return None


@dataclass(frozen=True)
class PackedNodes:
    """``taints`` and ``zones``: places in ``taint_lists`` and ``zone_lists``."""

    texts: Sequence[str]
    names: Names
    uids: Names
    labels: Pairs
    flags: Column
    taints: Column
    allocatable: Pairs
    zones: Column
    taint_lists: Sequence[tuple[Taint, ...]]
    zone_lists: Sequence[tuple[NumaZone, ...]]


def pack_nodes(nodes: Sequence[Node], texts: Numbers[str]) -> PackedNodes:
    """The rows; ``texts`` gets what they name."""
    taints: Numbers[tuple[Taint, ...]] = Numbers()
    zones: Numbers[tuple[NumaZone, ...]] = Numbers()
    return PackedNodes(
        names=Names.of([node.name for node in nodes]),
        uids=Names.of([node.uid for node in nodes]),
        labels=pairs([node.labels for node in nodes], texts.__getitem__),
        flags=_column([_UNSCHEDULABLE * node.unschedulable + _READY * node.ready for node in nodes]),
        taints=_column([taints[node.taints] for node in nodes]),
        allocatable=pairs([node.allocatable for node in nodes], int),
        zones=_column([zones[node.zones] for node in nodes]),
        taint_lists=tuple(taints),
        zone_lists=tuple(zones),
        texts=tuple(texts),
    )


class NodesMade(Made[str, Node]):
    """Node name -> node."""

    def __init__(self, packed: PackedNodes) -> None:
        super().__init__()
        self.packed = packed

    def every(self) -> Iterable[str]:
        return self.packed.names

    def count(self) -> int:
        return len(self.packed.names)

    def find(self, key: str) -> int | None:
        return self.packed.names.find(key)

    def make(self, key: str, row: int) -> Node:
        told, texts = self.packed, self.packed.texts
        flags = told.flags.item(row)
        return Node(
            name=key,
            uid=told.uids[row],
            labels=tuple([(label, texts[number]) for label, number in told.labels.row(row)]),
            taints=told.taint_lists[told.taints[row]],
            unschedulable=bool(flags & _UNSCHEDULABLE),
            ready=bool(flags & _READY),
            allocatable=told.allocatable.row(row),
            zones=told.zone_lists[told.zones[row]],
        )


def labelled(nodes: Objects[str, Node], key: str) -> tuple[list[str], list[str]]:
    """Of every node that carries the label its value and, in the second list, its name; in any order. Packed
    nodes are not made for it.
    """
    values: list[str] = []
    names: list[str] = []
    looked_at: Iterable[str] = nodes
    if isinstance(nodes, Roll) and isinstance(nodes.base, NodesMade):
        told, looked_at = nodes.base.packed, nodes.changed()
        rows, numbers = told.labels.column(key)
        if looked_at:
            same = np.array([name not in looked_at for name in told.names], bool)[rows]
            rows, numbers = rows[same], numbers[same]
        all_names, texts = told.names.all, told.texts
        names = [all_names[row] for row in rows.tolist()]
        values = [texts[number] for number in numbers.tolist()]
    for name in looked_at:
        node = nodes.get(name)
        value = node.label(key) if node is not None else None
        if value is not None:
            values.append(value)
            names.append(name)
    return values, names


@dataclass(frozen=True)
class PackedPods:
    """``requests``: a row for each of ``shapes``; ``pairwise``: the places of shapes with anti-affinity or
    host ports. ``namesakes``: uids of pods with one name, where these are several, in the order in which they
    came.
    """

    texts: Sequence[str]
    places: Sequence[str]
    keys: Names
    uids: Names
    namespace: Column
    shape: Column
    node: Column
    group: Column
    priority: Column
    phase: Column
    flags: Column
    scheduler: Column
    labels: Pairs
    created: Column
    shapes: Sequence[Shape]
    requests: Pairs
    pairwise: Column
    namesakes: Sequence[Sequence[str]]

    @cached_property
    def bound(self) -> Ints:
        """Rows of the unfinished pods that are on a node, by node and then in order."""
        finished = np.zeros(len(self.texts), bool)
        for number in np.flatnonzero(np.bincount(self.phase)).tolist():
            finished[number] = self.texts[number] in ("Succeeded", "Failed")
        rows = np.flatnonzero((self.node != 0) & ~finished[self.phase])
        in_order: Ints = rows[np.argsort(self.node[rows], kind="stable")]
        return in_order


def pack_pods(
    pods: Sequence[Pod],
    namesakes: Sequence[Sequence[str]],
    texts: Numbers[str],
    places: Numbers[str],
    placed: Container[str],
) -> PackedPods:
    """The rows; ``texts`` and ``places`` get what they name. ``placed``: uids as in ``Past``."""
    shapes: Numbers[Shape] = Numbers()
    known: dict[int, int] = {}  # by identity first: members mostly share the object, and hashing one is slow

    def shape(wanted: Shape) -> int:
        number = known.get(id(wanted))
        if number is None:
            number = known[id(wanted)] = shapes[wanted]
        return number

    return PackedPods(
        keys=Names.of([pod.key for pod in pods]),
        uids=Names.of([pod.uid for pod in pods]),
        phase=_column([texts[pod.phase] for pod in pods]),
        scheduler=_column([texts[pod.scheduler_name] for pod in pods]),
        namespace=_column([texts[pod.namespace] for pod in pods]),
        group=_column([texts[pod.group] for pod in pods]),
        node=_column([places[pod.node] for pod in pods]),
        shape=_column([shape(pod.shape) for pod in pods]),
        priority=_column([pod.priority for pod in pods]),
        flags=_column(
            [
                _TERMINATING * pod.terminating + _GATED * pod.gated + _PLACED * (pod.uid in placed)
                for pod in pods
            ]
        ),
        labels=pairs([pod.labels for pod in pods], texts.__getitem__),
        created=_column([pod.created for pod in pods]),
        shapes=tuple(shapes),
        requests=pairs([shape.requests for shape in shapes], int),
        pairwise=_column(
            [number for number, each in enumerate(shapes) if each.pod_anti_affinity or each.host_ports]
        ),
        namesakes=namesakes,
        texts=tuple(texts),
        places=tuple(places),
    )


class PodsMade(Made[str, Pod]):
    """Uid -> pod."""

    def __init__(self, packed: PackedPods) -> None:
        super().__init__()
        self.packed = packed

    def every(self) -> Iterable[str]:
        return self.packed.uids

    def count(self) -> int:
        return len(self.packed.uids)

    def find(self, key: str) -> int | None:
        return self.packed.uids.find(key)

    def make(self, key: str, row: int) -> Pod:
        # All of a large cluster's are asked for by the first cycle: made as ``frozen`` says.
        told, texts = self.packed, self.packed.texts
        namespace = texts[told.namespace.item(row)]
        flags = told.flags.item(row)
        pod = _OpenPod()
        pod.namespace = namespace
        pod.name = told.keys[row][len(namespace) + 1 :]
        pod.uid = key
        pod.shape = told.shapes[told.shape.item(row)]
        pod.node = told.places[told.node.item(row)]
        pod.group = texts[told.group.item(row)]
        pod.priority = told.priority.item(row)
        pod.phase = texts[told.phase.item(row)]
        pod.terminating = bool(flags & _TERMINATING)
        pod.gated = bool(flags & _GATED)
        pod.scheduler_name = texts[told.scheduler.item(row)]
        pod.labels = tuple([(label, texts[number]) for label, number in told.labels.row(row)])
        pod.created = told.created.item(row)
        pod.__class__ = Pod
        made: Pod = pod
        return made


_OpenPod = opened(Pod)


class PlacedMade(Made[str, bool]):
    """Uids of the pods that our own cycles placed, for ``Past``."""

    def __init__(self, packed: PackedPods) -> None:
        super().__init__()
        self._uids, self._placed = packed.uids, (packed.flags & _PLACED).astype(bool)

    def every(self) -> Iterable[str]:
        return [uid for uid, placed in zip(self._uids, self._placed.tolist(), strict=True) if placed]

    def count(self) -> int:
        return int(np.count_nonzero(self._placed))

    def find(self, key: str) -> int | None:
        row = self._uids.find(key)
        return row if row is not None and self._placed[row] else None

    def make(self, key: str, row: int) -> bool:
        return True


class UidsByName(Made[str, tuple[str, ...]]):
    """Pod key -> uids of the pods of that name, in the order in which they came."""

    def __init__(self, packed: PackedPods) -> None:
        super().__init__()
        self._packed = packed
        self._namesakes = {uid: uids for uids in packed.namesakes for uid in uids}

    def every(self) -> Iterable[str]:
        return dict.fromkeys(self._packed.keys)

    def count(self) -> int:
        return len(self._packed.keys) - sum(len(uids) - 1 for uids in self._packed.namesakes)

    def find(self, key: str) -> int | None:
        return self._packed.keys.find(key)

    def make(self, key: str, row: int) -> tuple[str, ...]:
        uid = self._packed.uids[row]
        return tuple(self._namesakes.get(uid, (uid,)))


class UidsUnder(Made[str, dict[str, None]]):
    """Key -> ordered set of uids, for ``Buckets``. ``keys``: number -> key; ``numbers``: that of each pod in
    ``order``, ascending; ``find``: key -> number, of those that no pod has too.
    """

    def __init__(
        self,
        uids: Names,
        keys: Sequence[str],
        numbers: Column,
        order: Ints,
        number: Callable[[str], int | None],
    ) -> None:
        super().__init__()
        self._uids, self._keys, self._numbers, self._order, self._number = uids, keys, numbers, order, number

    @cached_property
    def _there(self) -> list[str]:
        return [self._keys[number] for number in self._numbers[_runs(self._numbers)].tolist()]

    def every(self) -> Iterable[str]:
        return self._there

    def count(self) -> int:
        return len(self._there)

    def find(self, key: str) -> int | None:
        number = self._number(key)
        if number is None:
            return None
        place = int(np.searchsorted(self._numbers, number))
        return place if place < len(self._numbers) and self._numbers[place] == number else None

    def make(self, key: str, row: int) -> dict[str, None]:
        end = int(np.searchsorted(self._numbers, self._numbers[row], side="right"))
        return dict.fromkeys([self._uids[place] for place in self._order[row:end].tolist()])


def by_node(nodes: PackedNodes, pods: PackedPods) -> UidsUnder:
    """The unfinished pods on each node."""
    strays = {name: number for number, name in enumerate(pods.places[len(nodes.names) + 1 :])}

    def number(name: str) -> int | None:
        row = nodes.names.find(name)
        if row is not None:
            return row + 1
        stray = strays.get(name)
        return None if stray is None else len(nodes.names) + 1 + stray

    return UidsUnder(pods.uids, pods.places, pods.node[pods.bound], pods.bound, number)


def by_group(pods: PackedPods) -> UidsUnder:
    """The pods that name each group, finished ones included."""
    rows = np.flatnonzero(pods.group)
    both = pods.namespace[rows].astype(np.int64) * len(pods.texts) + pods.group[rows]
    order = np.argsort(both, kind="stable")
    rows, both = rows[order], both[order]
    starts = _runs(both)
    split = (divmod(number, len(pods.texts)) for number in both[starts].tolist())
    keys = [f"{pods.texts[namespace]}/{pods.texts[group]}" for namespace, group in split]
    numbers = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(both))))
    return UidsUnder(pods.uids, keys, numbers, rows, {key: place for place, key in enumerate(keys)}.get)


def together(pods: PackedPods, key: Callable[[str, Shape], K | None]) -> dict[K, dict[str, None]]:
    """The unfinished pods on nodes whose shape is one of ``pairwise``, by what ``key`` makes of namespace and
    shape; None for those that are left out.
    """
    wanted = np.zeros(len(pods.shapes), bool)
    wanted[pods.pairwise] = True
    rows = pods.bound[wanted[pods.shape[pods.bound]]]
    both = pods.shape[rows].astype(np.int64) * len(pods.texts) + pods.namespace[rows]
    order = np.argsort(both, kind="stable")
    rows, both = rows[order], both[order]
    starts = _runs(both)
    found: dict[K, list[Ints]] = {}
    for number, part in zip(both[starts].tolist(), np.split(rows, starts[1:]), strict=False):
        shape, namespace = divmod(number, len(pods.texts))
        name = key(pods.texts[namespace], pods.shapes[shape])
        if name is not None:
            found.setdefault(name, []).append(part)
    return {
        name: dict.fromkeys([pods.uids[row] for row in np.sort(np.concatenate(parts)).tolist()])
        for name, parts in found.items()
    }


def columns(nodes: PackedNodes, pods: PackedPods, resources: Iterable[str]) -> tuple[Columns, list[Node]]:
    """The columns of the nodes with the pods on them, and the attitudes that they name (see ``Columns``).
    ``resources``: those that there is a column for.
    """
    count = len(nodes.names)
    at = pods.node[pods.bound].astype(np.int64) - 1
    bound, at = pods.bound[at < count], at[at < count]
    alloc: dict[str, Ints] = {}
    free: dict[str, Ints] = {}
    for resource in resources:
        offered = np.zeros(count, np.int64)
        rows, amounts = nodes.allocatable.column(resource)
        offered[rows] = np.minimum(amounts.astype(np.int64), AMOUNT_LIMIT - 1)
        asked = np.zeros(len(pods.shapes), np.int64)
        rows, amounts = pods.requests.column(resource)
        asked[rows] = np.minimum(amounts.astype(np.int64), AMOUNT_LIMIT)
        alloc[resource], free[resource] = offered, offered.copy()
        np.subtract.at(free[resource], at, asked[pods.shape[bound]])
    pods_on: Ints = np.bincount(at, minlength=count).astype(np.int64)
    attitudes, of = _attitudes(nodes)
    slot = nodes.names.rows.copy()
    return Columns.of(nodes.names.all.copy(), slot, alloc, free, pods_on, of), attitudes


def _attitudes(nodes: PackedNodes) -> tuple[list[Node], Ints]:
    both = nodes.taints.astype(np.int64) * 4 + nodes.flags
    found = np.flatnonzero(np.bincount(both))
    place = np.zeros(len(nodes.taint_lists) * 4, np.int64)
    place[found] = np.arange(len(found))
    made = [
        Node(
            "",
            "",
            taints=nodes.taint_lists[number // 4],
            unschedulable=bool(number & _UNSCHEDULABLE),
            ready=bool(number & _READY),
        )
        for number in found.tolist()
    ]
    return made, place[both]


def _runs(numbers: Column) -> Ints:
    """Where each run of equal numbers begins."""
    changes: Bools = numbers[1:] != numbers[:-1]
    return np.flatnonzero(np.append(len(numbers) > 0, changes))


def _column(numbers: list[int]) -> Ints:
    return np.array(numbers, np.int64)
