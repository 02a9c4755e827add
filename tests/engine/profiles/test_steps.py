"""The scores of kube-scheduler's plugins, worked out by hand, one plugin at a time."""

from __future__ import annotations

import numpy as np
import pytest

from scheduling.engine.model import Eligibility, Pod, Shape, Taint, Toleration
from scheduling.engine.profiles.snapshot import Asked, Snapshot, as_upstream_sees, asked, take
from scheduling.engine.profiles.steps import (
    Filled,
    balanced_allocation,
    highest,
    least_allocated,
    most_allocated,
    pods_count,
    resources_fit,
    taint_toleration,
)
from tests.engine.builders import RACK, cluster, node, pod

MIB = 1 << 20


def wants(cpu: int = 0, memory: int = 0, **more: int) -> Pod:
    amounts = {"cpu": cpu, "memory": memory, "pods": 1, **more}
    return pod("p", shape=Shape(tuple((name, amount) for name, amount in sorted(amounts.items()) if amount)))


def box(name: str, cpu: int, memory: int, **more: object) -> object:
    made = node(name, cpu=cpu, **more)  # type: ignore[arg-type]
    amounts = {**dict(made.allocatable), "memory": memory}
    return type(made)(
        name=made.name,
        uid=made.uid,
        labels=made.labels,
        taints=made.taints,
        allocatable=tuple(sorted(amounts.items())),
    )


def seen(member: Asked, *objects: object) -> Snapshot:
    state = as_upstream_sees(cluster(*objects))  # type: ignore[arg-type]
    return take(state, state.index(RACK), [member])


def everywhere(nodes: Snapshot) -> np.ndarray:
    return np.ones(len(nodes.index.order), bool)


def test_least_allocated_is_the_mean_of_the_free_shares_each_cut_to_an_integer() -> None:
    member = asked(wants(1000, 1000 * MIB))
    nodes = seen(member, box("a", 3000, 7000 * MIB), box("b", 4000, 4000 * MIB))
    # a: 2000/3000 is 66, 6000/7000 is 85, together 75; b: 75 and 75
    assert least_allocated(nodes, member, everywhere(nodes)).tolist() == [75, 75]


def test_least_allocated_leaves_out_a_resource_that_the_node_does_not_offer() -> None:
    member = asked(wants(1000, 1000 * MIB))
    nodes = seen(member, box("a", 4000, 0))
    assert least_allocated(nodes, member, everywhere(nodes)).tolist() == [75]


def test_a_member_without_requests_is_scored_as_if_it_asked_for_the_defaults() -> None:
    member = asked(wants())
    nodes = seen(member, box("a", 1000, 1000 * MIB))
    # 900/1000 is 90, 800/1000 is 80
    assert least_allocated(nodes, member, everywhere(nodes)).tolist() == [85]


def test_pods_without_requests_that_lie_on_a_node_are_charged_the_defaults_too() -> None:
    member = asked(wants(100, 100 * MIB))
    idle = pod("idle", shape=Shape((("pods", 1),)), node="a")
    nodes = seen(member, box("a", 1000, 1000 * MIB), idle)
    # 1000-100-100 of 1000 is 80, 1000-200-100 is 70
    assert least_allocated(nodes, member, everywhere(nodes)).tolist() == [75]


def test_balanced_allocation_scores_the_change_of_balance() -> None:
    member = asked(wants(1000, 1000 * MIB))
    nodes = seen(member, box("a", 2000, 2000 * MIB), box("b", 2000, 4000 * MIB))
    # a: stays at 100: 50 + 50/2; b: 100 falls to 87: 50 + 37/2
    assert balanced_allocation(nodes, member, everywhere(nodes)).tolist() == [75, 68]


def test_balanced_allocation_does_not_score_a_member_without_requests() -> None:
    member = asked(wants())
    nodes = seen(member, box("a", 2000, 2000 * MIB))
    assert balanced_allocation(nodes, member, everywhere(nodes)).tolist() == [0]


def test_taints_that_are_only_disliked_are_counted_against_the_worst_of_the_placement() -> None:
    soft = [Taint(f"t{number}", "", "PreferNoSchedule") for number in range(3)]
    toleration = Toleration("t0", "Exists", "", "")
    member = asked(pod("p", eligibility=Eligibility(tolerations=(toleration,))))
    nodes = seen(
        member,
        node("a", taints=tuple(soft)),
        node("b", taints=tuple(soft[:2])),
        node("c", taints=tuple(soft[:1])),
        node("d", "r2"),
    )
    assert taint_toleration(nodes, member, everywhere(nodes)).tolist() == [0, 50, 100, 100]


@pytest.mark.parametrize(("free", "fits"), [(999, False), (1000, True)])
def test_a_member_fits_to_the_last_unit(free: int, fits: bool) -> None:
    member = asked(wants(1000))
    nodes = seen(member, node("a", cpu=free))
    assert resources_fit(nodes, member).tolist() == [fits]


def test_a_resource_that_nobody_has_fits_nowhere() -> None:
    member = asked(wants(1000, **{"example.com/fpga": 1}))
    assert resources_fit(seen(member, node("a")), member).tolist() == [False]


def test_kube_scheduler_reads_taints_and_cordons_and_no_ready_condition() -> None:
    member = asked(wants(1000))
    nodes = seen(
        member,
        node("a", ready=False),
        node("b", ready=False, taints=(Taint("node.kubernetes.io/not-ready", "", "NoSchedule"),)),
        node("c", unschedulable=True),
    )
    assert nodes.usable[member.eligibility].tolist() == [True, False, False]


def test_the_view_of_kube_scheduler_changes_no_state() -> None:
    state = cluster(node("a", ready=False))
    as_upstream_sees(state)
    assert not state.nodes["a"].ready


def test_placements_are_scored_by_members_against_the_most_and_by_use() -> None:
    placements = [Filled("a", 1, (3000, 2000), (10_000, 10_000)), Filled("b", 3, (999, 1), (1000, 0))]
    assert pods_count(placements) == [33, 100]
    assert most_allocated(placements) == [25, 99]


def test_all_of_the_highest_are_told() -> None:
    assert highest([3, 7, 7, 1]) == (1, 2)
