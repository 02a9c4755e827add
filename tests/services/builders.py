"""Short ways to write manifests, and a cluster in memory made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from scheduling.ledger.events import Event
from scheduling.ledger.store import GENESIS, Recorded
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.submitting import MemberTemplate, WorkloadForm
from scheduling.services.tending import tended

RACK = "topology.example.com/rack"
ZONE = "topology.kubernetes.io/zone"
GPU = "nvidia.com/gpu"

Manifest = dict[str, Any]


def node(name: str, rack: str | None = "r1", *, cpu: str = "8", gpu: int = 0, **more: Any) -> Manifest:
    """``more``: ``uid``, ``zone``, ``unschedulable``, ``ready``, ``taints``, ``pods``."""
    labels = {"kubernetes.io/hostname": name}
    if rack is not None:
        labels[RACK] = rack
    if "zone" in more:
        labels[ZONE] = more["zone"]
    allocatable = {"cpu": cpu, "memory": "64Gi", "pods": more.get("pods", "110")}
    if gpu:
        allocatable[GPU] = str(gpu)
    spec = {key: more[key] for key in ("unschedulable", "taints") if key in more}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels} | _uid(more),
        "spec": spec,
        "status": {
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True" if more.get("ready", True) else "False"}],
        },
    }


def pod(name: str, group: str = "", *, on: str = "", cpu: str = "1", **more: Any) -> Manifest:
    """``more``: ``uid``, ``gpu``, ``phase``, ``namespace``, ``metadata``."""
    requests = {"cpu": cpu}
    resources: Manifest = {"requests": requests}
    if "gpu" in more:
        requests[GPU] = str(more["gpu"])
        resources["limits"] = {GPU: str(more["gpu"])}
    spec: Manifest = {"containers": [{"name": "c", "image": "i", "resources": resources}]}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    if on:
        spec["nodeName"] = on
    metadata = {"name": name, "namespace": more.get("namespace", "default")}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata | _uid(more) | more.get("metadata", {}),
        "spec": spec,
        "status": {"phase": more.get("phase", "Running" if on else "Pending")},
    }


def gang(name: str, min_count: int, *, key: str = RACK, version: str = "v1alpha2", **more: Any) -> Manifest:
    """A PodGroup; ``key`` "" for no constraint. ``more``: ``uid``, ``priority``."""
    spec: Manifest = {"schedulingPolicy": {"gang": {"minCount": min_count}}}
    if key:
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    if "priority" in more:
        spec["priority"] = more["priority"]
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"} | _uid(more),
        "spec": spec,
    }


def _uid(more: dict[str, Any]) -> dict[str, str]:
    return {"uid": more["uid"]} if "uid" in more else {}


def text(*manifests: Manifest) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)}).encode()


def members(group: str, count: int, **more: Any) -> list[Manifest]:
    return [pod(f"{group}-{i}", group, **more) for i in range(count)]


def stream(*manifests: Manifest, mode: str = "simulated") -> MemoryStream:
    """A cluster in memory that has imported the manifests and has not yet decided anything."""
    made = MemoryStream(mode=mode)
    if manifests:
        plan = made.import_data(text(*manifests))
        assert not plan.refused, plan.refused
    return made


def form(name: str = "g", count: int = 2, **more: Any) -> WorkloadForm:
    """A gang of ``count`` equal members of 1 CPU in one rack; ``more``: fields of the form."""
    values: dict[str, Any] = {
        "namespace": "default",
        "name": name,
        "policy": "gang",
        "min_count": count,
        "topology_key": RACK,
        "priority": 0,
        "templates": (MemberTemplate("", count, {"cpu": "1"}),),
    }
    return WorkloadForm(**values | more)


def tend(made: MemoryStream, after_ms: int = 0) -> list[Event]:
    """What follows from the state, so many milliseconds later; it is in the log then."""
    made.now_ms += after_ms
    news = [followed.event for followed in tended(made.state, made.now_ms)[0]]
    made.commit(news)
    assert tended(made.state, made.now_ms)[0] == []
    return news


def nodes_of(made: MemoryStream, group: str) -> dict[str, str]:
    """Member name -> node, "" when it is on none."""
    return {member.name: member.node for member in made.state.members(f"default/{group}")}


def as_recorded(events: Sequence[Event]) -> Iterator[Recorded]:
    """The log of a cluster in memory, from its first event on, without times and hashes."""
    for seq, event in enumerate(events, 1):
        yield Recorded(1, seq, event, "a", f"c{seq}", None, 0, 0, GENESIS, GENESIS)
