"""What a page or the API shows of preemption: the policy, the open proposals, and what became of others."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.preemption_records import PreemptionPlan, PreemptionPolicy
from scheduling.ledger.events import preemption as events
from scheduling.models import Cluster, Event
from scheduling.selectors.event_search import Filters, search
from scheduling.services.preemption import open_plans, plan_for, policy_of
from scheduling.services.state import state_of

SHOWN = 20
"""Events of the past that are listed."""

_TYPES = [kind.__name__ for kind in events.EVENTS if kind is not events.MemberEvicted]


@dataclass(frozen=True, slots=True)
class Preemption:
    """``plans``: the open ones, oldest first. ``seq``: of the state that tells them."""

    policy: PreemptionPolicy
    plans: list[PreemptionPlan]
    seq: int


def current(cluster: Cluster) -> Preemption:
    """As the log has it now."""
    state = state_of(cluster)
    return Preemption(policy_of(state), open_plans(state), state.seq)


def of_group(cluster: Cluster, key: str) -> tuple[PreemptionPolicy, PreemptionPlan | None]:
    """The policy, and the open proposal for the group's open generation."""
    state = state_of(cluster)
    return policy_of(state), plan_for(state, key)


def happened(cluster: Cluster) -> list[Event]:
    """The newest events about preemption, newest first; evictions stand on the pages of their proposals."""
    found = [event for name in _TYPES for event in search(cluster, Filters(type=name), limit=SHOWN).items]
    return sorted(found, key=lambda event: -event.seq)[:SHOWN]
