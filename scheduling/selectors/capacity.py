"""Node types, plans for new nodes and the groups that wait for some, read from the state at the head."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.growth import arrivals, room_to_grow
from scheduling.engine.node_types import NodeType, ScaleUpPlan
from scheduling.engine.queue import waiting
from scheduling.engine.scale_up import NoHelp, no_help
from scheduling.engine.state import ClusterState
from scheduling.models import Cluster
from scheduling.services.state import state_of


@dataclass(frozen=True, slots=True)
class TypeAndRoom:
    """``room``: (topology key, domain, how many may be there, how many of them may still be planned)."""

    kind: NodeType
    room: tuple[tuple[str, str, int, int], ...]


@dataclass(frozen=True, slots=True)
class PlanAndNodes:
    """``joined``: nodes that came for an approved plan so far, or had when it was closed."""

    plan: ScaleUpPlan
    joined: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A group of the queue, the open plan that is for it, "" for none, and why by its last decision no new
    node can help it.
    """

    key: str
    plan: str
    no_help: NoHelp | None


@dataclass(frozen=True, slots=True)
class ScaleUpView:
    """``plans``: open ones first, of each the newest first. ``waiting``: in the order of the queue. All of
    it after event ``seq``.
    """

    seq: int
    types: tuple[TypeAndRoom, ...]
    plans: tuple[PlanAndNodes, ...]
    waiting: tuple[Waiting, ...]


def scale_up_view(cluster: Cluster) -> ScaleUpView:
    return view_of(state_of(cluster))


def view_of(state: ClusterState) -> ScaleUpView:
    plans = plans_of(state)
    planned = {key: item.plan.name for item in plans if item.plan.open for key in item.plan.groups}
    return ScaleUpView(
        state.seq,
        types_of(state),
        plans,
        tuple(
            Waiting(key, planned.get(key, ""), _no_help(state, key))
            for key in waiting(state)
            if key in state.groups
        ),
    )


def _no_help(state: ClusterState, key: str) -> NoHelp | None:
    last = state.verdicts.get(key)
    return None if last is None else no_help(state, key, last.verdict, last.reason)


def types_of(state: ClusterState) -> tuple[TypeAndRoom, ...]:
    """By name."""
    return tuple(
        TypeAndRoom(
            kind,
            tuple(
                (entry.key, entry.domain, entry.most, room_to_grow(state, kind.name, entry.key, entry.domain))
                for entry in kind.growth
            ),
        )
        for _, kind in sorted(state.records.of(NodeType).items())
    )


def plans_of(state: ClusterState) -> tuple[PlanAndNodes, ...]:
    """See ``ScaleUpView``."""
    joined = {
        name: tuple(node for _, nodes in steps for node in nodes) for name, steps in arrivals(state).items()
    }
    plans = list(state.records.of(ScaleUpPlan).values())[::-1]
    plans.sort(key=lambda plan: not plan.open)
    return tuple(PlanAndNodes(plan, joined.get(plan.name, plan.nodes)) for plan in plans)


def open_plan_for(state: ClusterState, key: str) -> str:
    """The open plan that is for the group, "" for none."""
    plans = state.records.of(ScaleUpPlan).values()
    return next((plan.name for plan in plans if plan.open and key in plan.groups), "")
