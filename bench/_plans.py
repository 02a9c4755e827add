"""Random clusters with a group that waits, and plans for it carried out: nodes join or victims go by the
events of the services, then a cycle decides. The search that found a plan is not asked whether it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random

from scheduling.engine.change_steps import gpus
from scheduling.engine.growth import new_nodes
from scheduling.engine.model import TAS_GATES, Eligibility, Node, Pod, PodGroup, Shape, Taint, Toleration
from scheduling.engine.node_types import SIMULATED, Growth, NewNodes, NodeType, ScaleUpOption
from scheduling.engine.preemption_records import PROPOSE, Cost, Victim
from scheduling.engine.queue import waiting
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.ledger import fold
from scheduling.ledger.events import (
    ClusterRegistered,
    Event,
    NodeAdded,
    NodeTypeDefined,
    PodAdded,
    PodGroupCreated,
    PreemptionPlanned,
    PreemptionPolicyChanged,
    ScaleUpPlanned,
)
from scheduling.services import preemption, scale_up
from scheduling.services.deciding import cycle_events
from scheduling.services.problems import Refused

RACK = "topology.example.com/rack"
GPU = "nvidia.com/gpu"
KEY = "plans/wanted"
NOW = 1_767_225_600_000
_TAINT = Taint("dedicated", "training", "NoSchedule")
_TOLERANT = Eligibility(tolerations=(Toleration("dedicated", "Exists", "", ""),))

SMALL_ATOMS = 9
"""Of so few things that may go every set is tried."""

SMALL_MIXTURES = 400
"""So many mixtures of new nodes at most are all tried."""


# ---------------------------------------------------------------- the log of a cluster in memory


def after(state: ClusterState, events: Iterable[Event]) -> ClusterState:
    """A copy on which the events have happened."""
    ahead = state.fork()
    for event in events:
        fold.apply(ahead, event, ahead.seq + 1, NOW)
    return ahead


def cycled(state: ClusterState) -> ClusterState:
    """After the ordinary cycle."""
    return after(state, cycle_events(state, NOW))


def runs(state: ClusterState, key: str = KEY) -> bool:
    """Whether minCount members are on nodes, all of them in one domain if the group asks for one."""
    who = roster(state, key)
    if who.group is None or len(who.bound) < who.need:
        return False
    key = who.group.topology_key
    return not key or len({state.nodes[pod.node].label(key) for pod in who.bound}) == 1


# ---------------------------------------------------------------- random clusters


@dataclass
class Cluster:
    """Racks of nodes with 2 to 8 GPUs, held by gangs of several priorities and by pods of nobody."""

    dice: Random
    small: bool
    events: list[Event] = field(default_factory=list)
    free: dict[str, dict[str, int]] = field(default_factory=dict)
    rack_of: dict[str, str] = field(default_factory=dict)
    made: int = 0

    def build(self) -> ClusterState:
        dice = self.dice
        gates = tuple((gate, True) for gate in TAS_GATES)
        self.events.append(ClusterRegistered("plans", "simulated", gates))
        racks = [f"r{number}" for number in range(dice.randint(1, 2 if self.small else 5))]
        for rack in racks:
            for _ in range(dice.randint(1, 2 if self.small else 6)):
                self._node(rack)
        for _ in range(dice.randint(1, 4) if self.small else dice.randint(4, 18)):
            self._running(dice.choice(racks))
        self._strangers()
        if dice.random() < 0.4:
            self._group(f"other-{dice.randint(0, 9)}", dice.choice([0, 5, 9]))
        self._group("wanted", 5)
        self._types(racks)
        self.events.append(PreemptionPolicyChanged(PROPOSE, ()))
        return after(ClusterState(), self.events)

    def _node(self, rack: str) -> None:
        name = f"n{len(self.rack_of)}"
        cpu, gpu = self.dice.choice([16_000, 32_000, 64_000]), self.dice.choice([2, 4, 8])
        has = {"cpu": cpu, GPU: gpu, "pods": 110}
        taints = (_TAINT,) if self.dice.random() < 0.15 else ()
        labels = (("kubernetes.io/hostname", name), (RACK, rack))
        amounts = tuple(sorted(has.items()))
        self.events.append(NodeAdded(Node(name, f"u-{name}", labels, taints, allocatable=amounts)))
        self.free[name], self.rack_of[name] = has, rack

    def _shape(self) -> Shape:
        dice = self.dice
        asks = {"cpu": 1000 * dice.choice([1, 2, 4]), GPU: dice.choice([0, 1, 1, 2, 2, 4]), "pods": 1}
        wanted = _TOLERANT if dice.random() < 0.3 else Eligibility()
        return Shape(tuple(sorted((name, amount) for name, amount in asks.items() if amount)), wanted)

    def _pod(self, group: str, shape: Shape, node: str = "") -> Pod:
        self.made += 1
        name = f"{group or 'alone'}-{self.made}"
        if node:
            for resource, amount in shape.requests:
                self.free[node][resource] = self.free[node].get(resource, 0) - amount
        phase = "Running" if node else "Pending"
        created = NOW - 60_000 * self.dice.randint(1, 90)
        return Pod("plans", name, f"u-{name}", shape, node, group, phase=phase, created=created)

    def _room(self, shape: Shape, rack: str | None) -> list[str]:
        return [
            name
            for name, free in self.free.items()
            if rack in (None, self.rack_of[name])
            and all(free.get(resource, 0) >= amount for resource, amount in shape.requests)
        ]

    def _running(self, rack: str) -> None:
        """A gang that runs in the rack, or anywhere without a key; elastic and protected ones among them."""
        dice = self.dice
        name = f"run-{self.made}"
        shape, key = self._shape(), dice.choice([RACK, RACK, ""])
        pods: list[Pod] = []
        for _ in range(dice.randint(1, 4)):
            where = self._room(shape, rack if key else None)
            if where:
                pods.append(self._pod(name, shape, dice.choice(where)))
        if not pods:
            return
        group = PodGroup(
            "plans", name, f"u-{name}", "gang", dice.randint(1, len(pods)), key,
            priority=dice.choice([0, 1, 1, 3, 5, 8]), created=NOW - 60_000 * dice.randint(1, 90),
            elastic=dice.random() < 0.35, protected=dice.random() < 0.1,
        )  # fmt: skip
        self.events += [PodGroupCreated(group), *map(PodAdded, pods)]

    def _strangers(self) -> None:
        """Pods of no group, which nobody proposes to end."""
        for name, free in self.free.items():
            left = free.get(GPU, 0)
            if left > 0 and self.dice.random() < 0.6:
                shape = Shape(((GPU, self.dice.randint(1, left)), ("pods", 1)))
                self.events.append(PodAdded(self._pod("", shape, name)))

    def _group(self, name: str, priority: int) -> None:
        dice = self.dice
        kinds = [self._shape() for _ in range(dice.choice([1, 1, 1, 2]))]
        members = dice.randint(1, 3) if self.small else dice.randint(2, 10)
        pods = [self._pod(name, dice.choice(kinds)) for _ in range(members)]
        group = PodGroup(
            "plans", name, f"u-{name}", "gang", dice.randint(max(1, members - 2), members),
            dice.choice([RACK, RACK, RACK, ""]), priority=priority, created=NOW - 60_000,
        )  # fmt: skip
        self.events += [PodGroupCreated(group), *map(PodAdded, pods)]

    def _types(self, racks: Sequence[str]) -> None:
        """Node types of other sizes and costs, that grow here and there and in racks that do not exist."""
        dice = self.dice
        most = 2 if self.small else 6
        for number in range(dice.randint(1, 2 if self.small else 3)):
            has = {"cpu": dice.choice([8000, 32_000]), GPU: dice.choice([1, 2, 4, 8]), "pods": 110}
            places = dice.sample([*racks, "new"], dice.randint(1, len(racks) + 1))
            kind = NodeType(
                f"type-{number}",
                tuple(sorted(has.items())),
                taints=(_TAINT,) if dice.random() < 0.2 else (),
                growth=tuple(Growth(RACK, place, dice.randint(1, most)) for place in sorted(places)),
                cost=dice.choice([None, 1000, 2500, 2500, 4000]),
                provider=SIMULATED,
            )
            self.events.append(NodeTypeDefined(kind))


def random_state(seed: int, *, small: bool = False) -> ClusterState:
    """After cycles have placed what can be placed; whether ``KEY`` waits then is for the caller to see."""
    state = Cluster(Random(f"plans-{seed}-{small}"), small).build()
    return cycled(cycled(state))


# ---------------------------------------------------------------- scale-up


@dataclass(frozen=True, slots=True)
class Verdict:
    """``holds``: the group ran after what was approved, and did not with anything left out of it.
    ``minimal``: None unless the case was small enough to try everything. ``fault``: what did not hold.
    """

    holds: bool
    minimal: bool | None = None
    fault: str = ""


def scale_up_verdict(state: ClusterState) -> Verdict | None:
    """Every option of the plan for ``KEY`` carried out; None where there is no plan."""
    try:
        planned = scale_up.plan_events(state, [KEY], 60, NOW)
    except Refused:
        return None
    (plan,) = planned
    assert isinstance(plan, ScaleUpPlanned)
    open_plan = after(state, planned)
    for place, option in enumerate(plan.options):
        events = scale_up.approve_events(open_plan, plan.name, scale_up.Approval(option=place), NOW)
        joined = [event for event in events if isinstance(event, NodeAdded)]
        if len(joined) != option.nodes:
            return Verdict(False, fault=f"option {place}: {len(joined)} of {option.nodes} nodes joined")
        if not runs(cycled(after(open_plan, events))):
            return Verdict(False, fault=f"option {place}: the group waits with all nodes there")
        for missing in joined:
            fewer = [event for event in events if event is not missing]
            if runs(cycled(after(open_plan, fewer))):
                return Verdict(False, fault=f"option {place}: the group runs without {missing.node.name}")
    return Verdict(True, _no_cheaper_nodes(state, plan.options[0]))


def _price(state: ClusterState, steps: Iterable[NewNodes]) -> tuple[int, int, int]:
    """Nodes whose cost is not known, the cost of the others, nodes."""
    unpriced = cost = nodes = 0
    for step in steps:
        one = state.records.of(NodeType)[step.kind].cost
        unpriced += step.count if one is None else 0
        cost += step.count * (one or 0)
        nodes += step.count
    return unpriced, cost, nodes


def mixtures(state: ClusterState) -> Iterator[tuple[NewNodes, ...]]:
    """Every way to grow the cluster."""
    places = [
        (kind.name, growth.key, growth.domain, growth.most)
        for kind in state.records.of(NodeType).values()
        for growth in kind.growth
    ]
    for counts in product(*(range(most + 1) for *_, most in places)):
        yield tuple(
            NewNodes(kind, key, domain, count)
            for (kind, key, domain, _), count in zip(places, counts, strict=True)
            if count
        )


def _no_cheaper_nodes(state: ClusterState, option: ScaleUpOption) -> bool | None:
    """Whether every mixture that costs less leaves the group waiting; None where there are too many."""
    kinds = state.records.of(NodeType).values()
    ways = 1
    for growth in (growth for kind in kinds for growth in kind.growth):
        ways *= growth.most + 1
    if ways > SMALL_MIXTURES:
        return None
    price = _price(state, option.steps)
    cheaper = (steps for steps in mixtures(state) if steps and _price(state, steps) < price)
    return not any(runs(cycled(after(state, map(NodeAdded, new_nodes(state, steps))))) for steps in cheaper)


# ---------------------------------------------------------------- preemption


def preemption_verdict(state: ClusterState) -> Verdict | None:
    """The proposal for ``KEY`` carried out; None where there is none. In small cases also whether none was
    missed.
    """
    small = len(_may_go(state)) <= SMALL_ATOMS
    try:
        (planned,) = preemption.propose_events(state, KEY, NOW)
    except Refused:
        return None
    assert isinstance(planned, PreemptionPlanned)
    open_plan = after(state, [planned])
    events = preemption.approve_events(open_plan, planned.id, NOW)
    if not runs(cycled(after(open_plan, events))):
        return Verdict(False, fault="the group waits with all victims gone")
    for left_in, fewer in _fewer(planned.victims):
        if runs(cycled(_without(open_plan, fewer))):
            return Verdict(False, fault=f"the group runs although {left_in} stays")
    minimal = _no_cheaper_victims(state, Cost(*planned.cost)) if small else None
    return Verdict(True, minimal)


def missed(state: ClusterState) -> bool | None:
    """Whether nothing is proposed although some set of victims would do; None if the case is not small."""
    if len(_may_go(state)) > SMALL_ATOMS:
        return None
    return not _no_cheaper_victims(state, None)


def _without(state: ClusterState, victims: Sequence[Victim]) -> ClusterState:
    return after(state, preemption.evictions(state, "p0", KEY, victims, NOW))


def _fewer(victims: Sequence[Victim]) -> Iterator[tuple[str, list[Victim]]]:
    """The victims with one of them left in: a group, or one member of an elastic gang."""
    for place, victim in enumerate(victims):
        others = [*victims[:place], *victims[place + 1 :]]
        if victim.whole:
            yield victim.key, others
            continue
        for member in victim.members:
            rest = tuple(one for one in victim.members if one != member)
            yield member[1], [*others, replace(victim, members=rest)] if rest else others


_Atom = tuple[str, bool, tuple[Pod, ...]]


def _may_go(state: ClusterState) -> list[_Atom]:
    """(group, whether it ends, members that go): by the rules, not by the code that is tried out."""
    own = roster(state, KEY).priority
    found: list[_Atom] = []
    for key in sorted(state.groups):
        who, group = roster(state, key), state.groups[key]
        if key == KEY or not who.bound or group.protected or who.priority >= own:
            continue
        found.append((key, True, who.bound))
        if group.elastic and group.policy == "gang" and len(who.bound) > who.need:
            found += [(key, False, (pod,)) for pod in who.bound]
    return found


def _choices(state: ClusterState) -> Iterator[list[Victim]]:
    """Every set of victims that the rules allow."""
    atoms = _may_go(state)
    for taken in product((False, True), repeat=len(atoms)):
        chosen = [atom for atom, is_taken in zip(atoms, taken, strict=True) if is_taken]
        by_group: dict[str, list[_Atom]] = {}
        for atom in chosen:
            by_group.setdefault(atom[0], []).append(atom)
        victims = []
        for key, parts in by_group.items():
            who, whole = roster(state, key), any(part[1] for part in parts)
            pods = tuple(pod for part in parts for pod in part[2])
            if (whole and len(parts) > 1) or (not whole and len(pods) > len(who.bound) - who.need):
                break
            group = state.groups[key]
            members = tuple((pod.uid, pod.name, pod.node) for pod in pods)
            about = (key, group.uid, group.generation, who.priority, whole)
            victims.append(Victim(*about, members, gpus(pods), group.created))
        else:
            if victims:
                yield victims


def cost_of(victims: Sequence[Victim]) -> Cost:
    return Cost(
        int(any(victim.whole for victim in victims)),
        sum(victim.gpus for victim in victims),
        len(victims),
        sum(len(victim.members) for victim in victims),
    )


def _no_cheaper_victims(state: ClusterState, cost: Cost | None) -> bool:
    """Whether every set of victims that costs less (None: any) leaves the group waiting."""
    cheaper = (victims for victims in _choices(state) if cost is None or cost_of(victims) < cost)
    return not any(runs(cycled(_without(state, victims))) for victims in cheaper)


# ---------------------------------------------------------------- many of them


@dataclass(slots=True)
class Tally:
    """``plans``: carried out; ``tried``: those in whose cases everything cheaper was carried out too.
    ``missed``: small cases in which nothing was proposed although something would do.
    """

    plans: int = 0
    hold: int = 0
    tried: int = 0
    minimal: int = 0
    missed: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, seed: str, verdict: Verdict) -> None:
        self.plans += 1
        self.hold += verdict.holds
        if verdict.fault:
            self.faults.append(f"{seed}: {verdict.fault}")
        if verdict.minimal is not None:
            self.tried += 1
            self.minimal += verdict.minimal
            if not verdict.minimal:
                self.faults.append(f"{seed}: something cheaper does")


def tally(verdict: Callable[[ClusterState], Verdict | None], plans: int, *, small: bool = False) -> Tally:
    """Random waiting groups until so many have a plan."""
    found, seed = Tally(), 0
    while found.plans < plans:
        seed += 1
        state = random_state(seed, small=small)
        if KEY not in waiting(state) or runs(state):
            continue
        name = f"{verdict.__name__} {'small ' if small else ''}{seed}"
        made = verdict(state)
        if made is not None:
            found.add(name, made)
        elif small and verdict is preemption_verdict and missed(state):
            found.missed += 1
            found.faults.append(f"{name}: nothing was proposed and something does")
    return found
