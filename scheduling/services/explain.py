"""Why a group waits or where it would go, what would make it run, and what kube-scheduler would do: decided
anew on the state at the head, or at an event of the past, nothing written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from scheduling.engine.census import Census, census
from scheduling.engine.changes import ChangeSet, change_sets
from scheduling.engine.decision import Decision
from scheduling.engine.model import DEFAULT_SCHEDULER
from scheduling.engine.obstacles import Obstacle, obstacles
from scheduling.engine.preemption import Why, no_use
from scheduling.engine.profiles.compare import Comparison, compare
from scheduling.engine.roster import roster
from scheduling.engine.scale_up import NoHelp, no_help
from scheduling.engine.state import ClusterState
from scheduling.engine.turns import LostTo
from scheduling.models import Cluster
from scheduling.selectors import past_states
from scheduling.selectors.queues import Use, uses
from scheduling.selectors.reservations import Held, in_the_way
from scheduling.services.foreseeing import Foreseen, foresee
from scheduling.services.problems import NOT_FOUND, Problem, Refused
from scheduling.services.spreading import Told, told
from scheduling.services.state import state_of

NEAR = 10
"""The near misses: domains shown before "show all", and those of which it is told what is in the way."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """``seq``: the event after which the decision holds; ``at``: when it was asked. ``census``: of a group
    that was evaluated and found no place. ``observed``: nothing of it is ever bound by us. ``after``,
    ``complete``: see ``foreseeing.Foreseen``. ``schedulers``: those that waiting members ask for, but for the
    default one. ``spread``: what topology spread constraints of members that are to come leave.
    ``lost_to``: who took its room, as its last decision told. ``reservations``: those for others that
    keep members off the ``NEAR`` domains; ``quota_uses``: who has the GPUs of the quota that holds the group.
    ``no_nodes``, ``no_victims``: why new
    nodes, or the end of other groups, cannot help it, as far as the decision itself shows that.
    """

    decision: Decision
    seq: int
    at: datetime
    census: Census | None
    obstacles: tuple[Obstacle, ...]
    observed: bool = False
    after: tuple[str, ...] = ()
    complete: bool = True
    schedulers: tuple[str, ...] = ()
    spread: Told = field(default_factory=Told)
    lost_to: LostTo | None = None
    reservations: tuple[Held, ...] = ()
    quota_uses: tuple[Use, ...] = ()
    no_nodes: NoHelp | None = None
    no_victims: Why | None = None

    @property
    def forecast(self) -> bool:
        """Whether it says where members would go that we shall not put there."""
        return self.observed and bool(self.decision.assignments)


@dataclass(frozen=True, slots=True)
class Remedies:
    """``changes``: the smallest first. ``scope_key``: the key whose domains were looked at, "" for none."""

    changes: tuple[ChangeSet, ...]
    scope_key: str


@dataclass(frozen=True, slots=True)
class Investigation:
    """Everything that can be told of a group, all of it on the same state."""

    explanation: Explanation
    changes: tuple[ChangeSet, ...]
    comparison: Comparison


def explain(*, cluster: Cluster, namespace: str, name: str, seq: int | None = None) -> Explanation:
    """After event ``seq``, None for the newest. Raises Refused (NotFound) when neither a PodGroup nor a pod
    names the group then.
    """
    key = f"{namespace}/{name}"
    state = _state(cluster, key, seq)
    return _explanation(state, key, foresee(state, key))


def remedies(*, cluster: Cluster, namespace: str, name: str) -> Remedies:
    """What would make the group run. Raises Refused as ``explain``."""
    key = f"{namespace}/{name}"
    state = _state(cluster, key)
    group = state.groups.get(key)
    scope_key = group.topology_key if group is not None and state.tas_enforced else ""
    return Remedies(change_sets(state, key), scope_key)


def comparison(*, cluster: Cluster, namespace: str, name: str) -> Comparison:
    """What kube-scheduler would do beside what this console does. Raises Refused as ``explain``."""
    key = f"{namespace}/{name}"
    return compare(foresee(_state(cluster, key), key).state, key)


def investigate(*, cluster: Cluster, namespace: str, name: str, seq: int | None = None) -> Investigation:
    """All of it at once. ``seq`` as in ``explain``, which says what is raised."""
    state = state_of(cluster) if seq is None else past_states.state_at(cluster, seq)
    return investigated(state, f"{namespace}/{name}")


def investigated(state: ClusterState, key: str) -> Investigation:
    """The same on any state. Raises Refused as ``explain``."""
    _known(state, key)
    found = foresee(state, key)
    return Investigation(_explanation(state, key, found), change_sets(state, key), compare(found.state, key))


def _state(cluster: Cluster, key: str, seq: int | None = None) -> ClusterState:
    return _known(state_of(cluster) if seq is None else past_states.state_at(cluster, seq), key)


def _known(state: ClusterState, key: str) -> ClusterState:
    if key not in state.groups and not state.pods_naming(key):
        namespace, _, name = key.partition("/")
        raise Refused(
            [Problem("PodGroup", namespace, name, "", NOT_FOUND, f"there is no open PodGroup {key}")]
        )
    return state


def _explanation(state: ClusterState, key: str, found: Foreseen) -> Explanation:
    turn, made = state.turns.get(key), found.decision
    return Explanation(
        found.decision,
        state.seq,
        datetime.now(UTC),
        census(found.state, found.decision),
        obstacles(found.state, found.decision, NEAR),
        observed=state.mode == "observed",
        after=found.after,
        complete=found.complete,
        schedulers=tuple(sorted(roster(state, key).schedulers - {DEFAULT_SCHEDULER})),
        spread=told(state, key),
        lost_to=turn.lost_to if turn is not None else None,
        reservations=tuple(in_the_way(found.state, found.decision.domains[:NEAR])),
        quota_uses=uses(found.state, made.quota.queue) if made.quota else (),
        no_nodes=no_help(found.state, key, made.verdict, made.reason),
        no_victims=no_use(found.state, key, made.verdict, made.reason),
    )
