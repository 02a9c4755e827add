"""What would make a group run and what kube-scheduler would do, as the page of the group shows them."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from scheduling.models import Cluster, NodeRow
from scheduling.services import nodes
from scheduling.services.clusters import ImportRequest, import_cluster, set_mode
from scheduling.services.cycles import run_cycle
from scheduling.services.execute import now_ms
from tests.console.support import GPU, dump, gang, node, text

PAGE = "/c/demo/podgroups/team-a/pair"


@pytest.fixture
def pair(cluster: Cluster) -> Cluster:
    """Beside the others a gang of 2, which rack r2 would take were its node n21 not cordoned."""
    nodes.cordon(cluster=cluster, node="n21", actor="test")
    import_cluster(name="demo", request=ImportRequest(data=dump(*gang("pair", 2))), actor="test")
    run_cycle(cluster.pk)
    return cluster


def test_the_page_asks_for_both_and_is_not_kept_waiting_by_them(viewer: Client, pair: Cluster) -> None:
    page = viewer.get(PAGE).content.decode()

    assert f'hx-get="{PAGE}/changes"' in page
    assert f'hx-get="{PAGE}/upstream"' in page
    assert "Uncordon" not in page


def test_a_group_that_runs_has_neither(viewer: Client, cluster: Cluster) -> None:
    page = viewer.get("/c/demo/podgroups/team-a/fits").content.decode()

    assert "/changes" not in page and "/upstream" not in page


def test_every_change_set_is_a_sentence_with_what_comes_of_it(viewer: Client, pair: Cluster) -> None:
    said = text(viewer.get(f"{PAGE}/changes"))

    assert said.startswith("Uncordon node n21. Then 2 members fit in rack r2; minCount is 2.")
    assert "Label node n0 with topology.example.com/rack=r2. Then 2 members fit in rack r2" in said
    assert "Add 1 node like n21 to rack r2." in said
    assert "End PodGroup team-a/fits: 2 running members, 16 GPUs, priority 0." in said
    assert (
        "End this group; submit it again as a new generation with minCount 1 instead of 2."
        " Then 1 member fits in rack r2; minCount is 1." in said
    )


def test_an_operator_does_the_first_one_from_the_page_and_the_group_runs(
    operator: Client, pair: Cluster
) -> None:
    part = operator.get(f"{PAGE}/changes").content.decode()
    form = re.search(r'action="(/c/demo/nodes/n21/uncordon)".*?name="back" value="([^"]+)"', part, re.S)
    assert form is not None and form[2] == PAGE

    page = operator.post(form[1], {"back": form[2]}, follow=True)

    assert page.redirect_chain[-1][0] == PAGE
    assert "Node n21 was uncordoned." in text(page)
    assert not NodeRow.objects.get(cluster=pair, name="n21").unschedulable
    rested = now_ms() + 10_000  # from the attempt that failed before
    run_cycle(pair.pk, clock=lambda: rested)
    assert "2 of 2 members are bound in rack r2" in text(operator.get(PAGE))


def test_ending_another_group_is_confirmed_first(operator: Client, pair: Cluster) -> None:
    part = operator.get(f"{PAGE}/changes").content.decode()

    assert re.search(r"<details><summary>End team-a/fits…</summary><form[^>]*/team-a/fits/end", part)


def test_who_may_not_change_anything_gets_the_sentences_alone(viewer: Client, pair: Cluster) -> None:
    assert "<form" not in viewer.get(f"{PAGE}/changes").content.decode()


def test_in_an_observed_cluster_there_is_nothing_to_press(operator: Client, pair: Cluster) -> None:
    set_mode(cluster=pair, mode="observed", actor="test")

    part = operator.get(f"{PAGE}/changes")

    assert "Uncordon node n21." in text(part) and "<form" not in part.content.decode()


def test_a_page_to_come_back_to_is_one_of_ours(operator: Client, pair: Cluster) -> None:
    answer = operator.post("/c/demo/nodes/n21/uncordon", {"back": "https://elsewhere.example/"})

    assert answer["Location"] == "/c/demo/nodes/n21"


def test_beside_the_map_stand_the_first_three_and_what_is_in_the_way(viewer: Client, pair: Cluster) -> None:
    aside = viewer.get("/c/demo/map/group?pg=team-a/pair")
    brief = viewer.get(f"{PAGE}/changes?brief=1")

    assert f'hx-get="{PAGE}/changes?brief=1"' in aside.content.decode()
    assert f"r2 1/2 8 {GPU} n21: node cordoned" in text(aside)
    assert f"r1 0/2 16 {GPU} team-a/fits" in text(aside)
    assert text(brief).startswith("uncordon n21 new generation, minCount 1")
    assert brief.content.decode().count('class="btn') == 3


def test_the_nodes_are_counted_where_they_are(viewer: Client, pair: Cluster) -> None:
    said = text(viewer.get(PAGE))

    assert "All 5 nodes, where they are room for a member 1" in said
    assert f"some of what a member asks for is free too little {GPU}: 2 2" in said
    assert "members may not use them node cordoned: 1 1" in said
    assert "no label: in no domain usable otherwise: 1 1" in said


def test_nothing_small_helps_a_group_that_uses_what_nobody_has(viewer: Client, cluster: Cluster) -> None:
    strange = gang("strange", 1)
    for side in ("requests", "limits"):
        strange[1]["spec"]["containers"][0]["resources"][side] = {"example.com/fpga": "1"}
    import_cluster(name="demo", request=ImportRequest(data=dump(*strange)), actor="test")

    said = text(viewer.get("/c/demo/podgroups/team-a/strange/changes"))

    assert said == "No small change was found that makes it run."


def test_kube_scheduler_that_would_miss_a_group_by_luck_is_told(viewer: Client, cluster: Cluster) -> None:
    mixed = gang("mixed", 3)
    for pod, amount in zip(mixed[1:], ("2", "2", "4"), strict=True):
        for side in ("requests", "limits"):
            pod["spec"]["containers"][0]["resources"][side] = {GPU: amount, "cpu": "4"}
    made = [node("m1", "m", 4), node("m2", "m", 4), *mixed]
    import_cluster(name="trap", request=ImportRequest(data=dump(*made), mode="observed"), actor="test")

    part = viewer.get("/c/trap/podgroups/team-a/mixed/upstream")

    assert "upstream would miss this" in text(part)
    assert re.search(
        r"Ways to roll that were tried: \d+\. With \d+ of them it places the group\.", text(part)
    )


def test_equal_domains_are_told_as_chance(viewer: Client, cluster: Cluster) -> None:
    made = [node(f"m{rack}", f"r{rack}") for rack in range(3)]
    import_cluster(
        name="ties", request=ImportRequest(data=dump(*made, *gang("g", 1)), mode="observed"), actor="test"
    )

    said = text(viewer.get("/c/ties/podgroups/team-a/g/upstream"))

    assert "kube-scheduler 1.36 might place it in r0 too, by chance." in said
    assert "By chance: r0 is 1 of 3 equal ones: r0, r1, r2." in said


@pytest.mark.parametrize("part", ["changes", "upstream"])
def test_an_unknown_group_is_not_found(part: str, viewer: Client, cluster: Cluster) -> None:
    assert viewer.get(f"/c/demo/podgroups/team-a/nothing/{part}").status_code == 404
