"""The slow, obvious reference: what is possible at all, by trying every combination. For tests and small
cases only.

It reads the objects of a state, never its columns or indexes. Cost grows with the product of the members of
each kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

from scheduling.engine.eligibility import Bar, bar
from scheduling.engine.model import Node, Shape
from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState


def domains(state: ClusterState, key: str) -> dict[str, list[Node]]:
    """Nodes by domain that the group may use; "" for all nodes when no constraint is enforced. A domain
    that bound members do not lie in is left out, so contradicting members leave none.
    """
    who = roster(state, key)
    nodes = sorted(state.nodes.values(), key=lambda node: node.name)
    topology_key = who.group.topology_key if who.group is not None and state.tas_enforced else ""
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
    every pod but the group's own were gone.
    """
    who = roster(state, key)
    return {
        value: max(sum(counts) for counts in _reachable(state, who, nodes, emptied))
        for value, nodes in domains(state, key).items()
    }


def feasible(state: ClusterState, key: str) -> bool:
    """Whether some domain takes enough waiting members at once for minCount, and at least one."""
    missing = roster(state, key).missing
    return any(count >= missing for count in most(state, key).values())


def free(state: ClusterState, node: Node, *, but: frozenset[str] = frozenset()) -> Counter[str]:
    """What is left on a node, counted from the pods; those of ``but`` (uids) are taken as gone."""
    left = Counter(dict(node.allocatable))
    for pod in state.pods.values():
        if pod.node == node.name and not pod.finished and pod.uid not in but:
            left.subtract(dict(pod.shape.requests))
    return left


def _reachable(state: ClusterState, who: Roster, nodes: list[Node], emptied: bool) -> set[tuple[int, ...]]:
    """Every (members placed per kind) that the nodes can hold together."""
    kinds = Counter(Shape(pod.shape.requests, pod.shape.eligibility) for pod in who.waiting)
    shapes, wanted = list(kinds), list(kinds.values())
    gone = frozenset(_strangers(state, who)) if emptied else frozenset[str]()
    reached = {(0,) * len(shapes)}
    for node in nodes:
        fitting = list(_fitting(free(state, node, but=gone), node, shapes, wanted))
        reached = {
            tuple(min(have + more, most) for have, more, most in zip(counts, extra, wanted, strict=True))
            for counts in reached
            for extra in fitting
        }
    return reached


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
