"""PodGroup manifests of scheduling.k8s.io as engine PodGroups. What is wrong with one: see validation.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduling.engine.model import PodGroup
from scheduling.kube.fields import checked, integer, mapping, objects
from scheduling.kube.metadata import read_annotation, read_flag, read_metadata
from scheduling.kube.names import dns_label_problem

ELASTIC, PROTECTED, QUEUE = "tas-console/elastic", "tas-console/protected", "tas-console/queue"
"""Annotations of a PodGroup that are ours, for what Kubernetes has no field."""

_UNMODELLED = ("parentCompositePodGroupName", "resourceClaims")


def read_pod_group(body: Mapping[str, Any]) -> PodGroup:
    """A PodGroup without problems (``pod_group_problems`` is empty), as generation 1.

    A priority of 0 that an API server has stored without a priority class is its default, so it counts as
    unset.
    """
    metadata = read_metadata(body, namespaced=True)
    spec = mapping(body.get("spec"), "spec")
    priority = integer(spec.get("priority"), "spec.priority")
    if priority == 0 and metadata.from_server and not spec.get("priorityClassName"):
        priority = None
    policy, min_count = read_policy(spec.get("schedulingPolicy"), "spec.schedulingPolicy")
    queue = read_annotation(body, QUEUE)
    return PodGroup(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        policy=policy,
        min_count=min_count,
        topology_key=read_topology_key(spec.get("schedulingConstraints"), "spec.schedulingConstraints"),
        priority=priority,
        unmodelled=tuple(part for part in _UNMODELLED if spec.get(part)),
        created=metadata.created,
        elastic=read_flag(body, ELASTIC),
        protected=read_flag(body, PROTECTED),
        queue=checked(queue, f"metadata.annotations[{QUEUE}]", dns_label_problem(queue) if queue else ""),
    )


def read_policy(value: object, path: str) -> tuple[str, int]:
    """("gang", minCount) or ("basic", 1) of a policy that is known to be valid."""
    policy = mapping(value, path)
    if policy.get("gang") is None:
        return "basic", 1
    return "gang", integer(
        mapping(policy["gang"], f"{path}.gang").get("minCount"), f"{path}.gang.minCount"
    ) or 1


def read_topology_key(value: object, path: str) -> str:
    """The key of the one topology constraint, "" without one, of constraints that are known to be valid."""
    entries = objects(mapping(value, path).get("topology"), f"{path}.topology")
    return str(entries[0][0]["key"]) if entries else ""
