"""Pages of a cluster whose log or tables are of another version of the console."""

from __future__ import annotations

import html

import pytest
from django.test import Client

from scheduling.ledger import store
from scheduling.models import Cluster
from tests.console.test_access import PAGES, address
from tests.versions import append_newer, append_newer_version, newer_tables

CORDON = "/c/demo/nodes/n11/cordon"


def said(response: object) -> str:
    return html.unescape(response.content.decode())  # type: ignore[attr-defined]


def test_a_command_on_tables_of_another_version_is_answered_with_503_and_stores_nothing(
    cluster: Cluster, operator: Client
) -> None:
    head = store.head(cluster.pk)
    with newer_tables():
        answer = operator.post(CORDON)
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert "are to be made anew (manage.py rebuild_projections)" in said(answer)
    assert store.head(cluster.pk) == head
    assert operator.post(CORDON).status_code == 302


def test_tables_of_another_version_are_still_shown(cluster: Cluster, viewer: Client) -> None:
    with newer_tables():
        for name in ("map", "pending", "pod-groups", "pod-group", "nodes", "history"):
            assert viewer.get(address(name)).status_code == 200


def test_503_is_told_in_japanese_too(cluster: Cluster, operator: Client) -> None:
    with newer_tables():
        answer = operator.post(CORDON, headers={"accept-language": "ja"})
    assert "テーブル" in said(answer) and 'lang="ja"' in said(answer)
    append_newer(cluster)
    answer = operator.post(CORDON, headers={"accept-language": "ja"})
    assert answer.status_code == 503 and "新しいバージョン" in said(answer)


def test_a_command_on_a_log_that_a_newer_console_wrote_to_is_answered_with_503(
    cluster: Cluster, operator: Client
) -> None:
    seq = append_newer(cluster)
    answer = operator.post(CORDON)
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert f"A newer version of the console wrote event {seq} of this cluster's log." in said(answer)
    assert store.head(cluster.pk).seq == seq


@pytest.mark.parametrize(
    ("append", "what"),
    [(append_newer, "PodPraised, version 1"), (append_newer_version, "NodeRemoved, version 2")],
)
def test_the_history_says_at_the_event_that_it_cannot_be_read(
    cluster: Cluster, viewer: Client, append: object, what: str
) -> None:
    seq = append(cluster)  # type: ignore[operator]
    sentence = (
        f"A newer version of the console wrote this event ({what}); this one cannot read it, and decides "
        "nothing on it."
    )
    for path in ("/c/demo/history", f"/c/demo/history/{seq}"):
        answer = viewer.get(path)
        assert answer.status_code == 200
        assert sentence in said(answer)
    assert viewer.get(f"/c/demo/history/{seq - 1}").status_code == 200


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_shown_or_says_why_not(cluster: Cluster, admin: Client, name: str) -> None:
    """The test client raises what a page does not answer."""
    append_newer(cluster)
    _, _, query, status = PAGES[name]
    answer = admin.get(address(name) + query)
    assert answer.status_code in (status, 503)
    if status == 405:
        answer = admin.post(address(name))
    if answer.status_code == 503:
        assert "A newer version of the console wrote event" in said(answer)
