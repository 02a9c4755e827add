"""The main job in a browser: import a cluster, submit a gang that fits and one that does not, make room.

Nothing is reloaded where something is expected to happen: what the scheduler did has to reach the open pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from scheduling.models import Cluster, Event, NodeRow, PodRow
from tests.console.support import RACK, dump, node

PATIENCE = 30_000
"""Milliseconds until a page must show what is to happen by itself; a wait ends as soon as it does."""


@pytest.fixture
def open_page(browser: Any, live_stack: Any) -> Iterator[Callable[[], Page]]:
    """New tabs of one browser that is not signed in yet."""
    # The served console hashes as in production; the test run's own settings do not.
    password = PBKDF2PasswordHasher().encode("a long enough one", "salt")
    User.objects.create(username="mina", password=password, is_superuser=True, is_staff=True)
    expect.set_options(timeout=PATIENCE)
    context = browser.new_context(
        base_url=live_stack.url, viewport={"width": 1440, "height": 900}, locale="en-GB"
    )
    context.set_default_timeout(PATIENCE)
    yield context.new_page
    context.close()


def mark(page: Page) -> None:
    """Leave a mark that a reload would wipe out."""
    page.evaluate("window.neverReloaded = true")


def assert_never_reloaded(page: Page) -> None:
    assert page.evaluate("window.neverReloaded") is True


def submit(page: Page, name: str, members: int) -> None:
    """Fill in the form for a gang whose members take a node each."""
    page.goto("/c/lab/submit")
    page.get_by_label("Namespace").fill("team-a")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("minCount").fill(str(members))
    page.get_by_label("Topology key").fill(RACK)
    page.get_by_label("Members").fill(str(members))
    page.get_by_label("nvidia.com/gpu").fill("8")
    page.get_by_label("cpu").fill("4")


def racks_of(name: str) -> set[str]:
    """Where the members of a group are bound, by the label of their nodes."""
    cluster = Cluster.objects.get(name="lab")
    rows = PodRow.objects.filter(cluster=cluster, group=name, removed=False)
    labels = dict(NodeRow.objects.filter(cluster=cluster).values_list("name", "labels"))
    return {labels[row.node][RACK] if row.node else "unbound" for row in rows}


def test_a_gang_lands_in_one_rack_another_waits_with_the_right_shortfall_and_lands_when_room_is_made(
    open_page: Callable[[], Page], screenshot: Callable[..., Path]
) -> None:
    page = open_page()

    # Sign in; nothing is there yet, and the page says what to do.
    page.goto("/clusters/")
    page.get_by_label("User name").fill("mina")
    page.get_by_label("Password").fill("a long enough one")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("There is no cluster yet.")).to_be_visible()
    screenshot(page, "job-1-empty")

    # Import two racks: r1 of two nodes, r2 of three.
    page.get_by_role("link", name="Import a dump").click()
    nodes = [node(f"r{rack}n{place}", f"r{rack}") for rack, size in ((1, 2), (2, 3)) for place in range(size)]
    page.get_by_label("Cluster name").fill("lab")
    upload = {"name": "dump.json", "mimeType": "application/json", "buffer": dump(*nodes)}
    page.get_by_label("File").set_input_files(upload)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Cluster lab would be new.")).to_be_visible()
    assert not Cluster.objects.exists()
    screenshot(page, "job-2-preview")
    page.get_by_label("Mode").select_option("simulated")
    page.get_by_role("button", name="Preview again").click()
    expect(page.get_by_label("TopologyAwareWorkloadScheduling")).to_be_checked()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#live-pill")).to_have_attribute("data-state", "live")
    expect(page.locator("[data-kpi=gpus]")).to_have_text("40")

    # A gang that fits: the check says where, then it lands there, on its page and on the map that is open.
    watched = open_page()
    watched.goto("/c/lab/map")
    expect(watched.locator("[data-kpi=gpus_used]")).to_have_text("0")
    expect(watched.locator("#live-pill")).to_have_attribute("data-state", "live")
    mark(watched)
    before = watched.locator("#rack-map").screenshot()
    submit(page, "first", 2)
    page.get_by_role("button", name="Check where it would land").click()
    expect(page.locator(".verdict")).to_contain_text("2 of 2 members would be in rack r1")
    assert Event.objects.filter(type="PodGroupCreated").count() == 0
    screenshot(page, "job-3-check")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/podgroups/team-a/first")
    mark(page)
    expect(page.locator(".verdict")).to_contain_text("2 of 2 members are bound in rack r1")
    assert_never_reloaded(page)
    assert racks_of("first") == {"r1"}
    screenshot(page, "job-4-landed")
    expect(watched.locator("[data-kpi=gpus_used]")).to_have_text("16")
    assert watched.locator("#rack-map").screenshot() != before
    watched.goto("/c/lab/map?pg=team-a/first")
    expect(watched.locator("#map-group")).to_contain_text("2 of 2 members are bound in rack r1")
    expect(watched.locator("#live-pill")).to_have_attribute("data-state", "live")
    screenshot(watched, "job-5-map")

    # A second one takes two of the three nodes of r2; the third finds no rack, and the nearest is named.
    submit(page, "second", 2)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator(".verdict")).to_contain_text("2 of 2 members are bound in rack r2")
    waiting = open_page()
    waiting.goto("/c/lab/pending")
    expect(waiting.locator("#live-pill")).to_have_attribute("data-state", "live")
    expect(waiting.get_by_text("No PodGroup waits.")).to_be_visible()
    mark(waiting)
    submit(page, "third", 2)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/podgroups/team-a/third")
    mark(page)
    expect(page.locator(".verdict")).to_contain_text("No rack can hold 2 members now.")
    expect(page.locator(".verdict")).to_contain_text("Best is r2 with 1 of 2; short of 8 nvidia.com/gpu.")
    screenshot(page, "job-6-waits")
    row = waiting.get_by_role("row").filter(has_text="team-a/third")
    expect(row).to_contain_text("proved infeasible")
    expect(row).to_contain_text("r2")
    expect(row).to_contain_text("1/2")
    expect(row).to_contain_text("8 nvidia.com/gpu")
    expect(waiting.locator("nav .n").first).to_have_text("1")
    screenshot(waiting, "job-7-pending")
    assert racks_of("third") == {"unbound"}

    # Room is made by ending the first gang; the waiting one lands there by itself, before all our eyes.
    ending = open_page()
    ending.goto("/c/lab/podgroups/team-a/first")
    ending.get_by_text("End this group…").click()
    ending.get_by_role("button", name="End this group").click()
    expect(ending.get_by_role("status").filter(has_text="was ended")).to_be_visible()
    expect(page.locator(".verdict")).to_contain_text("2 of 2 members are bound in rack r1")
    expect(waiting.get_by_text("No PodGroup waits.")).to_be_visible()
    assert_never_reloaded(page)
    assert_never_reloaded(waiting)
    assert racks_of("third") == {"r1"}
    screenshot(page, "job-8-landed-by-itself")

    # The history tells it, event by event.
    page.goto("/c/lab/history?namespace=team-a&name=third&subject=podgroup")
    said = page.locator("tbody tr").all_inner_texts()
    assert ["placed" in said[0], "unschedulable" in said[1], "created" in said[2]] == [True, True, True]
    screenshot(page, "job-9-history")
