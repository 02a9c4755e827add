"""Room that is held on nodes for somebody: the record, whose pods it is for, and how much is still held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scheduling.engine.model import Pod, PodGroup

HOLDER_KINDS = ("group", "queue", "namespace")
"""The narrowest first: a pod that is of several holders uses their reservations in this order."""

Amounts = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Reservation:
    """``holder``: namespace/name of a PodGroup, or the name of a queue or namespace. ``amounts``: per node,
    by name, how much of each resource the holder's pods there have between them, those that are on it
    included. ``expires``: milliseconds, None for never. ``made``: the seq of its event.
    """

    name: str
    topology_key: str
    domain: str
    holder_kind: str
    holder: str
    amounts: tuple[tuple[str, Amounts], ...]
    expires: int | None
    made: int

    @property
    def id(self) -> str:
        return self.name

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(node for node, _ in self.amounts)

    def is_for(self, group_key: str, group: PodGroup | None) -> bool:
        """Whether members of the group (None: its PodGroup does not exist) may use it."""
        if self.holder_kind == "group":
            return self.holder == group_key
        if self.holder_kind == "namespace":
            return bool(group_key) and self.holder == group_key.partition("/")[0]
        return group is not None and self.holder == group.queue


def narrowest_first(reservations: Iterable[Reservation]) -> tuple[Reservation, ...]:
    return tuple(
        sorted(reservations, key=lambda each: (HOLDER_KINDS.index(each.holder_kind), each.made, each.id))
    )


@dataclass(frozen=True, slots=True)
class NodeHolds:
    """One node. ``rests``: by reservation, what is held for its holder and not in use by it, amounts > 0;
    ``beyond``: by pod uid, what a pod uses that no reservation for it covers.
    """

    rests: Mapping[str, Mapping[str, int]]
    beyond: Mapping[str, Mapping[str, int]]


def on_node(
    node: str, reservations: Sequence[Reservation], pods: Iterable[Pod], groups: Mapping[str, PodGroup]
) -> NodeHolds:
    """``reservations``: those with a part of the node, narrowest first; ``pods``: the unfinished ones on it,
    in an order that does not depend on how they came. What one pod uses is counted once.
    """
    rests = {each.id: dict(dict(each.amounts)[node]) for each in reservations}
    beyond: dict[str, dict[str, int]] = {}
    for pod in pods:
        used = dict(pod.shape.requests)
        group_key = pod.group_key or f"{pod.namespace}/"
        for each in reservations:
            if each.is_for(group_key, groups.get(pod.group_key)):
                rest = rests[each.id]
                for resource in used.keys() & rest.keys():
                    covered = min(used[resource], rest[resource])
                    used[resource] -= covered
                    rest[resource] -= covered
        beyond[pod.uid] = used
    return NodeHolds(
        {id: {name: amount for name, amount in rest.items() if amount > 0} for id, rest in rests.items()},
        beyond,
    )
