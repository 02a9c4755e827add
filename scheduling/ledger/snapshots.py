"""The state of a cluster as bytes and back: what a snapshot holds.

The bytes begin with a mark, the format and a SHA-256 of the rest, so that torn, wrong and old ones are told
from good ones before anything of them is used.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any, TypeVar

import orjson

from scheduling.engine.decision import VerdictSummary
from scheduling.engine.lost import Home, Lost
from scheduling.engine.model import Node, Pod, PodGroup
from scheduling.engine.state import ClusterState
from scheduling.engine.turns import Turn
from scheduling.ledger import codec

FORMAT = 1
"""Of the bytes, and of what the engine makes of them: a change of either is a new one, and snapshots of
another format are made again from the log.
"""

_MARK = b"tas-state"
_HEAD = struct.Struct(f"<{len(_MARK)}sH32s")
_Part = TypeVar("_Part")


class BadSnapshot(ValueError):
    """Bytes that are no snapshot of this format, whole and unchanged."""


def pack(state: ClusterState) -> bytes:
    """Everything of the state that cannot be worked out from the rest; equal states give equal bytes."""
    names: dict[str, list[str]] = {}
    for pod in state.pods.values():
        names.setdefault(pod.key, []).append(pod.uid)
    body = orjson.dumps(
        {
            "seq": state.seq,
            "mode": state.mode,
            "gates": list(state.gates.items()),
            "nodes": [codec.encode_part(node) for node in state.nodes.values()],
            "pods": [codec.encode_part(pod) for pod in state.pods.values()],
            "namesakes": [
                [pod.uid for pod in state.pods_named(key)] for key, uids in names.items() if len(uids) > 1
            ],
            "groups": [codec.encode_part(group) for group in state.groups.values()],
            "verdicts": _parts(state.verdicts),
            "turns": _parts(state.turns),
            "homes": _parts(state.homes),
            "lost": _parts(state.lost),
            "zone_of": list(state.zone_of.items()),
            "ever_apart": state.ever_apart,
        }
    )
    return _HEAD.pack(_MARK, FORMAT, hashlib.sha256(body).digest()) + body


def unpack(data: bytes) -> ClusterState:
    """The state that was packed. Raises BadSnapshot."""
    if len(data) < _HEAD.size:
        raise BadSnapshot(f"{len(data)} bytes are no snapshot")
    mark, version, digest = _HEAD.unpack_from(data)
    if mark != _MARK:
        raise BadSnapshot("the bytes do not begin as those of a snapshot")
    if version != FORMAT:
        raise BadSnapshot(f"the snapshot has format {version}, this version of the console has {FORMAT}")
    body = memoryview(data)[_HEAD.size :]
    if hashlib.sha256(body).digest() != digest:
        raise BadSnapshot("the snapshot is torn: it does not have the digest it was written with")
    return _state(orjson.loads(body))


def _state(told: dict[str, Any]) -> ClusterState:
    state = ClusterState()
    state.seq, state.mode, state.gates = told["seq"], told["mode"], dict(told["gates"])
    for node in told["nodes"]:
        state.set_node(codec.decode_part(Node, node))
    pods = {pod.uid: pod for pod in (codec.decode_part(Pod, pod) for pod in told["pods"])}
    # Of pods with one name the order of arrival counts, which is not that of their last changes.
    for uids in told["namesakes"]:
        for uid in uids:
            state.set_pod(pods[uid])
    for pod in pods.values():
        state.set_pod(pod)
    for group in told["groups"]:
        state.set_group(codec.decode_part(PodGroup, group))
    state.verdicts = _objects(VerdictSummary, told["verdicts"])
    state.turns = _objects(Turn, told["turns"])
    state.homes = _objects(Home, told["homes"])
    state.lost = _objects(Lost, told["lost"])
    state.zone_of = dict(told["zone_of"])
    state.ever_apart = told["ever_apart"]
    return state


def _parts(objects: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(key, codec.encode_part(value)) for key, value in objects.items()]


def _objects(kind: type[_Part], told: list[tuple[str, Any]]) -> dict[str, _Part]:
    return {key: codec.decode_part(kind, value) for key, value in told}
