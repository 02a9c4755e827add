"""Which nodes a pod may use: nodeSelector, required node affinity and tolerations, in one canonical order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduling.engine.model import Eligibility, NodeSelectorTerm, Requirement, Toleration
from scheduling.kube.fields import (
    FORBIDDEN,
    INVALID,
    REQUIRED,
    FieldError,
    checked,
    mapping,
    objects,
    one_of,
    sequence,
    string,
)
from scheduling.kube.metadata import read_labels
from scheduling.kube.names import label_key_problem, label_value_problem

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")
_REQUIRED_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"


def read_eligibility(spec: Mapping[str, Any]) -> Eligibility:
    """Order and repetition carry no meaning, so they are dropped: pods that may use the same nodes compare
    equal.
    """
    return Eligibility(
        node_selector=read_labels(spec.get("nodeSelector"), "spec.nodeSelector"),
        terms=_terms(spec),
        tolerations=_tolerations(spec),
    )


def _terms(spec: Mapping[str, Any]) -> tuple[NodeSelectorTerm, ...] | None:
    path = "spec.affinity.nodeAffinity"
    affinity = mapping(spec.get("affinity"), "spec.affinity")
    required = mapping(affinity.get("nodeAffinity"), path).get(_REQUIRED_AFFINITY)
    if required is None:
        return None
    path = f"{path}.{_REQUIRED_AFFINITY}"
    terms = objects(mapping(required, path).get("nodeSelectorTerms"), f"{path}.nodeSelectorTerms")
    if not terms:
        raise FieldError(f"{path}.nodeSelectorTerms", REQUIRED, "must have at least one term")
    return tuple(sorted({_term(term, where) for term, where in terms}, key=repr))


def _term(term: Mapping[str, Any], path: str) -> NodeSelectorTerm:
    labels = {
        _requirement(item, where, _LABEL_OPERATORS)
        for item, where in objects(term.get("matchExpressions"), f"{path}.matchExpressions")
    }
    fields = {
        _requirement(item, where, _FIELD_OPERATORS)
        for item, where in objects(term.get("matchFields"), f"{path}.matchFields")
    }
    for item in fields:
        if item.key != "metadata.name" or len(item.values) != 1:
            raise FieldError(f"{path}.matchFields", INVALID, "must name metadata.name and exactly one value")
    return NodeSelectorTerm(labels=tuple(sorted(labels, key=repr)), fields=tuple(sorted(fields, key=repr)))


def _requirement(item: Mapping[str, Any], path: str, operators: tuple[str, ...]) -> Requirement:
    key = string(item.get("key"), f"{path}.key")
    checked(key, f"{path}.key", label_key_problem(key))
    operator = one_of(string(item.get("operator"), f"{path}.operator"), f"{path}.operator", operators)
    where = f"{path}.values"
    values = [string(value, f"{where}[{n}]") for n, value in enumerate(sequence(item.get("values"), where))]
    if operator in ("Exists", "DoesNotExist") and values:
        raise FieldError(where, FORBIDDEN, f"must be empty with the operator {operator}")
    if operator in ("In", "NotIn") and not values:
        raise FieldError(where, REQUIRED, f"must have a value with the operator {operator}")
    if operator in ("Gt", "Lt") and len(values) != 1:
        raise FieldError(where, REQUIRED, f"must have exactly one value with the operator {operator}")
    return Requirement(key=key, operator=operator, values=tuple(sorted(set(values))))


def _tolerations(spec: Mapping[str, Any]) -> tuple[Toleration, ...]:
    found = {_toleration(item, path) for item, path in objects(spec.get("tolerations"), "spec.tolerations")}
    return tuple(sorted(found, key=repr))


def _toleration(item: Mapping[str, Any], path: str) -> Toleration:
    key = string(item.get("key"), f"{path}.key")
    if key:
        checked(key, f"{path}.key", label_key_problem(key))
    operator = string(item.get("operator"), f"{path}.operator") or "Equal"
    one_of(operator, f"{path}.operator", ("Equal", "Exists"))
    if not key and operator != "Exists":
        raise FieldError(f"{path}.operator", INVALID, "must be Exists when the key is empty")
    value = string(item.get("value"), f"{path}.value")
    if operator == "Exists" and value:
        raise FieldError(f"{path}.value", INVALID, "must be empty with the operator Exists")
    checked(value, f"{path}.value", label_value_problem(value))
    effect = string(item.get("effect"), f"{path}.effect")
    if effect:
        one_of(effect, f"{path}.effect", EFFECTS)
    return Toleration(key=key, operator=operator, value=value, effect=effect)
