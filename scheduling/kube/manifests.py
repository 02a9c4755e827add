"""Kubernetes manifests in, engine objects out: what is taken, what is refused and why, what is ignored."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from scheduling.engine.model import Node, Pod, PodGroup, Workload
from scheduling.kube.documents import Found, Place, read_documents
from scheduling.kube.fields import (
    DUPLICATE,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    UNDECODABLE,
    FieldError,
    Problem,
    printable,
    shown,
)
from scheduling.kube.names import dns_subdomain_problem
from scheduling.kube.node_topologies import GROUP as TOPOLOGY_GROUP
from scheduling.kube.node_topologies import VERSIONS as TOPOLOGY_VERSIONS
from scheduling.kube.node_topologies import NodeTopology, read_node_topology
from scheduling.kube.nodes import kubelet_version, read_node
from scheduling.kube.pod_groups import read_pod_group
from scheduling.kube.pods import read_pod
from scheduling.kube.remarks import Remark, annotation_remarks, sub_group_remarks, zone_remarks
from scheduling.kube.validation import GROUP, RELEASE_OF_VERSION, pod_group_problems
from scheduling.kube.workloads import VERSIONS as WORKLOAD_VERSIONS
from scheduling.kube.workloads import read_workload

_VERSIONS = {
    ("", "Node"): frozenset({"v1"}),
    ("", "Pod"): frozenset({"v1"}),
    (GROUP, "PodGroup"): frozenset(RELEASE_OF_VERSION),
    (GROUP, "Workload"): WORKLOAD_VERSIONS,
    (TOPOLOGY_GROUP, "NodeResourceTopology"): TOPOLOGY_VERSIONS,
}
_SPELLINGS = {(group, kind.lower()): kind for group, kind in _VERSIONS}
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_RELEASE = re.compile(r"v?[0-9]+\.[0-9]+[-+.0-9A-Za-z]*")
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An object or document that was not taken. ``reason``: as in an API server's causes, or ``Undecodable``.

    ``path`` and ``reason`` are those of the first fault; ``message`` names all that were found.
    """

    kind: str
    namespace: str
    name: str
    path: str
    reason: str
    message: str
    document: int
    line: int | None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something worth saying about an object that was taken, or counted as ignored."""

    kind: str
    namespace: str
    name: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class ReadPodGroup:
    group: PodGroup
    api_version: str


@dataclass(slots=True)
class Manifests:
    """``uid`` of an object is "" when its manifest has none. ``ignored``: kind (``Kind.group``) -> how many.

    ``kubernetes_version``: the kubelet version that most nodes report, "" when none does.
    """

    nodes: list[Node] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    pod_groups: list[ReadPodGroup] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)
    node_topologies: list[NodeTopology] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    kubernetes_version: str = ""


def read(data: bytes | str) -> Manifests:
    """Everything in ``data`` (JSON or YAML, gzip of either). Never raises for content: it collects
    refusals.
    """
    documents = read_documents(data)
    reader = _Reader()
    for unreadable in documents.problems:
        reader.refuse(_Subject("", "", "", unreadable.place), [Problem("", UNDECODABLE, unreadable.message)])
    for cut in documents.cut:
        subject = _subject(cut)
        reader.notice(
            subject, [("metadata.continue", "the list says that more objects follow: it is not complete")]
        )
    groups: list[tuple[_Subject, dict[str, Any]]] = []
    for found in documents.objects:
        reader.take(found, groups)
    for subject, body in groups:
        reader.take_pod_group(subject, body)
    reader.finish()
    reader.manifests.refused.sort(key=lambda refusal: refusal.document)
    return reader.manifests


@dataclass(frozen=True, slots=True)
class _Subject:
    kind: str
    namespace: str
    name: str
    place: Place


def _subject(found: Found) -> _Subject:
    metadata = found.body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    texts = [found.body.get("kind"), metadata.get("namespace"), metadata.get("name")]
    kind, namespace, name = (
        text[:253] if isinstance(text, str) and text.isprintable() else "" for text in texts
    )
    return _Subject(kind, namespace, name, found.place)


class _Reader:
    def __init__(self) -> None:
        self.manifests = Manifests()
        self._takers = {
            "Node": self._take_node,
            "Pod": self._take_pod,
            "Workload": self._take_workload,
            "NodeResourceTopology": self._take_node_topology,
        }
        self._ignored: Counter[str] = Counter()
        self._versions: Counter[str] = Counter()
        self._generated: Counter[str] = Counter()
        self._by_uid: dict[tuple[str, str], Place] = {}
        self._by_name: dict[tuple[str, str, str], tuple[str, Place]] = {}

    def refuse(self, subject: _Subject, problems: list[Problem]) -> None:
        first = problems[0]
        where = f"{subject.place.item}: " if subject.place.item and not subject.name else ""
        also = "".join(f"; {problem.path}: {problem.message}" for problem in problems[1:])
        self.manifests.refused.append(
            Refusal(
                kind=subject.kind,
                namespace=subject.namespace,
                name=subject.name,
                path=printable(first.path),
                reason=first.reason,
                message=printable(f"{where}{first.message}{also}"),
                document=subject.place.document,
                line=subject.place.line,
            )
        )

    def notice(self, subject: _Subject, remarks: Iterable[Remark]) -> None:
        for path, sentence in remarks:
            self.manifests.notices.append(
                Notice(subject.kind, subject.namespace, subject.name, printable(path), printable(sentence))
            )

    def take(self, found: Found, groups: list[tuple[_Subject, dict[str, Any]]]) -> None:
        """Read one object; a PodGroup goes to ``groups``, since it may name a Workload that comes later."""
        subject = _subject(found)
        try:
            group, version, kind = _type(found.body)
            known = _VERSIONS.get((group, kind))
            if known is None:
                self._ignore(subject, found.body, group, kind)
                return
            if version not in known:
                raise FieldError(
                    "apiVersion",
                    INVALID,
                    f"there is no {kind} of version {version}, only {', '.join(sorted(known))}",
                )
            subject, body, generated = self._named(subject, found.body)
            if kind == "PodGroup":
                groups.append((subject, body))
            else:
                self._takers[kind](subject, body, version)
                self.notice(subject, annotation_remarks(body))
            self.notice(subject, generated)
        except FieldError as error:
            self.refuse(subject, [error.problem])

    def _ignore(self, subject: _Subject, body: dict[str, Any], group: str, kind: str) -> None:
        self._ignored[f"{kind}.{group}" if group else kind] += 1
        if kind == "PodGroup":
            self.notice(subject, annotation_remarks(body))
            self.notice(subject, sub_group_remarks(body))

    def _named(
        self, subject: _Subject, body: dict[str, Any]
    ) -> tuple[_Subject, dict[str, Any], list[Remark]]:
        """The object with the name that an API server would have generated; here the same input gives the
        same.
        """
        metadata = body.get("metadata")
        if (
            not isinstance(metadata, dict)
            or metadata.get("name")
            or not isinstance(metadata.get("generateName"), str)
        ):
            return subject, body, []
        prefix = metadata["generateName"][:248]
        if not prefix or dns_subdomain_problem(f"{prefix}x"):
            raise FieldError("metadata.generateName", INVALID, f"{shown(prefix)} cannot begin a name")
        identity = f"{subject.kind}/{subject.namespace}/{prefix}"
        self._generated[identity] += 1
        digest = hashlib.sha256(f"{identity}/{self._generated[identity]}".encode()).digest()
        name = prefix + "".join(_SUFFIX_LETTERS[byte % len(_SUFFIX_LETTERS)] for byte in digest[:5])
        named = {**body, "metadata": {**metadata, "name": name}}
        subject = _Subject(subject.kind, subject.namespace, name, subject.place)
        return subject, named, [("metadata.name", f"was made from generateName {shown(prefix)}")]

    def _take_node(self, subject: _Subject, body: dict[str, Any], version: str) -> None:
        node, remarks = read_node(body)
        kubelet = kubelet_version(body)
        self._once(subject, "", node.name, node.uid)
        if _RELEASE.fullmatch(kubelet):
            self._versions[kubelet] += 1
        self.manifests.nodes.append(node)
        self.notice(subject, remarks)

    def _take_pod(self, subject: _Subject, body: dict[str, Any], version: str) -> None:
        pod, remarks = read_pod(body)
        self._once(subject, pod.namespace, pod.name, pod.uid)
        self.manifests.pods.append(pod)
        self.notice(subject, remarks)

    def _take_workload(self, subject: _Subject, body: dict[str, Any], version: str) -> None:
        workload, remarks = read_workload(body, version)
        self._once(subject, workload.namespace, workload.name, workload.uid)
        self.manifests.workloads.append(workload)
        self.notice(subject, remarks)

    def _take_node_topology(self, subject: _Subject, body: dict[str, Any], version: str) -> None:
        topology, remarks = read_node_topology(body)
        self._once(subject, "", topology.node, topology.uid)
        self.manifests.node_topologies.append(topology)
        self.notice(subject, remarks)

    def take_pod_group(self, subject: _Subject, body: dict[str, Any]) -> None:
        api_version = str(body["apiVersion"])
        release = RELEASE_OF_VERSION[api_version.rpartition("/")[2]]
        problems = pod_group_problems(body, release=release, templates=self._templates(body))
        if problems:
            self.refuse(subject, problems)
            return
        try:
            group = read_pod_group(body)
            self._once(subject, group.namespace, group.name, group.uid)
        except FieldError as error:
            self.refuse(subject, [error.problem])
            return
        self.manifests.pod_groups.append(ReadPodGroup(group, api_version))
        self.notice(subject, annotation_remarks(body))

    def _templates(self, body: dict[str, Any]) -> set[str] | None:
        """The templates that a new PodGroup may name; None for one that an API server has admitted
        already.
        """
        metadata = body.get("metadata")
        if isinstance(metadata, dict) and metadata.get("uid"):
            return None
        return {
            f"{workload.key}/{template.name}"
            for workload in self.manifests.workloads
            for template in workload.templates
        }

    def _once(self, subject: _Subject, namespace: str, name: str, uid: str) -> None:
        """Refuse what stands in the input before: the same uid, or the same name without two uids to tell
        apart.

        Two pods of one name may have two uids (one is being replaced); other kinds have one object to a name.
        """
        earlier = self._by_uid.get((subject.kind, uid)) if uid else None
        path = "metadata.uid"
        named = self._by_name.get((subject.kind, namespace, name))
        if earlier is None and named and (not uid or not named[0] or subject.kind != "Pod"):
            path, earlier = "metadata.name", named[1]
        if earlier is not None:
            raise FieldError(path, DUPLICATE, f"is in this input before, in {_place(earlier)}")
        if uid:
            self._by_uid[subject.kind, uid] = subject.place
        self._by_name[subject.kind, namespace, name] = (uid, subject.place)

    def finish(self) -> None:
        manifests = self.manifests
        manifests.ignored = dict(sorted(self._ignored.items()))
        if self._versions:
            manifests.kubernetes_version = max(self._versions, key=lambda text: (self._versions[text], text))
        groups = [read.group for read in manifests.pod_groups]
        for key, sentence in zone_remarks(manifests.nodes, groups):
            manifests.notices.append(Notice("Node", "", "", f"metadata.labels[{key}]", sentence))


def _place(place: Place) -> str:
    parts = [f"document {place.document}", f"line {place.line}" if place.line else "", place.item]
    return ", ".join(part for part in parts if part)


def _type(body: dict[str, Any]) -> tuple[str, str, str]:
    """(group, version, kind). Raises FieldError for what is no Kubernetes object or a misspelt kind
    of ours.
    """
    kind, api_version = body.get("kind"), body.get("apiVersion")
    if api_version is None and isinstance(body.get("version"), str):
        raise FieldError(
            "apiVersion",
            REQUIRED,
            f"must be given; the document has version: {shown(body['version'])} instead",
        )
    for path, value in (("kind", kind), ("apiVersion", api_version)):
        if value is None or value == "":
            raise FieldError(path, REQUIRED, "must be given: this is no Kubernetes object")
        if not isinstance(value, str):
            raise FieldError(path, UNDECODABLE, f"must be a string, not {shown(value)}")
    group, _, version = str(api_version).rpartition("/")
    if not _KIND.fullmatch(str(kind)):
        raise FieldError("kind", INVALID, f"{shown(kind)} is no kind")
    if not version or (group and dns_subdomain_problem(group)):
        raise FieldError("apiVersion", INVALID, f"{shown(api_version)} is no group and version")
    spelling = _SPELLINGS.get((group, str(kind).lower()))
    if spelling is not None and spelling != kind:
        raise FieldError("kind", NOT_SUPPORTED, f"there is no kind {kind}; {spelling} is written so")
    return group, version, str(kind)
