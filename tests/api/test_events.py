"""The log over the API: pages, exports as CSV and NDJSON, causes and effects of an event, two moments."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application
from django.db import connections, transaction
from django.test import AsyncClient

from scheduling.api import event_export
from scheduling.ledger import events as e
from scheduling.ledger import store
from scheduling.models import Cluster, Event
from scheduling.selectors import event_search
from scheduling.services.cycles import run_cycle
from tests.api.support import Caller


@pytest.fixture
def scheduled(cluster: Cluster) -> Cluster:
    run_cycle(cluster.pk)
    return cluster


def export(viewer: Caller, query: str) -> tuple[Any, list[bytes]]:
    """The answer and its body, piece by piece."""

    @async_to_sync
    async def read() -> tuple[Any, list[bytes]]:
        headers = {"Authorization": f"Bearer {viewer.token}"}
        answer = await AsyncClient().get(f"/api/v1/clusters/demo/events?{query}", headers=headers)
        assert answer.streaming
        return answer, [chunk async for chunk in answer.streaming_content]

    return read()


def rows(chunks: list[bytes]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(chunks).decode("utf-8-sig"), newline="")))


def test_csv_has_the_events_that_ndjson_has(scheduled: Cluster, viewer: Caller) -> None:
    answer, chunks = export(viewer, "format=csv&type=PodGroupPlaced")
    (row,) = rows(chunks)
    (line,) = b"".join(export(viewer, "format=ndjson&type=PodGroupPlaced")[1]).splitlines()
    event = json.loads(line)

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert chunks[0].startswith(b"\xef\xbb\xbfseq,recorded_at,")
    assert tuple(row) == event_export.COLUMNS
    assert row["seq"] == str(event["seq"])
    assert row["cause"] == str(event["cause"])
    assert row["hash"] == event["hash"]
    assert row["sentence"] == event["sentence"]
    assert json.loads(row["body"]) == event["body"]
    assert row["recorded_at"].endswith("Z")


def test_the_name_of_a_file_tells_cluster_and_period(scheduled: Cluster, viewer: Caller) -> None:
    first, last = (
        Event.objects.order_by(order).values_list("recorded_at", flat=True)[0] for order in ("seq", "-seq")
    )

    answer, _ = export(viewer, "format=csv")
    empty, chunks = export(viewer, "format=csv&until=2020-01-01T00:00:00Z")

    period = f"{first:%Y%m%dT%H%M%SZ}-{last:%Y%m%dT%H%M%SZ}"
    assert answer["Content-Disposition"] == f'attachment; filename="demo-events-{period}.csv"'
    assert empty["Content-Disposition"] == 'attachment; filename="demo-events.csv"'
    assert rows(chunks) == []


@pytest.mark.parametrize("letter", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_a_spreadsheet_takes_for_a_formula_is_told_as_text(
    letter: str, cluster: Cluster, viewer: Caller
) -> None:
    actor = f"{letter}cmd|' /C calc'!A0"
    with transaction.atomic():
        head = store.head(cluster.pk).seq
        event = e.FeatureGateChanged("GangScheduling", False)
        store.append(cluster.pk, head, [event], actor=actor, command_id="x", now=2_000_000_000_000)

    row = rows(export(viewer, "format=csv&type=FeatureGateChanged")[1])[-1]

    assert row["actor"] == f"'{actor}"
    assert row["sentence"] == "Feature gate GangScheduling was switched off."


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_an_export_holds_one_batch_at_a_time_and_ends_where_the_log_was(
    form: str, scheduled: Cluster, viewer: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = store.head(scheduled.pk).seq
    monkeypatch.setattr(event_export, "BATCH", 4)
    asked: list[int] = []
    real = event_export.search

    def watched(*args: Any, **options: Any) -> Any:
        asked.append(options["limit"])
        if len(asked) == 2:
            with transaction.atomic():
                event = e.FeatureGateChanged("GangScheduling", False)
                now = 2_000_000_000_000
                store.append(scheduled.pk, head, [event], actor="a", command_id="late", now=now)
        found = real(*args, **options)
        assert len(found.items) <= 4
        return found

    monkeypatch.setattr(event_export, "search", watched)

    _, chunks = export(viewer, f"format={form}")

    lines = rows(chunks) if form == "csv" else [json.loads(line) for line in b"".join(chunks).splitlines()]
    assert [int(line["seq"]) for line in lines] == list(range(1, head + 1))
    assert asked == [4] * -(-head // 4)


def test_an_export_of_rare_events_goes_on_through_all_of_the_log(
    scheduled: Cluster, viewer: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_search, "FIRST_CHUNK", 3)
    monkeypatch.setattr(event_search, "MOST_LOOKED_AT", 3)

    lines = b"".join(export(viewer, "format=ndjson&actor=scheduler")[1]).splitlines()

    seqs = [json.loads(line)["seq"] for line in lines]
    assert seqs == list(
        Event.objects.filter(stream_id=scheduled.pk, actor="scheduler")
        .order_by("seq")
        .values_list("seq", flat=True)
    )
    assert len(seqs) == 2


@pytest.mark.parametrize("form", ["csv", "ndjson"])
@pytest.mark.django_db(transaction=True)
def test_a_reader_who_goes_away_ends_the_export(
    form: str, caller: Callable[..., Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the ASGI application itself: after the disconnect no further batch is read."""
    with transaction.atomic():
        stream = store.open_stream("cluster", "demo")
        Cluster.objects.create(
            stream_id=stream, name="demo", mode="simulated", created_at=store.to_datetime(0)
        )
        events = [e.FeatureGateChanged("GangScheduling", bool(number % 2)) for number in range(400)]
        store.append(stream, 0, events, actor="a", command_id="c", now=1_700_000_000_000)
    monkeypatch.setattr(event_export, "BATCH", 1)
    token = caller("view_cluster").token
    reads = iter(range(1_000_000))
    last = [0]
    opened: list[Any] = []
    real = event_export.search

    def counted(*args: Any, **options: Any) -> Any:
        last[0] = next(reads)
        opened.append(connections["default"])  # of the thread that answers
        return real(*args, **options)

    monkeypatch.setattr(event_export, "search", counted)

    @async_to_sync
    async def leave() -> int:
        scope = {
            "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": "/api/v1/clusters/demo/events", "query_string": f"format={form}".encode(),
            "headers": [(b"host", b"testserver"), (b"authorization", f"Bearer {token}".encode())],
        }  # fmt: skip
        reader = ApplicationCommunicator(get_asgi_application(), scope)
        await reader.send_input({"type": "http.request", "body": b"", "more_body": False})
        assert (await reader.receive_output(30))["status"] == 200
        for _ in range(5):
            await reader.receive_output(30)
        await reader.send_input({"type": "http.disconnect"})
        await reader.wait(30)
        return last[0]

    then = leave()

    opened[0].inc_thread_sharing()
    opened[0].close()
    assert 3 <= then < 399
    assert last[0] == then


def test_events_are_found_by_cause_and_by_command(scheduled: Cluster, viewer: Caller) -> None:
    placed = Event.objects.get(stream_id=scheduled.pk, type="PodGroupPlaced")

    by_cause = viewer("GET", f"/clusters/demo/events?cause={placed.cause}").json()
    by_command = viewer("GET", f"/clusters/demo/events?command={placed.command_id}").json()

    assert placed.seq in [event["seq"] for event in by_cause["items"]]
    assert {event["cause"] for event in by_cause["items"]} == {placed.cause}
    assert {event["command_id"] for event in by_command["items"]} == {placed.command_id}


def test_a_page_says_which_seqs_it_covers_and_where_to_go_on(
    scheduled: Cluster, viewer: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_search, "FIRST_CHUNK", 5)
    monkeypatch.setattr(event_search, "MOST_LOOKED_AT", 5)

    page = viewer("GET", "/clusters/demo/events?actor=nobody").json()

    assert page == {"items": [], "next": 5, "low": 1, "high": 5}


def test_causes_come_nearest_first(scheduled: Cluster, viewer: Caller) -> None:
    placed = Event.objects.get(stream_id=scheduled.pk, type="PodGroupPlaced")

    causes = viewer("GET", f"/clusters/demo/events/{placed.seq}/causes").json()["items"]

    assert [event["seq"] for event in causes] == [placed.cause]
    assert viewer("GET", "/clusters/demo/events/1/causes").json() == {"items": []}
    assert viewer("GET", "/clusters/demo/events/100000/causes").status_code == 404


def test_the_effect_of_a_placement(scheduled: Cluster, viewer: Caller) -> None:
    placed = Event.objects.get(stream_id=scheduled.pk, type="PodGroupPlaced")

    effect = viewer("GET", f"/clusters/demo/events/{placed.seq}/effect").json()

    (group,) = effect["objects"]
    assert (group["subject"], group["namespace"], group["name"]) == ("podgroup", "team-a", "fits")
    assert {"name": "status", "before": "pending", "after": "scheduled"} in group["fields"]
    assert [(move["pod"], move["before"]) for move in effect["moves"]] == [("fits-0", ""), ("fits-1", "")]
    assert effect["then"] == {
        "nodes": 5, "usable": 5, "gpus": 40, "gpus_used": 16, "groups": 2, "running": 1, "waiting": 1,
    }  # fmt: skip
    assert viewer("GET", "/clusters/demo/events/100000/effect").status_code == 404


@pytest.fixture
def newer(scheduled: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The seq of an event that a newer console wrote."""
    seq = Event.objects.get(stream_id=scheduled.pk, type="PodGroupPlaced").seq
    monkeypatch.setattr(e.PodGroupPlaced, "VERSION", 0)
    yield seq


def test_an_event_of_a_newer_console_is_told_as_such(newer: int, viewer: Caller) -> None:
    event = viewer("GET", f"/clusters/demo/events/{newer}").json()
    effect = viewer("GET", f"/clusters/demo/events/{newer}/effect")

    assert event["sentence"] == (
        "A newer version of the console wrote this event (PodGroupPlaced, version 2); "
        "this one cannot read it, and decides nothing on it."
    )
    assert event["body"]["domain"].startswith("rack-")
    assert effect.status_code == 503
    assert effect.json()["message"] == (
        f"The log leads to no state that this version of the console can tell: event {newer}: the log holds "
        "PodGroupPlaced in version 2; this version of the console knows it up to 0."
    )
    assert viewer("GET", "/clusters/demo/events?limit=1000").status_code == 200
    assert viewer("GET", f"/clusters/demo/compare?a=1&b={newer}").status_code == 503


# --- two moments


def test_two_moments_are_compared(scheduled: Cluster, viewer: Caller) -> None:
    placed = Event.objects.get(stream_id=scheduled.pk, type="PodGroupPlaced").seq

    found = viewer("GET", f"/clusters/demo/compare?a={placed}&b={placed - 1}").json()

    assert (found["a"]["seq"], found["b"]["seq"], found["swapped"]) == (placed - 1, placed, True)
    assert found["sentences"] == [
        "team-a/fits was placed.",
        "2 pods were bound to nodes: team-a/fits-0, team-a/fits-1.",
        "GPUs in use: 16 of 40, before 0 of 40.",
    ]
    assert found["counts"] == {"node": 0, "podgroup": 1, "pod": 2}
    assert [(item["subject"], item["name"], item["what"]) for item in found["items"]] == [
        ("podgroup", "fits", ["placed"]),
        ("pod", "fits-0", ["bound"]),
        ("pod", "fits-1", ["bound"]),
    ]
    (domain,) = found["domains"]
    assert domain["before"] == {"gpus": 16, "used": 0, "free": 16}
    assert domain["after"] == {"gpus": 16, "used": 16, "free": 0}


def test_a_comparison_comes_by_page_and_by_kind(scheduled: Cluster, viewer: Caller) -> None:
    first = viewer("GET", "/clusters/demo/compare?a=1&kind=pod&limit=2").json()
    rest = viewer("GET", f"/clusters/demo/compare?a=1&kind=pod&start={first['next']}").json()
    bound = viewer("GET", "/clusters/demo/compare?a=1&what=bound").json()

    assert [item["name"] for item in first["items"] + rest["items"]] == [
        "fits-0", "fits-1", "wide-0", "wide-1", "wide-2",
    ]  # fmt: skip
    assert rest["next"] is None
    assert [item["name"] for item in bound["items"]] == ["fits-0", "fits-1"]


@pytest.mark.parametrize(
    ("query", "status", "path", "message"),
    [
        ("a=100000", 404, "a", "100000 lies after the head of the log, event"),
        ("a=1&b=soon", 422, "b", "“soon” is neither the number of an event nor a time"),
        ("a=2020-01-01T00:00:00Z", 404, "a", "2020-01-01T00:00:00Z lies before the first event of the log"),
    ],
)
def test_what_is_no_moment_is_refused_at_its_parameter(
    query: str, status: int, path: str, message: str, scheduled: Cluster, viewer: Caller
) -> None:
    answer = viewer("GET", f"/clusters/demo/compare?{query}")

    assert answer.status_code == status
    (problem,) = answer.json()["problems"]
    assert problem["path"] == path
    assert problem["message"].startswith(message)
