"""What a replay counts as it goes: integrals over virtual time in buckets, so that a replay of any length
gives a series of bounded size, and the same one whatever slices it was carried out in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MOST_POINTS = 2_000

Sums = dict[str, int]


class Series:
    """Buckets of one width, doubled as often as it takes for all of the time to be in ``MOST_POINTS`` of
    them. ``sums``: per name and bucket, the value times milliseconds; ``counts``: per name and bucket, how
    often something happened, or how much of it.
    """

    def __init__(self, names: Iterable[str], counted: Iterable[str]) -> None:
        self.width = 1
        self.end = 0
        self.sums: dict[str, list[int]] = {name: [] for name in names}
        self.counts: dict[str, list[int]] = {name: [] for name in counted}

    def hold(self, since: int, until: int, values: Mapping[str, int]) -> None:
        """From ``since`` to ``until`` the values were these."""
        self._reach(until)
        first, last = since // self.width, (until - 1) // self.width
        for name, value in values.items():
            if not value:
                continue
            buckets = self.sums[name]
            if first == last:
                buckets[first] += value * (until - since)
                continue
            buckets[first] += value * ((first + 1) * self.width - since)
            for bucket in range(first + 1, last):
                buckets[bucket] += value * self.width
            buckets[last] += value * (until - last * self.width)

    def count(self, at: int, name: str, amount: int = 1) -> None:
        self._reach(at + 1)
        self.counts[name][at // self.width] += amount

    def total(self, name: str) -> int:
        """The value times milliseconds, over all of the time."""
        return sum(self.sums[name])

    def mean(self, name: str, scale: int = 1) -> list[int]:
        """Per bucket, the mean of ``scale`` times the value, rounded down."""
        return [
            scale * value // self.length(bucket) if self.length(bucket) else 0
            for bucket, value in enumerate(self.sums[name])
        ]

    def length(self, bucket: int) -> int:
        """Milliseconds of the bucket: the last one ends with the time."""
        return max(0, min(self.end, (bucket + 1) * self.width) - bucket * self.width)

    def starts(self) -> list[int]:
        length = max((len(row) for row in (*self.sums.values(), *self.counts.values())), default=0)
        return [bucket * self.width for bucket in range(length)]

    def to_json(self) -> dict[str, Any]:
        return {"width": self.width, "end": self.end, "sums": self.sums, "counts": self.counts}

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Series:
        made = cls(told["sums"], told["counts"])
        made.width, made.end = told["width"], told["end"]
        made.sums, made.counts = dict(told["sums"]), dict(told["counts"])
        return made

    def _reach(self, until: int) -> None:
        if until <= self.end:
            return
        self.end = until
        while self.width * MOST_POINTS < until:
            self.width *= 2
            for rows in (self.sums, self.counts):
                for name, row in rows.items():
                    rows[name] = [sum(row[place : place + 2]) for place in range(0, len(row), 2)]
        length = (until - 1) // self.width + 1
        for rows in (self.sums, self.counts):
            for row in rows.values():
                row.extend([0] * (length - len(row)))


def waits(found: Sequence[int]) -> dict[str, int]:
    """Milliseconds. Percentiles by nearest rank: the least wait that so many of a hundred do not exceed."""
    ordered = sorted(found)
    if not ordered:
        return {"count": 0}
    return {
        "count": len(ordered),
        "mean": sum(ordered) // len(ordered),
        "p50": ordered[-(-50 * len(ordered) // 100) - 1],
        "p95": ordered[-(-95 * len(ordered) // 100) - 1],
        "max": ordered[-1],
    }
