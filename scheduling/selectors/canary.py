"""What pages and API read of canaries: the one that is not over against its limits, and those that were."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.canary import (
    Canary,
    CanaryFacts,
    CanaryScope,
    Measured,
    Status,
    the_undecided,
)
from scheduling.engine.canary_judging import groups_of, measured, waited_from, waits_now
from scheduling.engine.state import ClusterState
from scheduling.engine.status import group_status
from scheduling.models import Cluster
from scheduling.services.execute import now_ms
from scheduling.services.state import state_of

SHOWN = 200
"""Groups of the scope that are listed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A group of the scope. ``waited``: for how long it has waited in the window, in milliseconds, None when
    it does not wait. ``error``: conflicted, domain_lost or deadline, with the seq of the event that tells it.
    """

    key: str
    status: str
    waited: int | None
    domain: str
    error: str = ""
    error_seq: int = 0


@dataclass(frozen=True, slots=True)
class Now:
    """``measured``: at this moment, of one that is judged already at its judgement. ``groups``: of the
    running stage, by key, at most ``SHOWN``, and how many there are. ``spread``: keys of those that are left
    out. ``more``: how many waits were not kept.
    """

    canary: Canary
    measured: tuple[Measured, ...]
    groups: tuple[Judged, ...]
    number: int
    spread: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Canaries:
    """``now``: the one that is not over; ``kept``: those whose groups stay held; ``over``: the latest others,
    the last one first. ``seq``: of the state that tells them.
    """

    now: Now | None
    kept: tuple[Canary, ...]
    over: tuple[Canary, ...]
    seq: int


def current(cluster: Cluster) -> Canaries:
    state = state_of(cluster)
    known = list(state.records.of(Canary).values())
    canary = the_undecided(known)
    return Canaries(
        None if canary is None else _now(state, canary),
        tuple(each for each in known if each.status == Status.KEPT),
        tuple(each for each in reversed(known) if not each.in_force),
        state.seq,
    )


def undecided(cluster: Cluster) -> Canary | None:
    """The one that is not over. Cheap where no canary holds anybody."""
    return the_undecided(state_of(cluster).records.of(Canary).values()) if cluster.canaries else None


def _now(state: ClusterState, canary: Canary) -> Now:
    now = now_ms()
    facts = state.records.of(CanaryFacts).get(canary.id, CanaryFacts(canary.id))
    told = measured(state, canary, facts, now) if canary.status == Status.RUNNING else canary.measured
    groups = list(groups_of(state, canary))
    errors = {key: (what, seq) for key, what, seq in facts.errors}
    listed = []
    for group in groups[:SHOWN]:
        waits = max(0, now - waited_from(state, group.key, canary.since)) if waits_now(state, group) else None
        last = state.verdicts.get(group.key)
        domain = last.domain if last is not None and waits is None else ""
        error = errors.get(group.key, ("", 0))
        listed.append(Judged(group.key, group_status(state, group.key).value, waits, domain, *error))
    held = state.records.of(CanaryScope).get(canary.id)
    exempt = held.exempt if held is not None else ()
    spread = tuple(key for key, group in sorted(state.groups.items()) if group.uid in exempt)
    return Now(canary, told, tuple(listed), len(groups), spread, facts.more)
