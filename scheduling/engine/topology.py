"""The nodes of one topology key in the order (domain, name), so that a topology domain is a slice.

Nodes without the key are in no domain and are left out, so every segment given to ``np.add.reduceat`` has
at least one node (it would answer an element, not 0, for an empty one).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from scheduling.engine.columns import Ints
from scheduling.engine.model import Node
from scheduling.engine.packed import labelled
from scheduling.engine.roll import Objects

T = TypeVar("T", bound=np.generic)

ALL_NODES = None
"""In place of a topology key: one domain, named "", that holds every node."""


@dataclass(frozen=True, slots=True)
class TopologyIndex:
    """``key``: the topology key, ``ALL_NODES`` for none. ``order``: slots by (domain, node name). ``names``:
    the node of each position. ``starts``/``sizes``: the slice of each domain in it. ``of``: domain number of
    each position. ``domains``: their values, sorted. ``number``: value -> domain number. ``unlabelled``: how
    many nodes do not carry the key. ``at``: slot -> domain number, -1 for none. ``straight``: whether
    position and slot are the same.
    """

    key: str | None
    domains: tuple[str, ...]
    number: Mapping[str, int]
    names: tuple[str, ...]
    order: Ints
    starts: Ints
    sizes: Ints
    of: Ints
    unlabelled: int
    at: Ints
    straight: bool

    def slice(self, domain: int) -> slice:
        start = int(self.starts[domain])
        return slice(start, start + int(self.sizes[domain]))

    def only(self, domain: int) -> TopologyIndex:
        """The same key cut to one of its domains."""
        part = self.slice(domain)
        return TopologyIndex(
            key=self.key,
            domains=(self.domains[domain],),
            number={self.domains[domain]: 0},
            names=self.names[part],
            order=self.order[part],
            starts=np.zeros(1, np.int64),
            sizes=self.sizes[domain : domain + 1],
            of=np.zeros(part.stop - part.start, np.int64),
            unlabelled=self.unlabelled,
            at=np.where(self.at == domain, 0, -1),
            straight=False,
        )

    def by_position(self) -> TopologyIndex:
        """The same for columns that have a value for each position, in order, and for no other node."""
        positions = np.arange(len(self.order))
        return replace(self, order=positions, at=self.of, straight=True)

    def together(self) -> TopologyIndex:
        """All domains as one, named "": the nodes that carry the key, wherever they are."""
        some = len(self.order) > 0
        return TopologyIndex(
            key=self.key,
            domains=("",) if some else (),
            number={"": 0} if some else {},
            names=self.names,
            order=self.order,
            starts=np.zeros(int(some), np.int64),
            sizes=np.full(int(some), len(self.order), np.int64),
            of=np.zeros(len(self.order), np.int64),
            unlabelled=self.unlabelled,
            at=np.minimum(self.at, 0),
            straight=self.straight,
        )

    def take(self, column: NDArray[T]) -> NDArray[T]:
        """The values of a column in the order of positions; the column itself, not to be written, where the
        slots are in that order already.
        """
        return column[: len(self.order)] if self.straight else column[self.order]

    def sums(self, values: Ints) -> Ints:
        """Sum per domain of a value per position."""
        if not self.domains:
            return np.zeros(0, np.int64)
        total: Ints = np.add.reduceat(values, self.starts)
        return total


def build(nodes: Objects[str, Node], slot: Mapping[str, int], key: str | None) -> TopologyIndex:
    """Sort the nodes that carry ``key``; ``ALL_NODES`` makes one domain of them all."""
    values, names = labelled(nodes, key) if key is not ALL_NODES else ([""] * len(nodes), list(nodes))
    domains = sorted(set(values))
    number = {value: place for place, value in enumerate(domains)}
    of = np.array([number[value] for value in values], np.int64)
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    placed = by_name[np.argsort(of[by_name], kind="stable")]
    names = [names[place] for place in placed.tolist()]
    of = of[placed]
    order = np.array([slot[name] for name in names], np.int64)
    sizes = np.bincount(of, minlength=len(domains)).astype(np.int64)
    at = np.full(max(slot.values(), default=-1) + 1, -1, np.int64)
    at[order] = of
    return TopologyIndex(
        key=key,
        domains=tuple(domains),
        number=number,
        names=tuple(names),
        order=order,
        starts=np.cumsum(sizes) - sizes,
        sizes=sizes,
        of=of,
        unlabelled=len(nodes) - len(names),
        at=at,
        straight=bool((order == np.arange(len(order))).all()),
    )
