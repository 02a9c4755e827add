"""Which groups a cycle decides: none too few in any history, and not simply all."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from scheduling.engine.model import TAS_GATES, Eligibility, Node, Pod, PodGroup, Shape, Taint, Toleration
from scheduling.engine.queue import waiting
from scheduling.engine.state import ClusterState
from scheduling.ledger import events as e
from scheduling.ledger import fold
from scheduling.ledger.store import GENESIS, Recorded
from scheduling.services.deciding import Told, decided
from scheduling.services.waking import Due, Looked, due, reads_from

RACK, ZONE = "rack", "zone"
TAINT = Taint("dedicated", "x", "NoSchedule")
TOLERANT = Eligibility(tolerations=(Toleration("dedicated", "Exists", "", ""),))
SELECTIVE = Eligibility(node_selector=((ZONE, "z1"),))
START = 1_800_000_000_000


class Log:
    """A log in memory with cycles that decide what is due, and remember how far they looked."""

    def __init__(self, *events: e.Event) -> None:
        self.state = ClusterState()
        self.recorded: list[Recorded] = []
        self.looked = Looked(0, 0)
        self.now = START
        self.commit(e.ClusterRegistered("c", "simulated", tuple((gate, True) for gate in TAS_GATES)))
        self.commit(*events)

    def commit(self, *events: e.Event, causes: tuple[int | None, ...] = ()) -> None:
        for number, event in enumerate(events):
            cause = causes[number] if causes else None
            item = Recorded(
                1, self.state.seq + 1, event, "t", "t", cause, self.now, self.now, GENESIS, GENESIS
            )
            fold.apply(self.state, item)
            self.recorded.append(item)

    def due(self) -> Due:
        return due(self.state, self.recorded[reads_from(self.state, self.looked) :], self.looked, self.now)

    def cycle(self) -> list[Told]:
        told = list(decided(self.state, self.now, due=self.due().causes))
        self.commit(*(one.event for one in told), causes=tuple(one.cause for one in told))
        self.looked = Looked(self.state.seq, self.now)
        return told

    def rest(self) -> None:
        """Let all rests end."""
        self.now += 60_000


def node(name: str, rack: str | None = "r1", cpu: int = 2, **more: Any) -> Node:
    labels = {ZONE: more.pop("zone", "z1")} | ({} if rack is None else {RACK: rack})
    more.setdefault("uid", f"uid-{name}")
    amounts = (("cpu", cpu * 1000), ("pods", 20))
    return Node(name, labels=tuple(sorted(labels.items())), allocatable=amounts, **more)


def pod(name: str, group: str = "", cpu: int = 1, **more: Any) -> Pod:
    what = Shape((("cpu", cpu * 1000), ("pods", 1)), more.pop("eligibility", Eligibility()))
    more.setdefault("uid", f"uid-{name}")
    return Pod("ml", name, shape=more.pop("shape", what), group=group, **more)


def gang(name: str, need: int, key: str = RACK, **more: Any) -> PodGroup:
    more.setdefault("uid", f"uid-{name}")
    return PodGroup("ml", name, min_count=need, topology_key=key, **more)


def group(name: str, need: int, count: int | None = None, cpu: int = 1, **more: Any) -> list[e.Event]:
    pods = [
        e.PodAdded(pod(f"{name}-{number}", name, cpu, **more))
        for number in range(need if count is None else count)
    ]
    return [e.PodGroupCreated(gang(name, need)), *pods]


def update(old: Any, **changes: Any) -> e.Event:
    kind = (
        e.NodeUpdated
        if isinstance(old, Node)
        else e.PodUpdated
        if isinstance(old, Pod)
        else e.PodGroupUpdated
    )
    event = kind.between(old, replace(old, **changes))
    assert event is not None
    return event


def removed(what: Pod) -> e.Event:
    return e.PodRemoved(what.namespace, what.name, what.uid, what.node, what.group, "deleted")


# --- any history


class Story:
    """Random events that the state before allows, sensible or not, on a small and crowded cluster."""

    NODES = ("n1", "n2", "n3", "n4", "n5")
    GROUPS = ("a", "b", "c", "d")

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.made = 0
        self.log = Log(*(e.NodeAdded(self.some_node(name)) for name in self.NODES[:4]))

    def uid(self) -> str:
        self.made += 1
        return f"uid-{self.made}"

    def some_node(self, name: str, uid: str = "") -> Node:
        pick = self.dice.choice
        return node(
            name,
            pick(["r1", "r1", "r1", "r2", "r2", "r2", "", None]),
            pick([0, 1, 2, 3, 4]),
            zone=pick(["z1", "z1", "z2"]),
            uid=uid or self.uid(),
            taints=pick([(), (), (), (TAINT,)]),
            unschedulable=self.dice.random() < 0.1,
            ready=self.dice.random() > 0.1,
        )

    def some_pod(self) -> Pod:
        pick = self.dice.choice
        name = pick(["", *self.GROUPS, *self.GROUPS])
        on = pick(self.NODES) if not name or self.dice.random() < 0.05 else ""
        return pod(
            f"{name}-{self.dice.randint(0, 5)}",
            name,
            pick([0, 1, 1, 2]),
            uid=self.uid(),
            node=on,
            eligibility=pick([Eligibility(), Eligibility(), TOLERANT, SELECTIVE]),
            priority=pick([0, 0, 5]),
            gated=self.dice.random() < 0.1,
            scheduler_name=pick(["s"] * 9 + ["other"]),
            created=self.made,
        )

    def happens(self) -> list[e.Event]:
        what = [self.of_node, self.of_pod, self.of_group, self.of_gates, self.submitted, self.ended]
        return self.dice.choices(what, weights=[6, 4, 2, 1, 5, 3])[0]()

    def submitted(self) -> list[e.Event]:
        name = self.dice.choice(self.GROUPS)
        if f"ml/{name}" in self.log.state.groups:
            return []
        need, cpu = self.dice.randint(1, 4), self.dice.choice([1, 1, 2])
        key = self.dice.choice([RACK, RACK, RACK, ZONE, ""])
        made: list[e.Event] = [e.PodGroupCreated(gang(name, need, key, uid=self.uid()))]
        return made + [
            e.PodAdded(pod(f"{name}-{number}", name, cpu, uid=self.uid(), created=self.made))
            for number in range(need + self.dice.randint(0, 1))
        ]

    def ended(self) -> list[e.Event]:
        name = self.dice.choice(self.GROUPS)
        old = self.log.state.groups.get(f"ml/{name}")
        closed = [e.PodGroupClosed("ml", name, old.uid, old.generation, "ended")] if old else []
        return [*closed, *(removed(member) for member in self.log.state.pods_naming(f"ml/{name}"))]

    def of_gates(self) -> list[e.Event]:
        return [e.FeatureGateChanged(TAS_GATES[0], self.dice.random() > 0.3)]

    def of_node(self) -> list[e.Event]:
        name = self.dice.choice(self.NODES)
        old = self.log.state.nodes.get(name)
        if old is None:
            return [e.NodeAdded(self.some_node(name))]
        if self.dice.random() < 0.15:
            return [e.NodeRemoved(name, old.uid)]
        other = self.some_node(name, old.uid)
        field = self.dice.choice(
            ["labels", "taints", "unschedulable", "unschedulable", "ready", "allocatable"]
        )
        changed = e.NodeUpdated.between(old, replace(old, **{field: getattr(other, field)}))
        return [changed] if changed else []

    def of_pod(self) -> list[e.Event]:
        pods = self.log.state.pods
        if len(pods) < 6 or self.dice.random() < 0.4:
            return [e.PodAdded(self.some_pod())]
        old = pods[self.dice.choice(sorted(pods))]
        if self.dice.random() < 0.4:
            return [removed(old)]
        field, values = self.dice.choice(
            [
                ("phase", ("Pending", "Running", "Succeeded", "Failed")),
                ("node", ("", *self.NODES)),
                ("group", self.GROUPS),
                ("gated", (False, True)),
                ("terminating", (False, True)),
                ("scheduler_name", ("s",)),
                ("shape", (self.some_pod().shape,)),
            ]
        )
        changed = e.PodUpdated.between(old, replace(old, **{field: self.dice.choice(values)}))
        return [changed] if changed else []

    def of_group(self) -> list[e.Event]:
        name = self.dice.choice(self.GROUPS)
        old = self.log.state.groups.get(f"ml/{name}")
        if old is None:
            key = self.dice.choice([RACK, RACK, RACK, ZONE, ""])
            return [e.PodGroupCreated(gang(name, self.dice.randint(1, 4), key, uid=self.uid()))]
        if self.dice.random() < 0.4:
            return [e.PodGroupClosed("ml", name, old.uid, old.generation, "ended")]
        changed = e.PodGroupUpdated.between(old, replace(old, min_count=self.dice.randint(1, 4)))
        return [changed] if changed else []


def placements(told: list[Told]) -> list[e.Event]:
    return [one.event for one in told if isinstance(one.event, e.PodGroupPlaced)]


@pytest.mark.parametrize("seed", range(8))
def test_after_any_history_deciding_the_woken_groups_places_what_deciding_all_places(seed: int) -> None:
    skipped = placed = rested = 0
    for number in range(12):
        story = Story(1000 * seed + number)
        log = story.log
        for _ in range(60):
            log.commit(*story.happens())
            log.now += story.dice.choice([0, 100, 3_000])
            if story.dice.random() < 0.5:
                continue
            found = log.due()
            woken = found.causes | dict.fromkeys(found.resting)
            everybody = waiting(log.state)
            skipped += len(everybody) - len(woken)
            rested += len(found.resting)
            all_of_them = placements(list(decided(log.state, log.now)))
            assert placements(list(decided(log.state, log.now, due=woken))) == all_of_them
            assert all(cause is None or cause <= log.state.seq for cause in found.causes.values())
            placed += len(placements(log.cycle()))
    assert min(placed, rested) > 10 and skipped > 100, "a history in which nothing happens proves nothing"


@pytest.mark.parametrize("seed", range(4))
def test_the_same_log_and_the_same_times_give_the_same_cycles(seed: int) -> None:
    first, second = Story(seed), Story(seed)
    for _ in range(60):
        for story in (first, second):
            story.log.commit(*story.happens())
            story.log.now += story.dice.choice([0, 700])
        assert first.log.cycle() == second.log.cycle()
    assert first.log.recorded == second.log.recorded
    assert first.log.state.turns == second.log.state.turns
