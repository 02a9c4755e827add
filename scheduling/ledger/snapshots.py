"""The state of a cluster as bytes and back: what a snapshot holds.

The bytes are a head, one JSON object and arrays. The head has a mark, the format, a digest of the fields that
the packed objects have in this version of the program, and a SHA-256 of the rest: torn, wrong and old bytes
are told from good ones before anything of them is used.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Generic, TypeVar, get_type_hints, overload

import numpy as np
import orjson

from scheduling.engine import model, packed, records
from scheduling.engine.decision import VerdictSummary
from scheduling.engine.lost import Home, Lost
from scheduling.engine.model import NumaZone, PodGroup, Shape, Taint, Workload
from scheduling.engine.packed import Column, Names, PackedNodes, PackedPods, Pairs
from scheduling.engine.past import Closed
from scheduling.engine.roll import Made, Roll, Shared
from scheduling.engine.state import ClusterState
from scheduling.engine.turns import LostTo, Turn
from scheduling.ledger import codec

FORMAT = packed.FORMAT

_MARK = b"tas-state"
_HEAD = struct.Struct(f"<{len(_MARK)}sH8s32s")
_SIZE = struct.Struct("<Q")
_T = TypeVar("_T")

_KINDS: tuple[type[Any], ...] = (
    model.Node, model.Taint, model.NumaZone, model.Pod, model.Shape, model.Eligibility, model.Toleration,
    model.NodeSelectorTerm, model.Requirement, model.PodTerm, model.PodGroup, VerdictSummary, Turn, LostTo,
    Home, Lost, Closed, Workload, model.PodGroupTemplate, PackedNodes, PackedPods, Pairs, *records.KINDS,
)  # fmt: skip
_FIELDS = hashlib.sha256(
    repr([(kind.__name__, [(field.name, field.type) for field in fields(kind)]) for kind in _KINDS]).encode()
).digest()[:8]

KIND = f"{FORMAT}.{_FIELDS.hex()}"
"""Format and fields as text: snapshots of another kind cannot be read."""


class BadSnapshot(ValueError):
    """Bytes that are no snapshot of this format, whole and unchanged."""


def pack(state: ClusterState) -> bytes:
    """Everything of the state that cannot be worked out from the rest. The same events give the same bytes,
    whatever snapshots there were on the way.
    """
    arrays: list[Column] = []
    texts, places = packed.texts(), packed.texts(*state.nodes)
    nodes, pods = list(state.nodes.values()), list(state.pods.values())
    told = {
        "pods": _told(
            packed.pack_pods(pods, state.namesakes(), texts, places, state.past.placed.table), arrays
        ),
        "nodes": _told(packed.pack_nodes(nodes, texts), arrays),
        "texts": list(texts),
        "strays": list(places)[1 + len(nodes) :],
        "resources": list(state.columns.alloc),
        "seq": state.seq,
        "mode": state.mode,
        "gates": list(state.gates.items()),
        "groups": _rows(PodGroup, state.groups),
        "verdicts": _rows(VerdictSummary, state.verdicts),
        "turns": _rows(Turn, state.turns),
        "homes": _rows(Home, state.homes),
        "lost": _rows(Lost, state.lost),
        "zone_of": list(state.zone_of.items()),
        "closed": _ended(state.past.closed.table, arrays),
        "workloads": _one_by_one(Workload, state.past.workloads.table, arrays),
        "ever_apart": state.ever_apart,
        "records": {kind.__name__: _rows(kind, state.records.of(kind)) for kind in records.KINDS},
    }
    narrow = [_narrow(array) for array in arrays]
    told["arrays"] = [(array.dtype.str, len(array)) for array in narrow]
    json = orjson.dumps(told)
    parts = [_SIZE.pack(len(json)), json, *(array.tobytes() for array in narrow)]
    body = b"".join(part.ljust(_aligned(len(part)), b"\0") for part in parts)
    return _HEAD.pack(_MARK, FORMAT, _FIELDS, hashlib.sha256(body).digest()) + body


def unpack(data: bytes) -> ClusterState:
    """The state that was packed. Raises BadSnapshot."""
    if len(data) < _HEAD.size:
        raise BadSnapshot(f"{len(data)} bytes are no snapshot")
    mark, version, known, digest = _HEAD.unpack_from(data)
    if mark != _MARK:
        raise BadSnapshot("the bytes do not begin as those of a snapshot")
    if (version, known) != (FORMAT, _FIELDS):
        raise BadSnapshot(
            f"the snapshot is of format {version} ({known.hex()}), this version of the console has "
            f"{FORMAT} ({_FIELDS.hex()})"
        )
    body = memoryview(data)[_HEAD.size :]
    if hashlib.sha256(body).digest() != digest:
        raise BadSnapshot("the snapshot is torn: it does not have the digest it was written with")
    (size,) = _SIZE.unpack_from(body)
    body = body[_SIZE.size :]
    told = orjson.loads(body[:size])
    return _state(told, _arrays(told["arrays"], body[_aligned(size) :]))


def _state(told: dict[str, Any], arrays: Sequence[Column]) -> ClusterState:
    nodes = _untold(PackedNodes, told["nodes"], arrays, texts=told["texts"])
    places = ["", *nodes.names, *told["strays"]]
    pods = _untold(PackedPods, told["pods"], arrays, texts=told["texts"], places=places)
    state = ClusterState.over(nodes, pods, told["resources"])
    state.seq, state.mode, state.gates = told["seq"], told["mode"], dict(told["gates"])
    state.groups = _objects(PodGroup, told["groups"])
    state.verdicts = _objects(VerdictSummary, told["verdicts"])
    state.turns = _objects(Turn, told["turns"])
    state.homes = _objects(Home, told["homes"])
    state.lost = _objects(Lost, told["lost"])
    state.zone_of = dict(told["zone_of"])
    state.ever_apart = told["ever_apart"]
    for kind in records.KINDS:
        for record in _objects(kind, told["records"][kind.__name__]).values():
            state.records.put(record)
    state.past.closed = Shared(Roll(_Ended(told["closed"], arrays)))
    state.past.workloads = Shared(Roll(_Told(Workload, told["workloads"], arrays)))
    return state


# --- arrays


def _aligned(size: int) -> int:
    return -(-size // 8) * 8


def _narrow(array: Column) -> Column:
    lowest, highest = (int(array.min()), int(array.max())) if len(array) else (0, 0)
    if lowest < 0:
        return array.astype("<i8")
    return array.astype(
        next((kind for kind in ("<u1", "<u2", "<u4") if highest <= np.iinfo(kind).max), "<i8")
    )


def _arrays(kinds: Iterable[tuple[str, int]], data: memoryview) -> list[Column]:
    arrays = []
    offset = 0
    for kind, length in kinds:
        arrays.append(np.frombuffer(data, kind, length, offset))
        offset += _aligned(arrays[-1].nbytes)
    return arrays


# --- tables of nodes and pods: JSON in which an array is its number

_LISTS: dict[str, Any] = {
    "taint_lists": tuple[Taint, ...],
    "zone_lists": tuple[NumaZone, ...],
    "shapes": Shape,
}


def _put(array: Column, arrays: list[Column]) -> int:
    arrays.append(array)
    return len(arrays) - 1


def _put_names(names: Names, arrays: list[Column]) -> list[int]:
    return [_put(array, arrays) for array in (names.data, names.ends, names.hashes, names.order)]


def _told(table: PackedNodes | PackedPods, arrays: list[Column]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for field in fields(table):
        value = getattr(table, field.name)
        if isinstance(value, np.ndarray):
            told[field.name] = _put(value, arrays)
        elif isinstance(value, Names):
            told[field.name] = _put_names(value, arrays)
        elif isinstance(value, Pairs):
            told[field.name] = [value.keys, _put(value.of, arrays), _put(value.numbers, arrays)]
        elif field.name in _LISTS:
            encode = codec.converters(_LISTS[field.name])[0]
            told[field.name] = [encode(item) for item in value]
        elif field.name == "namesakes":
            told[field.name] = value
    return told


def _untold(kind: type[_T], told: dict[str, Any], arrays: Sequence[Column], **given: list[str]) -> _T:
    found: dict[str, Any] = given
    hints = get_type_hints(kind)
    for name, value in told.items():
        if hints[name] is Names:
            found[name] = Names(*(arrays[number] for number in value))
        elif hints[name] is Pairs:
            keys, of, numbers = value
            found[name] = Pairs(tuple(map(tuple, keys)), arrays[of], arrays[numbers])
        elif isinstance(value, int):
            found[name] = arrays[value]
        elif name in _LISTS:
            found[name] = _Later(value, codec.converters(_LISTS[name])[1])
        else:
            found[name] = value
    return kind(**found)


class _Later(Sequence[_T], Generic[_T]):
    """A list whose items are decoded when they are asked for."""

    def __init__(self, told: list[Any], decode: Callable[[Any], _T]) -> None:
        self._told, self._decode = told, decode
        self._made: list[_T | None] = [None] * len(told)

    @overload
    def __getitem__(self, place: int) -> _T: ...
    @overload
    def __getitem__(self, place: slice) -> list[_T]: ...
    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        made = self._made[place]
        if made is None:
            made = self._made[place] = self._decode(self._told[place])
        return made

    def __len__(self) -> int:
        return len(self._told)


# --- what may be many and is asked for seldom: JSON of one object at a time


def _one_by_one(kind: type[Any], objects: Mapping[str, Any], arrays: list[Column]) -> list[list[int]]:
    encode = codec.converters(kind)[0]
    told = [orjson.dumps(encode(item)).decode() for item in objects.values()]
    return [_put_names(Names.of(list(objects)), arrays), _put_texts(told, arrays)]


def _put_texts(texts: Sequence[str], arrays: list[Column]) -> list[int]:
    """Of which none is looked for."""
    encoded = [text.encode() for text in texts]
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return [_put(data, arrays), _put(np.cumsum([len(text) for text in encoded], dtype=np.int64), arrays)]


def _texts(numbers: Iterable[int], arrays: Sequence[Column]) -> Names:
    data, ends = (arrays[number] for number in numbers)
    return Names(data, ends, ends[:0], ends[:0])


class _Told(Made[str, _T]):
    def __init__(self, kind: type[_T], told: list[list[int]], arrays: Sequence[Column]) -> None:
        super().__init__()
        self._keys, self._json = Names(*(arrays[number] for number in told[0])), _texts(told[1], arrays)
        self._decode = codec.converters(kind)[1]

    def every(self) -> Iterable[str]:
        return self._keys

    def count(self) -> int:
        return len(self._keys)

    def find(self, key: str) -> int | None:
        return self._keys.find(key)

    def make(self, key: str, row: int) -> _T:
        made: _T = self._decode(orjson.loads(self._json[row]))
        return made


# --- generations that ended, of every name that there ever was: in the end most of a snapshot, so in columns


def _ended(closed: Mapping[str, Closed], arrays: list[Column]) -> list[Any]:
    told = list(closed.values())
    return [
        _put_names(Names.of(list(closed)), arrays),
        _put(np.array([ended.generation for ended in told], np.int64), arrays),
        _put_texts([ended.uid for ended in told], arrays),
    ]


class _Ended(Made[str, Closed]):
    def __init__(self, told: list[Any], arrays: Sequence[Column]) -> None:
        super().__init__()
        self._keys, self._generations = Names(*(arrays[number] for number in told[0])), arrays[told[1]]
        self._uids = _texts(told[2], arrays)

    def every(self) -> Iterable[str]:
        return self._keys

    def count(self) -> int:
        return len(self._keys)

    def find(self, key: str) -> int | None:
        return self._keys.find(key)

    def make(self, key: str, row: int) -> Closed:
        return Closed(self._generations.item(row), self._uids[row])


# --- the few objects that are not packed as arrays: rows of their fields


def _conversions(kind: Any) -> list[tuple[int, Callable[[Any], Any], Callable[[Any], Any]]]:
    """Places of the fields that are no plain values, and how these become JSON and come back."""
    hints = get_type_hints(kind, include_extras=True)
    made = [(place, hints[field.name]) for place, field in enumerate(fields(kind))]
    return [(place, *codec.converters(hint)) for place, hint in made if hint not in (int, str, bool)]


def _rows(kind: type[Any], objects: Mapping[str, Any]) -> list[list[Any]]:
    names = [field.name for field in fields(kind)]
    rows = [[key, *[getattr(item, name) for name in names]] for key, item in objects.items()]
    for place, encode, _ in _conversions(kind):
        for row in rows:
            row[place + 1] = encode(row[place + 1])
    return rows


def _objects(kind: type[_T], rows: list[list[Any]]) -> dict[str, _T]:
    for place, _, decode in _conversions(kind):
        for row in rows:
            told = row[place + 1]
            row[place + 1] = () if told == [] else decode(told)
    return {row[0]: kind(*row[1:]) for row in rows}
