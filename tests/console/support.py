"""Small manifests, and what tests read of a page."""

from __future__ import annotations

import html
import json
import re
from typing import Any

from django.http import HttpResponse

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


def gang(name: str, members: int, key: str = RACK, namespace: str = "team-a") -> list[dict[str, Any]]:
    """A PodGroup all of whose members must fit, each on a whole node."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": members}},
            **({"schedulingConstraints": {"topology": [{"key": key}]}} if key else {}),
        },
    }
    requests = {"cpu": "4", GPU: "8"}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{place}", "namespace": namespace},
            "spec": {
                "schedulingGroup": {"podGroupName": name},
                "containers": [
                    {"name": "main", "image": "x", "resources": {"requests": requests, "limits": requests}}
                ],
            },
        }
        for place in range(members)
    ]
    return [group, *pods]


def dump(*objects: dict[str, Any]) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode()


def text(response: HttpResponse) -> str:
    """What a reader sees of the page: no tags, spaces as one."""
    body = re.sub(r"<(script|style).*?</\1>", " ", response.content.decode(), flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())
