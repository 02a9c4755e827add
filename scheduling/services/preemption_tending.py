"""What becomes of preemption without anybody asking: proposals end, and a policy acts for its queues. Pure.

Proposals are planned and approved here, after the decisions of a cycle and from what it left, never by the
deciding itself.
"""

from __future__ import annotations

from scheduling.engine.preemption import NoProposal, search
from scheduling.engine.preemption_changes import Change, outdated
from scheduling.engine.preemption_records import (
    AUTOMATIC,
    OFF,
    PreemptionPlan,
    PreemptionTried,
)
from scheduling.engine.queue import waiting
from scheduling.engine.quota import queue_of
from scheduling.engine.reasons import Verdict
from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState
from scheduling.ledger.events import (
    Event,
    PreemptionApproved,
    PreemptionCompleted,
    PreemptionExpired,
    PreemptionNotFound,
)
from scheduling.services.followed import Followed
from scheduling.services.preemption import (
    APPROVED_FOR,
    POLICY_OFF,
    evictions,
    open_plans,
    plan_for,
    planned,
    policy_of,
)

MOST_SEARCHED = 4
"""Groups for which one tending looks; the next cycle goes on."""


def tend(state: ClusterState, now_ms: int) -> list[Followed]:
    """See ``tending.Family``."""
    news: list[Followed] = []
    left: list[PreemptionPlan] = []
    for plan in open_plans(state):
        followed = _ended(state, plan, now_ms)
        if followed is None:
            left.append(plan)
        else:
            news.append(followed)
    # One after the other: the room that was made is not yet taken while one is approved.
    if not any(plan.approved for plan in left):
        news += _automatic(state, state.seq + len(news), now_ms)
    return news


def due_at(state: ClusterState) -> int | None:
    """See ``tending.Family``."""
    return min((plan.expires for plan in state.records.of(PreemptionPlan).values()), default=None)


def _ended(state: ClusterState, plan: PreemptionPlan, now_ms: int) -> Followed | None:
    group = state.groups.get(plan.group)
    if group is None or group.uid != plan.uid:
        return _expired(state, plan, "outdated", Change.GROUP_CLOSED)
    if plan.approved:
        who, turn = roster(state, plan.group), state.turns.get(plan.group)
        if who.running:
            event = PreemptionCompleted(
                group.namespace, group.name, plan.uid, plan.generation, plan.id, _where(state, who),
                len(who.bound),
            )  # fmt: skip
            return Followed(event, turn.seq if turn is not None else plan.seq)
        return _expired(state, plan, "not_placed") if now_ms >= plan.expires else None
    if policy_of(state).mode == OFF:
        return _expired(state, plan, "outdated", POLICY_OFF)
    if now_ms >= plan.expires:
        return _expired(state, plan, "time")
    change = outdated(state, plan.group, plan.uid, plan.victims)
    return None if change is None else _expired(state, plan, "outdated", change.change, change.group)


def _expired(
    state: ClusterState, plan: PreemptionPlan, reason: str, change: str = "", about: str = ""
) -> Followed:
    namespace, _, name = plan.group.partition("/")
    event = PreemptionExpired(namespace, name, plan.uid, plan.generation, plan.id, reason, str(change), about)
    return Followed(event, plan.seq)


def _where(state: ClusterState, who: Roster) -> str:
    """The domain that its members are in, "" without one."""
    group = who.group
    node = state.nodes.get(who.bound[0].node)
    if group is None or node is None or not state.enforces(group):
        return ""
    return node.label(group.topology_key) or ""


def _automatic(state: ClusterState, seq: int, now_ms: int) -> list[Followed]:
    """For groups of the policy's queues, once for each decision; ``seq``: of the event before."""
    news: list[Followed] = []
    for key, decision in _to_search(state)[:MOST_SEARCHED]:
        group = state.groups[key]
        found = search(state, key)
        if isinstance(found, NoProposal):
            told = PreemptionNotFound(
                group.namespace, group.name, group.uid, group.generation, decision, str(found.why), found.by
            )
            news.append(Followed(told, decision))
            continue
        plan = planned(state, found, seq + len(news) + 1, now_ms, decision)
        approved = PreemptionApproved(
            group.namespace, group.name, group.uid, group.generation, plan.id, now_ms + APPROVED_FOR, True
        )
        events: list[Event] = [plan, approved, *evictions(state, plan.id, key, plan.victims, now_ms)]
        return [*news, *(Followed(event, decision) for event in events)]
    return news


def _to_search(state: ClusterState) -> list[tuple[str, int]]:
    """Groups that the policy acts for and the seq of their last decision, first one of the queue first."""
    policy = policy_of(state)
    if policy.mode != AUTOMATIC or state.mode != "simulated":
        return []
    tried = state.records.of(PreemptionTried)
    found = []
    for key in waiting(state):
        group, verdict, turn = state.groups.get(key), state.verdicts.get(key), state.turns.get(key)
        queue = queue_of(state, group)
        if group is None or queue is None or verdict is None or turn is None:
            continue
        if queue.name not in policy.queues:
            continue
        refused = verdict.verdict in (Verdict.PROVED_INFEASIBLE, Verdict.NOT_FOUND)
        if not refused or roster(state, key).running or plan_for(state, key) is not None:
            continue
        if tried.get(key) != PreemptionTried(key, group.uid, turn.seq):
            found.append((key, turn.seq))
    return found
