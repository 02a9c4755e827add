"""NodeResourceTopology objects: what of them is read, and what is refused with which sentence."""

import json
from typing import Any

import pytest

from scheduling.engine.model import NumaZone
from scheduling.kube.manifests import Manifests, read


def resource(name: str, allocatable: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "capacity": allocatable, "allocatable": allocatable, "available": "0"} | more


def zone(name: str, *resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "Node", "resources": list(resources)} | more


def topology(*zones: Any, version: str = "v1alpha2", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"topology.node.k8s.io/{version}",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "n1"},
        "attributes": [{"name": "topologyManagerPolicy", "value": "single-numa-node"}],
        "zones": list(zones),
    } | more


def read_all(*objects: dict[str, Any]) -> Manifests:
    return read(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def test_zones_of_type_node_are_read_with_what_is_allocatable_in_whole_units() -> None:
    found = read_all(
        topology(
            zone("node-1", resource("memory", "4Gi"), resource("cpu", "7500m", capacity="8")),
            zone("node-0", resource("nvidia.com/gpu", "4"), costs=[{"name": "node-1", "value": 20}]),
        )
    )
    assert not found.refused and not found.notices and not found.ignored
    (read_one,) = found.node_topologies
    assert read_one.node == "n1"
    assert read_one.zones == (
        NumaZone("node-0", (("nvidia.com/gpu", 4),)),
        NumaZone("node-1", (("cpu", 7500), ("memory", 1 << 32))),
    )


def test_the_older_version_with_bare_numbers_is_read_alike() -> None:
    older = topology(
        zone("node-0", {"name": "cpu", "capacity": 20, "allocatable": 10}),
        version="v1alpha1",
        attributes=None,
        topologyPolicies=["SingleNUMANodeContainerLevel"],
    )
    found = read_all(older)
    assert not found.refused and not found.notices
    assert found.node_topologies[0].zones == (NumaZone("node-0", (("cpu", 10_000),)),)


def test_sockets_and_cores_are_left_out_and_told() -> None:
    found = read_all(topology(zone("socket-0", type="Socket"), zone("node-0", resource("cpu", "1"))))
    assert [z.name for z in found.node_topologies[0].zones] == ["node-0"]
    assert [note.message for note in found.notices] == ["1 of another type than Node are not read"]


def test_without_zones_the_node_has_none() -> None:
    found = read_all(topology())
    assert found.node_topologies[0].zones == ()
    assert [note.path for note in found.notices] == ["zones"]


@pytest.mark.parametrize(
    ("more", "policy"),
    [
        ({"attributes": [{"name": "topologyManagerPolicy", "value": "restricted"}]}, "restricted"),
        ({"attributes": None, "topologyPolicies": ["BestEffort"]}, "BestEffort"),
        ({"attributes": [{"name": "other", "value": "x"}]}, "not told"),
    ],
)
def test_a_kubelet_that_does_not_keep_a_pod_in_one_zone_is_told(more: dict[str, Any], policy: str) -> None:
    (note,) = read_all(topology(zone("node-0", resource("cpu", "1")), **more)).notices
    assert f"policy is {policy}: only single-numa-node keeps a pod in one zone" in note.message


@pytest.mark.parametrize(
    ("bad", "path", "message"),
    [
        (topology(zones="x"), "zones", 'must be a list, not "x"'),
        (topology("x"), "zones[0]", 'must be an object, not "x"'),
        (topology(zone("")), "zones[0].name", "must be given"),
        (topology(zone("a/b")), "zones[0].name", "must consist of"),
        (topology(zone("node-0"), zone("node-0")), "zones[1].name", "is there twice"),
        (topology(zone("node-0", {"name": "cpu"})), "zones[0].resources[0].allocatable", "must be given"),
        (
            topology(zone("node-0", resource("cpu", "many"))),
            "zones[0].resources[0].allocatable",
            '"many" must be a quantity',
        ),
        (
            topology(zone("node-0", resource("cpu", "-1"))),
            "zones[0].resources[0].allocatable",
            '"-1" must not be negative',
        ),
        (
            topology(zone("node-0", resource("nvidia.com/gpu", "0.5"))),
            "zones[0].resources[0].allocatable",
            "must be a whole number",
        ),
        (topology(zone("node-0", resource("", "1"))), "zones[0].resources[0].name", "must be given"),
        (
            topology(zone("node-0", resource("cpu", "1"), resource("cpu", "2"))),
            "zones[0].resources[1].name",
            "cpu is there twice in zone node-0",
        ),
        (topology(metadata={"name": "N_1"}), "metadata.name", "must consist of"),
        (topology(metadata={"name": "n1", "namespace": "x"}), "metadata.namespace", "has no namespace"),
        (topology(version="v1"), "apiVersion", "no NodeResourceTopology of version v1"),
        (topology() | {"kind": "noderesourcetopology"}, "kind", "NodeResourceTopology is written so"),
    ],
)
def test_a_bad_object_is_refused_by_its_field(bad: dict[str, Any], path: str, message: str) -> None:
    found = read_all(bad)
    assert not found.node_topologies
    (refusal,) = found.refused
    assert refusal.path == path and message in refusal.message


def test_the_same_node_is_told_once() -> None:
    found = read_all(topology(), topology())
    assert len(found.node_topologies) == 1 and found.refused[0].reason == "FieldValueDuplicate"
