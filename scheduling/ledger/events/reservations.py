"""Events about room that is held for somebody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduling.engine.reservations import Reservation
from scheduling.ledger.events.base import Event


@dataclass(frozen=True, slots=True)
class ReservationMade(Event):
    """Room is held. It wakes a cycle, which notes when the reservation expires."""

    SUBJECT: ClassVar[str] = "reservation"
    WAKES: ClassVar[bool] = True
    reservation: Reservation


@dataclass(frozen=True, slots=True)
class ReservationReleased(Event):
    """``name``: of the reservation; ``nodes``: where it held room. ``reason``: released (by a person),
    expired, nodes_gone (none of its nodes is in its domain any more).
    """

    SUBJECT: ClassVar[str] = "reservation"
    WAKES: ClassVar[bool] = True
    name: str
    topology_key: str
    domain: str
    holder_kind: str
    holder: str
    nodes: tuple[str, ...]
    reason: str


EVENTS: tuple[type[Event], ...] = (ReservationMade, ReservationReleased)
