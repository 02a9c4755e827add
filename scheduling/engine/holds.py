"""What reservations keep off the room of nodes: for everybody in the columns, lifted on a fork for a holder.

A state without reservations pays nothing for them. With some, whoever none of them is for decides on the
state as it is, since ``columns.free`` has the held room out already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from scheduling.engine.columns import AMOUNT_LIMIT
from scheduling.engine.model import Pod, PodGroup
from scheduling.engine.reservations import Reservation, narrowest_first, on_node

if TYPE_CHECKING:
    from scheduling.engine.state import ClusterState

Rests = Mapping[str, Mapping[str, int]]
"""Reservation id -> resource -> amount."""


class Holds:
    """Mutable; belongs to one state. ``by_node``: its reservations, narrowest first; ``lifted``: ids of those
    that are not left out of this state.
    """

    __slots__ = ("_rests", "by_node", "lifted")

    def __init__(self) -> None:
        self.by_node: dict[str, tuple[Reservation, ...]] = {}
        self.lifted: frozenset[str] = frozenset()
        self._rests: dict[str, Rests] = {}

    def __bool__(self) -> bool:
        return bool(self.by_node)

    def add(self, reservation: Reservation) -> None:
        for node in reservation.nodes:
            others = [each for each in self.by_node.get(node, ()) if each.id != reservation.id]
            self.by_node[node] = narrowest_first([*others, reservation])

    def drop(self, reservation: Reservation) -> None:
        for node in reservation.nodes:
            left = tuple(each for each in self.by_node[node] if each.id != reservation.id)
            if left:
                self.by_node[node] = left
            else:
                del self.by_node[node]

    def renew(self, node: str, pods: Iterable[Pod], groups: Mapping[str, PodGroup]) -> dict[str, int]:
        """Count again what is held on the node: how much is to be left out there, by resource."""
        here = self.by_node.get(node, ())
        if not here:
            self._rests.pop(node, None)
            return {}
        rests = self._rests[node] = on_node(node, here, pods, groups).rests
        out: dict[str, int] = {}
        for id, rest in rests.items():
            if id not in self.lifted:
                for resource, amount in rest.items():
                    out[resource] = min(out.get(resource, 0) + amount, AMOUNT_LIMIT)
        return out

    def rests(self, node: str) -> Rests:
        """What each reservation holds on the node and its holder does not use, lifted ones too."""
        return self._rests.get(node, {})

    def nodes_of_queues(self) -> list[str]:
        """Nodes of which a part is held for a queue."""
        return [
            node for node, here in self.by_node.items() if any(each.holder_kind == "queue" for each in here)
        ]

    def fork(self) -> Holds:
        other = Holds()
        if self.by_node:
            other.by_node, other._rests = self.by_node.copy(), self._rests.copy()
            other.lifted = self.lifted
        return other


def seen_by(state: ClusterState, group_key: str) -> ClusterState:
    """The state as the group finds it: what is held for it is free, what is held for others is not. The state
    itself when nothing is held for the group.
    """
    if not state.holds:
        return state
    group = state.groups.get(group_key)
    reservations = state.records.of(Reservation).values()
    return state.lifting(frozenset(each.id for each in reservations if each.is_for(group_key, group)))


def unreserved(state: ClusterState) -> ClusterState:
    """The state as whoever knows of no reservation finds it."""
    return state.lifting(frozenset(state.records.of(Reservation))) if state.holds else state


def held_rows(state: ClusterState) -> dict[str, list[int]]:
    """By id of the reservations that are left out of this state: the rows on which each keeps something
    off.
    """
    slot, holds = state.columns.slot, state.holds
    rows: dict[str, list[int]] = {}
    for node in holds.by_node:
        if node in slot:
            for id, rest in holds.rests(node).items():
                if rest and id not in holds.lifted:
                    rows.setdefault(id, []).append(slot[node])
    return {id: rows[id] for id in sorted(rows)}
