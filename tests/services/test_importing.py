"""What an import changes and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.ledger.events import (
    NodeRemoved,
    NodeUpdated,
    PodAdded,
    PodGroupClosed,
    PodGroupCreated,
    PodGroupUpdated,
    PodRemoved,
    PodUpdated,
    SnapshotImported,
)
from tests.services.builders import gang, members, node, nodes_of, pod, stream, text


def kinds(events: Any) -> list[str]:
    return [type(event).__name__ for event in events]


def test_the_same_manifests_a_second_time_give_no_event() -> None:
    objects = [node("a"), gang("g", 2), *members("g", 2), pod("x", on="a")]
    made = stream(*objects)
    assert made.import_data(text(*objects)).events == ()
    made.settle()
    assert made.import_data(text(*objects)).events == ()


def test_only_the_fields_that_changed_are_written() -> None:
    made = stream(node("a"), node("b"))
    plan = made.import_data(text(node("a", unschedulable=True), node("b")))
    update, snapshot = plan.events
    assert isinstance(update, NodeUpdated) and update.changes == (("unschedulable", True),)
    assert isinstance(snapshot, SnapshotImported)
    assert (plan.updated, plan.unchanged) == ({"Node": 1}, {"Node": 1})


def test_without_a_uid_the_same_name_is_the_same_object() -> None:
    made = stream(node("a", uid="n1"), gang("g", 1, uid="g1"), pod("g-0", "g", uid="p1"))
    plan = made.import_data(text(node("a"), gang("g", 1), pod("g-0", "g")))
    assert plan.events == ()


def test_objects_without_a_uid_get_one_that_depends_on_the_log_alone() -> None:
    first, second = stream(node("a"), pod("p", "g")), stream(node("a"), pod("p", "g"))
    assert list(first.state.pods) == list(second.state.pods) == ["tas-2-pod-default.p"]


def test_another_uid_under_the_same_name_is_another_object() -> None:
    made = stream(node("a", uid="n1"), gang("g", 1, uid="g1"), pod("g-0", "g", uid="p1"))
    plan = made.import_data(text(node("a", uid="n2"), gang("g", 1, uid="g2"), pod("g-0", "g", uid="p2")))
    assert kinds(plan.events) == [
        "NodeRemoved",
        "NodeAdded",
        "PodGroupClosed",
        "PodGroupCreated",
        "PodRemoved",
        "PodAdded",
        "SnapshotImported",
    ]
    group = made.state.groups["default/g"]
    assert (group.uid, group.generation, group.supersedes) == ("g2", 2, "g1")


def test_a_group_that_comes_back_after_its_end_is_the_next_generation() -> None:
    made = stream(gang("g", 1, uid="g1"))
    made.commit([PodGroupClosed("default", "g", "g1", 1, "ended")])
    made.import_data(text(gang("g", 1, uid="g2")))
    assert made.state.groups["default/g"].generation == 2


def test_of_two_pods_of_one_name_the_one_that_stays_is_the_member_whatever_the_order() -> None:
    old = pod("g-0", "g", uid="u1", on="a", metadata={"deletionTimestamp": "2026-05-01T09:00:00Z"})
    new = pod("g-0", "g", uid="u2")
    for both in ([old, new], [new, old]):
        made = stream(node("a"), gang("g", 1), old)
        made.import_data(text(node("a"), gang("g", 1), *both))
        assert list(made.state.pods) == ["u2"]
        assert made.import_data(text(node("a"), gang("g", 1), *both)).events == ()


def test_a_uid_that_belongs_to_another_pod_is_refused() -> None:
    made = stream(pod("a", "g", uid="u1"))
    (problem,) = made.import_data(text(pod("b", "g", uid="u1"))).refused
    assert (problem.name, problem.path) == ("b", "metadata.uid")
    assert "default/a" in problem.message


class TestAbsence:
    def test_means_nothing_unless_the_import_is_complete(self) -> None:
        made = stream(node("a"), node("b"), gang("g", 1), pod("g-0", "g"))
        assert made.import_data(text(node("a"))).events == ()

    def test_of_a_complete_kind_removes_by_events(self) -> None:
        made = stream(node("a"), node("b"), gang("g", 1), pod("g-0", "g"), gang("h", 1), pod("h-0", "h"))
        complete = frozenset({"Node", "Pod", "PodGroup"})
        plan = made.import_data(text(node("a"), gang("g", 1), pod("g-0", "g")), complete)
        assert plan.removed == {"Node": ("b",), "Pod": ("default/h-0",), "PodGroup": ("default/h",)}
        assert set(kinds(plan.events)) == {"NodeRemoved", "PodRemoved", "PodGroupClosed", "SnapshotImported"}
        closed = next(event for event in plan.events if isinstance(event, PodGroupClosed))
        assert closed.reason == "removed"

    def test_of_kinds_that_are_not_complete_still_means_nothing(self) -> None:
        made = stream(node("a"), gang("g", 1), pod("g-0", "g"))
        assert made.import_data(text(node("a")), frozenset({"Node"})).events == ()

    def test_an_object_that_was_refused_is_not_absent(self) -> None:
        made = stream(node("a"), gang("g", 2), pod("g-0", "g"))
        broken = pod("g-0", "g", cpu="lots")
        plan = made.import_data(text(gang("g", 3), broken), frozenset({"Pod", "PodGroup"}))
        assert len(plan.refused) == 2
        assert plan.removed == {}
        assert len(made.state.pods) == len(made.state.groups) == 1

    def test_of_a_node_in_a_simulated_cluster_makes_its_members_anew(self) -> None:
        made = stream(node("a"), node("b"), gang("g", 2), *members("g", 2, cpu="5"), pod("x", on="b"))
        made.settle()
        lost = next(name for name, on in nodes_of(made, "g").items() if on == "b")
        old = made.state.pod_uid(f"default/{lost}")
        plan = made.import_data(text(node("a")), frozenset({"Node"}))
        added = next(event for event in plan.events if isinstance(event, PodAdded))
        assert (added.pod.name, added.pod.node, added.replaces) == (lost, "", old)
        assert added.pod.uid != old
        assert any(isinstance(event, PodRemoved) and event.reason == "node_lost" for event in plan.events)
        assert any(isinstance(event, NodeRemoved) for event in plan.events)

    def test_of_a_node_in_an_observed_cluster_leaves_its_pods_to_the_cluster(self) -> None:
        made = stream(node("a"), gang("g", 1), pod("g-0", "g", on="a"), node("b"), mode="observed")
        plan = made.import_data(text(node("b")), frozenset({"Node"}))
        assert kinds(plan.events) == ["NodeRemoved", "SnapshotImported"]

    def test_of_a_pod_that_is_gone_with_its_node_is_the_end_of_it(self) -> None:
        made = stream(node("a"), gang("g", 1), pod("g-0", "g", on="a"), node("b"))
        plan = made.import_data(text(node("b"), gang("g", 1)), frozenset({"Node", "Pod"}))
        assert made.state.pods == {}
        assert "PodAdded" not in kinds(plan.events)


class TestPodGroupsAreImmutable:
    @pytest.mark.parametrize(
        ("changed", "path"),
        [
            (gang("g", 3), "spec.schedulingPolicy"),
            (gang("g", 2, key=""), "spec.schedulingConstraints"),
            (gang("g", 2, key="topology.example.com/block"), "spec.schedulingConstraints"),
            (gang("g", 2, priority=7), "spec.priority"),
        ],
    )
    def test_in_v1alpha2_every_change_is_refused_with_its_path(self, changed: Any, path: str) -> None:
        made = stream(gang("g", 2))
        plan = made.import_data(text(changed))
        assert [(bad.kind, bad.name, bad.path) for bad in plan.refused] == [("PodGroup", "g", path)]
        assert plan.events == ()

    def test_a_group_refused_for_two_fields_is_one_object(self) -> None:
        made = stream(node("a"), gang("g", 2))
        plan = made.import_data(text(node("a"), gang("g", 3, key="")))
        assert len(plan.refused) == 2
        assert plan.accepted == {"Node": 1}

    @pytest.mark.parametrize("version", ["v1alpha3", "v1beta1"])
    def test_in_later_versions_min_count_may_change(self, version: str) -> None:
        made = stream(gang("g", 2, version=version))
        plan = made.import_data(text(gang("g", 3, version=version)))
        update = plan.events[0]
        assert isinstance(update, PodGroupUpdated) and update.changes == (("min_count", 3),)
        assert made.import_data(text(gang("g", 3, version=version, key=""))).refused

    def test_another_uid_may_ask_for_anything(self) -> None:
        made = stream(gang("g", 2, uid="g1"))
        plan = made.import_data(text(gang("g", 5, uid="g2")))
        assert any(isinstance(event, PodGroupCreated) for event in plan.events)


class TestBindings:
    def placed(self) -> Any:
        made = stream(node("a", cpu="1"), node("b", "r2", cpu="4"), gang("g", 1), pod("g-0", "g"))
        made.settle()
        assert nodes_of(made, "g") == {"g-0": "a"}
        return made

    def test_of_members_that_we_placed_are_refused_by_name(self) -> None:
        made = self.placed()
        plan = made.import_data(text(pod("g-0", "g", on="b")))
        (problem,) = plan.refused
        assert (problem.kind, problem.name, problem.path) == ("Pod", "g-0", "spec.nodeName")
        assert "node a" in problem.message
        assert plan.events == ()

    def test_a_file_that_does_not_know_of_our_placement_does_not_undo_it(self) -> None:
        made = self.placed()
        assert made.import_data(text(pod("g-0", "g"))).events == ()
        assert made.import_data(text(pod("g-0", "g", on="a", phase="Pending"))).events == ()

    def test_the_end_of_a_member_that_we_placed_is_taken(self) -> None:
        made = self.placed()
        plan = made.import_data(text(pod("g-0", "g", phase="Succeeded")))
        update = plan.events[0]
        assert isinstance(update, PodUpdated) and update.changes == (("phase", "Succeeded"),)

    def test_that_came_by_an_import_go_by_an_import(self) -> None:
        made = stream(node("a"), gang("g", 1), pod("g-0", "g", on="a"))
        made.import_data(text(pod("g-0", "g")))
        assert nodes_of(made, "g") == {"g-0": ""}

    def test_in_an_observed_cluster_facts_win(self) -> None:
        made = stream(node("a"), node("b"), gang("g", 1), pod("g-0", "g"), mode="observed")
        made.settle()
        assert nodes_of(made, "g") == {"g-0": ""}
        made.import_data(text(pod("g-0", "g", on="b")))
        assert nodes_of(made, "g") == {"g-0": "b"}


class TestNotices:
    def notices(self, *objects: Any) -> list[str]:
        return [notice.message for notice in stream().import_data(text(*objects)).notices]

    def test_a_value_that_spans_zones(self) -> None:
        spread = [node(f"n{i}", "01", zone=f"0{i}") for i in range(3)]
        (told,) = self.notices(*spread, gang("g", 1))
        assert "01" in told and "3 zones" in told

    def test_nodes_without_the_key_that_a_group_asks_for(self) -> None:
        (told,) = self.notices(node("a"), node("b", None), node("c", None), gang("g", 1))
        assert told.startswith("2 nodes have no label") and "b, c" in told

    def test_an_over_committed_node(self) -> None:
        made = stream()
        plan = made.import_data(text(node("a", gpu=1), pod("x", on="a", gpu=1), pod("y", on="a", gpu=1)))
        (notice,) = plan.notices
        assert (notice.name, notice.path) == ("a", "status.allocatable[nvidia.com/gpu]")

    def test_nothing_when_all_is_well(self) -> None:
        assert self.notices(node("a"), gang("g", 1), pod("g-0", "g", on="a")) == []
