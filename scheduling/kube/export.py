"""Engine objects as manifests, and manifests as YAML that every reader takes for the same."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import yaml

from scheduling.engine.model import (
    Eligibility,
    Node,
    Pod,
    PodGroup,
    PodTerm,
    Requirement,
    Shape,
    SpreadConstraint,
)
from scheduling.kube.nodes import CORDON_TAINT
from scheduling.kube.pod_groups import ELASTIC, PROTECTED, QUEUE

_UNMODELLED = "tas-console/unmodelled"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def node_manifest(node: Node) -> dict[str, Any]:
    """A v1 Node with what scheduling needs; a cordon comes with the taint that the node controller adds to
    it.
    """
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints]
    if node.unschedulable:
        taints.append({"key": CORDON_TAINT, "value": "", "effect": "NoSchedule"})
    spec: dict[str, Any] = {"unschedulable": True} if node.unschedulable else {}
    if taints:
        spec["taints"] = [{key: text for key, text in taint.items() if text} for taint in taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _metadata("", node.name, node.uid, node.labels, 0),
        "spec": spec,
        "status": {
            "allocatable": {resource: quantity(resource, amount) for resource, amount in node.allocatable},
            "conditions": [{"type": "Ready", "status": "True" if node.ready else "False"}],
        },
    }


def pod_manifest(pod: Pod) -> dict[str, Any]:
    """A v1 Pod whose one container asks for all that the pod is charged.

    What the engine does not model is not kept, so it cannot be written: an annotation says what is missing. A
    pod that is being deleted gets its creation time as deletion time, since the real one is not kept either.
    """
    metadata = _metadata(pod.namespace, pod.name, pod.uid, pod.labels, pod.created)
    if pod.terminating:
        metadata["deletionTimestamp"] = _time(pod.created)
    missing = [part for part in pod.shape.unmodelled if part != "topologySpread" or not pod.shape.spread]
    if missing:
        metadata["annotations"] = {_UNMODELLED: ",".join(missing)}
    requests = {name: quantity(name, amount) for name, amount in pod.shape.requests if name != "pods"}
    limits = {name: text for name, text in requests.items() if "/" in name or name.startswith("hugepages-")}
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    container: dict[str, Any] = {"name": "main", "image": "pause", "resources": resources}
    if pod.shape.host_ports:
        container["ports"] = [
            {"containerPort": port, "hostPort": port, "hostIP": address, "protocol": protocol}
            for protocol, address, port in pod.shape.host_ports
        ]
    spec: dict[str, Any] = {"schedulerName": pod.scheduler_name, "containers": [container]}
    if pod.node:
        spec["nodeName"] = pod.node
    if pod.group:
        spec["schedulingGroup"] = {"podGroupName": pod.group}
    if pod.priority:
        spec["priority"] = pod.priority
    if pod.gated:
        spec["schedulingGates"] = [{"name": "tas-console/gated"}]
    spec.update(_eligibility(pod.shape.eligibility))
    if pod.shape.pod_affinity or pod.shape.pod_anti_affinity:
        spec["affinity"] = {**spec.get("affinity", {}), **_pod_terms(pod.shape)}
    if pod.shape.spread:
        spec["topologySpreadConstraints"] = [_spread(constraint) for constraint in pod.shape.spread]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": pod.phase},
    }


def pod_group_manifest(group: PodGroup) -> dict[str, Any]:
    """A scheduling.k8s.io/v1alpha2 PodGroup. Its generation is ours and is not written."""
    policy: dict[str, Any] = (
        {"gang": {"minCount": group.min_count}} if group.policy == "gang" else {"basic": {}}
    )
    spec: dict[str, Any] = {"schedulingPolicy": policy}
    if group.topology_key:
        spec["schedulingConstraints"] = {"topology": [{"key": group.topology_key}]}
    if group.priority is not None:
        spec["priority"] = group.priority
    metadata = _metadata(group.namespace, group.name, group.uid, (), group.created)
    told = {
        _UNMODELLED: ",".join(group.unmodelled),
        ELASTIC: "true" if group.elastic else "",
        PROTECTED: "true" if group.protected else "",
        QUEUE: group.queue,
    }
    if any(told.values()):
        metadata["annotations"] = {key: value for key, value in told.items() if value}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": spec,
    }


def to_yaml(manifest: dict[str, Any]) -> str:
    """YAML in which every text that some reader would take for a number, time or truth value is in quotes."""
    return yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _metadata(
    namespace: str, name: str, uid: str, labels: tuple[tuple[str, str], ...], created: int
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"namespace": namespace} if namespace else {}
    metadata["name"] = name
    if uid:
        metadata["uid"] = uid
    if labels:
        metadata["labels"] = dict(labels)
    if created:
        metadata["creationTimestamp"] = _time(created)
    return metadata


def _time(milliseconds: int) -> str:
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    precision = "milliseconds" if milliseconds % 1000 else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def quantity(resource: str, amount: int) -> str:
    """An amount of the log as a manifest has it."""
    if resource == "cpu" and amount % 1000:
        return f"{amount}m"
    if resource == "cpu":
        return str(amount // 1000)
    return str(amount)


def _eligibility(eligibility: Eligibility) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if eligibility.node_selector:
        spec["nodeSelector"] = dict(eligibility.node_selector)
    if eligibility.terms is not None:
        terms = [
            {
                key: [_requirement(item) for item in items]
                for key, items in (("matchExpressions", term.labels), ("matchFields", term.fields))
                if items
            }
            for term in eligibility.terms
        ]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    if eligibility.tolerations:
        spec["tolerations"] = [
            {
                key: text
                for key, text in (
                    ("key", item.key),
                    ("operator", item.operator),
                    ("value", item.value),
                    ("effect", item.effect),
                )
                if text
            }
            for item in eligibility.tolerations
        ]
    return spec


def _pod_terms(shape: Shape) -> dict[str, Any]:
    kinds = (("podAffinity", shape.pod_affinity), ("podAntiAffinity", shape.pod_anti_affinity))
    return {
        kind: {"requiredDuringSchedulingIgnoredDuringExecution": [_pod_term(term) for term in terms]}
        for kind, terms in kinds
        if terms
    }


def _pod_term(term: PodTerm) -> dict[str, Any]:
    written: dict[str, Any] = {"topologyKey": term.topology_key, **_label_selector(term.selector)}
    if term.namespaces is None:
        written["namespaceSelector"] = {}
    elif term.namespaces:
        written["namespaces"] = list(term.namespaces)
    return written


def _spread(constraint: SpreadConstraint) -> dict[str, Any]:
    """Fields that an API server leaves to their defaults are written only when they say something else."""
    written: dict[str, Any] = {
        "maxSkew": constraint.max_skew,
        "topologyKey": constraint.topology_key,
        "whenUnsatisfiable": "DoNotSchedule" if constraint.hard else "ScheduleAnyway",
        **_label_selector(constraint.selector),
    }
    if constraint.min_domains != 1:
        written["minDomains"] = constraint.min_domains
    if not constraint.honors_affinity:
        written["nodeAffinityPolicy"] = "Ignore"
    if constraint.honors_taints:
        written["nodeTaintsPolicy"] = "Honor"
    return written


def _label_selector(selector: tuple[Requirement, ...] | None) -> dict[str, Any]:
    if selector is None:
        return {}
    expressions = [_requirement(item) for item in selector]
    return {"labelSelector": {"matchExpressions": expressions} if expressions else {}}


def _requirement(item: Requirement) -> dict[str, Any]:
    written: dict[str, Any] = {"key": item.key, "operator": item.operator}
    if item.values:
        written["values"] = list(item.values)
    return written


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


_OTHER_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")
"""A block would turn them into line feeds."""
_UNMISTAKABLE = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")
_TRUTH_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    if "\n" in text and not _OTHER_BREAKS.search(
        text
    ):  # where a block cannot hold it the dumper takes quotes
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
    plain = _UNMISTAKABLE.fullmatch(text) and text.lower() not in _TRUTH_WORDS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="" if plain else '"')


_Dumper.add_representer(str, _represent_text)
