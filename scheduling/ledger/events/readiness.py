"""Events about the rollout of topology-aware scheduling: what was stated of a cluster, what was rehearsed."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.ledger.events.base import Event


@dataclass(frozen=True, slots=True)
class RolloutFactStated(Event):
    """An operator says what no dump tells. ``fact``: a code; ``value``: "" takes back what was said;
    ``source``: how they know it, or who is in charge.
    """

    fact: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class RehearsalRun(Event):
    """What a switch of gates would change was worked out on a copy, and nothing was switched. ``gates``:
    (name, on) as rehearsed; ``run``: its number in the workbench; ``decided_on``: the event after which it
    was rehearsed; ``counts``: (kind of change, groups), ``same`` among them.
    """

    gates: tuple[tuple[str, bool], ...]
    run: int
    decided_on: int
    counts: tuple[tuple[str, int], ...]


EVENTS: tuple[type[Event], ...] = (RolloutFactStated, RehearsalRun)
