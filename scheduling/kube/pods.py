"""Pod manifests as engine pods: only what scheduling needs is kept, no env, arguments or annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from scheduling.engine.model import DEFAULT_SCHEDULER, Phase, Pod, Shape
from scheduling.kube.eligibility import read_eligibility
from scheduling.kube.fields import checked, integer, mapping, objects, one_of, sequence, string
from scheduling.kube.metadata import read_metadata
from scheduling.kube.names import dns_subdomain_problem
from scheduling.kube.neighbours import read_host_ports, read_pod_terms
from scheduling.kube.requests import effective_requests
from scheduling.kube.spread import read_spread

Remark = tuple[str, str]

_NODE_BOUND_VOLUMES = frozenset(
    {
        "awsElasticBlockStore",
        "azureDisk",
        "cinder",
        "ephemeral",
        "gcePersistentDisk",
        "iscsi",
        "persistentVolumeClaim",
        "portworxVolume",
        "rbd",
        "vsphereVolume",
    }
)
"""Volume sources that kube-scheduler's volume plugins look at (binding, zones, attach limits, exclusive
disks).
"""

_FOREIGN_GROUP_LABELS = (
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "kueue.x-k8s.io/pod-group-name",
    "kai.scheduler/subgroup-name",
)
_FOREIGN_GROUP_ANNOTATIONS = (
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
    "gang.scheduling.koordinator.sh/name",
    "pod-group-name",
)


def read_pod(body: Mapping[str, Any]) -> tuple[Pod, list[Remark]]:
    """The pod and remarks (path, sentence) about what it asks of another scheduler. Raises FieldError."""
    metadata = read_metadata(body, namespaced=True)
    spec = mapping(body.get("spec"), "spec")
    status = mapping(body.get("status"), "status")
    node = string(spec.get("nodeName"), "spec.nodeName")
    if node:
        checked(node, "spec.nodeName", dns_subdomain_problem(node))
    affinity, beyond_affinity = read_pod_terms(spec, "podAffinity", metadata.labels)
    anti_affinity, beyond_anti_affinity = read_pod_terms(spec, "podAntiAffinity", metadata.labels)
    spread = read_spread(spec, metadata.labels)
    unmodelled = {*_unmodelled(spec), *beyond_affinity, *beyond_anti_affinity}
    if any(constraint.hard for constraint in spread):
        unmodelled.add("topologySpread")
    shape = Shape(
        requests=effective_requests(spec),
        eligibility=read_eligibility(spec),
        unmodelled=tuple(sorted(unmodelled)),
        host_ports=read_host_ports(spec),
        pod_affinity=affinity,
        pod_anti_affinity=anti_affinity,
        spread=spread,
    )
    pod = Pod(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        shape=shape,
        node=node,
        group=_group(spec),
        priority=integer(spec.get("priority"), "spec.priority") or 0,
        phase=one_of(
            string(status.get("phase"), "status.phase") or "Pending", "status.phase", get_args(Phase)
        ),
        terminating=metadata.terminating,
        gated=bool(sequence(spec.get("schedulingGates"), "spec.schedulingGates")),
        scheduler_name=string(spec.get("schedulerName"), "spec.schedulerName") or DEFAULT_SCHEDULER,
        labels=metadata.labels,
        created=metadata.created,
    )
    return pod, _remarks(body, spec)


def _group(spec: Mapping[str, Any]) -> str:
    if spec.get("schedulingGroup") is None:
        return ""
    path = "spec.schedulingGroup.podGroupName"
    name = string(mapping(spec["schedulingGroup"], "spec.schedulingGroup").get("podGroupName"), path)
    return checked(name, path, dns_subdomain_problem(name))


def _unmodelled(spec: Mapping[str, Any]) -> set[str]:
    used: set[str] = set()
    if any(_NODE_BOUND_VOLUMES & volume.keys() for volume, _ in objects(spec.get("volumes"), "spec.volumes")):
        used.add("volumes")
    if sequence(spec.get("resourceClaims"), "spec.resourceClaims"):
        used.add("resourceClaims")
    return used


def _remarks(body: Mapping[str, Any], spec: Mapping[str, Any]) -> list[Remark]:
    remarks: list[Remark] = []
    if spec.get("schedulingGroup") is not None:
        return remarks
    if spec.get("workloadRef") is not None:
        remarks.append(
            ("spec.workloadRef", "is the form of release 1.35: the pod is read as a member of no PodGroup")
        )
    metadata = mapping(body.get("metadata"), "metadata")
    for part, keys in (("labels", _FOREIGN_GROUP_LABELS), ("annotations", _FOREIGN_GROUP_ANNOTATIONS)):
        present = mapping(metadata.get(part), f"metadata.{part}")
        for key in keys:
            if key in present:
                sentence = "names a group of another scheduler: the pod is read as a member of no PodGroup"
                remarks.append((f"metadata.{part}[{key}]", sentence))
    return remarks
