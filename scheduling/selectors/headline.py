"""A cluster in a few figures, counted from a state: of any moment, not only of the newest. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from scheduling.engine.eligibility import Bar
from scheduling.engine.model import Eligibility
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.state import ClusterState
from scheduling.engine.status import GroupStatus, group_status
from scheduling.engine.topology import ALL_NODES

WAITING = (GroupStatus.PENDING, GroupStatus.HELD, GroupStatus.ERROR)


@dataclass(frozen=True, slots=True)
class Use:
    """GPUs of some nodes, and how many of them pods hold."""

    gpus: int
    used: int

    @property
    def free(self) -> int:
        return self.gpus - self.used


@dataclass(frozen=True, slots=True)
class Headline:
    """``usable``: nodes that are ready and not cordoned. ``groups``: open PodGroups, and those that pods name
    without their existing. ``running``: groups with minCount members on nodes; ``waiting``: those that have
    not got what they asked for.
    """

    nodes: int
    usable: int
    use: Use
    groups: int
    running: int
    waiting: int


def headline(state: ClusterState) -> Headline:
    statuses = Counter(group_status(state, key) for key in state.group_keys())
    return Headline(
        nodes=len(state.nodes),
        usable=_usable(state),
        use=total(state),
        groups=statuses.total(),
        running=statuses[GroupStatus.SCHEDULED],
        waiting=sum(statuses[status] for status in WAITING),
    )


def _usable(state: ClusterState) -> int:
    """Without asking for each node: what bars a member that tolerates nothing is a taint, or nothing."""
    bars = state.bars(Eligibility())[state.index(ALL_NODES).order]
    return int(np.isin(bars, (Bar.NONE, Bar.TAINT)).sum())


def total(state: ClusterState) -> Use:
    """Of all nodes together."""
    return next(iter(_by_domain(state, None).values()), Use(0, 0))


def by_domain(state: ClusterState, key: str) -> dict[str, Use]:
    """By the value of a label, sorted; nodes without it are in no domain. Empty for NUMA zones, of which
    nobody knows all that is used.
    """
    return {} if key == NUMA_KEY else _by_domain(state, key)


def _by_domain(state: ClusterState, key: str | None) -> dict[str, Use]:
    index = state.index(key)
    columns = state.columns
    has, free = np.zeros(columns.rows, np.int64), np.zeros(columns.rows, np.int64)
    for resource in columns.alloc:
        if resource.endswith("/gpu"):
            has += columns.alloc[resource]
            free += columns.unheld(resource)
    gpus, used = index.sums(index.take(has)), index.sums(index.take(has - free))
    return {name: Use(int(gpus[place]), int(used[place])) for place, name in enumerate(index.domains)}
