"""What a pod asks for, as kube-scheduler charges it.

Source of the rules: ``component-helpers/resource`` (PodRequests) and the API server's defaulting. While an
init container runs, the sidecars declared before it run as well; the pod is charged the most of any such
moment and of its run phase (all containers and sidecars), plus its overhead. A missing request is the limit.
Pod-level ``spec.resources`` (KEP-2837) stand in the place of the containers' sum for cpu, memory and huge
pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from scheduling.kube.fields import (
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    FieldError,
    mapping,
    objects,
    shown,
    string,
)
from scheduling.kube.names import label_key_problem
from scheduling.kube.quantity import QuantityError, charge, checked_amount, checked_request

Amounts = dict[str, Fraction]
_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})


def effective_requests(pod_spec: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """(resource, amount) sorted by resource, amounts > 0, always with ``("pods", 1)``.

    ``cpu`` in milli-cores, others in whole units, rounded up once, after all sums. Raises FieldError with the
    path of a quantity that is wrong.
    """
    containers = objects(pod_spec.get("containers"), "spec.containers")
    if not containers:
        raise FieldError("spec.containers", REQUIRED, "must have at least one container")
    run: Amounts = {}
    for container, path in containers:
        _add(run, _container(container, path))
    sidecars: Amounts = {}
    start: Amounts = {}
    for container, path in objects(pod_spec.get("initContainers"), "spec.initContainers"):
        wants = _container(container, path)
        if string(container.get("restartPolicy"), f"{path}.restartPolicy") == "Always":
            _add(run, wants)
            _add(sidecars, wants)
            _raise_to(start, sidecars)
        else:
            _add(wants, sidecars)
            _raise_to(start, wants)
    _raise_to(run, start)
    _replace_by_pod_level(run, pod_spec)
    _add(run, _amounts(pod_spec.get("overhead"), "spec.overhead"))
    charged = {resource: _charged(resource, amount) for resource, amount in run.items() if amount}
    charged["pods"] = 1
    return tuple(sorted(charged.items()))


def _charged(resource: str, amount: Fraction) -> int:
    """The sum of all containers is one amount too."""
    try:
        return checked_amount(charge(resource, amount))
    except QuantityError as error:
        raise FieldError("spec.containers", INVALID, f"{resource} of all containers {error}") from error


def _container(container: Mapping[str, Any], path: str) -> Amounts:
    """A container's own requests, a missing one taken from its limit."""
    return _requests_or_limits(container.get("resources"), f"{path}.resources")


def _requests_or_limits(value: object, path: str) -> Amounts:
    resources = mapping(value, path)
    if not resources:
        return {}
    limits = _amounts(resources.get("limits"), f"{path}.limits")
    limits.update(_amounts(resources.get("requests"), f"{path}.requests"))
    return limits


def _replace_by_pod_level(run: Amounts, pod_spec: Mapping[str, Any]) -> None:
    """A pod-level request counts instead of the containers' sum; a pod-level limit where nobody requests."""
    resources = mapping(pod_spec.get("resources"), "spec.resources")
    for resource, amount in _pod_level(resources, "limits").items():
        run.setdefault(resource, amount)
    run.update(_pod_level(resources, "requests"))


def _pod_level(resources: Mapping[str, Any], part: str) -> Amounts:
    path = f"spec.resources.{part}"
    amounts = _amounts(resources.get(part), path)
    for resource in amounts:
        if resource not in ("cpu", "memory") and not resource.startswith("hugepages-"):
            sentence = "is no resource of a whole pod, only cpu, memory and hugepages-* are"
            raise FieldError(f"{path}[{resource}]", NOT_SUPPORTED, f"{shown(resource)} {sentence}")
    return amounts


def _amounts(value: object, path: str) -> Amounts:
    """A resource list with exact values. Raises FieldError for a name or quantity that Kubernetes refuses."""
    amounts: Amounts = {}
    for resource, text in mapping(value, path).items():
        where = f"{path}[{resource}]"
        if problem := _resource_problem(resource):
            raise FieldError(where, INVALID, f"{shown(resource)} {problem}")
        try:
            amounts[resource] = checked_request(resource, text)
            checked_amount(charge(resource, amounts[resource]))
        except QuantityError as error:
            raise FieldError(where, INVALID, f"{shown(text)} {error}") from error
    return amounts


def _resource_problem(resource: str) -> str:
    if resource in _STANDARD or resource.startswith("hugepages-"):
        return ""
    if "/" not in resource:
        return "is no resource of a container: cpu, memory, ephemeral-storage, hugepages-* or vendor/device"
    return label_key_problem(resource)


def _add(total: Amounts, more: Amounts) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, Fraction(0)) + amount


def _raise_to(total: Amounts, least: Amounts) -> None:
    for resource, amount in least.items():
        if amount > total.get(resource, Fraction(0)):
            total[resource] = amount
