"""Clusters, gangs and traffic that the engine's bench decides on: racks of 8-GPU nodes, about half used."""

from random import Random

from scheduling.engine.model import TAS_GATES, Node, Pod, PodGroup, Shape
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState

RACK = "topology.example.com/rack"
GPU = "nvidia.com/gpu"
GIB = 1 << 30
NODE = (("cpu", 96_000), ("memory", 768 * GIB), (GPU, 8), ("pods", 110))


def shape(gpus: int, cpu: int, gib: int) -> Shape:
    amounts = {"cpu": cpu, "memory": gib * GIB, GPU: gpus, "pods": 1}
    return Shape(tuple(sorted((resource, amount) for resource, amount in amounts.items() if amount)))


class Traffic:
    """A cluster in which other people's pods come and go. ``used``: share of GPUs that they hold."""

    def __init__(self, nodes: int, rack: int, *, seed: int, used: float = 0.5) -> None:
        self.random = Random(seed)
        self.used = used
        self.rack = rack
        self.racks = nodes // rack
        self.state = ClusterState()
        for gate in TAS_GATES:
            self.state.set_gate(gate, True)
        for number in range(self.racks * rack):
            labels = ((RACK, f"rack-{number // rack:05}"),)
            self.state.set_node(Node(f"node-{number:06}", f"node-{number}", labels, allocatable=NODE))
            self.occupy(number)

    def occupy(self, node: int) -> None:
        """The pod of other people on a node ends, another takes its place."""
        gpus = sum(self.random.random() < self.used for _ in range(8))
        asked = shape(gpus, self.random.randint(4, 12) * 1000 * gpus, self.random.randint(32, 96) * gpus)
        name = f"other-{node}"
        self.state.set_pod(Pod("other", name, name, asked, node=f"node-{node:06}", phase="Running"))

    def change(self, share: float) -> None:
        """One node of each of so many racks, drawn anew, gets another pod."""
        for rack in self.random.sample(range(self.racks), max(1, round(self.racks * share))):
            self.occupy(rack * self.rack + self.random.randrange(self.rack))

    def gangs(self, shapes: int, members: int) -> list[str]:
        """Keys of waiting gangs, each of another shape of one GPU; their rosters are sorted out, as the queue
        of a cycle does before it decides.
        """
        keys = []
        for number in range(shapes):
            name = f"gang-{shapes}-{members}-{number}"
            asked = shape(1, 4000 + 50 * number, 32 + number % 48)
            self.state.set_group(PodGroup("bench", name, name, min_count=members, topology_key=RACK))
            for member in range(members):
                pod = f"{name}-{member}"
                self.state.set_pod(Pod("bench", pod, pod, asked, group=name))
            keys.append(f"bench/{name}")
            roster(self.state, keys[-1])
        return keys
