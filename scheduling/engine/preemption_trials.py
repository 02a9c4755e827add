"""Whether a waiting group of several shapes fits in one domain once some pods are gone.

Where no other pod has a say, the room of the domain is all that counts, and the search of a decision is asked
about that room: nothing is decided about other domains, and no refusal is explained. Otherwise a decision is
made on a state without the pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from scheduling.engine import mixed
from scheduling.engine.capacity import Field
from scheduling.engine.decide import decide
from scheduling.engine.model import Pod
from scheduling.engine.preemption_room import Room
from scheduling.engine.reasons import Verdict
from scheduling.engine.roster import Kind
from scheduling.engine.shapes import Bars
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import TopologyIndex

_TRIED, _OF_A_NODE = 300, 2
"""Operations that a trial counts for, and each node of it besides."""


class Trial(Protocol):
    """``sure``: whether every refusual so far was a proof. ``price``: operations of one trial."""

    sure: bool

    @property
    def price(self) -> int: ...

    def places(self, gone: Iterable[Pod], then: Room) -> bool:
        """Whether the group fits without the pods; ``then``: the domain as it is without them."""
        ...


class ByRoom:
    """By the room of the domain alone, for kinds that no other pod restricts. ``where``: the domain, with the
    nodes of ``bars`` (per kind, per node) in this order.
    """

    def __init__(
        self, where: TopologyIndex, kinds: Sequence[Kind], bars: Sequence[Bars], missing: int
    ) -> None:
        nothing = np.zeros(len(where.order), np.int64)
        self._empty = Field(where, kinds, bars, {}, [nothing] * len(kinds))
        self._bars = bars
        self._missing = missing
        self._none_whole = np.zeros(len(where.order), bool)
        self._known: dict[bytes, bool] = {}
        self.sure = True

    @property
    def price(self) -> int:
        return _TRIED + _OF_A_NODE * len(self._none_whole)

    def places(self, gone: Iterable[Pod], then: Room) -> bool:
        free = np.array(then.free, np.int64).T
        look = free.tobytes()
        if look not in self._known:
            seen = self._empty.like(self._bars, dict(zip(then.resources, free, strict=True)))
            result = mixed.search(seen, self._none_whole, self._missing)
            self._known[look] = bool(result.found)
            self.sure &= bool(result.found) or not result.open
        return self._known[look]


class ByDecision:
    """By a decision on a copy of ``state``, each set of pods once."""

    def __init__(self, state: ClusterState, key: str) -> None:
        self._state = state.fork()
        self._key = key
        self._gone: dict[str, Pod] = {}
        self._known: dict[frozenset[str], bool] = {}
        self.sure = True

    @property
    def price(self) -> int:
        return _TRIED + _OF_A_NODE * len(self._state.nodes)

    def places(self, gone: Iterable[Pod], then: Room) -> bool:
        wanted = {pod.uid: pod for pod in gone if pod.uid in self._gone or pod.uid in self._state.pods}
        known = frozenset(wanted)
        if known not in self._known:
            for uid in self._gone.keys() - wanted.keys():
                self._state.set_pod(self._gone[uid])
            for uid in wanted.keys() - self._gone.keys():
                self._state.remove_pod(uid)
            self._gone = wanted
            made = decide(self._state, self._key)
            self._known[known] = made.placed
            self.sure &= made.placed or made.verdict == Verdict.PROVED_INFEASIBLE
        return self._known[known]
