"""PodGroups as they stood at a past moment, made from a state."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.status import group_status
from scheduling.selectors.past_map import WAITING


@dataclass(frozen=True, slots=True)
class PastGroup:
    """``generation`` 0 and no ``policy`` while pods name a PodGroup that does not exist. ``fits`` and
    ``reason`` are of the last decision before the moment, ``decision_seq`` its event; None before the first.
    """

    namespace: str
    name: str
    generation: int
    policy: str
    min_count: int
    topology_key: str
    status: str
    need: int
    members: int
    bound: int
    fits: int
    reason: str
    decision_seq: int | None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def get(state: ClusterState, key: str) -> PastGroup | None:
    """None when neither a PodGroup nor a pod had that key."""
    group = state.groups.get(key)
    if group is None and not state.pods_naming(key):
        return None
    who = roster(state, key)
    verdict, turn = state.verdicts.get(key), state.turns.get(key)
    namespace, _, name = key.partition("/")
    return PastGroup(
        namespace=namespace,
        name=name,
        generation=group.generation if group else 0,
        policy=group.policy if group else "",
        min_count=group.min_count if group else 1,
        topology_key=group.topology_key if group else "",
        status=group_status(state, key).value,
        need=who.need,
        members=who.known,
        bound=len(who.bound),
        fits=verdict.fits if verdict else 0,
        reason=verdict.reason if verdict else "",
        decision_seq=turn.seq if turn else None,
    )


def waiting(state: ClusterState, limit: int) -> tuple[list[PastGroup], int]:
    """The first waiting groups by reason and key, and how many there were."""
    found = [group for key in state.group_keys() if (group := get(state, key)) is not None]
    waits = [group for group in found if group.status in WAITING]
    return sorted(waits, key=lambda group: (group.reason, group.key))[:limit], len(waits)
