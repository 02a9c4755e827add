"""What becomes of plans for new nodes without anybody asking: they lapse, come true or fall short. Pure."""

from __future__ import annotations

from scheduling.engine.decide import decide
from scheduling.engine.growth import arrivals
from scheduling.engine.node_types import GroupFit, PlanStatus, ScaleUpPlan
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.ledger.events import Event, ScaleUpCompleted, ScaleUpExpired, ScaleUpShort
from scheduling.services.followed import Followed


def tend(state: ClusterState, now_ms: int) -> list[Followed]:
    """See ``tending.Family``."""
    plans = [plan for plan in state.records.of(ScaleUpPlan).values() if plan.open]
    if not plans:
        return []
    joined = {
        name: tuple(node for _, nodes in steps for node in nodes) for name, steps in arrivals(state).items()
    }
    news: list[Followed] = []
    for plan in plans:
        if plan.status == PlanStatus.PLANNED:
            event = _lapsed(state, plan, now_ms)
        else:
            event = _closed(state, plan, joined[plan.name], now_ms)
        if event is not None:
            news.append(Followed(event, _cause(state, event, plan)))
    return news


def due_at(state: ClusterState) -> int | None:
    """See ``tending.Family``."""
    plans = [plan for plan in state.records.of(ScaleUpPlan).values() if plan.open]
    return min(
        (plan.expires_at if plan.status == PlanStatus.PLANNED else plan.deadline for plan in plans),
        default=None,
    )


def _lapsed(state: ClusterState, plan: ScaleUpPlan, now_ms: int) -> Event | None:
    if _gone(state, plan):
        return ScaleUpExpired(plan.name, "gone")
    if all(_placed(state, fit) for fit in plan.option.fits):
        return ScaleUpExpired(plan.name, "placed")
    return ScaleUpExpired(plan.name, "time") if now_ms >= plan.expires_at else None


def _closed(state: ClusterState, plan: ScaleUpPlan, joined: tuple[str, ...], now_ms: int) -> Event | None:
    promised = plan.option.nodes

    def short(why: str, group: str = "", reason: str = "") -> ScaleUpShort:
        return ScaleUpShort(plan.name, why, promised, joined, group, reason)

    gone = _gone(state, plan)
    if gone:
        return short("gone", gone)
    late = now_ms >= plan.deadline
    if len(joined) < promised:
        return short("nodes") if late else None
    left = [fit.group for fit in plan.option.fits if not _placed(state, fit)]
    if not left:
        return ScaleUpCompleted(plan.name, joined)
    for group in left:
        decision = decide(state, group)
        if not decision.placed:
            return short("group", group, str(decision.reason))
    return short("not_placed", left[0]) if late else None


def _gone(state: ClusterState, plan: ScaleUpPlan) -> str:
    """A group of the plan whose generation is not open any more, "" for none."""
    for fit in plan.option.fits:
        group = state.groups.get(fit.group)
        if group is None or group.uid != fit.uid:
            return fit.group
    return ""


def _placed(state: ClusterState, fit: GroupFit) -> bool:
    """Whether it got what the plan was for: minCount members on nodes, and more than there were."""
    who = roster(state, fit.group)
    if who.running and not who.waiting:
        return True
    return len(who.bound) >= fit.need and len(who.bound) > fit.bound


def _cause(state: ClusterState, event: Event, plan: ScaleUpPlan) -> int | None:
    """The newest decision about a group of the plan, where the plan ended by it."""
    if isinstance(event, ScaleUpExpired) and event.why != "placed":
        return None
    if isinstance(event, ScaleUpShort) and event.why not in ("group", "gone"):
        return None
    turns = [state.turns[key].seq for key in plan.groups if key in state.turns]
    return max(turns, default=None)
