"""Preemption: nobody is evicted unless somebody approved it, and who approves gets what was shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.model import Node, Pod, PodGroup
from scheduling.engine.preemption import Why, search
from scheduling.engine.preemption_changes import Change
from scheduling.engine.preemption_records import PreemptionPlan, PreemptionTried
from scheduling.engine.queues import Queue
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.ledger import events as e
from scheduling.ledger import fold, snapshots
from scheduling.services import cycles, holding, preemption, preemption_tending, workloads
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.deciding import decided
from scheduling.services.preemption import (
    APPROVED_FOR,
    CHANGES,
    POLICY_OFF,
    PROPOSED_FOR,
    WHY,
    approve_events,
    open_plans,
    plan_for,
    policy_events,
    policy_of,
    propose_events,
    reject_events,
)
from scheduling.services.problems import Refused
from scheduling.services.queueing import define_queue_events, remove_queue_events
from scheduling.services.state import state_of
from scheduling.services.tending import tended
from scheduling.services.waking import Due, Looked, due
from scheduling.wording import messages
from tests.engine.builders import RACK, gang, members, node, pod
from tests.engine.preemption_cases import KEY, occupied
from tests.services import builders as made_of

EVICTING = (e.MemberEvicted, e.PodRemoved, e.PodGroupClosed)
SEEDS = st.integers(0, 1 << 32)

Thing = Node | Pod | PodGroup


def told(things: Sequence[Thing]) -> list[e.Event]:
    kinds: dict[type, Any] = {Node: e.NodeAdded, Pod: e.PodAdded, PodGroup: e.PodGroupCreated}
    return [kinds[type(thing)](thing) for thing in things]


def stream(*things: Any, mode: str = "simulated") -> MemoryStream:
    flat = [one for thing in things for one in (thing if isinstance(thing, list) else [thing])]
    made = MemoryStream(mode=mode)
    made.commit(told(flat))
    return made


def tend(made: MemoryStream, later: int = 0) -> list[e.Event]:
    """What follows at that many milliseconds after the beginning, committed."""
    news, _ = tended(made.state, made.now_ms + later, [preemption_tending])
    events = [followed.event for followed in news]
    made.commit(events)
    return events


def contended(**more: Any) -> MemoryStream:
    """``ml/low`` of priority 0 holds the one node that ``ml/g`` of priority 5 waits for; both were decided.
    ``more``: fields of the PodGroup ``ml/g``.
    """
    made = stream(
        node("n1", gpu=4), gang("low", 1, priority=0), pod("low-0", "low", gpu=4, node="n1"),
        gang("g", 1, priority=5, **more), pod("g-0", "g", gpu=4),
    )  # fmt: skip
    made.settle()
    return made


def switched(made: MemoryStream, mode: str, *queues: str) -> MemoryStream:
    """With the queues there."""
    for name in queues:
        made.commit(define_queue_events(made.state, Queue(name)))
    made.commit(policy_events(made.state, mode, queues))
    return made


def proposed(**more: Any) -> tuple[MemoryStream, str]:
    made = switched(contended(**more), "propose")
    made.commit(propose_events(made.state, KEY, made.now_ms))
    return made, open_plans(made.state)[0].id


def refusal(call: Any) -> str:
    with pytest.raises(Refused) as caught:
        call()
    return str(caught.value)


def on_nodes(state: ClusterState) -> dict[str, str]:
    return {uid: one.node for uid, one in state.pods.items() if one.node}


# ---------------------------------------------------------------- no cycle preempts


@given(SEEDS, st.integers(1, 2), st.sampled_from(["none", "off", "propose", "automatic"]))
@settings(max_examples=80, deadline=None)
def test_no_cycle_takes_a_pod_off_its_node(seed: int, shapes: int, mode: str) -> None:
    state = occupied(seed, shapes=shapes)
    state.set_group(replace(state.groups[KEY], queue="prod"))
    if mode != "none":
        fold.apply(state, e.QueueDefined(Queue("prod")), state.seq + 1)
        for event in policy_events(state, mode, ("prod",) if mode == "automatic" else ()):
            fold.apply(state, event, state.seq + 1)
    before, groups = on_nodes(state), set(state.groups)

    for now in range(3):
        for decision in decided(state, now):
            assert not isinstance(decision.event, EVICTING)
            fold.apply(state, decision.event, state.seq + 1, now)

    assert before.items() <= on_nodes(state).items()
    assert set(state.groups) == groups


@given(SEEDS, st.integers(1, 2), st.sampled_from(["none", "off", "propose"]))
@settings(max_examples=60, deadline=None)
def test_nothing_follows_by_itself_unless_the_policy_is_automatic(seed: int, shapes: int, mode: str) -> None:
    made = MemoryStream()
    made.state = occupied(seed, shapes=shapes)
    if mode != "none":
        switched(made, mode)
    made.settle()
    before = on_nodes(made.state)

    assert tend(made) == []
    assert on_nodes(made.state) == before


# ---------------------------------------------------------------- asked for, looked at, approved


def test_a_proposal_evicts_nobody() -> None:
    made, id = proposed()

    (plan,) = open_plans(made.state)
    event = made.events[-1]
    assert isinstance(event, e.PreemptionPlanned)
    assert plan.id == id == f"p{made.state.seq}"
    assert (plan.group, plan.seq, plan.approved) == (KEY, made.state.seq, False)
    assert plan.expires == made.now_ms + PROPOSED_FOR
    assert [victim.key for victim in plan.victims] == ["ml/low"]
    assert plan.decided_on == made.state.seq - 1
    assert on_nodes(made.state) == {"pod-low-0": "n1"}
    assert plan_for(made.state, KEY) == plan


def test_an_approval_evicts_by_events_and_the_next_cycle_places() -> None:
    made, id = proposed()
    seen = len(made.events)

    made.commit(approve_events(made.state, id, made.now_ms))

    assert made.events[seen:] == [
        e.PreemptionApproved("ml", "g", "group-g", 1, id, made.now_ms + APPROVED_FOR),
        e.MemberEvicted("ml", "low-0", "pod-low-0", "n1", "low", id, KEY),
        e.PodGroupClosed("ml", "low", "group-low", 1, "preempted"),
    ]
    assert on_nodes(made.state) == {}
    assert tend(made) == []
    assert [type(event) for event in made.settle()] == [e.PodGroupPlaced]
    assert tend(made) == [e.PreemptionCompleted("ml", "g", "group-g", 1, id, "r1", 1)]
    assert open_plans(made.state) == []


def test_members_of_an_elastic_gang_leave_and_wait_as_new_ones() -> None:
    made = stream(
        node("n1", gpu=4), node("n2", gpu=4), gang("large", 1, priority=0, elastic=True),
        [pod(f"large-{n}", "large", gpu=4, node=f"n{n + 1}") for n in range(2)],
        gang("g", 1, priority=5), pod("g-0", "g", gpu=4),
    )  # fmt: skip
    made.settle()
    switched(made, "propose")
    made.commit(propose_events(made.state, KEY, made.now_ms))
    made.commit(approve_events(made.state, open_plans(made.state)[0].id, made.now_ms))

    large = roster(made.state, "ml/large")
    assert large.running
    assert (len(large.bound), len(large.waiting)) == (1, 1)
    assert [type(event) for event in made.events[-2:]] == [e.MemberEvicted, e.PodAdded]
    made.settle()
    assert roster(made.state, KEY).running
    assert len(roster(made.state, "ml/large").waiting) == 1


def test_members_that_wait_go_with_the_group_that_ends() -> None:
    made = stream(
        node("n1", gpu=4), gang("low", 1, priority=0), pod("low-0", "low", gpu=4, node="n1"),
        pod("low-1", "low", gpu=4), gang("g", 1, priority=5), pod("g-0", "g", gpu=4),
    )  # fmt: skip
    switched(made, "propose")
    made.commit(propose_events(made.state, KEY, made.now_ms))
    made.commit(approve_events(made.state, open_plans(made.state)[0].id, made.now_ms))

    assert [(type(event), getattr(event, "name", "")) for event in made.events[-3:]] == [
        (e.MemberEvicted, "low-0"), (e.PodRemoved, "low-1"), (e.PodGroupClosed, "low"),
    ]  # fmt: skip
    assert made.state.pods_naming("ml/low") == []


def test_a_rejected_proposal_is_over() -> None:
    made, id = proposed()
    made.commit(reject_events(made.state, id))

    assert open_plans(made.state) == []
    assert "no open proposal" in refusal(lambda: approve_events(made.state, id, 0))


def test_approving_twice_evicts_once() -> None:
    made, id = proposed()
    made.commit(approve_events(made.state, id, made.now_ms))

    assert "approved already" in refusal(lambda: approve_events(made.state, id, made.now_ms))


def test_an_approved_group_does_not_rest_while_others_take_its_room() -> None:
    made, id = proposed()
    assert made.state.turns[KEY].attempts == 1
    seq = made.state.seq
    made.commit(approve_events(made.state, id, made.now_ms))

    recorded = list(made_of.as_recorded(made.events))[seq:]
    woken = due(made.state, recorded, Looked(seq, 1), 1)

    assert isinstance(woken, Due)
    assert KEY in woken.causes
    assert woken.resting == {}


def test_an_eviction_wakes_others_that_may_use_the_node() -> None:
    made, id = proposed()
    made.commit(told([gang("later", 1, priority=1), pod("later-0", "later", gpu=4)]))
    made.settle()
    seq = made.state.seq
    made.commit(approve_events(made.state, id, made.now_ms))
    later = made.state.turns["ml/later"].rests_until + 1

    woken = due(made.state, list(made_of.as_recorded(made.events))[seq:], Looked(seq, later), later)

    assert woken.causes["ml/later"] == seq + 2  # the eviction


# ---------------------------------------------------------------- what is refused


def test_with_the_policy_off_there_is_no_proposal() -> None:
    made = contended()

    assert policy_of(made.state).mode == "off"
    assert "preemption is off" in refusal(lambda: propose_events(made.state, KEY, 0))


def test_a_second_proposal_for_the_same_group_is_refused_while_one_is_open() -> None:
    made, id = proposed()

    assert f"proposal {id} for it is open" in refusal(lambda: propose_events(made.state, KEY, 0))


def test_where_there_is_nothing_to_propose_the_reason_is_told() -> None:
    made = switched(stream(node("n1", gpu=4), gang("g", 1, priority=5), pod("g-0", "g", gpu=8)), "propose")

    message = refusal(lambda: propose_events(made.state, KEY, 0))

    assert message == f"PodGroup ml/g: {WHY[Why.NO_VICTIMS]}"
    assert "no open PodGroup" in refusal(lambda: propose_events(made.state, "ml/none", 0))


def test_what_changed_since_is_told_instead_of_evicting() -> None:
    made, id = proposed()
    made.commit([e.PodAdded(pod("low-1", "low", gpu=0, node="n1"))])

    message = refusal(lambda: approve_events(made.state, id, made.now_ms))

    assert message == (
        f"PodGroup ml/g: proposal {id} does not hold any more: PodGroup ml/low has other members on nodes now"
    )


def test_in_an_observed_cluster_a_proposal_is_advice() -> None:
    made = switched(
        stream(
            node("n1", gpu=4), gang("low", 1, priority=0), pod("low-0", "low", gpu=4, node="n1"),
            gang("g", 1, priority=5), pod("g-0", "g", gpu=4), mode="observed",
        ),
        "propose",
    )  # fmt: skip
    made.commit(propose_events(made.state, KEY, made.now_ms))
    id = open_plans(made.state)[0].id

    assert "observed cluster is only read" in refusal(lambda: approve_events(made.state, id, 0))
    switched(made, "automatic", "prod")
    assert tend(made) == []


@pytest.mark.parametrize(
    ("mode", "queues", "field"),
    [
        ("sometimes", (), "mode"),
        ("automatic", (), "queues"),
        ("propose", ("prod",), "queues"),
        ("automatic", ("prod", " prod "), "queues"),
        ("automatic", ("",), "queues"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(mode: str, queues: tuple[str, ...], field: str) -> None:
    with pytest.raises(Refused) as caught:
        policy_events(ClusterState(), mode, queues)

    assert field in {problem.path for problem in caught.value.problems}


def test_the_same_policy_again_is_no_news() -> None:
    made = switched(stream(), "automatic", "b", "a")

    assert policy_of(made.state).queues == ("a", "b")
    assert policy_events(made.state, "automatic", ("a", "b")) == []
    assert policy_events(ClusterState(), "off", ()) == []


# ---------------------------------------------------------------- what follows


def ending(made: MemoryStream, later: int = 0) -> e.PreemptionExpired:
    (event,) = tend(made, later)
    assert isinstance(event, e.PreemptionExpired)
    assert open_plans(made.state) == []
    assert tend(made, later) == []
    return event


def test_a_proposal_that_nobody_approves_expires() -> None:
    made, _ = proposed()

    assert tended(made.state, made.now_ms)[1] == made.now_ms + PROPOSED_FOR
    assert tend(made, PROPOSED_FOR - 1) == []
    assert ending(made, PROPOSED_FOR).reason == "time"


def test_a_proposal_that_does_not_hold_any_more_is_outdated() -> None:
    made, _ = proposed()
    made.commit([e.NodeAdded(node("n2", gpu=4))])

    event = ending(made)

    assert (event.reason, event.change, event.group) == ("outdated", Change.NOT_NEEDED, "")


def test_a_proposal_names_the_victim_that_changed() -> None:
    made, _ = proposed()
    made.commit([e.PodGroupUpdated("ml", "low", "group-low", 1, (("protected", True),))])

    event = ending(made)

    assert (event.change, event.group) == (Change.VICTIM_PROTECTED, "ml/low")


def test_switching_preemption_off_ends_open_proposals() -> None:
    made, id = proposed()
    switched(made, "off")

    assert "switched off" in refusal(lambda: approve_events(made.state, id, 0))
    assert ending(made).change == POLICY_OFF


def test_the_end_of_the_group_that_waits_ends_its_proposal_approved_or_not() -> None:
    for approved in (False, True):
        made, id = proposed()
        if approved:
            made.commit(approve_events(made.state, id, made.now_ms))
        made.commit([e.PodGroupClosed("ml", "g", "group-g", 1, "ended")])

        assert ending(made).change == Change.GROUP_CLOSED


def test_a_group_that_is_not_placed_in_time_is_told() -> None:
    made, id = proposed()
    made.commit(approve_events(made.state, id, made.now_ms))
    made.commit([e.NodeUpdated("n1", "node-n1", (("unschedulable", True),))])
    made.settle()

    assert tend(made, APPROVED_FOR - 1) == []
    assert ending(made, APPROVED_FOR).reason == "not_placed"


# ---------------------------------------------------------------- the automatic mode


def test_the_policy_acts_for_its_queues_only() -> None:
    for queue, acts in (("prod", True), ("other", False), ("", False)):
        made = switched(contended(queue=queue), "automatic", "prod")

        events = [type(event) for event in tend(made)]

        wanted = [e.PreemptionPlanned, e.PreemptionApproved, e.MemberEvicted, e.PodGroupClosed]
        assert events == (wanted if acts else [])


def test_a_policy_names_queues_that_are_there() -> None:
    made = stream()
    with pytest.raises(Refused) as caught:
        policy_events(made.state, "automatic", ("prod", "x" * 70_000))
    assert {(problem.path, problem.reason) for problem in caught.value.problems} == {
        ("queues", "FieldValueInvalid")
    }

    switched(made, "automatic", "prod")
    assert "the preemption policy names it" in refusal(lambda: remove_queue_events(made.state, "prod"))
    switched(made, "off")
    made.commit(remove_queue_events(made.state, "prod"))
    assert "prod" not in made.state.records.of(Queue)


def test_for_a_queue_that_is_not_there_the_policy_does_not_act() -> None:
    """A log of before queues had to be there may hold such a policy; its groups are in no queue."""
    made = contended(queue="prod")
    made.commit([e.PreemptionPolicyChanged("automatic", ("prod",))])
    assert tend(made) == []
    made.commit(define_queue_events(made.state, Queue("prod")))
    assert e.PreemptionApproved in [type(event) for event in tend(made)]


def test_what_the_policy_did_is_told_and_the_cycle_places() -> None:
    made = switched(contended(queue="prod"), "automatic", "prod")
    decision = made.state.turns[KEY].seq

    planned, approved, evicted, _ = tend(made)

    assert isinstance(planned, e.PreemptionPlanned)
    assert isinstance(approved, e.PreemptionApproved)
    assert isinstance(evicted, e.MemberEvicted)
    assert (planned.decision, approved.automatic) == (decision, True)
    assert planned.id == approved.id == evicted.plan == f"p{made.state.seq - 3}"
    assert tend(made) == []
    made.settle()
    assert roster(made.state, KEY).running
    assert [type(event) for event in tend(made)] == [e.PreemptionCompleted]


def test_the_policy_looks_once_for_each_decision_and_says_what_it_did_not_find() -> None:
    made = stream(node("n1", gpu=2), gang("g", 2, priority=5, queue="prod"), members("g", 2, gpu=4))
    made.settle()
    switched(made, "automatic", "prod")
    decision = made.state.turns[KEY].seq

    assert tend(made) == [e.PreemptionNotFound("ml", "g", "group-g", 1, decision, "no_victims")]
    assert tend(made) == []
    made.commit([e.NodeAdded(node("n2", gpu=4))])
    made.settle()
    assert made.state.turns[KEY].seq > decision
    assert [type(event) for event in tend(made)] == [e.PreemptionNotFound]


def test_the_policy_makes_room_for_one_group_after_the_other() -> None:
    made = stream(
        [node(f"n{n}", gpu=4) for n in range(2)],
        *[
            [gang(f"low{n}", 1, priority=0), pod(f"low{n}-0", f"low{n}", gpu=4, node=f"n{n}")]
            for n in range(2)
        ],
        *[[gang(f"g{n}", 1, priority=5, queue="prod"), pod(f"g{n}-0", f"g{n}", gpu=4)] for n in range(2)],
    )
    made.settle()
    switched(made, "automatic", "prod")

    first = [event for event in tend(made) if isinstance(event, e.MemberEvicted)]
    assert tend(made) == []
    made.settle()
    second = [event for event in tend(made) if isinstance(event, e.MemberEvicted)]
    made.settle()

    assert (len(first), len(second)) == (1, 1)
    assert roster(made.state, "ml/g0").running
    assert roster(made.state, "ml/g1").running


@given(SEEDS, st.integers(1, 2))
@settings(max_examples=60, deadline=None)
def test_an_approved_proposal_makes_its_group_run_whatever_the_cluster(seed: int, shapes: int) -> None:
    made = MemoryStream()
    made.state = occupied(seed, shapes=shapes)
    made.settle()
    switched(made, "propose")
    try:
        made.commit(propose_events(made.state, KEY, made.now_ms))
    except Refused:
        assert not hasattr(search(made.state, KEY), "victims")
        return
    (plan,) = open_plans(made.state)
    others = on_nodes(made.state).keys() - {uid for victim in plan.victims for uid, _, _ in victim.members}

    made.commit(approve_events(made.state, plan.id, made.now_ms))
    assert on_nodes(made.state).keys() == others
    made.settle()

    assert roster(made.state, KEY).running
    assert [type(event) for event in tend(made)] == [e.PreemptionCompleted]


# ---------------------------------------------------------------- the log, the tables


def test_every_reason_has_a_sentence_that_is_translated() -> None:
    assert set(WHY) == set(Why)
    assert set(CHANGES) == {*Change, POLICY_OFF}
    known = set(messages.SENTENCES)
    assert {*WHY.values(), *CHANGES.values()} <= known


def test_a_snapshot_keeps_policy_proposals_and_what_was_looked_at() -> None:
    made, id = proposed()
    switched(made, "automatic", "prod")
    made.commit([e.PreemptionNotFound("ml", "g", "group-g", 1, 5, "taken", "ml/first")])

    back = snapshots.unpack(snapshots.pack(made.state))

    assert open_plans(back) == open_plans(made.state)
    assert policy_of(back) == policy_of(made.state)
    assert dict(back.records.of(PreemptionTried)) == {KEY: PreemptionTried(KEY, "group-g", 5)}
    assert isinstance(approve_events(back, id, 0)[0], e.PreemptionApproved)


def test_proposing_and_approving_move_log_and_tables_together(make: Any, tables_agree: Any) -> None:
    cluster = make(
        made_of.node("n1", gpu=4), made_of.gang("low", 1, priority=0),
        made_of.pod("low-0", "low", gpu=4), made_of.gang("g", 1, priority=5),
    )  # fmt: skip
    cycles.run_cycle(cluster.pk)
    workloads.submit_manifests(
        cluster=cluster, data=made_of.text(made_of.pod("g-0", "g", gpu=4)), actor="tester"
    )
    cycles.run_cycle(cluster.pk)
    preemption.set_policy(cluster=cluster, mode="propose", actor="admin")
    done = preemption.propose(cluster=cluster, namespace="default", name="g", actor="ann", command_id="one")
    again = preemption.propose(cluster=cluster, namespace="default", name="g", actor="ann", command_id="one")
    assert (again.repeated, again.first_seq) == (True, done.first_seq)
    (plan,) = open_plans(state_of(cluster))
    assert plan.seq == done.first_seq

    preemption.approve(cluster=cluster, id=plan.id, actor="ann")
    tables_agree(cluster)
    cycles.run_cycle(cluster.pk)

    state = state_of(cluster)
    assert roster(state, "default/g").running
    assert open_plans(state) == []
    tables_agree(cluster)


def test_an_automatic_policy_acts_in_the_cycle_after_its_decisions(make: Any, tables_agree: Any) -> None:
    cluster = make(
        made_of.node("n1", gpu=4), made_of.gang("low", 1, priority=0), made_of.pod("low-0", "low", gpu=4)
    )
    cycles.run_cycle(cluster.pk)
    holding.define_queue(cluster=cluster, queue=Queue("prod"), actor="admin")
    preemption.set_policy(cluster=cluster, mode="automatic", queues=["prod"], actor="admin")
    manifest = made_of.gang("g", 1, priority=5)
    manifest["metadata"]["annotations"] = {"tas-console/queue": "prod"}
    workloads.submit_manifests(
        cluster=cluster, data=made_of.text(manifest, made_of.pod("g-0", "g", gpu=4)), actor="tester"
    )

    cycles.run_cycle(cluster.pk)
    assert [plan.approved for plan in state_of(cluster).records.of(PreemptionPlan).values()] == [True]
    cycles.run_cycle(cluster.pk)

    state = state_of(cluster)
    assert roster(state, "default/g").running
    assert "default/low" not in state.groups
    assert open_plans(state) == []
    tables_agree(cluster)


def test_members_of_a_gang_that_ends_leave_the_map_of_nodes(make: Any) -> None:
    """``MemberEvicted`` frees the node in state and tables alike; the agreement above compares both."""
    made = stream(node("n1", gpu=4), gang("low", 2, RACK, priority=0), members("low", 2, gpu=2, node="n1"))
    made.commit([e.MemberEvicted("ml", "low-0", "pod-low-0", "n1", "low", "p9", KEY)])

    assert made.state.free("n1")["nvidia.com/gpu"] == 2
