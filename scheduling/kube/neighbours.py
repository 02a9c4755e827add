"""What a pod asks of the pods beside it: required pod affinity and anti-affinity, and ports of the node.

Forms and defaults as the API server and kube-scheduler have them (PodAffinityTerm, GetHostPorts). Preferred
terms only score and are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scheduling.engine.model import HostPort, PodTerm, Requirement
from scheduling.kube.fields import (
    FORBIDDEN,
    INVALID,
    REQUIRED,
    FieldError,
    boolean,
    checked,
    integer,
    mapping,
    objects,
    one_of,
    sequence,
    string,
)
from scheduling.kube.metadata import read_labels
from scheduling.kube.names import dns_label_problem, label_key_problem

_REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label with its own name that every namespace carries."""

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_EVERY_ADDRESS = "0.0.0.0"

Labels = tuple[tuple[str, str], ...]


def read_pod_terms(
    spec: Mapping[str, Any], kind: str, labels: Labels
) -> tuple[tuple[PodTerm, ...], tuple[str, ...]]:
    """The required terms of ``podAffinity`` or ``podAntiAffinity``, and ``kind`` again when there are terms
    that cannot be kept: those that select namespaces by labels, which no object we read carries.

    ``labels``: of the pod itself, for ``matchLabelKeys`` and ``mismatchLabelKeys``. An API server has written
    those into the selector already; for a manifest that has seen none, the same is done here.
    """
    path = f"spec.affinity.{kind}"
    affinity = mapping(mapping(spec.get("affinity"), "spec.affinity").get(kind), path)
    terms: set[PodTerm] = set()
    beyond = False
    for item, where in objects(affinity.get(_REQUIRED_TERMS), f"{path}.{_REQUIRED_TERMS}"):
        term = _term(item, where, labels)
        if term is None:
            beyond = True
        else:
            terms.add(term)
    return tuple(sorted(terms, key=repr)), (kind,) if beyond else ()


def read_host_ports(spec: Mapping[str, Any]) -> tuple[HostPort, ...]:
    """Ports of the node that the pod holds while it runs: of containers and sidecars, not of init containers
    that end. On the host network every container port is one.
    """
    host_network = boolean(spec.get("hostNetwork"), "spec.hostNetwork")
    ports: set[HostPort] = set()
    for kind in ("containers", "initContainers"):
        for container, path in objects(spec.get(kind), f"spec.{kind}"):
            if kind == "initContainers" and container.get("restartPolicy") != "Always":
                continue
            for port, where in objects(container.get("ports"), f"{path}.ports"):
                number = _port(port, "hostPort", where)
                if not number and host_network:
                    number = _port(port, "containerPort", where)
                if number:
                    ports.add((_protocol(port, where), _address(port, where), number))
    return tuple(sorted(ports))


def _port(port: Mapping[str, Any], field: str, path: str) -> int:
    number = integer(port.get(field), f"{path}.{field}") or 0
    if not 0 <= number <= 65535:
        raise FieldError(f"{path}.{field}", INVALID, "must be a port number from 1 to 65535")
    return number


def _protocol(port: Mapping[str, Any], path: str) -> str:
    return one_of(string(port.get("protocol"), f"{path}.protocol") or "TCP", f"{path}.protocol", _PROTOCOLS)


def _address(port: Mapping[str, Any], path: str) -> str:
    return string(port.get("hostIP"), f"{path}.hostIP") or _EVERY_ADDRESS


def _term(item: Mapping[str, Any], path: str, labels: Labels) -> PodTerm | None:
    key = string(item.get("topologyKey"), f"{path}.topologyKey")
    checked(key, f"{path}.topologyKey", label_key_problem(key))
    selector = read_selector(item.get("labelSelector"), f"{path}.labelSelector")
    own = own_values(item, path, dict(labels), (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")))
    if selector is not None:
        selector = canonical((*selector, *own))
    namespaces, known = _namespaces(item, path)
    return PodTerm(key, selector, namespaces) if known else None


def _namespaces(item: Mapping[str, Any], path: str) -> tuple[tuple[str, ...] | None, bool]:
    """As ``PodTerm.namespaces``, and whether that can be told."""
    where = f"{path}.namespaces"
    named = {string(name, f"{where}[{n}]") for n, name in enumerate(sequence(item.get("namespaces"), where))}
    for name in sorted(named):
        checked(name, where, dns_label_problem(name))
    selector = read_selector(item.get("namespaceSelector"), f"{path}.namespaceSelector")
    if selector is None:
        return tuple(sorted(named)), True
    if not selector:
        return None, True
    if len(selector) == 1 and (selector[0].key, selector[0].operator) == (_NAMESPACE_NAME, "In"):
        return tuple(sorted(named | set(selector[0].values))), True
    return (), False


def own_values(
    item: Mapping[str, Any], path: str, labels: Mapping[str, str], wanted: Iterable[tuple[str, str]]
) -> list[Requirement]:
    """Requirements with the pod's own values of the labels that a field lists; ``wanted``: fields with the
    operator they stand for.
    """
    found: list[Requirement] = []
    for field, operator in wanted:
        where = f"{path}.{field}"
        for n, value in enumerate(sequence(item.get(field), where)):
            key = string(value, f"{where}[{n}]")
            checked(key, f"{where}[{n}]", label_key_problem(key))
            if key in labels:
                found.append(Requirement(key, operator, (labels[key],)))
    return found


def read_selector(value: object, path: str) -> tuple[Requirement, ...] | None:
    """All of a label selector as requirements; None when absent."""
    if value is None:
        return None
    body = mapping(value, path)
    labels = read_labels(body.get("matchLabels"), f"{path}.matchLabels")
    found = [Requirement(key, "In", (text,)) for key, text in labels]
    for item, where in objects(body.get("matchExpressions"), f"{path}.matchExpressions"):
        found.append(_requirement(item, where))
    return canonical(found)


def canonical(found: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """In one order, each once."""
    return tuple(sorted(set(found), key=repr))


def _requirement(item: Mapping[str, Any], path: str) -> Requirement:
    key = string(item.get("key"), f"{path}.key")
    checked(key, f"{path}.key", label_key_problem(key))
    operator = one_of(string(item.get("operator"), f"{path}.operator"), f"{path}.operator", _OPERATORS)
    where = f"{path}.values"
    values = [string(value, f"{where}[{n}]") for n, value in enumerate(sequence(item.get("values"), where))]
    if operator in ("Exists", "DoesNotExist") and values:
        raise FieldError(where, FORBIDDEN, f"must be empty with the operator {operator}")
    if operator in ("In", "NotIn") and not values:
        raise FieldError(where, REQUIRED, f"must have a value with the operator {operator}")
    return Requirement(key, operator, tuple(sorted(set(values))))
