"""What is worth saying of an input that is taken: odd annotations, foreign sub-groups, domains over zones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scheduling.engine.model import Node, PodGroup
from scheduling.kube.fields import shown

Remark = tuple[str, str]
"""The path of a field and a sentence about it."""

ZONE = "topology.kubernetes.io/zone"
_TOPOLOGY_REQUESTS = "kueue.x-k8s.io/podset-"
_SUB_GROUP_FIELDS = ("subGroups", "subgroups", "subGroupPolicy")


def annotation_remarks(body: Mapping[str, Any]) -> Iterator[Remark]:
    """Annotation values that are no strings, and topology requests in them that are broken JSON, as raw text.

    No other annotation's value is repeated: it may be a secret.
    """
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict):
        return
    for key, value in annotations.items():
        path = f"metadata.annotations[{key}]"
        if value is not None and not isinstance(value, str):
            yield path, "is not a string: an API server would refuse it; annotations are not read here"
        elif key.startswith(_TOPOLOGY_REQUESTS) and value and value.lstrip()[:1] in ("[", "{"):
            try:
                json.loads(value)
            except (ValueError, RecursionError):
                yield path, f"is not JSON, so it is only shown, as the raw text {shown(value)}"


def sub_group_remarks(body: Mapping[str, Any]) -> Iterator[Remark]:
    """One sentence per sub-group of another scheduler's PodGroup."""
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return
    for field in _SUB_GROUP_FIELDS:
        groups = spec.get(field)
        for number, group in enumerate(groups if isinstance(groups, list) else []):
            path = f"spec.{field}[{number}]"
            if not isinstance(group, dict):
                yield path, "is no sub-group: it must be an object"
                continue
            name = shown(group.get("name"))
            members = group.get("minMember")
            if members == 0 and not isinstance(members, bool):
                yield f"{path}.minMember", f"the sub-group {name} asks for 0 members, no gang: not imported"
            else:
                yield path, f"the sub-group {name} is not imported: sub-groups are not modelled"


def zone_remarks(nodes: Iterable[Node], groups: Iterable[PodGroup]) -> Iterator[Remark]:
    """(label key, sentence) for each value of a constrained key whose nodes lie in several zones."""
    keys = sorted({group.topology_key for group in groups} - {"", ZONE})
    if not keys:
        return
    zones: dict[tuple[str, str], set[str]] = {}
    for node in nodes:
        labels = dict(node.labels)
        if ZONE not in labels:
            continue
        for key in keys:
            if key in labels:
                zones.setdefault((key, labels[key]), set()).add(labels[ZONE])
    for (key, value), found in sorted(zones.items()):
        if len(found) > 1:
            yield key, f"the value {shown(value)} of {key} spans {len(found)} zones, yet it is one domain"
