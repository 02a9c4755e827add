"""The small named steps that a profile of kube-scheduler is made of, in the manner of its framework.

generate: which placements there are (``engine/candidates.py``: the domains of the key, or the pinned one).
filter: the nodes of a placement that can take a member now. score: of a node for one member, of a placement
for the whole group. choose: one of the feasible placements. Integers are divided as Go divides them.

Left out, since neither the state nor the recorded clusters have it: preferred affinity to nodes and pods,
image locality, default topology spread, volumes, DRA, nominated nodes, and the sampling of nodes in
placements of more than 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Ints
from scheduling.engine.profiles.snapshot import SCORED, Asked, Snapshot

MAX_SCORE = 100


class Filter(Protocol):
    def __call__(self, nodes: Snapshot, member: Asked) -> Bools:
        """Per position: whether the member can go there."""


class NodeScore(Protocol):
    def __call__(self, nodes: Snapshot, member: Asked, feasible: Bools) -> Ints:
        """Per position 0 to 100, meaningless where not feasible."""


@dataclass(frozen=True, slots=True)
class Filled:
    """One placement after the pass. ``members``: scheduled before and placed now; ``charged``, ``alloc``: per
    resource of ``SCORED``, requests of all pods with the members in and what all its nodes offer.
    """

    domain: str
    members: int
    charged: tuple[int, ...]
    alloc: tuple[int, ...]


class PlacementScore(Protocol):
    def __call__(self, placements: Sequence[Filled]) -> list[int]:
        """Per feasible placement 0 to 100."""


class Choose(Protocol):
    def __call__(self, totals: Sequence[int]) -> tuple[int, ...]:
        """The placements that may win, the one that is taken first."""


# ---------------------------------------------------------------- filter


def eligible(nodes: Snapshot, member: Asked) -> Bools:
    """NodeUnschedulable, TaintToleration, NodeAffinity (node selector and required terms)."""
    return nodes.usable[member.eligibility]


def resources_fit(nodes: Snapshot, member: Asked) -> Bools:
    """NodeResourcesFit: room for everything that is requested, ``pods`` included."""
    room = np.ones(len(nodes.index.order), bool)
    for resource, amount in member.requests:
        if amount > 0:
            room &= nodes.free[resource] >= min(amount, AMOUNT_LIMIT)
    return room


def neighbours_allow(nodes: Snapshot, member: Asked) -> Bools:
    """InterPodAffinity (required terms) and NodePorts."""
    return nodes.pairs.fit(member.kind) if nodes.pairs else np.ones(len(nodes.index.order), bool)


# ---------------------------------------------------------------- score a node


def least_allocated(nodes: Snapshot, member: Asked, feasible: Bools) -> Ints:
    """NodeResourcesFit, LeastAllocated: mean over the resources of the free share with the member in."""
    total = np.zeros(len(feasible), np.int64)
    counted = np.zeros(len(feasible), np.int64)
    for resource, amount in member.scored:
        alloc = nodes.alloc[resource]
        left = np.maximum(alloc - nodes.charged[resource] - amount, 0)
        total += left * MAX_SCORE // np.maximum(alloc, 1)
        counted += alloc > 0
    score: Ints = total // np.maximum(counted, 1)
    return score


def balanced_allocation(nodes: Snapshot, member: Asked, feasible: Bools) -> Ints:
    """NodeResourcesBalancedAllocation: how much nearer the shares of the resources come to each other with
    the member in; 75 where nothing changes. A member that requests none of them is not scored.
    """
    requests = dict(member.requests)
    if not any(requests.get(resource) for resource in SCORED):
        return np.zeros(len(feasible), np.int64)
    with_it = _balance(nodes, requests)
    gain = MAX_SCORE // 2 + with_it - _balance(nodes, {})
    half = np.where(gain >= 0, gain // 2, -(-gain // 2))
    return MAX_SCORE // 2 + half


def _balance(nodes: Snapshot, more: dict[str, int]) -> Ints:
    """100 less half the distance between the shares in use of the two resources, in per cent."""
    shares = []
    offered = np.ones(len(nodes.index.order), bool)
    for resource in SCORED:
        alloc = nodes.alloc[resource]
        used = alloc - nodes.free[resource] + more.get(resource, 0)
        shares.append(np.minimum(used / np.maximum(alloc, 1), 1.0))
        offered &= alloc > 0
    deviation = np.where(offered, np.abs((shares[0] - shares[1]) / 2), 0.0)
    balance: Ints = ((1 - deviation) * float(MAX_SCORE)).astype(np.int64)
    return balance


def taint_toleration(nodes: Snapshot, member: Asked, feasible: Bools) -> Ints:
    """TaintToleration: fewest ``PreferNoSchedule`` taints that are not tolerated, against the most that any
    feasible node of the placement has.
    """
    counts = np.where(feasible, nodes.disliked[member.eligibility], 0)
    most = np.maximum.reduceat(counts, nodes.index.starts)[nodes.index.of]
    score: Ints = np.where(most > 0, MAX_SCORE - MAX_SCORE * counts // np.maximum(most, 1), MAX_SCORE)
    return score


# ---------------------------------------------------------------- score a placement


def pods_count(placements: Sequence[Filled]) -> list[int]:
    """PodGroupPodsCount: scheduled members, against the most that any feasible placement reaches."""
    most = max(placement.members for placement in placements)
    return [placement.members * MAX_SCORE // most for placement in placements]


def most_allocated(placements: Sequence[Filled]) -> list[int]:
    """NodeResourcesFit of a placement: mean over the resources of the share in use with the members in."""
    return [_most_allocated(placement) for placement in placements]


def _most_allocated(placement: Filled) -> int:
    shares = [
        min(charged, alloc) * MAX_SCORE // alloc
        for charged, alloc in zip(placement.charged, placement.alloc, strict=True)
        if alloc > 0
    ]
    return sum(shares) // len(shares) if shares else 0


# ---------------------------------------------------------------- choose


def highest(totals: Sequence[int]) -> tuple[int, ...]:
    """All that share the highest total; upstream rolls between them, here the first is taken."""
    best = max(totals)
    return tuple(number for number, total in enumerate(totals) if total == best)


FILTERS: tuple[Filter, ...] = (eligible, resources_fit, neighbours_allow)

NODE_SCORES: tuple[tuple[NodeScore, int], ...] = (
    (least_allocated, 1),
    (balanced_allocation, 1),
    (taint_toleration, 3),
)
"""With the default weights of the plugins."""

PLACEMENT_SCORES: tuple[tuple[PlacementScore, int], ...] = ((pods_count, 1), (most_allocated, 1))

CHOOSE: Choose = highest
