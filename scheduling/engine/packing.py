"""A way to put members on nodes of one domain, and what it costs: the answer that every search gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.columns import Bools, Columns, Ints
from scheduling.engine.roster import Kind
from scheduling.engine.shapes import wholly_free_rows
from scheduling.engine.topology import TopologyIndex


@dataclass(frozen=True, slots=True)
class Packing:
    """``domain``: its number in the index. ``takes``: per kind, members on each node of the domain's slice.

    ``placed``: members in all; ``broken``: wholly free nodes that are no longer; ``left``: members of the
    kinds that the domain takes beyond these. ``method``: what found it, see ``Decision.method``.
    """

    domain: int
    takes: tuple[Ints, ...]
    placed: int
    broken: int
    left: int
    method: str = "counting"


def wholly_free(columns: Columns, index: TopologyIndex, kinds: Sequence[Kind]) -> Bools:
    """Per position: whether the node is wholly free for a group of these kinds, see ``shapes``."""
    return wholly_free_rows(columns, [kind.requests for kind in kinds], index.order)


def assignments(packing: Packing, index: TopologyIndex, kinds: Sequence[Kind]) -> tuple[tuple[str, str], ...]:
    """(pod uid, node) by pod name: the members of each kind in member order onto its nodes in order of
    name.
    """
    names = index.names[index.slice(packing.domain)]
    pairs: list[tuple[str, str, str]] = []
    for kind, take in zip(kinds, packing.takes, strict=True):
        spots = np.repeat(np.arange(len(names)), take)
        for pod, spot in zip(kind.pods, spots.tolist(), strict=False):
            pairs.append((pod.name, pod.uid, names[spot]))
    return tuple((uid, node) for _, uid, node in sorted(pairs))
