"""New nodes of a type on a state: their names, what they are, how many more there may be, and which of those
that were promised have joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from scheduling.engine.change_steps import HOSTNAME
from scheduling.engine.model import Node
from scheduling.engine.node_types import NewNodes, NodeType, PlanStatus, ScaleUpPlan
from scheduling.engine.state import ClusterState

TYPE_LABEL = "tas-console/node-type"
"""On nodes that were added as one of a type: its name."""

_LONGEST_PART = 100


def new_node(kind: NodeType, key: str, domain: str, name: str, uid: str = "") -> Node:
    """An empty node of the type in the domain, ready and not cordoned."""
    labels = {**dict(kind.labels), HOSTNAME: name, key: domain, TYPE_LABEL: kind.name}
    return Node(
        name=name,
        uid=uid or name,
        labels=tuple(sorted(labels.items())),
        taints=kind.taints,
        allocatable=kind.allocatable,
    )


def new_nodes(state: ClusterState, steps: Iterable[NewNodes]) -> list[Node]:
    """The nodes of the steps, under names that no node has: type, domain and the first numbers that are free.
    KeyError for a type that is not defined.
    """
    kinds = state.records.of(NodeType)
    taken: set[str] = set()
    made: list[Node] = []
    for step in steps:
        kind = kinds[step.kind]
        stem = f"{step.kind[:_LONGEST_PART]}-{_as_name(step.domain)}"
        number = 0
        for _ in range(step.count):
            number += 1
            while (name := f"{stem}-{number}") in state.nodes or name in taken:
                number += 1
            taken.add(name)
            made.append(new_node(kind, step.key, step.domain, name))
    return made


def grown(state: ClusterState, steps: Iterable[NewNodes]) -> ClusterState:
    """A fork with the new nodes; ``state`` is not changed."""
    ahead = state.fork()
    for node in new_nodes(state, steps):
        ahead.set_node(node)
    return ahead


def _as_name(domain: str) -> str:
    """The label value in letters that a node's name may have."""
    return re.sub(r"[^a-z0-9]+", "-", domain.lower()).strip("-")[:_LONGEST_PART] or "none"


# ---------------------------------------------------------------- how many more


def room_to_grow(state: ClusterState, kind: str, key: str, domain: str, besides: str = "") -> int:
    """How many nodes of the type may still be planned in the domain: its growth less those that carry its
    label there and those that approved plans (but the one named ``besides``) promised and that have not
    joined.
    """
    found = state.records.of(NodeType).get(kind)
    most = (
        sum(entry.most for entry in found.growth if (entry.key, entry.domain) == (key, domain))
        if found
        else 0
    )
    there = sum(state.nodes[name].label(TYPE_LABEL) == kind for name in _nodes_in(state, key, domain))
    owed = 0
    for plan, joined in arrivals(state).items():
        if plan == besides:
            continue
        for step, names in joined:
            if (step.kind, step.key, step.domain) == (kind, key, domain):
                owed += step.count - len(names)
    return max(0, most - there - owed)


def alike(state: ClusterState, kind: NodeType, key: str, domain: str) -> list[str]:
    """Nodes in the domain that may be of the type, sorted: those with its label, and those without any that
    have its other labels and at least what it has.
    """
    return [name for name in _nodes_in(state, key, domain) if _alike(state.nodes[name], kind)]


def _nodes_in(state: ClusterState, key: str, domain: str) -> Sequence[str]:
    index = state.index(key)
    number = index.number.get(domain)
    return index.names[index.slice(number)] if number is not None else ()


def _alike(node: Node, kind: NodeType) -> bool:
    told = node.label(TYPE_LABEL)
    if told is not None:
        return told == kind.name
    has = dict(node.allocatable)
    return set(kind.labels) <= set(node.labels) and all(
        has.get(resource, 0) >= amount for resource, amount in kind.allocatable
    )


# ---------------------------------------------------------------- what has joined


Joined = tuple[tuple[NewNodes, tuple[str, ...]], ...]
"""Each step of a plan with the nodes that joined for it, at most as many as it promised."""


def arrivals(state: ClusterState) -> dict[str, Joined]:
    """By name of every approved plan, in the order of their approval. A node counts for one plan only, and
    none does that was there when its plan was approved. Of a type that is no longer defined none joins.
    """
    plans = state.records.of(ScaleUpPlan).values()
    taken = {name for plan in plans if not plan.open for name in plan.nodes}
    found: dict[str, Joined] = {}
    for plan in approved(state):
        steps: list[tuple[NewNodes, tuple[str, ...]]] = []
        for step in plan.option.steps:
            kind = state.records.of(NodeType).get(step.kind)
            names = alike(state, kind, step.key, step.domain) if kind is not None else []
            news = [name for name in names if name not in taken and name not in plan.present][: step.count]
            taken.update(news)
            steps.append((step, tuple(news)))
        found[plan.name] = tuple(steps)
    return found


def approved(state: ClusterState) -> list[ScaleUpPlan]:
    """Plans whose nodes are awaited, in the order of their approval."""
    return [plan for plan in state.records.of(ScaleUpPlan).values() if plan.status == PlanStatus.APPROVED]
