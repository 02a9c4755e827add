"""Topology domains as they were: the rows of ``domains``, made from a state."""

from __future__ import annotations

from collections import defaultdict

from scheduling.engine.numa import zone_rooms
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.state import ClusterState
from scheduling.selectors.domains import DomainRow, natural, of_zone
from scheduling.selectors.past_map import Picture
from scheduling.selectors.rack_map import CORDONED, NOT_READY, Entry


def table(state: ClusterState, key: str) -> tuple[list[DomainRow], int]:
    """Every domain of ``key`` in natural order, and how many nodes are in none."""
    entries = Picture.of(state, key).entries
    unlabelled = sum(1 for entry in entries.values() if entry.domain is None)
    if key == NUMA_KEY:
        rows = [of_zone(zone, _usable(entries[zone.node])) for zone in zone_rooms(state)]
    else:
        members: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in entries.values():
            if entry.domain is not None:
                members[entry.domain].append(entry)
        rows = [_row(domain, nodes) for domain, nodes in members.items()]
    return sorted(rows, key=lambda row: natural(row.domain)), unlabelled


def _row(domain: str, nodes: list[Entry]) -> DomainRow:
    usable = [node for node in nodes if _usable(node)]
    return DomainRow(
        domain=domain,
        nodes=len(nodes),
        usable_nodes=len(usable),
        gpus=sum(node.gpus for node in nodes),
        gpus_used=sum(node.gpus_used for node in nodes),
        gpus_usable=sum(max(0, node.gpus - node.gpus_used) for node in usable),
        whole_nodes=sum(node.gpus > 0 and node.gpus_used == 0 for node in usable),
    )


def _usable(node: Entry) -> bool:
    return not node.state & (CORDONED | NOT_READY)
