"""Pages say which events are archived, and none breaks for pointing at one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from scheduling.ledger import store
from scheduling.models import Archive, Cluster, PodGroupRow
from scheduling.services import cycles, nodes, retention, state
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.console.support import dump, gang, node, text


@pytest.fixture
def archived(narrow: int, tmp_path: Path) -> Archive:
    """A cluster whose first events are archived, the decisions about its groups with them."""
    state._states.clear()
    request = ImportRequest(
        dump(node("n1", "r1"), node("n2", "r1"), *gang("fits", 1), *gang("wide", 3)), mode="simulated"
    )
    import_cluster(name="demo", request=request, actor="t")
    cluster = Cluster.objects.get(name="demo")
    cycles.run_cycle(cluster.pk)
    decided = max(row.decision_seq or 0 for row in PodGroupRow.objects.all())
    while store.head(cluster.pk).seq <= (decided // narrow + 2) * narrow:
        nodes.cordon(cluster=cluster, node="n2", actor="t")
        nodes.uncordon(cluster=cluster, node="n2", actor="t")
    done = retention.detach(cluster=cluster, folder=tmp_path, keep=1, actor="t")
    cycles.run_cycle(cluster.pk)
    assert done[-1].last_seq >= decided
    return done[-1]


@pytest.fixture
def see(admin_client: Client) -> Any:
    def seen(address: str, status: int = 200, language: str = "en") -> str:
        answer = admin_client.get(address, headers={"Accept-Language": language})
        assert answer.status_code == status
        return text(answer)

    return seen


def test_the_history_says_which_events_are_in_which_file(archived: Archive, see: Any) -> None:
    page = see("/c/demo/history")
    assert f"Events 1 to {archived.last_seq} are archived in" in page
    for file in Archive.objects.all():
        assert file.file in page and file.sha256 in page
    assert f"The log has events {archived.last_seq + 1} to " in page
    assert "manage.py retention attach" in page


def test_an_archived_event_is_gone_and_says_where(archived: Archive, see: Any) -> None:
    page = see(f"/c/demo/history/{archived.last_seq}", 410)
    assert "This event is archived: it is in a file, not in the database." in page
    assert f"Events {archived.first_seq} to {archived.last_seq}, " in page
    assert archived.file in page and archived.sha256 in page
    assert f"The log in the database begins with event {archived.last_seq + 1} ." in page
    assert archived.file in see(f"/c/demo/history/{archived.last_seq}", 410, "ja")
    see("/c/demo/history/100000", 404)


def test_the_first_event_kept_leads_to_the_archived_one_before(
    archived: Archive, admin_client: Client
) -> None:
    page = admin_client.get(f"/c/demo/history/{archived.last_seq + 1}").content.decode()
    assert f"/c/demo/history/{archived.last_seq}" in page


@pytest.mark.parametrize("name", ["fits", "wide"])
def test_a_group_says_that_its_decision_is_archived(archived: Archive, see: Any, name: str) -> None:
    row = PodGroupRow.objects.get(name=name)
    assert row.decision_seq is not None and row.decision_seq <= archived.last_seq
    page = see(f"/c/demo/podgroups/team-a/{name}")
    assert f"event {row.decision_seq} (archived)" in page
    assert f"Events up to {archived.last_seq} are archived and not listed here." in page


def test_the_queue_says_when_a_group_was_decided_all_the_same(archived: Archive, see: Any) -> None:
    assert "(archived)" in see("/c/demo/pending")


@pytest.mark.parametrize(
    "path", ["map", "podgroups/", "nodes/", "nodes/n1", "domains/", "settings", "pending"]
)
def test_every_other_page_is_as_before(archived: Archive, admin_client: Client, path: str) -> None:
    assert admin_client.get(f"/c/demo/{path}").status_code == 200
