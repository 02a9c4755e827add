"""Preemption: who is proposed to go, that no less would do, and that nothing cheaper exists where it is said
to be proved.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.plans import KEY as BENCH_KEY
from bench.plans import full_cluster
from scheduling.engine.decide import decide
from scheduling.engine.model import NumaZone, Pod
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.preemption import (
    NoProposal,
    Proposal,
    Why,
    evicted,
    proposal,
    search,
)
from scheduling.engine.preemption_changes import Change, Outdated, outdated
from scheduling.engine.preemption_records import Cost
from scheduling.engine.queues import Queue
from scheduling.engine.reservations import Reservation
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from tests.engine.builders import RACK, ZONE, cluster, gang, members, node, pod
from tests.engine.neighbours import term, with_rules
from tests.engine.preemption_cases import KEY, cheapest, occupied, without

SEEDS = st.integers(0, 1 << 32)


def found(state: ClusterState) -> Proposal:
    made = search(state, KEY)
    assert isinstance(made, Proposal), made
    return made


def why(state: ClusterState) -> Why:
    made = search(state, KEY)
    assert isinstance(made, NoProposal), made
    return made.why


def names(made: Proposal) -> list[tuple[str, bool, list[str]]]:
    return [(v.key, v.whole, [name for _, name, _ in v.members]) for v in made.victims]


def waiting_group(count: int = 1, **more: object) -> list[object]:
    asked = {"gpu": 4, **more}
    return [gang("g", count, priority=5), *members("g", count, **asked)]


def holder(name: str, on: str, *, gpu: int = 4, priority: int = 0, **more: object) -> list[object]:
    """A gang of one member on a node; ``more``: fields of its PodGroup, and ``created`` of the member."""
    created = more.pop("created", 0)
    return [
        gang(name, 1, priority=priority, **more),
        pod(f"{name}-0", name, gpu=gpu, node=on, created=created),
    ]


# ---------------------------------------------------------------- who goes


def test_a_group_of_lower_priority_whose_end_makes_room() -> None:
    state = cluster(node("n1", gpu=4), holder("low", "n1"), waiting_group())

    made = found(state)

    assert names(made) == [("ml/low", True, ["low-0"])]
    assert (made.domain, made.placed, made.need) == ("r1", 1, 1)
    assert made.cost == Cost(ends=1, gpus=4, groups=1, members=1)
    assert made.proved_smallest
    assert proposal(state, KEY) == made


@pytest.mark.parametrize("priority", [5, 6])
def test_never_a_group_of_the_same_or_a_higher_priority(priority: int) -> None:
    state = cluster(node("n1", gpu=4), holder("other", "n1", priority=priority), waiting_group())

    assert why(state) is Why.NO_VICTIMS


def test_never_a_protected_group() -> None:
    state = cluster(
        node("n1", gpu=4), node("n2", gpu=4), holder("a", "n1", protected=True), holder("b", "n2"),
        waiting_group(),
    )  # fmt: skip

    assert names(found(state)) == [("ml/b", True, ["b-0"])]


def test_pods_without_a_podgroup_stay() -> None:
    state = cluster(node("n1", gpu=4), pod("alone", gpu=4, node="n1"), waiting_group())

    assert why(state) is Why.NO_VICTIMS


def test_an_elastic_gang_gives_members_beyond_min_count_before_any_group_ends() -> None:
    state = cluster(
        node("n1", gpu=4), node("n2", gpu=4), node("n3", gpu=1),
        gang("large", 1, priority=0, elastic=True),
        [pod(f"large-{n}", "large", gpu=4, node=on) for n, on in enumerate(["n1", "n2"])],
        holder("tiny", "n3", gpu=1),
        waiting_group(gpu=4),
    )  # fmt: skip

    made = found(state)

    assert (made.cost.ends, made.cost.members) == (0, 1)
    assert names(made)[0][:2] == ("ml/large", False)
    assert roster(evicted(state, made.victims), "ml/large").running


def test_an_elastic_gang_that_is_short_already_gives_none() -> None:
    state = cluster(
        node("n1", gpu=4), gang("large", 1, priority=0, elastic=True),
        pod("large-0", "large", gpu=4, node="n1"), waiting_group(),
    )  # fmt: skip

    assert names(found(state)) == [("ml/large", True, ["large-0"])]


def test_fewer_gpus_go_before_fewer_groups() -> None:
    state = cluster(
        node("n1", gpu=8), node("n2", "r2", gpu=8),
        holder("big", "n1", gpu=8), holder("a", "n2", gpu=2), holder("b", "n2", gpu=2),
        holder("firm", "n2", gpu=4, priority=9), waiting_group(),
    )  # fmt: skip

    made = found(state)

    assert [victim.key for victim in made.victims] == ["ml/a", "ml/b"]
    assert made.domain == "r2"


@pytest.mark.parametrize("rack", ["r1", "r2"])
def test_of_equal_ones_the_lowest_priority_goes_in_one_domain_or_in_several(rack: str) -> None:
    state = cluster(
        node("n1", "r1", gpu=4), node("n2", rack, gpu=4), holder("newer", "n1", priority=1, created=9_000),
        holder("old", "n2", priority=0), waiting_group(),
    )  # fmt: skip

    made = found(state)

    assert [victim.key for victim in made.victims] == ["ml/old"]
    assert made.proved_smallest


def test_of_equal_ones_the_youngest_goes() -> None:
    state = cluster(
        node("n1", gpu=8), holder("old", "n1", created=1_000), holder("young", "n1", created=9_000),
        waiting_group(),
    )  # fmt: skip

    assert [victim.key for victim in found(state).victims] == ["ml/young"]


def test_members_in_other_domains_go_too_and_count() -> None:
    state = cluster(
        node("n1", "r1", gpu=4), node("n2", "r2", gpu=4),
        gang("wide", 2, "", priority=0),
        [pod(f"wide-{n}", "wide", gpu=4, node=on) for n, on in enumerate(["n1", "n2"])],
        waiting_group(),
    )  # fmt: skip

    assert found(state).cost == Cost(ends=1, gpus=8, groups=1, members=2)


def test_members_on_nodes_pin_the_group_to_their_domain() -> None:
    state = cluster(
        node("n1", "r1", gpu=4), node("n2", "r1", gpu=4), node("n3", "r2", gpu=8),
        gang("g", 2, priority=5), pod("g-0", "g", gpu=4, node="n1"), pod("g-1", "g", gpu=4),
        holder("dear", "n2"), holder("cheap", "n3", gpu=1), holder("more", "n3", gpu=7),
    )  # fmt: skip

    made = found(state)

    assert [victim.key for victim in made.victims] == ["ml/dear"]
    assert made.domain == "r1"


def test_with_a_gate_off_the_whole_cluster_is_one_domain() -> None:
    state = cluster(
        node("n1", "r1", gpu=4), node("n2", "r2", gpu=4), holder("a", "n1"), holder("b", "n2"),
        waiting_group(2), gates=False,
    )  # fmt: skip

    made = found(state)

    assert [victim.key for victim in made.victims] == ["ml/a", "ml/b"]
    assert made.domain == ""


# ---------------------------------------------------------------- why there is none


@pytest.mark.parametrize(
    ("reason", "things"),
    [
        (Why.UNKNOWN, [node("n1")]),
        (Why.NOT_WAITING, [node("n1", gpu=4), gang("g", 1), pod("g-0", "g", gpu=4)]),
        (Why.NOT_WAITING, [node("n1", gpu=4), gang("g", 1), pod("g-0", "g", gpu=4, node="n1")]),
        (Why.HELD, [node("n1", gpu=4), gang("g", 2), pod("g-0", "g", gpu=4)]),
        (Why.NO_VICTIMS, [node("n1", gpu=2), gang("g", 1, priority=5), pod("g-0", "g", gpu=4)]),
        (
            Why.UNMODELLED,
            [node("n1", gpu=2), gang("g", 1, priority=5), pod("g-0", "g", gpu=4, unmodelled=("volumes",))],
        ),
    ],
)
def test_a_group_that_no_end_of_another_would_help(reason: Why, things: list[object]) -> None:
    assert why(cluster(*things)) is reason


def test_members_beyond_min_count_are_no_reason_to_end_anybody() -> None:
    state = cluster(
        node("n1", gpu=4), node("n2", gpu=4), holder("low", "n2"), gang("g", 1, priority=5),
        pod("g-0", "g", gpu=4, node="n1"), pod("g-1", "g", gpu=4),
    )  # fmt: skip

    assert why(state) is Why.NOT_WAITING


def test_what_fits_in_no_domain_even_without_them_is_proved() -> None:
    state = cluster(
        node("n1", "r1", gpu=4), node("n2", "r2", gpu=4), holder("a", "n1"), holder("b", "n2"),
        waiting_group(2),
    )  # fmt: skip

    assert why(state) is Why.TOO_LITTLE


def test_a_quota_is_no_room_that_others_could_make() -> None:
    state = cluster(
        node("n1", gpu=4),
        holder("low", "n1"),
        gang("g", 1, priority=5, queue="small"),
        pod("g-0", "g", gpu=4),
    )
    state.records.put(Queue("small", quota=2))

    assert why(state) is Why.QUOTA


def test_room_that_is_held_for_the_group_is_not_made_by_ending_others() -> None:
    """Half of the room is held for it, so the smaller of the two others does."""
    state = cluster(
        node("n1", gpu=8), holder("small", "n1", gpu=2), holder("large", "n1", gpu=4), waiting_group(2, gpu=2)
    )
    held = Reservation("r", RACK, "r1", "group", KEY, (("n1", ((("nvidia.com/gpu"), 2),)),), None, 1)
    state.reserve(held)
    made = search(state, KEY)

    assert isinstance(made, Proposal)
    assert [victim.key for victim in made.victims] == ["ml/small"]


def test_room_that_is_held_for_others_stays_theirs_when_victims_go() -> None:
    state = cluster(node("n1", gpu=4), holder("low", "n1", gpu=2), waiting_group(gpu=4))
    state.reserve(
        Reservation("r", RACK, "r1", "namespace", "other", (("n1", (("nvidia.com/gpu", 2),)),), None, 1)
    )

    assert why(state) is Why.TOO_LITTLE


def test_in_numa_zones_it_does_not_look() -> None:
    zones = (NumaZone("node-0", (("cpu", 8000), ("nvidia.com/gpu", 4))),)
    state = cluster(
        node("n1", gpu=4, zones=zones), holder("low", "n1"), gang("g", 1, NUMA_KEY, priority=5),
        pod("g-0", "g", gpu=4),
    )  # fmt: skip

    assert why(state) is Why.ZONES


def test_a_group_that_goes_first_in_the_queue_would_take_the_room() -> None:
    state = cluster(
        node("n1", gpu=4), holder("low", "n1"), waiting_group(),
        gang("first", 1, priority=9), pod("first-0", "first", gpu=4),
    )  # fmt: skip

    assert search(state, KEY) == NoProposal(Why.TAKEN, "ml/first")


def test_wanting_to_be_near_pods_that_would_go_is_never_called_proved() -> None:
    state = cluster(
        node("n1", gpu=4, ),
        gang("low", 1, priority=0), pod("low-0", "low", gpu=4, node="n1", labels=(("app", "x"),)),
        gang("g", 1, priority=5), with_rules(pod("g-0", "g", gpu=4), pod_affinity=(term(RACK, "x"),)),
    )  # fmt: skip

    assert why(state) is Why.NOT_FOUND


# ---------------------------------------------------------------- what is proposed, for random clusters


def holds(state: ClusterState, made: Proposal) -> None:
    """The group runs without the victims, and does not when one of them, or one of their members, stays."""
    after = evicted(state, made.victims)
    decision = decide(after, KEY)
    assert decision.placed
    assert (made.domain, made.placed, made.need) == (decision.domain, decision.fits, decision.need)
    for victim in made.victims:
        others = tuple(other for other in made.victims if other is not victim)
        assert not decide(evicted(state, others), KEY).placed
        for member in () if victim.whole else victim.members:
            fewer = replace(victim, members=tuple(one for one in victim.members if one != member))
            assert not decide(evicted(state, (*others, fewer)), KEY).placed


def are_allowed(state: ClusterState, made: Proposal) -> None:
    mine = roster(state, KEY).priority
    for victim in made.victims:
        group, who = state.groups[victim.key], roster(state, victim.key)
        assert victim.key != KEY
        assert not group.protected
        assert victim.priority == who.priority < mine
        bound = {(one.uid, one.name, one.node) for one in who.bound}
        assert set(victim.members) <= bound
        if victim.whole:
            assert set(victim.members) == bound
        else:
            assert group.elastic
            assert len(bound) - len(victim.members) >= group.min_count
        inside = {state.nodes[on].label(RACK) for _, _, on in victim.members}
        assert made.domain in inside or not made.domain


@given(SEEDS, st.integers(1, 2), st.booleans())
@settings(max_examples=150, deadline=None)
def test_what_is_proposed_does_and_none_of_it_can_be_left_out(seed: int, shapes: int, gates: bool) -> None:
    state = occupied(seed, shapes=shapes, gates=gates)
    made = proposal(state, KEY)
    if made is not None:
        holds(state, made)
        are_allowed(state, made)
        assert outdated(state, KEY, made.uid, made.victims) is None


@given(SEEDS, st.integers(1, 2), st.booleans())
@settings(max_examples=150, deadline=None)
def test_nothing_cheaper_exists_than_what_is_proved_smallest(seed: int, shapes: int, gates: bool) -> None:
    state = occupied(seed, shapes=shapes, gates=gates)
    made = search(state, KEY)
    if isinstance(made, Proposal):
        least = cheapest(state)
        assert least is not None
        assert made.cost >= least
        assert made.proved_smallest, "so small a case is gone through to the end"
        assert made.cost == least
    elif made.why in (Why.NO_VICTIMS, Why.TOO_LITTLE):
        assert cheapest(state) is None


def test_the_drawn_cases_are_not_all_of_one_sort() -> None:
    made = [search(occupied(seed, shapes=1 + seed % 2), KEY) for seed in range(200)]
    plans = [one for one in made if isinstance(one, Proposal)]

    assert {one.why for one in made if isinstance(one, NoProposal)} >= {Why.NO_VICTIMS, Why.TOO_LITTLE}
    assert len(plans) >= 50
    assert {plan.cost.ends for plan in plans} == {0, 1}
    assert max(plan.cost.groups for plan in plans) >= 3


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_looking_changes_nothing_and_gives_the_same_again(seed: int) -> None:
    state = occupied(seed)
    pods, groups, again = dict(state.pods), dict(state.groups), state.fork()

    first = search(state, KEY)

    assert (dict(state.pods), state.groups) == (pods, groups)
    assert search(again, KEY) == first


def test_many_victims_in_one_domain_are_searched_within_the_budget_and_none_can_be_left_out() -> None:
    state = cluster(
        [node(f"n{n:03}", gpu=8, labels={ZONE: "z1"}) for n in range(60)],
        [
            thing
            for n in range(60)
            for part in range(2)
            for thing in holder(f"v{n:03}-{part}", f"n{n:03}", gpu=3 + (n + part) % 2)
        ],
        gang("g", 30, ZONE, priority=5), members("g", 30, gpu=8),
    )  # fmt: skip

    made = found(state)

    assert made.cost.groups == 60
    holds(state, made)


def test_the_cheapest_of_many_domains_is_found_whichever_is_looked_at_first() -> None:
    """Two groups hold exactly the 96 GPUs that the members ask for, in few of 50 racks."""
    made = search(full_cluster("mixed", 0), BENCH_KEY)

    assert isinstance(made, Proposal)
    assert (made.cost.gpus, made.cost.groups) == (96, 2)


# ---------------------------------------------------------------- whether it still holds


def changed(state: ClusterState, made: Proposal) -> Outdated | None:
    return outdated(state, KEY, made.uid, made.victims)


def prepared() -> tuple[ClusterState, Proposal]:
    state = cluster(node("n1", gpu=4), holder("low", "n1"), waiting_group())
    return state, found(state)


def test_another_generation_of_the_group_is_another_group() -> None:
    state, made = prepared()
    state.close_group(KEY, made.uid)

    assert changed(state, made) == Outdated(Change.GROUP_CLOSED)


def test_a_victim_that_ended_or_changed_is_named() -> None:
    state, made = prepared()
    low = state.groups["ml/low"]

    for new, change in [
        (replace(low, protected=True), Change.VICTIM_PROTECTED),
        (replace(low, priority=7), Change.VICTIM_PRIORITY),
        (replace(low, uid="other"), Change.VICTIM_CLOSED),
    ]:
        ahead = state.fork()
        ahead.set_group(new)
        assert changed(ahead, made) == Outdated(change, "ml/low")


def test_a_victim_with_more_members_than_were_shown_is_another_price() -> None:
    state, made = prepared()
    state.set_node(node("n2", gpu=1))
    state.set_pod(pod("low-1", "low", gpu=1, node="n2"))

    assert changed(state, made) == Outdated(Change.VICTIM_CHANGED, "ml/low")


def test_an_elastic_gang_that_can_spare_no_more_is_told() -> None:
    state = cluster(
        node("n1", gpu=4), node("n2", gpu=4), gang("large", 1, priority=0, elastic=True),
        [pod(f"large-{n}", "large", gpu=4, node=on) for n, on in enumerate(["n1", "n2"])],
        waiting_group(),
    )  # fmt: skip
    made = found(state)
    left = next(one.uid for one in state.pods_naming("ml/large") if one.uid != made.victims[0].members[0][0])
    state.remove_pod(left)

    assert changed(state, made) == Outdated(Change.VICTIM_CHANGED, "ml/large")


def test_room_that_came_meanwhile_makes_it_needless() -> None:
    state, made = prepared()
    state.set_node(node("n2", gpu=4))

    assert changed(state, made) == Outdated(Change.NOT_NEEDED)


def test_a_node_that_left_makes_it_useless() -> None:
    state, made = prepared()
    state.set_node(node("n1", gpu=4, unschedulable=True))

    assert changed(state, made) == Outdated(Change.DOES_NOT_FIT)


def test_a_group_that_came_before_it_in_the_queue_is_named() -> None:
    state, made = prepared()
    state.set_group(gang("first", 1, priority=9))
    state.set_pod(pod("first-0", "first", gpu=4))

    assert changed(state, made) == Outdated(Change.TAKEN, "ml/first")


def test_the_slow_search_takes_pods_out_as_the_fast_one_does() -> None:
    """The reference is one only if it ends what ``evicted`` ends."""
    state, made = prepared()
    gone: tuple[Pod, ...] = tuple(state.pods[uid] for victim in made.victims for uid, _, _ in victim.members)

    assert (
        decide(without(state, gone), KEY).assignments == decide(evicted(state, made.victims), KEY).assignments
    )
