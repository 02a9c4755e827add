"""Engine objects as far as rows know them: enough to tell how nodes and groups stand, not to place pods."""

from __future__ import annotations

from typing import Any

from scheduling.engine.canary import CanaryScope
from scheduling.engine.model import Node, NumaZone, Pod, PodGroup, Shape, Taint
from scheduling.engine.state import ClusterState
from scheduling.ledger.store import to_milliseconds
from scheduling.projections.tables import NodeRecord, PodGroupRecord, PodRecord


def node(row: NodeRecord) -> Node:
    return Node(
        name=row.name,
        uid=row.uid,
        labels=tuple(sorted(row.labels.items())),
        taints=tuple(Taint(*taint) for taint in row.taints),
        unschedulable=row.unschedulable,
        ready=row.ready,
        allocatable=tuple(sorted(row.allocatable.items())),
        zones=tuple(NumaZone(name, tuple(sorted(amounts.items()))) for name, amounts in row.zones),
    )


def pod(row: PodRecord) -> Pod:
    """Its labels and where it may be placed are not in the row."""
    return Pod(
        namespace=row.namespace,
        name=row.name,
        uid=row.uid,
        shape=Shape(tuple(sorted(row.requests.items())), unmodelled=tuple(row.unmodelled)),
        node=row.node,
        group=row.group,
        priority=row.priority,
        phase=row.phase,
        terminating=row.terminating,
        gated=row.gated,
        scheduler_name=row.scheduler_name,
        created=to_milliseconds(row.created) if row.created else 0,
    )


def pod_group(row: PodGroupRecord) -> PodGroup:
    return PodGroup(
        namespace=row.namespace,
        name=row.name,
        uid=row.uid,
        policy=row.policy,
        min_count=row.min_count,
        topology_key=row.topology_key,
        priority=row.priority,
        generation=row.generation,
        unmodelled=tuple(row.spec_unmodelled),
        elastic=row.elastic,
        protected=row.protected,
        queue=row.queue,
    )


def canary_scope(told: list[Any]) -> CanaryScope:
    """Of one entry of the cluster's ``canaries``."""
    name, namespaces, groups, exempt = told
    return CanaryScope(name, tuple(namespaces), tuple(groups), tuple(exempt))


def canaries_told(state: ClusterState) -> list[list[Any]]:
    """The entries of the cluster's ``canaries``, in the order in which they began."""
    return [
        [each.id, list(each.namespaces), list(each.groups), list(each.exempt)]
        for each in state.records.of(CanaryScope).values()
    ]
