"""Addresses and objects that nobody makes by accident: a page all the same, never a failure."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from scheduling.models import Cluster, PodRow, Run
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.console.support import dump, gang, node, text


@pytest.mark.parametrize(
    "path",
    [
        "/c/demo/nodes/?q=%00",
        "/c/demo/podgroups/?q=%00",
        "/c/demo/map?key=%00",
        "/c/demo/map?%00=1",
        "/c/demo/history?name=%00",
        "/c/demo/nodes/n%00",
        "/c/demo/domains/%00",
        "/admin/auth/user/?q=%00",
        "/login/?next=%00",
        "/static/%00",
        "/%00",
    ],
)
def test_an_address_with_a_nul_leads_to_the_page_for_nothing(
    path: str, viewer: Client, cluster: Cluster
) -> None:
    response = viewer.get(path)

    assert response.status_code == 404
    assert "There is nothing here" in text(response)


HUGE = "9" * 5000
"""More digits than Python reads; ``²`` is a digit to it that is no number."""


@pytest.mark.parametrize("number", ["²", "１", "-1", HUGE])
@pytest.mark.parametrize(
    "path",
    [
        "domains/?from=",
        "domains/?free=",
        "history/1?led=",
        "scenarios/new?run=",
        "runs/1/compare?with=",
    ],
)
def test_a_number_in_an_address_that_is_none_is_no_failure(
    path: str, number: str, cluster: Cluster, signed_in: Callable[..., Client]
) -> None:
    viewer = signed_in("view_cluster", "run_scenario")
    Run.objects.create(
        cluster=cluster, number=1, kind="scenario", document={}, base_seq=1, status="waiting",
        requested_at=timezone.now(), touched_at=timezone.now(),
    )  # fmt: skip

    assert viewer.get(f"/c/demo/{path}{number}").status_code in (200, 404)


@pytest.mark.parametrize("number", ["²", "１", "-1", HUGE])
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("scenarios/new", {"action": "up:{}", "steps": "{}", "revision": "{}", "tab": "form"}),
        ("scenarios/new", {"action": "s{}:add", "steps": "1", "s0-step": "submit", "tab": "form"}),
        (
            "scenarios/new",
            {"action": "s0:remove:{}", "steps": "1", "s0-step": "submit", "s0-templates": "{}"},
        ),
        ("rollout/canary", {"action": "remove:{}", "stages": "{}"}),
        ("submit", {"action": "remove:{}", "templates": "{}"}),
        ("submit", {"action": "remove-resource:{}:{}", "templates": "1"}),
    ],
)
def test_a_number_in_a_form_that_is_none_is_no_failure(
    path: str, fields: dict[str, str], number: str, cluster: Cluster, signed_in: Callable[..., Client]
) -> None:
    user = signed_in("view_cluster", "run_scenario", "operate_cluster", "switch_gate")
    form = {name: value.replace("{}", number) for name, value in fields.items()}

    assert user.post(f"/c/demo/{path}", form).status_code in (200, 422)


@pytest.mark.parametrize("field", ["key", "value"])
def test_a_nul_in_the_form_of_a_lost_domain_names_no_domain(
    field: str, operator: Client, cluster: Cluster
) -> None:
    form = {"key": "topology.example.com/rack", "value": "r1", "lost": "1"} | {field: "a\0b"}

    assert operator.post(reverse("lost-domain", args=["demo"]), form).status_code == 404


def test_a_command_whose_id_holds_a_nul_is_carried_out(operator: Client, cluster: Cluster) -> None:
    response = operator.post(reverse("node-cordon", args=["demo", "n11"]), {"command_id": "a\0b"})

    assert response.status_code == 302


@pytest.mark.parametrize(
    "uid", ["x/y?z#\"<b>'&", "a/", "/a", "%2F", "é ü", ".", "..", "../..", "%252e", "x/end"]
)
def test_a_group_has_its_page_and_its_member_goes_whatever_the_uid(
    uid: str, operator: Client, cluster: Cluster
) -> None:
    group, pod = gang("odd", 1)
    pod["metadata"]["uid"] = uid
    manifests = dump(node("n11", "r1"), group, pod)
    import_cluster(name="demo", request=ImportRequest(data=manifests), actor="test")

    page = operator.get("/c/demo/podgroups/team-a/odd")
    address = reverse("member-delete", args=["demo", "team-a", "odd", uid])
    response = operator.post(address)

    assert page.status_code == 200 and f'action="{address}"' in page.content.decode()
    assert not {".", "..", "%2e"} & set(urlsplit(address).path.lower().split("/"))
    assert response.status_code == 302
    assert PodRow.objects.get(cluster=cluster, uid=uid).removed


def test_an_address_that_is_only_sent_to_has_a_page_that_says_so(operator: Client, cluster: Cluster) -> None:
    response = operator.get(reverse("node-cordon", args=["demo", "n11"]))

    assert response.status_code == 405
    assert response["Allow"] == "POST"
    assert "This address only takes what a form sends" in text(response)
