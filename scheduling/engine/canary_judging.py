"""A canary's window against its limits: from what was counted in it and from the groups as they are now.

A group that waits still has waited at least so long, and nobody knows for how long it will. So a limit on
waits is broken when it is even if all of them were placed now, and kept when it is even if none of them ever
were; between the two there is not enough data. Nothing is ever estimated in place of a measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scheduling.engine import reasons
from scheduling.engine.canary import Canary, CanaryFacts, CanaryScope, Criterion, Limit, Measured, Verdict
from scheduling.engine.model import PodGroup
from scheduling.engine.queue import quorum_at
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.waiting import waits_since

_NEVER = 1 << 62
"""The wait of a group that is never placed."""

_QUANTILES = {Criterion.WAIT_MEDIAN: 500, Criterion.WAIT_P95: 950, Criterion.WAIT_LONGEST: 1_000}
"""Thousandths."""

_FOR_GOOD = (Criterion.WAIT_LONGEST, Criterion.ERRORS)
"""What cannot be made good by what the rest of the window brings."""


@dataclass(frozen=True, slots=True)
class _Waits:
    """``lowest``: as if those that wait were placed now; ``highest``: as if they never were; both sorted."""

    lowest: Sequence[int]
    highest: Sequence[int]

    @property
    def open(self) -> bool:
        return any(wait == _NEVER for wait in self.highest)


def groups_of(state: ClusterState, canary: Canary, *, control: bool = False) -> Iterator[PodGroup]:
    """The open groups with a constraint that are judged, by key: those of the running stage, or (``control``)
    all others. Generations that ran spread before count for neither.
    """
    scope, held = canary.scope, state.records.of(CanaryScope).get(canary.id)
    exempt = frozenset(held.exempt) if held is not None else frozenset[str]()
    for _, group in sorted(state.groups.items()):
        if group.topology_key and group.uid not in exempt and scope.covers(group) != control:
            yield group


def waits_now(state: ClusterState, group: PodGroup) -> bool:
    """Whether it was decided, has minCount members to be placed, and is not."""
    last = state.verdicts.get(group.key)
    decided = last is not None and last.verdict != reasons.Verdict.HELD
    return decided and waits_since(state, group.key) is not None


def waited_from(state: ClusterState, key: str, since: int) -> int:
    """From when on the wait of the group counts: minCount members existed, and the window was open."""
    return max(quorum_at(roster(state, key)), since)


def measured(state: ClusterState, canary: Canary, facts: CanaryFacts, now: int) -> tuple[Measured, ...]:
    """Every limit of the canary, in their order, at this time."""
    groups = list(groups_of(state, canary))
    waiting = [group for group in groups if waits_now(state, group)]
    mine = _waits(state, facts.waits, waiting, canary.since, now)
    against = any(limit.criterion == Criterion.WAIT_CONTROL for limit in canary.limits)
    others = (
        [group for group in groups_of(state, canary, control=True) if waits_now(state, group)]
        if against
        else []
    )
    control = _waits(state, facts.control, others, canary.since, now)
    seen = (
        {group.key for group in groups}
        | {key for key, _ in facts.waits}
        | {key for key, _, _ in facts.errors}
    )
    told = []
    for limit in canary.limits:
        match limit.criterion:
            case Criterion.WAIT_MEDIAN | Criterion.WAIT_P95 | Criterion.WAIT_LONGEST:
                told.append(_of_waits(limit, mine))
            case Criterion.WAIT_CONTROL:
                told.append(_of_control(limit, mine, control))
            case Criterion.PENDING:
                told.append(_at_most(limit, len(waiting), len(groups)))
            case Criterion.PENDING_SHARE:
                share = 1_000 * len(waiting) // len(groups) if groups else 0
                told.append(_at_most(limit, share, len(groups)))
            case Criterion.ERRORS:
                told.append(_at_most(limit, len(facts.errors), len(seen)))
            case Criterion.THROUGHPUT:
                told.append(_at_least(limit, _rates(facts, True), 1))
            case Criterion.THROUGHPUT_CONTROL:
                told.append(_at_least(limit, _rates(facts, True), _median(_rates(facts, False))))
    return tuple(told)


def verdict(told: Iterable[Measured]) -> Verdict:
    """Failed when a limit is broken, passed when all are kept."""
    verdicts = {each.verdict for each in told}
    if Verdict.FAILED in verdicts:
        return Verdict.FAILED
    return Verdict.NOT_ENOUGH_DATA if Verdict.NOT_ENOUGH_DATA in verdicts else Verdict.PASSED


def broken_for_good(told: Iterable[Measured]) -> bool:
    """Whether the rest of the window cannot change that it failed."""
    return any(each.criterion in _FOR_GOOD and each.verdict == Verdict.FAILED for each in told)


def breaks_at(state: ClusterState, canary: Canary) -> int | None:
    """When, in milliseconds, the first of the groups that wait now will have waited too long for the limit on
    the longest wait; None without that limit or without such a group.
    """
    limit = canary.limit(Criterion.WAIT_LONGEST)
    if limit is None:
        return None
    waiting = (group.key for group in groups_of(state, canary) if waits_now(state, group))
    return min((waited_from(state, key, canary.since) + limit + 1 for key in waiting), default=None)


def _waits(
    state: ClusterState, placed: Iterable[tuple[str, int]], waiting: Iterable[PodGroup], since: int, now: int
) -> _Waits:
    over = [wait for _, wait in placed]
    so_far = [max(0, now - waited_from(state, group.key, since)) for group in waiting]
    return _Waits(sorted(over + so_far), sorted(over + [_NEVER] * len(so_far)))


def _of_waits(limit: Limit, waits: _Waits) -> Measured:
    if not waits.lowest:
        return _nothing(limit)
    share = _QUANTILES[Criterion(limit.criterion)]
    low, high = _quantile(waits.lowest, share), _quantile(waits.highest, share)
    return _between(limit, low, high, len(waits.lowest))


def _of_control(limit: Limit, mine: _Waits, control: _Waits) -> Measured:
    """In thousandths; a wait of less than a millisecond counts as one."""
    if not mine.lowest or not control.lowest:
        return _nothing(limit, len(mine.lowest))
    least, most = (max(1, _quantile(waits, 500)) for waits in (control.lowest, control.highest))
    low, high = (max(1, _quantile(waits, 500)) for waits in (mine.lowest, mine.highest))
    lowest = 0 if most == _NEVER else 1_000 * low // most
    highest = _NEVER if high == _NEVER else 1_000 * high // least
    told = _between(limit, lowest, highest, len(mine.lowest))
    if most == _NEVER and told.verdict == Verdict.NOT_ENOUGH_DATA:
        return _nothing(limit, len(mine.lowest))
    return told


def _between(limit: Limit, low: int, high: int, groups: int) -> Measured:
    found = Verdict.NOT_ENOUGH_DATA
    if low > limit.value:
        found = Verdict.FAILED
    elif high <= limit.value:
        found = Verdict.PASSED
    return Measured(limit.criterion, limit.value, low, groups, low != high, found.value)


def _at_most(limit: Limit, found: int, groups: int) -> Measured:
    if not groups:
        return _nothing(limit)
    kept = Verdict.PASSED if found <= limit.value else Verdict.FAILED
    return Measured(limit.criterion, limit.value, found, groups, False, kept.value)


def _at_least(limit: Limit, rates: Sequence[int], control: int | None) -> Measured:
    """``control``: what the median is divided by, 1 for nothing; None without data."""
    mine = _median(rates)
    if mine is None or not control:
        return _nothing(limit, len(rates))
    found = mine if limit.criterion == Criterion.THROUGHPUT else 1_000 * mine // control
    kept = Verdict.PASSED if found >= limit.value else Verdict.FAILED
    return Measured(limit.criterion, limit.value, found, len(rates), False, kept.value)


def _nothing(limit: Limit, groups: int = 0) -> Measured:
    return Measured(limit.criterion, limit.value, None, groups, False, Verdict.NOT_ENOUGH_DATA.value)


def _rates(facts: CanaryFacts, in_scope: bool) -> list[int]:
    return sorted(rate for _, inside, rate in facts.throughput if inside == in_scope)


def _median(values: Sequence[int]) -> int | None:
    return _quantile(values, 500) if values else None


def _quantile(values: Sequence[int], share: int) -> int:
    """The value at or below which so many thousandths of the sorted ``values`` lie (nearest rank)."""
    return values[max(0, -(-len(values) * share // 1_000) - 1)]
