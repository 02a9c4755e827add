"""What tests of API and command line are made of: small manifests, and a client that calls by token."""

import json
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

RACK = "topology.example.com/rack"
GPU = "nvidia.com/gpu"


def node(name: str, rack: str | None, gpus: int = 8) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name} | ({RACK: rack} if rack else {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
        "status": {
            "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110", GPU: str(gpus)},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod_group(name: str, min_count: int, key: str = RACK) -> dict[str, Any]:
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": min_count}}}
    if key:
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": spec,
    }


def pod(name: str, group: str, gpus: int = 8) -> dict[str, Any]:
    requests = {"cpu": "4", GPU: str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {
            "schedulingGroup": {"podGroupName": group},
            "containers": [
                {"name": "main", "image": "x", "resources": {"requests": requests, "limits": requests}}
            ],
        },
    }


def gang(name: str, members: int, min_count: int | None = None) -> list[dict[str, Any]]:
    """A PodGroup and its members, each of which takes a whole node."""
    pods = [pod(f"{name}-{place}", name) for place in range(members)]
    return [pod_group(name, members if min_count is None else min_count), *pods]


def dump(*objects: dict[str, Any]) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode()


NODES = [node(f"node-{rack}-{place}", f"rack-{rack}") for rack in (1, 2) for place in (1, 2)] + [
    node("loose", None)
]
"""Two racks of two nodes with 8 GPUs each, and a node in no rack."""


@dataclass
class Caller:
    """Calls the API as one user, by token; answers are what Django's test client gives."""

    user: User
    token: str

    def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        client = Client(raise_request_exception=True)
        if isinstance(body, bytes):
            data, kind = body, options.pop("content_type", "application/yaml")
        else:
            data, kind = ("" if body is None else json.dumps(body)), "application/json"
        headers = {"Authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        return client.generic(method, f"/api/v1{path}", data, kind, headers=headers, **options)


PERMISSIONS = ("view_cluster", "operate_cluster", "switch_gate", "run_scenario")
