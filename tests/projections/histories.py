"""Random histories of a small cluster: commits of events that the state before allows, sensible or not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from scheduling.engine.canary import Canary, Scope
from scheduling.engine.model import (
    TAS_GATES,
    Eligibility,
    Node,
    NumaZone,
    Pod,
    PodGroup,
    PodGroupTemplate,
    PodTerm,
    Requirement,
    Shape,
    Taint,
    Toleration,
    Workload,
)
from scheduling.engine.node_types import GroupFit, Growth, NewNodes, NodeType, ScaleUpOption, ScaleUpPlan
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.queues import Queue
from scheduling.engine.reservations import Reservation
from scheduling.engine.state import ClusterState
from scheduling.engine.waits import ACTIONS
from scheduling.ledger import events as e
from scheduling.ledger import fold
from scheduling.ledger.events import Event
from scheduling.services.canary import (
    CanaryWish,
    approve_events,
    roll_back_events,
    start_events,
    stop_events,
    throughput_events,
)
from scheduling.services.deadlines import deadline_events, policy_events
from scheduling.services.generations import NextGeneration, next_generation_events
from scheduling.services.lost_domains import mark_events, take_back_events
from scheduling.services.problems import Refused
from scheduling.services.tending import tended

RACK = "topology.example.com/rack"
ZONES = tuple(
    tuple(NumaZone(f"node-{number}", (("cpu", 4_000),)) for number in range(count)) for count in (1, 2)
)
NODES = ("n1", "n2", "n3", "n4")
GROUPS = ("a", "b")
QUEUES = ("p", "q")
SHAPES = (
    Shape((("cpu", 1_000), ("pods", 1))),
    Shape((("cpu", 2_000), ("nvidia.com/gpu", 2), ("pods", 1))),
    Shape((("cpu", 500), ("pods", 1)), unmodelled=("hostPorts",)),
    Shape(
        (("cpu", 1_000), ("pods", 1)),
        Eligibility(((RACK, "r1"),), None, (Toleration("gpu", "Exists", "", ""),)),
        host_ports=(("TCP", "0.0.0.0", 80),),
    ),
    Shape(
        (("cpu", 500), ("pods", 1)),
        pod_anti_affinity=(PodTerm(RACK, (Requirement("a", "In", ("b",)),)),),
    ),
)
Commit = list[Event]


class Teller:
    """Tells a history: keeps the state so far and draws what happens next."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.state = ClusterState()
        self.made = 0
        self.generations: dict[str, int] = {}

    def pick(self, values: Any) -> Any:
        return self.draw(st.sampled_from(list(values)))

    def uid(self) -> str:
        self.made += 1
        return f"uid-{self.made}"

    def commit(self) -> Commit:
        return [event for _ in range(self.draw(st.integers(1, 4))) for event in self.happening()]

    def happening(self) -> Commit:
        told = self.pick(
            (
                self.node,
                self.node,
                self.pod,
                self.pod,
                self.pod,
                self.group,
                self.decision,
                self.decision,
                self.cluster,
                self.scale_up,
                self.holds,
                self.wait,
                self.canary,
            )
        )()
        for event in told:
            fold.apply(self.state, event, self.state.seq + 1, self.now)
        return list(told)

    @property
    def now(self) -> int:
        """When the next event is recorded."""
        return (self.state.seq + 1) * 1_000

    def wait(self) -> Commit:
        """What follows from waits, or what an operator does about them."""
        if self.draw(st.booleans()):
            return [followed.event for followed in tended(self.state, self.now)[0]]
        key = f"ml/{self.pick(GROUPS)}"
        action = self.pick(ACTIONS)
        later = self.pick((None, 1_000, 5_000))
        wanted = NextGeneration(
            self.pick((None, "", RACK)), self.pick((None, 1, 2)), self.pick(("", "s3://c"))
        )
        command: Callable[[], Commit] = self.pick(
            (
                lambda: deadline_events(self.state, key, later and self.now + later, action, self.now),
                lambda: policy_events(self.state, later, action),
                lambda: next_generation_events(self.state, key, wanted, self.now),
                lambda: mark_events(self.state, RACK, self.pick(("r1", "r2"))),
                lambda: take_back_events(self.state, RACK, self.pick(("r1", "r2"))),
            )
        )
        try:
            return command()
        except Refused:
            return []

    def canary(self) -> Commit:
        """One begins, or somebody says what becomes of one; what follows by itself is told by ``wait``."""
        known = self.state.records.of(Canary)
        name = self.pick(known) if known else "none"
        limits = dict([self.pick((("pending", 0), ("errors", 0), ("wait_longest", 2_000)))])
        stages = (Scope(groups=(f"ml/{self.pick(GROUPS)}",)), Scope(("ml",)), Scope(whole=True))
        wish = CanaryWish(stages[self.pick((0, 1)) :], limits, 3_000, self.pick(("scope", "gate")), "ask")
        command: Callable[[], Commit] = self.pick(
            (
                lambda: start_events(self.state, wish, self.now),
                lambda: start_events(self.state, wish, self.now),
                lambda: approve_events(self.state, name, self.now),
                lambda: roll_back_events(self.state, name),
                lambda: stop_events(self.state, name),
                lambda: throughput_events(self.state, f"ml/{self.pick(GROUPS)}", 1_500, "steps", "t"),
            )
        )
        try:
            return command()
        except Refused:
            return []

    def cluster(self) -> Commit:
        gate = e.FeatureGateChanged(self.pick(TAS_GATES), self.draw(st.booleans()))
        template = PodGroupTemplate("t", "gang", self.draw(st.integers(1, 2)), RACK)
        workload = e.WorkloadAdded(Workload("ml", self.pick("vw"), self.uid(), (template,)))
        imported = e.SnapshotImported("", (), (), ())
        return [self.pick((e.ClusterModeChanged("observed"), gate, imported, workload))]

    def scale_up(self) -> Commit:
        """A type of nodes, or a plan that goes on to its next status."""
        kind = NodeType("big", (("cpu", 8_000),), growth=(Growth(RACK, "r1", 2),), cost=self.pick((None, 5)))
        defined = self.pick((e.NodeTypeDefined(kind), e.NodeTypeRemoved("big")))
        plans = self.state.records.of(ScaleUpPlan)
        if not plans or self.draw(st.booleans()):
            steps, fits = (NewNodes("big", RACK, "r1", 2),), (GroupFit("ml/a", "u", "r1", 2, 0, 2),)
            options = (ScaleUpOption(steps, fits, 10, 0, True),)
            return [defined, e.ScaleUpPlanned(f"scale-up-{self.uid()}", ("ml/a",), options, 1, 5_000)]
        name = self.pick(plans)
        return [
            self.pick(
                (
                    e.ScaleUpApproved(name, 0, 9_000, ("n1",)),
                    e.ScaleUpRejected(name, "dear"),
                    e.ScaleUpExpired(name, "time"),
                    e.ScaleUpCompleted(name, ("n1", "n2")),
                    e.ScaleUpShort(name, "nodes", 2, ("n1",), "", ""),
                )
            )
        ]

    def holds(self) -> Commit:
        reservations, queues = self.state.records.of(Reservation), self.state.records.of(Queue)
        if reservations and self.draw(st.integers(0, 2)) == 0:
            old = reservations[self.pick(sorted(reservations))]
            about = (old.name, old.topology_key, old.domain, old.holder_kind, old.holder, old.nodes)
            return [e.ReservationReleased(*about, "released")]
        if queues and self.draw(st.integers(0, 3)) == 0:
            return [e.QueueRemoved(self.pick(sorted(queues)))]
        if self.draw(st.booleans()):
            order, quota = self.pick((("strict", None), ("strict", 2), ("fair", 3)))
            return [e.QueueDefined(Queue(self.pick(QUEUES), self.pick((0, 5)), quota, order))]
        kind, holder = self.pick((("group", "ml/a"), ("namespace", "ml"), ("queue", "q")))
        some = (("cpu", self.pick((500, 4_000))), ("nvidia.com/gpu", self.pick((1, 4))))
        nodes = sorted(self.draw(st.sets(st.sampled_from(NODES), min_size=1, max_size=2)))
        amounts = tuple((node, some) for node in nodes)
        name = f"r-{self.uid()}"
        return [e.ReservationMade(Reservation(name, RACK, "r1", kind, holder, amounts, None, self.made))]

    def labels(self) -> tuple[tuple[str, str], ...]:
        return self.pick(((), ((RACK, "r1"),), ((RACK, "r1"),), ((RACK, "r2"),)))

    def node(self) -> Commit:
        name = self.pick(NODES)
        node = self.state.nodes.get(name)
        if node is None:
            allocatable = (("cpu", 8_000), ("nvidia.com/gpu", self.pick((0, 8))), ("pods", 10))
            taints = self.pick(((), (), (Taint("gpu", "", "NoSchedule"),)))
            return [e.NodeAdded(Node(name, self.uid(), self.labels(), taints, allocatable=allocatable))]
        if self.draw(st.integers(0, 3)) == 0:
            return [e.NodeRemoved(name, node.uid)]
        new = replace(
            node,
            labels=self.labels(),
            unschedulable=self.draw(st.booleans()),
            ready=self.draw(st.integers(0, 5)) > 0,
            taints=self.pick((node.taints, node.taints, ())),
            zones=self.pick(((), node.zones, *ZONES)),
        )
        update = e.NodeUpdated.between(node, new)
        return [update] if update else []

    def pod(self) -> Commit:
        if not self.state.pods or self.draw(st.booleans()):
            pod = Pod(
                "ml", f"p{self.draw(st.integers(0, 9))}", self.uid(), self.pick(SHAPES),
                node=self.pick(("", "", "", *NODES)), group=self.pick(("", *GROUPS, *GROUPS)),
                scheduler_name=self.pick(("default-scheduler",) * 5 + ("other",)),
                gated=self.draw(st.integers(0, 5)) == 0,
                created=self.pick((0, 1_700_000_000_000)),
            )  # fmt: skip
            return [e.PodAdded(pod)]
        pod = self.state.pods[self.pick(sorted(self.state.pods))]
        if self.draw(st.integers(0, 3)) == 0:
            return [e.PodRemoved(pod.namespace, pod.name, pod.uid, pod.node, pod.group, "deleted")]
        new = replace(
            pod,
            phase=self.pick(("Pending", "Running", "Succeeded", "Failed")),
            node=self.pick((pod.node, *NODES)),
            terminating=self.draw(st.booleans()),
            gated=pod.gated and self.draw(st.booleans()),
            group=self.pick((pod.group, pod.group, pod.group, *GROUPS)),
            shape=self.pick((pod.shape, *SHAPES)),
            labels=self.pick((pod.labels, (("a", "b"),))),
        )
        update = e.PodUpdated.between(pod, new)
        return [update] if update else []

    def group(self) -> Commit:
        name = self.pick(GROUPS)
        group = self.state.groups.get(f"ml/{name}")
        if group is None or self.draw(st.integers(0, 2)) == 0:
            return self.generation(name, group)
        if self.draw(st.booleans()):
            return [e.PodGroupClosed("ml", name, group.uid, group.generation, "ended")]
        new = replace(
            group,
            min_count=self.draw(st.integers(1, 3)),
            unmodelled=self.pick(((), ("dra",))),
            queue=self.pick((group.queue, "", *QUEUES)),
        )
        update = e.PodGroupUpdated.between(group, new)
        return [update] if update else []

    def generation(self, name: str, old: PodGroup | None) -> Commit:
        number = self.generations[name] = self.generations.get(name, 0) + 1
        group = PodGroup(
            "ml", name, self.uid(), self.pick(("gang", "gang", "basic")), self.draw(st.integers(1, 3)),
            self.pick(("", RACK, RACK, NUMA_KEY)), self.pick((None, 5)), number,
            created=self.pick((0, 1_700_000_000_000)), queue=self.pick(("", "", *QUEUES)),
        )  # fmt: skip
        if group.policy == "basic":
            group = replace(group, min_count=1)
        closed = [] if old is None else [e.PodGroupClosed("ml", name, old.uid, old.generation, "superseded")]
        return [*closed, e.PodGroupCreated(group)]

    def decision(self) -> Commit:
        keys = self.state.group_keys()
        if not keys:
            return []
        key = self.pick(keys)
        name = key.partition("/")[2]
        group = self.state.groups.get(key)
        members = self.state.members(key)
        bound = sum(1 for pod in members if pod.node)
        need = group.min_count if group else 1
        if group is None:
            return [e.PodGroupHeld("ml", name, "", 0, "no_podgroup", need, len(members), bound)]
        about = ("ml", name, group.uid, group.generation)
        waiting = [pod for pod in members if not pod.node]
        assigned = [(pod.uid, pod.name, self.pick(NODES)) for pod in waiting if self.draw(st.booleans())]
        domain = f"{self.pick(NODES)}/node-0" if group.topology_key == NUMA_KEY else "r1"
        placing = (
            *about, "exact", group.topology_key, True, domain, need, len(members), bound + len(assigned),
            tuple(assigned),
        )  # fmt: skip
        table = e.DomainTable((), (), (), (), (), (), (), (), ())
        return [
            self.pick(
                (
                    e.PodGroupPlaced(*placing),
                    e.PodGroupPlaced(*placing),
                    e.PlacementForecast(*placing),
                    e.PodGroupUnschedulable(
                        *about, "exact", group.topology_key, True, "not_found", "capacity", "r2", need,
                        len(members), bound, bound, (("cpu", 5),), (2, 2, 2, 1, 0), 0, False, (), table,
                    ),
                    e.PodGroupHeld(*about, "not_enough_pods", need, len(members), bound),
                    e.PodGroupOverQuota(*about, "q", 3, 2, 2, need, len(members), bound),
                    e.PodGroupConflicted(*about, "domain_lost", ("r1",), ("n9",), need, len(members), bound),
                    e.PodGroupSettled(*about, need, len(members), bound),
                    e.DomainLost(*about, group.topology_key, "r1", ("n9",)),
                )
            )
        ]  # fmt: skip


@st.composite
def histories(draw: st.DrawFn, most: int = 12) -> list[Commit]:
    """The registration, and then commits of one or several events."""
    teller = Teller(draw)
    gates = tuple((gate, draw(st.integers(0, 4)) > 0) for gate in TAS_GATES)
    registered = e.ClusterRegistered("demo", "simulated", gates)
    fold.apply(teller.state, registered, 1, 1_000)
    told = [teller.commit() for _ in range(draw(st.integers(1, most)))]
    return [[registered], *(commit for commit in told if commit)]
