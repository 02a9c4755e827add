"""Plans for new nodes: made, approved, rejected; and the simulated provider, whose nodes join.

Nothing here places anybody: nodes join, groups wake by the ordinary rule, and the ordinary cycle decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scheduling.engine.growth import alike, arrivals, new_nodes, room_to_grow
from scheduling.engine.node_types import SIMULATED, NewNodes, NodeType, PlanStatus, ScaleUpOption, ScaleUpPlan
from scheduling.engine.scale_up import NoHelp, NotThisType, ScaleUp, fewer_do, fits_after, scale_up
from scheduling.engine.state import ClusterState
from scheduling.ledger.events import Event, NodeAdded, ScaleUpApproved, ScaleUpPlanned, ScaleUpRejected
from scheduling.models import Cluster
from scheduling.services.execute import Outcome, execute
from scheduling.services.members import minted_uid, only_simulated
from scheduling.services.problems import CONFLICT, INVALID, NOT_FOUND, REQUIRED, Problem, Refused
from scheduling.services.state import state_of

MOST_GROUPS = 50
"""Groups of one plan."""

VALID_MINUTES = 24 * 60
"""A plan lapses after so long unless it is approved or another time is given."""

JOIN_MINUTES = 60
"""So long the nodes of an approved plan may take unless another time is given."""

MOST_MINUTES = 60 * 24 * 30
_MINUTE = 60_000
_LONGEST_WHY = 500


@dataclass(frozen=True, slots=True)
class Approval:
    """``option``: its place in the plan. ``minutes``: within which the nodes must join. ``nodes``: how many
    the simulated provider lets come at once, None for all that it was asked for.
    """

    option: int = 0
    minutes: int = JOIN_MINUTES
    nodes: int | None = None


def preview(*, cluster: Cluster, groups: Sequence[str]) -> ScaleUp:
    """What could be planned for the groups (keys) right now; nothing is written. Raises Refused for groups
    that are not there.
    """
    state = state_of(cluster)
    _known(state, groups)
    return scale_up(state, list(dict.fromkeys(groups)))


def plan(
    *,
    cluster: Cluster,
    groups: Sequence[str],
    minutes: int = VALID_MINUTES,
    actor: str,
    command_id: str = "",
) -> Outcome:
    """A plan for one waiting group, or for several together; ``minutes``: how long it may be approved.

    Raises Refused where no new nodes of the defined types help, with why for each type.
    """
    return execute(
        cluster,
        lambda state, now: plan_events(state, groups, minutes, now),
        actor=actor,
        command_id=command_id,
        request=f"plan scale-up {list(groups)!r} {minutes}",
    )


def approve(
    *, cluster: Cluster, name: str, approval: Approval = Approval(), actor: str, command_id: str = ""
) -> Outcome:
    """The nodes of one option are awaited; in a simulated cluster those of the simulated provider join at
    once.

    Raises Refused for a plan that is not open and for one that does not hold any more.
    """
    return execute(
        cluster,
        lambda state, now: approve_events(state, name, approval, now),
        actor=actor,
        command_id=command_id,
        request=f"approve {name} {approval!r}",
    )


def reject(*, cluster: Cluster, name: str, why: str = "", actor: str, command_id: str = "") -> Outcome:
    """Raises Refused for a plan that waits for no approval."""
    return execute(
        cluster,
        lambda state, _: reject_events(state, name, why),
        actor=actor,
        command_id=command_id,
        request=f"reject {name} {why!r}",
    )


def provision(
    *, cluster: Cluster, name: str, nodes: int | None = None, actor: str, command_id: str = ""
) -> Outcome:
    """Nodes of an approved plan join a simulated cluster: ``nodes`` of them, all that are missing when None.
    Raises Refused.
    """
    return execute(
        cluster,
        lambda state, _: provision_events(state, name, nodes),
        actor=actor,
        command_id=command_id,
        request=f"provision {name} {nodes}",
    )


# ---------------------------------------------------------------- pure


def plan_events(state: ClusterState, groups: Sequence[str], minutes: int, now_ms: int) -> list[Event]:
    """Raises Refused; paths are ``groups`` and ``minutes``."""
    keys = list(dict.fromkeys(groups))
    if not keys:
        raise Refused([Problem("ScaleUpPlan", "", "", "groups", REQUIRED, "name at least one group")])
    if len(keys) > MOST_GROUPS:
        message = f"groups in one plan: at most {MOST_GROUPS}, not {len(keys)}"
        raise Refused([Problem("ScaleUpPlan", "", "", "groups", INVALID, message)])
    _known(state, keys)
    _minutes(minutes, "")
    for other in state.records.of(ScaleUpPlan).values():
        for key in keys:
            if other.open and key in other.groups:
                raise Refused([_about(key, CONFLICT, f"the open plan {other.name} is for it already")])
    found = scale_up(state, keys)
    if not found.options:
        raise Refused(refusals(found))
    first = found.options[0]
    return [
        ScaleUpPlanned(
            f"scale-up-{state.seq + 1}",
            tuple(fit.group for fit in first.fits),
            found.options,
            state.seq,
            now_ms + minutes * _MINUTE,
        )
    ]


def approve_events(state: ClusterState, name: str, approval: Approval, now_ms: int) -> list[Event]:
    """Raises Refused; paths are the fields of ``Approval``."""
    found = _plan(state, name, PlanStatus.PLANNED)
    if not 0 <= approval.option < len(found.options):
        message = f"{approval.option} is no option of it: 0 to {len(found.options) - 1}"
        raise Refused([_of_plan(name, "option", INVALID, message)])
    _minutes(approval.minutes, name)
    option = found.options[approval.option]
    _still_holds(state, found, option)
    present = sorted(
        {
            node
            for step in option.steps
            for node in alike(state, state.records.of(NodeType)[step.kind], step.key, step.domain)
        }
    )
    events: list[Event] = [
        ScaleUpApproved(name, approval.option, now_ms + approval.minutes * _MINUTE, tuple(present))
    ]
    if state.mode == "simulated":
        asked = [step for step in option.steps if state.records.of(NodeType)[step.kind].provider == SIMULATED]
        events += _joining(state, name, asked, approval.nodes)
    return events


def reject_events(state: ClusterState, name: str, why: str) -> list[Event]:
    """Raises Refused."""
    _plan(state, name, PlanStatus.PLANNED)
    if len(why) > _LONGEST_WHY:
        raise Refused([_of_plan(name, "why", INVALID, f"must have at most {_LONGEST_WHY} characters")])
    return [ScaleUpRejected(name, why)]


def provision_events(state: ClusterState, name: str, nodes: int | None) -> list[Event]:
    """Raises Refused, also in an observed cluster: there somebody else brings the nodes."""
    only_simulated(state, "nodes join the cluster itself")
    _plan(state, name, PlanStatus.APPROVED)
    missing = [replace(step, count=step.count - len(joined)) for step, joined in arrivals(state)[name]]
    return _joining(state, name, [step for step in missing if step.count], nodes)


def refusals(found: ScaleUp) -> list[Problem]:
    """Why nothing can be planned: the group first, then each type that is no help."""
    assert found.obstacle is not None
    problems = [_about(found.group, CONFLICT, OBSTACLES[found.obstacle])]
    return problems + [Problem("NodeType", "", kind, "", CONFLICT, TYPES[why]) for kind, why in found.refused]


OBSTACLES: dict[NoHelp, str] = {
    NoHelp.FITS: "it fits as things are: the next cycle places it",
    NoHelp.NOT_WAITING: "it waits for nothing",
    NoHelp.HELD: "members or the PodGroup are missing; nodes do not help",
    NoHelp.QUOTA: "the quota of its queue holds it, whatever room there is",
    NoHelp.CONFLICTED: "its facts contradict each other or its domain is lost; nodes do not help",
    NoHelp.UNMODELLED: "members use what is not modelled here: no plan can be proved",
    NoHelp.ZONES: "it asks for one NUMA zone, and node types tell none",
    NoHelp.NO_TYPES: "no node type is defined",
    NoHelp.NO_GROWTH: "no growth of the defined node types makes it fit",
    NoHelp.NOT_TRIED_OUT: "no plan was found within the bounds of the search; that is no proof",
}

TYPES: dict[NotThisType, str] = {
    NotThisType.NO_LABEL: (
        "its growth names no domain of the group's topology key: its nodes would not have that label"
    ),
    NotThisType.OTHER_DOMAIN: "it does not grow in the domain that the group is bound to",
    NotThisType.GROWN: "its growth is used up or promised",
    NotThisType.SELECTOR: "the members' node selector or affinity does not allow such nodes",
    NotThisType.TAINT: "the members do not tolerate its taints",
    NotThisType.TOO_SMALL: "no member fits on such a node, even an empty one",
    NotThisType.NOT_ENOUGH: "not even all nodes by which it may grow are enough in one domain",
}


def _about(key: str, reason: str, message: str) -> Problem:
    namespace, _, name = key.partition("/")
    return Problem("PodGroup", namespace, name, "", reason, message)


def _of_plan(name: str, path: str, reason: str, message: str) -> Problem:
    return Problem("ScaleUpPlan", "", name, path, reason, message)


def _known(state: ClusterState, keys: Sequence[str]) -> None:
    missing = [key for key in keys if key not in state.groups]
    if missing:
        raise Refused([_about(key, NOT_FOUND, f"there is no open PodGroup {key}") for key in missing])


def _minutes(minutes: int, name: str) -> None:
    if not 0 < minutes <= MOST_MINUTES:
        message = f"minutes: 1 to {MOST_MINUTES}, not {minutes}"
        raise Refused([_of_plan(name, "minutes", INVALID, message)])


def _plan(state: ClusterState, name: str, status: PlanStatus) -> ScaleUpPlan:
    found = state.records.of(ScaleUpPlan).get(name)
    if found is None:
        raise Refused([_of_plan(name, "", NOT_FOUND, f"there is no plan {name}")])
    if found.status != status:
        raise Refused([_of_plan(name, "", CONFLICT, f"the plan is {found.status}, not {status}")])
    return found


def _still_holds(state: ClusterState, found: ScaleUpPlan, option: ScaleUpOption) -> None:
    """What was proved when the plan was made is proved again: the cluster went on meanwhile."""
    problems = []
    for step in option.steps:
        room = room_to_grow(state, step.kind, step.key, step.domain)
        if room < step.count:
            message = (
                f"nodes of {step.kind} by which {step.key}={step.domain} may grow now: {room}; plan again"
            )
            problems.append(_of_plan(found.name, "option", CONFLICT, message))
    if not problems and not _same_groups(state, option):
        message = "a group that it is for has ended or was made anew: plan again"
        problems.append(_of_plan(found.name, "", CONFLICT, message))
    if not problems and not fits_after(state, option.steps, found.groups):
        message = "with these nodes the groups would not all run any more: plan again"
        problems.append(_of_plan(found.name, "option", CONFLICT, message))
    if not problems and _fewer_do(state, found, option):
        message = "fewer nodes do now: plan again"
        problems.append(_of_plan(found.name, "option", CONFLICT, message))
    if problems:
        raise Refused(problems)


def _fewer_do(state: ClusterState, found: ScaleUpPlan, option: ScaleUpOption) -> bool:
    """Room was made meanwhile, by a preemption or by a group that ended."""
    return bool(fits_after(state, (), found.groups) or fewer_do(state, option.steps, found.groups))


def _same_groups(state: ClusterState, option: ScaleUpOption) -> bool:
    return all(fit.group in state.groups and state.groups[fit.group].uid == fit.uid for fit in option.fits)


def _joining(state: ClusterState, name: str, steps: Sequence[NewNodes], most: int | None) -> list[Event]:
    """The nodes of the steps, the first ``most`` of them."""
    promised = sum(step.count for step in steps)
    if most is not None and not 0 <= most <= promised:
        raise Refused([_of_plan(name, "nodes", INVALID, f"nodes: 0 to {promised}, not {most}")])
    made = new_nodes(state, steps)[: promised if most is None else most]
    return [NodeAdded(replace(node, uid=minted_uid(state.seq, "node", node.name))) for node in made]
