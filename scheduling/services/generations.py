"""A new generation in the place of an open one: restored from a checkpoint, with another constraint, with a
smaller minCount where the group is elastic. The old one is closed and never edited.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.model import PodGroup
from scheduling.engine.reasons import Reason
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.kube.names import label_key_problem
from scheduling.ledger import fold
from scheduling.ledger.events import Event, PodAdded, PodGroupCreated
from scheduling.models import Cluster
from scheduling.services import spreading
from scheduling.services.execute import Outcome, now_ms
from scheduling.services.importing import next_generation as following
from scheduling.services.members import closing_events, only_simulated, open_group, replacement
from scheduling.services.numa import zone_problems
from scheduling.services.problems import CONFLICT, FORBIDDEN, INVALID, Problem, Refused
from scheduling.services.state import state_of
from scheduling.services.submitting import Submission
from scheduling.services.workloads import submitted

LONGEST_CHECKPOINT = 1_024


@dataclass(frozen=True, slots=True)
class NextGeneration:
    """What is asked to be different. ``topology_key``: None for the same, "" for no constraint;
    ``min_count``: None for the same; ``checkpoint``: what the members start from, "" for nothing;
    ``elastic``: the group is marked elastic from this generation on; ``generation``: the number of the open
    one that this was decided on, so that asking twice opens one; None for whichever is open.
    """

    topology_key: str | None = None
    min_count: int | None = None
    checkpoint: str = ""
    elastic: bool = False
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What would be decided about a next generation at once. ``bound``: members that lose their node by it;
    ``fewer``: how many members fewer it guarantees at once.
    """

    wanted: NextGeneration
    group: PodGroup
    decision: Decision
    bound: int
    fewer: int


def next_generation_events(state: ClusterState, key: str, wanted: NextGeneration, now_ms: int) -> list[Event]:
    """Those of ``next_generation``. Raises Refused."""
    return next_generation(state, key, wanted, now_ms).events


def next_generation(state: ClusterState, key: str, wanted: NextGeneration, now_ms: int) -> Submission:
    """The members of the open generation end with it and are made anew, on no node. What topology spread
    leaves is asked as for a new group. Raises Refused; paths are the fields of ``NextGeneration``.
    """
    only_simulated(state, "delete the PodGroup in the cluster and create it anew there")
    old = open_group(state, key)
    if wanted.generation is not None and wanted.generation != old.generation:
        message = f"generation {wanted.generation} is not the open one, which is generation {old.generation}"
        raise Refused([Problem("PodGroup", old.namespace, old.name, "generation", CONFLICT, message)])
    group = _group(old, wanted)
    members = [*roster(state, key).bound, *roster(state, key).waiting, *roster(state, key).gated]
    problems = _problems(state, old, group, wanted, len(members))
    if problems:
        raise Refused(problems)
    new = following(state, replace(group, uid="", created=0), old, now_ms)
    events: list[Event] = [
        *closing_events(state, old, pods="superseded", why="superseded"),
        PodGroupCreated(new, _why(state, key, old, new, wanted), wanted.checkpoint),
        *(
            PodAdded(replacement(pod, state.seq, now_ms))
            for pod in sorted(members, key=lambda pod: (pod.name, pod.uid))
        ),
    ]
    told = spreading.told_of(state, events, members, [key])
    if told.problems:
        raise Refused(
            Problem("PodGroup", old.namespace, old.name, "topology_key", INVALID, message)
            for message in dict.fromkeys(problem.message for problem in told.problems)
        )
    return Submission(events, told.notices)


def _group(old: PodGroup, wanted: NextGeneration) -> PodGroup:
    return replace(
        old,
        topology_key=old.topology_key if wanted.topology_key is None else wanted.topology_key,
        min_count=old.min_count if wanted.min_count is None else wanted.min_count,
        elastic=old.elastic or wanted.elastic,
    )


def _why(state: ClusterState, key: str, old: PodGroup, new: PodGroup, wanted: NextGeneration) -> str:
    """The most telling of what made somebody open it: that the domain was lost is told by the log itself."""
    if wanted.checkpoint:
        return "restored"
    if new.topology_key != old.topology_key:
        return "constraint"
    if new.min_count != old.min_count:
        return "elastic"
    last = state.verdicts.get(key)
    return "domain_lost" if last is not None and last.reason == Reason.DOMAIN_LOST else "resubmitted"


def _problems(
    state: ClusterState, old: PodGroup, new: PodGroup, wanted: NextGeneration, members: int
) -> list[Problem]:
    def problem(path: str, reason: str, message: str) -> Problem:
        return Problem("PodGroup", old.namespace, old.name, path, reason, message)

    found = []
    if new.topology_key and (wrong := label_key_problem(new.topology_key)):
        found.append(problem("topology_key", INVALID, f"{new.topology_key!r} {wrong}"))
    else:
        found += zone_problems(state, [new], "topology_key")
    if old.policy != "gang" and new.min_count != old.min_count:
        found.append(problem("min_count", FORBIDDEN, "a group of the basic policy has no minCount"))
    elif new.min_count < 1:
        found.append(problem("min_count", INVALID, f"{new.min_count} is less than 1"))
    elif new.min_count < old.min_count and not new.elastic:
        message = f"minCount may be lowered from {old.min_count} only where the group is marked elastic"
        found.append(problem("min_count", FORBIDDEN, message))
    elif new.policy == "gang" and new.min_count > members:
        message = (
            f"minCount {new.min_count} is more than there are members, {members}: it would be held for ever"
        )
        found.append(problem("min_count", INVALID, message))
    if len(wanted.checkpoint) > LONGEST_CHECKPOINT:
        message = f"must have at most {LONGEST_CHECKPOINT} characters"
        found.append(problem("checkpoint", INVALID, message))
    return found


def forecast(state: ClusterState, key: str, wanted: NextGeneration, now_ms: int) -> Forecast:
    """What would be decided at once, before all others; ``state`` is not changed. Raises Refused."""
    ahead = state.fork()
    for event in next_generation_events(state, key, wanted, now_ms):
        fold.apply(ahead, event, ahead.seq + 1, now_ms)
    old, new = state.groups[key], ahead.groups[key]
    bound = len(roster(state, key).bound)
    return Forecast(wanted, new, decide(ahead, key), bound, max(0, old.min_count - new.min_count))


def proposals(state: ClusterState, key: str, now_ms: int) -> tuple[Forecast, ...]:
    """New generations that would be placed at once, the one that changes least first: the same again, the
    largest smaller minCount of an elastic group, no constraint. None in an observed cluster.
    """
    group = state.groups.get(key)
    if group is None or state.mode != "simulated":
        return ()
    wanted = [NextGeneration()]
    if group.elastic and group.policy == "gang":
        wanted += _fewer(state, key, group, now_ms)
    if group.topology_key:
        wanted.append(NextGeneration(topology_key=""))
    found = []
    for each in wanted:
        try:
            made = forecast(state, key, each, now_ms)
        except Refused:  # fewer members are there than minCount asks for
            continue
        if made.decision.placed:
            found.append(made)
    return tuple(found)


def _fewer(state: ClusterState, key: str, group: PodGroup, now_ms: int) -> list[NextGeneration]:
    """What the domain with most room for the group takes, when that is less than minCount."""
    try:
        again = forecast(state, key, NextGeneration(), now_ms).decision
    except Refused:
        return []
    most = max((row.fits for row in again.domains), default=0)
    return [NextGeneration(min_count=most)] if 0 < most < group.min_count else []


def open_next(
    *,
    cluster: Cluster,
    namespace: str,
    name: str,
    wanted: NextGeneration,
    actor: str,
    command_id: str = "",
) -> Outcome:
    """The open generation is superseded by the next one; a cycle decides where it goes. Raises Refused."""
    key = f"{namespace}/{name}"
    return submitted(
        cluster,
        lambda state, now: next_generation(state, key, wanted, now),
        actor,
        command_id,
        f"next generation {key} {wanted!r}",
    )


def preview_next(*, cluster: Cluster, namespace: str, name: str, wanted: NextGeneration) -> Forecast:
    """What would be decided about it right now. Nothing is written. Raises Refused."""
    return forecast(state_of(cluster), f"{namespace}/{name}", wanted, now_ms())
