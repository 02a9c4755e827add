"""New nodes that are asked for, as the objects by which autoscalers are told: ProvisioningRequest of
cluster-autoscaler (``autoscaling.x-k8s.io/v1``) and NodePool of Karpenter (``karpenter.sh/v1``).

Neither knows of PodGroups or of one-domain constraints: the request says how many pods of which shape are to
fit, and in which domain by a node selector; the pool says which nodes that domain takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scheduling.engine.model import Pod, Taint
from scheduling.kube.export import pod_manifest, quantity

CHECK_CAPACITY = "check-capacity.autoscaling.x-k8s.io"
BEST_EFFORT_ATOMIC = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
CLASSES = (BEST_EFFORT_ATOMIC, CHECK_CAPACITY)
"""Provisioning classes of cluster-autoscaler: ask for nodes all at once, or only whether there is room."""

_NOTE = "tas-console/note"
_PLAN = "tas-console/plan"

_KNOWN = (
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "karpenter.sh/capacity-type",
)
"""Labels in the domains that Karpenter keeps to itself which a NodePool may require."""

_KEPT_DOMAINS = ("kubernetes.io", "k8s.io", "karpenter.sh")


@dataclass(frozen=True, slots=True)
class PodSet:
    """``count`` pods like ``like`` that are to fit on nodes with these labels."""

    like: Pod
    count: int
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pool:
    """``count`` nodes in one domain of the key."""

    name: str
    key: str
    domain: str
    count: int
    allocatable: tuple[tuple[str, int], ...]
    labels: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]


def provisioning_request(plan: str, sets: Sequence[PodSet], provisioning_class: str) -> list[dict[str, Any]]:
    """For each namespace the PodTemplates, one a shape, and the ProvisioningRequest that counts them: a
    request reaches only templates of its own namespace.
    """
    made: list[dict[str, Any]] = []
    for namespace in sorted({one.like.namespace for one in sets}):
        counts = []
        for number, one in enumerate((one for one in sets if one.like.namespace == namespace), 1):
            name = f"{plan}-{number}"
            made.append(_pod_template(plan, name, one))
            counts.append({"podTemplateRef": {"name": name}, "count": one.count})
        made.append(
            {
                "apiVersion": "autoscaling.x-k8s.io/v1",
                "kind": "ProvisioningRequest",
                "metadata": {"namespace": namespace, "name": plan, "annotations": {_PLAN: plan}},
                "spec": {"provisioningClassName": provisioning_class, "podSets": counts},
            }
        )
    return made


def node_pool(plan: str, pool: Pool) -> dict[str, Any]:
    """A NodePool that may make just these nodes. It is a hint: which NodeClass it takes only the provider's
    own configuration can tell.
    """
    ours = {key: value for key, value in pool.labels if not _kept(key)}
    required = {key: value for key, value in pool.labels if key in _KNOWN}
    required[pool.key] = pool.domain
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in pool.taints]
    spec: dict[str, Any] = {
        "requirements": [
            {"key": key, "operator": "In", "values": [value]} for key, value in sorted(required.items())
        ],
        "nodeClassRef": {"group": "example.com", "kind": "NodeClass", "name": pool.name},
    }
    if taints:
        spec["taints"] = [{key: text for key, text in taint.items() if text} for taint in taints]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {
            "name": pool.name,
            "annotations": {_PLAN: plan, _NOTE: "a hint: set nodeClassRef to the NodeClass of such nodes"},
        },
        "spec": {
            "template": {"metadata": {"labels": ours}, "spec": spec},
            "limits": {
                resource: quantity(resource, amount * pool.count)
                for resource, amount in pool.allocatable
                if resource != "pods"
            },
        },
    }


def _kept(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    return any(domain == kept or domain.endswith(f".{kept}") for kept in _KEPT_DOMAINS)


def _pod_template(plan: str, name: str, one: PodSet) -> dict[str, Any]:
    """What of the pod decides where it fits. Left out is what a template cannot have or what would keep a pod
    that is only thought of from being placed: node, gates, priority, the group.
    """
    spec = dict(pod_manifest(one.like)["spec"])
    for field in ("nodeName", "schedulingGates", "schedulingGroup", "priority"):
        spec.pop(field, None)
    if one.labels:
        spec["nodeSelector"] = {**spec.get("nodeSelector", {}), **dict(one.labels)}
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"namespace": one.like.namespace, "name": name, "annotations": {_PLAN: plan}},
        "template": {"metadata": {"labels": dict(one.like.labels)}, "spec": spec},
    }
