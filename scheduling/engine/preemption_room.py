"""Room in one domain as whole numbers, kept node by node while victims are thought away and put back.

For members of one shape, where no other pod has a say, ``enough`` is exact. Otherwise it is what every
placement needs and not what suffices.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from copy import copy
from itertools import accumulate
from operator import add, sub

from scheduling.engine.columns import AMOUNT_LIMIT
from scheduling.engine.eligibility import Bar
from scheduling.engine.model import Pod
from scheduling.engine.roster import Kind, Requests
from scheduling.engine.shapes import COUNT_LIMIT
from scheduling.engine.state import ClusterState

Footprint = tuple[tuple[int, tuple[int, ...]], ...]
"""(node, amount of each resource that is looked at), by node."""


class Room:
    """``missing``: members to be found. ``changes``: how many nodes were counted again, ever. ``alike``: as
    if every member asked for all that any of them asks for; what is enough then is enough.
    """

    def __init__(
        self,
        state: ClusterState,
        kinds: Sequence[Kind],
        names: Sequence[str],
        missing: int,
        *,
        alike: bool = False,
    ) -> None:
        self._known: dict[Requests, tuple[int, ...]] = {}
        self._gpu: int | None = None
        self._gpus = self._asked = 0
        self.missing = missing
        self.changes = 0
        self.place = {name: number for number, name in enumerate(names)}
        self.resources = sorted({resource for kind in kinds for resource, _ in kind.requests})
        self.wanted = [len(kind.pods) for kind in kinds]
        where = {resource: number for number, resource in enumerate(self.resources)}
        self.asks = [
            [(where[resource], min(amount, AMOUNT_LIMIT)) for resource, amount in kind.requests if amount > 0]
            for kind in kinds
        ]
        if alike:
            most: dict[int, int] = {}
            for place, amount in (pair for asks in self.asks for pair in asks):
                most[place] = max(amount, most.get(place, 0))
            self.asks, self.wanted = [sorted(most.items())], [sum(self.wanted)]
        rows = [state.columns.slot[name] for name in names]
        columns = state.columns.free
        self.free: list[list[int]] = [
            list(amounts)
            for amounts in zip(
                *(
                    columns[resource][rows].tolist() if resource in columns else [0] * len(rows)
                    for resource in self.resources
                ),
                strict=True,
            )
        ]
        self.open = [(state.bars(kind.eligibility)[rows] == Bar.NONE).tolist() for kind in kinds]
        if alike:
            self.open = [[all(usable) for usable in zip(*self.open, strict=True)]]
        self.usable: list[bool] = [any(usable) for usable in zip(*self.open, strict=True)]
        self._count_devices()
        self.caps = [[self._cap(kind, node) for node in range(len(rows))] for kind in range(len(self.asks))]
        self.totals = [sum(caps) for caps in self.caps]

    def copy(self) -> Room:
        """The same room, to be changed apart."""
        other = copy(self)
        other.free, other.totals = self.free.copy(), self.totals.copy()  # rows of ``free`` are never written
        other.caps = [caps.copy() for caps in self.caps]
        return other

    def _cap(self, kind: int, node: int) -> int:
        if not self.open[kind][node]:
            return 0
        free, cap = self.free[node], COUNT_LIMIT
        for place, amount in self.asks[kind]:
            if (takes := free[place] // amount) < cap:
                cap = takes
        return cap if cap > 0 else 0

    def footprint(self, pods: Iterable[Pod]) -> Footprint:
        """What the pods hold on nodes of the domain that members may use; nothing of it may be asked for."""
        held: dict[int, tuple[int, ...]] = {}
        for pod in pods:
            node = self.place.get(pod.node)
            if node is None or not self.usable[node]:
                continue
            amounts = self._amounts(pod.shape.requests)
            if any(amounts):
                known = held.get(node)
                held[node] = amounts if known is None else tuple(map(add, known, amounts))
        return tuple(sorted(held.items()))

    def _amounts(self, requests: Requests) -> tuple[int, ...]:
        known = self._known.get(requests)
        if known is None:
            asked = dict(requests)
            known = tuple(min(asked.get(resource, 0), AMOUNT_LIMIT) for resource in self.resources)
            self._known[requests] = known
        return known

    def given(self, pods: Iterable[Pod]) -> list[int]:
        """GPUs that each of the pods holds on nodes of the domain that members may use; see ``devices``."""
        gpu, place = self._gpu, self.place
        if gpu is None:
            return []
        return [
            self._amounts(pod.shape.requests)[gpu]
            for pod in pods
            if pod.node in place and self.usable[place[pod.node]]
        ]

    def change(self, footprint: Footprint, sign: int) -> None:
        """Think what is there away (1), or put it back (-1)."""
        gpu, gpus, totals = self._gpu, self._gpus, self.totals
        moved = add if sign > 0 else sub
        for node, amounts in footprint:
            before = self.free[node]
            self.free[node] = free = list(map(moved, before, amounts))
            if gpu is not None:
                gpus += max(0, free[gpu]) - max(0, before[gpu])
            for kind, caps in enumerate(self.caps):
                cap = self._cap(kind, node)
                totals[kind] += cap - caps[node]
                caps[node] = cap
        self._gpus = gpus
        self.changes += len(footprint)

    @property
    def most(self) -> int:
        """No more members than this fit; as many do when they are of one shape."""
        return sum(min(total, wanted) for total, wanted in zip(self.totals, self.wanted, strict=True))

    @property
    def short(self) -> int:
        return max(0, self.missing - self.most)

    @property
    def enough(self) -> bool:
        return self.most >= self.missing

    def devices(self, hope: Room) -> int:
        """No fewer GPUs than this must be given back until enough members fit; ``hope``: the same domain with
        everything away that may go.
        """
        if self.enough or self._gpu is None:
            return 0
        if len(self.asks) > 1:
            return max(0, self._asked - self._gpus)
        each = dict(self.asks[0]).get(self._gpu, 0)
        return self._devices_by_node(self._gpu, each, hope) if each else 0

    def _count_devices(self) -> None:
        """Which resource GPUs are (None for no or several), how many the ``missing`` members ask for that ask
        for the fewest, and how many are free.
        """
        gpus = [place for place, resource in enumerate(self.resources) if resource.endswith("/gpu")]
        self._gpu = gpu = gpus[0] if len(gpus) == 1 else None
        if gpu is None:
            return
        asked: list[int] = sorted(
            dict(asks).get(gpu, 0)
            for asks, wanted in zip(self.asks, self.wanted, strict=True)
            for _ in range(wanted)
        )
        self._asked = sum(asked[: self.missing])
        self._gpus = sum(
            max(0, free[gpu]) for free, usable in zip(self.free, self.usable, strict=True) if usable
        )

    def _devices_by_node(self, gpu: int, each: int, hope: Room) -> int:
        """The cheapest places: on every node the next one needs what is free there less, those after it all
        that a member asks for.
        """
        self.changes += len(self.free)
        left = self.short
        first: list[int] = []
        for free, cap, most in zip(self.free, self.caps[0], hope.caps[0], strict=True):
            gain = most - cap
            if gain <= 0:
                continue
            ready = min(gain, max(0, free[gpu] // each - cap))  # held up by another resource only
            left -= ready
            if gain > ready:
                first.append(each - free[gpu] % each if free[gpu] >= 0 else each - free[gpu])
        if left <= 0:
            return 0
        first.sort()
        # Every next place but the first of a node costs ``each``, and so no less than a first one that is
        # cheaper; where an over-committed node makes a first one dearer, ``each`` is the lower bound.
        return sum(min(cost, each) for cost in first[:left]) + each * max(0, left - len(first))


class Fewest:
    """How many of some amounts, the largest first, add up to a sum at least."""

    def __init__(self, amounts: Iterable[int]) -> None:
        self._sums = list(accumulate(sorted(amounts, reverse=True)))

    def to(self, wanted: int) -> int:
        return bisect_left(self._sums, wanted) + 1 if wanted > 0 else 0
