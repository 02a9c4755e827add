"""Gates, mode and cordons as events: one field changed, or nothing. Pure."""

from __future__ import annotations

from dataclasses import replace

from scheduling.engine.state import ClusterState
from scheduling.ledger.events import ClusterModeChanged, Event, FeatureGateChanged, NodeUpdated
from scheduling.services.canary import refuse_while_undecided
from scheduling.services.gates import unknown_gates
from scheduling.services.members import only_simulated
from scheduling.services.problems import INVALID, NOT_FOUND, Problem, Refused

MODES = ("simulated", "observed")


def unknown_mode(cluster: str, mode: str) -> list[Problem]:
    """One problem when it is none of ``MODES``."""
    if mode in MODES:
        return []
    return [Problem("Cluster", "", cluster, "mode", INVALID, f"{mode!r} is neither {' nor '.join(MODES)}")]


def gate_events(state: ClusterState, gate: str, enabled: bool) -> list[Event]:
    """Raises Refused for a gate that the console does not know, and while a canary is not over."""
    problems = unknown_gates("", [gate])
    if problems:
        raise Refused(problems)
    if state.gates.get(gate, False) == enabled:
        return []
    refuse_while_undecided(state, f"gates.{gate}")
    return [FeatureGateChanged(gate, enabled)]


def mode_events(state: ClusterState, mode: str) -> list[Event]:
    """Raises Refused for an unknown mode."""
    problems = unknown_mode("", mode)
    if problems:
        raise Refused(problems)
    return [] if state.mode == mode else [ClusterModeChanged(mode)]


def cordon_events(state: ClusterState, name: str, unschedulable: bool) -> list[Event]:
    """Raises Refused for an unknown node and in an observed cluster."""
    only_simulated(state, "cordon the node in the cluster")
    node = state.nodes.get(name)
    if node is None:
        raise Refused([Problem("Node", "", name, "", NOT_FOUND, f"there is no node {name}")])
    event = NodeUpdated.between(node, replace(node, unschedulable=unschedulable))
    return [] if event is None else [event]
