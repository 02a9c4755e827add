"""Whom a canary covers, and what its limits say of waits that go on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.canary import (
    Canary,
    CanaryFacts,
    CanaryScope,
    Law,
    Limit,
    Measured,
    Scope,
    Verdict,
)
from scheduling.engine.canary_judging import breaks_at, measured, verdict
from scheduling.engine.changes import change_sets
from scheduling.engine.decide import decide
from scheduling.engine.decision import VerdictSummary
from scheduling.engine.model import TAS_GATES, PodGroup
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.state import ClusterState
from scheduling.engine.status import group_status
from scheduling.engine.turns import Turn
from tests.engine.builders import cluster, gang, members, pod
from tests.engine.strategies import clusters
from tests.engine.test_numa import zoned

NOW = 1_000_000
NAMES = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3, unique=True).map(
    lambda each: tuple(sorted(each))
)
KEYS = st.lists(st.sampled_from(["a/x", "b/x", "d/y"]), max_size=3, unique=True).map(
    lambda each: tuple(sorted(each))
)
SCOPES = st.builds(Scope, NAMES, KEYS, st.booleans())
GROUPS = [PodGroup(space, name, f"{space}{name}", topology_key="k") for space in "abcd" for name in "xy"]


@given(one=SCOPES, other=SCOPES)
def test_a_scope_within_another_covers_no_group_that_the_other_does_not(one: Scope, other: Scope) -> None:
    if one.within(other):
        assert all(other.covers(group) for group in GROUPS if one.covers(group))
    elif not one.whole and not other.whole:
        outside = [space for space in one.namespaces if space not in other.namespaces]
        assert outside or any(not other.covers(group) for group in GROUPS if one.covers(group))


@given(gates=st.booleans(), scope=SCOPES, exempt=st.lists(st.sampled_from([group.uid for group in GROUPS])))
def test_the_law_holds_whom_gates_or_a_canary_hold_and_nobody_who_is_exempt(
    gates: bool, scope: Scope, exempt: list[str]
) -> None:
    law = Law(gates, (CanaryScope("c", scope.namespaces, scope.groups, tuple(sorted(exempt))),))
    for group in GROUPS:
        named = replace(scope, whole=False).covers(group)
        held = law.holds(group.namespace, group.key, group.uid)
        assert held == ((gates or named) and group.uid not in exempt)


def under(state: ClusterState, scope: CanaryScope | None) -> ClusterState:
    """A fork with a gate off, and maybe a canary."""
    other = state.fork()
    other.set_gate(TAS_GATES[0], False)
    if scope is not None:
        other.records.put(scope)
    return other


@settings(max_examples=60, deadline=None)
@given(clusters(shapes=2))
def test_a_group_of_a_canary_is_decided_as_with_the_gates_on_and_others_as_with_one_off(
    state: ClusterState,
) -> None:
    key = "ml/g"
    uid = state.groups[key].uid if key in state.groups else ""
    off, held = under(state, None), under(state, CanaryScope("c", (), (key,)))
    others = under(state, CanaryScope("c", ("other",), ("ml/h",)))
    spared = under(state, CanaryScope("c", ("ml",), (), (uid,)))
    for asked in (decide, group_status, change_sets, partial(decide, profile="upstream-1.36")):
        assert asked(held, key) == asked(state, key)
        assert asked(others, key) == asked(off, key)
        if asked is not change_sets:  # one of those would be a next generation, which is not spared
            assert asked(spared, key) == asked(off, key)
    held.lift_law()
    assert decide(held, key) == decide(off, key)


def test_a_canary_holds_to_one_numa_zone_too() -> None:
    state = cluster(zoned("n1"), gang("g", 2, NUMA_KEY), members("g", 2, gpu=2))
    one = decide(under(state, CanaryScope("c", ("ml",), ())), "ml/g")
    assert (one.placed, one.enforced, decide(under(state, None), "ml/g").enforced) == (True, True, False)
    assert one == decide(state, "ml/g")
    wide = cluster(zoned("n1"), gang("g", 2, NUMA_KEY), members("g", 2, gpu=3))
    held = decide(under(wide, CanaryScope("c", ("ml",), ())), "ml/g")
    assert not held.placed and held.fits_across_domains and decide(under(wide, None), "ml/g").placed


def state_of(waits: list[int]) -> ClusterState:
    """A group for each, which has waited for so long."""
    state = ClusterState()
    for number, wait in enumerate(waits):
        key = f"ml/g{number}"
        state.set_group(PodGroup("ml", f"g{number}", key, topology_key="k", created=NOW - wait))
        state.set_pod(replace(pod(f"p{number}", group=f"g{number}"), created=NOW - wait))
        state.record_verdict(key, VerdictSummary("proved_infeasible", "capacity", "", 0, 1))
        state.record_turn(key, Turn(1, NOW, waits_since=NOW - wait))
    return state


def canary(**limits: int) -> Canary:
    told = tuple(Limit(name, value) for name, value in limits.items())
    return Canary("c", "scope", (Scope(("ml",)),), told, "", 10, "ask", 0, 0, NOW, 1, 1)


def rank(waits: list[int], share: int) -> int:
    """The slow way: the least value that so many thousandths are not above."""
    return next(
        wait for wait in sorted(waits) if 1000 * sum(each <= wait for each in waits) >= share * len(waits)
    )


@given(
    placed=st.lists(st.integers(0, 100), max_size=8),
    waiting=st.lists(st.integers(0, 100), max_size=5),
    limit=st.integers(0, 120),
    which=st.sampled_from([("wait_median", 500), ("wait_p95", 950), ("wait_longest", 1000)]),
    more=st.integers(0, 200),
)
def test_a_limit_on_waits_is_broken_or_kept_only_whatever_the_open_ones_come_to(
    placed: list[int], waiting: list[int], limit: int, which: tuple[str, int], more: int
) -> None:
    facts = CanaryFacts("c", tuple((f"ml/p{number}", wait) for number, wait in enumerate(placed)))
    (told,) = measured(state_of(waiting), canary(**{which[0]: limit}), facts, NOW)
    if not placed and not waiting:
        assert (told.measured, told.verdict) == (None, Verdict.NOT_ENOUGH_DATA)
        return
    assert told.measured == rank(placed + waiting, which[1])
    later = rank(placed + [wait + more for wait in waiting], which[1])
    if told.verdict == Verdict.FAILED:
        assert later > limit
    elif told.verdict == Verdict.PASSED:
        assert later <= limit
    else:
        assert told.measured <= limit and waiting
    assert told.at_least is False or waiting


@given(
    mine=st.lists(st.integers(1, 100), min_size=1, max_size=5),
    control=st.lists(st.integers(1, 100), min_size=1, max_size=5),
    limit=st.integers(0, 3_000),
)
def test_against_the_control_medians_are_compared(mine: list[int], control: list[int], limit: int) -> None:
    def told(waits: list[int]) -> tuple[tuple[str, int], ...]:
        return tuple((f"ml/{number}", wait) for number, wait in enumerate(waits))

    (found,) = measured(
        ClusterState(), canary(wait_control=limit), CanaryFacts("c", told(mine), told(control)), NOW
    )
    ratio = 1_000 * rank(mine, 500) // rank(control, 500)
    assert (found.measured, found.verdict) == (ratio, Verdict.PASSED if ratio <= limit else Verdict.FAILED)


def test_the_longest_wait_breaks_when_the_group_that_waits_longest_has_waited_too_long() -> None:
    state = state_of([30, 70])
    assert breaks_at(state, canary(wait_longest=100)) == NOW - 70 + 100 + 1
    assert breaks_at(state, canary(wait_median=100)) is None
    assert breaks_at(ClusterState(), canary(wait_longest=100)) is None


@pytest.mark.parametrize(
    ("verdicts", "all_together"),
    [
        (["passed", "passed"], Verdict.PASSED),
        (["passed", "not_enough_data"], Verdict.NOT_ENOUGH_DATA),
        (["not_enough_data", "failed"], Verdict.FAILED),
    ],
)
def test_one_broken_limit_is_enough_and_all_must_be_kept(verdicts: list[str], all_together: Verdict) -> None:
    assert verdict(Measured("errors", 0, 0, 1, False, each) for each in verdicts) == all_together
