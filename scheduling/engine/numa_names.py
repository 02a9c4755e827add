"""The reserved topology key by which every NUMA zone of every node is a domain of its own, and its domains'
names.
"""

from __future__ import annotations

NUMA_KEY = "topology.node.k8s.io/numa"
"""Ours: no node carries it as a label. Its domains are the zones that NodeResourceTopology objects tell."""


def domain_of(node: str, zone: str) -> str:
    """``gpu-01/node-0``. No name of a node has a slash."""
    return f"{node}/{zone}"


def node_of(domain: str) -> str:
    """The node of a domain; a name of a node stands for itself."""
    return domain.partition("/")[0]
