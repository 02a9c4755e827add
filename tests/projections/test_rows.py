"""What pages read of clusters, nodes, pods and PodGroups after each kind of event."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from django.db import transaction

from scheduling.engine.model import Node, Pod, PodGroup, Shape
from scheduling.ledger import events as e
from scheduling.ledger import store
from scheduling.models import Cluster, NodeRow, PodGroupRow
from tests.ledger.examples import EXAMPLES, RACK
from tests.projections.conftest import START, Written

SHAPE = Shape((("cpu", 1_000), ("nvidia.com/gpu", 2), ("pods", 1)))
GANG = PodGroup("ml", "train", "group-1", "gang", 2, RACK)
UNSCHEDULABLE = next(event for event in EXAMPLES if isinstance(event, e.PodGroupUnschedulable))
PLACED = next(event for event in EXAMPLES if isinstance(event, e.PodGroupPlaced))


def moment(seconds: int) -> datetime:
    """Of the commit so many after the registration."""
    return datetime.fromtimestamp(START // 1000, UTC) + timedelta(seconds=seconds)


def node(name: str, rack: str = "r1") -> Node:
    return Node(
        name, f"uid-{name}", ((RACK, rack),), allocatable=(("cpu", 8_000), ("nvidia.com/gpu", 8), ("pods", 9))
    )


def member(number: int, on: str = "", group: str = "train") -> Pod:
    return Pod("ml", f"train-{number}", f"pod-{number}", SHAPE, on, group)


def placed(*assignments: tuple[str, str, str]) -> e.PodGroupPlaced:
    return replace(
        PLACED, uid="group-1", need=2, members=2, fits=len(assignments), assignments=assignments, shapes=()
    )


def test_a_cluster_has_what_its_events_say(cluster: Written) -> None:
    row = Cluster.objects.get()
    assert (row.pk, row.name, row.mode, row.kubernetes_version) == (
        cluster.stream,
        "demo",
        "simulated",
        "v1.36.2",
    )
    assert (row.created_at, row.last_import_at, row.last_cycle_seq) == (moment(0), None, 0)
    cluster.commit(e.ClusterModeChanged("observed"), e.FeatureGateChanged("GangScheduling", False))
    cluster.commit(e.SnapshotImported("", (), (), ()))
    row.refresh_from_db()
    assert (row.mode, row.gates["GangScheduling"], row.last_import_at) == ("observed", False, moment(2))


def test_the_progress_of_cycles_is_not_the_projections_business(cluster: Written) -> None:
    Cluster.objects.update(last_cycle_seq=1, last_cycle_at=moment(5))
    cluster.commit(e.ClusterModeChanged("observed"))
    row = Cluster.objects.get()
    assert (row.last_cycle_seq, row.last_cycle_at) == (1, moment(5))


def test_nodes_are_numbered_as_they_appear_and_keep_their_number(cluster: Written) -> None:
    cluster.commit(e.NodeAdded(node("b")), e.NodeAdded(node("a")))
    cluster.commit(e.NodeRemoved("b", "uid-b"))
    cluster.commit(e.NodeAdded(node("c")))
    seq = cluster.commit(e.NodeAdded(replace(node("b"), uid="uid-again")))
    assert list(NodeRow.objects.order_by("index").values_list("name", flat=True)) == ["b", "a", "c"]
    row = cluster.node("b")
    assert (row.uid, row.removed, row.since_seq, row.changed_seq) == ("uid-again", False, seq, seq)


def test_a_node_shows_who_holds_what_on_it(cluster: Written) -> None:
    cluster.commit(e.NodeAdded(node("n1")), e.PodGroupCreated(GANG))
    cluster.commit(
        e.PodAdded(member(0, on="n1")),
        e.PodAdded(member(1, on="n1")),
        e.PodAdded(member(2, on="n1", group="")),
        e.PodAdded(replace(member(3, on="n1"), phase="Succeeded")),
        e.PodAdded(replace(member(4, on="n1"), terminating=True)),
        e.PodAdded(member(5)),
    )
    row = cluster.node("n1")
    assert row.occupants == [["", 1, 2], ["ml/train", 3, 6]]
    assert row.used == {"cpu": 4_000, "nvidia.com/gpu": 8, "pods": 4}
    assert (row.gpus, row.gpus_used) == (8, 8)


def test_gpus_are_counted_whoever_made_them(cluster: Written) -> None:
    cluster.commit(
        e.NodeAdded(Node("n1", "u", allocatable=(("amd.com/gpu", 4), ("nvidia.com/gpu", 2), ("pods", 9))))
    )
    assert cluster.node("n1").gpus == 6


def test_pods_on_a_node_before_it_is_known_count_when_it_comes(cluster: Written) -> None:
    cluster.commit(e.PodAdded(member(0, on="n1", group="")))
    cluster.commit(e.NodeAdded(node("n1")))
    assert cluster.node("n1").occupants == [["", 1, 2]]


def test_a_pod_that_moves_leaves_one_node_and_comes_to_the_other(cluster: Written) -> None:
    cluster.commit(e.NodeAdded(node("n1")), e.NodeAdded(node("n2")), e.PodAdded(member(0, on="n1")))
    cluster.commit(e.PodUpdated("ml", "train-0", "pod-0", (("node", "n2"),)))
    assert (cluster.node("n1").occupants, cluster.node("n2").occupants) == ([], [["ml/train", 1, 2]])


def test_a_row_that_an_event_does_not_change_keeps_its_seq(cluster: Written) -> None:
    seq = cluster.commit(e.NodeAdded(node("n1")), e.PodAdded(member(0, on="n1")))
    cluster.commit(e.PodUpdated("ml", "train-0", "pod-0", (("labels", (("a", "b"),)),)))
    assert cluster.node("n1").changed_seq == cluster.pod("pod-0").changed_seq == seq
    changed = cluster.commit(e.PodUpdated("ml", "train-0", "pod-0", (("phase", "Running"),)))
    assert (cluster.node("n1").changed_seq, cluster.pod("pod-0").changed_seq) == (seq, changed)


def test_a_pod_keeps_its_row_when_it_is_gone(cluster: Written) -> None:
    cluster.commit(e.NodeAdded(node("n1")), e.PodAdded(member(0, on="n1")))
    cluster.commit(e.PodRemoved("ml", "train-0", "pod-0", "n1", "train", "deleted"))
    row = cluster.pod("pod-0")
    assert (row.removed, row.node, row.group) == (True, "n1", "train")
    assert cluster.node("n1").occupants == []


def test_pods_that_ask_for_the_same_have_the_same_shape(cluster: Written) -> None:
    other = replace(SHAPE, requests=(("cpu", 2_000), ("pods", 1)))
    cluster.commit(e.PodAdded(member(0)), e.PodAdded(member(1)), e.PodAdded(replace(member(2), shape=other)))
    assert cluster.pod("pod-0").shape == cluster.pod("pod-1").shape != cluster.pod("pod-2").shape
    cluster.commit(e.PodUpdated("ml", "train-2", "pod-2", (("shape", SHAPE),)))
    assert cluster.pod("pod-2").shape == cluster.pod("pod-0").shape
    assert cluster.pod("pod-2").requests == dict(SHAPE.requests)


def test_a_group_goes_from_empty_over_held_and_pending_to_scheduled(cluster: Written) -> None:
    def row() -> tuple[str, int, int, datetime | None, datetime]:
        group = cluster.group("train")
        return group.status, group.members, group.bound, group.waiting_since, group.status_since

    cluster.commit(e.NodeAdded(node("n1")), e.PodGroupCreated(GANG))
    assert row() == ("empty", 0, 0, None, moment(1))
    cluster.commit(e.PodAdded(member(0)))
    assert row() == ("held", 1, 0, moment(2), moment(2))
    cluster.commit(e.PodAdded(member(1)))
    assert row() == ("pending", 2, 0, moment(2), moment(3))
    cluster.commit(placed(("pod-0", "train-0", "n1"), ("pod-1", "train-1", "n1")))
    assert row() == ("scheduled", 2, 2, None, moment(4))
    assert cluster.pod("pod-0").node == "n1"
    assert cluster.node("n1").occupants == [["ml/train", 2, 4]]
    cluster.commit(e.PodRemoved("ml", "train-0", "pod-0", "n1", "train", "deleted"))
    assert row() == ("held", 1, 1, moment(5), moment(5))
    assert cluster.group("train").degraded


def test_a_group_with_members_in_two_domains_is_in_error_until_the_facts_agree(cluster: Written) -> None:
    cluster.commit(e.NodeAdded(node("n1", "r1")), e.NodeAdded(node("n2", "r2")), e.PodGroupCreated(GANG))
    cluster.commit(e.PodAdded(member(0, on="n1")), e.PodAdded(member(1, on="n2")))
    assert cluster.group("train").status == "error"
    cluster.commit(e.NodeUpdated("n2", "uid-n2", (("labels", ((RACK, "r1"),)),)))
    assert cluster.group("train").status == "scheduled"
    cluster.commit(e.NodeRemoved("n2", "uid-n2"))
    assert cluster.group("train").status == "error"
    cluster.commit(e.FeatureGateChanged("GangScheduling", False))
    assert cluster.group("train").status == "scheduled"


def test_a_decision_leaves_its_numbers_on_the_group(cluster: Written) -> None:
    cluster.commit(e.PodGroupCreated(GANG), e.PodAdded(member(0)), e.PodAdded(member(1)))
    seq = cluster.commit(replace(UNSCHEDULABLE, uid="group-1"))
    row = cluster.group("train")
    assert (row.verdict, row.reason, row.domain, row.fits, row.need) == (
        "proved_infeasible",
        "capacity",
        "r1",
        1,
        2,
    )
    assert (row.short_of, row.decision_seq) == ([["nvidia.com/gpu", 4]], seq)
    cluster.commit(e.PodGroupHeld("ml", "train", "group-1", 1, "not_enough_pods", 2, 1))
    row = cluster.group("train")
    assert (row.verdict, row.reason, row.domain, row.short_of) == ("held", "not_enough_pods", "", [])


def test_a_forecast_binds_nobody(cluster: Written) -> None:
    cluster.commit(
        e.NodeAdded(node("n1")), e.PodGroupCreated(GANG), e.PodAdded(member(0)), e.PodAdded(member(1))
    )
    told = placed(("pod-0", "train-0", "n1"), ("pod-1", "train-1", "n1"))
    cluster.commit(e.PlacementForecast(**{name: getattr(told, name) for name in told.__slots__}))
    row = cluster.group("train")
    assert (row.verdict, row.domain, row.status, row.bound) == ("placed", "r1", "pending", 0)
    assert cluster.node("n1").occupants == []


def test_a_key_that_only_pods_name_has_a_row_until_its_pod_group_comes(cluster: Written) -> None:
    cluster.commit(e.PodAdded(member(0)))
    cluster.commit(e.PodGroupHeld("ml", "train", "", 0, "no_podgroup", 1, 1))
    row = cluster.group("train")
    assert (row.uid, row.generation, row.status, row.reason, row.waiting_since) == (
        "",
        0,
        "held",
        "no_podgroup",
        moment(1),
    )
    cluster.commit(e.PodGroupCreated(GANG))
    row = cluster.group("train")
    assert (PodGroupRow.objects.count(), row.uid, row.members, row.reason) == (1, "group-1", 1, "")


def test_a_key_that_nobody_names_any_more_has_no_row(cluster: Written) -> None:
    cluster.commit(e.PodAdded(member(0)))
    cluster.commit(e.PodRemoved("ml", "train-0", "pod-0", "", "train", "deleted"))
    assert not PodGroupRow.objects.exists()


def test_a_new_generation_takes_the_members_over_and_the_old_one_stays_as_it_was(cluster: Written) -> None:
    cluster.commit(e.NodeAdded(node("n1")), e.PodGroupCreated(GANG))
    cluster.commit(e.PodAdded(member(0, on="n1")), e.PodAdded(member(1, on="n1")))
    cluster.commit(
        e.PodGroupClosed("ml", "train", "group-1", 1, "superseded"),
        e.PodGroupCreated(replace(GANG, uid="group-2", generation=2, min_count=3, supersedes="group-1")),
    )
    old, new = cluster.group("train", "group-1"), cluster.group("train")
    assert (old.closed, old.close_reason, old.status, old.bound) == (True, "superseded", "scheduled", 2)
    assert (new.uid, new.generation, new.status, new.bound, new.degraded) == ("group-2", 2, "held", 2, True)


def test_a_group_that_ended_with_its_members_leaves_a_closed_row(cluster: Written) -> None:
    cluster.commit(e.PodGroupCreated(GANG), e.PodAdded(member(0)))
    cluster.commit(
        e.PodRemoved("ml", "train-0", "pod-0", "", "train", "group_ended"),
        e.PodGroupClosed("ml", "train", "group-1", 1, "ended"),
    )
    row = PodGroupRow.objects.get()
    assert (row.closed, row.close_reason, row.waiting_since, row.members) == (True, "ended", None, 1)


def test_a_pod_that_takes_the_name_of_another_one_takes_its_place(cluster: Written) -> None:
    """Of two pods with one name the newer one counts, whatever group it is in."""
    cluster.commit(e.PodGroupCreated(GANG), e.PodAdded(member(0)), e.PodAdded(member(1)))
    cluster.commit(e.PodAdded(replace(member(1), uid="pod-1-again", group="")))
    assert cluster.group("train").members == 1
    cluster.commit(e.PodUpdated("ml", "train-0", "pod-0", (("priority", 1),)))
    assert cluster.group("train").members == 1
    cluster.commit(e.PodRemoved("ml", "train-1", "pod-1-again", "", "", "deleted"))
    assert cluster.group("train").members == 2


def test_what_is_not_modelled_shows_on_the_group(cluster: Written) -> None:
    ports = replace(SHAPE, unmodelled=("hostPorts",))
    cluster.commit(
        e.PodGroupCreated(replace(GANG, unmodelled=("dra",))), e.PodAdded(replace(member(0), shape=ports))
    )
    assert cluster.group("train").unmodelled == ["dra", "hostPorts"]
    cluster.commit(e.PodUpdated("ml", "train-0", "pod-0", (("shape", SHAPE),)))
    assert cluster.group("train").unmodelled == ["dra"]


def test_other_clusters_are_left_alone(cluster: Written) -> None:
    with transaction.atomic():
        other = Written(store.open_stream("cluster", "other"))
    other.commit(e.ClusterRegistered("other", "simulated", ()))
    for written in (cluster, other):
        written.commit(e.NodeAdded(node("n1")), e.PodGroupCreated(GANG), e.PodAdded(member(0, on="n1")))
    other.commit(
        e.NodeRemoved("n1", "uid-n1"), e.PodRemoved("ml", "train-0", "pod-0", "n1", "train", "deleted")
    )
    assert (cluster.node("n1").removed, cluster.node("n1").index, cluster.group("train").bound) == (
        False,
        0,
        1,
    )
    assert (other.node("n1").removed, other.node("n1").index, other.group("train").bound) == (True, 0, 0)
