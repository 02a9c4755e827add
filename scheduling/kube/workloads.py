"""Workload manifests of scheduling.k8s.io: a store of PodGroup templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduling.engine.model import PodGroupTemplate, Workload
from scheduling.kube.fields import (
    DUPLICATE,
    INVALID,
    REQUIRED,
    TOO_MANY,
    FieldError,
    Problem,
    checked,
    mapping,
    objects,
    shown,
    string,
)
from scheduling.kube.metadata import read_metadata
from scheduling.kube.names import dns_label_problem
from scheduling.kube.pod_groups import read_policy, read_topology_key
from scheduling.kube.validation import RELEASE_OF_VERSION, spec_problems

VERSIONS = frozenset({"v1alpha1", *RELEASE_OF_VERSION})
_MOST_TEMPLATES = 8

Remark = tuple[str, str]


def read_workload(body: Mapping[str, Any], version: str) -> tuple[Workload, list[Remark]]:
    """The workload and remarks (path, sentence). Raises FieldError for the first thing that is wrong."""
    metadata = read_metadata(body, namespaced=True)
    spec = mapping(body.get("spec"), "spec")
    field = "podGroups" if version == "v1alpha1" else "podGroupTemplates"
    composite = spec.get("compositePodGroupTemplates")
    remarks = [("spec.compositePodGroupTemplates", "composite PodGroups are not read")] if composite else []
    entries = objects(spec.get(field), f"spec.{field}")
    if not entries and not composite:
        raise FieldError(f"spec.{field}", REQUIRED, "must have at least one entry")
    if len(entries) > _MOST_TEMPLATES:
        raise FieldError(
            f"spec.{field}", TOO_MANY, f"must have at most {_MOST_TEMPLATES} entries, not {len(entries)}"
        )
    templates = tuple(_template(entry, path, version) for entry, path in entries)
    names = [template.name for template in templates]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise FieldError(f"spec.{field}[{number}].name", DUPLICATE, f"{shown(name)} is given twice")
    workload = Workload(
        namespace=metadata.namespace, name=metadata.name, uid=metadata.uid, templates=templates
    )
    return workload, remarks


def _template(entry: Mapping[str, Any], path: str, version: str) -> PodGroupTemplate:
    name = string(entry.get("name"), f"{path}.name")
    checked(name, f"{path}.name", dns_label_problem(name))
    if version == "v1alpha1":
        entry = {"schedulingPolicy": entry.get("policy")}
    for problem in spec_problems(entry, path, RELEASE_OF_VERSION.get(version, "1.36")):
        raise _as_error(problem, version)
    policy, min_count = read_policy(entry.get("schedulingPolicy"), path)
    topology_key = read_topology_key(entry.get("schedulingConstraints"), path)
    return PodGroupTemplate(name=name, policy=policy, min_count=min_count, topology_key=topology_key)


def _as_error(problem: Problem, version: str) -> FieldError:
    path = problem.path.replace(".schedulingPolicy", ".policy") if version == "v1alpha1" else problem.path
    return FieldError(path, problem.reason or INVALID, problem.message)
