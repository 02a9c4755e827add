"""Topology spread constraints of a pod: forms, defaults and rules as the API server has them (core/v1
TopologySpreadConstraint and its validation).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduling.engine.model import SpreadConstraint
from scheduling.kube.fields import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    REQUIRED,
    FieldError,
    checked,
    integer,
    objects,
    one_of,
    shown,
    string,
)
from scheduling.kube.names import label_key_problem
from scheduling.kube.neighbours import Labels, canonical, own_values, read_selector

_FIELD = "spec.topologySpreadConstraints"
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
_POLICIES = ("Honor", "Ignore")


def read_spread(spec: Mapping[str, Any], labels: Labels) -> tuple[SpreadConstraint, ...]:
    """All constraints in their order. ``labels``: of the pod itself, for ``matchLabelKeys``, which an API
    server of today writes into the selector. Raises FieldError.
    """
    found: list[SpreadConstraint] = []
    for item, path in objects(spec.get("topologySpreadConstraints"), _FIELD):
        constraint = _constraint(item, path, dict(labels))
        if any((one.topology_key, one.hard) == (constraint.topology_key, constraint.hard) for one in found):
            pair = f"{constraint.topology_key}, {_HARD if constraint.hard else _SOFT}"
            raise FieldError(path, DUPLICATE, f"the pair {shown(pair)} is given twice")
        found.append(constraint)
    return tuple(found)


def _constraint(item: Mapping[str, Any], path: str, labels: Mapping[str, str]) -> SpreadConstraint:
    key = string(item.get("topologyKey"), f"{path}.topologyKey")
    if not key:
        raise FieldError(f"{path}.topologyKey", REQUIRED, "must be given")
    checked(key, f"{path}.topologyKey", label_key_problem(key))
    when = string(item.get("whenUnsatisfiable"), f"{path}.whenUnsatisfiable")
    if not when:
        raise FieldError(f"{path}.whenUnsatisfiable", REQUIRED, "must be given")
    hard = one_of(when, f"{path}.whenUnsatisfiable", (_HARD, _SOFT)) == _HARD
    selector = read_selector(item.get("labelSelector"), f"{path}.labelSelector")
    own = own_values(item, path, labels, (("matchLabelKeys", "In"),))
    if selector is not None:
        selector = canonical((*selector, *own))
    elif item.get("matchLabelKeys"):
        raise FieldError(f"{path}.matchLabelKeys", FORBIDDEN, "must be empty without a labelSelector")
    return SpreadConstraint(
        topology_key=key,
        max_skew=_at_least_one(item, "maxSkew", path) or _required(f"{path}.maxSkew"),
        selector=selector,
        hard=hard,
        min_domains=_min_domains(item, path, hard),
        honors_affinity=_honors(item, "nodeAffinityPolicy", path, "Honor"),
        honors_taints=_honors(item, "nodeTaintsPolicy", path, "Ignore"),
    )


def _min_domains(item: Mapping[str, Any], path: str, hard: bool) -> int:
    least = _at_least_one(item, "minDomains", path)
    if least is not None and not hard:
        raise FieldError(f"{path}.minDomains", INVALID, f"can only be given with {_HARD}")
    return least or 1


def _at_least_one(item: Mapping[str, Any], field: str, path: str) -> int | None:
    """None when it is not given."""
    number = integer(item.get(field), f"{path}.{field}")
    if number is not None and not 1 <= number < 2**31:
        raise FieldError(f"{path}.{field}", INVALID, f"{number} is less than 1")
    return number


def _required(path: str) -> int:
    raise FieldError(path, REQUIRED, "must be given and at least 1")


def _honors(item: Mapping[str, Any], field: str, path: str, default: str) -> bool:
    policy = string(item.get(field), f"{path}.{field}") or default
    return one_of(policy, f"{path}.{field}", _POLICIES) == "Honor"
