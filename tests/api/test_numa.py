"""NUMA zones in the API: imported with the nodes, read with them, asked for by their key or refused."""

from __future__ import annotations

from typing import Any

from scheduling.engine.numa_names import NUMA_KEY
from scheduling.models import Cluster
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.api.support import GPU, Caller, dump

FORM: dict[str, Any] = {
    "namespace": "team-a",
    "name": "new",
    "min_count": 2,
    "topology_key": NUMA_KEY,
    "templates": [{"role": "", "count": 2, "requests": {GPU: "2"}}],
}


def tell_zones(name: str) -> None:
    resources = [{"name": GPU, "capacity": "4", "allocatable": "4", "available": "4"}]
    topology = {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "zones": [{"name": f"node-{n}", "type": "Node", "resources": resources} for n in (0, 1)],
    }
    import_cluster(name="demo", request=ImportRequest(dump(topology), mode="simulated"), actor="test")


def test_a_group_of_one_zone_is_refused_until_a_node_tells_its_zones(
    cluster: Cluster, operator: Caller
) -> None:
    refused = operator("POST", "/clusters/demo/podgroups", FORM)
    assert refused.status_code == 422
    (problem,) = refused.json()["problems"]
    assert problem["path"] == "topology_key" and "import NodeResourceTopology objects" in problem["message"]
    assert operator("GET", "/clusters/demo/nodes/loose").json()["zones"] == []

    tell_zones("loose")

    assert operator("GET", "/clusters/demo/nodes/loose").json()["zones"] == [
        {"name": "node-0", "allocatable": {GPU: 4}},
        {"name": "node-1", "allocatable": {GPU: 4}},
    ]
    assert operator("POST", "/clusters/demo/podgroups", FORM).status_code in (200, 201)
    found = operator("GET", "/clusters/demo/podgroups/team-a/new/explanation").json()
    assert (found["verdict"], found["domain"]) == ("placed", "loose/node-0")
    told = operator("GET", f"/clusters/demo/map?key={NUMA_KEY}").json()
    assert told["domains"] == ["loose"] and {"key": NUMA_KEY, "domains": 2, "groups": 1} in told["keys"]
