"""Lists, pages and API say one thing of a group, and no more than is so."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from scheduling.models import Cluster, PodGroupRow
from scheduling.services.clusters import ImportRequest, import_cluster, set_gate
from scheduling.services.cycles import run_cycle
from tests.console.support import RACK, dump, gang, node, text

GATE = "TopologyAwareWorkloadScheduling"


def imported(*objects: dict[str, Any], mode: str = "simulated", cycle: bool = True) -> Cluster:
    import_cluster(name="law", request=ImportRequest(data=dump(*objects), mode=mode), actor="test")
    cluster = Cluster.objects.get(name="law")
    if cycle:
        run_cycle(cluster.pk)
    return cluster


def on(name: str, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for pod in pods[1:]:
        pod["spec"]["nodeName"] = name
    return pods


PAGES = ("/c/law/pending", "/c/law/podgroups/", "/c/law/podgroups/team-a/g")


def pages(viewer: Client) -> dict[str, str]:
    return {page: text(viewer.get(page)) for page in PAGES}


def test_a_group_spread_over_racks_is_conflicted_everywhere_once_the_gate_is_on(
    viewer: Client, db: None
) -> None:
    cluster = imported(node("n1", "r1"), node("n2", "r2"), *gang("g", 2), cycle=False)
    set_gate(cluster=cluster, gate=GATE, enabled=False, actor="test")
    run_cycle(cluster.pk)
    assert PodGroupRow.objects.get(cluster=cluster).bound == 2
    set_gate(cluster=cluster, gate=GATE, enabled=True, actor="test")
    for said in pages(viewer).values():
        assert "members are in rack" not in said
    run_cycle(cluster.pk)
    for page, said in pages(viewer).items():
        assert "Bound members lie in more than one domain" in said, page
        assert '<span class="tag ok">placed</span>' not in viewer.get(page).content.decode(), page
    set_gate(cluster=cluster, gate=GATE, enabled=False, actor="test")
    run_cycle(cluster.pk)
    for page, said in pages(viewer).items():
        assert "Bound members lie in more than one domain; nothing" not in said.partition("Events")[0], page


def test_a_forecast_is_worded_and_marked_as_one(viewer: Client, db: None) -> None:
    imported(node("n1", "r1"), node("n2", "r1"), *gang("g", 2), mode="observed")
    for page, said in pages(viewer).items():
        assert "Our cycle would place 2 of 2 members in rack r1; nothing was bound." in said, page
        assert "not evaluated yet" not in said and "members are in" not in said, page
    for page in (PAGES[0], PAGES[2]):
        assert '<span class="tag info">would be placed</span>' in viewer.get(page).content.decode(), page


def test_a_group_that_lost_the_room_to_another_forecast_is_explained_as_the_list_says(
    viewer: Client, db: None
) -> None:
    imported(node("n1", "r1"), node("n2", "r1"), *gang("e", 2), *gang("g", 2), mode="observed")
    said = "No rack has room for 2 members beside the other groups that our cycle would place."
    for page, shown in pages(viewer).items():
        assert said in shown, page
    assert "counts as taken: team-a/e." in pages(viewer)[PAGES[2]]


def test_members_behind_gates_are_not_called_missing(viewer: Client, db: None) -> None:
    group = gang("g", 2)
    group[2]["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    imported(node("n1", "r1"), node("n2", "r1"), *group)
    for page, said in pages(viewer).items():
        assert "2 members exist, but too many wait behind scheduling gates; minCount is 2." in said, page
    assert "that no scheduling gate holds back" in pages(viewer)[PAGES[2]]


def test_one_member_is_one_member(viewer: Client, db: None) -> None:
    imported(node("n1", "r1"), *gang("g", 2)[:2])
    assert "1 member exists, minCount is 2." in pages(viewer)[PAGES[0]]


@pytest.mark.parametrize("cycle", [True, False])
def test_an_empty_label_value_is_named(viewer: Client, db: None, cycle: bool) -> None:
    only = node("n1", "r1")
    only["metadata"]["labels"][RACK] = ""
    imported(only, *gang("g", 1), cycle=cycle)
    said = pages(viewer)
    assert "in rack (empty label value); minCount is 1." in said[PAGES[2]]
    if cycle:
        assert "in rack (empty label value); minCount is 1." in said[PAGES[1]]
    assert "rack ;" not in "".join(said.values())


def test_a_bound_member_is_not_called_pending(viewer: Client, db: None) -> None:
    imported(node("n1", "r1"), *gang("g", 1))
    assert "n1 bound 8 nvidia.com/gpu" in pages(viewer)[PAGES[2]]


@pytest.mark.parametrize("mode", ["simulated", "observed"])
def test_members_that_ask_for_another_scheduler_are_told(viewer: Client, db: None, mode: str) -> None:
    group = gang("g", 2)
    for pod in group[1:]:
        pod["spec"]["schedulerName"] = "volcano"
    imported(node("n1", "r1"), *group, mode=mode)
    assert "Its members ask for the scheduler volcano" in pages(viewer)[PAGES[2]]
