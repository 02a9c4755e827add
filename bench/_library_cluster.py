"""A cluster as an aggregate of the `eventsourcing` package; imported only where the package is there."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from eventsourcing.domain import Aggregate

Body = dict[str, Any]


class Cluster(Aggregate):
    """``used``: by node and resource."""

    def __init__(self) -> None:
        self.nodes: dict[str, Body] = {}
        self.used: dict[str, dict[str, int]] = {}
        self.groups: dict[str, Body] = {}
        self.members: dict[str, dict[str, None]] = {}
        self.pods: dict[str, Body] = {}
        self.verdicts: dict[str, tuple[Any, ...]] = {}

    class Told(Aggregate.Event):
        body: Body

    class Nothing(Told):
        """An event that the state does not depend on."""

    class NodeAdded(Told):
        def apply(self, aggregate: "Cluster") -> None:
            node = self.body["node"]
            aggregate.nodes[node["name"]] = node
            aggregate.used.setdefault(node["name"], {})

    class NodeUpdated(Told):
        def apply(self, aggregate: "Cluster") -> None:
            aggregate.nodes[self.body["name"]] |= self.body["changes"]

    class PodGroupCreated(Told):
        def apply(self, aggregate: "Cluster") -> None:
            group = self.body["group"]
            aggregate.groups[f"{group['namespace']}/{group['name']}"] = group

    class PodGroupClosed(Told):
        def apply(self, aggregate: "Cluster") -> None:
            key = f"{self.body['namespace']}/{self.body['name']}"
            aggregate.groups.pop(key, None)
            aggregate.verdicts.pop(key, None)

    class PodAdded(Told):
        def apply(self, aggregate: "Cluster") -> None:
            pod = self.body["pod"]
            aggregate.pods[pod["uid"]] = pod
            aggregate.members.setdefault(f"{pod['namespace']}/{pod.get('group', '')}", {})[pod["uid"]] = None

    class PodUpdated(Told):
        def apply(self, aggregate: "Cluster") -> None:
            aggregate.pods[self.body["uid"]] |= self.body["changes"]

    class PodRemoved(Told):
        def apply(self, aggregate: "Cluster") -> None:
            pod = aggregate.pods.pop(self.body["uid"])
            key = f"{pod['namespace']}/{pod.get('group', '')}"
            members = aggregate.members[key]
            del members[pod["uid"]]
            if not members:
                del aggregate.members[key]
            if pod.get("node"):
                aggregate.charge(pod["node"], pod, -1)

    class PodGroupPlaced(Told):
        def apply(self, aggregate: "Cluster") -> None:
            body = self.body
            for uid, _, node in body["assignments"]:
                pod = aggregate.pods[uid]
                pod["node"] = node
                aggregate.charge(node, pod, 1)
            key = f"{body['namespace']}/{body['name']}"
            aggregate.verdicts[key] = ("placed", "", body["domain"], body["fits"], body["need"])

    class PodGroupUnschedulable(Told):
        def apply(self, aggregate: "Cluster") -> None:
            body = self.body
            key = f"{body['namespace']}/{body['name']}"
            aggregate.verdicts[key] = (
                body["verdict"], body["reason"], body["domain"], body["fits"], body["need"],
            )  # fmt: skip

    def charge(self, node: str, pod: Body, pods: int) -> None:
        used = self.used.setdefault(node, {})
        for resource, amount in pod["shape"]["requests"]:
            used[resource] = used.get(resource, 0) + pods * amount


KINDS: dict[str, Callable[..., Any]] = {
    "ClusterRegistered": Cluster.Nothing,
    "SnapshotImported": Cluster.Nothing,
    "NodeAdded": Cluster.NodeAdded,
    "NodeUpdated": Cluster.NodeUpdated,
    "PodGroupCreated": Cluster.PodGroupCreated,
    "PodGroupClosed": Cluster.PodGroupClosed,
    "PodAdded": Cluster.PodAdded,
    "PodUpdated": Cluster.PodUpdated,
    "PodRemoved": Cluster.PodRemoved,
    "PodGroupPlaced": Cluster.PodGroupPlaced,
    "PodGroupUnschedulable": Cluster.PodGroupUnschedulable,
}


def stands(cluster: Any) -> tuple[int, int, int, UUID]:
    """How many nodes, groups and pods there are, to be compared with our state of the same events."""
    return len(cluster.nodes), len(cluster.groups), len(cluster.pods), cluster.id
