"""Node manifests as engine nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduling.engine.model import Node, Taint
from scheduling.kube.eligibility import EFFECTS
from scheduling.kube.fields import (
    INVALID,
    FieldError,
    boolean,
    checked,
    mapping,
    objects,
    one_of,
    shown,
    string,
)
from scheduling.kube.metadata import read_metadata
from scheduling.kube.names import label_key_problem, label_value_problem
from scheduling.kube.quantity import QuantityError, checked_amount, to_allocatable

CORDON_TAINT = "node.kubernetes.io/unschedulable"

Remark = tuple[str, str]


def read_node(body: Mapping[str, Any]) -> tuple[Node, list[Remark]]:
    """The node and remarks (path, sentence) about what was taken for granted. Raises FieldError."""
    metadata = read_metadata(body, namespaced=False)
    spec = mapping(body.get("spec"), "spec")
    status = mapping(body.get("status"), "status")
    unschedulable = boolean(spec.get("unschedulable"), "spec.unschedulable")
    allocatable, remarks = _allocatable(status)
    node = Node(
        name=metadata.name,
        uid=metadata.uid,
        labels=metadata.labels,
        taints=_taints(spec, unschedulable),
        unschedulable=unschedulable,
        ready=_ready(status),
        allocatable=allocatable,
    )
    return node, remarks


def kubelet_version(body: Mapping[str, Any]) -> str:
    """``status.nodeInfo.kubeletVersion`` where it is a text, else ""."""
    info = mapping(mapping(body.get("status"), "status").get("nodeInfo"), "status.nodeInfo")
    return string(info.get("kubeletVersion"), "status.nodeInfo.kubeletVersion")


def _taints(spec: Mapping[str, Any], unschedulable: bool) -> tuple[Taint, ...]:
    """The taint that the node controller derives from a cordon is left out: the cordon itself is kept."""
    taints = {_taint(item, path) for item, path in objects(spec.get("taints"), "spec.taints")}
    if unschedulable:
        taints = {taint for taint in taints if (taint.key, taint.effect) != (CORDON_TAINT, "NoSchedule")}
    return tuple(sorted(taints, key=lambda taint: (taint.key, taint.effect, taint.value)))


def _taint(item: Mapping[str, Any], path: str) -> Taint:
    key = string(item.get("key"), f"{path}.key")
    checked(key, f"{path}.key", label_key_problem(key))
    value = string(item.get("value"), f"{path}.value")
    checked(value, f"{path}.value", label_value_problem(value))
    effect = one_of(string(item.get("effect"), f"{path}.effect"), f"{path}.effect", EFFECTS)
    return Taint(key=key, value=value, effect=effect)


def _ready(status: Mapping[str, Any]) -> bool:
    for item, path in objects(status.get("conditions"), "status.conditions"):
        if string(item.get("type"), f"{path}.type") == "Ready":
            return string(item.get("status"), f"{path}.status") == "True"
    return True


def _allocatable(status: Mapping[str, Any]) -> tuple[tuple[tuple[str, int], ...], list[Remark]]:
    source = "allocatable"
    remarks: list[Remark] = []
    if not status.get("allocatable"):
        if status.get("capacity"):
            source = "capacity"
            remarks.append(("status.allocatable", "is missing: the capacity is taken in its place"))
        else:
            remarks.append(
                ("status.allocatable", "is missing, and so is the capacity: nothing fits this node")
            )
    path = f"status.{source}"
    amounts: dict[str, int] = {}
    for resource, text in mapping(status.get(source), path).items():
        where = f"{path}[{resource}]"
        if problem := label_key_problem(resource):
            raise FieldError(where, INVALID, f"{shown(resource)} {problem}")
        try:
            amounts[resource] = checked_amount(to_allocatable(resource, text))
        except QuantityError as error:
            raise FieldError(where, INVALID, f"{shown(text)} {error}") from error
    if amounts and "pods" not in amounts:
        remarks.append((f"{path}[pods]", "is missing: no pod fits this node"))
    return tuple(sorted(amounts.items())), remarks
