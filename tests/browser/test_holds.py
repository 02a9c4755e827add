"""Reservations and queues in a browser: room is held, seen on the map and in the reasons of those it keeps
waiting, released by a person and by time; a quota holds a group back until it is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from scheduling.ledger.events import ReservationMade
from scheduling.models import Cluster
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.execute import execute
from scheduling.services.reserving import Wish, reserve_events
from tests.browser.support import wait_for_pixels
from tests.console.support import RACK, dump, gang, node

PATIENCE = 30_000
HELD = (138, 47, 179)  # --held of the light theme
PAGES = {"reservations": "/c/demo/reservations", "queues": "/c/demo/queues", "map": "/c/demo/map"}


@pytest.fixture
def demo(live_stack: Any) -> Iterator[Cluster]:
    """Two racks of two nodes with 8 GPUs; `fits` has one of them."""
    expect.set_options(timeout=PATIENCE)
    nodes = [node(f"r{rack}n{place}", f"r{rack}") for rack in (1, 2) for place in (1, 2)]
    request = ImportRequest(data=dump(*nodes, *gang("fits", 2)), mode="simulated")
    import_cluster(name="demo", request=request, actor="ops")
    yield Cluster.objects.get(name="demo")


def submit(page: Any, name: str, members: int, queue: str = "") -> None:
    page.goto("/c/demo/submit")
    for label, value in {
        "Namespace": "team-a", "minCount": str(members), "Topology key": RACK, "Queue": queue,
        "Members": str(members), "nvidia.com/gpu": "8", "cpu": "4",
    }.items():  # fmt: skip
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_role("heading", name=f"team-a/{name}")).to_be_visible()


def look(visit: Callable[..., Any], screenshot: Callable[..., Path], names: list[str], when: str) -> None:
    """Pictures of pages in both languages and themes."""
    for language, theme in (("en", "dark"), ("ja", "light"), ("ja", "dark")):
        for name in names:
            page = visit("/settings", theme=theme, ready="main", locale=language)
            page.locator(f".language button[lang={language}]").click()
            page.goto(PAGES[name])
            page.wait_for_selector("#live-pill[data-state=live]")
            screenshot(page, f"holds-{name}-{when}-{language}-{theme}")


def test_held_room_is_seen_keeps_others_waiting_and_is_released(
    demo: Cluster, visit: Callable[..., Any], screenshot: Callable[..., Path]
) -> None:
    page = visit("/c/demo/podgroups/team-a/fits")
    expect(page.get_by_text("2 of 2 members are bound")).to_be_visible()

    # The wrong amount is told at its field; then the free rack is held for another namespace.
    page.goto("/c/demo/reservations")
    expect(page.get_by_text("No room is held.")).to_be_visible()
    busy = page.request.get("/api/v1/clusters/demo/podgroups/team-a/fits").json()["domain"]
    free = "r2" if busy == "r1" else "r1"
    page.get_by_label("Domain", exact=True).fill(free)
    page.get_by_label("For a", exact=True).select_option("namespace")
    page.get_by_label("Name", exact=True).fill("team-b")
    page.get_by_label("Whole free nodes", exact=True).fill("3")
    page.get_by_role("button", name="Hold room").click()
    expect(page.get_by_text(f"wholly free nodes in {free} now: 2 of 3")).to_be_visible()
    page.get_by_label("Whole free nodes", exact=True).fill("2")
    page.get_by_role("button", name="Hold room").click()
    row = page.locator("#reservations-list tbody tr")
    expect(row).to_contain_text("16 nvidia.com/gpu")
    name = row.locator("td").first.inner_text().strip()
    screenshot(page, "holds-reservations-en-light")

    # The map hatches it, and the node says so.
    page.goto(f"/c/demo/map?key={RACK}")
    wait_for_pixels(page, HELD)
    screenshot(page, "holds-map-en-light")
    page.goto(f"/c/demo/nodes/{free}n1")
    expect(page.get_by_text("of it held")).to_be_visible()
    look(visit, screenshot, ["reservations", "map"], "held")

    # A gang that would fit there waits, and its page names the reservation.
    submit(page, "blocked", 2)
    expect(page.get_by_text(f"{name} keeps")).to_be_visible()
    expect(page.get_by_text(f"held by reservation {name}").first).to_be_visible()
    screenshot(page, "holds-blocked-en-light")

    # It is released on another page; the group's own page tells by itself that it runs.
    other = visit("/c/demo/reservations")
    other.get_by_role("button", name=f"Release {name}").click()
    expect(other.get_by_text(f"Reservation {name} was released.")).to_be_visible()
    expect(page.get_by_text("2 of 2 members are bound")).to_be_visible()


def test_a_reservation_ends_at_its_time_by_itself(demo: Cluster, visit: Callable[..., Any]) -> None:
    page = visit("/c/demo/podgroups/team-a/fits")
    expect(page.get_by_text("2 of 2 members are bound")).to_be_visible()
    domain = page.request.get("/api/v1/clusters/demo/podgroups/team-a/fits").json()["domain"]
    wish = Wish(RACK, "r2" if domain == "r1" else "r1", "namespace", "team-b", nodes=2, minutes=1)

    def soon(state: Any, now: int) -> list[Any]:
        (event,) = reserve_events(state, wish, now)
        assert isinstance(event, ReservationMade)
        return [ReservationMade(replace(event.reservation, expires=now + 5_000))]

    execute(demo, soon, actor="ops")
    submit(page, "patient", 2)
    expect(page.get_by_text("Room is held for others")).to_be_visible()
    expect(page.get_by_text("2 of 2 members are bound")).to_be_visible()
    page.goto("/c/demo/history?subject=reservation")
    expect(page.get_by_text("its time was over")).to_be_visible()


def test_a_quota_holds_a_group_back_until_it_is_raised(
    demo: Cluster, visit: Callable[..., Any], screenshot: Callable[..., Path]
) -> None:
    page = visit("/c/demo/queues")
    page.get_by_label("Name", exact=True).fill("research")
    page.get_by_label("GPU quota", exact=True).fill("8")
    page.get_by_label("Order", exact=True).select_option("fair")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Queue research is defined.")).to_be_visible()

    submit(page, "first", 1, "research")
    expect(page.get_by_text("1 of 1 member is bound")).to_be_visible()
    submit(page, "second", 1, "research")
    expect(page.get_by_text("queue research uses 8 of its 8 GPUs").first).to_be_visible()
    expect(page.get_by_text("GPUs of the quota are in use by")).to_be_visible()
    screenshot(page, "holds-quota-en-light")

    other = visit("/c/demo/queues")
    expect(other.get_by_text("1 held by the quota")).to_be_visible()
    screenshot(other, "holds-queues-en-light")
    look(visit, screenshot, ["queues"], "quota")
    other.get_by_role("link", name="Edit research").click()
    other.get_by_label("GPU quota", exact=True).fill("16")
    other.get_by_role("button", name="Save").click()
    expect(page.get_by_text("1 of 1 member is bound")).to_be_visible()
