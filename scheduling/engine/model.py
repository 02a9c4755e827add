"""The objects that placement is about, as immutable values in whole units.

Quantities are integers: ``cpu`` in milli-cores, every other resource in its own unit (bytes, pods, devices).
Times are milliseconds since the Unix epoch. A *group key* and a *pod key* is ``"namespace/name"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, cast

from scheduling.engine.frozen import opened

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
Policy = Literal["gang", "basic"]
Phase = Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"]
Mode = Literal["simulated", "observed"]

DEFAULT_SCHEDULER = "default-scheduler"
"""What Kubernetes fills in for a pod that names no scheduler."""

TAS_GATES = ("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling")
"""The gates that must all be on for the one-domain law to be enforced (Kubernetes 1.36)."""


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """``operator`` is ``Equal`` or ``Exists``; an empty ``key`` with ``Exists`` and an empty ``effect``
    match all.
    """

    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """One node selector requirement; ``operator``: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """All of ``labels`` and all of ``fields`` (``metadata.name`` only) must hold; an empty term matches
    nothing.
    """

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Which nodes a member may use, apart from room.

    ``terms`` is None without a required node affinity; otherwise one of them must match (none: no node does).
    """

    node_selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeSelectorTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


HostPort = tuple[str, str, int]
"""(protocol, IP address, port) on the node; the address is ``0.0.0.0`` for all of them."""


@dataclass(frozen=True, slots=True)
class PodTerm:
    """One required term of pod affinity or anti-affinity: pods that are meant, and what counts as near them.

    ``topology_key``: nodes with one value of this label are one place. ``selector``: all must hold of a pod's
    labels (``matchLabels`` as In); () means every pod, None means no pod. ``namespaces``: those looked into;
    () means that of the pod itself, None every namespace.
    """

    topology_key: str
    selector: tuple[Requirement, ...] | None
    namespaces: tuple[str, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """What one member asks for. Members of one shape are interchangeable, unless terms see their labels.

    ``requests``: (resource, amount) sorted by name, amounts > 0, always with ``("pods", 1)``.
    ``unmodelled``: what the pod uses that the engine does not model (``volumes``, ``resourceClaims``,
    ``topologySpread``), sorted. ``podAffinity``, ``podAntiAffinity`` and ``hostPorts`` stand there in logs
    written before these were modelled, the first two also for terms that select namespaces by labels.
    ``host_ports``, ``pod_affinity``, ``pod_anti_affinity``: required ones only, sorted.
    """

    requests: tuple[tuple[str, int], ...]
    eligibility: Eligibility = Eligibility()
    unmodelled: tuple[str, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    pod_affinity: tuple[PodTerm, ...] = ()
    pod_anti_affinity: tuple[PodTerm, ...] = ()

    @property
    def pairwise(self) -> bool:
        """Whether where it may go depends on which other pods are there."""
        return bool(self.host_ports or self.pod_affinity or self.pod_anti_affinity)


@dataclass(frozen=True, slots=True)
class NumaZone:
    """One NUMA node inside a node, as NodeResourceTopology tells it; ``allocatable`` sorted by resource."""

    name: str
    allocatable: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """``ready`` is false when a Ready condition is present and not True. ``labels``, ``allocatable`` sorted
    by key. ``zones``: sorted by name; empty as long as no NodeResourceTopology has told them.
    """

    name: str
    uid: str
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    allocatable: tuple[tuple[str, int], ...] = ()
    zones: tuple[NumaZone, ...] = ()

    def label(self, key: str) -> str | None:
        """The value of a label, None when the node does not carry it (the empty string is a value)."""
        return next((value for name, value in self.labels if name == key), None)


@dataclass(frozen=True, slots=True)
class Pod:
    """``group`` is the name of its PodGroup in its namespace, ``node`` the node it is bound to; "" for
    neither.

    ``gated``: the pod has scheduling gates. ``terminating``: deletion has begun; it holds its room until it
    is gone.
    """

    namespace: str
    name: str
    uid: str
    shape: Shape
    node: str = ""
    group: str = ""
    priority: int = 0
    phase: str = "Pending"
    terminating: bool = False
    gated: bool = False
    scheduler_name: str = DEFAULT_SCHEDULER
    labels: tuple[tuple[str, str], ...] = ()
    created: int = 0

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def group_key(self) -> str:
        """Key of its PodGroup, "" when it belongs to none."""
        return f"{self.namespace}/{self.group}" if self.group else ""

    @property
    def finished(self) -> bool:
        """A terminal pod holds nothing and is no member any more."""
        return self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class PodGroup:
    """One generation of a PodGroup. ``min_count`` is 1 for the basic policy; ``topology_key`` "" without a
    constraint.

    ``priority`` None: unset, then its members' own priorities count. ``unmodelled``: spec parts not
    modelled, sorted. ``elastic``: it goes on with fewer members, so that a new generation may have a smaller
    ``min_count``. ``protected``: nobody may propose to end it or members of it. ``queue``: "" for none.
    """

    namespace: str
    name: str
    uid: str
    policy: str = "gang"
    min_count: int = 1
    topology_key: str = ""
    priority: int | None = None
    generation: int = 1
    supersedes: str = ""
    unmodelled: tuple[str, ...] = ()
    created: int = 0
    elastic: bool = False
    protected: bool = False
    queue: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class PodGroupTemplate:
    name: str
    policy: str
    min_count: int
    topology_key: str


@dataclass(frozen=True, slots=True)
class Workload:
    """A store of PodGroup templates; the engine schedules from the PodGroup alone and never reads it."""

    namespace: str
    name: str
    uid: str
    templates: tuple[PodGroupTemplate, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


_Object = TypeVar("_Object", Node, Pod, PodGroup)


def altered(old: _Object, changes: Iterable[tuple[str, Any]]) -> _Object:
    """The object with other values in some of its fields: as ``dataclasses.replace`` in a sixth of its time,
    which a long log asks for. AttributeError for a field that there is not.
    """
    made: _Object = _COPIERS[type(old)](old, changes)
    return made


_Copier = Callable[[Any, Iterable[tuple[str, Any]]], Any]


def _copier(kind: type) -> _Copier:
    """Written out field by field, as dataclasses write their own methods."""
    lines = [
        "def copy(old, changes):",
        "  made = opened()",
        *(f"  made.{field.name} = old.{field.name}" for field in fields(kind)),
        "  for name, value in changes: setattr(made, name, value)",
        "  made.__class__ = kind",
        "  return made",
    ]
    scope: dict[str, Any] = {"opened": opened(kind), "kind": kind}
    exec("\n".join(lines), scope)
    return cast(_Copier, scope["copy"])


_COPIERS = {kind: _copier(kind) for kind in (Node, Pod, PodGroup)}
