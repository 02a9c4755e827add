"""The rack map: snapshot and deltas tell the same, of one moment, in few queries."""

import json
import threading
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from scheduling.models import Cluster, NodeRow, PodGroupRow, TableHead
from scheduling.selectors import rack_map
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from scheduling.services.nodes import cordon, uncordon
from scheduling.services.workloads import end_group
from tests.api.support import RACK, dump, gang, node

HOSTNAME = "kubernetes.io/hostname"


def imported(*objects: dict[str, Any], **options: Any) -> Cluster:
    request = ImportRequest(data=dump(*objects), mode="simulated", gates=None, **options)
    import_cluster(name="demo", request=request, actor="test")
    return Cluster.objects.get(name="demo")


@pytest.fixture
def cluster(db: None) -> Cluster:
    """Racks 2 and 10 of two nodes each, a node without rack; a gang placed, one that waits."""
    made = imported(
        *(node(f"node-{rack}-{place}", f"rack-{rack}") for rack in (10, 2) for place in (1, 2)),
        node("loose", None, gpus=4),
        *gang("fits", 2),
        *gang("wide", 3),
    )
    run_cycle(made.pk)
    return made


def by_name(snapshot: rack_map.Snapshot) -> dict[str, tuple[Any, ...]]:
    """Per node: index, domain, state, GPUs, runs as (group, gpus)."""
    columns = snapshot["nodes"]
    nodes: dict[str, tuple[Any, ...]] = {}
    at = 0
    for row, name in enumerate(columns["name"]):
        count, at = columns["owners"][at], at + 1
        flat = columns["owners"][at : at + 2 * count]
        at += 2 * count
        runs = [
            (snapshot["groups"][group] if group >= 0 else "", gpus)
            for group, gpus in zip(flat[::2], flat[1::2], strict=True)
        ]
        domain = columns["domain"][row]
        nodes[name] = (
            columns["index"][row],
            snapshot["domains"][domain] if domain >= 0 else None,
            columns["state"][row],
            columns["gpus"][row],
            runs,
        )
    assert at == len(columns["owners"])
    return nodes


def patched(nodes: dict[str, tuple[Any, ...]], delta: rack_map.Delta) -> dict[str, tuple[Any, ...]]:
    """What a browser makes of a snapshot and a delta."""
    result = dict(nodes)
    for index, name, domain, state, gpus, *runs in delta["nodes"]:
        if state & rack_map.REMOVED:
            result.pop(name, None)
        else:
            named = [(delta["groups"][group] if group >= 0 else "", amount) for group, amount in runs]
            result[name] = (index, domain, state, gpus, named)
    return result


def test_a_snapshot_has_domains_in_natural_order_and_says_who_holds_which_gpus(cluster: Cluster) -> None:
    snapshot = rack_map.snapshot(cluster, RACK)
    assert snapshot["domains"] == ["rack-2", "rack-10"]
    nodes = by_name(snapshot)
    assert nodes["loose"] == (4, None, 0, 4, [])
    held = {name: runs for name, (*_, runs) in nodes.items() if runs}
    assert list(held.values()) == [[("team-a/fits", 8)], [("team-a/fits", 8)]]
    assert len({nodes[name][1] for name in held}) == 1


def test_the_headline_numbers_count_usable_free_gpus_of_one_domain(cluster: Cluster) -> None:
    assert rack_map.snapshot(cluster, RACK)["kpi"] == {
        "nodes": 5,
        "gpus": 36,
        "gpus_used": 16,
        "pending": 1,
        "unlabelled": 1,
        "largest": 16,
        "domains_64": 0,
    }
    empty = next(
        n
        for n, (_, domain, *_, runs) in by_name(rack_map.snapshot(cluster, RACK)).items()
        if domain and not runs
    )
    cordon(cluster=cluster, node=empty, actor="test")
    assert rack_map.kpi(cluster, RACK)["largest"] == 8


def test_without_a_key_it_is_the_one_that_pod_groups_name(cluster: Cluster) -> None:
    snapshot = rack_map.snapshot(cluster)
    assert snapshot["key"] == RACK
    assert snapshot["keys"] == [
        {"key": RACK, "domains": 2, "groups": 2},
        {"key": HOSTNAME, "domains": 5, "groups": 0},
    ]
    assert rack_map.default_key(cluster) == RACK


def test_a_key_that_no_node_carries_leaves_every_node_unlabelled(cluster: Cluster) -> None:
    snapshot = rack_map.snapshot(cluster, "nobody.example.com/has-it")
    assert snapshot["domains"] == []
    assert {domain for _, domain, *_ in by_name(snapshot).values()} == {None}
    assert snapshot["kpi"]["unlabelled"] == 5


def test_a_key_made_of_digits_is_a_label_like_any_other(db: None) -> None:
    odd = node("n", None)
    odd["metadata"]["labels"]["7"] = "seven"
    cluster = imported(odd)
    assert rack_map.snapshot(cluster, "7")["domains"] == ["seven"]
    delta = rack_map.delta(cluster, "7", 0)
    assert delta is not None and delta["nodes"][0][2] == "seven"
    assert rack_map.kpi(cluster, "7")["unlabelled"] == 0


def test_cordoned_not_ready_and_tainted_nodes_say_so(db: None) -> None:
    def with_taint(name: str, key: str, effect: str) -> dict[str, Any]:
        made = node(name, "rack-1")
        made["spec"] = {"taints": [{"key": key, "effect": effect}]}
        return made

    down = node("down", "rack-1")
    down["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    closed = with_taint("closed", "node.kubernetes.io/unschedulable", "NoSchedule")
    closed["spec"]["unschedulable"] = True
    cluster = imported(
        down,
        closed,
        with_taint("tainted", "nvidia.com/gpu", "NoSchedule"),
        with_taint("preferred", "team", "PreferNoSchedule"),
    )
    states = {name: state for name, (_, _, state, *_) in by_name(rack_map.snapshot(cluster, RACK)).items()}
    assert states == {
        "down": rack_map.NOT_READY,
        "closed": rack_map.CORDONED,
        "tainted": rack_map.TAINTED,
        "preferred": 0,
    }
    assert rack_map.kpi(cluster, RACK)["largest"] == 16


def test_a_delta_has_only_what_changed_and_ends_at_the_head(cluster: Cluster) -> None:
    before = rack_map.snapshot(cluster, RACK)
    cordon(cluster=cluster, node="node-2-1", actor="test")
    delta = rack_map.delta(cluster, RACK, before["seq"])
    assert delta is not None
    assert [row[1] for row in delta["nodes"]] == ["node-2-1"]
    assert (delta["from"], delta["to"]) == (before["seq"], rack_map.head(cluster)[1])
    assert delta["epoch"] == before["epoch"]
    after = rack_map.snapshot(cluster, RACK)
    assert patched(by_name(before), delta) == by_name(after)
    assert delta["kpi"] == after["kpi"]


def test_a_delta_of_removed_relabelled_and_new_nodes_leads_to_the_new_snapshot(cluster: Cluster) -> None:
    before = rack_map.snapshot(cluster, RACK)
    moved = node("node-2-1", "rack-99")
    imported(
        moved,
        node("node-10-1", "rack-10"),
        node("node-10-2", "rack-10"),
        node("fresh", "rack-1"),
        complete=frozenset({"Node"}),
    )
    delta = rack_map.delta(cluster, RACK, before["seq"])
    assert delta is not None
    assert patched(by_name(before), delta) == by_name(rack_map.snapshot(cluster, RACK))
    assert {row[1] for row in delta["nodes"] if row[3] & rack_map.REMOVED} == {"node-2-2", "loose"}


def test_nothing_new_is_an_empty_delta_and_a_number_ahead_of_the_log_is_refused(cluster: Cluster) -> None:
    seq = rack_map.head(cluster)[1]
    delta = rack_map.delta(cluster, RACK, seq)
    assert delta is not None and delta["nodes"] == [] and delta["to"] == seq
    assert rack_map.delta(cluster, RACK, seq + 1) is None


def test_answers_can_be_written_as_json(cluster: Cluster) -> None:
    snapshot, delta = rack_map.snapshot(cluster), rack_map.delta(cluster, RACK, 0)
    assert json.loads(orjson.dumps(snapshot)) == snapshot
    assert json.loads(orjson.dumps(delta)) == delta


@pytest.mark.parametrize("count", [3, 60])
def test_the_number_of_queries_does_not_grow_with_the_nodes(db: None, count: int) -> None:
    cluster = imported(*(node(f"n-{i}", f"rack-{i % 7}") for i in range(count)))
    with CaptureQueriesContext(
        connection,
    ) as snapshot:
        rack_map.snapshot(cluster, RACK)
    with CaptureQueriesContext(connection) as delta:
        rack_map.delta(cluster, RACK, 0)
    # Beside the reads: SAVEPOINT and RELEASE, since the test itself runs in a transaction; and whether room
    # was ever held, in the table of events or in archives, and for a delta what was held or released since.
    assert (len(snapshot), len(delta)) == (5 + 2 + 2, 4 + 2 + 3)


@pytest.mark.django_db(transaction=True)
def test_snapshot_and_its_number_are_of_one_moment() -> None:
    """A commit between two reads of one answer must not show in the second."""
    cluster = imported(node("a", "rack-1"), node("b", "rack-1"))
    seq = rack_map.head(cluster)[1]

    def commit() -> None:
        try:
            cordon(cluster=cluster, node="a", actor="test")
        finally:
            connection.close()

    with rack_map.one_moment():
        assert rack_map.head(cluster)[1] == seq
        other = threading.Thread(target=commit)
        other.start()
        other.join()
        assert by_name(rack_map.snapshot(cluster, RACK))["a"][2] == 0
        assert rack_map.head(cluster)[1] == seq
    assert rack_map.head(cluster)[1] == seq + 1
    assert by_name(rack_map.snapshot(cluster, RACK))["a"][2] == rack_map.CORDONED


STEPS = st.lists(
    st.tuples(st.sampled_from(["cordon", "uncordon", "cycle", "end"]), st.integers(0, 3)), max_size=8
)


class Histories(TestCase):
    """Any history, cut anywhere: snapshot then + deltas = snapshot now."""

    @settings(max_examples=15, deadline=None)
    @given(steps=STEPS, cut=st.integers(0, 8))
    def test_a_snapshot_patched_by_deltas_is_the_snapshot_of_the_end(
        self, steps: list[tuple[str, int]], cut: int
    ) -> None:
        cluster = imported(
            *(node(f"node-{n}", f"rack-{n % 2}") for n in range(4)), *gang("one", 2), *gang("two", 1)
        )
        shown = None
        seq = 0
        for place, (step, number) in enumerate([*steps, ("cycle", 0)]):
            if place == min(cut, len(steps)):
                taken = rack_map.snapshot(cluster, RACK)
                shown, seq = by_name(taken), taken["seq"]
            name = f"node-{number}"
            marked = NodeRow.objects.get(cluster=cluster, name=name).unschedulable
            if step == "cordon" and not marked:
                cordon(cluster=cluster, node=name, actor="test")
            elif step == "uncordon" and marked:
                uncordon(cluster=cluster, node=name, actor="test")
            elif step == "cycle":
                run_cycle(cluster.pk)
            elif (
                step == "end"
                and PodGroupRow.objects.filter(cluster=cluster, name="two", closed=False).exists()
            ):
                end_group(cluster=cluster, namespace="team-a", name="two", actor="test")
            if shown is not None:
                delta = rack_map.delta(cluster, RACK, seq)
                assert delta is not None and delta["from"] == seq
                shown, seq = patched(shown, delta), delta["to"]
        assert shown == by_name(rack_map.snapshot(cluster, RACK))
        assert seq == TableHead.objects.get(stream_id=cluster.pk, name="nodes").seq
