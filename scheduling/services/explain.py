"""Why a group waits or where it would go: decided anew on the state at the head, nothing written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.models import Cluster
from scheduling.services.problems import NOT_FOUND, Problem, Refused
from scheduling.services.state import state_of


@dataclass(frozen=True, slots=True)
class Explanation:
    """``seq``: the event after which the decision holds; ``at``: when it was asked."""

    decision: Decision
    seq: int
    at: datetime


def explain(*, cluster: Cluster, namespace: str, name: str) -> Explanation:
    """Raises Refused (NotFound) when neither a PodGroup nor a pod names the group."""
    state = state_of(cluster)
    key = f"{namespace}/{name}"
    if key not in state.groups and not state.pods_naming(key):
        raise Refused(
            [Problem("PodGroup", namespace, name, "", NOT_FOUND, f"there is no open PodGroup {key}")]
        )
    return Explanation(decide(state, key), state.seq, datetime.now(UTC))
