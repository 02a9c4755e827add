"""The history by keyboard and as a file, in a real browser."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from scheduling.models import Cluster, Event
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.nodes import cordon
from tests.console.support import dump, gang, node


@pytest.fixture
def reader(page: Any, live_stack: Any) -> Any:
    """A page of a browser that is signed in, on a cluster whose log fills two pages."""
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack in range(1, 7) for place in range(1, 9)]
    request = ImportRequest(dump(*nodes, *gang("fits", 3)), mode="simulated")
    import_cluster(name="demo", request=request, actor="ops")
    cordon(cluster=Cluster.objects.get(name="demo"), node="n11", actor="ops")
    client = Client()
    client.force_login(User.objects.create_superuser("ops"))
    page.context.add_cookies(
        [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_stack.url}]
    )
    return page


def test_keys_lead_through_pages_events_and_one_object(reader: Any) -> None:
    reader.goto("/c/demo/history?actor=ops")
    reader.wait_for_selector("table")
    reader.keyboard.press("[")
    reader.wait_for_url("**/history?actor=ops&before=*")
    reader.keyboard.press("]")
    reader.wait_for_url("**/history?actor=ops&after=*")

    reader.locator("tbody td.n a").first.click()
    reader.wait_for_selector("section#state")
    cordoned = Event.objects.filter(name="n11").latest("seq").seq
    reader.goto(f"/c/demo/history/{cordoned}")
    reader.wait_for_selector("section#state tr.is-changed")
    assert reader.locator("section#state tr.is-changed").inner_text().split() == [
        "unschedulable",
        "no",
        "yes",
    ]
    reader.keyboard.press("{")
    joined = Event.objects.filter(name="n11").earliest("seq").seq
    reader.wait_for_url(f"**/history/{joined}")
    reader.keyboard.press("}")
    reader.wait_for_url(f"**/history/{cordoned}")
    reader.keyboard.press("[")
    reader.wait_for_url(f"**/history/{cordoned - 1}")


def test_a_chip_takes_its_filter_away(reader: Any) -> None:
    reader.goto("/c/demo/history?type=NodeAdded&name=n12&subject=node")

    reader.get_by_role("link", name="Remove the filter Name: n12").click()

    reader.wait_for_url("**/history?type=NodeAdded&subject=node")
    assert reader.get_by_text("48 events.").is_visible()


@pytest.mark.parametrize("form", ["CSV", "NDJSON"])
def test_the_export_of_the_list_is_saved_as_a_file(form: str, reader: Any) -> None:
    reader.goto("/c/demo/history?type=NodeAdded")

    with reader.expect_download() as download:
        reader.get_by_role("link", name=form, exact=True).click()

    name = download.value.suggested_filename
    text = Path(download.value.path()).read_text("utf-8-sig")
    assert name.startswith("demo-events-20") and name.endswith(f".{form.lower()}")
    rows = list(csv.DictReader(io.StringIO(text))) if form == "CSV" else text.splitlines()
    assert len(rows) == 48


def test_two_moments_are_chosen_and_compared(reader: Any) -> None:
    imported = Event.objects.get(type="SnapshotImported").seq
    reader.goto("/c/demo/compare")
    reader.get_by_label("Earlier moment").fill(str(imported))
    reader.get_by_role("button", name="Compare").click()
    reader.wait_for_url(f"**/compare?a={imported}&b=&key=*")

    assert reader.get_by_role("link", name="Node n11 was cordoned.").is_visible()
    reader.get_by_role("link", name="Node n11 was cordoned.").click()
    reader.wait_for_url("**&show=node&what=cordoned*")
    assert reader.locator("section[aria-labelledby=changes-title] tbody").count() == 1
