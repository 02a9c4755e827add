"""The conditions of the verification matrix, each made by steps on a fork of the cluster's own nodes. Pure.

Everything is cordoned first; groups that hold nodes of the two domains with most room, and all that wait, are
ended, so that nobody else takes what is opened. Then room for exactly so many members is opened in these two
domains: nodes that are too many are filled by groups that are called fillers. Whether the condition then
holds is counted node by node, in another way than the engine decides; what does not hold is ``Unmade``, and
never a pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.eligibility import Bar, bar
from scheduling.engine.model import TAS_GATES, Pod, Shape
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.queue import waiting
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.ledger import fold
from scheduling.ledger.events import PodAdded
from scheduling.scenarios import steps as s
from scheduling.scenarios.effects import events_of
from scheduling.scenarios.fork import Fork, Told

NAMESPACE, NAME = "tas-matrix", "verified"
KEY = f"{NAMESPACE}/{NAME}"
TAS_GATE = "TopologyAwareWorkloadScheduling"

TAS, PLAIN, UPSTREAM = MODES = ("tas", "plain", "upstream")
"""With the gates on; with that of topology-aware scheduling off; with them on, as kube-scheduler decides."""

CONDITIONS = (
    "spare", "tight", "one_short", "label_missing", "other_gpu", "recreated_room", "recreated_full",
    "domain_lost", "mixed", "spread",
)  # fmt: skip

MOST_DOMAINS = 500
"""Of the topology key, with the nodes that have none of it: each is cordoned by a step of its own."""
MOST_FILLERS = 500
"""Members: what would take more stays cordoned instead."""


class Unmade(Exception):
    """The condition cannot be made here. ``code``: why; ``values``: numbers and names of the sentence."""

    def __init__(self, code: str, **values: int | str) -> None:
        super().__init__(code)
        self.code, self.values = code, values


@dataclass(frozen=True, slots=True)
class Workload:
    """A gang of ``members`` alike, all of which must run. ``template``: what one of them asks for."""

    topology_key: str
    members: int
    template: s.Members

    def submitted(self, templates: Sequence[s.Members] = ()) -> s.Submit:
        return s.Submit(
            namespace=NAMESPACE,
            name=NAME,
            min_count=self.members,
            topology_key=self.topology_key,
            templates=tuple(templates) or (self.template.model_copy(update={"count": self.members}),),
        )


@dataclass(slots=True)
class Arena:
    """A fork on which a condition is made. ``domains``: the two with most room, those of the cluster's own
    that the condition is about; ``room``: what each could be opened for. ``steps``: what was played, in
    order; ``told``: what came of it since ``since_ms``, when the last of them was asked.
    """

    fork: Fork
    workload: Workload
    shape: Shape
    domains: tuple[str, ...]
    room: tuple[int, ...]
    steps: list[s.Part] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    since_ms: int = 0
    slots: dict[str, int] = field(default_factory=dict)
    filled: bool = True
    first: Decision | None = None

    def play(self, step: s.Part) -> None:
        """Raises Refused."""
        self.told += self.fork.play(step)
        self.steps.append(step)

    def ask(self, step: s.Part) -> None:
        """The step that is the question. ``first``: what is decided of the group right after it."""
        ahead, now_ms = self.fork.state.fork(), self.fork.now_ms
        for event in events_of(ahead, step, now_ms):
            fold.apply(ahead, event, ahead.seq + 1, now_ms)
        self.first = decide(ahead, KEY, profile=self.fork.profile)
        self.told, self.since_ms = [], now_ms
        self.play(step)

    def copy(self) -> Arena:
        fork = Fork.resumed(self.fork.state, self.fork.place, profile=self.fork.profile)
        return replace(self, fork=fork, steps=list(self.steps), told=[], slots=dict(self.slots))


# ---------------------------------------------------------------- the ground


def prepared(fork: Fork, workload: Workload, mode: str) -> Arena:
    """No canary, gates as the mode has them, everything cordoned, nobody who could take what is opened.
    Raises Unmade, and Refused for a workload that cannot be submitted.
    """
    key = workload.topology_key
    if key == NUMA_KEY:
        raise Unmade("numa")
    shape = member_shape(fork, workload)
    index = fork.state.index(key)
    if not index.domains:
        raise Unmade("no_domain", key=key)
    loose = [node.name for node in fork.state.nodes.values() if node.label(key) is None]
    if len(index.domains) + len(loose) > MOST_DOMAINS:
        raise Unmade("too_many", domains=len(index.domains), nodes=len(loose), most=MOST_DOMAINS)
    room = {
        domain: sum(_takes_if_ended(fork.state, name, shape) for name in nodes_of(fork.state, key, domain))
        for domain in index.domains
    }
    chosen = tuple(sorted(room, key=lambda domain: (-room[domain], domain))[:2])
    arena = Arena(fork, workload, shape, chosen, tuple(room[domain] for domain in chosen))
    fork.end_canaries()
    for gate in TAS_GATES:
        wanted = mode != PLAIN or gate != TAS_GATE
        if fork.state.gates.get(gate, False) != wanted:
            arena.play(s.SwitchGate(gate=gate, enabled=wanted))
    for domain in index.domains:
        arena.play(s.Cordon(key=key, domain=domain))
    for name in sorted(loose):
        arena.play(s.Cordon(node=name))
    for group in sorted({*_holding(fork.state, key, chosen), *waiting(fork.state)}):
        if group in fork.state.groups:
            arena.play(s.EndGroup(group=group))
    return arena


def member_shape(fork: Fork, workload: Workload) -> Shape:
    """What one member asks for, as a submission reads it. Raises Refused."""
    made = events_of(fork.state, workload.submitted(), fork.now_ms)
    return next(event.pod.shape for event in made if isinstance(event, PodAdded))


def nodes_of(state: ClusterState, key: str, domain: str) -> list[str]:
    index = state.index(key)
    number = index.number.get(domain)
    return [] if number is None else sorted(index.names[index.slice(number)])


def takes(state: ClusterState, name: str, shape: Shape, *, opened: bool = False) -> int:
    """How many members the node takes now; ``opened``: once it is uncordoned."""
    return _takes(state, name, shape, opened, ())


def _takes_if_ended(state: ClusterState, name: str, shape: Shape) -> int:
    """How many it takes once it is uncordoned and the groups of its pods are ended."""
    return _takes(state, name, shape, True, [pod for pod in state.pods_on(name) if pod.group_key])


def _takes(state: ClusterState, name: str, shape: Shape, opened: bool, gone: Sequence[Pod]) -> int:
    node = state.nodes[name]
    if bar(replace(node, unschedulable=node.unschedulable and not opened), shape.eligibility) != Bar.NONE:
        return 0
    free, held = state.free(name), state.held(name)
    for pod in gone:
        for resource, amount in pod.shape.requests:
            free[resource] = free.get(resource, 0) + amount
    left = ((free.get(resource, 0) - held.get(resource, 0)) // amount for resource, amount in shape.requests)
    return max(0, min(left))


def slots(arena: Arena, domain: str) -> int:
    """How many members have room in the domain as it is open now."""
    state, key = arena.fork.state, arena.workload.topology_key
    return sum(takes(state, name, arena.shape) for name in nodes_of(state, key, domain))


def _holding(state: ClusterState, key: str, domains: Sequence[str]) -> Iterator[str]:
    """Groups with members on nodes of the domains."""
    for domain in domains:
        for name in nodes_of(state, key, domain):
            yield from (pod.group_key for pod in state.pods_on(name) if pod.group_key)


# ---------------------------------------------------------------- room


@dataclass(frozen=True, slots=True)
class Room:
    """``nodes``: on which exactly ``members`` have room once they are uncordoned."""

    domain: str
    nodes: tuple[str, ...]
    members: int


def ready(arena: Arena, place: int, wanted: int, *, filled: bool = True) -> Room:
    """Make room for exactly ``wanted`` members in the domain ``place``, and leave it cordoned, so that
    fillers of another domain do not go there. ``filled``: all else of it is full; else it stays cordoned,
    no filler is in it, and there may be more room than is wanted. Raises Unmade.
    """
    domain = _domain(arena, place, wanted)
    key, state = arena.workload.topology_key, arena.fork.state
    can = {name: takes(state, name, arena.shape, opened=True) for name in nodes_of(state, key, domain)}
    order = sorted((name for name in can if can[name]), key=lambda name: (-can[name], name))
    chosen: list[str] = []
    while sum(can[name] for name in chosen) < wanted:
        chosen.append(order[len(chosen)])
    surplus = sum(can[name] for name in chosen) - wanted
    rest = sum(can.values()) - wanted - surplus
    if filled and rest <= MOST_FILLERS:
        arena.play(s.Uncordon(key=key, domain=domain))
        for name in chosen:
            arena.play(s.Cordon(node=name))
        _fill(arena, rest)
    arena.filled = arena.filled and filled and rest <= MOST_FILLERS
    if surplus and not filled:
        wanted += surplus
    elif surplus:
        arena.play(s.Uncordon(node=chosen[-1]))
        _fill(arena, surplus)
        arena.play(s.Cordon(node=chosen[-1]))
    return Room(domain, tuple(chosen), wanted)


def opened(arena: Arena, room: Room) -> None:
    """Raises Unmade where not exactly as many have room then."""
    for name in room.nodes:
        arena.play(s.Uncordon(node=name))
    _counted(arena, room.domain, room.members)


def _domain(arena: Arena, place: int, wanted: int) -> str:
    if place >= len(arena.domains):
        raise Unmade("one_domain", key=arena.workload.topology_key)
    if arena.room[place] < wanted:
        raise Unmade(
            "too_small",
            place=place + 1,
            domain=arena.domains[place],
            room=arena.room[place],
            wanted=wanted,
        )
    return arena.domains[place]


def _counted(arena: Arena, domain: str, wanted: int) -> None:
    found = slots(arena, domain)
    if found != wanted:
        raise Unmade("miscounted", domain=domain, found=found, wanted=wanted)
    arena.slots[domain] = found


def _fill(arena: Arena, count: int, template: s.Members | None = None) -> None:
    """Put so many members on what is open now."""
    if not count:
        return
    name = f"filler-{sum(isinstance(step, s.Submit) for step in arena.steps) + 1}"
    one = template or arena.workload.template
    arena.play(
        s.Submit(
            namespace=NAMESPACE,
            name=name,
            policy="basic",
            min_count=1,
            templates=(one.model_copy(update={"count": count}),),
        )
    )
    bound = len(roster(arena.fork.state, f"{NAMESPACE}/{name}").bound)
    if bound != count:
        raise Unmade("filler", found=bound, wanted=count)


# ---------------------------------------------------------------- the conditions


def make(arena: Arena, condition: str) -> None:
    """Make the condition and ask. Raises Unmade, and Refused where the workload itself is not taken."""
    _MAKERS[condition](arena)


def _spare(arena: Arena) -> None:
    members = arena.workload.members
    first = ready(arena, 0, max(members + 1, min(2 * members, arena.room[0])))
    _open_both(arena, first, _beside(arena, members - 1))
    arena.ask(arena.workload.submitted())


def _tight(arena: Arena) -> None:
    first = ready(arena, 0, arena.workload.members)
    _open_both(arena, first, _beside(arena, arena.workload.members - 1))
    arena.ask(arena.workload.submitted())


def _beside(arena: Arena, most: int) -> Room | None:
    """Some room in a second domain, if there is one."""
    if len(arena.domains) > 1 and (wanted := min(most, arena.room[1])):
        return ready(arena, 1, wanted)
    return None


def _open_both(arena: Arena, first: Room, second: Room | None) -> None:
    opened(arena, first)
    if second is not None:
        opened(arena, second)


def _less_a_node(arena: Arena) -> str:
    """Exactly enough room in the first domain, and as much in the second as one of its nodes has: that node.
    It takes fewest members, and no filler is on it.
    """
    first = ready(arena, 0, arena.workload.members)
    state = arena.fork.state
    free = [
        name for name in first.nodes if not any(pod.namespace == NAMESPACE for pod in state.pods_on(name))
    ]
    if len(first.nodes) < 2 or not free:
        raise Unmade("one_node", node=first.nodes[0])
    last = min(free, key=lambda name: (takes(state, name, arena.shape, opened=True), name))
    second = ready(arena, 1, takes(state, last, arena.shape, opened=True))
    _open_both(arena, first, second)
    return last


def _one_short(arena: Arena) -> None:
    node = _less_a_node(arena)
    gone = takes(arena.fork.state, node, arena.shape)
    arena.play(s.LoseNodes(node=node))
    _counted(arena, arena.domains[0], arena.workload.members - gone)
    arena.ask(arena.workload.submitted())


def _label_missing(arena: Arena) -> None:
    node = _less_a_node(arena)
    gone = takes(arena.fork.state, node, arena.shape)
    arena.play(s.RemoveLabel(node=node, label=arena.workload.topology_key))
    _counted(arena, arena.domains[0], arena.workload.members - gone)
    arena.ask(arena.workload.submitted())


def _other_gpu(arena: Arena) -> None:
    node = _less_a_node(arena)
    gone = takes(arena.fork.state, node, arena.shape)
    arena.play(_another_gpu(arena, node))
    if takes(arena.fork.state, node, arena.shape):
        raise Unmade("gpu_does", node=node)
    _counted(arena, arena.domains[0], arena.workload.members - gone)
    arena.ask(arena.workload.submitted())


def _another_gpu(arena: Arena, name: str) -> s.ChangeGpu:
    """Of another product where the members select one, else with fewer GPUs than one of them asks for."""
    node = arena.fork.state.nodes[name]
    asked = dict(arena.shape.requests)
    devices = [resource for resource in asked if resource.endswith("/gpu")]
    if not devices:
        raise Unmade("no_gpu")
    labels = [key for key in arena.workload.template.node_selector if "gpu" in key or "accelerator" in key]
    if labels:
        there = {other.label(labels[0]) for other in arena.fork.state.nodes.values()}
        others = sorted(value for value in there if value and value != node.label(labels[0]))
        return s.ChangeGpu(node=name, product=others[0] if others else "another", label=labels[0], gpus=None)
    return s.ChangeGpu(node=name, product="another", gpus=min(asked[each] for each in devices) - 1)


def _running(arena: Arena) -> None:
    """The group runs in the first domain before anything happens."""
    arena.play(arena.workload.submitted())
    if not roster(arena.fork.state, KEY).running:
        raise Unmade("not_started")


def _recreated_room(arena: Arena) -> None:
    first = ready(arena, 0, arena.workload.members + 1)
    second = _beside(arena, arena.workload.members - 1)
    opened(arena, first)
    _running(arena)
    if second is not None:
        opened(arena, second)
    arena.ask(s.RecreateMembers(group=KEY, count=1))


def _recreated_full(arena: Arena) -> None:
    """The node of a member is cordoned meanwhile, so that its room is no room."""
    first = ready(arena, 0, arena.workload.members)
    room = arena.room[1] if len(arena.room) > 1 else 0
    second = ready(arena, 1, max(1, min(arena.workload.members - 1, room)))
    opened(arena, first)
    _running(arena)
    opened(arena, second)
    pod = roster(arena.fork.state, KEY).bound[0]
    arena.play(s.Cordon(node=pod.node))
    _counted(arena, arena.domains[0], 0)
    arena.ask(s.RecreateMembers(group=KEY, pod=pod.name, count=1))


def _domain_lost(arena: Arena) -> None:
    # What is full of fillers would have them made anew, and these would take the room elsewhere.
    first = ready(arena, 0, arena.workload.members, filled=False)
    second = ready(arena, 1, arena.workload.members)
    opened(arena, first)
    _running(arena)
    opened(arena, second)
    arena.ask(s.LoseNodes(key=arena.workload.topology_key, domain=arena.domains[0]))


def _mixed(arena: Arena) -> None:
    """One member asks for half of what the others ask for. The only node with half of that left is the one
    for it: who puts it anywhere else leaves one of the others without a node.
    """
    members = arena.workload.members
    small = _halved(arena)
    if members < 2:
        raise Unmade("one_member")
    room = ready(arena, 0, members)
    if len(room.nodes) < 2:
        raise Unmade("one_node", node=room.nodes[0])
    *whole, node = room.nodes
    alone = takes(arena.fork.state, node, arena.shape, opened=True)
    arena.play(s.Uncordon(node=node))
    _fill(arena, alone - 1)
    _fill(arena, 1, small)
    half = member_shape(arena.fork, replace(arena.workload, template=small))
    if takes(arena.fork.state, node, arena.shape) or takes(arena.fork.state, node, half) != 1:
        raise Unmade("no_half", node=node)
    opened(arena, Room(room.domain, tuple(whole), members - alone))
    large = arena.workload.template.model_copy(update={"role": "worker", "count": members - alone})
    arena.ask(_mixed_gang(arena, small, large))


def _mixed_gang(arena: Arena, small: s.Members, large: s.Members) -> s.Submit:
    gang = arena.workload.submitted([small.model_copy(update={"role": "leader", "count": 1}), large])
    return gang.model_copy(update={"min_count": 1 + large.count})


def _halved(arena: Arena) -> s.Members:
    """A member that asks for half of each resource. Raises Unmade where a device cannot be halved."""
    halves: dict[str, str] = {}
    for resource, amount in arena.shape.requests:
        if resource == "pods":
            continue
        if amount % 2 or (resource == "cpu" and amount < 2):
            raise Unmade("odd", resource=resource, amount=amount)
        halves[resource] = f"{amount // 2}m" if resource == "cpu" else str(amount // 2)
    return arena.workload.template.model_copy(update={"requests": halves})


def _spread(arena: Arena) -> None:
    members = arena.workload.members
    _open_both(arena, ready(arena, 0, members), _beside(arena, members))
    if len(arena.fork.state.index(arena.workload.topology_key).domains) < 2:
        raise Unmade("one_domain", key=arena.workload.topology_key)
    if members < 2:
        raise Unmade("one_member")
    rule = {"topologyKey": arena.workload.topology_key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    template = arena.workload.template.model_copy(update={"count": members, "spread": (rule,)})
    arena.ask(arena.workload.submitted([template]))


_MAKERS = {
    "spare": _spare,
    "tight": _tight,
    "one_short": _one_short,
    "label_missing": _label_missing,
    "other_gpu": _other_gpu,
    "recreated_room": _recreated_room,
    "recreated_full": _recreated_full,
    "domain_lost": _domain_lost,
    "mixed": _mixed,
    "spread": _spread,
}
