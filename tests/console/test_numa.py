"""NUMA zones on the pages: offered where some node tells them, listed as domains, in no page's way."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from scheduling.engine.numa_names import NUMA_KEY
from scheduling.models import Cluster
from scheduling.selectors import domains, nodes, rack_map
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from tests.console.support import GPU, RACK, dump, node, text
from tests.console.test_submit import at_field, form

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
LOOP = "example.com/cooling-loop"


def topology(name: str) -> dict[str, Any]:
    resources = [
        {"name": name, "capacity": amount, "allocatable": amount, "available": amount}
        for name, amount in (("cpu", "32"), (GPU, "4"))
    ]
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "zones": [{"name": f"node-{n}", "type": "Node", "resources": resources} for n in (0, 1)],
    }


def gang(name: str, members: int, key: str, gpus: int = 2) -> list[dict[str, Any]]:
    requests = {"cpu": "1", GPU: str(gpus)}
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": members}}}
    spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": spec,
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{n}", "namespace": "team-a"},
            "spec": {
                "schedulingGroup": {"podGroupName": name},
                "containers": [
                    {"name": "c", "image": "x", "resources": {"requests": requests, "limits": requests}}
                ],
            },
        }
        for n in range(members)
    ]
    return [group, *pods]


def labelled(made: dict[str, Any], **labels: str) -> dict[str, Any]:
    made["metadata"]["labels"] |= labels
    return made


def imported(*objects: dict[str, Any]) -> Cluster:
    import_cluster(name="demo", request=ImportRequest(dump(*objects), mode="simulated"), actor="test")
    made = Cluster.objects.get(name="demo")
    run_cycle(made.pk)
    made.refresh_from_db()
    return made


@pytest.fixture
def zoned(db: None) -> Cluster:
    """Node n1 of two zones of 4 GPUs, n2 that tells none; `fits` is in a zone of n1, `wide` fits none."""
    return imported(
        node("n1", "r1"),
        topology("n1"),
        node("n2", "r1"),
        *gang("fits", 2, NUMA_KEY),
        *gang("wide", 3, NUMA_KEY),
    )


def test_every_page_shows_the_zones_as_the_domains_that_they_are(viewer: Client, zoned: Cluster) -> None:
    table = text(viewer.get(f"/c/demo/domains/?key={NUMA_KEY}"))
    assert "n1/node-0" in table and "n1/node-1" in table and "n2/" not in table
    assert "1 node without zones" in table
    page = viewer.get(f"/c/demo/domains/n1/node-0?key={NUMA_KEY}")
    assert page.status_code == 200
    assert "team-a/fits" in text(page) and "4 / 4" in text(page)
    other = text(viewer.get(f"/c/demo/domains/n1/node-1?key={NUMA_KEY}"))
    assert "Nobody is here." in other and "0 / 4" in other
    assert viewer.get(f"/c/demo/domains/n1/node-7?key={NUMA_KEY}").status_code == 404
    assert viewer.get(f"/c/demo/domains/n9/node-0?key={NUMA_KEY}").status_code == 404


def test_the_map_shows_nodes_for_the_zones_and_leads_from_a_node_to_its_zones(
    viewer: Client, zoned: Cluster
) -> None:
    assert "under their key the map shows nodes" in text(viewer.get("/c/demo/map"))
    snapshot = rack_map.snapshot(zoned, NUMA_KEY)
    assert snapshot["domains"] == ["n1"] and snapshot["nodes"]["domain"] == [0, -1]
    assert snapshot["kpi"]["unlabelled"] == 1 and snapshot["kpi"]["largest"] == 4
    delta = rack_map.delta(zoned, NUMA_KEY, 0)
    assert delta is not None and [entry[2] for entry in delta["nodes"]] == ["n1", None]
    to_zones = viewer.get(f"/c/demo/domains/n1?key={NUMA_KEY}")
    assert to_zones.status_code == 302
    assert "2 domains" in text(viewer.get(to_zones["Location"]))


def test_keys_count_the_zones_and_the_nodes_list_knows_who_has_none(viewer: Client, zoned: Cluster) -> None:
    assert rack_map.topology_keys(zoned)[0] == {"key": NUMA_KEY, "domains": 2, "groups": 2}
    assert [row.name for row in nodes.page(zoned, state=f"unlabelled:{NUMA_KEY}").items] == ["n2"]
    assert f"/c/demo/domains/n1?key={NUMA_KEY}" in viewer.get("/c/demo/nodes/").content.decode()
    assert [row.domain for row in domains.table(zoned, NUMA_KEY)] == ["n1/node-0", "n1/node-1"]


def test_a_node_lists_its_zones_with_what_is_certain_to_be_free(viewer: Client, zoned: Cluster) -> None:
    page = text(viewer.get("/c/demo/nodes/n1"))
    assert "NUMA zones" in page and "n1/node-1" in page
    assert "NUMA zones" not in text(viewer.get("/c/demo/nodes/n2"))


def test_a_group_tells_its_zone_or_why_it_has_none(viewer: Client, zoned: Cluster) -> None:
    fits = text(viewer.get("/c/demo/podgroups/team-a/fits"))
    assert "in NUMA zone n1/node-0" in fits
    wide = text(viewer.get("/c/demo/podgroups/team-a/wide"))
    assert "No NUMA zone could hold 3 members, not even an empty one." in wide


def test_the_form_offers_zones_and_checks_where_it_would_land(operator: Client, zoned: Cluster) -> None:
    page = operator.get("/c/demo/submit").content.decode()
    assert f'<option value="{NUMA_KEY}">' in page and "cannot be asked for" not in page
    checked = operator.post("/c/demo/submit", form("check", topology_key=NUMA_KEY, **{"t0-gpu": "2"}))
    assert "2 of 2 members would be in NUMA zone n1/node-1" in text(checked)


def test_the_form_says_why_zones_cannot_be_asked_for(operator: Client, cluster: Cluster) -> None:
    page = operator.get("/c/demo/submit").content.decode()
    assert NUMA_KEY not in page and "no node tells its zones" in page
    refused = operator.post("/c/demo/submit", form("submit", topology_key=NUMA_KEY))
    assert refused.status_code == 422
    assert "no node tells its NUMA zones" in at_field(refused, "topology_key")


def test_groups_that_wait_for_zones_that_nobody_tells_break_no_page(viewer: Client, db: None) -> None:
    imported(node("n1", "r1"), *gang("g", 1, NUMA_KEY))
    for address in (
        "map",
        "map?view=table",
        "domains/",
        "nodes/",
        "pending",
        "podgroups/team-a/g",
        "history",
    ):
        assert viewer.get(f"/c/demo/{address}").status_code == 200
    said = text(viewer.get("/c/demo/podgroups/team-a/g"))
    assert "No node tells its NUMA zones" in said and "import NodeResourceTopology objects" in said


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (RACK, {"r1": 2, "r2": 1}),
        (HOSTNAME, {"n1": 1, "n2": 1, "n3": 1}),
        (ZONE, {"a": 3}),
        (LOOP, {"warm": 1, "cold": 1}),
    ],
)
def test_racks_hosts_zones_and_any_label_that_a_group_names_are_keys_side_by_side(
    operator: Client, db: None, key: str, expected: dict[str, int]
) -> None:
    made = imported(
        labelled(node("n1", "r1"), **{ZONE: "a", LOOP: "warm"}),
        labelled(node("n2", "r1"), **{ZONE: "a", LOOP: "cold"}),
        labelled(node("n3", "r2"), **{ZONE: "a"}),
        *gang("rack", 8, RACK),
        *gang("host", 2, HOSTNAME),
        *gang("loop", 1, LOOP),
    )
    assert {entry["key"] for entry in rack_map.topology_keys(made)} == {RACK, HOSTNAME, ZONE, LOOP}
    assert {row.domain: row.nodes for row in domains.table(made, key)} == expected
    snapshot = rack_map.snapshot(made, key)
    assert sorted(snapshot["domains"]) == sorted(expected)
    for value in expected:
        assert operator.get(f"/c/demo/domains/{value}?key={key}").status_code == 200
    assert f'<option value="{key}">' in operator.get("/c/demo/submit").content.decode()
    assert f'<option value="{key}"' in operator.get(f"/c/demo/map?key={key}").content.decode()
