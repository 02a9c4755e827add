"""Spread beside one domain, and who came first, in a real browser: refused with the reason at the field."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from scheduling.models import Cluster, Event
from scheduling.services import workloads
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.browser.test_pages import violations
from tests.console.support import RACK, dump, node
from tests.services.builders import form

HOST = "kubernetes.io/hostname"
READY = "#submit-form"


@pytest.fixture
def racks(live_stack: Any) -> Cluster:
    """`demo`: racks r1 of four nodes and r2 of three."""
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack, size in ((1, 4), (2, 3)) for place in range(size)]
    import_cluster(name="demo", request=ImportRequest(dump(*nodes), mode="simulated"), actor="test")
    return Cluster.objects.get(name="demo")


def fill(page: Page, name: str, spread: str) -> None:
    page.locator("[name=namespace]").fill("team-a")
    page.locator("[name=name]").fill(name)
    page.locator("[name=min_count]").fill("4")
    page.locator("[name=topology_key]").fill(RACK)
    page.locator("[name=t0-count]").fill("4")
    page.locator("[name=t0-cpu]").fill("1")
    page.locator("[name=t0-spread]").fill(spread)


def press(page: Page, action: str) -> None:
    page.locator(f"button[name=action][value={action}]:not(.vh)").click()


SAID = {
    "en": "members that can come into r1, r2: at most 1 of 4; maxSkew is 1",
    "ja": "r1, r2 に置けるのは 4 メンバーのうち最大 1 です",
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_spread_that_leaves_no_rack_is_refused_at_its_field(
    language: str,
    theme: str,
    racks: Cluster,
    visit: Callable[..., Page],
    live_stack: Any,
    screenshot: Callable[..., Path],
) -> None:
    def speak(page: Page) -> None:
        cookie = {"name": "django_language", "value": language, "url": live_stack.url}
        page.context.add_cookies([cookie])

    page = visit("/c/demo/submit", theme=theme, ready=READY, before=speak)
    before = Event.objects.filter(stream_id=racks.pk).count()
    fill(page, "evenly", f"{RACK}=1")
    press(page, "submit")
    error = page.locator("#id_t0-spread-errors")
    expect(error).to_contain_text(SAID[language])
    expect(page.locator("[name=t0-spread]")).to_have_attribute("aria-invalid", "true")
    assert page.locator("[name=t0-spread]").input_value() == f"{RACK}=1", "what was typed is kept"
    assert Event.objects.filter(stream_id=racks.pk).count() == before
    screenshot(page, f"spread-refused-{language}-{theme}")
    assert violations(page) == []

    fill(page, "hosts", f"{HOST}=1\n?{RACK}=1")
    press(page, "check")
    told = page.locator("section[role=status] .notice")
    expect(told.first).to_contain_text("r1")
    screenshot(page, f"spread-checked-{language}-{theme}")
    press(page, "submit")
    page.wait_for_url("**/podgroups/team-a/hosts")
    expect(page.locator("main .notice[role=status]").filter(has_text="r1").first).to_be_visible()
    expect(page.locator("section[aria-labelledby=spread-title] li")).to_have_count(3)
    screenshot(page, f"spread-page-{language}-{theme}")
    assert violations(page) == []


def test_who_comes_second_is_led_to_who_came_first(
    racks: Cluster, visit: Callable[..., Page], screenshot: Callable[..., Path]
) -> None:
    page = visit("/c/demo/submit", ready=READY)
    fill(page, "same", "")
    made = workloads.submit(cluster=racks, form=form("same", namespace="team-a"), actor="ann")
    press(page, "submit")
    link = page.get_by_role("link", name=re.compile("ann came first"))
    expect(link).to_be_visible()
    screenshot(page, "came-first")
    link.click()
    page.wait_for_url(f"**/c/demo/history/{made.first_seq}")
    expect(page.locator("main")).to_contain_text("team-a/same")
