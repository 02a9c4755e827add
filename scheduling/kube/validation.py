"""What an API server refuses of a PodGroup.

Release 1.36 (v1alpha2) as recorded of a running server, 1.37 (v1alpha3, v1beta1) as its documents specify.
Fields that the release does not know are refused, as with ``fieldValidation=Strict``: a constraint that is
silently dropped would spread a gang.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from scheduling.kube.fields import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_MANY,
    UNDECODABLE,
    FieldError,
    Problem,
    checked,
    integer,
    mapping,
    objects,
    shown,
    string,
)
from scheduling.kube.metadata import read_labels
from scheduling.kube.names import dns_label_problem, dns_subdomain_problem, label_key_problem

GROUP = "scheduling.k8s.io"
RELEASE_OF_VERSION = {"v1alpha2": "1.36", "v1alpha3": "1.37", "v1beta1": "1.37"}
_HIGHEST_PRIORITY = 1_000_000_000
_MOST_CLAIMS = 4

_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_METADATA_FIELDS = frozenset(
    {
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
_COMMON_FIELDS = frozenset(
    {
        "schedulingPolicy",
        "schedulingConstraints",
        "resourceClaims",
        "disruptionMode",
        "priorityClassName",
        "priority",
    }
)
_SPEC_FIELDS = {
    "1.36": _COMMON_FIELDS | {"podGroupTemplateRef"},
    "1.37": _COMMON_FIELDS | {"workloadRef", "parentCompositePodGroupName", "preemptionPolicy"},
}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "1.36": {"disruptionMode": "Pod", "priority": 0},
    "1.37": {"disruptionMode": {"single": {}}, "priority": 0, "preemptionPolicy": "PreemptLowerPriority"},
}


def pod_group_problems(
    body: Mapping[str, Any],
    old: Mapping[str, Any] | None = None,
    *,
    release: str = "1.36",
    templates: Collection[str] | None = (),
) -> list[Problem]:
    """Why an API server of ``release`` would refuse to create ``body``, or to update ``old`` to it; [] if it
    would not.

    An update's ``body`` may leave out what ``old`` has. ``templates``: the PodGroup templates that exist,
    each as ``namespace/workload/template``; None when the object has passed admission before. Only 1.36 is
    held to them: of 1.37 no such refusal is recorded. Reasons: ``Undecodable`` (400; then nothing else is
    judged), ``FieldValueForbidden`` for admission (403), the other ``FieldValue...`` (422).
    """
    if old is not None:
        body = {**old, **body}
    collected = _Collected()
    collected.attempt(_decodable, body, release)
    if collected.problems:
        return collected.problems
    if old is None:
        collected.attempt(_metadata, body)
    spec = mapping(body.get("spec"), "spec")
    check_spec(spec, "spec", release, collected)
    if old is not None:
        _immutable(spec, mapping(old.get("spec"), "spec"), release, collected)
    elif release == "1.36" and not collected.problems and templates is not None:
        collected.attempt(_admission, body, spec, templates)
    undecodable = [problem for problem in collected.problems if problem.reason == UNDECODABLE]
    return undecodable or collected.problems


class _Collected:
    """Problems found so far; a check that raises FieldError adds one."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, path: str, reason: str, message: str) -> None:
        self.problems.append(Problem(path, reason, message))

    def attempt(self, check: Callable[..., None], *arguments: Any) -> None:
        try:
            check(*arguments)
        except FieldError as error:
            self.problems.append(error.problem)


def spec_problems(spec: Mapping[str, Any], path: str, release: str) -> list[Problem]:
    """What is wrong with scheduling fields that a PodGroup and a PodGroup template of a Workload share."""
    collected = _Collected()
    check_spec(spec, path, release, collected)
    return collected.problems


def _decodable(body: Mapping[str, Any], release: str) -> None:
    version = string(body.get("apiVersion"), "apiVersion")
    group, _, number = version.rpartition("/")
    if group != GROUP or RELEASE_OF_VERSION.get(number) != release:
        raise FieldError("apiVersion", UNDECODABLE, f"release {release} has no PodGroup of {shown(version)}")
    if body.get("kind") != "PodGroup":
        raise FieldError("kind", UNDECODABLE, f"must be PodGroup, not {shown(body.get('kind'))}")
    _known(body, "", _OBJECT_FIELDS)
    _known(mapping(body.get("metadata"), "metadata"), "metadata", _METADATA_FIELDS)
    _known(mapping(body.get("spec"), "spec"), "spec", _SPEC_FIELDS[release])


def _known(value: Mapping[str, Any], path: str, fields: Collection[str]) -> None:
    for key in value:
        if key not in fields:
            where = f"{path}.{key}" if path else key
            raise FieldError(
                where, UNDECODABLE, f"is no field of this version; known are {', '.join(sorted(fields))}"
            )


def _metadata(body: Mapping[str, Any]) -> None:
    metadata = mapping(body.get("metadata"), "metadata")
    name = string(metadata.get("name"), "metadata.name")
    prefix = string(metadata.get("generateName"), "metadata.generateName")
    if name or not prefix:
        checked(name, "metadata.name", dns_subdomain_problem(name))
    else:
        checked(prefix, "metadata.generateName", dns_subdomain_problem(prefix.removesuffix("-") or prefix))
    namespace = string(metadata.get("namespace"), "metadata.namespace")
    if namespace:
        checked(namespace, "metadata.namespace", dns_label_problem(namespace))
    read_labels(metadata.get("labels"), "metadata.labels")


def check_spec(spec: Mapping[str, Any], path: str, release: str, collected: _Collected) -> None:
    """Every rule on the fields of a spec that stands at ``path``."""
    collected.attempt(_policy, spec.get("schedulingPolicy"), f"{path}.schedulingPolicy")
    collected.attempt(_constraints, spec.get("schedulingConstraints"), f"{path}.schedulingConstraints")
    collected.attempt(_disruption, spec, path, release)
    collected.attempt(_priority, spec, path)
    collected.attempt(_claims, spec.get("resourceClaims"), f"{path}.resourceClaims")
    collected.attempt(_template_reference, spec, path)
    collected.attempt(_parent, spec, path)


def _policy(value: object, path: str) -> None:
    policy = mapping(value, path)
    _known(policy, path, ("basic", "gang"))
    chosen = [name for name in ("basic", "gang") if policy.get(name) is not None]
    _known(mapping(policy.get("basic"), f"{path}.basic"), f"{path}.basic", ())
    gang = mapping(policy.get("gang"), f"{path}.gang")
    _known(gang, f"{path}.gang", ("minCount",))
    min_count = integer(gang.get("minCount"), f"{path}.gang.minCount")
    if len(chosen) != 1:
        raise FieldError(
            path, INVALID, f"must have exactly one of basic and gang, not {' and '.join(chosen) or 'none'}"
        )
    if chosen == ["gang"]:
        if not min_count:
            raise FieldError(f"{path}.gang.minCount", REQUIRED, "must be given and at least 1")
        if min_count < 1:
            raise FieldError(f"{path}.gang.minCount", INVALID, f"{min_count} is less than 1")


def _constraints(value: object, path: str) -> None:
    constraints = mapping(value, path)
    _known(constraints, path, ("topology",))
    entries = objects(constraints.get("topology"), f"{path}.topology")
    for entry, where in entries:
        _known(entry, where, ("key",))
    if len(entries) > 1:
        raise FieldError(f"{path}.topology", TOO_MANY, f"must have at most 1 entry, not {len(entries)}")
    for entry, where in entries:
        key = string(entry.get("key"), f"{where}.key")
        checked(key, f"{where}.key", label_key_problem(key))


def _disruption(spec: Mapping[str, Any], path: str, release: str) -> None:
    value = spec.get("disruptionMode")
    path = f"{path}.disruptionMode"
    if value is None:
        return
    if release == "1.36":
        mode = string(value, path)
        if mode not in ("Pod", "PodGroup"):
            raise FieldError(path, NOT_SUPPORTED, f"{shown(mode)} is not one of Pod, PodGroup")
        return
    modes = mapping(value, path)
    _known(modes, path, ("single", "all"))
    chosen = [name for name in ("single", "all") if modes.get(name) is not None]
    if len(chosen) != 1:
        raise FieldError(
            path, INVALID, f"must have exactly one of single and all, not {' and '.join(chosen) or 'none'}"
        )
    policy = spec.get("schedulingPolicy")
    if chosen == ["all"] and isinstance(policy, dict) and policy.get("basic") is not None:
        raise FieldError(path, INVALID, "all needs the gang policy")


def _priority(spec: Mapping[str, Any], path: str) -> None:
    priority = integer(spec.get("priority"), f"{path}.priority")
    if priority is not None and priority > _HIGHEST_PRIORITY:
        raise FieldError(f"{path}.priority", INVALID, f"{priority} is more than {_HIGHEST_PRIORITY}")
    name = string(spec.get("priorityClassName"), f"{path}.priorityClassName")
    if name:
        checked(name, f"{path}.priorityClassName", dns_subdomain_problem(name))
    policy = string(spec.get("preemptionPolicy"), f"{path}.preemptionPolicy")
    if policy not in ("", "PreemptLowerPriority", "Never"):
        raise FieldError(
            f"{path}.preemptionPolicy",
            NOT_SUPPORTED,
            f"{shown(policy)} is not one of Never, PreemptLowerPriority",
        )


def _claims(value: object, path: str) -> None:
    claims = objects(value, path)
    if len(claims) > _MOST_CLAIMS:
        raise FieldError(path, TOO_MANY, f"must have at most {_MOST_CLAIMS} entries, not {len(claims)}")
    names: set[str] = set()
    for claim, where in claims:
        name = string(claim.get("name"), f"{where}.name")
        checked(name, f"{where}.name", dns_label_problem(name))
        if name in names:
            raise FieldError(f"{where}.name", DUPLICATE, f"{shown(name)} is given twice")
        names.add(name)
        sources = [
            key for key in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(key) is not None
        ]
        if len(sources) != 1:
            raise FieldError(
                where, INVALID, "must have exactly one of resourceClaimName and resourceClaimTemplateName"
            )
        checked(
            text := string(claim[sources[0]], f"{where}.{sources[0]}"), where, dns_subdomain_problem(text)
        )


def _template_reference(spec: Mapping[str, Any], path: str) -> None:
    reference = _reference(spec, path)
    if reference is not None:
        workload_path = f"{reference.path}.workloadName"
        checked(reference.workload, workload_path, dns_subdomain_problem(reference.workload))
        checked(reference.template, reference.template_path, dns_label_problem(reference.template))


@dataclass(frozen=True, slots=True)
class _Reference:
    """The template of a Workload that a PodGroup says it was made from."""

    path: str
    workload: str
    template: str
    template_path: str


def _reference(spec: Mapping[str, Any], path: str) -> _Reference | None:
    """Of 1.36's podGroupTemplateRef or 1.37's workloadRef, whichever the spec has."""
    if spec.get("podGroupTemplateRef") is not None:
        where, template_field = f"{path}.podGroupTemplateRef", "podGroupTemplateName"
        union = mapping(spec["podGroupTemplateRef"], where)
        _known(union, where, ("workload",))
        if union.get("workload") is None:
            raise FieldError(where, INVALID, "must have a workload")
        where = f"{where}.workload"
        fields = mapping(union["workload"], where)
    elif spec.get("workloadRef") is not None:
        where, template_field = f"{path}.workloadRef", "templateName"
        fields = mapping(spec["workloadRef"], where)
    else:
        return None
    _known(fields, where, ("workloadName", template_field))
    template_path = f"{where}.{template_field}"
    return _Reference(
        path=where,
        workload=string(fields.get("workloadName"), f"{where}.workloadName"),
        template=string(fields.get(template_field), template_path),
        template_path=template_path,
    )


def _parent(spec: Mapping[str, Any], path: str) -> None:
    name = string(spec.get("parentCompositePodGroupName"), f"{path}.parentCompositePodGroupName")
    if not name:
        return
    checked(name, f"{path}.parentCompositePodGroupName", dns_subdomain_problem(name))
    if spec.get("workloadRef") is None:
        raise FieldError(f"{path}.workloadRef", REQUIRED, "must be given with parentCompositePodGroupName")


def _admission(body: Mapping[str, Any], spec: Mapping[str, Any], templates: Collection[str]) -> None:
    reference = _reference(spec, "spec")
    if reference is None:
        return
    namespace = mapping(body.get("metadata"), "metadata").get("namespace") or "default"
    workload = f"{namespace}/{reference.workload}"
    if f"{workload}/{reference.template}" not in templates:
        message = f"no Workload {workload} with a template {reference.template} exists"
        raise FieldError(reference.path, FORBIDDEN, message)


def _immutable(spec: Mapping[str, Any], old: Mapping[str, Any], release: str, collected: _Collected) -> None:
    for field in sorted(_SPEC_FIELDS[release]):
        new_value, old_value = (_comparable(field, side, release) for side in (spec, old))
        if new_value != old_value:
            collected.add(
                f"spec.{field}", INVALID, "cannot be changed; end this PodGroup and create a new one"
            )


def _comparable(field: str, spec: Mapping[str, Any], release: str) -> Any:
    """A field as the API server would have stored it, so far as it may not change."""
    value = spec.get(field)
    if value is None or value == "":
        return _DEFAULTS[release].get(field)
    if field == "resourceClaims":
        return value or None
    if field == "schedulingConstraints" and isinstance(value, dict):
        return {key: entries for key, entries in value.items() if entries}
    if field == "schedulingPolicy" and release != "1.36" and isinstance(value, dict):
        return sorted(name for name, policy in value.items() if policy is not None)
    if field == "schedulingPolicy" and isinstance(value, dict):
        return {name: policy for name, policy in value.items() if policy is not None}
    return value
