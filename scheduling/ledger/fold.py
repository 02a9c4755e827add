"""From events to the state of a cluster."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import singledispatch
from typing import Any, cast, get_args

from django.db import connection

from scheduling.engine import lost
from scheduling.engine.decision import VerdictSummary
from scheduling.engine.node_types import KEPT, NodeType, PlanStatus, ScaleUpPlan
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.past import Closed
from scheduling.engine.preemption_records import PreemptionPlan, PreemptionPolicy, PreemptionTried
from scheduling.engine.queues import Queue
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.turns import Turn
from scheduling.engine.waits import MarkedLost, StickyWait, WaitDeadline, WaitPolicy
from scheduling.ledger import archives, bases, snapshot_store, store
from scheduling.ledger import events as e
from scheduling.ledger.store import Recorded

_STOPS = 16
"""Snapshots left behind on a long way, at most."""


class BrokenHistory(ValueError):
    """An event speaks of an object that the events before it do not know."""


def apply(state: ClusterState, recorded: Recorded | e.Event, seq: int | None = None, at: int = 0) -> None:
    """Change ``state`` by one event. ``seq``, ``at``: its place in the log and its time in milliseconds, for
    an event that is not recorded yet.

    Raises BrokenHistory; ``state`` is as it was then.
    """
    if isinstance(recorded, Recorded):
        _apply(state, recorded.event, recorded.seq, recorded.recorded_at, recorded.cause)
    else:
        _apply(state, recorded, seq, at, None)


def _apply(state: ClusterState, event: e.Event, seq: int | None, at: int, cause: int | None) -> None:
    kind = type(event)
    # singledispatch's own look-up takes the time of a rule; no event type derives from another.
    _RULES.get(kind, _change)(event, state)
    if seq is not None:
        state.seq = seq
    if kind in _DECISIONS:
        _take_turn(state, cast(_Decision, event), at, cause)
    elif kind is e.DomainLost:
        event = cast(e.DomainLost, event)
        loss = lost.Lost(event.uid, event.domain, event.nodes, state.seq)
        state.lost[f"{event.namespace}/{event.name}"] = loss
    elif isinstance(event, e.StickyWaitStarted):
        key = f"{event.namespace}/{event.name}"
        state.records.put(
            StickyWait(key, event.uid, event.topology_key, event.domain, event.since, state.seq)
        )


def fold(state: ClusterState, recorded: Iterable[Recorded]) -> ClusterState:
    """``state`` itself, changed by all of the events."""
    with _uncollected():
        for item in recorded:
            _apply(state, item.event, item.seq, item.recorded_at, item.cause)
    return state


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's search for cycles, which takes a tenth of the time of a long fold: a fold makes no
    cycles.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def state_at(stream_id: int, seq: int | None = None) -> ClusterState:
    """The state after event ``seq`` of the stream, or after its last one: the nearest snapshot or base, and
    the events after it. LookupError for a seq not reached yet and where events on the way are missing, its
    kind Archived for one that is in a file; UnreadableBase.

    A way that is long all the same leaves snapshots behind it, unless it is gone inside of a transaction.
    """
    upto = _reached(stream_id, seq)
    while True:
        begin = archives.begin(stream_id)
        state = bases.nearest(stream_id, upto).state
        try:
            return _follow(state, stream_id, upto)
        except archives.Archived:
            if archives.begin(stream_id) == begin:
                raise
            # Taken out of the table while it was read: there is a later base.


def _follow(state: ClusterState, stream_id: int, upto: int) -> ClusterState:
    saved, far = state.seq, (upto - state.seq) // _STOPS
    may_save = not connection.in_atomic_block
    with _uncollected():
        for recorded in _all(stream_id, state.seq, upto):
            apply(state, recorded)
            if may_save and state.seq - saved > max(far, snapshot_store.SPACING):
                saved = state.seq
                snapshot_store.save(stream_id, state, recorded.hash)
    return state


def state_from_zero(stream_id: int, seq: int | None = None) -> ClusterState:
    """As ``state_at``, of the events alone (and the base, where some are archived): what every snapshot must
    agree with.
    """
    upto = _reached(stream_id, seq)
    if upto == 0:
        return ClusterState()
    archives.refuse(stream_id, upto + 1)  # of the last one that is archived the base tells
    state = bases.beginning(stream_id).state
    return fold(state, _all(stream_id, state.seq, upto))


def _all(stream_id: int, after: int, upto: int) -> Iterator[Recorded]:
    for recorded in store.read(stream_id, after=after, upto=upto):
        if recorded.seq != after + 1:
            break
        after = recorded.seq
        yield recorded
    if after != upto:
        raise LookupError(f"event {after + 1} of stream {stream_id} is not in this database")


def _reached(stream_id: int, seq: int | None) -> int:
    head = store.head(stream_id).seq
    upto = head if seq is None else seq
    if not 0 <= upto <= head:
        raise LookupError(f"stream {stream_id} is at {head}: there is no state at {upto}")
    return upto


def seq_at(stream_id: int, at: int) -> int:
    """The last seq recorded at or before ``at`` (milliseconds since the epoch), 0 when there is none: the
    state at a time is ``state_at(stream, seq_at(stream, at))``. See ``store.seq_at``.
    """
    return store.seq_at(stream_id, at)


@singledispatch
def _change(event: e.Event, state: ClusterState) -> None:
    raise NotImplementedError(f"no rule for {type(event).__name__}")


@_change.register
def _cluster_registered(event: e.ClusterRegistered, state: ClusterState) -> None:
    state.mode = event.mode
    for name, on in event.gates:
        state.set_gate(name, on)


@_change.register
def _cluster_mode_changed(event: e.ClusterModeChanged, state: ClusterState) -> None:
    state.mode = event.mode


@_change.register
def _feature_gate_changed(event: e.FeatureGateChanged, state: ClusterState) -> None:
    state.set_gate(event.gate, event.enabled)


@_change.register(e.SnapshotImported)
@_change.register(e.EventsArchived)
@_change.register(e.EventsRestored)
@_change.register(e.DomainLost)
@_change.register(e.StickyWaitStarted)
@_change.register(e.ScenarioSaved)
@_change.register(e.ScenarioRemoved)
@_change.register(e.RunRequested)
@_change.register(e.RunCancelled)
@_change.register(e.RunEnded)
def _no_change(event: e.Event, state: ClusterState) -> None:
    """Nothing; ``apply`` keeps a lost domain and a wait with their seq. What is tried out changes nothing."""


@_change.register
def _workload_added(event: e.WorkloadAdded, state: ClusterState) -> None:
    state.past.see(event.workload)


@_change.register
def _node_added(event: e.NodeAdded, state: ClusterState) -> None:
    lost.node_changes(state, event.node.name, event.node)
    state.set_node(event.node)


@_change.register
def _node_updated(event: e.NodeUpdated, state: ClusterState) -> None:
    node = state.nodes.get(event.name)
    if node is None or node.uid != event.uid:
        raise BrokenHistory(f"node {event.name} ({event.uid}) changed, but it is not there")
    new = event.changed(node)
    lost.node_changes(state, event.name, new)
    state.set_node(new)


@_change.register
def _node_removed(event: e.NodeRemoved, state: ClusterState) -> None:
    # Pods that were bound to it stay as they are: facts, until something is known of them.
    node = state.nodes.get(event.name)
    if node is not None and node.uid == event.uid:
        lost.node_changes(state, event.name, None)
    state.remove_node(event.name, event.uid)


@_change.register
def _pod_group_created(event: e.PodGroupCreated, state: ClusterState) -> None:
    state.set_group(event.group)


@_change.register
def _pod_group_updated(event: e.PodGroupUpdated, state: ClusterState) -> None:
    group = state.groups.get(f"{event.namespace}/{event.name}")
    if group is None or group.uid != event.uid:
        raise BrokenHistory(
            f"PodGroup {event.namespace}/{event.name} ({event.uid}) changed, but it is not open"
        )
    state.set_group(event.changed(group))


@_change.register
def _pod_group_closed(event: e.PodGroupClosed, state: ClusterState) -> None:
    key = f"{event.namespace}/{event.name}"
    state.close_group(key, event.uid)
    state.records.drop(PreemptionTried, key)
    _drop_deadline(state, key, event.uid)
    state.past.end(key, Closed(event.generation, event.uid))


@_change.register
def _pod_added(event: e.PodAdded, state: ClusterState) -> None:
    state.set_pod(event.pod)
    if event.pod.node and event.pod.group:
        _may_have_ended_a_wait(state, event.pod.group_key)


@_change.register
def _pod_updated(event: e.PodUpdated, state: ClusterState) -> None:
    pod = state.pods.get(event.uid)
    if pod is None:
        raise BrokenHistory(f"pod {event.namespace}/{event.name} ({event.uid}) changed, but it is not there")
    new = event.changed(pod)
    state.set_pod(new)
    if new.node and new.group:
        _may_have_ended_a_wait(state, new.group_key)


@_change.register
def _pod_removed(event: e.PodRemoved, state: ClusterState) -> None:
    pod = state.pods.get(event.uid)
    if pod is not None and event.reason == "node_lost":
        lost.pod_is_lost(state, pod)
    state.remove_pod(event.uid)


@_change.register
def _member_evicted(event: e.MemberEvicted, state: ClusterState) -> None:
    state.remove_pod(event.uid)


@_change.register
def _preemption_policy_changed(event: e.PreemptionPolicyChanged, state: ClusterState) -> None:
    state.records.put(PreemptionPolicy(event.mode, event.queues))


@_change.register
def _preemption_planned(event: e.PreemptionPlanned, state: ClusterState) -> None:
    key = f"{event.namespace}/{event.name}"
    plan = PreemptionPlan(
        event.id, key, event.uid, event.generation, event.domain, event.victims, event.cost,
        event.proved_smallest, event.decided_on, event.expires,
    )  # fmt: skip
    state.records.put(plan)
    if event.decision:
        state.records.put(PreemptionTried(key, event.uid, event.decision))


@_change.register
def _preemption_not_found(event: e.PreemptionNotFound, state: ClusterState) -> None:
    state.records.put(PreemptionTried(f"{event.namespace}/{event.name}", event.uid, event.decision))


@_change.register
def _preemption_approved(event: e.PreemptionApproved, state: ClusterState) -> None:
    plan = state.records.of(PreemptionPlan).get(event.id)
    if plan is not None:  # tables are folded without records
        state.records.put(replace(plan, approved=True, expires=event.until))
    key = f"{event.namespace}/{event.name}"
    turn = state.turns.get(key)
    if turn is not None:  # the room is made for it now: it does not rest while others take it
        state.record_turn(key, replace(turn, attempts=0, failed_at=0))


@_change.register(e.PreemptionRejected)
@_change.register(e.PreemptionExpired)
@_change.register(e.PreemptionCompleted)
def _preemption_over(
    event: e.PreemptionRejected | e.PreemptionExpired | e.PreemptionCompleted, state: ClusterState
) -> None:
    state.records.drop(PreemptionPlan, event.id)


@_change.register
def _pod_group_placed(event: e.PodGroupPlaced, state: ClusterState) -> None:
    for uid, name, _ in event.assignments:
        if uid not in state.pods:
            raise BrokenHistory(f"pod {event.namespace}/{name} ({uid}) was placed, but it is not there")
    zone = event.domain if event.enforced and event.topology_key == NUMA_KEY else ""
    for uid, _, node in event.assignments:
        state.bind(uid, node, zone)
    state.free_domain(f"{event.namespace}/{event.name}")  # its members tell where it is again
    _record(event, state, Verdict.PLACED, "", event.domain, event.fits)


@_change.register
def _placement_forecast(event: e.PlacementForecast, state: ClusterState) -> None:
    _record(event, state, Verdict.PLACED, "", event.domain, event.fits)


@_change.register
def _pod_group_unschedulable(event: e.PodGroupUnschedulable, state: ClusterState) -> None:
    if not event.bound:  # it was looked for in every domain: none holds it
        state.free_domain(f"{event.namespace}/{event.name}")
    _record(event, state, event.verdict, event.reason, event.domain, event.fits)


@_change.register
def _pod_group_held(event: e.PodGroupHeld, state: ClusterState) -> None:
    _record(event, state, Verdict.HELD, event.reason, "", event.bound)


@_change.register
def _pod_group_over_quota(event: e.PodGroupOverQuota, state: ClusterState) -> None:
    _record(event, state, Verdict.HELD, Reason.QUOTA.value, "", event.bound)


@_change.register
def _pod_group_conflicted(event: e.PodGroupConflicted, state: ClusterState) -> None:
    _record(event, state, Verdict.CONFLICTED, event.reason, "", event.bound)


@_change.register
def _pod_group_settled(event: e.PodGroupSettled, state: ClusterState) -> None:
    key = f"{event.namespace}/{event.name}"
    state.verdicts.pop(key, None)
    _may_have_ended_a_wait(state, key)


@_change.register
def _node_type_defined(event: e.NodeTypeDefined, state: ClusterState) -> None:
    state.records.put(event.node_type)


@_change.register
def _node_type_removed(event: e.NodeTypeRemoved, state: ClusterState) -> None:
    state.records.drop(NodeType, event.name)


@_change.register
def _scale_up_planned(event: e.ScaleUpPlanned, state: ClusterState) -> None:
    plan = ScaleUpPlan(event.name, event.groups, event.options, event.decided_on, event.expires_at)
    state.records.put(plan)


@_change.register
def _scale_up_approved(event: e.ScaleUpApproved, state: ClusterState) -> None:
    _move_on(
        state,
        event.name,
        status=PlanStatus.APPROVED.value,
        chosen=event.option,
        deadline=event.deadline,
        present=event.present,
    )


@_change.register
def _scale_up_rejected(event: e.ScaleUpRejected, state: ClusterState) -> None:
    _move_on(state, event.name, status=PlanStatus.REJECTED.value, why=event.why)


@_change.register
def _scale_up_expired(event: e.ScaleUpExpired, state: ClusterState) -> None:
    _move_on(state, event.name, status=PlanStatus.EXPIRED.value, why=event.why)


@_change.register
def _scale_up_completed(event: e.ScaleUpCompleted, state: ClusterState) -> None:
    _move_on(state, event.name, status=PlanStatus.COMPLETED.value, nodes=event.nodes)


@_change.register
def _scale_up_short(event: e.ScaleUpShort, state: ClusterState) -> None:
    _move_on(state, event.name, status=PlanStatus.SHORT.value, nodes=event.nodes, why=event.why)


def _move_on(state: ClusterState, name: str, **fields: Any) -> None:
    """The plan goes behind all others, so that plans of one status lie in the order in which they came to
    it; of the closed ones the latest are kept. The part of a state that tables hold has no plans.
    """
    plan = state.records.of(ScaleUpPlan).get(name)
    if plan is None:
        return
    state.records.drop(ScaleUpPlan, name)
    state.records.put(replace(plan, **fields))
    closed = [known for known, kept in state.records.of(ScaleUpPlan).items() if not kept.open]
    for old in closed[:-KEPT]:
        state.records.drop(ScaleUpPlan, old)


@_change.register
def _reservation_made(event: e.ReservationMade, state: ClusterState) -> None:
    state.reserve(event.reservation)


@_change.register
def _reservation_released(event: e.ReservationReleased, state: ClusterState) -> None:
    state.unreserve(event.name)


@_change.register
def _queue_defined(event: e.QueueDefined, state: ClusterState) -> None:
    state.records.put(event.queue)


@_change.register
def _queue_removed(event: e.QueueRemoved, state: ClusterState) -> None:
    state.records.drop(Queue, event.name)


@_change.register
def _sticky_wait_ended(event: e.StickyWaitEnded, state: ClusterState) -> None:
    key = f"{event.namespace}/{event.name}"
    wait = state.records.of(StickyWait).get(key)
    if wait is not None and wait.uid == event.uid:
        state.records.drop(StickyWait, key)


@_change.register
def _wait_deadline_set(event: e.WaitDeadlineSet, state: ClusterState) -> None:
    state.records.put(WaitDeadline(f"{event.namespace}/{event.name}", event.uid, event.at, event.action))


@_change.register
def _wait_deadline_withdrawn(event: e.WaitDeadlineWithdrawn, state: ClusterState) -> None:
    _drop_deadline(state, f"{event.namespace}/{event.name}", event.uid)


@_change.register
def _wait_deadline_expired(event: e.WaitDeadlineExpired, state: ClusterState) -> None:
    key = f"{event.namespace}/{event.name}"
    state.records.put(WaitDeadline(key, event.uid, event.at, event.action, event.expired_at))


@_change.register
def _wait_deadline_lifted(event: e.WaitDeadlineLifted, state: ClusterState) -> None:
    _drop_deadline(state, f"{event.namespace}/{event.name}", event.uid)


@_change.register
def _wait_policy_changed(event: e.WaitPolicyChanged, state: ClusterState) -> None:
    if event.after is None:
        for name in tuple(state.records.of(WaitPolicy)):
            state.records.drop(WaitPolicy, name)
    else:
        state.records.put(WaitPolicy(event.after, event.action))


@_change.register
def _domain_marked_lost(event: e.DomainMarkedLost, state: ClusterState) -> None:
    name = f"{event.topology_key}={event.domain}"
    state.records.put(MarkedLost(name, event.topology_key, event.domain, event.nodes))


@_change.register
def _domain_mark_taken_back(event: e.DomainMarkTakenBack, state: ClusterState) -> None:
    state.records.drop(MarkedLost, f"{event.topology_key}={event.domain}")


def _drop_deadline(state: ClusterState, key: str, uid: str) -> None:
    known = state.records.of(WaitDeadline).get(key)
    if known is not None and known.uid == uid:
        state.records.drop(WaitDeadline, key)


def _may_have_ended_a_wait(state: ClusterState, key: str) -> None:
    """A group that runs now, by a member that somebody else bound or by facts that agree again, does not wait
    any more.
    """
    turn = state.turns.get(key)
    if turn is not None and turn.waits_since and roster(state, key).running:
        state.record_turn(key, replace(turn, waits_since=0))


_Decision = (
    e.PodGroupPlaced
    | e.PlacementForecast
    | e.PodGroupUnschedulable
    | e.PodGroupHeld
    | e.PodGroupOverQuota
    | e.PodGroupConflicted
)


_DECISIONS = frozenset(get_args(_Decision))


def _record(event: _Decision, state: ClusterState, verdict: str, reason: str, domain: str, fits: int) -> None:
    key = f"{event.namespace}/{event.name}"
    state.record_verdict(key, VerdictSummary(str(verdict), reason, domain, fits, event.need))


def _take_turn(state: ClusterState, event: _Decision, at: int, cause: int | None) -> None:
    key = f"{event.namespace}/{event.name}"
    before = state.turns.get(key)
    since = 0 if isinstance(event, e.PodGroupPlaced) else (before is not None and before.waits_since) or at
    if isinstance(event, e.PodGroupUnschedulable):
        attempts = 1 if before is None else before.attempts + 1
        turn = Turn(state.seq, at, cause, attempts, at, event.lost_to, since)
    elif isinstance(event, e.PodGroupPlaced | e.PlacementForecast) or before is None:
        turn = Turn(state.seq, at, cause, waits_since=since)
    else:
        turn = replace(before, seq=state.seq, at=at, cause=cause, lost_to=None, waits_since=since)
    state.record_turn(key, turn)


_RULES = _change.registry
