"""Reservations of a cluster, and what they hold now. Pure, of a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from scheduling.engine.change_steps import gpus_of
from scheduling.engine.decision import RESERVED, DomainCount
from scheduling.engine.reservations import Reservation
from scheduling.engine.state import ClusterState


@dataclass(frozen=True, slots=True)
class Held:
    """``reserved``, ``left``: per resource, in all, and what of it the holder does not use (so is kept off
    others). ``gone``: its nodes that are not in the cluster any more.
    """

    reservation: Reservation
    reserved: dict[str, int]
    left: dict[str, int]
    gone: tuple[str, ...]

    @property
    def gpus(self) -> int:
        return gpus_of(self.reserved.items())

    @property
    def gpus_left(self) -> int:
        return gpus_of(self.left.items())

    @property
    def amounts(self) -> list[tuple[str, int]]:
        return sorted(self.reserved.items())


def listed(state: ClusterState) -> list[Held]:
    """In the order in which they were made."""
    return [_held(state, each) for each in state.records.of(Reservation).values()]


def in_the_way(state: ClusterState, domains: Iterable[DomainCount]) -> list[Held]:
    """Those that the counts of domains name as what keeps members off."""
    named = {
        code.partition(":")[2]
        for count in domains
        for code, nodes in count.causes
        if nodes and code.startswith(f"{RESERVED}:")
    }
    return [each for each in listed(state) if each.reservation.name in named]


def _held(state: ClusterState, reservation: Reservation) -> Held:
    reserved: Counter[str] = Counter()
    left: Counter[str] = Counter()
    gone = []
    for node, amounts in reservation.amounts:
        reserved.update(dict(amounts))
        if node in state.nodes:
            left.update(state.holds.rests(node).get(reservation.id, {}))
        else:
            gone.append(node)
    return Held(reservation, dict(reserved), dict(left), tuple(gone))
