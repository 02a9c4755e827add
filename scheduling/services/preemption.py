"""Preemption apart from topology-aware scheduling: the policy, proposals, and what an approval evicts.

No cycle decides any of this. Somebody asks for a proposal, looks at what it costs and approves it; then the
victims leave by events, and the next cycle places the group as it places every other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scheduling.engine.preemption import NoProposal, Proposal, Why, search
from scheduling.engine.preemption_changes import Change, Outdated, outdated
from scheduling.engine.preemption_records import (
    AUTOMATIC,
    MODES,
    OFF,
    PreemptionPlan,
    PreemptionPolicy,
    Victim,
)
from scheduling.engine.queues import Queue
from scheduling.engine.state import ClusterState
from scheduling.ledger.events import (
    Event,
    MemberEvicted,
    PodAdded,
    PodGroupClosed,
    PodRemoved,
    PreemptionApproved,
    PreemptionPlanned,
    PreemptionPolicyChanged,
    PreemptionRejected,
)
from scheduling.models import Cluster
from scheduling.services.execute import Outcome, execute
from scheduling.services.members import only_simulated, replacement
from scheduling.services.problems import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_FOUND,
    REQUIRED,
    Problem,
    Refused,
)

PROPOSED_FOR = 15 * 60 * 1000
"""Milliseconds for which a proposal can be approved."""

APPROVED_FOR = 60 * 1000
"""Milliseconds within which a cycle is expected to place the group."""

WHY = {
    Why.UNKNOWN: "there is no open PodGroup of this name",
    Why.NOT_WAITING: "it waits for no room: it runs, or there is a place for it now",
    Why.HELD: "members are missing, so no room would help",
    Why.QUOTA: "the quota of its queue holds it, whatever room there is",
    Why.CONFLICTED: "its facts contradict each other, so no room would help",
    Why.UNMODELLED: "it uses what the console does not model, so no fit is claimed",
    Why.ZONES: "its domains are NUMA zones, in which preemption does not look",
    Why.NO_VICTIMS: "no group of lower priority that may go has members where it could run",
    Why.TOO_LITTLE: "not even the end of every group of lower priority would make room in one domain",
    Why.NOT_FOUND: "the search found no groups to end; that is no proof that there are none",
    Why.TAKEN: "PodGroup %(key)s goes first in the queue and would take the room",
}
"""Why nothing is proposed, as sentences without their ends."""

POLICY_OFF = "policy_off"

CHANGES = {
    Change.GROUP_CLOSED: "the group that waited has ended",
    Change.GROUP_RUNS: "the group runs now",
    Change.VICTIM_CLOSED: "PodGroup %(key)s has ended meanwhile",
    Change.VICTIM_CHANGED: "PodGroup %(key)s has other members on nodes now",
    Change.VICTIM_PROTECTED: "PodGroup %(key)s is protected now",
    Change.VICTIM_PRIORITY: "PodGroup %(key)s has no lower priority any more",
    Change.NOT_NEEDED: "there is a place for the group now without it",
    Change.DOES_NOT_FIT: "the group would not fit any more after it",
    Change.TAKEN: "PodGroup %(key)s goes first in the queue and would take the room",
    POLICY_OFF: "preemption was switched off",
}
"""Why a proposal does not hold any more."""


def policy_of(state: ClusterState) -> PreemptionPolicy:
    """The one that was set last; off when there was none."""
    return next(iter(state.records.of(PreemptionPolicy).values()), PreemptionPolicy())


def open_plans(state: ClusterState) -> list[PreemptionPlan]:
    """Oldest first, those that were approved and wait for their group to be placed among them."""
    return sorted(state.records.of(PreemptionPlan).values(), key=lambda plan: plan.seq)


def plan_for(state: ClusterState, key: str) -> PreemptionPlan | None:
    """The open proposal for the open generation of the group."""
    group = state.groups.get(key)
    for plan in open_plans(state):
        if plan.group == key and group is not None and plan.uid == group.uid:
            return plan
    return None


# ---------------------------------------------------------------- pure halves


def policy_events(state: ClusterState, mode: str, queues: Sequence[str]) -> list[Event]:
    """Raises Refused for an unknown mode, and for queues that are not there or do not belong to the mode."""
    names = [name.strip() for name in queues]
    problems = []

    def problem(path: str, reason: str, message: str) -> None:
        problems.append(Problem("Cluster", "", "", path, reason, message))

    if mode not in MODES:
        problem("mode", INVALID, f"{mode!r} is not one of {', '.join(MODES)}")
    if mode == AUTOMATIC and not names:
        problem("queues", REQUIRED, "automatic preemption is for named queues: name one at least")
    if mode in MODES and mode != AUTOMATIC and names:
        problem("queues", FORBIDDEN, "queues are named for automatic preemption only")
    if "" in names:
        problem("queues", INVALID, "the name of a queue is empty")
    for name in sorted({name for name in names if names.count(name) > 1}):
        problem("queues", DUPLICATE, f"queue {name} is named twice")
    for name in sorted({name for name in names if name} - set(state.records.of(Queue))):
        problem("queues", INVALID, f"there is no queue {name}")
    if problems:
        raise Refused(problems)
    wanted = PreemptionPolicy(mode, tuple(sorted(names)))
    return [] if wanted == policy_of(state) else [PreemptionPolicyChanged(wanted.mode, wanted.queues)]


def propose_events(state: ClusterState, key: str, now_ms: int) -> list[Event]:
    """Raises Refused with the reason when there is nothing to propose."""
    if key not in state.groups:
        raise Refused([_about(key, NOT_FOUND, WHY[Why.UNKNOWN])])
    if policy_of(state).mode == OFF:
        raise Refused([_about(key, FORBIDDEN, "preemption is off in this cluster: its policy allows none")])
    known = plan_for(state, key)
    if known is not None:
        raise Refused([_about(key, FORBIDDEN, f"proposal {known.id} for it is open already")])
    found = search(state, key)
    if isinstance(found, NoProposal):
        raise Refused([_about(key, FORBIDDEN, reason(found))])
    return [planned(state, found, state.seq + 1, now_ms)]


def approve_events(state: ClusterState, id: str, now_ms: int) -> list[Event]:
    """The victims leave. Raises Refused when the proposal does not hold on this state, with what changed."""
    plan = _open(state, id)
    only_simulated(state, "evict the members in the cluster, as the proposal says")
    change = _change(state, plan)
    if change is not None:
        raise Refused([_about(plan.group, FORBIDDEN, f"proposal {id} does not hold any more: {change}")])
    return [
        PreemptionApproved(*_names(plan), id, now_ms + APPROVED_FOR),
        *evictions(state, id, plan.group, plan.victims, now_ms),
    ]


def reject_events(state: ClusterState, id: str) -> list[Event]:
    """Raises Refused when the proposal is not open."""
    return [PreemptionRejected(*_names(_open(state, id)), id)]


def planned(
    state: ClusterState, found: Proposal, seq: int, now_ms: int, decision: int = 0
) -> PreemptionPlanned:
    """``seq``: that the event will have."""
    namespace, _, name = found.group.partition("/")
    return PreemptionPlanned(
        namespace=namespace,
        name=name,
        uid=found.uid,
        generation=found.generation,
        id=f"p{seq}",
        domain=found.domain,
        victims=found.victims,
        cost=(*found.cost,),
        proved_smallest=found.proved_smallest,
        placed=found.placed,
        need=found.need,
        decided_on=found.decided_on,
        expires=now_ms + PROPOSED_FOR,
        decision=decision,
    )


def evictions(
    state: ClusterState, id: str, waiting: str, victims: Sequence[Victim], now_ms: int
) -> Iterator[Event]:
    """Members leave their nodes; a group that ends is closed, and members of an elastic gang are made anew by
    the workload controller and wait.
    """
    for victim in victims:
        group = state.groups[victim.key]
        bound = [state.pods[uid] for uid, _, _ in victim.members]
        for pod in bound:
            yield MemberEvicted(pod.namespace, pod.name, pod.uid, pod.node, pod.group, id, waiting)
        if not victim.whole:
            for pod in bound:
                yield PodAdded(replacement(pod, state.seq, now_ms), replaces=pod.uid)
            continue
        gone = {pod.uid for pod in bound}
        for pod in state.pods_naming(victim.key):
            if pod.uid not in gone:
                yield PodRemoved(pod.namespace, pod.name, pod.uid, pod.node, pod.group, "group_ended")
        yield PodGroupClosed(group.namespace, group.name, group.uid, group.generation, "preempted")


def reason(found: NoProposal) -> str:
    """As a sentence without its end."""
    return WHY[found.why] % {"key": found.by}


def change_sentence(change: str, group: str) -> str:
    """What keeps a proposal from being carried out, as a sentence without its end."""
    return CHANGES[change] % {"key": group}


def _change(state: ClusterState, plan: PreemptionPlan) -> str | None:
    if policy_of(state).mode == OFF:
        return change_sentence(POLICY_OFF, "")
    change: Outdated | None = outdated(state, plan.group, plan.uid, plan.victims)
    return None if change is None else change_sentence(change.change, change.group)


def _open(state: ClusterState, id: str) -> PreemptionPlan:
    plan = state.records.of(PreemptionPlan).get(id)
    if plan is None:
        raise Refused([Problem("", "", "", "id", NOT_FOUND, f"there is no open proposal {id}")])
    if plan.approved:
        raise Refused([Problem("", "", "", "id", FORBIDDEN, f"proposal {id} is approved already")])
    return plan


def _names(plan: PreemptionPlan) -> tuple[str, str, str, int]:
    namespace, _, name = plan.group.partition("/")
    return namespace, name, plan.uid, plan.generation


def _about(key: str, code: str, message: str) -> Problem:
    namespace, _, name = key.partition("/")
    return Problem("PodGroup", namespace, name, "", code, message)


# ---------------------------------------------------------------- shells


def set_policy(
    *, cluster: Cluster, mode: str, queues: Sequence[str] = (), actor: str, command_id: str = ""
) -> Outcome:
    """Who may be preempted at all, and whether somebody has to ask. Raises Refused."""
    return _run(
        cluster,
        lambda state, _: policy_events(state, mode, queues),
        actor,
        command_id,
        f"preemption policy {mode} {list(queues)}",
    )


def propose(*, cluster: Cluster, namespace: str, name: str, actor: str, command_id: str = "") -> Outcome:
    """Look for the groups to end so that this one runs, and lay down what was found. Raises Refused."""
    key = f"{namespace}/{name}"
    return _run(
        cluster,
        lambda state, now: propose_events(state, key, now),
        actor,
        command_id,
        f"propose preemption for {key}",
    )


def approve(*, cluster: Cluster, id: str, actor: str, command_id: str = "") -> Outcome:
    """Evict what the proposal names, if it still holds. Raises Refused."""
    return _run(
        cluster,
        lambda state, now: approve_events(state, id, now),
        actor,
        command_id,
        f"approve preemption {id}",
    )


def reject(*, cluster: Cluster, id: str, actor: str, command_id: str = "") -> Outcome:
    """Close the proposal; nobody is evicted. Raises Refused."""
    return _run(
        cluster, lambda state, _: reject_events(state, id), actor, command_id, f"reject preemption {id}"
    )


def _run(
    cluster: Cluster,
    decide: Callable[[ClusterState, int], list[Event]],
    actor: str,
    command_id: str,
    request: str,
) -> Outcome:
    return execute(cluster, decide, actor=actor, command_id=command_id, request=request)
