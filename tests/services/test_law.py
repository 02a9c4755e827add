"""Whatever people do, the law holds: members of an enforced group share one domain, and nothing is
over-filled by us.

The machine drives the pure halves of the services on a cluster in memory, as the shells do on the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scheduling.engine import oracle
from scheduling.engine.canary import Canary, CanaryScope, Scope
from scheduling.engine.queues import Queue
from scheduling.engine.reservations import Reservation
from scheduling.engine.state import ClusterState
from scheduling.ledger import fold
from scheduling.ledger.events import DomainLost, Event, PodGroupPlaced, PodGroupUnschedulable
from scheduling.services.canary import (
    CanaryWish,
    approve_events,
    roll_back_events,
    start_events,
    stop_events,
    widen_events,
)
from scheduling.services.deciding import cycle_events
from scheduling.services.members import delete_member_events, end_group_events
from scheduling.services.problems import Refused
from scheduling.services.queueing import define_queue_events, remove_queue_events
from scheduling.services.replaying import replayed
from scheduling.services.reserving import Wish, release_events, reserve_events
from scheduling.services.submitting import MemberTemplate, submit_events
from scheduling.services.switching import cordon_events, gate_events
from scheduling.services.tending import tended
from tests.engine.neighbours import allowed
from tests.services.builders import GPU, RACK, as_recorded, form, gang, members, node, stream, text

NODES = [f"n{number}" for number in range(6)]
GROUPS = [f"g{number}" for number in range(4)]
RACKS = st.sampled_from(["r1", "r2", None])

a_node = st.builds(
    lambda name, rack, gpu, ready: node(name, rack, cpu="4", gpu=gpu, ready=ready),
    st.sampled_from(NODES),
    RACKS,
    st.integers(0, 4),
    st.integers(0, 5).map(bool),
)
a_template = st.builds(
    lambda count, gpu, cpu: MemberTemplate("", count, {"cpu": str(cpu), GPU: str(gpu)}),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(1, 3),
)


HOST = "kubernetes.io/hostname"


def apart(app: str) -> dict[str, Any]:
    selector = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [selector]}}}


some_rules = st.sampled_from([{}, apart("a"), apart("b"), "port"])
"""What members of an imported gang say about other pods: nothing, whom they shun, or a host port."""


def name_of(manifest: Any) -> str:
    return str(manifest["metadata"]["name"])


class Cluster(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stream = stream()
        self.replayed = ClusterState()

    @initialize(nodes=st.lists(a_node, min_size=3, max_size=6, unique_by=name_of))
    def begin(self, nodes: list[Any]) -> None:
        self.stream.import_data(text(*nodes))

    @rule(made=a_node)
    def import_node(self, made: Any) -> None:
        self.stream.import_data(text(made))

    @rule(nodes=st.lists(a_node, min_size=1, max_size=6, unique_by=name_of))
    def import_all_nodes(self, nodes: list[Any]) -> None:
        self.stream.import_data(text(*nodes), frozenset({"Node"}))

    @rule(
        name=st.sampled_from(GROUPS),
        template=a_template,
        short=st.integers(0, 2),
        key=st.sampled_from([RACK, RACK, ""]),
        priority=st.integers(0, 1),
        queue=st.sampled_from(["", "q0", "q1"]),
    )
    def submit(
        self, name: str, template: MemberTemplate, short: int, key: str, priority: int, queue: str
    ) -> None:
        wanted = form(
            name,
            min_count=max(1, template.count - short),
            topology_key=key,
            priority=priority,
            templates=(template,),
            queue=queue,
        )
        self.attempt(lambda: submit_events(self.stream.state, wanted, self.stream.now_ms))

    @rule(
        name=st.sampled_from(["i0", "i1"]),
        count=st.integers(1, 3),
        app=st.sampled_from(["a", "b"]),
        rules=some_rules,
    )
    def import_gang(self, name: str, count: int, app: str, rules: Any) -> None:
        """Members that shun others, hold a host port, or are shunned without saying anything."""
        made = members(name, count, metadata={"labels": {"app": app}})
        for manifest in made:
            if rules == "port":
                manifest["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
            else:
                manifest["spec"] |= rules
        self.stream.import_data(text(gang(name, count), *made))

    @rule(name=st.sampled_from(GROUPS))
    def end(self, name: str) -> None:
        self.attempt(lambda: end_group_events(self.stream.state, f"default/{name}"))

    @rule(data=st.data())
    def delete_member(self, data: st.DataObject) -> None:
        uids = sorted(self.stream.state.pods)
        if uids:
            uid = data.draw(st.sampled_from(uids))
            self.attempt(lambda: delete_member_events(self.stream.state, uid, self.stream.now_ms))

    @rule(name=st.sampled_from(NODES), on=st.booleans())
    def cordon(self, name: str, on: bool) -> None:
        self.attempt(lambda: cordon_events(self.stream.state, name, on))

    @rule(on=st.booleans())
    def switch(self, on: bool) -> None:
        self.attempt(lambda: gate_events(self.stream.state, "TopologyAwareWorkloadScheduling", on))

    @rule(
        groups=st.lists(st.sampled_from([f"default/{name}" for name in GROUPS]), min_size=1, max_size=2),
        whole=st.booleans(),
        limit=st.sampled_from([("pending", 0), ("errors", 0), ("wait_longest", 30_000), ("throughput", 1)]),
        approval=st.sampled_from(["automatic", "ask"]),
        means=st.sampled_from(["scope", "scope", "gate"]),
    )
    def start_canary(
        self, groups: list[str], whole: bool, limit: tuple[str, int], approval: str, means: str
    ) -> None:
        stages = (Scope(groups=tuple(groups)), *([Scope(whole=True)] if whole else []))
        wish = CanaryWish(stages, dict([limit]), 60_000, means, approval)
        self.attempt(lambda: start_events(self.stream.state, wish, self.stream.now_ms))

    @rule(what=st.sampled_from(["approve", "widen", "roll back", "stop"]))
    def decide_on_canary(self, what: str) -> None:
        state, now = self.stream.state, self.stream.now_ms
        name = next(reversed(list(state.records.of(Canary))), "none")
        commands: dict[str, Callable[[], list[Event]]] = {
            "approve": lambda: approve_events(state, name, now),
            "widen": lambda: widen_events(state, name, now),
            "roll back": lambda: roll_back_events(state, name),
            "stop": lambda: stop_events(state, name),
        }
        self.attempt(commands[what])

    @rule(
        holder=st.sampled_from([*GROUPS, "i0"]).map(lambda name: ("group", f"default/{name}"))
        | st.sampled_from([("namespace", "default"), ("namespace", "other"), ("queue", "q0")]),
        rack=st.sampled_from(["r1", "r2"]),
        nodes=st.integers(0, 1),
        gpus=st.integers(1, 3),
        minutes=st.sampled_from([None, 1]),
    )
    def reserve(self, holder: tuple[str, str], rack: str, nodes: int, gpus: int, minutes: int | None) -> None:
        size: dict[str, Any] = {"nodes": nodes} if nodes else {"members": 1, "requests": {GPU: str(gpus)}}
        wish = Wish(RACK, rack, *holder, **size, minutes=minutes)
        self.attempt(lambda: reserve_events(self.stream.state, wish, self.stream.now_ms))

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        names = sorted(self.stream.state.records.of(Reservation))
        if names:
            name = data.draw(st.sampled_from(names))
            self.attempt(lambda: release_events(self.stream.state, name))

    @rule(passes=st.sampled_from([0, 61_000]))
    def tend(self, passes: int) -> None:
        self.stream.now_ms += passes
        self.stream.commit([news.event for news in tended(self.stream.state, self.stream.now_ms)[0]])

    @rule(
        name=st.sampled_from(["q0", "q1"]),
        priority=st.integers(0, 1),
        quota=st.none() | st.integers(0, 6),
        order=st.sampled_from(["strict", "fair"]),
    )
    def define_queue(self, name: str, priority: int, quota: int | None, order: str) -> None:
        queue = Queue(name, priority, quota, order)
        self.attempt(lambda: define_queue_events(self.stream.state, queue))

    @rule(name=st.sampled_from(["q0", "q1"]))
    def remove_queue(self, name: str) -> None:
        self.attempt(lambda: remove_queue_events(self.stream.state, name))

    @rule()
    def cycle(self) -> None:
        self.stream.commit(cycle_events(self.stream.state, self.stream.now_ms))
        again = cycle_events(self.stream.state, self.stream.now_ms)
        assert again == [], "a second cycle on the same facts has no news"

    def attempt(self, events: Any) -> None:
        self.stream.now_ms += 1000
        try:
            self.stream.commit(events())
        except Refused as refused:
            assert all(problem.message for problem in refused.problems)

    @invariant()
    def every_placement_kept_the_law_when_it_was_made(self) -> None:
        """Each is judged on the log before it, so that what happens later cannot excuse or blame it."""
        for seq in range(self.replayed.seq + 1, len(self.stream.events) + 1):
            event = self.stream.events[seq - 1]
            if isinstance(event, PodGroupPlaced):
                self.judge_loss(self.replayed, event)
                self.judge_canary(self.replayed, event)
                key = f"{event.namespace}/{event.name}"
                held = {
                    name: oracle.held(self.replayed, self.replayed.nodes[name], key)
                    for _, _, name in event.assignments
                }
            if isinstance(event, DomainLost):
                labels = {node.label(event.topology_key) for node in self.replayed.nodes.values()}
                assert event.domain not in labels
            fold.apply(self.replayed, event, seq)
            if isinstance(event, PodGroupPlaced):
                self.judge(self.replayed, event)
                self.judge_holds(self.replayed, event, held)
            if isinstance(event, PodGroupUnschedulable) and event.bound < event.need:
                assert event.reason and event.fits < event.need

    def judge_loss(self, state: ClusterState, event: PodGroupPlaced) -> None:
        """No member goes elsewhere while the loss of the domain is open. Here nobody else binds members, but
        nodes may be relabelled under those that are on them.
        """
        lost = state.lost.get(f"{event.namespace}/{event.name}")
        bound = [pod for pod in state.members(f"{event.namespace}/{event.name}") if pod.node]
        if event.enforced and lost is not None and not bound:
            labels = {node.label(event.topology_key) for node in state.nodes.values()}
            assert lost.uid != event.uid or lost.domain in labels

    def judge_canary(self, state: ClusterState, event: PodGroupPlaced) -> None:
        """Held to one domain is whom the gates or a canary hold, and nobody who ran spread when it came."""
        scopes = state.records.of(CanaryScope).values()
        named = any(f"{event.namespace}/{event.name}" in scope.groups for scope in scopes)
        spread = any(event.uid in scope.exempt for scope in scopes)
        held = (all(state.gates.values()) or named) and not spread
        assert event.enforced == (held and event.topology_key != "")

    def judge(self, state: ClusterState, event: PodGroupPlaced) -> None:
        bound = [pod for pod in state.members(f"{event.namespace}/{event.name}") if pod.node]
        assert len(bound) >= event.need and event.assignments
        if event.enforced:
            assert {state.nodes[pod.node].label(event.topology_key) for pod in bound} == {event.domain}
        for uid, _, name in event.assignments:
            taken, free = state.nodes[name], state.free(name)
            assert taken.ready and not taken.unschedulable
            # What facts over-filled before is not ours; a member counts only in what it asks for.
            assert all(free[resource] >= 0 for resource, _ in state.pods[uid].shape.requests)
            others = [
                (pod, state.nodes[pod.node])
                for pod in state.pods.values()
                if pod.uid != uid and pod.node in state.nodes and not pod.finished
            ]
            assert allowed(state.pods[uid], taken, others)

    def judge_holds(self, state: ClusterState, event: PodGroupPlaced, held: dict[str, Counter[str]]) -> None:
        """``held``: for others, by node, before the placement. Nobody takes it, nor more than a quota."""
        asked = set()
        for uid, _, name in event.assignments:
            free = oracle.free(state, state.nodes[name])
            for resource, _ in state.pods[uid].shape.requests:
                asked.add(resource)
                assert free[resource] >= held[name][resource]
        left = oracle.quota_left(state, f"{event.namespace}/{event.name}")
        assert GPU not in asked or left is None or left >= 0

    def teardown(self) -> None:
        """The log tells everything: folded anew it gives the same state, and decided anew the same."""
        state = self.stream.state
        assert (self.replayed.seq, self.replayed.nodes, self.replayed.pods) == (
            state.seq,
            state.nodes,
            state.pods,
        )
        assert (self.replayed.groups, self.replayed.verdicts) == (state.groups, state.verdicts)
        assert (self.replayed.homes, self.replayed.lost) == (state.homes, state.lost)
        for cycle in replayed(ClusterState(), as_recorded(self.stream.events)):
            assert cycle.differences == ()


Cluster.TestCase.settings = settings(max_examples=100, stateful_step_count=25, deadline=None)
test_services_keep_the_law = Cluster.TestCase
