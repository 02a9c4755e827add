"""Room that is held for somebody: nobody else gets it, the holder does, and without reservations nothing is
otherwise.
"""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine import numa_names, oracle
from scheduling.engine.changes import change_sets
from scheduling.engine.decide import decide
from scheduling.engine.holds import seen_by
from scheduling.engine.model import NumaZone
from scheduling.engine.numa import zone_rooms
from scheduling.engine.queues import Queue
from scheduling.engine.reasons import Verdict
from scheduling.engine.reservations import Reservation
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from tests.engine.builders import GPU, RACK, cluster, gang, members, node, pod
from tests.engine.neighbours import host, term, with_rules
from tests.engine.strategies import Thing, things

G = "ml/g"


def held(name="r-1", kind="group", holder="ml/other", made=1, **nodes):
    """A reservation in rack r1; ``nodes``: GPUs by node."""
    amounts = tuple(sorted((node, ((GPU, gpus),)) for node, gpus in nodes.items()))
    return Reservation(name, RACK, "r1", kind, holder, amounts, None, made)


def two_nodes(*more):
    return cluster(node("n1", gpu=8), node("n2", gpu=8), *more)


def test_nobody_else_is_placed_on_what_is_held():
    state = two_nodes(gang("g", 2), members("g", 2, gpu=8))
    state.reserve(held(n1=8))
    refused = decide(state, G)
    assert refused.verdict == Verdict.PROVED_INFEASIBLE
    assert refused.domains[0].fits == 1
    assert ("reserved:r-1", 1) in refused.domains[0].causes
    state.unreserve("r-1")
    assert decide(state, G).placed


def test_the_holder_is_placed_on_what_is_held_for_it():
    state = two_nodes(gang("g", 2), members("g", 2, gpu=8))
    for kind, holder in (("group", G), ("namespace", "ml")):
        state.reserve(held(kind=kind, holder=holder, n1=8, n2=8))
        assert decide(state, G).placed


def test_a_queue_holds_for_the_groups_in_it_and_for_as_long_as_they_are_in_it():
    state = two_nodes(gang("g", 1, queue="research"), members("g", 1, gpu=8))
    state.reserve(held(kind="queue", holder="research", n1=8, n2=8))
    assert decide(state, G).placed
    state.set_group(gang("g", 1))
    assert not decide(state, G).placed


def test_what_the_holder_uses_counts_as_used_of_what_is_held():
    state = two_nodes(gang("g", 1), members("g", 1, gpu=4), pod("mine", "other", node="n1", gpu=6))
    state.reserve(held(n1=8))
    assert state.held("n1") == {GPU: 2}
    assert state.free("n1")[GPU] == 2
    state.remove_pod("pod-mine")
    assert state.held("n1") == {GPU: 8}


def test_one_pod_uses_one_reservation_the_narrowest_first():
    state = two_nodes(pod("mine", "other", node="n1", gpu=4))
    state.reserve(held("r-1", "namespace", "ml", made=1, n1=4))
    state.reserve(held("r-2", "group", "ml/other", made=2, n1=4))
    assert {id: dict(rest) for id, rest in state.holds.rests("n1").items()} == {"r-2": {}, "r-1": {GPU: 4}}


def test_a_node_that_comes_back_holds_again():
    state = two_nodes()
    state.reserve(held(n1=8))
    state.remove_node("n1", "node-n1")
    state.set_node(node("n1", gpu=8))
    assert state.held("n1") == {GPU: 8}


def test_what_is_held_makes_no_node_over_committed():
    state = two_nodes(pod("stranger", node="n1", gpu=4))
    state.reserve(held(n1=8))
    assert state.over_committed() == ()
    assert state.used("n1")[GPU] == 4


def test_kube_scheduler_knows_of_no_reservation():
    state = two_nodes(gang("g", 2), members("g", 2, gpu=8))
    state.reserve(held(n1=8))
    assert decide(state, G, profile="upstream-1.37").placed


def test_members_that_shun_each_other_find_held_room_taken_too():
    apart = [
        replace(with_rules(one, pod_anti_affinity=(term(),)), labels=(("app", "a"),))
        for one in members("g", 2, gpu=8)
    ]
    state = cluster([host("n1", gpu=8), host("n2", gpu=8)], gang("g", 2), apart)
    assert decide(state, G).placed
    state.reserve(held(n1=8))
    assert decide(state, G).verdict == Verdict.PROVED_INFEASIBLE
    state.reserve(held(holder=G, n1=8))
    assert decide(state, G).placed


def test_what_is_held_may_be_in_any_numa_zone():
    zones = tuple(NumaZone(f"z{number}", (("cpu", 4000), (GPU, 4))) for number in range(2))
    state = cluster(node("n1", gpu=8, zones=zones), gang("g", 2, numa_names.NUMA_KEY), members("g", 2, gpu=2))
    assert decide(state, G).placed
    state.reserve(held(n1=4))
    assert [dict(room.free)[GPU] for room in zone_rooms(state)] == [0, 0]
    assert decide(state, G).verdict == Verdict.NOT_FOUND
    state.reserve(held(n1=8))
    assert decide(state, G).verdict == Verdict.PROVED_INFEASIBLE
    state.reserve(held(holder=G, n1=8))
    assert decide(state, G).placed


def test_change_sets_respect_what_is_held():
    state = two_nodes(
        gang("g", 1), members("g", 1, gpu=8), gang("busy", 1), members("busy", 1, gpu=8, node="n2")
    )
    state.reserve(held(n1=8))
    codes = [[step.code for step in each.steps] for each in change_sets(state, G)]
    assert ["end_group"] in codes
    assert ["release_reservation"] in codes
    state.reserve(held("r-2", holder="ml/busy", n2=8))
    assert ["end_group"] not in [[step.code for step in each.steps] for each in change_sets(state, G)]


def test_what_is_held_for_the_group_itself_is_never_proposed_to_be_released():
    state = two_nodes(gang("g", 3), members("g", 3, gpu=8))
    state.reserve(held(holder=G, n1=8, n2=8))
    assert all(step.code != "release_reservation" for each in change_sets(state, G) for step in each.steps)


HOLDERS = [("group", G), ("group", "ml/x"), ("namespace", "ml"), ("namespace", "b"), ("queue", "q")]


@st.composite
def reservations(draw: st.DrawFn, names: list[str]) -> list[Reservation]:
    made = []
    for number in range(draw(st.integers(1, 3))):
        kind, holder = draw(st.sampled_from(HOLDERS))
        amounts = []
        for name in draw(st.lists(st.sampled_from([*names, "gone"]), unique=True, max_size=3)):
            some = {GPU: draw(st.integers(0, 3)), "cpu": draw(st.sampled_from([0, 500, 2000])), "pods": 1}
            amounts.append((name, tuple(sorted((key, value) for key, value in some.items() if value))))
        made.append(
            Reservation(f"r-{number}", RACK, "r1", kind, holder, tuple(sorted(amounts)), None, number)
        )
    return made


@st.composite
def held_clusters(draw: st.DrawFn, shapes: int = 1) -> tuple[list[Thing], list[Reservation]]:
    made = draw(things(shapes))
    names = [one.name for one in made if hasattr(one, "allocatable")]
    if draw(st.booleans()):
        made = [replace(one, queue="q") if hasattr(one, "min_count") else one for one in made]
    return made, draw(reservations(names))


def built(drawn: tuple[list[Thing], list[Reservation]]) -> ClusterState:
    state = cluster(drawn[0])
    for each in drawn[1]:
        state.reserve(each)
    return state


@settings(max_examples=150, deadline=None)
@given(held_clusters() | held_clusters(shapes=2))
def test_what_is_placed_is_what_the_exhaustive_reference_has_room_for(drawn):
    state = built(drawn)
    decision = decide(state, G)
    if not roster(state, G).waiting or decision.verdict in (Verdict.HELD, Verdict.CONFLICTED):
        return
    if decision.verdict == Verdict.PROVED_INFEASIBLE:
        assert not oracle.feasible(state, G)
        return
    if not decision.placed:
        return
    before = {name: oracle.held(state, one, G) for name, one in state.nodes.items()}
    used = Counter(target for _, target in decision.assignments)
    for uid, target in decision.assignments:
        state.bind(uid, target)
    for name in used:
        left = oracle.free(state, state.nodes[name])
        asked = {key for uid, target in decision.assignments if target == name
                 for key, _ in state.pods[uid].shape.requests}  # fmt: skip
        assert all(left[resource] >= before[name][resource] for resource in asked)


@settings(max_examples=100, deadline=None)
@given(held_clusters(), st.data())
def test_what_is_held_is_the_same_whatever_happened_before(drawn, data):
    """Counted as the pods come and go, and counted at once."""
    state = built(drawn)
    for uid in data.draw(st.lists(st.sampled_from([*sorted(state.pods), ""]), max_size=4)):
        one = state.pods.get(uid)
        if one is not None:
            state.set_pod(replace(one, node=data.draw(st.sampled_from([*sorted(state.nodes), ""]))))
    anew = ClusterState()
    anew.gates = dict(state.gates)
    for thing in (*state.nodes.values(), *state.groups.values(), *state.pods.values()):
        {"Node": anew.set_node, "PodGroup": anew.set_group, "Pod": anew.set_pod}[type(thing).__name__](thing)
    for each in drawn[1]:
        anew.reserve(each)
    for name, one in state.nodes.items():
        assert (
            state.held(name)
            == anew.held(name)
            == +sum((Counter(dict(rest)) for rest in state.holds.rests(name).values()), Counter())
        )
        assert state.free(name) == anew.free(name)
        # What a stranger finds is what the reference has for it.
        there = seen_by(state, "b/nobody")
        for resource, amount in oracle.held(state, one, "b/nobody").items():
            row = there.columns.slot[name]
            assert there.columns.free[resource][row] == oracle.free(state, one)[resource] - amount


@settings(max_examples=100, deadline=None)
@given(things(2))
def test_a_reservation_that_came_and_went_leaves_nothing_behind(made):
    state, touched = cluster(made), cluster(made)
    touched.reserve(held(n0=2, n1=3))
    touched.fork().unreserve("r-1")
    touched.unreserve("r-1")
    assert decide(state, G) == decide(touched, G)
    assert not touched.holds


def test_records_of_queues_alone_change_no_decision_of_groups_without_one():
    state = two_nodes(gang("g", 2), members("g", 2, gpu=8))
    before = decide(state, G)
    state.records.put(Queue("q", 5, 0))
    assert decide(state, G) == before
