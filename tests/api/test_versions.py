"""The API of a cluster whose log or tables are of another version of the console."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from scheduling.ledger import store
from scheduling.models import Cluster
from tests.api.support import Caller
from tests.versions import append_newer, newer_tables

CORDON = "/clusters/demo/nodes/loose/cordon"


def unavailable(answer: Any) -> str:
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    body = answer.json()
    assert (body["code"], body["problems"]) == ("unavailable", [])
    message: str = body["message"]
    return message


def test_a_command_on_tables_of_another_version_is_refused_until_they_are_rebuilt(
    cluster: Cluster, operator: Caller
) -> None:
    head = store.head(cluster.pk)
    with newer_tables():
        assert unavailable(operator("POST", CORDON)) == (
            "The tables are those of another version: run manage.py rebuild_projections."
        )
    assert store.head(cluster.pk) == head
    assert operator("POST", CORDON).status_code == 200


def test_a_command_on_a_log_that_a_newer_console_wrote_to_is_refused(
    cluster: Cluster, operator: Caller
) -> None:
    seq = append_newer(cluster)
    assert unavailable(operator("POST", CORDON)) == (
        f"A newer version of the console wrote to the log, and this one decides nothing on it: event {seq}: "
        "the log holds an event of type 'PodPraised', which this version of the console does not know."
    )
    assert store.head(cluster.pk).seq == seq


@pytest.mark.parametrize(
    "address",
    [
        "",
        "/map",
        "/nodes",
        "/podgroups",
        "/podgroups/team-a/wide",
        "/podgroups/team-a/wide/explanation",
        "/podgroups/team-a/wide/changes",
        "/events",
    ],
)
def test_what_the_tables_tell_is_answered_and_what_needs_the_log_says_why_not(
    cluster: Cluster, operator: Caller, address: str
) -> None:
    append_newer(cluster)
    answer = operator("GET", f"/clusters/demo{address}")
    assert answer.status_code in (200, 404) or unavailable(answer)


def test_the_event_itself_says_that_it_cannot_be_read(cluster: Cluster, viewer: Caller) -> None:
    seq = append_newer(cluster)
    sentence = (
        "A newer version of the console wrote this event (PodPraised, version 1); this one cannot read it, "
        "and decides nothing on it."
    )
    one = viewer("GET", f"/clusters/demo/events/{seq}").json()
    assert (one["seq"], one["type"], one["sentence"]) == (seq, "PodPraised", sentence)
    assert one["body"] == {"namespace": "ml", "name": "train-0"}
    assert viewer("GET", f"/clusters/demo/events?after={seq - 1}").json()["items"] == [one]


def test_a_stream_of_events_goes_on_past_it(cluster: Cluster, viewer: Caller) -> None:
    seq = append_newer(cluster)
    path = f"/api/v1/clusters/demo/events?after={seq - 2}&format=ndjson"

    @async_to_sync
    async def lines() -> list[Any]:
        answer = await AsyncClient().get(path, headers={"Authorization": f"Bearer {viewer.token}"})
        chunks = [chunk async for chunk in answer.streaming_content]
        return [orjson.loads(line) for line in b"".join(chunks).splitlines()]

    assert [line["seq"] for line in lines()] == [seq - 1, seq]
