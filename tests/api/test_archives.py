"""The API says which events are archived, and never goes on past them in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scheduling.ledger import store
from scheduling.models import Archive, Cluster
from scheduling.services import nodes, retention, state
from tests.api.support import Caller


@pytest.fixture
def archived(narrow: int, cluster: Cluster, tmp_path: Path) -> list[Archive]:
    state._states.clear()
    while store.head(cluster.pk).seq <= 2 * narrow:
        nodes.cordon(cluster=cluster, node="loose", actor="t")
        nodes.uncordon(cluster=cluster, node="loose", actor="t")
    return retention.detach(cluster=cluster, folder=tmp_path, keep=1, actor="t")


def sentence(archive: Archive) -> str:
    return (
        f"vents {archive.first_seq} to {archive.last_seq}, until {archive.last_at:%Y-%m-%d %H:%M:%S} UTC, "
        f"are in the file {archive.file} (sha256 {archive.sha256}); "
        "`manage.py retention attach` brings them back"
    )


def test_archives_are_listed(archived: list[Archive], viewer: Caller) -> None:
    found = viewer("GET", "/clusters/demo/archives").json()["items"]
    assert [(item["first"], item["last"]) for item in found] == [(1, 10), (11, 20)]
    one = archived[0]
    assert found[0] | {"recorded_first": "", "recorded_last": ""} == {
        "first": 1,
        "last": 10,
        "recorded_first": "",
        "recorded_last": "",
        "file": one.file,
        "size": one.size,
        "sha256": one.sha256,
        "hash": bytes(one.hash).hex(),
        "archived_by": one.told_seq,
    }


def test_a_log_without_archives_lists_none(cluster: Cluster, viewer: Caller) -> None:
    assert viewer("GET", "/clusters/demo/archives").json() == {"items": []}
    assert viewer("GET", "/clusters/nowhere/archives").status_code == 404


def test_an_archived_event_is_gone(archived: list[Archive], viewer: Caller) -> None:
    answer = viewer("GET", "/clusters/demo/events/7")
    assert (answer.status_code, answer.json()) == (
        410,
        {"code": "gone", "message": f"E{sentence(archived[0])}.", "problems": []},
    )
    assert viewer("GET", "/clusters/demo/events/700").status_code == 404


@pytest.mark.parametrize("form", ["json", "ndjson"])
def test_nobody_goes_on_from_an_archived_event(archived: list[Archive], viewer: Caller, form: str) -> None:
    for after, archive in ((5, archived[0]), (10, archived[1]), (19, archived[1])):
        answer = viewer("GET", f"/clusters/demo/events?after={after}&format={form}")
        assert answer.status_code == 410
        assert answer.json()["message"] == f"E{sentence(archive)}."
    assert viewer("GET", f"/clusters/demo/events?after=20&format={form}").status_code == 200


def test_who_begins_is_given_what_there_is(archived: list[Archive], viewer: Caller) -> None:
    assert viewer("GET", "/clusters/demo/events?limit=1").json()["items"][0]["seq"] == 21


def test_the_command_line_does_not_either(archived: list[Archive]) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("tas", "events", "demo", "--after", "5")
    assert str(refused.value) == f"e{sentence(archived[0])}"


def test_a_command_of_archived_events_is_answered_as_before_but_for_the_events(
    narrow: int, cluster: Cluster, operator: Caller, tmp_path: Path
) -> None:
    def cordon() -> Any:
        path = "/clusters/demo/nodes/loose/cordon"
        answer = operator("POST", path, headers={"Idempotency-Key": "once"})
        assert answer.status_code == 200
        return answer.json()

    first = cordon()
    while store.head(cluster.pk).seq <= 2 * narrow:
        nodes.uncordon(cluster=cluster, node="loose", actor="t")
        nodes.cordon(cluster=cluster, node="loose", actor="t")
    retention.detach(cluster=cluster, folder=tmp_path, keep=1, actor="t")
    assert first["events"] and cordon() == first | {"repeated": True, "events": []}


def test_the_map_goes_on(archived: list[Archive], viewer: Caller) -> None:
    found = viewer("GET", "/clusters/demo/map").json()
    assert found["seq"] > archived[-1].last_seq
    deltas = viewer("GET", f"/clusters/demo/map/deltas?key={found['key']}&since=5").json()
    assert deltas["to"] == found["seq"] and "loose" in [node[1] for node in deltas["nodes"]]
