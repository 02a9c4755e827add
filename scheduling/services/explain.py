"""Why a group waits or where it would go: decided anew as the next cycle would, nothing written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from scheduling.engine.decision import Decision
from scheduling.engine.model import DEFAULT_SCHEDULER
from scheduling.engine.roster import roster
from scheduling.models import Cluster
from scheduling.services.foreseeing import foresee
from scheduling.services.problems import NOT_FOUND, Problem, Refused
from scheduling.services.state import state_of


@dataclass(frozen=True, slots=True)
class Explanation:
    """``seq``: the event after which the decision holds; ``at``: when it was asked. ``observed``: nothing
    of it is ever bound by us. ``after``, ``complete``: see ``foreseeing.Foreseen``. ``schedulers``: those
    that waiting members ask for, but for the default one.
    """

    decision: Decision
    seq: int
    at: datetime
    observed: bool = False
    after: tuple[str, ...] = ()
    complete: bool = True
    schedulers: tuple[str, ...] = ()

    @property
    def forecast(self) -> bool:
        """Whether it says where members would go that we shall not put there."""
        return self.observed and bool(self.decision.assignments)


def explain(*, cluster: Cluster, namespace: str, name: str) -> Explanation:
    """Raises Refused (NotFound) when neither a PodGroup nor a pod names the group."""
    state = state_of(cluster)
    key = f"{namespace}/{name}"
    if key not in state.groups and not state.pods_naming(key):
        raise Refused(
            [Problem("PodGroup", namespace, name, "", NOT_FOUND, f"there is no open PodGroup {key}")]
        )
    found = foresee(state, key)
    return Explanation(
        found.decision,
        state.seq,
        datetime.now(UTC),
        observed=state.mode == "observed",
        after=found.after,
        complete=found.complete,
        schedulers=tuple(sorted(roster(state, key).schedulers - {DEFAULT_SCHEDULER})),
    )
