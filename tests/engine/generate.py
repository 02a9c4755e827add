"""Generated domains with a group of several shapes that nearly fills them, as counted objects.

``random_case``: other pods left room that is drawn, and the group asks for 60 to 100% of it. ``tight_case``:
half of them are planted (a hidden packing that leaves no room for one member more, sometimes with one member
added), the others ask for 88 to 100%.
"""

from dataclasses import dataclass
from random import Random

from scheduling.engine.model import Eligibility, Node, Pod, PodGroup, Shape, Toleration
from scheduling.engine.state import ClusterState
from tests.engine.builders import DEVICE_TAINT, GPU, RACK, cluster, gang

GIB = 1 << 30
NODE = {"cpu": 96_000, "memory": 768 * GIB, GPU: 8, "pods": 110}
TOLERANT = Eligibility(tolerations=(Toleration(DEVICE_TAINT.key, "Exists", "", ""),))

Amounts = dict[str, int]


@dataclass(frozen=True)
class Case:
    """``rooms``: what each node has free; ``tainted``: which nodes only tolerant kinds may use; ``asks`` and
    ``counts``: what a member of each kind requests and how many there are; ``tolerant``: per kind.
    """

    rooms: list[Amounts]
    tainted: list[bool]
    asks: list[Amounts]
    counts: list[int]
    tolerant: list[bool]

    def may(self, kind: int, node: int) -> bool:
        return self.tolerant[kind] or not self.tainted[node]

    def state(self, min_count: int | None = None) -> ClusterState:
        """One rack; ``min_count``: that of the gang ``ml/g``, all its members when None."""
        nodes = [
            Node(
                f"n{number:03}",
                f"node-{number}",
                ((RACK, "r1"),),
                (DEVICE_TAINT,) if tainted else (),
                allocatable=tuple(sorted(room.items())),
            )
            for number, (room, tainted) in enumerate(zip(self.rooms, self.tainted, strict=True))
        ]
        return cluster(nodes, self.group(min_count))

    def group(self, min_count: int | None = None, name: str = "g") -> list[PodGroup | Pod]:
        made: list[PodGroup | Pod] = [gang(name, min_count or sum(self.counts))]
        for kind, count in enumerate(self.counts):
            shape = Shape(
                tuple(sorted((r, a) for r, a in self.asks[kind].items() if a)),
                TOLERANT if self.tolerant[kind] else Eligibility(),
            )
            made += [
                Pod("ml", f"{name}-{kind}-{number}", f"{name}-{kind}-{number}", shape, group=name)
                for number in range(count)
            ]
        return made


def random_case(random: Random, nodes: int, kinds: int, taints: bool = False) -> Case:
    rooms = _rooms(random, nodes, 0.8)
    asks = _kinds(random, kinds)
    return _finish(random, rooms, asks, _share_out(random, rooms, asks, 0.6 + 0.4 * random.random()), taints)


def tight_case(random: Random, nodes: int, kinds: int, taints: bool = False) -> Case:
    while True:
        rooms, asks = _rooms(random, nodes, 0.7), _kinds(random, kinds)
        if random.random() < 0.5:
            counts = _planted(random, rooms, asks)
            if random.random() < 0.3:
                counts[counts.index(max(counts))] += 1
        else:
            counts = _share_out(random, rooms, asks, 0.88 + 0.12 * random.random())
        if all(counts):
            return _finish(random, rooms, asks, counts, taints)


def _finish(
    random: Random, rooms: list[Amounts], asks: list[Amounts], counts: list[int], taints: bool
) -> Case:
    tainted = [taints and random.random() < 0.2 for _ in rooms]
    return Case(rooms, tainted, asks, counts, [random.random() < 0.5 for _ in asks])


def _rooms(random: Random, nodes: int, most_used: float) -> list[Amounts]:
    """Other pods hold devices in powers of two, each with 4 to 12 cores and 32 to 96 GiB."""
    used = random.random() * most_used
    return [_room(random, used) for _ in range(nodes)]


def _room(random: Random, used: float) -> Amounts:
    devices, left = 0, NODE[GPU]
    while left > 0:
        size = min(left, 1 << random.randrange(4))
        devices += size * (random.random() < used)
        left -= size
    cpu, memory = devices * random.randint(4, 12) * 1000, devices * random.randint(32, 96) * GIB
    return {
        "cpu": max(0, NODE["cpu"] - cpu),
        "memory": max(0, NODE["memory"] - memory),
        GPU: NODE[GPU] - devices,
        "pods": NODE["pods"],
    }


def _kinds(random: Random, count: int) -> list[Amounts]:
    """A launcher without devices, and workers with 1 to 5."""
    made = [_ask(random, 0, (8, 48), (32, 256))]
    for devices in range(1, 6):
        made.append(_ask(random, devices, (6 * devices, 12 * devices), (32 * devices, 96 * devices)))
    return random.sample(made, count)


def _ask(random: Random, devices: int, cores: tuple[int, int], gib: tuple[int, int]) -> Amounts:
    return {
        "cpu": random.randint(*cores) * 1000,
        "memory": random.randint(*gib) * GIB,
        GPU: devices,
        "pods": 1,
    }


def _share_out(random: Random, rooms: list[Amounts], asks: list[Amounts], tightness: float) -> list[int]:
    parts = [random.random() + 0.15 for _ in asks]
    counts = []
    for ask, part in zip(asks, parts, strict=True):
        share = tightness * part / sum(parts)
        fits = min(int(sum(room[r] for room in rooms) * share) // a for r, a in ask.items() if a)
        counts.append(max(1, fits))
    if random.random() < 0.4:
        counts[counts.index(min(counts))] = 1
    return counts


def _planted(random: Random, rooms: list[Amounts], asks: list[Amounts]) -> list[int]:
    counts = [0] * len(asks)
    for room in rooms:
        left = dict(room)
        while fitting := [k for k, ask in enumerate(asks) if all(left[r] >= a for r, a in ask.items())]:
            kind = random.choice(fitting)
            counts[kind] += 1
            for resource, amount in asks[kind].items():
                left[resource] -= amount
    return counts
