"""The demo cluster: 240 GPU nodes in 16 racks, running gangs, one that waits for a reason worth reading, and
types of nodes by which it could grow.

Everything follows from the tables below; the gangs are placed by our own cycles.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from scheduling.models import Cluster, Command
from scheduling.services import cycles, node_types, nodes, workloads
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.execute import Outcome
from scheduling.services.node_types import GrowthForm, NodeTypeForm
from scheduling.services.problems import DUPLICATE, Problem, Refused
from scheduling.services.submitting import MemberTemplate, WorkloadForm

NAME = "demo"
RACK = "topology.example.com/rack"
ZONE = "topology.kubernetes.io/zone"
PRODUCT = "nvidia.com/gpu.product"
GPU = "nvidia.com/gpu"
WAITING = ("research", "llm-pretrain")
"""Namespace and name of the gang that waits: 8 whole nodes, where the best rack has 7."""

_ACTOR = "demo"
_IMPORT = "demo-import"
_NODES_PER_RACK = 15

# zone letter, racks, product, cpu, memory
_ZONES = (
    ("a", 6, "H100", 192, "2Ti"),
    ("b", 5, "H100", 192, "2Ti"),
    ("c", 5, "A100", 96, "1Ti"),
)
_CORDONED_LATER = "h100-b04-15"
_CORDONED = ("a100-c02-03",)
_TAINTED = ("h100-b05-15", "a100-c05-15")
_NOT_READY = ("h100-b02-11", "a100-c04-02")
_WITHOUT_RACK = ("h100-b05-14", "a100-c05-13", "a100-c05-14")

# namespace, name, product, [(role, members, GPUs of each)], policy, minCount, priority
_Gang = tuple[str, str, str, tuple[tuple[str, int, int], ...], str, int, int]
_WHOLE_NODES: tuple[_Gang, ...] = tuple(
    ("training", f"run-{number:02}", "H100", (("", members, 8),), "gang", members, 0)
    for number, members in enumerate((12, 11, 10, 9, 12, 10, 11, 9, 10, 12), 1)
)
_OTHERS: tuple[_Gang, ...] = (
    ("training", "run-11", "H100", (("", 7, 8),), "gang", 7, 0),
    ("vision", "detector", "A100", (("", 6, 8),), "gang", 6, 0),
    ("vision", "segmenter", "A100", (("leader", 1, 1), ("worker", 8, 4)), "gang", 9, 5),
    ("vision", "tracker", "A100", (("", 16, 2),), "gang", 12, 0),
    ("speech", "asr-base", "A100", (("", 10, 4),), "gang", 8, 0),
    ("speech", "asr-large", "A100", (("leader", 1, 2), ("worker", 7, 8)), "gang", 8, 5),
    ("serving", "chat", "A100", (("", 12, 1),), "basic", 1, 10),
    ("serving", "embed", "A100", (("", 8, 1),), "basic", 1, 10),
)
_NODE_TYPES: tuple[NodeTypeForm, ...] = (
    NodeTypeForm(
        "h100-8g",
        like="h100-b04-01",
        growth=(GrowthForm(RACK, "b04", 2), GrowthForm(RACK, "b06", _NODES_PER_RACK)),
        cost="98.32",
        provider="simulated",
    ),
    NodeTypeForm(
        "a100-8g",
        like="a100-c01-01",
        growth=(GrowthForm(RACK, "c05", 4), GrowthForm(RACK, "c06", _NODES_PER_RACK)),
        cost="40.96",
        provider="simulated",
    ),
)
"""What may be added: a few nodes in a rack that is there, and a rack that is not."""
_LAST: _Gang = (*WAITING, "H100", (("", 8, 8),), "gang", 8, 5)


def load_demo() -> bool:
    """Make the demo cluster; false when it was there already, whole. What an interruption left out is made
    then.

    Each step is a command with an id of its own, and none is carried out twice, whatever was done to the
    cluster since. Raises Refused when another cluster has the name.
    """
    cluster = Cluster.objects.filter(name=NAME).first()
    done = set[str]()
    if cluster is None:
        request = ImportRequest(data=dump(), mode="simulated")
        import_cluster(name=NAME, request=request, actor=_ACTOR, command_id=_IMPORT)
        cluster = Cluster.objects.get(name=NAME)
    else:
        done.update(Command.objects.filter(stream_id=cluster.pk).values_list("command_id", flat=True))
        if _IMPORT not in done:
            message = f"there is a cluster {NAME} that is not the demo"
            raise Refused([Problem("Cluster", "", NAME, "name", DUPLICATE, message)])
    steps = _steps(cluster)
    missing = [step for command_id, step in steps.items() if command_id not in done]
    for step in missing:
        step()
        cycles.run_cycle(cluster.pk)
    return bool(missing)


def dump() -> bytes:
    """Nodes, single pods that break racks up, and a group that lacks members, as manifests."""
    items = [*_nodes(), *_single_pods(), *_held()]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()


def _steps(cluster: Cluster) -> dict[str, Callable[[], Outcome]]:
    """Command id -> what it does, in order. The node is cordoned once gangs have filled the racks."""
    steps: dict[str, Callable[[], Outcome]] = {}
    for gang in (*_WHOLE_NODES, *_OTHERS):
        steps[f"demo-{gang[1]}"] = partial(_submit, cluster, gang)
    steps["demo-cordon"] = partial(
        nodes.cordon, cluster=cluster, node=_CORDONED_LATER, actor=_ACTOR, command_id="demo-cordon"
    )
    steps[f"demo-{_LAST[1]}"] = partial(_submit, cluster, _LAST)
    for form in _NODE_TYPES:
        steps[f"demo-{form.name}"] = partial(
            node_types.define, cluster=cluster, form=form, actor=_ACTOR, command_id=f"demo-{form.name}"
        )
    return steps


def _submit(cluster: Cluster, gang: _Gang) -> Outcome:
    namespace, name, product, roles, policy, min_count, priority = gang
    templates = tuple(
        MemberTemplate(
            role,
            count,
            {"cpu": str(8 * gpus), "memory": f"{64 * gpus}Gi", GPU: str(gpus)},
            {PRODUCT: product},
        )
        for role, count, gpus in roles
    )
    form = WorkloadForm(namespace, name, policy, min_count, RACK, priority, templates)
    return workloads.submit(cluster=cluster, form=form, actor=_ACTOR, command_id=f"demo-{name}")


# ---------------------------------------------------------------- manifests


def _racks() -> Iterator[tuple[str, str, str, int, str]]:
    """(rack, zone, product, cpu, memory) of every rack."""
    for zone, racks, product, cpu, memory in _ZONES:
        for number in range(1, racks + 1):
            yield f"{zone}{number:02}", f"zone-{zone}", product, cpu, memory


def _nodes() -> Iterator[dict[str, Any]]:
    for rack, zone, product, cpu, memory in _racks():
        for number in range(1, _NODES_PER_RACK + 1):
            name = f"{product.lower()}-{rack}-{number:02}"
            labels = {"kubernetes.io/hostname": name, PRODUCT: product, ZONE: zone, RACK: rack}
            spec: dict[str, Any] = {}
            if name in _WITHOUT_RACK:
                del labels[RACK]
            if name in _CORDONED:
                spec["unschedulable"] = True
            if name in _TAINTED:
                spec["taints"] = [{"key": "maintenance", "value": "firmware", "effect": "NoSchedule"}]
            yield {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": spec,
                "status": {
                    "allocatable": {"cpu": str(cpu), "memory": memory, GPU: "8", "pods": "110"},
                    "conditions": [{"type": "Ready", "status": "False" if name in _NOT_READY else "True"}],
                    "nodeInfo": {"kubeletVersion": "v1.36.2"},
                },
            }


def _single_pods() -> Iterator[dict[str, Any]]:
    """Notebooks on every fourth A100 node: each leaves some of its GPUs free and no whole node."""
    for rack, _, product, _, _ in _racks():
        if product != "A100":
            continue
        for number in range(1, _NODES_PER_RACK, 4):
            gpus = 1 + (number + int(rack[1:])) % 4
            yield _pod("notebooks", f"notebook-{rack}-{number:02}", gpus, f"a100-{rack}-{number:02}")


def _held() -> list[dict[str, Any]]:
    """A gang of 4 of which 2 members exist."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"namespace": "research", "name": "ablation"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "schedulingConstraints": {"topology": [{"key": RACK}]},
        },
    }
    pods = [_pod("research", f"ablation-{number}", 2) for number in range(2)]
    for pod in pods:
        pod["spec"]["schedulingGroup"] = {"podGroupName": "ablation"}
    return [group, *pods]


def _pod(namespace: str, name: str, gpus: int, node: str = "") -> dict[str, Any]:
    requests = {"cpu": str(8 * gpus), "memory": f"{64 * gpus}Gi", GPU: str(gpus)}
    resources = {"requests": requests, "limits": {GPU: str(gpus)}}
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "none", "resources": resources}]}
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
        "status": {"phase": "Running" if node else "Pending"},
    }
