"""How groups stand in the queue: attempts, what woke them, when they are tried again, who was first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scheduling.engine.requeue import Changes
from scheduling.engine.state import ClusterState
from scheduling.engine.turns import LostTo
from scheduling.ledger import archives, store
from scheduling.ledger.store import to_milliseconds
from scheduling.models import Cluster
from scheduling.services.execute import now_ms
from scheduling.services.state import state_of
from scheduling.services.waking import Looked, changes_of, looked_at, woken_by


@dataclass(frozen=True, slots=True)
class Standing:
    """``attempts``: failed ones in a row that the log tells. ``decided_at``, ``retry_at``: milliseconds;
    ``retry_at`` None unless the group was woken and rests. ``woken_by``: seq of the event that led to the
    last decision, None when it is not known. ``lost_to``: told by the last decision.
    """

    attempts: int = 0
    decided_at: int | None = None
    woken_by: int | None = None
    retry_at: int | None = None
    lost_to: LostTo | None = None


def standings(
    cluster: Cluster, keys: Iterable[str], *, clock: Callable[[], int] = now_ms
) -> dict[str, Standing]:
    """Of the open generations of these groups; one that was never decided has the standing of a new one.
    ``clock`` tells the time in milliseconds.
    """
    state = state_of(cluster)
    turns = {key: state.turns.get(key) for key in keys}
    now = clock()
    resting = [key for key, turn in turns.items() if turn is not None and turn.rests_until > now]
    woken = _woken(cluster, state, resting)
    return {
        key: Standing()
        if turn is None
        else Standing(
            turn.attempts, turn.at, turn.cause, turn.rests_until if key in woken else None, turn.lost_to
        )
        for key, turn in turns.items()
    }


def _woken(cluster: Cluster, state: ClusterState, keys: list[str]) -> set[str]:
    """Those of the groups that the next cycle will find woken. In an observed cluster no group rests."""
    at = cluster.last_cycle_at
    looked = Looked(cluster.last_cycle_seq, 0 if at is None else to_milliseconds(at))
    after = min((looked_at(state, key, looked) for key in keys), default=state.seq)
    recorded = store.read(cluster.pk, after=max(after, archives.begin(cluster.pk)), upto=state.seq)
    changes = Changes(state, (change for item in recorded for change in changes_of(state, item)))
    if state.mode == "observed":
        return set()
    return {key for key in keys if woken_by(state, key, changes, looked)[1]}
