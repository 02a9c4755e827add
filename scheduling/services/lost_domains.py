"""A domain of a simulated cluster that an operator gives up: its nodes lose the label and are cordoned, so
that nothing is placed on them and groups that were in it have lost it, until the mark is taken back.
"""

from __future__ import annotations

from dataclasses import replace

from scheduling.engine.model import Node
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.state import ClusterState
from scheduling.engine.waits import MarkedLost
from scheduling.ledger.events import DomainMarkedLost, DomainMarkTakenBack, Event, NodeUpdated
from scheduling.models import Cluster
from scheduling.services.execute import Outcome, execute
from scheduling.services.members import only_simulated
from scheduling.services.problems import FORBIDDEN, NOT_FOUND, Problem, Refused


def mark_events(state: ClusterState, topology_key: str, domain: str) -> list[Event]:
    """Nothing when it is marked already. Raises Refused for a domain that there is not, for NUMA zones, and
    in an observed cluster.
    """
    only_simulated(state, "cordon its nodes in the cluster")
    if topology_key == NUMA_KEY:
        message = "a NUMA zone is a part of its node: cordon the node"
        raise Refused([_problem(domain, "topology_key", FORBIDDEN, message)])
    nodes = [node for node in state.nodes.values() if node.label(topology_key) == domain]
    if _mark(state, topology_key, domain) is not None and not nodes:
        return []
    if not nodes:
        message = f"no node carries {topology_key}={domain}"
        raise Refused([_problem(domain, "domain", NOT_FOUND, message)])
    nodes.sort(key=lambda node: node.name)
    before = _mark(state, topology_key, domain)  # nodes that joined since are given up with the others
    told = {name: (name, uid, cordoned) for name, uid, cordoned in (before.nodes if before else ())}
    told |= {node.name: (node.name, node.uid, node.unschedulable) for node in nodes}
    changed = (_changed(node, _without(node, topology_key)) for node in nodes)
    marked = DomainMarkedLost(topology_key, domain, tuple(told[name] for name in sorted(told)))
    return [marked, *(event for events in changed for event in events)]


def take_back_events(state: ClusterState, topology_key: str, domain: str) -> list[Event]:
    """The nodes are as they were, but for those that are gone or in another domain by now. Raises Refused
    when the domain is not marked.
    """
    only_simulated(state, "uncordon its nodes in the cluster")
    mark = _mark(state, topology_key, domain)
    if mark is None:
        message = f"{topology_key}={domain} is not marked lost"
        raise Refused([_problem(domain, "domain", NOT_FOUND, message)])
    events: list[Event] = [DomainMarkTakenBack(topology_key, domain)]
    for name, uid, cordoned in mark.nodes:
        node = state.nodes.get(name)
        if node is None or node.uid != uid or node.label(topology_key) is not None:
            continue
        labels = tuple(sorted((*node.labels, (topology_key, domain))))
        events += _changed(node, replace(node, labels=labels, unschedulable=cordoned))
    return events


def _without(node: Node, topology_key: str) -> Node:
    labels = tuple((key, value) for key, value in node.labels if key != topology_key)
    return replace(node, labels=labels, unschedulable=True)


def _changed(old: Node, new: Node) -> list[Event]:
    event = NodeUpdated.between(old, new)
    return [] if event is None else [event]


def _mark(state: ClusterState, topology_key: str, domain: str) -> MarkedLost | None:
    marks = state.records.of(MarkedLost).values()
    return next((mark for mark in marks if (mark.topology_key, mark.domain) == (topology_key, domain)), None)


def _problem(domain: str, path: str, reason: str, message: str) -> Problem:
    return Problem("Domain", "", domain, path, reason, message)


def mark(*, cluster: Cluster, topology_key: str, domain: str, actor: str, command_id: str = "") -> Outcome:
    """Raises Refused."""
    return execute(
        cluster,
        lambda state, _: mark_events(state, topology_key, domain),
        actor=actor,
        command_id=command_id,
        request=f"mark lost {topology_key} {domain}",
    )


def take_back(
    *, cluster: Cluster, topology_key: str, domain: str, actor: str, command_id: str = ""
) -> Outcome:
    """Raises Refused."""
    return execute(
        cluster,
        lambda state, _: take_back_events(state, topology_key, domain),
        actor=actor,
        command_id=command_id,
        request=f"take mark back {topology_key} {domain}",
    )
