"""Which groups a cycle decides: none too few in any history, and not simply all."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from scheduling.engine.decide import decide
from scheduling.engine.model import TAS_GATES, Eligibility, Node, Pod, PodGroup, Shape, Taint, Toleration
from scheduling.engine.queue import waiting
from scheduling.engine.queues import Queue
from scheduling.engine.reservations import Reservation
from scheduling.engine.state import ClusterState
from scheduling.ledger import events as e
from scheduling.ledger import fold
from scheduling.ledger.store import GENESIS, Recorded
from scheduling.services.deciding import Told, decided
from scheduling.services.waking import Due, Looked, due, reads_from

RACK, ZONE, GPU = "rack", "zone", "nvidia.com/gpu"
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


class HeldStory(Story):
    """With reservations, queues and quotas."""

    QUEUES = ("p", "q")

    def some_node(self, name: str, uid: str = "") -> Node:
        made = super().some_node(name, uid)
        amounts = dict(made.allocatable) | {GPU: 3}
        return replace(made, allocatable=tuple(sorted(amounts.items())))

    def happens(self) -> list[e.Event]:
        return self.of_holds() if self.dice.random() < 0.3 else super().happens()

    def submitted(self) -> list[e.Event]:
        gpus = self.dice.choice([0, 1, 2])
        queue = self.dice.choice(["", *self.QUEUES])
        return [
            e.PodGroupCreated(replace(event.group, queue=queue))
            if isinstance(event, e.PodGroupCreated)
            else e.PodAdded(self.with_gpus(event.pod, gpus))
            if isinstance(event, e.PodAdded)
            else event
            for event in super().submitted()
        ]

    def with_gpus(self, one: Pod, gpus: int) -> Pod:
        requests = dict(one.shape.requests) | ({GPU: gpus} if gpus else {})
        return replace(one, shape=replace(one.shape, requests=tuple(sorted(requests.items()))))

    def of_holds(self) -> list[e.Event]:
        pick, state = self.dice.choice, self.log.state
        what = pick(["reserve", "reserve", "release", "define", "undefine", "move", "move"])
        held = list(state.records.of(Reservation).values())
        if what == "reserve" and len(held) < 3:
            kind, holder = pick([("group", f"ml/{pick(self.GROUPS)}"), ("namespace", "ml"), ("queue", "q")])
            some = (("cpu", 1000 * pick([1, 2])), (GPU, pick([1, 2])), ("pods", 20))
            names = sorted(self.dice.sample(self.NODES, pick([1, 2])))
            amounts = tuple((name, some) for name in names)
            made = Reservation(f"r-{self.uid()}", RACK, "r1", kind, holder, amounts, None, state.seq + 1)
            return [e.ReservationMade(made)]
        if what == "release" and held:
            old = pick(held)
            about = (old.name, RACK, "r1", old.holder_kind, old.holder, old.nodes)
            return [e.ReservationReleased(*about, "released")]
        if what == "define":
            order = pick(["fair", "strict"])
            quota = pick([2, 3, 5] if order == "fair" else [None, 0, 2, 3, 5])
            return [e.QueueDefined(Queue(pick(self.QUEUES), pick([0, 0, 1]), quota, order))]
        if what == "undefine" and state.records.of(Queue):
            return [e.QueueRemoved(pick(sorted(state.records.of(Queue))))]
        old_group = state.groups.get(f"ml/{pick(self.GROUPS)}")
        if what == "move" and old_group is not None:
            queue = pick([name for name in ("", *self.QUEUES) if name != old_group.queue])
            return [update(old_group, queue=queue)]
        return []


def placements(told: list[Told]) -> list[e.Event]:
    return [one.event for one in told if isinstance(one.event, e.PodGroupPlaced)]


@pytest.mark.parametrize("kind", [Story, HeldStory])
@pytest.mark.parametrize("seed", range(8))
def test_after_any_history_deciding_the_woken_groups_places_what_deciding_all_places(
    seed: int, kind: type[Story]
) -> None:
    skipped = placed = rested = 0
    for number in range(12):
        story = kind(1000 * seed + number)
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


def would_be_placed(state: ClusterState, key: str) -> bool:
    decision = decide(state, key)
    return decision.placed and decision.assignments != ()


@pytest.mark.parametrize("seed", range(4))
def test_after_any_history_the_winner_named_is_the_one_that_took_the_room(seed: int) -> None:
    named = unnamed = 0
    for number in range(25):
        story = Story(2000 * seed + number)
        log = story.log
        for _ in range(60):
            log.commit(*story.happens())
            log.now += 60_000
            if story.dice.random() < 0.7:
                continue
            step = log.state.fork()
            start, states = step, {}
            for told in log.cycle():
                states[step.seq] = step
                step = step.fork()
                fold.apply(step, told.event, step.seq + 1)
                if not isinstance(told.event, e.PodGroupUnschedulable):
                    continue
                key, lost_to = f"ml/{told.event.name}", told.event.lost_to
                if lost_to is not None:
                    winner = log.recorded[lost_to.seq - 1].event
                    assert isinstance(winner, e.PodGroupPlaced) and f"ml/{winner.name}" == lost_to.key != key
                    assert would_be_placed(states[lost_to.seq - 1], key)
                    assert not would_be_placed(states.get(lost_to.seq, step), key)
                    named += 1
                elif not any(f"ml/{one.event.name}" == key for one in placed_by(log, start)):
                    assert not would_be_placed(start, key), "it lost its room to somebody"
                    unnamed += 1
    assert named > 2 and unnamed > 20, "a history in which nothing happens proves nothing"


def placed_by(log: Log, start: ClusterState) -> list[Recorded]:
    return [item for item in log.recorded[start.seq :] if isinstance(item.event, e.PodGroupPlaced)]


@pytest.mark.parametrize("kind", [Story, HeldStory])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_log_and_the_same_times_give_the_same_cycles(seed: int, kind: type[Story]) -> None:
    first, second = kind(seed), kind(seed)
    for _ in range(60):
        for story in (first, second):
            story.log.commit(*story.happens())
            story.log.now += story.dice.choice([0, 700])
        assert first.log.cycle() == second.log.cycle()
    assert first.log.recorded == second.log.recorded
    assert first.log.state.turns == second.log.state.turns


# --- what wakes, and what is told of it


def refusal(told: list[Told]) -> e.PodGroupUnschedulable:
    (one,) = [one.event for one in told if isinstance(one.event, e.PodGroupUnschedulable)]
    return one


def test_a_decision_names_the_event_that_woke_its_group() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=2, unschedulable=True)), *group("g", 2))
    log.cycle()
    log.rest()
    log.commit(e.NodeAdded(node("n2", "r2", cpu=0)), update(log.state.nodes["n1"], unschedulable=False))
    uncordoned = log.state.seq
    log.commit(e.NodeAdded(node("n3", None)))
    (told,) = log.cycle()
    assert isinstance(told.event, e.PodGroupPlaced) and told.cause == uncordoned - 1, (
        "the first that could help: a node that joins an empty rack might"
    )
    assert log.state.turns["ml/g"].cause == told.cause


def test_an_event_that_cannot_help_decides_nothing() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=1)), *group("g", 2))
    assert refusal(log.cycle()).reason == "never_fits"
    log.rest()
    log.commit(e.NodeAdded(node("n2", None)), e.PodAdded(pod("stranger", node="n1")))
    log.commit(update(log.state.nodes["n1"], unschedulable=True), *group("h", 9, 1))
    assert set(log.due().causes) == {"ml/h"}


def test_a_quorum_that_is_completed_is_woken_by_the_new_member() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=4)), *group("g", 3, 2))
    log.cycle()
    log.commit(e.PodAdded(pod("stranger", node="n1")))
    log.commit(e.PodAdded(pod("g-9", "g")))
    (told,) = log.cycle()
    assert isinstance(told.event, e.PodGroupPlaced) and told.cause == log.state.seq - 1


def test_a_min_count_that_is_lowered_wakes_the_group() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=1)), *group("g", 2))
    log.cycle()
    log.rest()
    log.commit(update(log.state.groups["ml/g"], min_count=1))
    told = log.cycle()
    assert len(placements(told)) == 1 and told[0].cause is not None


def test_the_end_of_a_pod_elsewhere_wakes_only_who_may_use_its_node() -> None:
    log = Log(
        e.NodeAdded(node("n1", cpu=2)),
        e.NodeAdded(node("n2", "r2", cpu=2, taints=(TAINT,))),
        *(e.PodAdded(pod(f"s{name}", cpu=2, node=f"n{name}", phase="Running")) for name in (1, 2)),
        *group("g", 2),
        *group("h", 2, eligibility=TOLERANT),
    )
    log.cycle()
    log.rest()
    log.commit(update(log.state.pods["uid-s2"], phase="Succeeded"))
    assert log.due().causes == {"ml/h": log.state.seq}


def test_taking_a_node_of_a_bound_member_away_is_told_at_once() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=2)), *group("g", 1, 3))
    assert refusal(log.cycle()).reason == "sticky_domain"
    log.rest()
    log.commit(e.NodeRemoved("n1", "uid-n1"))
    removal = log.state.seq
    lost, told = log.cycle()
    assert isinstance(lost.event, e.DomainLost) and lost.cause == removal
    assert isinstance(told.event, e.PodGroupConflicted) and told.cause == removal


def test_a_newer_pod_that_gives_its_name_back_wakes_the_group_of_the_older() -> None:
    log = Log(e.NodeAdded(node("n1")), *group("g", 2, 1), e.PodAdded(pod("x", "g")))
    log.commit(e.PodAdded(pod("x", "other", uid="newer", created=1)))
    log.cycle()
    assert log.state.verdicts["ml/g"].verdict == "held"
    log.commit(removed(log.state.pods["newer"]))
    assert log.due().causes["ml/g"] == log.state.seq


def test_in_an_observed_cluster_every_group_is_decided_whatever_happened() -> None:
    log = Log(
        e.ClusterModeChanged("observed"), e.NodeAdded(node("n1", cpu=2)), *group("g", 2), *group("h", 2)
    )
    assert len(log.cycle()) == 2
    log.commit(e.NodeAdded(node("n9", None)))
    assert log.due().causes == dict.fromkeys(("ml/g", "ml/h"), log.state.seq)
    assert log.cycle() == []


# --- rest


def test_after_a_failed_attempt_even_a_sure_help_waits_for_the_end_of_the_rest() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=2, unschedulable=True)), *group("g", 2))
    log.cycle()
    log.now += 400
    log.commit(update(log.state.nodes["n1"], unschedulable=False))
    help_came = log.state.seq
    assert log.due() == Due({}, {"ml/g": START + 1000})
    assert log.cycle() == []
    log.now = START + 999
    assert log.cycle() == []
    log.now = START + 1000
    (told,) = log.cycle()
    assert isinstance(told.event, e.PodGroupPlaced) and told.cause == help_came, (
        "it is remembered who woke it"
    )


def test_the_first_attempt_is_immediate_and_so_is_one_long_after_a_failure() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=2)), *group("g", 2))
    assert len(placements(log.cycle())) == 1
    log = Log(e.NodeAdded(node("n1", cpu=1)), *group("g", 2))
    log.cycle()
    log.rest()
    log.commit(update(log.state.nodes["n1"], allocatable=(("cpu", 2000), ("pods", 9))))
    assert len(placements(log.cycle())) == 1


def test_attempts_are_counted_until_the_group_is_placed_and_by_generation() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=1)), *group("g", 4))
    for cpu in (2, 3):
        log.cycle()
        log.rest()
        log.commit(update(log.state.nodes["n1"], allocatable=(("cpu", cpu * 1000), ("pods", 9))))
    log.cycle()
    turn = log.state.turns["ml/g"]
    assert (turn.attempts, turn.rests_until - turn.failed_at) == (3, 4000)
    again = e.PodGroupCreated(gang("g", 4, uid="second", generation=2))
    log.commit(e.PodGroupClosed("ml", "g", "uid-g", 1, "superseded"), again)
    assert "ml/g" not in log.state.turns
    assert "ml/g" in log.due().causes, "another generation begins anew"
    log.commit(update(log.state.nodes["n1"], allocatable=(("cpu", 4000), ("pods", 9))))
    assert len(placements(log.cycle())) == 1 and log.state.turns["ml/g"].attempts == 0


def test_a_group_that_is_held_has_made_no_attempt() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=4)), *group("g", 3, 2))
    log.cycle()
    assert (log.state.turns["ml/g"].attempts, log.state.turns["ml/g"].rests_until) == (0, 0)


# --- who took the room


def test_a_group_that_lost_its_room_in_the_cycle_names_the_winner() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=2)), e.NodeAdded(node("n2", "r2", cpu=2)))
    log.commit(*group("a", 2), *group("b", 2), *group("c", 2), *group("d", 3))
    told = log.cycle()
    seqs = {item.event.name: item.seq for item in log.recorded if isinstance(item.event, e.PodGroupPlaced)}
    lost = {
        one.event.name: one.event.lost_to for one in told if isinstance(one.event, e.PodGroupUnschedulable)
    }
    assert lost["d"] is None, "it would not have fitted before either"
    assert (lost["c"].key, lost["c"].seq) == ("ml/b", seqs["b"]), "after a there was still room"


def test_the_loser_is_told_though_verdict_and_numbers_are_what_they_were() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=2)), e.PodAdded(pod("s", cpu=2, node="n1")), *group("b", 2))
    assert refusal(log.cycle()).lost_to is None
    log.rest()
    log.commit(removed(log.state.pods["uid-s"]), *group("a", 2))
    first, second = log.cycle()
    assert isinstance(first.event, e.PodGroupPlaced) and first.event.name == "a"
    assert isinstance(second.event, e.PodGroupUnschedulable) and second.event.lost_to is not None
    assert (second.event.lost_to.key, second.event.lost_to.seq) == ("ml/a", log.state.seq - 1)
    log.rest()
    assert list(decided(log.state, log.now)) == [], "and it is told once"


def test_left_over_members_lose_room_to_others_and_never_to_their_own_group() -> None:
    log = Log(e.NodeAdded(node("n1", cpu=2)), *group("a", 1, 3))
    assert refusal(log.cycle()).lost_to is None


def test_a_forecast_that_takes_room_is_named_too_and_once() -> None:
    log = Log(
        e.ClusterModeChanged("observed"), e.NodeAdded(node("n1", cpu=2)), *group("a", 2), *group("b", 2)
    )
    told = log.cycle()
    lost_to = refusal(told).lost_to
    assert lost_to is not None and (lost_to.key, lost_to.seq) == ("ml/a", log.state.seq - 1)
    assert log.cycle() == []
