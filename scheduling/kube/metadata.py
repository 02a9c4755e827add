"""The part of metadata that is read of every object: namespace, name, uid, labels, creation time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduling.kube.fields import (
    FORBIDDEN,
    INVALID,
    UNDECODABLE,
    FieldError,
    checked,
    described,
    mapping,
    milliseconds,
    shown,
    string,
)
from scheduling.kube.names import (
    dns_label_problem,
    dns_subdomain_problem,
    label_key_problem,
    label_value_problem,
)


@dataclass(frozen=True, slots=True)
class Metadata:
    """``namespace`` is "" for kinds without one; ``created`` in milliseconds, 0 when absent."""

    namespace: str
    name: str
    uid: str
    labels: tuple[tuple[str, str], ...]
    created: int
    terminating: bool
    from_server: bool


def read_metadata(body: Mapping[str, Any], *, namespaced: bool) -> Metadata:
    """Raises FieldError. ``from_server``: an API server has stored the object (it carries a
    resourceVersion).
    """
    metadata = mapping(body.get("metadata"), "metadata")
    name = string(metadata.get("name"), "metadata.name")
    checked(name, "metadata.name", dns_subdomain_problem(name))
    namespace = string(metadata.get("namespace"), "metadata.namespace")
    if namespaced:
        namespace = namespace or "default"
        checked(namespace, "metadata.namespace", dns_label_problem(namespace))
    elif namespace:
        raise FieldError("metadata.namespace", FORBIDDEN, "must not be given: the kind has no namespace")
    deleted = string(metadata.get("deletionTimestamp"), "metadata.deletionTimestamp")
    milliseconds(deleted, "metadata.deletionTimestamp")
    return Metadata(
        namespace=namespace,
        name=name,
        uid=string(metadata.get("uid"), "metadata.uid"),
        labels=read_labels(metadata.get("labels"), "metadata.labels"),
        created=milliseconds(metadata.get("creationTimestamp"), "metadata.creationTimestamp"),
        terminating=bool(deleted),
        from_server=bool(string(metadata.get("resourceVersion"), "metadata.resourceVersion")),
    )


def read_annotation(body: Mapping[str, Any], key: str) -> str:
    """The value of one annotation of ours, "" when the object does not carry it. Raises FieldError for what
    is no string.
    """
    annotations = mapping(body.get("metadata"), "metadata").get("annotations")
    value = annotations.get(key) if isinstance(annotations, dict) else None  # others' are remarked upon only
    return string(value, f"metadata.annotations[{key}]")


def read_flag(body: Mapping[str, Any], key: str) -> bool:
    """An annotation of ours that is true or false, false when absent. Raises FieldError."""
    value = read_annotation(body, key)
    if value not in ("", "true", "false"):
        raise FieldError(
            f"metadata.annotations[{key}]", INVALID, f"must be true or false, not {shown(value)}"
        )
    return value == "true"


def read_labels(value: object, path: str) -> tuple[tuple[str, str], ...]:
    """A string map with label keys and label values, sorted by key (labels, nodeSelector)."""
    labels = mapping(value, path)
    strange = [key for key, text in labels.items() if text is not None and not isinstance(text, str)]
    if strange:
        others = f" ({len(strange) - 1} more values like this)" if len(strange) > 1 else ""
        raise FieldError(
            f"{path}[{strange[0]}]",
            UNDECODABLE,
            f"must be a string, but is {described(labels[strange[0]])}; put it in quotes{others}",
        )
    for key, text in labels.items():
        if problem := label_key_problem(key):
            raise FieldError(path, INVALID, f"the key {shown(key)} {problem}")
        if problem := label_value_problem(text or ""):
            raise FieldError(f"{path}[{key}]", INVALID, f"{shown(text)} {problem}")
    return tuple(sorted((key, text or "") for key, text in labels.items()))
