"""An explanation says what the cycle says: in an observed cluster the forecasts of others take their room."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduling.engine.decision import VerdictSummary
from scheduling.engine.profiles.compare import compare
from scheduling.engine.queue import waiting
from scheduling.services.foreseeing import foresee
from tests.services.builders import gang, members, node, pod, stream


def rivals() -> list[dict[str, object]]:
    return [
        node("a", "r0", cpu="4"), node("b", "r0", cpu="4"), gang("aa", 2), *members("aa", 2, cpu="3"),
        gang("bb", 2), *members("bb", 2, cpu="3"),
    ]  # fmt: skip


def test_of_two_groups_that_want_the_same_room_the_second_is_explained_as_the_log_says_it() -> None:
    made = stream(*rivals(), mode="observed")
    made.settle()
    first, second = foresee(made.state, "default/aa"), foresee(made.state, "default/bb")
    assert first.decision.placed and first.after == ()
    assert second.decision.summary() == made.state.verdicts["default/bb"]
    assert str(second.decision.verdict) == "proved_infeasible" and second.after == ("default/aa",)


def test_the_comparison_is_made_on_the_room_that_is_left_then() -> None:
    made = stream(*rivals(), mode="observed")
    made.settle()
    found = compare(foresee(made.state, "default/bb").state, "default/bb")
    assert found.agree and not found.exact.assignments and not found.upstream.assignments


def test_in_a_simulated_cluster_only_the_facts_count() -> None:
    made = stream(*rivals())
    assert foresee(made.state, "default/bb").decision.placed
    assert foresee(made.state, "default/bb").after == ()


def test_a_queue_too_long_to_decide_is_said() -> None:
    made = stream(*rivals(), mode="observed")
    found = foresee(made.state, "default/bb", most=0)
    assert not found.complete and found.after == ()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from(["r0", "r1"]), st.integers(1, 5)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 1)), min_size=1, max_size=5),
)
def test_every_waiting_group_is_explained_as_the_last_decision_in_the_log(
    nodes: list[tuple[str, int]], groups: list[tuple[int, int, int]]
) -> None:
    objects = [node(f"n{i}", rack, cpu=str(cpu)) for i, (rack, cpu) in enumerate(nodes)]
    for i, (count, cpu, extra) in enumerate(groups):
        name = f"g{i}"
        objects += [gang(name, count), *members(name, count + extra, cpu=str(cpu))]
    made = stream(*objects, pod("lone", cpu="1", on="n0"), mode="observed")
    made.settle()
    for key in waiting(made.state):
        found: VerdictSummary = foresee(made.state, key).decision.summary()
        assert found == made.state.verdicts[key]


@pytest.mark.parametrize("key", ["default/aa", "default/bb"])
def test_asking_changes_nothing(key: str) -> None:
    made = stream(*rivals(), mode="observed")
    foresee(made.state, key)
    assert not made.state.verdicts and not made.state.pods_on("a")
