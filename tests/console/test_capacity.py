"""The page of capacity: node types by a form, plans with their proof, approve, reject, export."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from django.test import Client

from scheduling.engine.node_types import NodeType, ScaleUpPlan
from scheduling.models import Cluster
from scheduling.services.cycles import run_cycle
from scheduling.services.execute import now_ms
from scheduling.services.state import state_of
from tests.console.support import RACK, text

PAGE = "/c/demo/capacity"
TYPE = {
    "name": "gpu-box",
    "like": "n11",
    "key": RACK,
    "growth": "r2=4\nr9=8",
    "cost": "98.32",
    "provider": "simulated",
}


def define(client: Client, **more: str) -> None:
    response = client.post(f"{PAGE}/types", TYPE | more)
    assert response.status_code == 302, text(response)


def plan(client: Client, group: str = "team-a/wide") -> str:
    assert client.post(f"{PAGE}/plan", {"group": group}).status_code == 302
    plans = state_of(Cluster.objects.get()).records.of(ScaleUpPlan)
    return next(reversed(list(plans)), "")


def status(name: str) -> str:
    return state_of(Cluster.objects.get()).records.of(ScaleUpPlan)[name].status


def test_before_anything_is_defined_the_page_says_what_is_missing(cluster: Cluster, operator: Client) -> None:
    page = text(operator.get(PAGE))

    assert "No node type is defined." in page
    assert "No plan is open." in page
    assert "team-a/wide no node type is defined" in page and "Plan scale-up" not in page


def test_the_navigation_leads_there(cluster: Cluster, viewer: Client) -> None:
    assert '<a href="/c/demo/capacity" aria-current="page">Capacity</a>' in viewer.get(PAGE).content.decode()


def test_a_type_like_a_node(cluster: Cluster, operator: Client) -> None:
    define(operator)

    made = state_of(cluster).records.of(NodeType)["gpu-box"]
    assert dict(made.allocatable)["nvidia.com/gpu"] == 8
    page = text(operator.get(PAGE))
    assert "98.32 an hour" in page
    assert "rack r2: 4 of 4" in page and "rack r9: 8 of 8" in page


def test_a_type_by_hand(cluster: Cluster, operator: Client) -> None:
    define(
        operator,
        like="",
        cpu="64",
        memory="256Gi",
        gpu="8",
        others="example.com/nic=2",
        labels="zone=z1",
        taints="gpu:NoSchedule\nteam=a:NoExecute",
        cost="",
        provider="",
    )

    made = state_of(cluster).records.of(NodeType)["gpu-box"]
    assert dict(made.allocatable) | {"pods": 0} == {
        "cpu": 64_000, "memory": 256 << 30, "nvidia.com/gpu": 8, "example.com/nic": 2, "pods": 0
    }  # fmt: skip
    assert made.labels == (("zone", "z1"),)
    assert [(taint.key, taint.value, taint.effect) for taint in made.taints] == [
        ("gpu", "", "NoSchedule"),
        ("team", "a", "NoExecute"),
    ]
    assert (made.cost, made.provider) == (None, "")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"growth": "r1"}, "“r1” is not of the form key=value."),
        ({"growth": "r1=many"}, "“many” is no number of nodes."),
        ({"growth": "r1=0"}, "nodes in one domain: 1 to 1000, not 0"),
        ({"taints": "a:Sometimes"}, "“Sometimes” is no effect of a taint"),
        ({"like": "nobody"}, "there is no node nobody"),
        ({"like": ""}, "say what such a node has, or name a node like it"),
        ({"cost": "cheap"}, "a cost is a number with at most three decimals, such as 98.32"),
        ({"key": "a b"}, "must have a name of letters, digits"),
        ({"name": "Big Box"}, "must consist of lower-case letters"),
        ({"like": "", "cpu": "much"}, "must be a quantity"),
    ],
)
def test_bad_input_is_told_and_nothing_is_lost(
    wrong: dict[str, str], said: str, cluster: Cluster, operator: Client
) -> None:
    response = operator.post(f"{PAGE}/types", TYPE | wrong)

    assert response.status_code == 422
    assert said in text(response)
    assert "98.32" in response.content.decode() or "cost" in wrong
    assert '<details open id="define-type">' in response.content.decode()
    assert not state_of(cluster).records.of(NodeType)


def test_a_plan_shows_what_it_promises_and_what_was_proved(cluster: Cluster, operator: Client) -> None:
    define(operator)
    name = plan(operator)

    page = text(operator.get(PAGE))
    assert f"{name} planned lapses at" in page
    # `fits` runs in one of the racks of two nodes, `wide` needs three.
    assert "1 node of gpu-box in rack r2: that makes team-a/wide fit." in page
    assert "Decided so: 3 members of team-a/wide are in r2; minCount 3." in page
    assert "With one node fewer, whichever it is, it does not do." in page
    assert "No mixture of types in this domain costs less." in page
    assert "1 alternative" in page and "3 nodes of gpu-box in rack r9" in page


def test_approved_nodes_join_and_the_cycle_places(cluster: Cluster, operator: Client) -> None:
    define(operator)
    name = plan(operator)

    operator.post(f"{PAGE}/plans/{name}/approve", {"option": "0", "minutes": "", "nodes": ""})
    later = now_ms() + 60_000
    run_cycle(cluster.pk, clock=lambda: later)

    assert status(name) == "completed"
    page = text(operator.get(PAGE))
    assert "No plan is open." in page
    assert f"{name} completed" in page


def test_fewer_nodes_than_promised_leave_it_waiting_until_the_rest_comes(
    cluster: Cluster, operator: Client
) -> None:
    define(operator)
    name = plan(operator)

    operator.post(f"{PAGE}/plans/{name}/approve", {"option": "1", "nodes": "1"})
    later = now_ms() + 60_000
    run_cycle(cluster.pk, clock=lambda: later)
    assert status(name) == "approved"
    page = text(operator.get(PAGE))
    assert re.search(rf"{name} approved 1 of \d nodes joined; due by", page)

    operator.post(f"{PAGE}/plans/{name}/join", {"nodes": ""})
    run_cycle(cluster.pk, clock=lambda: later + 60_000)
    assert status(name) == "completed"


def test_a_rejection_says_why(cluster: Cluster, operator: Client) -> None:
    define(operator)
    name = plan(operator)

    operator.post(f"{PAGE}/plans/{name}/reject", {"why": "next quarter"})

    assert f"{name} rejected" in text(operator.get(PAGE)) and "next quarter" in text(operator.get(PAGE))


def test_why_nothing_can_be_planned_is_told_for_every_type(cluster: Cluster, operator: Client) -> None:
    define(operator, growth="r9=2")

    page = text(operator.post(f"{PAGE}/plan", {"group": "team-a/wide"}, follow=True))

    assert "no growth of the defined node types makes it fit" in page
    assert "NodeType gpu-box" in page and "not even all nodes by which it may grow are enough" in page


def test_without_a_chosen_group_nothing_is_planned(cluster: Cluster, operator: Client) -> None:
    page = text(operator.post(f"{PAGE}/plan", {}, follow=True))

    assert "name at least one group" in page


def test_a_number_that_is_none_is_told(cluster: Cluster, operator: Client) -> None:
    define(operator)
    name = plan(operator)

    page = text(operator.post(f"{PAGE}/plans/{name}/approve", {"minutes": "soon"}, follow=True))

    assert "minutes: Enter a whole number." in page
    assert status(name) == "planned"


def test_a_type_in_use_stays(cluster: Cluster, operator: Client) -> None:
    define(operator)
    name = plan(operator)
    page = text(operator.post(f"{PAGE}/types/gpu-box/remove", follow=True))
    assert f"the open plan {name} needs it" in page

    operator.post(f"{PAGE}/plans/{name}/reject", {})
    operator.post(f"{PAGE}/types/gpu-box/remove")
    assert not state_of(cluster).records.of(NodeType)


def test_a_viewer_sees_and_changes_nothing(cluster: Cluster, operator: Client, viewer: Client) -> None:
    define(operator)
    name = plan(operator)

    page = viewer.get(PAGE).content.decode()
    assert name in page
    assert not [address for address in re.findall(r'action="([^"]+)"', page) if PAGE in address]
    assert viewer.post(f"{PAGE}/plans/{name}/approve").status_code == 403


def test_exports(cluster: Cluster, operator: Client, viewer: Client) -> None:
    define(operator)
    name = plan(operator)
    base = f"{PAGE}/plans/{name}/export"

    told = json.loads(viewer.get(f"{base}/json").content)
    assert (told["name"], told["groups"], told["status"]) == (name, ["team-a/wide"], "planned")
    asked = list(yaml.safe_load_all(viewer.get(f"{base}/provisioning-request").content))
    assert [one["kind"] for one in asked] == ["PodTemplate", "ProvisioningRequest"]
    check = list(
        yaml.safe_load_all(
            viewer.get(f"{base}/provisioning-request?class=check-capacity.autoscaling.x-k8s.io").content
        )
    )
    assert check[-1]["spec"]["provisioningClassName"] == "check-capacity.autoscaling.x-k8s.io"
    pools = viewer.get(f"{base}/node-pools")
    assert pools["Content-Disposition"] == f'attachment; filename="{name}-node-pools.yaml"'
    assert [one["kind"] for one in yaml.safe_load_all(pools.content)] == ["NodePool"]

    for form in ("json", "provisioning-request", "node-pools"):
        assert viewer.get(f"{PAGE}/plans/no-such-plan/export/{form}").status_code == 404
    assert viewer.get(f"{base}/cereal").status_code == 404
    operator.post(f"{PAGE}/plans/{name}/reject", {})
    page = text(viewer.get(f"{base}/node-pools", follow=True))
    assert "the plan is rejected, not open" in page


def test_the_page_of_a_waiting_group_offers_a_plan_and_then_leads_to_it(
    cluster: Cluster, operator: Client
) -> None:
    define(operator)
    group = "/c/demo/podgroups/team-a/wide"
    assert "Plan scale-up" in text(operator.get(group))

    name = plan(operator)

    assert f"Plan {name} is open for it" in text(operator.get(group))
    assert "Plan scale-up" not in text(operator.get("/c/demo/podgroups/team-a/fits"))


def test_an_observed_cluster_gets_advice(cluster: Cluster, operator: Client, admin: Client) -> None:
    define(operator)
    admin.post("/c/demo/mode", {"mode": "observed"})
    run_cycle(cluster.pk)
    name = plan(operator)

    operator.post(f"{PAGE}/plans/{name}/approve", {"option": "0"})

    assert status(name) == "approved"
    assert len(state_of(cluster).nodes) == 5
    page = text(operator.get(PAGE))
    assert "In an observed cluster a plan is advice" in page
    assert "Let nodes join" not in page


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("tab", ["capacity", "reservations", "queues", "preemption"])
def test_the_pages_of_the_capacity_are_headed_alike(
    cluster: Cluster, viewer: Client, tab: str, language: str
) -> None:
    """Each by the name of its tab, with a line about it, under one entry of the navigation."""
    html = viewer.get(f"/c/demo/{tab}", headers={"accept-language": language}).content.decode()
    (heading,) = re.findall(r"<h1[^>]*>([^<]+)</h1>", html)
    (chosen,) = re.findall(r'class="btn pri" aria-current="page">([^<]+)</a>', html)
    (title,) = re.findall(r"<title>([^<]+)</title>", html)
    assert heading == chosen and title.startswith(f"{heading} · demo")
    after_tabs = html.partition('class="bar tabs"')[2].partition("</nav>")[2]
    assert after_tabs.strip().startswith('<p class="muted">')
    assert re.search(r'<a href="/c/demo/capacity" aria-current="page">', html)
