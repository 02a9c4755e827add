"""The counts of all domains as numbers in columns; a row is made when somebody reads it.

A refusal counts every domain, and most of the rows are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import numpy as np

from scheduling.engine.columns import Ints
from scheduling.engine.decision import DomainCount


class DomainRows(Sequence[DomainCount]):
    """A sequence of ``DomainCount``, equal to the tuple of the same rows.

    ``names``: of the domains by number; ``order``: their numbers, best first; the columns are by number.
    ``lacks`` and ``causes``: name -> column, of which a row shows what is not 0.
    """

    def __init__(
        self,
        names: Sequence[str],
        order: Ints,
        numbers: Ints,
        reasons: Sequence[str],
        never: int,
        lacks: Mapping[str, Ints],
        causes: Mapping[str, Ints],
    ) -> None:
        """``numbers``: [nodes, eligible, fits, short, code] by domain; ``reasons``: by code; ``never``: the
        code from which on a domain would not do even empty.
        """
        self._names = names
        self._order = order
        self._numbers = numbers
        self._reasons = reasons
        self._never = never
        self._lacks = {name: lacks[name] for name in sorted(lacks)}
        self._causes = {name: causes[name] for name in sorted(causes)}

    @property
    def hopeful(self) -> str | None:
        """The reason of the best domain that would do when empty, None when there is none."""
        codes = self._numbers[4][self._order]
        would = np.flatnonzero(codes < self._never)
        return self._reasons[codes[would[0]]] if len(would) else None

    def _row(self, domain: int) -> DomainCount:
        nodes, eligible, fits, short, code = self._numbers[:, domain].tolist()
        return DomainCount(
            self._names[domain],
            nodes,
            eligible,
            fits,
            short,
            self._reasons[code],
            _pairs(self._lacks, domain),
            _pairs(self._causes, domain),
            code >= self._never,
        )

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, place: int) -> DomainCount: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[DomainCount, ...]: ...

    def __getitem__(self, place: int | slice) -> DomainCount | tuple[DomainCount, ...]:
        found = self._order[place]
        if isinstance(place, slice):
            return tuple(self._row(domain) for domain in found.tolist())
        return self._row(int(found))

    def __iter__(self) -> Iterator[DomainCount]:
        return (self._row(domain) for domain in self._order.tolist())

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | DomainRows) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def _pairs(columns: Mapping[str, Ints], domain: int) -> tuple[tuple[str, int], ...]:
    return tuple((name, number) for name, column in columns.items() if (number := int(column[domain])))
