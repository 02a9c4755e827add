"""The selectors behind pages and API: pages by key, states, domains, waiting groups."""

from __future__ import annotations

import pytest

from scheduling.models import Cluster, Event, NodeRow, PodGroupRow
from scheduling.selectors import clusters, domains, history, nodes, pending, pod_groups
from scheduling.selectors.event_search import Filters, search
from scheduling.services.clusters import ImportRequest, import_cluster, set_gate
from scheduling.services.cycles import run_cycle
from scheduling.services.nodes import cordon
from scheduling.services.workloads import end_group
from tests.console.support import RACK, dump, gang, node


@pytest.fixture
def cluster(db: None) -> Cluster:
    """Racks r1, r2 and r10 of two nodes each and one node of none; `fits` runs, `wide` and `vast` wait."""
    made = [node(f"n{rack}-{place}", f"r{rack}") for rack in (1, 2, 10) for place in (1, 2)]
    groups = [*gang("fits", 2), *gang("wide", 3), *gang("vast", 5, namespace="team-b")]
    request = ImportRequest(dump(*made, node("n0", None), *groups), mode="simulated")
    import_cluster(name="demo", request=request, actor="test")
    cluster = Cluster.objects.get(name="demo")
    run_cycle(cluster.pk)
    cluster.refresh_from_db()
    return cluster


def test_a_summary_counts_nodes_and_waiting_groups_in_one_query(
    cluster: Cluster, django_assert_num_queries: object
) -> None:
    import_cluster(name="other", request=ImportRequest(dump(node("a", "r")), mode="simulated"), actor="t")
    set_gate(cluster=cluster, gate="GangScheduling", enabled=False, actor="t")

    with django_assert_num_queries(1):  # type: ignore[operator]
        demo, other = clusters.summaries()

    assert (demo.nodes, demo.pending, demo.enforced) == (7, 2, False)
    assert (other.nodes, other.pending, other.enforced) == (1, 0, True)
    assert demo.seq == clusters.head(cluster)


def test_a_gate_that_the_cluster_does_not_name_is_off(cluster: Cluster) -> None:
    cluster.gates = {"GenericWorkload": True}

    assert clusters.off_gates(cluster) == ["GangScheduling", "TopologyAwareWorkloadScheduling"]
    assert not clusters.enforced(cluster)


def test_nodes_come_in_pages_by_name_that_join_without_gap_or_overlap(cluster: Cluster) -> None:
    seen, after = [], ""
    while True:
        page = nodes.page(cluster, after=after, limit=3)
        seen += [row.name for row in page.items]
        if not (after := page.next):
            break

    assert seen == sorted(row.name for row in NodeRow.objects.all())


def test_a_page_that_is_exactly_full_is_the_last_one(cluster: Cluster) -> None:
    page = nodes.page(cluster, limit=7)

    assert len(page.items) == 7
    assert page.next == ""


def test_nodes_by_state(cluster: Cluster) -> None:
    cordon(cluster=cluster, node="n1-1", actor="t")

    assert [row.name for row in nodes.page(cluster, state="cordoned").items] == ["n1-1"]
    assert "n1-1" not in [row.name for row in nodes.page(cluster, state="free").items]
    assert [row.name for row in nodes.page(cluster, state=f"unlabelled:{RACK}").items] == ["n0"]
    assert [row.name for row in nodes.page(cluster, label=f"{RACK}=r10").items] == ["n10-1", "n10-2"]
    assert len(nodes.page(cluster, label=RACK).items) == 6


def test_pods_on_a_node_are_those_bound_there(cluster: Cluster) -> None:
    holders = [row.name for row in NodeRow.objects.filter(gpus_used__gt=0)]

    found = [pod.name for name in holders for pod in nodes.pods_on(cluster, name)]
    assert sorted(found) == ["fits-0", "fits-1"]
    assert nodes.pods_on(cluster, "n0") == []


def test_pod_groups_by_status_namespace_and_name(cluster: Cluster) -> None:
    def keys(**filters: object) -> list[str]:
        return [row.key for row in pod_groups.page(cluster, **filters).items]  # type: ignore[arg-type]

    assert keys() == ["team-a/fits", "team-a/wide", "team-b/vast"]
    assert keys(status="pending") == ["team-a/wide", "team-b/vast"]
    assert keys(namespace="team-b") == ["team-b/vast"]
    assert keys(text="ID") == ["team-a/wide"]
    assert keys(closed=True) == []
    assert keys(after="team-a/fits/1") == ["team-a/wide", "team-b/vast"]
    assert pod_groups.namespaces(cluster) == ["team-a", "team-b"]


@pytest.mark.parametrize("after", ["x", "a/b/c", "a/b/1/2"])
def test_a_place_in_the_list_that_no_page_gave_is_an_error(after: str, cluster: Cluster) -> None:
    with pytest.raises(ValueError):
        pod_groups.page(cluster, after=after)


def test_the_current_generation_is_the_open_one_else_the_newest(cluster: Cluster) -> None:
    end_group(cluster=cluster, namespace="team-a", name="fits", actor="t")
    assert pod_groups.current(cluster, "team-a", "fits").closed

    import_cluster(name="demo", request=ImportRequest(dump(*gang("fits", 2))), actor="t")

    assert pod_groups.current(cluster, "team-a", "fits").generation == 2
    assert pod_groups.current(cluster, "team-a", "fits", 1).close_reason == "ended"
    assert [row.generation for row in pod_groups.generations(cluster, "team-a", "fits")] == [2, 1]
    with pytest.raises(PodGroupRow.DoesNotExist):
        pod_groups.current(cluster, "team-a", "none")


def test_waiting_groups_are_counted_by_reason_and_paged_with_the_time_of_their_decision(
    cluster: Cluster,
) -> None:
    first = pending.page(cluster, limit=1)
    second = pending.page(cluster, after=first.next, limit=1)

    assert pending.counts(cluster) == {"never_fits": 2}
    assert {row.key for row in (*first.items, *second.items)} == {"team-a/wide", "team-b/vast"}
    assert second.next == ""
    assert clusters.pending_count(cluster) == 2
    seqs = {row.decision_seq for row in (*first.items, *second.items)}
    assert set(pending.decided_at(cluster, [*first.items, *second.items])) == seqs


def test_domains_are_in_natural_order_and_count_only_what_can_be_used(cluster: Cluster) -> None:
    cordon(cluster=cluster, node="n10-1", actor="t")
    used = {row.name for row in NodeRow.objects.filter(gpus_used__gt=0)}

    table = {row.domain: row for row in domains.table(cluster, RACK)}

    assert list(table) == ["r1", "r2", "r10"]
    assert (table["r10"].nodes, table["r10"].usable_nodes) == (2, 1)
    assert (table["r10"].gpus_usable, table["r10"].whole_nodes) == (8, 1)
    full = next(row for row in table.values() if row.gpus_used)
    assert (full.gpus, full.gpus_used, full.gpus_free) == (16, 16, 0)
    assert (full.gpus_usable, full.whole_nodes) == (0, 0)
    assert {f"n{full.domain[1:]}-{place}" for place in (1, 2)} == used
    assert domains.unlabelled(cluster, RACK) == 1


def test_one_domain_summed_from_its_nodes_is_the_row_of_the_table(cluster: Cluster) -> None:
    cordon(cluster=cluster, node="n2-1", actor="t")

    for row in domains.table(cluster, RACK):
        assert domains.summed(row.domain, domains.nodes_of(cluster, RACK, row.domain)) == row


def test_an_empty_label_value_is_a_domain_of_its_own(cluster: Cluster) -> None:
    import_cluster(name="demo", request=ImportRequest(dump(node("odd", "x") | {}, _empty("odd2"))), actor="t")

    assert "" in [row.domain for row in domains.table(cluster, RACK)]
    assert [row.name for row in domains.nodes_of(cluster, RACK, "")] == ["odd2"]


def _empty(name: str) -> dict[str, object]:
    made = node(name, "x")
    made["metadata"]["labels"][RACK] = ""
    return made


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["rack-10", "rack-2", "rack-1"], ["rack-1", "rack-2", "rack-10"]),
        (["b", "a10b2", "a2b10", "10", "9"], ["9", "10", "a2b10", "a10b2", "b"]),
        (["", "a"], ["", "a"]),
    ],
)
def test_natural_order(names: list[str], ordered: list[str]) -> None:
    assert sorted(names, key=domains.natural) == ordered


def test_history_pages_meet_in_both_directions(cluster: Cluster) -> None:
    last = clusters.head(cluster)

    newest = search(cluster, Filters(), limit=4)
    older = search(cluster, Filters(), before=newest.next, limit=1000)
    oldest = search(cluster, Filters(), after=0, limit=3)

    assert [row.seq for row in newest.items + older.items] == list(range(last, 0, -1))
    assert older.next is None
    assert [row.seq for row in oldest.items] == [1, 2, 3]
    assert oldest.next == 3


def test_history_tells_what_an_event_led_to_and_what_it_covers(cluster: Cluster) -> None:
    placed = Event.objects.get(stream_id=cluster.pk, type="PodGroupPlaced")
    first, last = history.period(cluster)

    assert placed.cause is not None
    assert placed.seq in [row.seq for row in history.caused_by(cluster, placed.cause).items]
    assert first is not None and first.seq == 1
    assert last is not None and last.seq == clusters.head(cluster)
    assert {row.type for row in history.of_object(cluster, "podgroup", "team-a", "fits")} == {
        "PodGroupPlaced",
        "PodGroupCreated",
    }


def test_another_cluster_is_never_in_sight(cluster: Cluster) -> None:
    import_cluster(name="other", request=ImportRequest(dump(node("x", "r1")), mode="simulated"), actor="t")
    other = Cluster.objects.get(name="other")

    assert [row.name for row in nodes.page(other).items] == ["x"]
    assert pod_groups.page(other).items == []
    assert pending.counts(other) == {}
    assert [row.domain for row in domains.table(other, RACK)] == ["r1"]
    assert all(row.stream_id == other.pk for row in search(other, Filters()).items)


def test_where_a_group_runs_that_others_placed_is_told_from_its_nodes(db: None) -> None:
    made = [node(f"n{rack}-{place}", f"r{rack}") for rack in (1, 2) for place in (1, 2)]
    here, apart = gang("here", 2), gang("apart", 2)
    for pod, name in zip(here[1:] + apart[1:], ("n1-1", "n1-2", "n1-1", "n2-2"), strict=True):
        pod["spec"]["nodeName"] = name
    import_cluster(name="seen", request=ImportRequest(dump(*made, *here, *apart), mode="observed"), actor="t")
    cluster = Cluster.objects.get(name="seen")

    rows = pod_groups.page(cluster).items

    assert pod_groups.bound_domains(cluster, rows) == {"team-a/here": "r1"}
    assert pod_groups.bound_domains(cluster, []) == {}
