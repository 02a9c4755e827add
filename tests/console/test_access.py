"""Who may see and do what: one table over every address of the console, so that no page can be forgotten."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from scheduling.console.urls import urlpatterns
from scheduling.models import Cluster, PodRow
from tests.console.support import RACK

VIEW, OPERATE, SWITCH, RUN = "view_cluster", "operate_cluster", "switch_gate", "run_scenario"
SIGNED_IN = ""
"""In the place of a permission: everybody who has signed in may."""
GROUP = ["demo", "team-a", "fits"]
WAITING = ["demo", "team-a", "wide"]

PAGES: dict[str, tuple[str, list[object], str, int]] = {
    # name: (permission, arguments, query, status of a GET)
    "home": (VIEW, [], "", 302),
    "clusters": (VIEW, [], "", 200),
    "import": (OPERATE, [], "", 200),
    "make-demo": (OPERATE, [], "", 302),
    "cluster": (VIEW, ["demo"], "", 302),
    "map": (VIEW, ["demo"], "", 200),
    "map-group": (VIEW, ["demo"], "?pg=team-a/wide", 200),
    "pending": (VIEW, ["demo"], "", 200),
    "pending-count": (VIEW, ["demo"], "", 200),
    "pod-groups": (VIEW, ["demo"], "", 200),
    "pod-group": (VIEW, GROUP, "", 200),
    "pod-group-generation": (VIEW, [*GROUP, 1], "", 200),
    "pod-group-end": (OPERATE, GROUP, "", 405),
    "pod-group-changes": (VIEW, WAITING, "", 200),
    "pod-group-upstream": (VIEW, WAITING, "", 200),
    "pod-group-wait": (OPERATE, WAITING, "", 200),
    "pod-group-restore": (OPERATE, WAITING, "", 200),
    "pod-group-next": (OPERATE, WAITING, "", 200),
    "lost-domain": (OPERATE, ["demo"], f"?key={RACK}&value=r1", 200),
    "wait-policy": (OPERATE, ["demo"], "", 200),
    "member-delete": (OPERATE, [*GROUP, "uid"], "", 405),
    "domains": (VIEW, ["demo"], f"?key={RACK}", 200),
    "domain": (VIEW, ["demo", "r1"], f"?key={RACK}", 200),
    "nodes": (VIEW, ["demo"], "", 200),
    "node": (VIEW, ["demo", "n11"], "", 200),
    "node-cordon": (OPERATE, ["demo", "n11"], "", 405),
    "node-uncordon": (OPERATE, ["demo", "n11"], "", 405),
    "reservations": (VIEW, ["demo"], "", 200),
    "reservation-release": (OPERATE, ["demo", "r-1"], "", 405),
    "queues": (VIEW, ["demo"], "", 200),
    "queue-remove": (OPERATE, ["demo", "q"], "", 405),
    "canary": (VIEW, ["demo"], "", 200),
    "canary-action": (SWITCH, ["demo", "canary-9", "stop"], "", 405),
    "runs": (VIEW, ["demo"], "", 200),
    "run": (VIEW, ["demo", 1], "", 404),
    "run-cancel": (RUN, ["demo", 1], "", 405),
    "rollout": (VIEW, ["demo"], "", 200),
    "rehearse": (RUN, ["demo"], "", 405),
    "rehearsal-csv": (VIEW, ["demo", 1], "", 404),
    "advice": (VIEW, ["demo"], "?group=team-a/wide", 200),
    "rollout-fact": (SWITCH, ["demo"], "", 405),
    "trace-export": (VIEW, ["demo", 1, "series.csv"], "", 404),
    "traces": (VIEW, ["demo"], "", 200),
    "run-table": (VIEW, ["demo", 1], "", 404),
    "run-point": (VIEW, ["demo", 1, 0], "", 404),
    "batches": (VIEW, ["demo"], "", 200),
    "batch-new": (RUN, ["demo"], "", 200),
    "matrix": (VIEW, ["demo"], "", 200),
    "scenarios": (VIEW, ["demo"], "", 200),
    "scenario-new": (RUN, ["demo"], "", 200),
    "scenario-names": (VIEW, ["demo", "nodes"], "?s0-node=n1", 200),
    "scenario": (VIEW, ["demo", "what-if"], "", 404),
    "scenario-edit": (RUN, ["demo", "what-if"], "", 404),
    "scenario-run": (RUN, ["demo", "what-if"], "", 405),
    "scenario-remove": (RUN, ["demo", "what-if"], "", 405),
    "run-again": (RUN, ["demo", 1], "", 405),
    "run-reality": (VIEW, ["demo", 1], "", 404),
    "run-compare": (VIEW, ["demo", 1], "", 404),
    "run-group": (VIEW, ["demo", 1, "team-a", "fits"], "", 404),
    "history": (VIEW, ["demo"], "", 200),
    "history-csv": (VIEW, ["demo"], "", 200),
    "history-ndjson": (VIEW, ["demo"], "", 200),
    "event": (VIEW, ["demo", 1], "", 200),
    "event-state": (VIEW, ["demo", 1], "", 200),
    "compare": (VIEW, ["demo"], "", 200),
    "capacity": (VIEW, ["demo"], "", 200),
    "node-types": (OPERATE, ["demo"], "", 405),
    "node-type-remove": (OPERATE, ["demo", "big"], "", 405),
    "scale-up-plan": (OPERATE, ["demo"], "", 405),
    "scale-up-approve": (OPERATE, ["demo", "scale-up-1"], "", 405),
    "scale-up-reject": (OPERATE, ["demo", "scale-up-1"], "", 405),
    "scale-up-join": (OPERATE, ["demo", "scale-up-1"], "", 405),
    "scale-up-export": (VIEW, ["demo", "scale-up-1", "node-pools"], "", 404),
    "preemption": (VIEW, ["demo"], "", 200),
    "preemption-policy": (SWITCH, ["demo"], "", 405),
    "preemption-propose": (OPERATE, WAITING, "", 405),
    "preemption-approve": (OPERATE, ["demo", "p9"], "", 405),
    "preemption-reject": (OPERATE, ["demo", "p9"], "", 405),
    "submit": (OPERATE, ["demo"], "", 200),
    "cluster-settings": (VIEW, ["demo"], "", 200),
    "gates-banner": (VIEW, ["demo"], "", 200),
    "gate": (SWITCH, ["demo", "GangScheduling"], "", 200),
    "mode": (SWITCH, ["demo"], "", 200),
    "settings": (SIGNED_IN, [], "", 200),
    "choose-zone": (SIGNED_IN, [], "", 405),
    "token-create": (SIGNED_IN, [], "", 405),
    "token-revoke": (SIGNED_IN, [1], "", 405),
}
VARIANTS = {
    "map as a table": ("map", "?view=table"),
    "map with a group": ("map", "?pg=team-a/wide"),
    "map of the past": ("map", "?at=9&pg=team-a/wide"),
    "map of the past as a table": ("map", "?at=9&view=table"),
    "two moments on the map": ("map", "?at=9&against=3"),
    "group of the past beside the map": ("map-group", "?at=9&pg=team-a/wide"),
    "all domains": ("pod-group", "?domains=all"),
    "group as YAML": ("pod-group", "?tab=yaml"),
    "submit YAML": ("submit", "?tab=yaml"),
}
EVERY = [
    *((name, name, PAGES[name][2]) for name in PAGES),
    *((label, name, query) for label, (name, query) in VARIANTS.items()),
]


def address(name: str, query: str = "") -> str:
    return reverse(name, args=PAGES[name][1]) + query


def test_every_address_of_the_console_is_in_the_table() -> None:
    assert {pattern.name for pattern in urlpatterns} == set(PAGES)


@pytest.mark.parametrize(("label", "name", "query"), EVERY)
@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_user_with_the_permission_is_answered(
    label: str, name: str, query: str, language: str, cluster: Cluster, signed_in: Callable[..., Client]
) -> None:
    client = signed_in(VIEW, PAGES[name][0])

    response = client.get(address(name, query), headers={"accept-language": language})

    assert response.status_code == PAGES[name][3]
    if response.status_code == 200 and not response.streaming and b"<html" in response.content:
        assert f'<html lang="{language}"' in response.content.decode()


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page[0] != SIGNED_IN])
@pytest.mark.parametrize("method", ["get", "post"])
def test_without_the_permission_the_answer_is_403_whatever_the_method(
    name: str, method: str, cluster: Cluster, signed_in: Callable[..., Client]
) -> None:
    others = {VIEW, OPERATE, SWITCH, RUN} - {PAGES[name][0]}
    client = signed_in(*others)

    response = getattr(client, method)(address(name, PAGES[name][2]))

    assert response.status_code in (403, 405)
    if response.status_code == 405:
        allowed = "post" if method == "get" else "get"
        assert getattr(client, allowed)(address(name, PAGES[name][2])).status_code == 403


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page[0] == SIGNED_IN])
def test_pages_about_oneself_are_for_every_user(
    name: str, cluster: Cluster, signed_in: Callable[..., Client]
) -> None:
    client = signed_in()
    method = client.post if PAGES[name][3] == 405 else client.get

    assert method(address(name)).status_code in (200, 302, 422)


def test_a_user_without_a_role_learns_no_cluster_and_can_sign_out(
    cluster: Cluster, signed_in: Callable[..., Client]
) -> None:
    client = signed_in()

    for path, status in (("/settings", 200), ("/clusters/", 403), ("/c/demo/map", 403)):
        page = client.get(path)
        assert page.status_code == status
        assert "demo" not in page.content.decode()
        assert 'action="/logout/"' in page.content.decode()
    assert client.post("/logout/").status_code == 302
    assert client.get("/settings").status_code == 302


@pytest.mark.parametrize("path", ["/clusters/", "/c/demo/map", "/c/demo/pending", "/settings"])
def test_every_page_has_one_button_to_sign_out(path: str, cluster: Cluster, viewer: Client) -> None:
    assert viewer.get(path).content.decode().count('action="/logout/"') == 1


@pytest.mark.parametrize("name", PAGES)
def test_a_stranger_is_led_to_the_sign_in_page(name: str, cluster: Cluster, client: Client) -> None:
    method = client.post if PAGES[name][3] == 405 else client.get

    response = method(address(name))

    assert response.status_code == 302
    assert response["Location"].startswith("/login/?next=")


def test_a_part_of_a_page_sends_the_whole_page_to_the_sign_in(cluster: Cluster, client: Client) -> None:
    headers = {"hx-request": "true", "hx-current-url": "http://testserver/c/demo/pending?after=x"}

    response = client.get("/c/demo/pending", headers=headers)

    assert response.status_code == 401
    assert response["HX-Redirect"] == "/login/?next=%2Fc%2Fdemo%2Fpending%3Fafter%3Dx"


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page[1][:1] == ["demo"]])
def test_an_unknown_cluster_is_404(name: str, cluster: Cluster, signed_in: Callable[..., Client]) -> None:
    client = signed_in(VIEW, PAGES[name][0])
    unknown = reverse(name, args=["nowhere", *PAGES[name][1][1:]])
    method = client.post if PAGES[name][3] == 405 else client.get

    response = method(unknown)

    assert response.status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/c/demo/podgroups/team-a/nothing",
        "/c/demo/podgroups/team-a/fits/g/7",
        "/c/demo/nodes/nothing",
        f"/c/demo/domains/nothing?key={RACK}",
        "/c/demo/history/100000",
        "/c/demo/gates/NoSuchGate",
    ],
)
def test_an_object_that_is_not_there_is_404(path: str, cluster: Cluster, admin: Client) -> None:
    assert admin.get(path).status_code == 404


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page[3] == 405])
def test_a_form_from_another_site_changes_nothing(name: str, cluster: Cluster, admin: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = admin.cookies
    before = PodRow.objects.filter(cluster=cluster, removed=False).count()

    response = strict.post(address(name))

    assert response.status_code == 403
    assert PodRow.objects.filter(cluster=cluster, removed=False).count() == before
