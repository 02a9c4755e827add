"""What a cluster has that steps of a scenario can name: lists that the form offers while one types."""

from __future__ import annotations

from collections import defaultdict

from scheduling.engine.model import TAS_GATES
from scheduling.engine.node_types import NodeType
from scheduling.engine.queues import Queue
from scheduling.engine.reservations import Reservation
from scheduling.engine.state import ClusterState
from scheduling.scenarios.templates import PRODUCT
from scheduling.selectors.past_map import topology_keys

MOST = 400
"""So many names are offered in one list; others are typed."""


def offers(state: ClusterState) -> dict[str, list[str]]:
    """Id of a list on the page -> names, the most of them ``MOST``."""
    keys = [entry["key"] for entry in topology_keys(state)]
    values: dict[str, set[str]] = defaultdict(set)
    for node in state.nodes.values():
        for label, value in node.labels:
            values[label].add(value)
    groups = list(state.group_keys())
    found = {
        "nodes": list(state.nodes),
        "topology-keys": keys,
        "domains": [domain for key in keys for domain in sorted(values[key])],
        "labels": sorted(values),
        "groups": sorted(groups),
        "namespaces": sorted({key.partition("/")[0] for key in groups}),
        "queues": sorted(state.records.of(Queue)),
        "gates": sorted({*TAS_GATES, *state.gates}),
        "node-types": sorted(state.records.of(NodeType)),
        "reservations": sorted(state.records.of(Reservation)),
        "products": sorted(values[PRODUCT]),
    }
    return {name: entries[:MOST] for name, entries in found.items()}
