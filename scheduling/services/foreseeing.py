"""What a cycle would decide about one group of a cluster, on the state as the cycle sees it: in an observed
cluster with the room of other groups' forecasts taken. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.queue import waiting
from scheduling.engine.state import ClusterState

MOST_OTHERS = 500
"""Groups of the queue that are decided to answer for one; ``complete`` says whether they were enough."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """``state``: what was decided on. ``after``: keys of the groups whose forecast room was taken, in the
    order of the queue. ``complete``: false when the queue is longer than what was decided.
    """

    decision: Decision
    state: ClusterState
    after: tuple[str, ...] = ()
    complete: bool = True


def foresee(state: ClusterState, key: str, *, profile: str = "exact", most: int = MOST_OTHERS) -> Foreseen:
    """Decide as ``deciding.decided`` does, for one group; ``state`` is not changed.

    A simulated cluster binds what it decides, so nothing but its facts counts. In an observed one the groups
    before this one in the queue take their room first, and a refusal holds after those behind it too: it is
    told after all placements of the cycle.
    """
    if state.mode != "observed":
        return Foreseen(decide(state, key, profile=profile), state)
    queue = waiting(state, profile)
    if key not in queue:
        return Foreseen(decide(state, key, profile=profile), state)
    ahead = state.fork()
    after: list[str] = []
    for number, other in enumerate(queue):
        decision = decide(ahead, other, profile=profile)
        if other == key and decision.placed:
            return Foreseen(decision, ahead, tuple(after))
        if number >= most:
            return Foreseen(decide(ahead, key, profile=profile), ahead, tuple(after), complete=False)
        if other != key and decision.assignments:
            after.append(other)
            zone = decision.domain if decision.enforced and decision.topology_key == NUMA_KEY else ""
            for uid, node in decision.assignments:
                ahead.bind(uid, node, zone)
    return Foreseen(decide(ahead, key, profile=profile), ahead, tuple(after))
