"""A part of a state in which a group is decided as on the whole, where nothing outside of it matters."""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.engine.state import ClusterState


def cut(whole: ClusterState, key: str, domains: Iterable[str], loose: Iterable[str] = ()) -> ClusterState:
    """A state with only the nodes of these domains of the group's topology key and the loose ones, what is on
    them, and the group with all its pods. A domain that no node is in has no nodes.
    """
    group = whole.groups[key]
    index = whole.index(group.topology_key)
    known = [index.number[value] for value in sorted(domains) if value in index.number]
    inside = [name for number in known for name in index.names[index.slice(number)]]
    part = ClusterState()
    part.mode, part.gates = whole.mode, dict(whole.gates)
    part.records = whole.records.fork()
    for name in (*inside, *loose):
        part.set_node(whole.nodes[name])
        for pod in whole.pods_on(name):
            part.set_pod(pod)
    part.set_group(group)
    for pod in whole.pods_naming(key):
        part.set_pod(pod)
    return part
