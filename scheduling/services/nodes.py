"""Nodes of a simulated cluster: cordoned and uncordoned. Pods on them stay."""

from __future__ import annotations

from dataclasses import replace

from scheduling.models import Cluster
from scheduling.services import first_come
from scheduling.services.execute import Outcome, execute
from scheduling.services.problems import Problem
from scheduling.services.switching import cordon_events


def cordon(*, cluster: Cluster, node: str, actor: str, command_id: str = "") -> Outcome:
    """Nothing new is placed on the node. Raises Refused."""
    return _mark(cluster, node, True, actor, command_id)


def uncordon(*, cluster: Cluster, node: str, actor: str, command_id: str = "") -> Outcome:
    """The node may be used again. Raises Refused."""
    return _mark(cluster, node, False, actor, command_id)


def _mark(cluster: Cluster, node: str, unschedulable: bool, actor: str, command_id: str) -> Outcome:
    done = execute(
        cluster,
        lambda state, _: cordon_events(state, node, unschedulable),
        actor=actor,
        command_id=command_id,
        request=f"cordon {node} {unschedulable}",
    )
    if done.events or done.repeated:
        return done
    message = "the node is cordoned already" if unschedulable else "the node is not cordoned"
    first = first_come.newest(
        cluster, "node", "", node, ("NodeAdded", "NodeUpdated"), lambda event: '"unschedulable"' in event.body
    )
    told = Problem("Node", "", node, "spec.unschedulable", "", message, first)
    return replace(done, notices=(told,))
