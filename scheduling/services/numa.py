"""NUMA zones as a topology key: asked for where no node tells of any, it is refused at submission. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.engine.model import PodGroup
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.state import ClusterState
from scheduling.services.problems import INVALID, Problem

NO_ZONES = "no node tells its NUMA zones: import NodeResourceTopology objects"


def zone_problems(state: ClusterState, groups: Iterable[PodGroup], path: str) -> list[Problem]:
    """A problem at ``path`` for each group that could only wait until zones are told."""
    asking = [group for group in groups if group.topology_key == NUMA_KEY]
    if not asking or any(node.zones for node in state.nodes.values()):
        return []
    return [Problem("PodGroup", group.namespace, group.name, path, INVALID, NO_ZONES) for group in asking]
