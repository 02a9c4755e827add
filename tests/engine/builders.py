"""Short ways to write clusters down: racks of nodes, pods, gangs. Amounts are whole units, cpu in
milli-cores.
"""

from collections.abc import Iterable
from typing import Any

from scheduling.engine.model import TAS_GATES, Eligibility, Node, Pod, PodGroup, Shape, Taint
from scheduling.engine.state import ClusterState

RACK = "topology.example.com/rack"
ZONE = "topology.example.com/zone"
GPU = "nvidia.com/gpu"

DEVICE_TAINT = Taint("dedicated", "training", "NoSchedule")


def node(
    name: str,
    rack: str | None = "r1",
    *,
    cpu: int = 8000,
    pods: int = 110,
    gpu: int | None = None,
    **more: Any,
) -> Node:
    """A node in a rack (None: without the label). ``more``: fields of Node, and ``labels`` beyond the
    rack.
    """
    labels = dict(more.pop("labels", {}))
    if rack is not None:
        labels[RACK] = rack
    amounts = {"cpu": cpu, "pods": pods, **({GPU: gpu} if gpu is not None else {})}
    more.setdefault("uid", f"node-{name}")
    return Node(
        name=name, labels=tuple(sorted(labels.items())), allocatable=tuple(sorted(amounts.items())), **more
    )


def shape(
    *, cpu: int = 0, gpu: int = 0, eligibility: Eligibility | None = None, unmodelled: tuple[str, ...] = ()
) -> Shape:
    amounts = {"cpu": cpu, GPU: gpu, "pods": 1}
    return Shape(
        tuple((name, amount) for name, amount in sorted(amounts.items()) if amount),
        eligibility or Eligibility(),
        unmodelled,
    )


def pod(name: str, group: str = "", *, cpu: int = 1000, gpu: int = 0, **more: Any) -> Pod:
    """A pod of namespace ``ml``; ``more``: fields of Pod, and ``eligibility`` and ``unmodelled`` of its
    shape.
    """
    what = shape(
        cpu=cpu, gpu=gpu, eligibility=more.pop("eligibility", None), unmodelled=more.pop("unmodelled", ())
    )
    more.setdefault("uid", f"pod-{name}")
    more.setdefault("phase", "Running" if more.get("node") else "Pending")
    return Pod(namespace="ml", name=name, shape=more.pop("shape", what), group=group, **more)


def members(group: str, count: int, **more: Any) -> list[Pod]:
    return [pod(f"{group}-{number}", group, **more) for number in range(count)]


def gang(name: str, min_count: int, key: str = RACK, **more: Any) -> PodGroup:
    more.setdefault("uid", f"group-{name}")
    return PodGroup(namespace="ml", name=name, min_count=min_count, topology_key=key, **more)


def basic(name: str, key: str = RACK) -> PodGroup:
    return gang(name, 1, key, policy="basic")


def cluster(
    *objects: Node | Pod | PodGroup | Iterable[Node | Pod | PodGroup], gates: bool = True
) -> ClusterState:
    """A state with these objects, added in this order."""
    state = ClusterState()
    for gate in TAS_GATES:
        state.set_gate(gate, gates)
    for entry in objects:
        for thing in [entry] if isinstance(entry, Node | Pod | PodGroup) else entry:
            add(state, thing)
    return state


def add(state: ClusterState, thing: Node | Pod | PodGroup) -> None:
    if isinstance(thing, Node):
        state.set_node(thing)
    elif isinstance(thing, Pod):
        state.set_pod(thing)
    else:
        state.set_group(thing)


def nodes_of(decision: Any) -> dict[str, str]:
    """pod uid -> node of a decision's assignment."""
    return dict(decision.assignments)
