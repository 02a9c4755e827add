"""What commands must know of the past and the engine need not: who bound a pod, which generations are over.
Pure.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import orjson

from scheduling.engine.model import Workload
from scheduling.ledger import codec
from scheduling.ledger.events import Event, PodGroupClosed, PodGroupPlaced, PodRemoved, WorkloadAdded

TYPES = (PodGroupClosed, PodGroupPlaced, PodRemoved, WorkloadAdded)
"""The only events that it is made of."""


VERSION = 1
"""Of what is kept of it with archived events; another one when it is made of other events."""


@dataclass(frozen=True, slots=True)
class Closed:
    generation: int
    uid: str


@dataclass(slots=True)
class Past:
    """Folded from the log like the state. ``placed``: uids of pods that our own cycles put on their node.

    ``closed``: the last generation that ended, by group key. ``workloads``: as last seen, by key.
    """

    seq: int = 0
    placed: set[str] = field(default_factory=set)
    closed: dict[str, Closed] = field(default_factory=dict)
    workloads: dict[str, Workload] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Events of other types change nothing."""
        if isinstance(event, PodGroupPlaced):
            self.placed.update(uid for uid, _, _ in event.assignments)
        elif isinstance(event, PodRemoved):
            self.placed.discard(event.uid)
        elif isinstance(event, PodGroupClosed):
            self.closed[f"{event.namespace}/{event.name}"] = Closed(event.generation, event.uid)
        elif isinstance(event, WorkloadAdded):
            self.workloads[event.workload.key] = event.workload


def pack(past: Past) -> bytes:
    """As bytes; equal pasts give equal ones."""
    return zlib.compress(
        orjson.dumps(
            {
                "seq": past.seq,
                "placed": sorted(past.placed),
                "closed": [[key, ended.generation, ended.uid] for key, ended in sorted(past.closed.items())],
                "workloads": [codec.encode_part(seen) for _, seen in sorted(past.workloads.items())],
            }
        )
    )


def unpack(data: bytes) -> Past:
    """The past of such bytes."""
    told = orjson.loads(zlib.decompress(data))
    workloads = [codec.decode_part(Workload, seen) for seen in told["workloads"]]
    return Past(
        told["seq"],
        set(told["placed"]),
        {key: Closed(generation, uid) for key, generation, uid in told["closed"]},
        {seen.key: seen for seen in workloads},
    )
