"""NodeResourceTopology manifests (``topology.node.k8s.io``): the NUMA zones of a node and what each offers.

The object has the name of its node and no spec: ``zones`` stands at the top. A zone of type ``Node`` is a
NUMA node; sockets, dies and cores are zones too, and are not read. ``available`` is not read either: what is
in use is known from the pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduling.engine.model import NumaZone
from scheduling.kube.fields import (
    DUPLICATE,
    INVALID,
    REQUIRED,
    FieldError,
    checked,
    objects,
    sequence,
    shown,
    string,
)
from scheduling.kube.metadata import read_metadata
from scheduling.kube.names import dns_subdomain_problem, label_key_problem
from scheduling.kube.quantity import QuantityError, to_allocatable

GROUP = "topology.node.k8s.io"
VERSIONS = frozenset({"v1alpha1", "v1alpha2"})

_NUMA = "Node"
_HOLDING = "single-numa-node"

Remark = tuple[str, str]


@dataclass(frozen=True, slots=True)
class NodeTopology:
    """``zones`` sorted by name; empty when the object tells of none."""

    node: str
    uid: str
    zones: tuple[NumaZone, ...]


def read_node_topology(body: Mapping[str, Any]) -> tuple[NodeTopology, list[Remark]]:
    """The zones of one node and remarks (path, sentence). Raises FieldError."""
    metadata = read_metadata(body, namespaced=False)
    found: dict[str, NumaZone] = {}
    others = 0
    for item, path in objects(body.get("zones"), "zones"):
        if string(item.get("type"), f"{path}.type") != _NUMA:
            others += 1
            continue
        zone = _zone(item, path)
        if zone.name in found:
            raise FieldError(f"{path}.name", DUPLICATE, f"the zone {shown(zone.name)} is there twice")
        found[zone.name] = zone
    remarks: list[Remark] = []
    if others:
        remarks.append(("zones", f"{others} of another type than {_NUMA} are not read"))
    if not found:
        remarks.append(("zones", f"there is none of type {_NUMA}: the node has no NUMA zones"))
    elif _HOLDING not in (policy := _policy(body)):
        remarks.append(
            (
                "attributes",
                f"the kubelet's topology manager policy is {policy or 'not told'}: only {_HOLDING} keeps "
                "a pod in one zone",
            )
        )
    zones = tuple(found[name] for name in sorted(found))
    return NodeTopology(metadata.name, metadata.uid, zones), remarks


def _zone(item: Mapping[str, Any], path: str) -> NumaZone:
    name = string(item.get("name"), f"{path}.name")
    checked(name, f"{path}.name", dns_subdomain_problem(name))
    amounts: dict[str, int] = {}
    for entry, where in objects(item.get("resources"), f"{path}.resources"):
        resource = string(entry.get("name"), f"{where}.name")
        checked(resource, f"{where}.name", label_key_problem(resource))
        if resource in amounts:
            raise FieldError(f"{where}.name", DUPLICATE, f"{resource} is there twice in zone {name}")
        given = entry.get("allocatable")
        if given is None:
            raise FieldError(f"{where}.allocatable", REQUIRED, "must be given")
        try:
            amounts[resource] = to_allocatable(resource, given)
        except QuantityError as error:
            raise FieldError(f"{where}.allocatable", INVALID, f"{shown(given)} {error}") from error
    return NumaZone(name, tuple(sorted(amounts.items())))


def _policy(body: Mapping[str, Any]) -> str:
    """The topology manager's policy as kubelets spell it; from the attributes, else the older list."""
    for item, path in objects(body.get("attributes"), "attributes"):
        if string(item.get("name"), f"{path}.name") == "topologyManagerPolicy":
            return string(item.get("value"), f"{path}.value")
    policies = sequence(body.get("topologyPolicies"), "topologyPolicies")
    told = [string(policy, f"topologyPolicies[{n}]") for n, policy in enumerate(policies)]
    return ", ".join(_HOLDING if policy.startswith("SingleNUMANode") else policy for policy in told)
