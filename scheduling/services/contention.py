"""Who took the room of whom in one cycle."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.decide import decide
from scheduling.engine.reasons import Reason
from scheduling.engine.state import ClusterState
from scheduling.engine.turns import LostTo

_NOT_A_MATTER_OF_ROOM = (Reason.NEVER_FITS, Reason.NO_SUCH_DOMAIN, Reason.UNMODELLED)


@dataclass(frozen=True, slots=True)
class _Taken:
    key: str
    seq: int
    assignments: tuple[tuple[str, str], ...]


class Contention:
    """The placements of a cycle in their order, and the state before any of them (which is not changed).
    ``in_place``: the state has them in it as they come.
    """

    def __init__(self, state: ClusterState, profile: str, in_place: bool = False) -> None:
        self._state, self._profile, self._in_place = state, profile, in_place
        self._taken: list[_Taken] = []
        self._probe: ClusterState | None = None
        self._applied = 0

    def took(self, key: str, seq: int, assignments: tuple[tuple[str, str], ...]) -> None:
        """``seq``: of the event that tells it."""
        self._taken.append(_Taken(key, seq, assignments))

    def winner(self, key: str, reason: str) -> LostTo | None:
        """For a group that all placements so far leave no room to: the one before which it would have been
        placed and after which it would not. None when it found no place before the first one either.

        Found by halving: a placement only takes room.
        """
        own = max((place for place, taken in enumerate(self._taken, 1) if taken.key == key), default=0)
        fits, fits_not = own, len(self._taken)
        if fits == fits_not or reason in _NOT_A_MATTER_OF_ROOM or not self._would_fit(key, fits):
            return None
        while fits_not - fits > 1:
            middle = (fits + fits_not) // 2
            if self._would_fit(key, middle):
                fits = middle
            else:
                fits_not = middle
        taken = self._taken[fits]
        return LostTo(taken.key, taken.seq)

    def _would_fit(self, key: str, placements: int) -> bool:
        """Whether the group would be placed after so many of them."""
        if self._probe is None:
            self._probe = self._state.fork()
            self._applied = len(self._taken) if self._in_place else 0
        while self._applied < placements:
            for uid, node in self._taken[self._applied].assignments:
                self._probe.bind(uid, node)
            self._applied += 1
        while self._applied > placements:
            self._applied -= 1
            for uid, _ in self._taken[self._applied].assignments:
                self._probe.bind(uid, "")
        decision = decide(self._probe, key, profile=self._profile)
        return decision.placed and bool(decision.assignments)
