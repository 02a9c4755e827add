"""A state cut to some of its topology domains: what is decided about one domain needs no other."""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.engine.state import ClusterState


def only(whole: ClusterState, key: str, domains: Iterable[str], loose: Iterable[str] = ()) -> ClusterState:
    """The state with only the nodes of these domains of the group's topology key and the loose ones, what is
    on them, and the members of the group ``key``.
    """
    group = whole.groups[key]
    index = whole.index(group.topology_key)
    inside = [name for value in sorted(domains) for name in index.names[index.slice(index.number[value])]]
    cut = ClusterState()
    cut.mode, cut.gates = whole.mode, dict(whole.gates)
    for name in (*inside, *loose):
        cut.set_node(whole.nodes[name])
        for pod in whole.pods_on(name):
            cut.set_pod(pod)
    cut.set_group(group)
    for pod in whole.pods_naming(key):
        cut.set_pod(pod)
    return cut
