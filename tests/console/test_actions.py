"""What the buttons do: each calls its service, writes its event under the user's name, and says what came
of it.
"""

from __future__ import annotations

import pytest
from django.test import Client

from scheduling.models import ApiToken, Cluster, Event, PodRow
from scheduling.services import tokens
from scheduling.services.clusters import set_mode
from tests.console.support import text


def last_event(cluster: Cluster) -> Event:
    return Event.objects.filter(stream_id=cluster.pk).latest("seq")


def test_cordon_and_uncordon(operator: Client, cluster: Cluster) -> None:
    page = operator.post("/c/demo/nodes/n21/cordon", follow=True)

    assert "Node n21 was cordoned." in text(page)
    assert last_event(cluster).type == "NodeUpdated"
    assert last_event(cluster).actor.startswith("user-")

    page = operator.post("/c/demo/nodes/n21/uncordon", follow=True)

    assert "Node n21 was uncordoned." in text(page)
    assert "✓" not in text(page)


def test_ending_a_group_closes_it_and_frees_its_nodes(operator: Client, cluster: Cluster) -> None:
    page = operator.post("/c/demo/podgroups/team-a/fits/end", follow=True)

    assert "PodGroup team-a/fits was ended." in text(page)
    assert "ended by a person" in text(page)
    assert not PodRow.objects.filter(cluster=cluster, group="fits", removed=False).exists()
    assert Event.objects.filter(type="PodGroupClosed", name="fits").count() == 1


def test_deleting_a_member_makes_another_one(operator: Client, cluster: Cluster) -> None:
    member = PodRow.objects.filter(cluster=cluster, group="fits", removed=False).first()
    assert member is not None

    page = operator.post(f"/c/demo/podgroups/team-a/fits/pods/{member.uid}/delete", follow=True)

    assert "The member was deleted" in text(page)
    now = PodRow.objects.filter(cluster=cluster, group="fits", removed=False)
    assert now.count() == 2
    assert member.uid not in now.values_list("uid", flat=True)


@pytest.mark.parametrize(
    "path",
    [
        "/c/demo/nodes/n21/cordon",
        "/c/demo/podgroups/team-a/fits/end",
        "/c/demo/podgroups/team-a/fits/pods/no-such-uid/delete",
    ],
)
def test_what_the_service_refuses_is_said_on_the_page_and_changes_nothing(
    path: str, operator: Client, cluster: Cluster
) -> None:
    set_mode(cluster=cluster, mode="observed", actor="test")
    before = last_event(cluster).seq

    page = operator.post(path, follow=True)

    assert page.status_code == 200
    assert 'role="alert"' in page.content.decode()
    assert last_event(cluster).seq == before


def test_a_gate_is_asked_about_before_it_is_switched(admin: Client, cluster: Cluster) -> None:
    asked = text(admin.get("/c/demo/gates/GangScheduling"))
    assert "Switch GangScheduling off?" in asked
    assert "The one-domain law will no longer be enforced in this cluster." in asked
    assert "2 open PodGroups carry a constraint." in asked

    page = admin.post("/c/demo/gates/GangScheduling", {"enabled": "0"}, follow=True)

    assert "Feature gate GangScheduling was switched off." in text(page)
    assert last_event(cluster).type == "FeatureGateChanged"
    assert "From now on minCount members fit in one domain" in text(admin.get("/c/demo/gates/GangScheduling"))


def test_a_second_gate_that_is_off_is_named_when_one_is_switched_on(admin: Client, cluster: Cluster) -> None:
    for gate in ("GangScheduling", "GenericWorkload"):
        admin.post(f"/c/demo/gates/{gate}", {"enabled": "0"})

    assert "The law stays off: GenericWorkload is off too." in text(admin.get("/c/demo/gates/GangScheduling"))


def test_the_mode_is_asked_about_before_it_is_changed(admin: Client, cluster: Cluster) -> None:
    assert "Make the cluster observed?" in text(admin.get("/c/demo/mode"))

    page = admin.post("/c/demo/mode", {"mode": "observed"}, follow=True)

    assert "The cluster became observed." in text(page)
    assert last_event(cluster).type == "ClusterModeChanged"
    assert "1 PodGroup waits and would be decided at once." in text(admin.get("/c/demo/mode"))


def test_an_unknown_mode_is_refused(admin: Client, cluster: Cluster) -> None:
    page = admin.post("/c/demo/mode", {"mode": "dreaming"}, follow=True)

    assert 'role="alert"' in page.content.decode()
    cluster.refresh_from_db()
    assert cluster.mode == "simulated"


def test_a_token_is_shown_once_works_and_can_be_taken_back(viewer: Client) -> None:
    page = viewer.post("/settings/tokens", {"name": "export", "days": "7"})
    shown = text(page).split("Copy the token now; it is not shown again. ")[1].split()[0]
    assert page["Cache-Control"] == "no-store"
    assert tokens.authenticate(shown) is not None
    assert shown not in viewer.get("/settings").content.decode()

    row = ApiToken.objects.get(name="export")
    page = viewer.post(f"/settings/tokens/{row.pk}/revoke", follow=True)

    assert "The token was revoked." in text(page)
    assert tokens.authenticate(shown) is None


def test_nobody_takes_back_anothers_token(viewer: Client, operator: Client) -> None:
    operator.post("/settings/tokens", {"name": "theirs", "days": "0"})
    row = ApiToken.objects.get(name="theirs")

    page = viewer.post(f"/settings/tokens/{row.pk}/revoke", follow=True)

    assert "You have no such token." in text(page)
    assert ApiToken.objects.filter(pk=row.pk).exists()


def test_a_token_without_a_name_is_refused_at_the_field(viewer: Client) -> None:
    page = viewer.post("/settings/tokens", {"name": " ", "days": "7"})

    assert page.status_code == 422
    assert 'id="id_name-errors"' in page.content.decode()


@pytest.mark.parametrize(
    ("zone", "cookie", "shown"),
    [
        ("UTC", "", "UTC"),
        ("Asia/Tokyo", "", "JST"),
        ("browser", "Europe/Athens", "EET"),
        ("browser", "No/Such", "UTC"),
        ("Mars", "", "UTC"),
    ],
)
def test_times_are_shown_in_the_zone_that_was_chosen(
    zone: str, cookie: str, shown: str, viewer: Client, cluster: Cluster
) -> None:
    viewer.cookies["tas_browser_zone"] = cookie
    viewer.post("/settings/zone", {"zone": zone})

    times = viewer.get("/c/demo/history/1").content.decode()

    assert f" {shown}</time>" in times or f" {shown.replace('EET', 'EEST')}</time>" in times


def test_the_language_switch_leads_back_to_the_same_page(viewer: Client, cluster: Cluster) -> None:
    page = viewer.post(
        "/i18n/setlang/", {"language": "ja", "next": "/c/demo/history?type=NodeAdded"}, follow=True
    )

    assert page.redirect_chain == [("/c/demo/history?type=NodeAdded", 302)]
    assert "監査履歴" in text(page)
