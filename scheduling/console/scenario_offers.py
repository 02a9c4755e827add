"""What a cluster has that steps of a scenario can name: lists that the form offers while one types."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from scheduling.engine.model import TAS_GATES
from scheduling.engine.node_types import NodeType
from scheduling.engine.queues import Queue
from scheduling.engine.reservations import Reservation
from scheduling.engine.state import ClusterState
from scheduling.scenarios.templates import PRODUCT
from scheduling.selectors.past_map import topology_keys

MOST = 400
"""So many names are offered in one list; of a longer one those that hold what is typed are asked for."""


@dataclass(frozen=True, slots=True)
class Offer:
    """``names``: those that fit; ``cut``: there are more."""

    names: list[str]
    cut: bool


def offers(state: ClusterState) -> dict[str, Offer]:
    """By the id of the list on the page."""
    return {name: _offer(entries) for name, entries in _names(state).items()}


def holding(state: ClusterState, name: str, typed: Iterable[str]) -> Offer:
    """The names of a list that hold any of the texts. Empty for a list that there is not."""
    texts = [text for text in typed if text]
    return _offer([entry for entry in _names(state).get(name, []) if any(text in entry for text in texts)])


def _offer(entries: list[str]) -> Offer:
    return Offer(entries[:MOST], len(entries) > MOST)


def _names(state: ClusterState) -> dict[str, list[str]]:
    keys = [entry["key"] for entry in topology_keys(state)]
    values: dict[str, set[str]] = defaultdict(set)
    for node in state.nodes.values():
        for label, value in node.labels:
            values[label].add(value)
    groups = list(state.group_keys())
    return {
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
