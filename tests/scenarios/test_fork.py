"""Steps on a fork: what comes of them by cycles and by time, and what never does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.state import ClusterState
from scheduling.engine.status import GroupStatus, group_status
from scheduling.ledger import fold, snapshots
from scheduling.ledger.events import (
    ClusterModeChanged,
    DomainLost,
    PodGroupClosed,
    PodGroupPlaced,
    PodGroupUnschedulable,
    ReservationReleased,
    WaitDeadlineExpired,
)
from scheduling.ledger.store import Recorded
from scheduling.scenarios.fork import PERSON, SCHEDULER, Fork, Told
from scheduling.scenarios.steps import Part
from scheduling.services.deadlines import policy_events
from scheduling.services.problems import Refused
from scheduling.services.reserving import Wish, reserve_events
from tests.scenarios.builders import G, forked, rack_of, racks, step, submit
from tests.services.builders import GPU, RACK, gang, members, node, stream


def recorded(told: list[Told]) -> list[Recorded]:
    """As the log gives them back."""
    return [
        Recorded(1, one.seq, one.event, one.actor, "", one.cause, one.at, one.at, b"", b"") for one in told
    ]


def same(a: ClusterState, b: ClusterState) -> bool:
    return snapshots.pack(a) == snapshots.pack(b) and a.turns == b.turns and a.lost == b.lost


def test_the_state_that_is_forked_stays_as_it_is() -> None:
    made = racks()
    before = snapshots.pack(made.state)
    fork = forked(made)
    fork.play(step("lose_nodes", key=RACK, domain="r1"))
    assert snapshots.pack(made.state) == before
    assert fork.state.seq > made.state.seq


def test_a_step_is_followed_by_cycles_until_nothing_is_new() -> None:
    fork = forked(racks())
    told = fork.play(submit())
    assert isinstance(told[-1].event, PodGroupPlaced)
    assert [one.actor for one in told] == [PERSON] * 3 + [SCHEDULER]
    assert [one.seq for one in told] == list(range(told[0].seq, fork.state.seq + 1))
    assert rack_of(fork.state, "default/new") == {"r2"}


def test_what_a_step_frees_is_given_to_who_waits_when_its_rest_is_over() -> None:
    fork = forked(racks())
    (refused,) = [
        one
        for one in fork.play(submit("w", templates=[{"count": 2, "requests": {GPU: "4"}}], topology_key=""))
        if isinstance(one.event, PodGroupPlaced)
    ]
    assert rack_of(fork.state, "default/w") == {"r2"} and refused.at == fork.now_ms
    fork.play(submit("late", templates=[{"count": 2, "requests": {GPU: "3"}}]))
    assert group_status(fork.state, "default/late") == GroupStatus.PENDING
    refused_at = fork.now_ms
    told = fork.play(step("end_group", group=G))
    placed = [one for one in told if isinstance(one.event, PodGroupPlaced)]
    assert [one.event.name for one in placed] == ["late"]  # type: ignore[attr-defined]
    assert placed[0].at == refused_at + 1000 == fork.now_ms
    assert placed[0].cause is not None


def test_a_lost_domain_is_recorded_and_keeps_its_group_waiting() -> None:
    fork = forked(racks())
    told = fork.play(step("lose_nodes", key=RACK, domain="r1"))
    assert [one.event.domain for one in told if isinstance(one.event, DomainLost)] == ["r1"]
    assert rack_of(fork.state, G) == {""}
    assert fork.state.verdicts[G].reason == "domain_lost"


def test_a_refused_step_names_its_place_and_changes_nothing() -> None:
    fork = forked(racks())
    fork.play(step("cordon", node="n3"))
    before = snapshots.pack(fork.state)
    with pytest.raises(Refused) as refused:
        fork.play(step("end_group", group="default/none"))
    assert [problem.path for problem in refused.value.problems] == ["steps[1].group"]
    assert snapshots.pack(fork.state) == before
    assert fork.played == 1
    assert fork.play(step("uncordon", node="n3"))


def test_of_an_observed_cluster_the_forecasts_come_true_first() -> None:
    made = stream(
        *(node(f"n{number}", gpu=4) for number in range(2)),
        gang("w", 2),
        *members("w", 2, gpu=4),
        mode="observed",
    )
    made.settle()
    assert rack_of(made.state, "default/w") == {""}
    fork = Fork(made.state, made.now_ms)
    begun = fork.begin()
    assert [type(one.event) for one in begun] == [ClusterModeChanged, PodGroupPlaced]
    assert made.state.mode == "observed" and fork.state.mode == "simulated"
    told = fork.play(submit())
    assert isinstance(told[-1].event, PodGroupUnschedulable)


def test_what_was_not_decided_yet_is_decided_before_the_first_step() -> None:
    made = stream(node("n0", gpu=4), gang("w", 1), *members("w", 1, gpu=4))
    fork = Fork(made.state, made.now_ms)
    assert [type(one.event) for one in fork.begin()] == [PodGroupPlaced]
    assert fork.begin() == []


def test_time_that_passes_stops_where_something_falls_due() -> None:
    made = racks()
    made.commit(
        reserve_events(made.state, Wish(RACK, "r2", "namespace", "other", nodes=2, minutes=5), made.now_ms)
    )
    made.commit(policy_events(made.state, 120_000, "close"))
    fork = forked(made)
    begun = fork.now_ms
    fork.play(submit())
    fork.play(submit("patient", min_count=2, templates=[{"count": 2, "requests": {GPU: "4"}}]))
    told = fork.play(step("advance_clock", seconds=600))
    when = {type(one.event): one.at - begun for one in told}
    assert when[WaitDeadlineExpired] == 120_000
    assert when[PodGroupClosed] == 120_000
    assert when[ReservationReleased] == 300_000
    assert fork.now_ms == begun + 600_000


def test_a_group_that_outlives_the_reservation_gets_its_room() -> None:
    made = racks()
    made.commit(
        reserve_events(made.state, Wish(RACK, "r2", "namespace", "other", nodes=2, minutes=5), made.now_ms)
    )
    fork = forked(made)
    begun = fork.now_ms
    fork.play(submit())
    assert group_status(fork.state, "default/new") == GroupStatus.PENDING
    told = fork.play(step("advance_clock", seconds=299))
    assert [one.event for one in told if isinstance(one.event, PodGroupPlaced)] == []
    told = fork.play(step("advance_clock", seconds=1))
    assert [one.at - begun for one in told if isinstance(one.event, PodGroupPlaced)] == [300_000]


def test_an_interrupted_advance_goes_on_as_if_it_had_not_been() -> None:
    made = racks()
    for minutes in (1, 2, 3):
        wish = Wish(
            RACK, "r2", "namespace", f"other-{minutes}", members=1, requests={GPU: "2"}, minutes=minutes
        )
        made.commit(reserve_events(made.state, wish, made.now_ms))
    wanted = [submit(templates=[{"count": 2, "requests": {GPU: "4"}}]), step("advance_clock", seconds=600)]
    whole = forked(made)
    all_of_it = [one for each in wanted for one in whole.play(each)]
    fork = forked(made)
    told = fork.play(wanted[0])
    told += fork.play(wanted[1], lambda: True)
    slices = 1
    while fork.until is not None:
        place, log = fork.place, [*recorded(told)]
        state = made.state.fork()
        for item in log:
            fold.apply(state, item)
        fork = Fork.resumed(state, place, [item for item in log if item.seq > place.settled])
        told += fork.go_on(lambda: True)
        slices += 1
    assert slices > 3
    assert told == all_of_it
    assert (fork.now_ms, fork.played) == (whole.now_ms, 2)
    assert same(fork.state, whole.state)


def test_in_a_profile_of_kube_scheduler_groups_are_placed_as_it_would() -> None:
    """Of members of two shapes it tries one way only, and misses a place that there is."""
    fork = Fork(racks().state, 0, "upstream-1.36")
    fork.begin()
    told = fork.play(submit())
    assert {one.event.profile for one in told if isinstance(one.event, PodGroupPlaced)} == {"upstream-1.36"}


# ---------------------------------------------------------------- whatever is played

_NODES = [f"n{number}" for number in range(4)]
_GROUPS = ["default/g", "default/h", "default/a", "default/b"]
_place = st.one_of(
    st.sampled_from(_NODES).map(lambda name: {"node": name}),
    st.sampled_from(["r1", "r2"]).map(lambda name: {"key": RACK, "domain": name}),
)


def _made(name: str, **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Part]:
    return st.fixed_dictionaries(parts).map(lambda fields: step(name, **fields))


def _on(name: str, **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Part]:
    made = st.tuples(_place, st.fixed_dictionaries(parts))
    return made.map(lambda both: step(name, **both[0], **both[1]))


_a_submission = st.tuples(
    st.sampled_from(["h", "a", "b"]), st.integers(1, 4), st.integers(0, 4), st.sampled_from([RACK, RACK, ""])
).map(
    lambda one: submit(
        one[0], min_count=one[1], topology_key=one[3],
        templates=[{"count": one[1] + one[2] % 2, "requests": {"cpu": "1", GPU: str(one[2])}}],
    )
)  # fmt: skip
_group = st.sampled_from(_GROUPS)
_a_step = st.one_of(
    _a_submission,
    _a_submission,
    _on("lose_nodes"),
    _on("cordon"),
    _on("uncordon"),
    _on("set_ready", ready=st.booleans()),
    _on("remove_label", label=st.just(RACK)),
    _on("set_label", label=st.just(RACK), value=st.sampled_from(["r1", "r2", "r3"])),
    _on("change_gpu", product=st.just("X"), gpus=st.sampled_from([None, 2, 8])),
    _made("add_nodes", count=st.integers(1, 2), like=st.sampled_from(_NODES), key=st.just(RACK),
          domain=st.sampled_from(["r1", "r2", "r3"])),
    _made("recreate_members", group=_group, count=st.integers(1, 2)),
    _made("change_min_count", group=_group, min_count=st.integers(1, 3)),
    _made("end_group", group=_group),
    _made("add_members", group=_group, count=st.integers(1, 2)),
    _made("advance_clock", seconds=st.sampled_from([1, 30, 3600])),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(wanted=st.lists(_a_step, min_size=1, max_size=10), profile=st.sampled_from(["exact", "upstream-1.37"]))
def test_whatever_is_played_the_law_holds_and_the_log_tells_all_of_it(
    wanted: list[Part], profile: str
) -> None:
    made = racks(gang("h", 1), *members("h", 1, gpu=2))
    fork = forked(made, profile)
    told: list[Told] = []
    begun, at = fork.state.fork(), fork.now_ms
    for each in wanted:
        try:
            more = fork.play(each)
        except Refused:
            continue
        for item in recorded(more):
            if isinstance(item.event, PodGroupPlaced):
                _lawful(begun, item.event)
            fold.apply(begun, item)
        told += more
        assert same(begun, fork.state)
    assert [one.seq for one in told] == list(range(made.state.seq + 1, fork.state.seq + 1))
    assert [one.at for one in told] == sorted(one.at for one in told) and fork.now_ms >= at
    resumed = Fork.resumed(begun, fork.place, profile=profile)
    assert resumed.play(step("advance_clock", seconds=60)) == fork.play(step("advance_clock", seconds=60))


def _lawful(before: ClusterState, event: PodGroupPlaced) -> None:
    """Nobody is moved, nothing is over-filled, and an enforced group is in one domain."""
    key = f"{event.namespace}/{event.name}"
    asked: dict[str, Counter[str]] = {}
    for uid, _, name in event.assignments:
        assert before.pods[uid].node == ""
        asked.setdefault(name, Counter()).update(dict(before.pods[uid].shape.requests))
    for name, amounts in asked.items():
        free = before.free(name)
        assert all(free.get(resource, 0) >= amount for resource, amount in amounts.items())
    if event.enforced:
        places = [name for _, _, name in event.assignments]
        places += [pod.node for pod in before.members(key) if pod.node]
        assert {before.nodes[name].label(event.topology_key) for name in places} == {event.domain}
    bound = sum(1 for pod in before.members(key) if pod.node)
    assert bound + len(event.assignments) >= before.groups[key].min_count
