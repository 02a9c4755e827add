"""How long a group may wait, and what the end of that does."""

from __future__ import annotations

import pytest

from scheduling.engine.waiting import deadline, waits_since
from scheduling.engine.waits import WaitDeadline, WaitPolicy
from scheduling.ledger.events import (
    ClusterModeChanged,
    PodGroupClosed,
    PodRemoved,
    WaitDeadlineExpired,
    WaitDeadlineLifted,
    WaitDeadlineSet,
    WaitDeadlineWithdrawn,
)
from scheduling.services.conformance.stream import START_MS, MemoryStream
from scheduling.services.deadlines import deadline_events, due_at, policy_events, withdrawal_events
from scheduling.services.members import end_group_events
from scheduling.services.problems import Refused
from scheduling.services.submitting import submit_events
from tests.services.builders import form, gang, members, node, pod, stream, tend, text

G = "default/g"


def pending(mode: str = "simulated") -> MemoryStream:
    """A gang of two on a cluster with room for one."""
    made = stream(node("a", cpu="1"), gang("g", 2), *members("g", 2), mode=mode)
    made.settle()
    assert waits_since(made.state, G) == START_MS
    return made


def until(made: MemoryStream, after: int | None, action: str = "alert") -> None:
    at = None if after is None else made.now_ms + after
    made.commit(deadline_events(made.state, G, at, action, made.now_ms))


def fault(made: MemoryStream, at: int | None, action: str = "alert", key: str = G) -> tuple[str, str]:
    with pytest.raises(Refused) as refused:
        deadline_events(made.state, key, at, action, made.now_ms)
    (problem,) = refused.value.problems
    return problem.path, problem.reason


def test_a_deadline_counts_down_and_expires_once() -> None:
    made = pending()
    until(made, 60_000)
    assert due_at(made.state) == START_MS + 60_000
    assert tend(made, 59_999) == []
    (expired,) = tend(made, 1)
    assert isinstance(expired, WaitDeadlineExpired)
    assert (expired.at, expired.action, expired.since, expired.default, expired.expired_at) == (
        START_MS + 60_000, "alert", START_MS, False, START_MS + 60_000,
    )  # fmt: skip
    found = deadline(made.state, G)
    assert found is not None and found.expired_at == made.now_ms
    assert due_at(made.state) is None and tend(made, 3_600_000) == []


def test_a_deadline_that_closes_ends_the_generation_and_all_its_members() -> None:
    made = pending()
    until(made, 60_000, "close")
    news = tend(made, 60_000)
    assert [type(event) for event in news] == [WaitDeadlineExpired, PodRemoved, PodRemoved, PodGroupClosed]
    assert news[-1].reason == "expired" and G not in made.state.groups
    assert made.state.members(G) == [] and not made.state.records.of(WaitDeadline)


def test_without_a_deadline_it_waits_whatever_the_default_says() -> None:
    made = pending()
    made.commit(policy_events(made.state, 60_000, "close"))
    until(made, None)
    assert due_at(made.state) is None and tend(made, 10_000_000) == []


def test_back_to_the_default_it_counts_from_when_the_wait_began() -> None:
    made = pending()
    made.commit(policy_events(made.state, 60_000, "propose"))
    until(made, None)
    made.now_ms += 20_000
    (event,) = withdrawal_events(made.state, G)
    assert isinstance(event, WaitDeadlineWithdrawn) and event.at is None and event.generation == 1
    made.commit([event])
    assert not made.state.records.of(WaitDeadline) and due_at(made.state) == START_MS + 60_000
    assert withdrawal_events(made.state, G) == []
    (expired,) = tend(made, 40_000)
    assert isinstance(expired, WaitDeadlineExpired) and expired.default


def test_back_to_no_default_it_may_wait_on_and_a_longer_wait_is_past_the_default_at_once() -> None:
    made = pending()
    until(made, 90_000, "close")
    made.commit(withdrawal_events(made.state, G))
    assert due_at(made.state) is None
    until(made, 300_000, "close")
    made.commit(policy_events(made.state, 60_000, "alert"))
    assert tend(made, 120_000) == []
    made.commit(withdrawal_events(made.state, G))
    (expired,) = tend(made, 0)
    assert isinstance(expired, WaitDeadlineExpired) and (expired.default, expired.action) == (True, "alert")


def test_where_the_default_is_past_there_is_nothing_to_go_back_from() -> None:
    made = pending()
    made.commit(policy_events(made.state, 60_000, "alert"))
    tend(made, 60_000)
    assert made.state.records.of(WaitDeadline)[G].expired_at is not None
    assert withdrawal_events(made.state, G) == []


def test_only_an_open_group_goes_back_to_the_default() -> None:
    made = pending()
    with pytest.raises(Refused) as refused:
        withdrawal_events(made.state, "default/other")
    assert [problem.name for problem in refused.value.problems] == ["other"]


def test_the_default_counts_from_when_the_wait_began() -> None:
    made = pending()
    made.now_ms += 50_000
    made.commit(policy_events(made.state, 60_000, "propose"))
    assert due_at(made.state) == START_MS + 60_000
    (expired,) = tend(made, 10_000)
    assert isinstance(expired, WaitDeadlineExpired) and expired.default and expired.action == "propose"
    assert tend(made, 3_600_000) == []


def test_a_wait_longer_than_a_new_default_expires_at_once() -> None:
    made = pending()
    made.now_ms += 90_000
    made.commit(policy_events(made.state, 60_000, "alert"))
    assert [type(event) for event in tend(made)] == [WaitDeadlineExpired]


def test_a_new_deadline_follows_one_that_expired() -> None:
    made = pending()
    until(made, 1_000)
    tend(made, 1_000)
    until(made, 5_000, "propose")
    assert due_at(made.state) == made.now_ms + 5_000
    assert len(tend(made, 5_000)) == 1


def test_a_group_that_gets_its_room_is_not_waited_for_any_more() -> None:
    made = pending()
    until(made, 60_000, "close")
    made.import_data(text(node("b", cpu="1")))
    made.settle()
    (lifted,) = tend(made, 1_000)
    assert isinstance(lifted, WaitDeadlineLifted) and not lifted.expired
    assert tend(made, 3_600_000) == [] and G in made.state.groups


def test_running_groups_are_never_closed_by_the_default() -> None:
    made = stream(node("a", cpu="2"), gang("g", 2), *members("g", 2), pod("g-2", "g"))
    made.settle()
    assert made.state.verdicts[G].verdict != "placed"  # the third member is refused
    tend(made)
    made.commit(policy_events(made.state, 1_000, "close"))
    assert due_at(made.state) is None and tend(made, 3_600_000) == []


def test_a_wait_that_somebody_else_ended_begins_anew() -> None:
    made = pending("observed")
    made.import_data(text(node("a", cpu="1"), *members("g", 2, on="a")))
    assert waits_since(made.state, G) is None
    made.now_ms += 500_000
    made.import_data(text(*members("g", 2)[:1], node("a", cpu="1")), frozenset({"Pod"}))
    made.settle()
    assert waits_since(made.state, G) == made.now_ms


def test_a_generation_takes_its_deadline_with_it() -> None:
    made = pending()
    until(made, 60_000, "close")
    made.commit(end_group_events(made.state, G))
    made.commit(submit_events(made.state, form("g", 2), made.now_ms))
    made.settle()
    assert due_at(made.state) is None and tend(made, 3_600_000) == []


def test_nothing_is_closed_in_a_cluster_that_became_observed_meanwhile() -> None:
    made = pending()
    until(made, 60_000, "close")
    made.commit([ClusterModeChanged("observed")])
    (expired,) = tend(made, 60_000)
    assert isinstance(expired, WaitDeadlineExpired) and expired.action == "propose"
    assert G in made.state.groups


def test_what_is_set_already_is_not_written_again() -> None:
    made = pending()
    until(made, 60_000)
    at = START_MS + 60_000
    assert deadline_events(made.state, G, at, "alert", made.now_ms) == []
    assert isinstance(deadline_events(made.state, G, at, "propose", made.now_ms)[0], WaitDeadlineSet)
    made.commit(policy_events(made.state, 5_000, "alert"))
    assert policy_events(made.state, 5_000, "alert") == []
    made.commit(policy_events(made.state, None, "alert"))
    assert policy_events(made.state, None, "close") == [] and not made.state.records.of(WaitPolicy)


def test_refusals_name_the_field() -> None:
    made = pending()
    assert fault(made, made.now_ms) == ("at", "FieldValueInvalid")
    assert fault(made, made.now_ms + 1, "shout") == ("action", "FieldValueInvalid")
    assert fault(made, made.now_ms + 1, key="default/x") == ("", "NotFound")
    assert fault(pending("observed"), made.now_ms + 1, "close") == ("action", "FieldValueForbidden")
    made.import_data(text(node("b", cpu="1")))
    made.settle()
    assert fault(made, made.now_ms + 1) == ("at", "FieldValueForbidden")


@pytest.mark.parametrize("after", [0, -1, 367 * 86_400_000])
def test_a_default_is_a_time_that_somebody_may_mean(after: int) -> None:
    with pytest.raises(Refused, match="more than 0 and at most 366 days"):
        policy_events(pending().state, after, "alert")
