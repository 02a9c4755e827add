"""Queues: whose turn it is, and how far a quota lets a group go."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine import oracle
from scheduling.engine.change_steps import gpus
from scheduling.engine.decide import decide
from scheduling.engine.queue import waiting
from scheduling.engine.queues import Queue, QuotaCount
from scheduling.engine.quota import used
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import roster
from tests.engine.builders import cluster, gang, members, node, pod
from tests.engine.strategies import things

G = "ml/g"


def state_of(*things, queues=()):
    state = cluster(node("n1", gpu=8), node("n2", gpu=8), *things)
    for queue in queues:
        state.records.put(queue)
    return state


def test_a_group_over_quota_is_held_and_not_evaluated():
    state = state_of(gang("g", 2, queue="q"), members("g", 2, gpu=4), queues=[Queue("q", 0, 7)])
    held = decide(state, G)
    assert (held.verdict, held.reason) == (Verdict.HELD, Reason.QUOTA)
    assert held.quota == QuotaCount("q", 7, 0, 8)
    assert held.domains == ()


def test_a_group_that_asks_for_more_than_the_whole_quota_is_told_apart():
    """Its own members on nodes count: they do not make room for those that are missing."""
    more = state_of(gang("g", 2, queue="q"), members("g", 2, gpu=4), queues=[Queue("q", 0, 7)])
    assert decide(more, G).quota.never
    others = [gang("old", 1, queue="q"), pod("old-0", "old", node="n1", gpu=4)]
    full = state_of(gang("g", 1, queue="q"), members("g", 1, gpu=4), *others, queues=[Queue("q", 0, 7)])
    assert not decide(full, G).quota.never
    half = [pod("g-0", "g", node="n1", gpu=4), pod("g-1", "g", gpu=4)]
    shrunk = state_of(gang("g", 2, queue="q"), *half, queues=[Queue("q", 0, 7)])
    quota = decide(shrunk, G).quota
    assert (quota.used, quota.own, quota.asked, quota.never) == (4, 4, 4, True)


def test_what_others_of_the_queue_use_counts():
    others = [gang("old", 1, queue="q"), pod("old-0", "old", node="n1", gpu=4)]
    state = state_of(gang("g", 1, queue="q"), members("g", 1, gpu=4), *others, queues=[Queue("q", 0, 7)])
    assert decide(state, G).quota == QuotaCount("q", 7, 4, 4)
    state.remove_pod("pod-old-0")
    assert decide(state, G).placed


def test_beyond_min_count_as_many_are_placed_as_the_quota_leaves():
    state = state_of(gang("g", 2, queue="q"), members("g", 4, gpu=2), queues=[Queue("q", 0, 7)])
    decision = decide(state, G)
    assert decision.placed
    assert len(decision.assignments) == 3
    assert decision.members == 4
    assert decision.shapes[0].members == 4
    for uid, target in decision.assignments:
        state.bind(uid, target)
    assert decide(state, G).reason == Reason.QUOTA


def test_no_room_is_never_called_a_quota_nor_the_other_way_round():
    state = state_of(gang("g", 3, queue="q"), members("g", 3, gpu=8), queues=[Queue("q", 0, 100)])
    assert decide(state, G).verdict == Verdict.PROVED_INFEASIBLE
    state.records.put(Queue("q", 0, 23))
    assert decide(state, G).reason == Reason.QUOTA


def test_a_queue_that_is_not_defined_is_no_queue():
    state = state_of(gang("g", 1, queue="q"), members("g", 1, gpu=8))
    assert decide(state, G).placed


def test_where_members_differ_a_quota_makes_no_false_proof():
    """The member without GPUs fits nowhere; one with GPUs would."""
    wide = pod("g-0", "g", cpu=1_000_000)
    state = state_of(
        gang("g", 1, queue="q"),
        wide,
        pod("g-1", "g", gpu=4),
        pod("g-2", "g", gpu=5),
        queues=[Queue("q", 0, 4)],
    )
    assert decide(state, G).verdict == Verdict.PLACED
    state.set_pod(pod("g-1", "g", cpu=1_000_000, gpu=3))
    state.records.put(Queue("q", 0, 6))
    assert decide(state, G).verdict in (Verdict.NOT_FOUND, Verdict.PLACED)


def test_the_priority_of_the_queue_goes_first():
    groups = [gang("a", 1, priority=9), gang("b", 1, queue="high"), gang("c", 1, queue="low", priority=99)]
    pods = [members(name, 1) for name in "abc"]
    state = state_of(*groups, *pods, queues=[Queue("high", 5), Queue("low", -1)])
    assert waiting(state) == ["ml/b", "ml/a", "ml/c"]
    assert waiting(state, "upstream-1.37") == ["ml/c", "ml/a", "ml/b"]


def test_fair_queues_take_turns_by_the_part_of_their_quota_that_they_have():
    queues = [Queue("big", 0, 16, "fair"), Queue("small", 0, 8, "fair")]
    groups = [gang(f"b{n}", 1, queue="big", created=n) for n in range(3)]
    groups += [gang(f"s{n}", 1, queue="small", created=n) for n in range(2)]
    pods = [members(one.name, 1, gpu=4) for one in groups]
    state = state_of(*groups, *pods, gang("none", 1, created=9), members("none", 1), queues=queues)
    assert waiting(state) == ["ml/none", "ml/b0", "ml/s0", "ml/b1", "ml/b2", "ml/s1"]


@settings(max_examples=150, deadline=None)
@given(things(1) | things(3), st.integers(0, 6))
def test_no_decision_goes_over_the_quota_and_none_refuses_wrongly(made, quota):
    state = cluster(made)
    group = state.groups[G]
    state.set_group(gang(group.name, group.min_count, queue="q"))
    state.records.put(Queue("q", 0, quota))
    before = used(state, "q")
    decision = decide(state, G)
    if not roster(state, G).waiting:
        return
    if decision.placed:
        asked = gpus(tuple(state.pods[uid] for uid, _ in decision.assignments))
        assert asked == 0 or before + asked <= quota
        assert decision.bound + len(decision.assignments) >= decision.need
        counts = Counter(shape.members for shape in decision.shapes)
        assert sum(size * number for size, number in counts.items()) == decision.members
    elif decision.reason == Reason.QUOTA or decision.verdict == Verdict.PROVED_INFEASIBLE:
        assert not oracle.feasible(state, G)
