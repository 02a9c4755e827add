"""Everything that can be seen of a state, in a form that can be compared."""

from typing import Any

from scheduling.engine import records
from scheduling.engine.numa import zone_rooms
from scheduling.engine.state import ClusterState
from scheduling.ledger import codec
from scheduling.services.deciding import decided

NOW = 1_800_000_100_000


def observed(state: ClusterState) -> dict[str, Any]:
    """Objects in their order, what is asked of them, and what is decided on a fork, as the log would have
    it.
    """
    pods = list(state.pods.values())
    return {
        "scalars": (state.seq, state.mode, state.gates, state.tas_enforced, state.ever_apart),
        "nodes": list(state.nodes.items()),
        "pods": list(state.pods.items()),
        "groups": list(state.groups.items()),
        "decided": (state.verdicts, state.turns, state.homes, state.lost),
        "zone_of": state.zone_of,
        "records": [list(state.records.of(kind).items()) for kind in records.KINDS],
        "past": [dict(told.table) for told in (state.past.placed, state.past.closed, state.past.workloads)],
        "group_keys": state.group_keys(),
        "names": {pod.key: (state.pod_uid(pod.key), state.pods_named(pod.key)) for pod in pods},
        "members": {
            key: (state.pods_naming(key), state.members(key)) for key in (*state.group_keys(), "ml/none")
        },
        "on": {name: state.pods_on(name) for name in (*state.nodes, *(pod.node for pod in pods))},
        "apart": sorted((repr(apart), state.pods_apart(apart)) for apart in state.apart),
        "holding": sorted((ports, pods) for ports, pods in state.holding()),
        "room": {name: (state.free(name), state.used(name)) for name in state.nodes},
        "over": state.over_committed(),
        "counts": sorted((name, int(state.columns.pods_on[row])) for name, row in state.columns.slot.items()),
        "zones": zone_rooms(state.fork()),
        "decisions": [(codec.encode(told.event), told.cause) for told in decided(state.fork(), NOW)],
    }
