"""One domain as small matrices, for members of several shapes: what fits, what a packing is worth, and the
decreasing-order heuristics that find a packing or say nothing.

Not finding one is no proof; ``capacity.Field.most`` and ``exact`` prove. Every packing found is feasible by
construction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from scheduling.engine.capacity import Field
from scheduling.engine.columns import Bools, Ints
from scheduling.engine.packing import Packing
from scheduling.engine.shapes import COUNT_LIMIT
from scheduling.engine.uniform import fill

_SHARE = 1 << 10

_SUM_LIMIT = 1 << 62

RULES = ("tight", "least_left", "unwanted")


class Box:
    """One domain's nodes as small matrices: ``free`` [resource, node], ``asks`` [kind, resource], ``open``
    [kind, node].
    """

    def __init__(self, seen: Field, whole: Bools, domain: int) -> None:
        part = seen.index.slice(domain)
        rows = seen.index.order[part]
        resources, self.asks = seen.asks
        self.kinds = seen.kinds
        self.counts = [len(kind.pods) for kind in seen.kinds]
        self.wanted = sum(self.counts)
        nothing = np.zeros(len(rows), np.int64)
        self.free = np.array([seen.room[r][rows] if r in seen.room else nothing for r in resources])
        self.open = np.array([seen.open_at(kind, rows) for kind in range(len(seen.kinds))])
        self._shut = ~self.open
        self.whole = whole[part]
        self._scale: Ints = self.free.max(axis=1, initial=1)
        self._wants = [np.flatnonzero(asks) for asks in self.asks]
        self._each = [asks[wants, None] for asks, wants in zip(self.asks, self._wants, strict=True)]

    @property
    def signature(self) -> bytes:
        """Equal for domains that look alike to the group."""
        return b"".join(part.tobytes() for part in (self.free, self.open, self.whole))

    @property
    def one_priority(self) -> bool:
        return len({pod.priority for kind in self.kinds for pod in kind.pods}) == 1

    @cached_property
    def alone(self) -> list[Ints]:
        """Per kind, per node: members that it takes with nobody else in."""
        return [self.caps(self.free, kind) for kind in range(len(self.counts))]

    def heuristic(self) -> Ints:
        """The best greedy packing: most members, then the higher priorities, then fewest whole nodes.

        Once everybody is in, one rule more is tried for the sake of wholly free nodes.
        """
        best = self.nothing()
        worth: tuple[int, tuple[int, ...], int] = (0, (), 0)
        for order in self.orders():
            for rule in RULES:
                everybody = worth[0] == self.wanted
                takes = self.greedy(order, rule)
                better = self.worth(takes)
                if better > worth:
                    best, worth = takes, better
                if everybody or (worth[0] == self.wanted and self._breaks_least(-worth[2])):
                    return best
            if worth[0] == self.wanted:
                break
        return best

    def packing(self, domain: int, takes: Ints, method: str) -> Packing:
        return Packing(domain, tuple(takes), int(takes.sum()), self.broken(takes), self.left(takes), method)

    def holds(self, takes: Ints) -> bool:
        """Whether [kind, node] is a packing: counted in whole numbers, whoever found it."""
        asked = self.asks.T @ takes
        return bool(
            (takes >= 0).all()
            and (takes.sum(axis=1) <= self.counts).all()
            and not takes[~self.open].any()
            and (asked <= np.maximum(self.free, 0)).all()
        )

    def worth(self, takes: Ints) -> tuple[int, tuple[int, ...], int]:
        """Greater is better. Priorities need no look when every member is in."""
        placed = int(takes.sum())
        return placed, () if placed == self.wanted else self.priorities(takes), -self.broken(takes)

    def nothing(self) -> Ints:
        return np.zeros(self.open.shape, np.int64)

    def orders(self) -> Iterator[tuple[int, ...]]:
        """Kinds by largest share of one resource, by sum of shares, by fewest usable nodes, as the members
        stand (by priority), and smallest first, which packs the most when not all can fit. Each order
        once.
        """
        shares = self._shares(self.asks.T)
        largest, total = shares.max(axis=0).tolist(), shares.sum(axis=0).tolist()
        kinds = range(len(self.counts))
        usable = self.open.sum(axis=1).tolist()
        ranks: tuple[Callable[[int], tuple[int, ...]], ...] = (
            lambda k: (-largest[k], -total[k], k),
            lambda k: (-total[k], -largest[k], k),
            lambda k: (usable[k], -largest[k], k),
            lambda k: (k,),
            lambda k: (largest[k], total[k], k),
        )
        known: set[tuple[int, ...]] = set()
        for rank in ranks:
            order = tuple(sorted(kinds, key=rank))
            if order not in known:
                known.add(order)
                yield order

    def greedy(self, order: tuple[int, ...], rule: str) -> Ints:
        """Members of each kind on each node: kind after kind, each onto its nodes in the order of the
        rule.
        """
        free = self.free
        takes = self.nothing()
        for kind in order:
            caps = self.alone[kind] if free is self.free else self.caps(free, kind)
            ordered = self._nodes(free, caps, kind, rule)
            takes[kind] = take = fill(caps, ordered, self.counts[kind])
            if kind != order[-1]:
                free = free - self.asks[kind][:, None] * take
        return takes

    def priorities(self, takes: Ints) -> tuple[int, ...]:
        """Priorities of the members that are in, highest first: compared, the better set is the greater."""
        placed = [
            pod.priority
            for kind, take in zip(self.kinds, takes, strict=True)
            for pod in kind.pods[: int(take.sum())]
        ]
        return tuple(sorted(placed, reverse=True))

    def broken(self, takes: Ints) -> int:
        return int(np.count_nonzero(self.whole & takes.any(axis=0)))

    def left(self, takes: Ints) -> int:
        """Members the domain takes beyond these: of the kind that it takes the most of."""
        free = self.free - self.asks.T @ takes
        return max(int(self.caps(free, kind).sum()) for kind in range(len(self.counts)))

    def _shares(self, amounts: Ints) -> Ints:
        """Amounts [resource, ...] against the roomiest node, in whole parts: floats would order differently
        elsewhere.
        """
        return amounts * _SHARE // self._scale[:, None]

    def caps(self, free: Ints, kind: int) -> Ints:
        """Per node: members of one kind that it takes alone."""
        caps: Ints = np.minimum.reduce(free[self._wants[kind]] // self._each[kind])
        np.minimum(caps, COUNT_LIMIT, out=caps)
        np.maximum(caps, 0, out=caps)
        caps[self._shut[kind]] = 0
        return caps

    def _breaks_least(self, broken: int) -> bool:
        return broken == 0 or broken == self._least_broken()

    def _least_broken(self) -> int:
        """No fewer wholly free nodes than this are touched when everybody is in: what the others cannot feed
        must come from them. 0, which is always true, where the sums could overflow.
        """
        free = np.maximum(self.free, 0)
        if (
            int(free.max(initial=0)) * free.shape[1] >= _SUM_LIMIT
            or int(self.asks.max()) * self.wanted >= _SUM_LIMIT
        ):
            return 0
        if not self.whole.any():
            return 0
        # Every resource, and every kind as if it were alone.
        supply = np.concatenate([free, self.alone])
        asked = np.concatenate([np.array(self.counts) @ self.asks, self.counts])
        missing = asked - supply[:, ~self.whole].sum(axis=1)
        largest = np.maximum(supply[:, self.whole].max(axis=1), 1)
        return max(0, int((-(-missing // largest)).max()))

    def _nodes(self, free: Ints, caps: Ints, kind: int, rule: str) -> Ints:
        """Nodes in the order they are filled. ``tight``: fewest places first; ``least_left``: least room
        left once full of this kind; ``unwanted``: of least use to the other kinds.
        """
        if rule == "tight":
            return np.lexsort((self.whole, caps))
        if rule == "least_left":
            left = np.maximum(free - self.asks[kind][:, None] * caps[None, :], 0)
            return np.lexsort((self.whole, caps, self._shares(left).sum(axis=0)))
        use = np.zeros(len(caps), np.int64)
        for other, count in enumerate(self.counts):
            if other != kind:
                caps_of_other = self.alone[other] if free is self.free else self.caps(free, other)
                use += np.minimum(caps_of_other, count) * _SHARE // count
        return np.lexsort((self.whole, caps, use))
