"""Pages of the past say what was true then and that it is the past; nothing can be changed from there."""

from __future__ import annotations

import pytest
from django.test import Client

from scheduling.ledger import store
from scheduling.models import Cluster, Event
from scheduling.selectors import past_states
from scheduling.services.clusters import set_gate
from scheduling.services.nodes import cordon
from tests.console.support import RACK, text


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    past_states.clear()


def event(cluster: Cluster, type_name: str, name: str) -> int:
    return Event.objects.get(stream_id=cluster.pk, type=type_name, name=name).seq


def test_the_page_says_which_moment_it_shows_and_how_far_live_is(cluster: Cluster, viewer: Client) -> None:
    placed = event(cluster, "PodGroupPlaced", "fits")
    said = text(viewer.get(f"/c/demo/map?at={placed}"))
    assert f"event {placed}" in said
    assert "Live has moved on by 1 event." in said
    assert "Back to live" in said
    recorded = Event.objects.get(stream_id=cluster.pk, seq=placed).recorded_at
    assert f"{recorded:%Y-%m-%d %H:%M:%S} UTC" in said
    assert "fits: 2 of 2 members are in rack" in said, "the sentence of the event"


def test_headline_numbers_are_of_the_moment(cluster: Cluster, viewer: Client) -> None:
    placed = event(cluster, "PodGroupPlaced", "fits")
    assert "GPUs in use / all 0 / 40" in text(viewer.get(f"/c/demo/map?at={placed - 1}"))
    assert "GPUs in use / all 16 / 40" in text(viewer.get(f"/c/demo/map?at={placed}"))


def test_nothing_that_is_true_only_now_stands_beside_the_past(cluster: Cluster, operator: Client) -> None:
    page = operator.get("/c/demo/map?at=5").content.decode()
    assert 'href="/c/demo/submit"' not in page
    assert "pending/count" not in page and "gates-banner" not in page
    assert "data-ws-url" not in page.partition("<main")[0]


def test_the_gates_are_those_of_the_moment(cluster: Cluster, viewer: Client) -> None:
    before = store.head(cluster.pk).seq
    set_gate(cluster=cluster, gate="GangScheduling", enabled=False, actor="test")
    off = "TAS is off: constraint not enforced"
    assert off in text(viewer.get("/c/demo/map"))
    assert off not in text(viewer.get(f"/c/demo/map?at={before}&pg=team-a/wide"))
    assert off in text(viewer.get(f"/c/demo/map?at={before + 1}"))
    part = viewer.get(f"/c/demo/map/group?at={before + 1}").content.decode()
    assert off in part and 'id="past-state" class="contents" hx-swap-oob="true"' in part


def test_a_group_is_told_as_it_stood_with_the_decision_until_then(cluster: Cluster, viewer: Client) -> None:
    placed = event(cluster, "PodGroupPlaced", "fits")
    refused = event(cluster, "PodGroupUnschedulable", "wide")
    before = text(viewer.get(f"/c/demo/map/group?at={placed - 1}&pg=team-a/fits"))
    assert f"As of event {placed - 1}," in before
    assert "2 of 2 members would be in rack" in before and "Last decision until then" not in before
    after = text(viewer.get(f"/c/demo/map/group?at={placed}&pg=team-a/fits"))
    assert "2 of 2 members are in rack" in after and f"event {placed}" in after
    waits = text(viewer.get(f"/c/demo/map/group?at={refused}&pg=team-a/wide"))
    assert "Last decision until then: PodGroup team-a/wide: " in waits and f"event {refused}" in waits
    assert "What would make it run" not in waits


def test_a_group_that_was_not_there_yet_is_told_so(cluster: Cluster, viewer: Client) -> None:
    said = text(viewer.get("/c/demo/map/group?at=1&pg=team-a/fits"))
    assert "There was no PodGroup team-a/fits then." in said and "No PodGroup waited." in said


def test_the_aside_follows_the_address_of_the_page(cluster: Cluster, viewer: Client) -> None:
    headers = {"hx-request": "true", "hx-current-url": "http://testserver/c/demo/map?at=1&pg=team-a/fits"}
    assert "As of event 1," in text(viewer.get("/c/demo/map/group", headers=headers))
    headers["hx-current-url"] = "http://testserver/c/demo/map?at=soon"
    assert "“soon” is neither" in text(viewer.get("/c/demo/map/group", headers=headers))


def test_the_table_is_of_the_moment_and_keeps_it(cluster: Cluster, viewer: Client) -> None:
    before = store.head(cluster.pk).seq
    live = viewer.get(f"/c/demo/map?view=table&key={RACK}")
    cordon(cluster=cluster, node="n11", actor="test")
    past = viewer.get(f"/c/demo/map?view=table&key={RACK}&at={before}")
    rows = [text_of_rows(page.content.decode()) for page in (live, past)]
    assert rows[0] == rows[1]
    page = past.content.decode()
    assert f'<input type="hidden" name="at" value="{before}">' in page
    assert f"?at={before}&amp;sel=domain%3Ar1&amp;key=" in page


def text_of_rows(page: str) -> list[str]:
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    return [row.partition("</a>")[2] for row in body.split("<tr>")[1:]]


@pytest.mark.parametrize(
    ("query", "language", "said"),
    [
        ("at=soon", "en", "“soon” is neither the number of an event nor a time such as"),
        ("at=", "en", "“” is neither the number of an event nor a time such as"),
        ("at=99999", "en", "99999 lies after the head of the log, event "),
        ("at=3&against=0", "en", "0 lies before the first event of the log."),
        ("at=0", "ja", "0 はログの最初のイベントより前です。"),
    ],
)
def test_what_is_no_moment_is_404_with_a_sentence_and_a_form(
    cluster: Cluster, viewer: Client, query: str, language: str, said: str
) -> None:
    response = viewer.get(f"/c/demo/map?{query}", headers={"accept-language": language})
    assert response.status_code == 404
    assert said in text(response)
    assert 'name="at"' in response.content.decode()


def test_two_moments_name_each_other_and_the_list(cluster: Cluster, viewer: Client) -> None:
    page = viewer.get("/c/demo/map?at=9&against=3")
    assert "what is different at event 9" in text(page) and "from event 3" in text(page)
    assert '/c/demo/compare?a=3&amp;b=9"' in page.content.decode()


def test_an_event_leads_to_the_map_at_it(cluster: Cluster, viewer: Client) -> None:
    page = viewer.get("/c/demo/history/5/state").content.decode()
    assert 'href="/c/demo/map?at=5"' in page and 'href="/c/demo/map?at=5&amp;against=4"' in page
    first = viewer.get("/c/demo/history/1/state").content.decode()
    assert "against=" not in first


def test_the_live_map_leads_to_the_past(cluster: Cluster, viewer: Client) -> None:
    head = store.head(cluster.pk).seq
    assert f'id="map-past" href="?at={head}"' in viewer.get("/c/demo/map").content.decode()
