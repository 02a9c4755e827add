"""What pages tell of the queue: what woke a group, its attempts, when it retries, who took its room."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from scheduling.ledger import store
from scheduling.ledger.events import PodGroupPlaced
from scheduling.models import Cluster
from scheduling.services import standing
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from scheduling.services.execute import now_ms
from scheduling.services.nodes import uncordon
from tests.console.support import dump, gang, node


@pytest.fixture
def contended(db: None) -> Cluster:
    """Room for one of two gangs of two members, and a third that waits for a cordoned node."""
    nodes = [
        node("n1", "r1"),
        node("n2", "r1"),
        {**node("n3", "r2"), "spec": {"unschedulable": True}},
        node("n4", "r2"),
    ]
    request = ImportRequest(dump(*nodes, *gang("first", 2), *gang("second", 2)), mode="simulated")
    import_cluster(name="demo", request=request, actor="test")
    made = Cluster.objects.get(name="demo")
    run_cycle(made.pk)
    return made


def text(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page.replace("</dt>", " ")))


def placed(cluster: Cluster) -> int:
    return next(item.seq for item in store.read(cluster.pk) if isinstance(item.event, PodGroupPlaced))


def test_the_loser_of_a_cycle_links_to_the_winner_on_its_page_and_in_the_list(
    viewer: Client, contended: Cluster
) -> None:
    seq = placed(contended)
    for path in ("/c/demo/podgroups/team-a/second", "/c/demo/pending"):
        page = viewer.get(path).content.decode()
        assert f"Lost the room to team-a/first in this cycle (event {seq})." in text(page)
        assert f'href="/c/demo/history/{seq}"' in page and 'href="/c/demo/podgroups/team-a/first"' in page
    assert "Lost the room" not in viewer.get("/c/demo/podgroups/team-a/first").content.decode()
    event = viewer.get(f"/c/demo/history/{seq + 1}").content.decode()
    assert "It lost the room to team-a/first in this cycle." in event


def test_a_group_tells_its_attempts_and_what_woke_it(viewer: Client, contended: Cluster) -> None:
    page = text(viewer.get("/c/demo/podgroups/team-a/second").content.decode())
    assert "Failed attempts in a row 1" in page and "Queue last gone through" in page
    uncordon(cluster=contended, node="n3", actor="ann")
    woke = store.head(contended.pk).seq
    run_cycle(contended.pk, clock=lambda: now_ms() + 60_000)
    page = text(viewer.get("/c/demo/podgroups/team-a/second").content.decode())
    assert f"Woken by event {woke} Node n3 was uncordoned." in page
    assert "Failed attempts" not in page and "Lost the room" not in page


def test_a_group_that_was_woken_and_rests_tells_when_it_retries(
    viewer: Client, contended: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    uncordon(cluster=contended, node="n3", actor="ann")
    failed_at = store.to_datetime(next(store.read(contended.pk, after=placed(contended))).recorded_at + 1000)
    monkeypatch.setitem(standing.standings.__kwdefaults__, "clock", lambda: 0)
    for path in ("/c/demo/podgroups/team-a/second", "/c/demo/pending"):
        page = viewer.get(path).content.decode()
        told = re.search(r'retries at\s+<time datetime="([^"]+)"', page)
        assert told is not None and told[1] == failed_at.isoformat(timespec="seconds")
