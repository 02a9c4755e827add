"""Groups of several shapes in one domain: decreasing-order heuristics that find a packing or say nothing.

Not finding one is no proof; ``capacity.Field.most`` proves. Every packing found is feasible by construction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from scheduling.engine.capacity import COUNT_LIMIT, Field, per_row
from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Ints
from scheduling.engine.packing import Packing
from scheduling.engine.uniform import fill

_ALTERNATIVES = 8
"""Once a domain takes the group, how many more that might be better are tried."""

_SHARE = 1 << 10

_RULES = ("tight", "least_left", "unwanted")


def search(seen: Field, whole: Bools, missing: int) -> tuple[list[Packing], dict[int, Packing]]:
    """Look for packings of at least ``missing`` members. Answers those found, best first, and the best try
    per domain.

    Domains in order of their upper bound, so that the first that reaches it is not beaten in members
    placed; then the order of profile ``exact``: most placed, fewest wholly free nodes broken, least
    capacity left, name.
    """
    bound = seen.most()
    spare = np.sum([np.minimum(sums, COUNT_LIMIT) for sums in seen.sums], axis=0, dtype=np.int64)
    tried: dict[int, Packing] = {}
    known: dict[bytes, Packing] = {}
    found: list[Packing] = []
    more = _ALTERNATIVES
    for domain in np.lexsort((np.arange(len(bound)), spare, -bound)).tolist():
        if bound[domain] < missing:
            break
        best = max((packing.placed for packing in found), default=0)
        if found and (bound[domain] < best or more == 0):
            break
        more -= bool(found)
        box = _Box(seen, whole, domain)
        alike = known.get(box.signature)
        packing = replace(alike, domain=domain) if alike is not None else box.pack(domain)
        tried[domain] = known[box.signature] = packing
        if packing.placed >= missing:
            found.append(packing)
    return sorted(found, key=lambda p: (-p.placed, p.broken, p.left, p.domain)), tried


def first_fit(seen: Field) -> tuple[Ints, ...]:
    """Members of each kind on each position when every domain is filled at once: kind after kind, the
    smallest first, nodes in order of name. Quick and rough; what it puts in does fit.
    """
    index = seen.index
    left = {resource: column[index.order] for resource, column in seen.room.items()}
    takes = [np.zeros(len(index.order), np.int64) for _ in seen.kinds]
    for kind in sorted(range(len(seen.kinds)), key=lambda k: (-int(seen.sums[k].sum()), k)):
        caps = np.where(seen.eligible(kind), per_row(left, len(index.order), seen.kinds[kind].requests), 0)
        before = np.cumsum(caps) - caps
        before -= before[index.starts][index.of]
        takes[kind] = take = np.clip(len(seen.kinds[kind].pods) - before, 0, caps)
        for resource, amount in seen.kinds[kind].requests:
            if resource in left:
                left[resource] = left[resource] - take * min(amount, AMOUNT_LIMIT)
    return tuple(takes)


class _Box:
    """One domain's nodes as small matrices: ``free`` [resource, node], ``asks`` [kind, resource], ``open``
    [kind, node].
    """

    def __init__(self, seen: Field, whole: Bools, domain: int) -> None:
        part = seen.index.slice(domain)
        rows = seen.index.order[part]
        resources = sorted({resource for kind in seen.kinds for resource, _ in kind.requests})
        self._kinds = seen.kinds
        self._counts = [len(kind.pods) for kind in seen.kinds]
        self.wanted = sum(self._counts)
        self._asks = np.array(
            [[min(dict(kind.requests).get(r, 0), AMOUNT_LIMIT) for r in resources] for kind in seen.kinds],
            np.int64,
        )
        self._free = np.stack(
            [seen.room[r][rows] if r in seen.room else np.zeros(len(rows), np.int64) for r in resources]
        )
        self._open = np.stack([seen.eligible(kind)[part] for kind in range(len(seen.kinds))])
        self._whole = whole[part]
        self._scale: Ints = np.maximum(self._free.max(axis=1, initial=1), 1)
        self.signature = b"".join(part.tobytes() for part in (self._free, self._open, self._whole))

    def pack(self, domain: int) -> Packing:
        """The best greedy packing: most members, then the higher priorities, then fewest whole nodes."""
        best, worth = self.nothing(), self.worth(self.nothing())
        for order in self.orders():
            for rule in _RULES:
                takes = self.greedy(order, rule)
                better = self.worth(takes)
                if better > worth:
                    best, worth = takes, better
            if worth[0] == self.wanted:
                break
        return Packing(domain, tuple(best), worth[0], self.broken(best), self.left(best))

    def worth(self, takes: Ints) -> tuple[int, tuple[int, ...], int]:
        """Greater is better. Priorities need no look when every member is in."""
        placed = int(takes.sum())
        return placed, () if placed == self.wanted else self.priorities(takes), -self.broken(takes)

    def nothing(self) -> Ints:
        return np.zeros(self._open.shape, np.int64)

    def orders(self) -> Iterator[tuple[int, ...]]:
        """Kinds by largest share of one resource, by sum of shares, by fewest usable nodes, as the members
        stand (by priority), and smallest first, which packs the most when not all can fit. Each order
        once.
        """
        shares = self._shares(self._asks.T).T
        kinds = range(len(self._counts))
        largest, total = shares.max(axis=1), shares.sum(axis=1)
        usable = self._open.sum(axis=1)
        orders = (
            sorted(kinds, key=lambda k: (-largest[k], -total[k], k)),
            sorted(kinds, key=lambda k: (-total[k], -largest[k], k)),
            sorted(kinds, key=lambda k: (usable[k], -largest[k], k)),
            list(kinds),
            sorted(kinds, key=lambda k: (largest[k], total[k], k)),
        )
        yield from dict.fromkeys(tuple(order) for order in orders)

    def greedy(self, order: tuple[int, ...], rule: str) -> Ints:
        """Members of each kind on each node: kind after kind, each onto its nodes in the order of the
        rule.
        """
        free = self._free.copy()
        takes = self.nothing()
        for kind in order:
            caps = self._caps(free, kind)
            take = fill(caps, self._nodes(free, caps, kind, rule), self._counts[kind])
            takes[kind] = take
            free -= self._asks[kind][:, None] * take[None, :]
        return takes

    def priorities(self, takes: Ints) -> tuple[int, ...]:
        """Priorities of the members that are in, highest first: compared, the better set is the greater."""
        placed = [
            pod.priority
            for kind, take in zip(self._kinds, takes, strict=True)
            for pod in kind.pods[: int(take.sum())]
        ]
        return tuple(sorted(placed, reverse=True))

    def broken(self, takes: Ints) -> int:
        return int((self._whole & (takes.sum(axis=0) > 0)).sum())

    def left(self, takes: Ints) -> int:
        """Members the domain takes beyond these: of the kind that it takes the most of."""
        free = self._free - self._asks.T @ takes
        return max(int(self._caps(free, kind).sum()) for kind in range(len(self._counts)))

    def _shares(self, amounts: Ints) -> Ints:
        """Amounts [resource, ...] against the roomiest node, in whole parts: floats would order differently
        elsewhere.
        """
        return amounts * _SHARE // self._scale[:, None]

    def _caps(self, free: Ints, kind: int) -> Ints:
        asks = self._asks[kind]
        wanted = asks > 0
        caps = (free[wanted] // asks[wanted, None]).min(axis=0)
        limited: Ints = np.where(self._open[kind], np.minimum(np.maximum(caps, 0), COUNT_LIMIT), 0)
        return limited

    def _nodes(self, free: Ints, caps: Ints, kind: int, rule: str) -> Ints:
        """Nodes in the order they are filled. ``tight``: fewest places first; ``least_left``: least room
        left once full of this kind; ``unwanted``: of least use to the other kinds.
        """
        name = np.arange(len(caps))
        if rule == "tight":
            return np.lexsort((name, self._whole, caps))
        if rule == "least_left":
            left = np.maximum(free - self._asks[kind][:, None] * caps[None, :], 0)
            return np.lexsort((name, self._whole, caps, self._shares(left).sum(axis=0)))
        use = np.zeros(len(caps), np.int64)
        for other, count in enumerate(self._counts):
            if other != kind:
                use += np.minimum(self._caps(free, other), count) * _SHARE // count
        return np.lexsort((name, self._whole, caps, use))
