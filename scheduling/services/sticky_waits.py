"""Domain-sticky waits begin and end: a family of ``tending``, of what the cycle decided. Pure."""

from __future__ import annotations

from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.waiting import Held, held_to
from scheduling.engine.waits import StickyWait
from scheduling.ledger.events import StickyWaitEnded, StickyWaitStarted
from scheduling.services.followed import Followed


def tend(state: ClusterState, now_ms: int) -> list[Followed]:
    """First those that ended, then those that began; each by group key."""
    held = {key: found for key in sorted(state.verdicts) if (found := held_to(state, key)) is not None}
    waits = state.records.of(StickyWait)
    over = {key: wait for key, wait in sorted(waits.items()) if not _goes_on(state, wait, held.get(key))}
    ended = [_ended(state, wait) for wait in over.values()]
    begun = [_started(state, key, found) for key, found in held.items() if key in over or key not in waits]
    return ended + begun


def due_at(state: ClusterState) -> int | None:
    """Never: time alone neither begins nor ends one."""
    return None


def _goes_on(state: ClusterState, wait: StickyWait, held: Held | None) -> bool:
    group = state.groups.get(wait.id)
    if held is None or group is None or group.uid != wait.uid:
        return False
    return (held.topology_key, held.domain) == (wait.topology_key, wait.domain)


def _started(state: ClusterState, key: str, held: Held) -> Followed:
    group, who, turn = state.groups[key], roster(state, key), state.turns[key]
    event = StickyWaitStarted(
        namespace=group.namespace,
        name=group.name,
        uid=group.uid,
        generation=group.generation,
        topology_key=held.topology_key,
        domain=held.domain,
        reason=held.reason,
        need=who.need,
        bound=len(who.bound),
        since=turn.at,
    )
    return Followed(event, turn.seq)


def _ended(state: ClusterState, wait: StickyWait) -> Followed:
    namespace, _, name = wait.id.partition("/")
    group = state.groups.get(wait.id)
    closed = state.past.closed.table.get(wait.id)
    if group is not None and group.uid == wait.uid:
        who = roster(state, wait.id)
        how = "placed" if who.running and not who.waiting else "freed"
        generation, turn = group.generation, state.turns.get(wait.id)
    else:
        how, turn = "closed", None
        generation = closed.generation if closed is not None and closed.uid == wait.uid else 0
    event = StickyWaitEnded(
        namespace=namespace,
        name=name,
        uid=wait.uid,
        generation=generation,
        topology_key=wait.topology_key,
        domain=wait.domain,
        how=how,
        since=wait.since,
    )
    return Followed(event, turn.seq if turn is not None else wait.seq)
