"""The nodes of all placements as one cycle of kube-scheduler sees them and fills them, member by member.

Every array is per position of the topology index (nodes by domain, then name), so that a member is tried in
all placements at once. Placements share no node: what is assumed in one is not seen in another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Ints
from scheduling.engine.eligibility import Bar, tolerated
from scheduling.engine.model import Eligibility, Pod
from scheduling.engine.pairwise_rules import Rules
from scheduling.engine.profiles.pairs import Pairs, pairs
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import TopologyIndex

SCORED = ("cpu", "memory")
"""The resources that kube-scheduler scores by default, each with weight 1."""

DEFAULT_REQUEST = {"cpu": 100, "memory": 200 * 1024 * 1024}
"""What scoring charges for a resource of ``SCORED`` that is not requested: milli-cores and bytes.

Upstream charges it for each container that leaves the resource out, and nothing for a request of 0; a shape
knows the sum over the containers only, so here it is charged where that sum is 0.
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one member asks for, as filters and scores read it. ``scored``: requests with the defaults in.
    ``kind``: its number among the kinds of the rules about other pods, 0 without rules.
    """

    requests: tuple[tuple[str, int], ...]
    scored: tuple[tuple[str, int], ...]
    eligibility: Eligibility
    kind: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``alloc``, ``free``: resource -> amount; ``charged``: resource of ``SCORED`` -> requests of all pods,
    the defaults in. ``usable``: per eligibility, where such a member may go, room apart; ``disliked``: how
    many ``PreferNoSchedule`` taints it does not tolerate. ``pairs``: what pods say about other pods, None
    when nothing. ``free``, ``charged`` and ``pairs`` change as members are assumed.
    """

    index: TopologyIndex
    alloc: dict[str, Ints]
    free: dict[str, Ints]
    charged: dict[str, Ints]
    usable: dict[Eligibility, Bools]
    disliked: dict[Eligibility, Ints]
    pairs: Pairs | None = None

    def copy(self) -> Snapshot:
        """One to be filled; what never changes is shared."""
        return replace(
            self,
            free={resource: column.copy() for resource, column in self.free.items()},
            charged={resource: column.copy() for resource, column in self.charged.items()},
            pairs=self.pairs.copy() if self.pairs else None,
        )

    def assume(self, asked: Asked, positions: Ints) -> None:
        """Put one such member on each of the nodes (no position twice)."""
        for resource, amount in asked.requests:
            self.free[resource][positions] -= min(amount, AMOUNT_LIMIT)
        for resource, amount in asked.scored:
            self.charged[resource][positions] += amount
        if self.pairs:
            self.pairs.assume(asked.kind, positions)


def asked(pod: Pod, kind: int = 0) -> Asked:
    return Asked(pod.shape.requests, _scored(pod.shape.requests), pod.shape.eligibility, kind)


def as_upstream_sees(state: ClusterState) -> ClusterState:
    """The same cluster without Ready conditions (kube-scheduler reads only the taints that follow them) and
    without lost domains: once no member is bound, nothing holds the group where it was.
    """
    unready = [node for node in state.nodes.values() if not node.ready]
    if not unready and not state.lost:
        return state
    view = state.fork()
    for key in list(state.lost):
        view.free_domain(key)
    for node in unready:
        view.set_node(replace(node, ready=True))
    return view


def take(
    state: ClusterState, index: TopologyIndex, members: Sequence[Asked], between: Rules | None = None
) -> Snapshot:
    """The nodes of the index now, for these members. ``state`` is one that ``as_upstream_sees``;
    ``between``: what pods say about where the members may go.
    """
    columns = state.columns
    wanted = {member.eligibility for member in members}
    needed = {resource for member in members for resource, _ in member.requests} | set(SCORED)
    none = np.zeros(columns.rows, np.int64)
    return Snapshot(
        index=index,
        alloc={resource: columns.alloc.get(resource, none)[index.order] for resource in sorted(needed)},
        free={resource: columns.free.get(resource, none)[index.order] for resource in sorted(needed)},
        charged=_charged(state, index),
        usable={each: state.bars(each)[index.order] == Bar.NONE for each in wanted},
        disliked={each: _disliked(state, index, each) for each in wanted},
        pairs=pairs(state, index, between) if between else None,
    )


def _scored(requests: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    amounts = dict(requests)
    return tuple(
        (resource, min(amounts.get(resource, 0) or DEFAULT_REQUEST[resource], AMOUNT_LIMIT))
        for resource in SCORED
    )


def _charged(state: ClusterState, index: TopologyIndex) -> dict[str, Ints]:
    """Requests of the pods on each node, with the defaults for those that request nothing."""
    columns = state.columns
    none = np.zeros(columns.rows, np.int64)
    sums = {
        resource: columns.alloc.get(resource, none) - columns.free.get(resource, none) for resource in SCORED
    }
    missing: dict[tuple[tuple[str, int], ...], tuple[str, ...]] = {}
    for pod in state.pods.values():
        row = columns.slot.get(pod.node) if pod.node and not pod.finished else None
        if row is None:
            continue
        requests = pod.shape.requests
        if requests not in missing:
            names = dict(requests)
            missing[requests] = tuple(resource for resource in SCORED if not names.get(resource))
        for resource in missing[requests]:
            sums[resource][row] += DEFAULT_REQUEST[resource]
    return {resource: column[index.order] for resource, column in sums.items()}


def _disliked(state: ClusterState, index: TopologyIndex, wanted: Eligibility) -> Ints:
    counts = np.zeros(len(index.order), np.int64)
    for position, name in enumerate(index.names):
        for taint in state.nodes[name].taints:
            if taint.effect == "PreferNoSchedule" and not tolerated(taint, wanted.tolerations):
                counts[position] += 1
    return counts
