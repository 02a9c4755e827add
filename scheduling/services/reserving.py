"""Room held for somebody: which nodes, made, released, and what ends it by itself. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scheduling.engine.change_steps import gpus_of
from scheduling.engine.decide import decide
from scheduling.engine.model import Eligibility, Node, Pod, PodGroup, Shape
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.queues import Queue
from scheduling.engine.reservations import HOLDER_KINDS, Reservation, on_node
from scheduling.engine.roster import roster
from scheduling.engine.shapes import is_device
from scheduling.engine.state import ClusterState
from scheduling.kube import manifests as kube
from scheduling.kube.names import dns_label_problem, dns_subdomain_problem
from scheduling.ledger.events import Event, ReservationMade, ReservationReleased
from scheduling.services.followed import Followed
from scheduling.services.problems import FORBIDDEN, INVALID, NOT_FOUND, REQUIRED, Problem, Refused

MOST_MEMBERS = 10_000

LONGEST = 366 * 24 * 60
"""Minutes."""

_KEY = "/reservation"
"""Of the group that stands for the room while nodes are chosen; of no namespace, so nothing is held for it.
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """Room in one domain: ``nodes`` whole free nodes, or room for ``members``: of the shape of ``requests``
    (quantities as typed), or like the first members of the group ``like`` (namespace/name). ``minutes``:
    until it expires, None for never.
    """

    topology_key: str
    domain: str
    holder_kind: str
    holder: str
    nodes: int = 0
    members: int = 0
    requests: Mapping[str, str] = field(default_factory=dict)
    like: str = ""
    minutes: int | None = None


def reserve_events(state: ClusterState, wish: Wish, now_ms: int) -> list[Event]:
    """The reservation, on nodes that the engine's own packing chooses: the tightest, then by name. Raises
    Refused, also when the domain has not the room now; paths are the fields of the wish.
    """
    problems = [*_holder_problems(state, wish), *_place_problems(state, wish), *_size_problems(wish)]
    if problems:
        raise Refused(problems)
    inside = [node for node in state.nodes.values() if node.label(wish.topology_key) == wish.domain]
    draft = Reservation(
        name=f"r-{state.seq + 1}",
        topology_key=wish.topology_key,
        domain=wish.domain,
        holder_kind=wish.holder_kind,
        holder=wish.holder,
        amounts=(),
        expires=None if wish.minutes is None else now_ms + wish.minutes * 60_000,
        made=state.seq + 1,
    )
    room = _whole_nodes(state, wish, inside) if wish.nodes else _room_for_members(state, wish)
    amounts = [(name, _with_own_use(state, draft, name, room[name])) for name in sorted(room)]
    return [ReservationMade(replace(draft, amounts=tuple(amounts)))]


def release_events(state: ClusterState, name: str) -> list[Event]:
    """Raises Refused when there is no such reservation."""
    reservation = state.records.of(Reservation).get(name)
    if reservation is None:
        raise Refused([Problem("Reservation", "", name, "", NOT_FOUND, f"there is no reservation {name}")])
    return [_released(reservation, "released")]


def tend(state: ClusterState, now_ms: int) -> list[Followed]:
    """Reservations that expire, and those of which no node is in the domain any more."""
    news = []
    for reservation in state.records.of(Reservation).values():
        if reservation.expires is not None and reservation.expires <= now_ms:
            news.append(Followed(_released(reservation, "expired"), None))
        elif not any(True for _ in nodes_there(state, reservation)):
            news.append(Followed(_released(reservation, "nodes_gone"), None))
    return news


def due_at(state: ClusterState) -> int | None:
    """When the next one expires."""
    times = [each.expires for each in state.records.of(Reservation).values() if each.expires is not None]
    return min(times, default=None)


def nodes_there(state: ClusterState, reservation: Reservation) -> Iterator[str]:
    """Its nodes that are in its domain still."""
    for name in reservation.nodes:
        node = state.nodes.get(name)
        if node is not None and node.label(reservation.topology_key) == reservation.domain:
            yield name


def _released(reservation: Reservation, reason: str) -> ReservationReleased:
    return ReservationReleased(
        name=reservation.name,
        topology_key=reservation.topology_key,
        domain=reservation.domain,
        holder_kind=reservation.holder_kind,
        holder=reservation.holder,
        nodes=reservation.nodes,
        reason=reason,
    )


# ---------------------------------------------------------------- what is asked


def _problem(path: str, reason: str, message: str) -> Problem:
    return Problem("Reservation", "", "", path, reason, message)


def _holder_problems(state: ClusterState, wish: Wish) -> Iterator[Problem]:
    if wish.holder_kind not in HOLDER_KINDS:
        named = f"{wish.holder_kind!r} is none of {', '.join(HOLDER_KINDS)}"
        yield _problem("holder_kind", INVALID, named)
    elif not wish.holder:
        yield _problem("holder", REQUIRED, "for whom the room is held must be said")
    elif wish.holder_kind == "group":
        namespace, slash, name = wish.holder.partition("/")
        if not slash or dns_label_problem(namespace) or dns_subdomain_problem(name):
            yield _problem("holder", INVALID, f"{wish.holder!r} is not the namespace/name of a PodGroup")
    elif wish.holder_kind == "namespace":
        if problem := dns_label_problem(wish.holder):
            yield _problem("holder", INVALID, f"a namespace {problem}")
    elif wish.holder not in state.records.of(Queue):
        yield _problem("holder", INVALID, f"there is no queue {wish.holder}")


def _place_problems(state: ClusterState, wish: Wish) -> Iterator[Problem]:
    if wish.topology_key == NUMA_KEY:
        message = "room is held on whole nodes: NUMA zones are not domains for that"
        yield _problem("topology_key", FORBIDDEN, message)
    elif not wish.topology_key:
        yield _problem("topology_key", REQUIRED, "the label that tells domains must be named")
    elif wish.domain not in state.index(wish.topology_key).number:
        message = f"no node carries {wish.topology_key}={wish.domain}"
        yield _problem("domain", INVALID, message)


def _size_problems(wish: Wish) -> Iterator[Problem]:
    if (wish.nodes > 0) == (wish.members > 0) or wish.nodes < 0 or wish.members < 0:
        message = "either a number of whole nodes or a number of members is needed"
        yield _problem("nodes", INVALID, message)
    if wish.members > MOST_MEMBERS:
        yield _problem("members", INVALID, f"members: at most {MOST_MEMBERS}, not {wish.members}")
    if wish.members > 0 and bool(wish.requests) == bool(wish.like):
        message = "what a member requests, or a group whose members are like it, is needed"
        yield _problem("requests", REQUIRED, message)
    if wish.minutes is not None and not 0 < wish.minutes <= LONGEST:
        yield _problem("minutes", INVALID, f"minutes: 1 to {LONGEST}, or none for no end, not {wish.minutes}")


# ---------------------------------------------------------------- the nodes


def _whole_nodes(state: ClusterState, wish: Wish, inside: Sequence[Node]) -> dict[str, Counter[str]]:
    """What is free on so many wholly free nodes: fewest GPUs, then name."""
    free = [node for node in inside if node.ready and not node.unschedulable and _is_whole(state, node)]
    if len(free) < wish.nodes:
        message = f"wholly free nodes in {wish.domain} now: {len(free)} of {wish.nodes}"
        raise Refused([_problem("nodes", INVALID, message)])
    free.sort(key=lambda node: (gpus_of(node.allocatable), node.name))
    return {node.name: +Counter(state.free(node.name)) for node in free[: wish.nodes]}


def _is_whole(state: ClusterState, node: Node) -> bool:
    """Nothing of it is held, and its devices are all unused; without devices, no pod is on it."""
    if state.held(node.name):
        return False
    devices = [name for name, amount in node.allocatable if is_device(name) and amount > 0]
    used = state.used(node.name)
    return not any(used.get(name) for name in devices) if devices else not state.pods_on(node.name)


def _room_for_members(state: ClusterState, wish: Wish) -> dict[str, Counter[str]]:
    """What the members ask for where the engine would put them, with all that is held left out."""
    ahead = state.lifting(frozenset()).fork()
    ahead.set_group(PodGroup("", "reservation", "reservation", min_count=wish.members))
    here = (wish.topology_key, wish.domain)
    for number, shape in enumerate(_shapes(state, wish)):
        wanted = replace(shape.eligibility, node_selector=(*shape.eligibility.node_selector, here))
        uid = f"reservation-{number:05}"
        ahead.set_pod(Pod("", uid, uid, Shape(shape.requests, wanted), group="reservation"))
    decision = decide(ahead, _KEY)
    if not decision.placed:
        message = f"such members for which {wish.domain} has room now: {decision.fits} of {wish.members}"
        raise Refused([_problem("members", INVALID, message)])
    room: dict[str, Counter[str]] = {}
    for uid, node in decision.assignments:
        room.setdefault(node, Counter()).update(dict(ahead.pods[uid].shape.requests))
    return room


def _shapes(state: ClusterState, wish: Wish) -> list[Shape]:
    if not wish.like:
        return [_typed(wish.requests)] * wish.members
    who = roster(state, wish.like)
    members = [*who.bound, *who.waiting, *who.gated]
    if len(members) < wish.members:
        message = f"members of PodGroup {wish.like}: {len(members)}, not {wish.members}"
        raise Refused([_problem("like", INVALID, message)])
    return [pod.shape for pod in members[: wish.members]]


def _typed(requests: Mapping[str, str]) -> Shape:
    """The shape of a pod that requests so much. Raises Refused."""
    resources = {"requests": dict(requests), "limits": {n: v for n, v in requests.items() if "/" in n}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": "default", "name": "reservation"},
        "spec": {"containers": [{"name": "main", "image": "none", "resources": resources}]},
    }
    read = kube.read(json.dumps(pod))
    if read.refused:
        raise Refused(_problem("requests", bad.reason, bad.message) for bad in read.refused)
    return Shape(read.pods[0].shape.requests, Eligibility())


def _with_own_use(
    state: ClusterState, draft: Reservation, node: str, room: Mapping[str, int]
) -> tuple[tuple[str, int], ...]:
    """The room, and what pods of the holder use of the same there already: that counts as used of it."""
    here = state.holds.by_node.get(node, ())
    pods = state.pods_on(node)
    beyond = on_node(node, here, pods, state.groups).beyond
    amounts = Counter(dict(room))
    for pod in pods:
        if draft.is_for(pod.group_key or f"{pod.namespace}/", state.groups.get(pod.group_key)):
            amounts.update({name: amount for name, amount in beyond[pod.uid].items() if name in room})
    return tuple(sorted((name, amount) for name, amount in amounts.items() if amount > 0))
