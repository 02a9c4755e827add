"""The submit form: rows that come and go, a check before anything is written, errors at their field."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from scheduling.models import Cluster, Event, PodRow
from scheduling.services.clusters import set_mode
from tests.console.support import RACK, text

URL = "/c/demo/submit"


def form(action: str, **changes: Any) -> dict[str, Any]:
    fields = {
        "action": action,
        "templates": "1",
        "namespace": "team-b",
        "name": "job",
        "policy": "gang",
        "min_count": "2",
        "topology_key": RACK,
        "priority": "0",
        "t0-resources": "0",
        "t0-role": "",
        "t0-count": "2",
        "t0-cpu": "4",
        "t0-memory": "16Gi",
        "t0-gpu": "8",
        "t0-node_selector": "",
        "t0-tolerations": "",
    }
    return fields | changes


def value_of(page: HttpResponse, name: str) -> str | None:
    tag = re.search(rf'<input[^>]*name="{re.escape(name)}"[^>]*>', page.content.decode())
    if tag is None:
        return None
    value = re.search(r'value="([^"]*)"', tag[0])
    return value[1] if value else ""


def at_field(page: HttpResponse, name: str) -> str:
    """The error that is tied to a field."""
    found = re.search(rf'id="id_{re.escape(name)}-errors">(.*?)</ul>', page.content.decode(), re.S)
    return re.sub(r"<[^>]+>", "", found[1]).strip() if found else ""


def test_a_check_says_where_it_would_land_and_writes_nothing(operator: Client, cluster: Cluster) -> None:
    before = Event.objects.count()

    page = operator.post(URL, form("check"))

    assert page.status_code == 200
    assert "2 of 2 members would be in rack r2; minCount is 2." in text(page)
    assert Event.objects.count() == before


def test_a_check_says_why_not_with_the_nearest_domain(operator: Client, cluster: Cluster) -> None:
    page = operator.post(URL, form("check", **{"min_count": "3", "t0-count": "3"}))

    said = text(page)
    assert "No rack could hold 3 members, not even an empty one." in said
    assert "Best is r2 with 2 of 3; short of 8 nvidia.com/gpu." in said
    assert "r2 2/3 8 nvidia.com/gpu" in said


def test_submitting_makes_the_group_and_its_members(operator: Client, cluster: Cluster) -> None:
    page = operator.post(URL, form("submit"))

    assert page["Location"] == "/c/demo/podgroups/team-b/job"
    assert PodRow.objects.filter(cluster=cluster, namespace="team-b", group="job").count() == 2
    created = Event.objects.filter(type="PodGroupCreated", namespace="team-b", name="job").get()
    assert created.actor.startswith("user-")


def test_the_same_form_sent_twice_submits_once(operator: Client, cluster: Cluster) -> None:
    sent = form("submit", command_id="one")
    operator.post(URL, sent)
    before = Event.objects.count()

    page = operator.post(URL, sent)

    assert page.status_code == 302
    assert Event.objects.count() == before


def test_kinds_of_members_and_resources_come_and_go_without_losing_a_letter(
    operator: Client, cluster: Cluster
) -> None:
    page = operator.post(URL, form("add"))
    assert value_of(page, "templates") == "2"
    assert value_of(page, "t0-memory") == "16Gi"

    two = {"templates": "2", "t1-resources": "2", "t1-count": "5", "t1-role": "aux"}
    two |= {
        "t1-r0-resource": "rdma/hca",
        "t1-r0-amount": "1",
        "t1-r1-resource": "example.com/x",
        "t1-r1-amount": "7",
    }
    page = operator.post(URL, form("remove:0", **two))
    assert value_of(page, "templates") == "1"
    assert value_of(page, "t0-role") == "aux"
    assert value_of(page, "t0-r1-amount") == "7"

    page = operator.post(URL, form("remove-resource:1:0", **two))
    assert value_of(page, "t1-resources") == "1"
    assert value_of(page, "t1-r0-resource") == "example.com/x"
    assert value_of(page, "t0-cpu") == "4"

    page = operator.post(URL, form("add-resource:0"))
    assert value_of(page, "t0-resources") == "1"
    assert value_of(page, "t0-r0-resource") == ""
    assert "This field is required" not in text(page)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "Not A Name"}, "name"),
        ({"name": ""}, "name"),
        ({"namespace": "UPPER"}, "namespace"),
        ({"min_count": "0"}, "min_count"),
        ({"min_count": "9"}, "min_count"),
        ({"topology_key": "not a key!"}, "topology_key"),
        ({"t0-count": "0"}, "t0-count"),
        ({"t0-cpu": "lots"}, "t0-cpu"),
        ({"t0-gpu": "1.5"}, "t0-gpu"),
        ({"t0-node_selector": "no equals sign"}, "t0-node_selector"),
        ({"t0-tolerations": "key:NoSuchEffect"}, "t0-tolerations"),
        ({"t0-resources": "1", "t0-r0-resource": "rdma/hca", "t0-r0-amount": "some"}, "t0-r0-amount"),
        ({"t0-resources": "1", "t0-r0-resource": "", "t0-r0-amount": "1"}, "t0-r0-resource"),
    ],
)
@pytest.mark.parametrize("action", ["check", "submit"])
def test_an_error_stands_at_its_field_and_the_input_is_kept(
    changes: dict[str, str], field: str, action: str, operator: Client, cluster: Cluster
) -> None:
    before = Event.objects.count()

    page = operator.post(URL, form(action, **changes))

    assert page.status_code == 422
    assert at_field(page, field)
    assert value_of(page, "t0-memory") == "16Gi"
    for name, typed in changes.items():
        assert typed in page.content.decode()
        if not name.endswith(("node_selector", "tolerations")):
            assert value_of(page, name) == typed
    assert Event.objects.count() == before


def test_selectors_tolerations_and_free_resources_reach_the_members(
    operator: Client, cluster: Cluster
) -> None:
    operator.post(
        URL,
        form(
            "submit",
            **{
                "t0-node_selector": f"{RACK}=r2\nkubernetes.io/hostname=n21",
                "t0-tolerations": "a=b:NoSchedule\nc:NoExecute\nd\n*",
                "t0-resources": "1",
                "t0-r0-resource": "rdma/hca",
                "t0-r0-amount": "2",
            },
        ),
    )

    body = Event.objects.filter(type="PodAdded", namespace="team-b").first().body  # type: ignore[union-attr]
    for part in ('"rdma/hca"', '"n21"', '"NoExecute"', '"a"'):
        assert part in body


def test_a_name_that_is_in_use_is_told_at_the_name(operator: Client, cluster: Cluster) -> None:
    page = operator.post(URL, form("submit", namespace="team-a", name="wide"))

    assert page.status_code == 422
    assert "is open" in at_field(page, "name")


def test_manifests_are_submitted_and_bad_ones_come_back_with_every_problem(
    operator: Client, cluster: Cluster
) -> None:
    good = (
        "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: job, namespace: team-b}\n"
        "spec: {schedulingPolicy: {gang: {minCount: 1}}}\n"
    )
    page = operator.post(f"{URL}?tab=yaml", {"text": good.replace("minCount: 1", "minCount: 0")})
    assert page.status_code == 422
    assert "spec.schedulingPolicy.gang.minCount" in text(page)
    assert "minCount: 0" in page.content.decode()

    page = operator.post(f"{URL}?tab=yaml", {"text": good})
    assert page.status_code == 302
    assert Event.objects.filter(type="PodGroupCreated", namespace="team-b", name="job").exists()


def test_an_observed_cluster_takes_no_workload(operator: Client, cluster: Cluster) -> None:
    set_mode(cluster=cluster, mode="observed", actor="test")

    assert "This cluster is observed." in text(operator.get(URL))
    assert operator.post(URL, form("submit")).status_code == 422


@pytest.mark.parametrize("count", ["99999999999999999999", "10001"])
def test_too_many_members_are_told_at_their_field(count: str, operator: Client, cluster: Cluster) -> None:
    response = operator.post(URL, form("submit", **{"t0-count": count}))

    assert response.status_code == 422
    assert response.context["problems"] == []
    assert response.context["form"].templates[0].form.errors["count"]


def test_too_many_members_of_several_kinds_are_told_at_the_most(operator: Client, cluster: Cluster) -> None:
    kinds = {"templates": "2", "t0-role": "a", "t0-count": "4000", "t1-role": "b", "t1-count": "9000"}

    response = operator.post(URL, form("submit", **kinds))

    shown = response.context["form"]
    assert response.status_code == 422 and response.context["problems"] == []
    assert shown.templates[1].form.errors["count"] and not shown.templates[0].form.errors


def test_a_priority_that_is_too_large_is_told_at_the_priority(operator: Client, cluster: Cluster) -> None:
    response = operator.post(URL, form("submit", priority="99999999999"))

    assert response.status_code == 422
    assert response.context["problems"] == []
    assert len(response.context["form"].group.errors["priority"]) == 1
    assert "templates[0]" not in text(response)


def test_a_name_in_use_is_told_once(operator: Client, cluster: Cluster) -> None:
    response = operator.post(URL, form("submit", namespace="team-a", name="wide"))

    assert len(response.context["form"].group.errors["name"]) == 1
    assert "Pod team-a/wide" not in text(response)
