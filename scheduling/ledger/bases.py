"""Where folding begins: at nothing, or at what the cluster was after its last archived event.

A base is no snapshot: while its events are archived it cannot be made again from the log, so it has to
outlive upgrades. Its state is written by the codec of events, for which a field that a later version adds
has its default.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from scheduling.engine import records
from scheduling.engine.decision import VerdictSummary
from scheduling.engine.lost import Home, Lost
from scheduling.engine.model import Node, Pod, PodGroup, Workload
from scheduling.engine.past import Closed
from scheduling.engine.state import ClusterState
from scheduling.engine.turns import Turn
from scheduling.ledger import archives, codec, snapshot_store
from scheduling.ledger.store import GENESIS
from scheduling.models import Base, Stream

VERSION = 1
"""Of ``pack``; another one when bases of before cannot be read, or hold what events do not make any more."""

_Part = TypeVar("_Part")


class UnreadableBase(RuntimeError):
    """What is kept of a cluster's archived past is of another version of the console, or not as it was
    written. Only the files tell it again: ``manage.py retention rebase``.
    """

    def __init__(self, stream_id: int, why: str) -> None:
        files = ", ".join(archive.file for archive in archives.of(stream_id))
        name = Stream.objects.get(pk=stream_id).name
        super().__init__(
            f"what {name} was after its archived events cannot be used ({why}): run "
            f"`manage.py retention rebase {name} DIR` with the folder of {files}"
        )


@dataclass(frozen=True, slots=True)
class Beginning:
    """``state``: at the last event that is no longer in the table (empty when all are there). ``hash``: of
    that event.
    """

    state: ClusterState
    hash: bytes


def beginning(stream_id: int) -> Beginning:
    """What the events in the table go on from; the state is the caller's own. Raises UnreadableBase."""
    found = newest(stream_id)
    if found is None:
        return Beginning(ClusterState(), GENESIS)
    if found.versions.get("state") != VERSION:
        why = f"its state is of version {found.versions.get('state')}, needed is {VERSION}"
        raise UnreadableBase(stream_id, why)
    try:
        return Beginning(unpack(bytes(found.state)), bytes(found.hash))
    except (ValueError, LookupError, TypeError, zlib.error) as error:
        raise UnreadableBase(stream_id, str(error)) from error


def nearest(stream_id: int, upto: int) -> Beginning:
    """What folding up to event ``upto`` goes on from: the nearest snapshot, or else where the events in the
    table begin. Raises UnreadableBase, and Archived for an event before that.
    """
    if upto == 0:
        return Beginning(ClusterState(), GENESIS)
    begin = archives.begin(stream_id)
    if upto < begin:
        archives.refuse(stream_id, upto)
    found = snapshot_store.nearest(stream_id, upto)
    if found is not None and found[1].seq >= begin:
        return Beginning(found[0], found[1].hash)
    return beginning(stream_id)


def newest(stream_id: int) -> Base | None:
    """The base of the newest archive without its rows; None when nothing is archived."""
    archive = archives.newest(stream_id)
    if archive is None:
        return None
    bases = Base.objects.filter(stream_id=stream_id, seq=archive.last_seq).defer("tables")
    found = bases.first()
    if found is None:
        raise UnreadableBase(stream_id, "it is missing")
    return found


def pack(state: ClusterState) -> bytes:
    """Everything of the state that cannot be worked out from the rest; equal states give equal bytes."""
    told = {
        "seq": state.seq,
        "mode": state.mode,
        "gates": list(state.gates.items()),
        "resources": list(state.columns.alloc),
        "nodes": [codec.encode_part(node) for node in state.nodes.values()],
        "pods": [codec.encode_part(pod) for pod in state.pods.values()],
        "namesakes": state.namesakes(),
        "groups": [codec.encode_part(group) for group in state.groups.values()],
        "verdicts": _parts(state.verdicts),
        "turns": _parts(state.turns),
        "homes": _parts(state.homes),
        "lost": _parts(state.lost),
        "zone_of": list(state.zone_of.items()),
        "placed": sorted(state.past.placed.table),
        "closed": _parts(state.past.closed.table),
        "workloads": [codec.encode_part(seen) for seen in state.past.workloads.table.values()],
        "ever_apart": state.ever_apart,
        "records": {kind.__name__: _parts(state.records.of(kind)) for kind in records.KINDS},
    }
    return zlib.compress(orjson.dumps(told))


def unpack(data: bytes) -> ClusterState:
    """The state that was packed. ValueError, LookupError, TypeError or zlib.error for other bytes."""
    told = orjson.loads(zlib.decompress(data))
    state = ClusterState()
    state.seq, state.mode, state.gates = told["seq"], told["mode"], dict(told["gates"])
    state.columns.expect(told["resources"])
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
    for kind in records.KINDS:  # there were none before a base told them
        for record in _objects(kind, told.get("records", {}).get(kind.__name__, [])).values():
            state.records.put(record)
    for uid in told["placed"]:
        state.past.place(uid)
    for key, ended in _objects(Closed, told["closed"]).items():
        state.past.end(key, ended)
    for seen in told["workloads"]:
        state.past.see(codec.decode_part(Workload, seen))
    return state


def _parts(objects: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(key, codec.encode_part(value)) for key, value in objects.items()]


def _objects(kind: type[_Part], told: list[tuple[str, Any]]) -> dict[str, _Part]:
    return {key: codec.decode_part(kind, value) for key, value in told}
