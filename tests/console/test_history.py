"""The history as pages: filters as chips, what a list covers, an event with causes and effects, exports."""

from __future__ import annotations

import html
import re

import pytest
from django.db import transaction
from django.test import Client

from scheduling.ledger import events as e
from scheduling.ledger import store
from scheduling.models import Cluster, Event
from scheduling.selectors import event_search
from scheduling.services.nodes import cordon
from tests.console.support import text


def seqs(page: str) -> list[int]:
    return [int(seq) for seq in re.findall(r'<tr><td class="n"><a href="/c/demo/history/(\d+)[?"]', page)]


def addresses(page: str, label: str) -> list[str]:
    """Where the links of that text lead."""
    return [html.unescape(found) for found in re.findall(rf'href="([^"]*)"[^>]*>{label}<', page)]


def placed(cluster: Cluster) -> Event:
    return Event.objects.get(stream_id=cluster.pk, type="PodGroupPlaced")


def state(viewer: Client, seq: int) -> str:
    return text(viewer.get(f"/c/demo/history/{seq}/state"))


# --- the list


def test_filters_in_use_stand_as_chips_that_take_them_away(viewer: Client, cluster: Cluster) -> None:
    page = viewer.get("/c/demo/history?type=NodeAdded&name=n11&subject=&actor=").content.decode()

    chips = re.findall(r'<a class="chip" href="([^"]*)" aria-label="([^"]*)"', page)
    assert [(html.unescape(address), label) for address, label in chips] == [
        ("/c/demo/history?name=n11", "Remove the filter Type: node added"),
        ("/c/demo/history?type=NodeAdded", "Remove the filter Name: n11"),
    ]


def test_times_in_links_have_their_zone_and_the_form_shows_them_in_the_readers(
    viewer: Client, cluster: Cluster
) -> None:
    viewer.cookies["tas_zone"] = "Asia/Tokyo"
    page = viewer.get("/c/demo/history?since=2020-01-01T09:00&name=n11").content.decode()
    (address,) = [
        found for found in re.findall(r'href="([^"]*)"', page) if "name=n11" not in found and "since" in found
    ]

    assert address == "/c/demo/history?since=2020-01-01T09%3A00%3A00%2B09%3A00"
    viewer.cookies["tas_zone"] = "UTC"
    again = viewer.get(address).content.decode()
    assert 'name="since" value="2020-01-01T00:00:00"' in again
    assert "From: <b>2020-01-01 00:00:00 UTC</b>" in again
    assert "Times are in UTC." in again


def test_the_list_says_what_it_covers(viewer: Client, cluster: Cluster) -> None:
    last = Event.objects.filter(stream_id=cluster.pk).latest("seq").seq

    def covers(query: str) -> str:
        page = viewer.get(f"/c/demo/history?{query}").content.decode()
        found = re.search(r'<p class="covers" role="status">(.*?)</p>', page, re.S)
        assert found is not None
        return " ".join(re.sub(r"<[^>]+>| \(.*?\)", "", found[1], flags=re.S).split())

    assert covers("") == f"Shows all that match of events 1 to {last}: {last} events."
    assert covers("type=PodGroupPlaced") == f"Shows all that match of events 1 to {last}: 1 event."
    assert covers("first=3&last=5") == "Shows all that match of events 3 to 5: 3 events."
    assert covers("first=100000") == "The log has no event in these bounds."


def test_a_long_list_says_how_many_it_shows_of_more_and_goes_both_ways(
    viewer: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduling.console.views.history.PAGE", 5)
    last = Event.objects.filter(stream_id=cluster.pk).latest("seq").seq
    first_page = viewer.get("/c/demo/history")

    assert "5 of more." in text(first_page)
    (older,) = addresses(first_page.content.decode(), "Older")
    assert addresses(first_page.content.decode(), "Newer") == []
    second = viewer.get(older).content.decode()
    assert seqs(second) == [last - 5, last - 6, last - 7, last - 8, last - 9]
    (newer,) = addresses(second, "Newer")
    assert f'data-next="{html.escape(newer)}"' in second
    back = viewer.get(newer).content.decode()
    assert seqs(back) == [last, last - 1, last - 2, last - 3, last - 4]
    assert addresses(back, "Newer") == []
    assert addresses(second, "Newest") == ["/c/demo/history"]
    oldest = viewer.get("/c/demo/history?before=3").content.decode()
    assert addresses(oldest, "Older") == []


def test_a_search_that_ended_early_says_so_and_goes_on(
    viewer: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_search, "FIRST_CHUNK", 8)
    monkeypatch.setattr(event_search, "MOST_LOOKED_AT", 8)
    last = Event.objects.filter(stream_id=cluster.pk).latest("seq").seq

    page = viewer.get("/c/demo/history?text=n22")
    said = " ".join(re.sub(r"\(.*?\)", "", text(page)).split())

    assert f"Searched events {last - 7} to {last} : 0 found. The rest is not searched yet. Go on" in said
    address = "/c/demo/history?text=n22"
    pages = 0
    while not seqs(page.content.decode()):
        (address,) = addresses(page.content.decode(), "Go on")
        page = viewer.get(address)
        pages += 1
    assert pages == 1 + (last - 8 - Event.objects.get(body__contains='"n22"', type="NodeAdded").seq) // 8


def test_an_export_has_the_filter_of_the_list(viewer: Client, cluster: Cluster) -> None:
    page = viewer.get("/c/demo/history?type=NodeAdded&before=4").content.decode()

    assert addresses(page, "CSV") == ["/c/demo/history.csv?type=NodeAdded"]
    assert addresses(page, "NDJSON") == ["/c/demo/history.ndjson?type=NodeAdded"]


def test_an_export_with_a_filter_that_cannot_be_read_leads_to_the_list(
    viewer: Client, cluster: Cluster
) -> None:
    answer = viewer.get("/c/demo/history.csv?since=yesterday")

    assert answer.status_code == 302
    assert answer["Location"] == "/c/demo/history?since=yesterday"


# --- one event


def test_previous_and_next_stay_in_the_list_that_led_here(viewer: Client, cluster: Cluster) -> None:
    nodes = [row.seq for row in Event.objects.filter(stream_id=cluster.pk, type="NodeAdded").order_by("seq")]
    listed = viewer.get("/c/demo/history?type=NodeAdded").content.decode()
    assert f'href="/c/demo/history/{nodes[1]}?type=NodeAdded"' in listed

    page = viewer.get(f"/c/demo/history/{nodes[1]}?type=NodeAdded").content.decode()

    assert addresses(page, "Previous") == [f"/c/demo/history/{nodes[0]}?type=NodeAdded"]
    assert addresses(page, "Next") == [f"/c/demo/history/{nodes[2]}?type=NodeAdded"]
    assert f'data-next="/c/demo/history/{nodes[2]}?type=NodeAdded"' in page
    assert 'href="/c/demo/history?type=NodeAdded">History, as filtered<' in page


def test_previous_and_next_about_the_same_object(viewer: Client, cluster: Cluster) -> None:
    cordon(cluster=cluster, node="n11", actor="ada")
    joined, cordoned = Event.objects.filter(stream_id=cluster.pk, name="n11").order_by("seq")

    first = viewer.get(f"/c/demo/history/{joined.seq}").content.decode()
    second = viewer.get(f"/c/demo/history/{cordoned.seq}").content.decode()

    assert addresses(first, "Next about it") == [f"/c/demo/history/{cordoned.seq}"]
    assert f'data-next-same="/c/demo/history/{cordoned.seq}"' in first
    assert addresses(second, "Previous about it") == [f"/c/demo/history/{joined.seq}"]
    assert addresses(second, "Next about it") == []


def test_the_causes_are_told_from_the_root_down_with_what_each_step_took(
    viewer: Client, cluster: Cluster
) -> None:
    last = placed(cluster)
    root = Event.objects.get(stream_id=cluster.pk, seq=last.cause)
    later = store.to_milliseconds(last.recorded_at) + 2_500
    with transaction.atomic():
        head = store.head(cluster.pk).seq
        event = [e.FeatureGateChanged("GangScheduling", True)]
        store.append(cluster.pk, head, event, actor="ada", command_id="x", now=later, cause=last.seq)

    page = viewer.get(f"/c/demo/history/{head + 1}")
    chain = re.search(r'<ol class="chain">(.*?)</ol>', page.content.decode(), re.S)

    assert chain is not None
    assert re.findall(r'href="/c/demo/history/(\d+)"', chain[1]) == [str(root.seq), str(last.seq)]
    assert "↓ led on after 2.5 s" in chain[1]
    assert "PodGroup team-a/fits: " in html.unescape(chain[1])
    led = text(viewer.get(f"/c/demo/history/{last.seq}"))
    assert "Feature gate GangScheduling was switched on." in led
    assert "No event led to it: test did it." in text(viewer.get("/c/demo/history/1"))


def test_what_an_event_led_to_comes_by_page(
    viewer: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduling.console.views.event.LED_TO", 2)
    with transaction.atomic():
        head = store.head(cluster.pk).seq
        gates = [e.FeatureGateChanged("GangScheduling", bool(number % 2)) for number in range(5)]
        store.append(cluster.pk, head, gates, actor="a", command_id="x", now=1_900_000_000_000, cause=2)
    address, seen = "/c/demo/history/2", []
    while True:
        page = viewer.get(address).content.decode()
        seen += seqs(page)
        if not (more := addresses(page, "More")):
            break
        address = "/c/demo/history/2" + more[0].partition("#")[0]

    assert seen == [head + 1, head + 2, head + 3, head + 4, head + 5]


def test_an_event_links_to_its_command_its_actor_and_its_object(viewer: Client, cluster: Cluster) -> None:
    event = placed(cluster)
    page = viewer.get(f"/c/demo/history/{event.seq}").content.decode()

    assert f"/c/demo/history?command={event.command_id}" in page
    assert addresses(page, "all events by this actor") == ["/c/demo/history?actor=scheduler"]
    assert addresses(page, "all events about it") == [
        "/c/demo/history?subject=podgroup&namespace=team-a&name=fits"
    ]
    listed = viewer.get(f"/c/demo/history?command={event.command_id}").content.decode()
    assert event.seq in seqs(listed)


def test_before_and_after_of_a_placement(viewer: Client, cluster: Cluster) -> None:
    event = placed(cluster)
    said = state(viewer, event.seq)

    assert "status pending scheduled" in said
    assert "onNodes 0 2" in said
    assert re.search(r"fits-0 – n\d\d fits-1 – n\d\d", said)
    assert "GPUs in use 16/40" in said
    page = viewer.get(f"/c/demo/history/{event.seq}/state").content.decode()
    assert f"/c/demo/map?at={event.seq}" in page
    assert f"/c/demo/compare?a={event.seq - 1}&amp;b={event.seq}" in page
    whole = viewer.get(f"/c/demo/history/{event.seq}").content.decode()
    assert f'hx-get="/c/demo/history/{event.seq}/state"' in whole


def test_before_and_after_of_a_cordon_marks_the_one_field(viewer: Client, cluster: Cluster) -> None:
    cordon(cluster=cluster, node="n11", actor="ada")
    head = store.head(cluster.pk).seq
    page = viewer.get(f"/c/demo/history/{head}/state").content.decode()

    changed = re.findall(r'<tr class="is-changed"><th scope="row" class="mono">(.*?)</th>(.*?)\s*</tr>', page)
    assert changed == [("unschedulable", "<td><del>no</del></td><td><ins>yes</ins></td>")]
    assert "allocatable[memory] 256 GiB 256 GiB" in state(viewer, head)


def test_an_event_of_a_newer_console_is_told_as_such_on_every_page(
    viewer: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = placed(cluster)
    monkeypatch.setattr(e.PodGroupPlaced, "VERSION", 0)
    sentence = (
        "A newer version of the console wrote this event (PodGroupPlaced, version 2); "
        "this one cannot read it, and decides nothing on it."
    )

    page = text(viewer.get(f"/c/demo/history/{event.seq}"))

    assert sentence in page
    assert "assignments" in page
    assert sentence in text(viewer.get("/c/demo/history"))
    assert (
        "The state of this moment cannot be told here, because a newer version of the console wrote to the "
        f"log: event {event.seq}: the log holds PodGroupPlaced in version 2; this version of the console "
        "knows it up to 0."
    ) in state(viewer, event.seq)
    assert "cannot be told here" in text(viewer.get(f"/c/demo/compare?a=1&b={event.seq}"))


def test_a_log_that_leads_nowhere_is_told_with_the_command_that_finds_out(
    viewer: Client, cluster: Cluster
) -> None:
    with transaction.atomic():
        head = store.head(cluster.pk).seq
        event = [e.NodeUpdated("nobody", "u", (("ready", False),))]
        store.append(cluster.pk, head, event, actor="a", command_id="x", now=1_900_000_000_000)

    assert (
        "The log does not lead to a state here: node nobody (u) changed, but it is not there. "
        "Run manage.py verify_log to find what is wrong."
    ) in state(viewer, head + 1)


# --- two moments


def test_two_moments_as_a_list(viewer: Client, cluster: Cluster) -> None:
    event = placed(cluster)
    page = viewer.get(f"/c/demo/compare?a={event.seq - 1}&b={event.seq}")
    said = text(page)

    told = "team-a/fits was placed. 2 pods were bound to nodes: team-a/fits-0, team-a/fits-1. GPUs in use: 16"
    assert f"{told} of 40, before 0 of 40." in said
    assert "1 event in between" in said
    assert "status pending scheduled" in said
    assert re.search(r"r\d 0/16 16/16 16 0", said)
    body = page.content.decode()
    between = (
        f"/c/demo/history?subject=podgroup&namespace=team-a&name=fits&first={event.seq}&last={event.seq}"
    )
    assert addresses(body, "events in between") == [between]
    assert f"/c/demo/map?at={event.seq}&amp;against={event.seq - 1}" in body
    assert seqs(viewer.get(between).content.decode()) == [event.seq]


def test_two_moments_given_the_later_one_first_are_told_in_order(viewer: Client, cluster: Cluster) -> None:
    event = placed(cluster)
    said = text(viewer.get(f"/c/demo/compare?a={event.seq}&b={event.seq - 1}"))

    assert "The later moment was given first; the two are told in the order of time." in said
    assert "team-a/fits was placed." in said


def test_a_moment_against_itself_does_not_differ(viewer: Client, cluster: Cluster) -> None:
    said = text(viewer.get("/c/demo/compare?a=5&b=5"))

    assert "Nothing differs between the two moments." in said
    assert "None of this kind." in said


def test_a_sentence_leads_to_the_objects_that_it_is_about(viewer: Client, cluster: Cluster) -> None:
    page = viewer.get("/c/demo/compare?a=1").content.decode()
    (address,) = addresses(page, "2 pods were bound to nodes: .*?")

    listed = viewer.get(address).content.decode()

    assert re.findall(r'rowspan="\d+">(team-a/[\w-]+)<br>', listed) == ["team-a/fits-0", "team-a/fits-1"]


def test_a_long_difference_comes_by_page(
    viewer: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduling.console.views.compare.ROWS", 2)
    address, seen = "/c/demo/compare?a=1&show=pod", []
    while True:
        page = viewer.get(address).content.decode()
        seen += re.findall(r'rowspan="\d+">(team-a/[\w-]+)<br>', page)
        if not (more := addresses(page, "Next")):
            break
        address = more[0]

    assert seen == [f"team-a/{name}" for name in ("fits-0", "fits-1", "wide-0", "wide-1", "wide-2")]
    assert "5 to 5 of 5" in text(viewer.get(address))


def test_what_is_no_moment_is_told_at_its_field(viewer: Client, cluster: Cluster) -> None:
    page = viewer.get("/c/demo/compare?a=soon&b=100000")
    head = store.head(cluster.pk).seq

    assert page.status_code == 200
    assert "“soon” is neither the number of an event nor a time such as 2026-11-29T16:24:07+09:00." in text(
        page
    )
    assert f"100000 lies after the head of the log, event {head}." in text(page)
    assert 'id="id_a-errors"' in page.content.decode()


def test_usual_comparisons_are_offered_as_far_as_the_log_goes(viewer: Client, cluster: Cluster) -> None:
    page = viewer.get("/c/demo/compare").content.decode()
    imported = Event.objects.get(stream_id=cluster.pk, type="SnapshotImported").seq

    assert addresses(page, "the last import and now") == [f"/c/demo/compare?a={imported}"]
    assert addresses(page, "1 hour ago and now") == []
    assert viewer.get(f"/c/demo/compare?a={imported}").status_code == 200
