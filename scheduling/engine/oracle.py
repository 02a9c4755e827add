"""The slow, obvious reference: what is possible at all, by trying every combination. For tests and small
cases only.

It reads the objects of a state, never its columns or indexes. Cost grows with the product of the members of
each kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

from scheduling.engine.change_steps import gpus
from scheduling.engine.eligibility import Bar, bar
from scheduling.engine.model import Node, Pod, Shape
from scheduling.engine.queues import Queue
from scheduling.engine.reservations import HOLDER_KINDS, Reservation
from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState


def domains(state: ClusterState, key: str) -> dict[str, list[Node]]:
    """Nodes by domain that the group may use; "" for all nodes when no constraint is enforced. A domain
    that bound members do not lie in is left out, so contradicting members leave none.
    """
    who = roster(state, key)
    nodes = sorted(state.nodes.values(), key=lambda node: node.name)
    topology_key = who.group.topology_key if who.group is not None and state.enforces(who.group) else ""
    if not topology_key:
        return {"": nodes}
    found: dict[str, list[Node]] = {}
    for node in nodes:
        value = node.label(topology_key)
        if value is not None:
            found.setdefault(value, []).append(node)
    return {
        value: members
        for value, members in found.items()
        if all(pod.node in {node.name for node in members} for pod in who.bound)
    }


def most(state: ClusterState, key: str, *, emptied: bool = False) -> dict[str, int]:
    """Per domain: the largest number of waiting members that can be put there at once; ``emptied``: if
    every pod but the group's own were gone, and nothing held.
    """
    who = roster(state, key)
    return {
        value: max(sum(counts) for counts in _reachable(state, who, nodes, emptied))
        for value, nodes in domains(state, key).items()
    }


def feasible(state: ClusterState, key: str) -> bool:
    """Whether some domain takes enough waiting members at once for minCount, and at least one, within the
    quota of the group's queue.
    """
    who = roster(state, key)
    quota = quota_left(state, key)
    costs = [gpus((pod,)) for pod in {_shape(pod): pod for pod in who.waiting}.values()]
    return any(
        sum(counts) >= who.missing
        and (quota is None or sum(c * n for c, n in zip(costs, counts, strict=True)) <= quota)
        for nodes in domains(state, key).values()
        for counts in _reachable(state, who, nodes, emptied=False)
    )


def quota_left(state: ClusterState, key: str) -> int | None:
    """GPUs that the quota of the group's queue leaves, None for no limit."""
    group = state.groups.get(key)
    queue = state.records.of(Queue).get(group.queue) if group is not None else None
    if queue is None or queue.quota is None:
        return None
    inside = {other.key for other in state.groups.values() if other.queue == queue.name}
    on = (pod for pod in state.pods.values() if pod.group_key in inside and pod.node and not pod.finished)
    return queue.quota - gpus(tuple(on))


def held(state: ClusterState, node: Node, key: str) -> Counter[str]:
    """What is held on a node for others than the group, and not in use by these."""
    here = [each for each in state.records.of(Reservation).values() if node.name in each.nodes]
    here.sort(key=lambda each: (HOLDER_KINDS.index(each.holder_kind), each.made, each.name))
    rests = {each.name: Counter(dict(dict(each.amounts)[node.name])) for each in here}
    on = [pod for pod in state.pods.values() if pod.node == node.name and not pod.finished]
    for pod in sorted(on, key=lambda pod: (pod.key, pod.uid)):
        for resource, amount in pod.shape.requests:
            for each in here:
                if _is_for(state, each, pod.namespace, pod.group):
                    covered = min(amount, rests[each.name][resource])
                    rests[each.name][resource] -= covered
                    amount -= covered
    namespace, _, name = key.partition("/")
    out: Counter[str] = Counter()
    for each in here:
        if not _is_for(state, each, namespace, name):
            out.update(rests[each.name])
    return out


def _is_for(state: ClusterState, reservation: Reservation, namespace: str, name: str) -> bool:
    group = state.groups.get(f"{namespace}/{name}")
    return (
        reservation.holder
        == {
            "group": f"{namespace}/{name}",
            "namespace": namespace,
            "queue": group.queue if group is not None and group.queue else None,
        }[reservation.holder_kind]
    )


def free(state: ClusterState, node: Node, *, but: frozenset[str] = frozenset()) -> Counter[str]:
    """What is left on a node, counted from the pods; those of ``but`` (uids) are taken as gone."""
    left = Counter(dict(node.allocatable))
    for pod in state.pods.values():
        if pod.node == node.name and not pod.finished and pod.uid not in but:
            left.subtract(dict(pod.shape.requests))
    return left


def _reachable(state: ClusterState, who: Roster, nodes: list[Node], emptied: bool) -> set[tuple[int, ...]]:
    """Every (members placed per kind) that the nodes can hold together."""
    kinds = Counter(_shape(pod) for pod in who.waiting)
    shapes, wanted = list(kinds), list(kinds.values())
    gone = frozenset(_strangers(state, who)) if emptied else frozenset[str]()
    reached = {(0,) * len(shapes)}
    for node in nodes:
        left = free(state, node, but=gone)
        if not emptied:
            left.subtract(held(state, node, who.key))
        fitting = list(_fitting(left, node, shapes, wanted))
        reached = {
            tuple(min(have + more, most) for have, more, most in zip(counts, extra, wanted, strict=True))
            for counts in reached
            for extra in fitting
        }
    return reached


def _shape(pod: Pod) -> Shape:
    """What counts of it here."""
    return Shape(pod.shape.requests, pod.shape.eligibility)


def _fitting(
    left: Counter[str], node: Node, shapes: list[Shape], wanted: list[int]
) -> Iterator[tuple[int, ...]]:
    """Every (members per kind) that one node takes."""
    limits = [
        count if bar(node, shape.eligibility) == Bar.NONE else 0
        for shape, count in zip(shapes, wanted, strict=True)
    ]
    for counts in product(*(range(limit + 1) for limit in limits)):
        asked: Counter[str] = Counter()
        for shape, count in zip(shapes, counts, strict=True):
            asked.update({resource: amount * count for resource, amount in shape.requests if count})
        if all(left[resource] >= amount for resource, amount in asked.items() if amount > 0):
            yield counts


def _strangers(state: ClusterState, who: Roster) -> Iterator[str]:
    own = {pod.uid for pod in who.bound}
    return (pod.uid for pod in state.pods.values() if pod.uid not in own)
