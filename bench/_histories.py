"""The life of a cluster, commit by commit, as the console would have written it: gangs submitted, decided by
the engine, run and ended, members deleted, nodes cordoned. The same seed tells the same life.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from scheduling.engine.decide import decide
from scheduling.engine.model import TAS_GATES, Eligibility, Node, Pod, PodGroup, Shape, Toleration
from scheduling.engine.state import ClusterState
from scheduling.ledger import events as e
from scheduling.ledger import fold
from scheduling.ledger.events import Event
from scheduling.services.deciding import decision_event
from scheduling.services.members import delete_member_events, end_group_events, minted_uid
from scheduling.services.switching import cordon_events

RACK, GPU = "topology.example.com/rack", "nvidia.com/gpu"
GIB = 1 << 30
START = 1_760_000_000_000
"""Milliseconds: when the cluster was registered."""
TICK = 30_000
"""Milliseconds between two cycles."""
RETRIED = 3
"""Waiting gangs that a cycle tries again."""

NAMESPACES = tuple(f"team-{team:02}" for team in range(24))
PEOPLE = tuple(
    f"user:{name}" for name in ("ada", "grace", "alan", "barbara", "edsger", "frances", "tony", "leslie")
)
ALLOCATABLE = (("cpu", 192_000), ("memory", 2048 * GIB), (GPU, 8), ("pods", 110))
TOLERATIONS = (Toleration("nvidia.com/gpu", "Exists", "", "NoSchedule"),)
PRODUCT = "nvidia.com/gpu.product"


@dataclass(frozen=True, slots=True)
class Commit:
    """What one command or one cycle appends. ``causes``: one for each event."""

    events: tuple[Event, ...]
    causes: tuple[int | None, ...]
    actor: str
    at: int


def node(number: int, rack: int) -> Node:
    """``rack``: nodes in one."""
    place = number // rack
    labels = {
        "kubernetes.io/hostname": f"node-{number:05}",
        "topology.kubernetes.io/zone": f"zone-{place % 3}",
        PRODUCT: "H100",
        RACK: f"rack-{place:04}",
    }
    return Node(
        f"node-{number:05}",
        f"00000000-0000-4000-8000-{number:012}",
        tuple(sorted(labels.items())),
        allocatable=ALLOCATABLE,
    )


class Life:
    """``state``: after the last commit told. ``rack``: nodes in a rack; ``use``: share of GPUs from which on
    no gang is submitted.
    """

    def __init__(
        self, name: str = "bench", nodes: int = 480, rack: int = 16, *, seed: int = 7, use: float = 0.9
    ) -> None:
        self.name = name
        self.state = ClusterState()
        self.random = Random(seed)
        self.nodes, self.rack = nodes, rack
        self.gpus = int(nodes * 8 * use)
        self.asked = 0
        self.gangs: list[tuple[str, int]] = []
        self.number = 0
        self.waiting: dict[str, None] = {}
        self.at = START

    def commits(self) -> Iterator[Commit]:
        """Never ends."""
        yield self.beginning()
        while True:
            self.at += TICK
            woken: dict[str, int | None] = {}
            yield from self.happenings(woken)
            yield from self.cycle(woken)

    def beginning(self) -> Commit:
        gates = tuple((gate, True) for gate in TAS_GATES)
        added = [e.NodeAdded(node(number, self.rack)) for number in range(self.nodes)]
        imported = e.SnapshotImported("5a" * 32, (), (("Node", self.nodes),), ())
        register = e.ClusterRegistered(self.name, "simulated", gates, "v1.36.2")
        return self.commit([register, *added, imported], "user:ada")

    def happenings(self, woken: dict[str, int | None]) -> Iterator[Commit]:
        """What people do between two cycles. ``woken``: group -> what wakes it, for the next cycle."""
        draw = self.random.random
        while self.asked < self.gpus:
            yield self.submit(woken)
        for _ in range(3):
            yield self.end(self.random.randrange(len(self.gangs)))
        if draw() < 0.5:
            yield self.delete(woken)
        if draw() < 0.2:
            yield self.cordon()
        if draw() < 0.002:
            imported = e.SnapshotImported(
                self.random.randbytes(32).hex(), ("Node",), (("Node", self.nodes),), ()
            )
            yield self.commit([imported], "user:ada")

    def submit(self, woken: dict[str, int | None]) -> Commit:
        self.number += 1
        draw = self.random
        namespace, name = draw.choice(NAMESPACES), f"train-llm-{self.number:06}"
        members, gpus = draw.choice((4, 8, 8, 12, 16)), draw.choice((1, 2, 4, 8, 8))
        asked = tuple(
            sorted({"cpu": 22_000 * gpus, "memory": 240 * GIB * gpus, GPU: gpus, "pods": 1}.items())
        )
        shape = Shape(asked, Eligibility(((PRODUCT, "H100"),), None, TOLERATIONS))
        seq = self.state.seq
        priority = draw.choice((0, 0, 0, 10))
        group = PodGroup(
            namespace, name, minted_uid(seq, "podgroup", namespace, name), "gang", members, RACK,
            priority=priority, created=self.at,
        )  # fmt: skip
        labels = (
            ("app.kubernetes.io/name", name),
            ("training.example.com/job", name),
            ("training.example.com/replica-type", "worker"),
        )
        pods = [
            Pod(namespace, f"{name}-{index}", minted_uid(seq, "pod", namespace, f"{name}-{index}"), shape,
                group=name, priority=priority, labels=labels, created=self.at)
            for index in range(members)
        ]  # fmt: skip
        self.asked += members * gpus
        self.gangs.append((group.key, members * gpus))
        commit = self.commit([e.PodGroupCreated(group), *map(e.PodAdded, pods)], self.person())
        woken[group.key] = self.state.seq
        return commit

    def end(self, place: int) -> Commit:
        key, gpus = self.gangs[place]
        self.gangs[place] = self.gangs[-1]
        self.gangs.pop()
        self.asked -= gpus
        self.waiting.pop(key, None)
        return self.commit(end_group_events(self.state, key), self.person())

    def delete(self, woken: dict[str, int | None]) -> Commit:
        key = self.random.choice(self.gangs)[0]
        pod = self.random.choice(self.state.members(key))
        commit = self.commit(delete_member_events(self.state, pod.uid, self.at), self.person())
        woken[key] = self.state.seq
        return commit

    def cordon(self) -> Commit:
        name = f"node-{self.random.randrange(self.nodes):05}"
        return self.commit(
            cordon_events(self.state, name, not self.state.nodes[name].unschedulable), self.person()
        )

    def cycle(self, woken: dict[str, int | None]) -> Iterator[Commit]:
        """Groups that were woken, then the oldest of those that wait: room may have come back for them. A
        group that is refused again with the same numbers is no news.
        """
        due = {key: cause for key, cause in woken.items() if key in self.state.groups}
        for key in islice(self.waiting, RETRIED):
            due.setdefault(key, self.state.seq)
        told: list[tuple[Event, int | None]] = []
        self.at += 1
        for key, cause in due.items():
            decision = decide(self.state, key)
            before = self.state.verdicts.get(key)
            if before is not None and decision.summary() == before:
                continue
            event = decision_event(self.state, decision)
            self.fold(event)
            told.append((event, cause))
            if decision.placed:
                self.waiting.pop(key, None)
            else:
                self.waiting[key] = None
        if told:
            events, causes = zip(*told, strict=True)
            yield Commit(events, causes, "scheduler", self.at)
        # The kubelets start what was placed, and the next import tells so.
        running = [
            e.PodUpdated(pod.namespace, pod.name, pod.uid, (("phase", "Running"),))
            for event, _ in told
            if isinstance(event, e.PodGroupPlaced)
            for pod in (self.state.pods[uid] for uid, _, _ in event.assignments)
        ]
        if running:
            yield self.commit(running, "import")

    def person(self) -> str:
        return self.random.choice(PEOPLE)

    def commit(self, events: Sequence[Event], actor: str) -> Commit:
        self.at += 1
        for event in events:
            self.fold(event)
        return Commit(tuple(events), (None,) * len(events), actor, self.at)

    def fold(self, event: Event) -> None:
        fold.apply(self.state, event, self.state.seq + 1, self.at)


def submissions(count: int, seed: int) -> list[Event]:
    """As many events of gangs that are submitted, each gang whole: about 550 bytes an event."""
    life = Life(seed=seed)
    events: list[Event] = []
    while len(events) < count:
        events += life.submit({}).events
    return events[:count]
