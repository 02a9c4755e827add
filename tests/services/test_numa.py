"""NUMA zones from a dump to a decision: imported, diffed, asked for, kept with the placement, and told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.model import Node
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.requeue import Change, Kind
from scheduling.kube import manifests as kube
from scheduling.ledger import codec
from scheduling.ledger.events import (
    NodeAdded,
    NodeUpdated,
    PlacementForecast,
    PodGroupConflicted,
    PodGroupPlaced,
    PodGroupUnschedulable,
)
from scheduling.ledger.store import Recorded
from scheduling.models import Cluster, PodRow
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.cycles import run_cycle
from scheduling.services.problems import Refused
from scheduling.services.state import state_of
from scheduling.services.submitting import manifest_submission, submit_events
from scheduling.services.waking import changes_of
from scheduling.services.workloads import preview
from tests.services.builders import GPU, RACK, ZONE, form, gang, members, node, nodes_of, pod, stream, text

HOSTNAME = "kubernetes.io/hostname"


def topology(name: str, zones: int = 2, gpu: int = 4, cpu: str = "8") -> dict[str, Any]:
    def amount(resource: str, quantity: str) -> dict[str, str]:
        return {"name": resource, "capacity": quantity, "allocatable": quantity, "available": quantity}

    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "attributes": [{"name": "topologyManagerPolicy", "value": "single-numa-node"}],
        "zones": [
            {
                "name": f"node-{number}",
                "type": "Node",
                "resources": [amount("cpu", cpu), amount(GPU, str(gpu))],
            }
            for number in range(zones)
        ],
    }


def zoned(name: str, rack: str = "r1", **more: Any) -> list[dict[str, Any]]:
    return [node(name, rack, cpu="16", gpu=8, **more), topology(name)]


# ---------------------------------------------------------------- importing


def test_zones_come_with_their_node_and_the_same_dump_twice_writes_nothing() -> None:
    made = stream()
    plan = made.import_data(text(*zoned("a"), node("b")))
    assert plan.accepted == {"Node": 2, "NodeResourceTopology": 1}
    assert plan.added == {"Node": 2, "NodeResourceTopology": 1} and not plan.ignored
    assert [zone.name for zone in made.state.nodes["a"].zones] == ["node-0", "node-1"]
    again = made.import_data(text(*zoned("a"), node("b")))
    assert again.events == () and again.unchanged == {"Node": 2, "NodeResourceTopology": 1}


def test_only_zones_that_changed_are_written() -> None:
    made = stream(*zoned("a"), *zoned("b"))
    plan = made.import_data(text(topology("a"), topology("b", gpu=3)))
    (update,) = (event for event in plan.events if isinstance(event, NodeUpdated))
    assert update.name == "b" and [field for field, _ in update.changes] == ["zones"]
    assert plan.updated == plan.unchanged == {"NodeResourceTopology": 1}


def test_a_dump_of_nodes_alone_leaves_the_zones_as_they_are() -> None:
    made = stream(*zoned("a"))
    plan = made.import_data(text(node("a", cpu="16", gpu=8, unschedulable=True)), frozenset({"Node"}))
    (update,) = (event for event in plan.events if isinstance(event, NodeUpdated))
    assert update.changes == (("unschedulable", True),) and made.state.nodes["a"].zones


def test_zones_go_with_their_node_and_do_not_come_back_with_another_of_its_name() -> None:
    made = stream(*zoned("a", uid="u1"), node("b"))
    made.import_data(text(node("b")), frozenset({"Node"}))
    made.import_data(text(node("a", uid="u2")))
    assert made.state.nodes["a"].zones == ()


def test_zones_of_no_node_are_told_and_not_kept() -> None:
    made = stream(node("a"))
    plan = made.import_data(text(topology("x")))
    assert plan.events == ()
    assert [(say.name, say.path) for say in plan.notices] == [("x", "metadata.name")]
    assert "there is no node of this name" in plan.notices[0].message


def test_an_import_says_when_groups_ask_for_zones_that_nobody_tells() -> None:
    asking = [gang("g", 1, key=NUMA_KEY), pod("g-0", "g")]
    none, some = (
        MemoryStream().import_data(text(node("a"), *zones, *asking)).notices for zones in ([], zoned("b"))
    )
    assert [say.message for say in none] == [
        "PodGroups ask for one NUMA zone, but no node tells its NUMA zones: "
        "import NodeResourceTopology objects"
    ]
    assert [(say.name, say.message) for say in some] == [
        ("a", f"1 node tells no NUMA zones and belong to no domain of {NUMA_KEY}: a")
    ]


def test_nodes_without_zones_are_written_as_before_and_older_logs_read_the_same() -> None:
    plain = Node("n1", "u1", labels=((RACK, "r1"),), allocatable=(("cpu", 1000),))
    body = '{"node":{"allocatable":[["cpu",1000]],"labels":[["topology.example.com/rack","r1"]],"name":"n1","uid":"u1"}}'  # noqa: E501
    assert codec.encode(NodeAdded(plain)) == body
    assert codec.decode("NodeAdded", 1, body) == codec.decode("NodeAdded", 2, body) == NodeAdded(plain)
    cordoned = '{"changes":{"unschedulable":true},"name":"n1","uid":"u1"}'
    old = codec.decode("NodeUpdated", 1, cordoned)
    assert old == NodeUpdated("n1", "u1", (("unschedulable", True),))
    assert codec.encode(old) == cordoned


# ---------------------------------------------------------------- asking for zones


@pytest.mark.parametrize("zones", [False, True])
def test_the_form_is_refused_at_the_field_where_no_node_tells_its_zones(zones: bool) -> None:
    made = stream(*(zoned("a") if zones else [node("a")]))
    wanted = form(topology_key=NUMA_KEY)
    if zones:
        assert preview(made.state, wanted, made.now_ms).decision.domain == "a/node-0"
        return
    for ask in (submit_events, preview):
        with pytest.raises(Refused) as caught:
            ask(made.state, wanted, made.now_ms)
        (problem,) = caught.value.problems
        assert problem.path == "topology_key"
        assert problem.message == "no node tells its NUMA zones: import NodeResourceTopology objects"


def test_manifests_are_refused_too_and_hold_no_topologies() -> None:
    made = stream(node("a"))
    read = kube.read(text(gang("g", 1, key=NUMA_KEY), pod("g-0", "g"), topology("a")))
    with pytest.raises(Refused) as caught:
        manifest_submission(made.state, read, made.now_ms)
    assert [(bad.kind, bad.path) for bad in caught.value.problems] == [
        ("NodeResourceTopology", "kind"),
        ("PodGroup", "spec.schedulingConstraints.topology[0].key"),
    ]


def test_an_imported_group_waits_until_zones_are_told() -> None:
    made = stream(node("a", cpu="16", gpu=8), gang("g", 2, key=NUMA_KEY), *members("g", 2, gpu=2))
    (refused,) = made.settle()
    assert isinstance(refused, PodGroupUnschedulable) and refused.reason == "no_such_domain"
    made.import_data(text(topology("a")))
    (placed,) = made.settle()
    assert isinstance(placed, PodGroupPlaced) and placed.domain == "a/node-0"


def test_zones_that_come_back_wake_the_group_that_is_on_the_node() -> None:
    made = stream(*zoned("a"), gang("g", 2, key=NUMA_KEY), *members("g", 2, gpu=2))
    made.settle()
    node_now = made.state.nodes["a"]
    event = NodeUpdated.between(replace(node_now, zones=()), node_now)
    assert event is not None
    recorded = Recorded(1, made.state.seq, event, "tester", "c", None, 0, 0, b"", b"")
    assert Change(made.state.seq, Kind.GROUP, group="default/g") in list(changes_of(made.state, recorded))


# ---------------------------------------------------------------- placing


def test_a_placement_keeps_the_zone_and_the_next_group_finds_it_taken() -> None:
    made = stream(*zoned("a"), *(gang(g, 2, key=NUMA_KEY) for g in "xyz"))
    for group in "xyz":
        made.import_data(text(*members(group, 2, gpu=2)))
    events = made.settle()
    placed = {event.name: event.domain for event in events if isinstance(event, PodGroupPlaced)}
    assert placed == {"x": "a/node-0", "y": "a/node-1"}
    (refused,) = (event for event in events if isinstance(event, PodGroupUnschedulable))
    assert (refused.name, refused.verdict, refused.reason) == ("z", "proved_infeasible", "capacity")
    assert set(nodes_of(made, "x").values()) == {"a"}


def test_a_gang_that_a_node_holds_and_no_zone_does_waits_and_the_node_stays_free() -> None:
    made = stream(*zoned("a"), *zoned("b"), gang("g", 3, key=NUMA_KEY), *members("g", 3, gpu=2))
    (refused,) = made.settle()
    assert isinstance(refused, PodGroupUnschedulable)
    assert (refused.reason, refused.fits, refused.fits_across_domains) == ("never_fits", 2, True)
    assert set(nodes_of(made, "g").values()) == {""}


asked = st.tuples(st.sampled_from((RACK, HOSTNAME, ZONE, NUMA_KEY, "")), st.integers(1, 6), st.integers(1, 4))


@settings(max_examples=60, deadline=None)
@given(st.lists(asked, min_size=1, max_size=6))
def test_groups_of_different_keys_share_one_cycle_and_each_keeps_to_its_law(
    wanted: list[tuple[str, int, int]],
) -> None:
    made = stream(*zoned("a", "r1", zone="z1"), *zoned("b", "r1", zone="z2"), *zoned("c", "r2", zone="z2"))
    groups = {f"g{number}": ask for number, ask in enumerate(wanted)}
    for name, (key, count, gpu) in groups.items():
        made.import_data(text(gang(name, count, key=key), *members(name, count, gpu=gpu)))
    events = made.settle()
    placed = {event.name: event for event in events if isinstance(event, PodGroupPlaced)}
    refused = {event.name for event in events if isinstance(event, PodGroupUnschedulable)}
    assert placed.keys() | refused == groups.keys() and not placed.keys() & refused
    used: Counter[str] = Counter()
    for name, event in placed.items():
        key, count, gpu = groups[name]
        on = {node for _, _, node in event.assignments}
        assert len(event.assignments) == count
        if key == NUMA_KEY:
            assert {event.domain.partition("/")[0]} == on
            used[event.domain] += count * gpu
        elif key:
            assert {made.state.nodes[node].label(key) for node in on} == {event.domain}
    assert all(amount <= 4 for amount in used.values())
    assert all(made.state.free(node)[GPU] >= 0 for node in made.state.nodes)


def test_an_observed_cluster_is_told_the_zone_and_a_bound_gang_has_none_known() -> None:
    made = stream(
        *zoned("a"), gang("g", 2, key=NUMA_KEY), *members("g", 2, gpu=2),
        gang("h", 2, key=NUMA_KEY), pod("h-0", "h", on="a"), pod("h-1", "h"), mode="observed",
    )  # fmt: skip
    events = made.settle()
    (forecast,) = (event for event in events if isinstance(event, PlacementForecast))
    (conflict,) = (event for event in events if isinstance(event, PodGroupConflicted))
    assert forecast.domain == "a/node-0" and not made.state.zone_of
    assert (conflict.name, conflict.reason, conflict.nodes) == ("h", "domain_lost", ("a",))


def test_the_stored_tables_follow_zones_as_the_log_does(
    make: Callable[..., Cluster], tables_agree: Callable[[Cluster], None]
) -> None:
    cluster = make(*zoned("a"), *zoned("b"), gang("g", 2, key=NUMA_KEY), *members("g", 3, gpu=2))
    tables_agree(cluster)
    run_cycle(cluster.pk)
    tables_agree(cluster)
    assert set(PodRow.objects.values_list("name", "zone")) == {
        ("g-0", "a/node-0"),
        ("g-1", "a/node-0"),
        ("g-2", ""),
    }
    assert set(state_of(cluster).zone_of.values()) == {"a/node-0"}
