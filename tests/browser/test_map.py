"""The rack map in a real browser on the served console: what it shows, says, keeps and recovers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session

from scheduling.console import map_messages
from scheduling.models import Cluster
from scheduling.services.cycles import run_cycle
from scheduling.services.nodes import cordon, uncordon
from tests.api.support import gang, node
from tests.browser.support import CORDON, FITS, LIVE, PICK, grown, pixels, sentence, until, wait_for_pixels

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cluster(live_stack: Any) -> Cluster:
    """240 nodes; a gang of 3 nodes that runs, one of 17 that no rack can hold, a node in no rack."""
    made = grown(15, node("loose", None), *gang("runs", 3), *gang("waits", 17))
    run_cycle(made.pk)
    return made


def test_a_cordon_is_painted_and_said_without_a_reload(cluster: Cluster, visit: Callable[..., Any]) -> None:
    page = visit("/c/demo/map?sel=domain:rack-0003")
    assert sentence(page).startswith("rack-0003 · nodes: 16 · ")
    assert pixels(page, CORDON) == 0
    cordon(cluster=cluster, node="gpu-0003-04", actor="test")
    wait_for_pixels(page, CORDON)
    until(page, "document.getElementById('map-sentence').textContent.includes('gpu-0003-04 cordoned')")
    uncordon(cluster=cluster, node="gpu-0003-04", actor="test")
    wait_for_pixels(page, CORDON, none=True)


def test_headline_numbers_follow_the_log(cluster: Cluster, visit: Callable[..., Any]) -> None:
    page = visit("/c/demo/map")
    assert page.locator("[data-kpi=nodes]").inner_text() == "241"
    largest = "[data-kpi=largest]"
    assert page.locator(largest).inner_text() == "128"
    for number in range(15):
        cordon(cluster=cluster, node=f"gpu-{number:04d}-00", actor="test")
    until(page, f"document.querySelector('{largest}').textContent === '120'")


def test_a_picked_group_is_painted_and_its_domains_are_outlined(
    cluster: Cluster, visit: Callable[..., Any]
) -> None:
    page = visit("/c/demo/map")
    assert pixels(page, PICK) == 0
    page.locator("[data-pick='team-a/waits']").click()
    page.wait_for_url("**pg=team-a*waits*")
    wait_for_pixels(page, FITS, overlay=True)
    page.locator("#rack-map").focus()
    page.keyboard.press("ArrowRight")
    assert "members that fit: 13 of 17" in sentence(page), "three nodes of the first rack are taken"
    page.keyboard.press("ArrowRight")
    assert "members that fit: 16 of 17 · rank 1" in sentence(page)
    page.goto("/c/demo/map?pg=team-a/runs")
    page.wait_for_selector(LIVE)
    wait_for_pixels(page, PICK)
    page.locator("#rack-map").focus()
    page.keyboard.press("Escape")
    wait_for_pixels(page, PICK, none=True)
    assert "pg=" not in page.url


def test_the_keyboard_reaches_every_node_and_opens_it(cluster: Cluster, visit: Callable[..., Any]) -> None:
    page = visit("/c/demo/map")
    grid = page.locator("#rack-map")
    grid.focus()
    cell = page.locator("#" + grid.get_attribute("aria-activedescendant"))
    page.keyboard.press("ArrowRight")
    assert cell.text_content().startswith("rack-0000 · nodes: 16")
    page.keyboard.press("ArrowRight")
    assert cell.text_content().startswith("rack-0001 · ")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    assert cell.text_content().startswith("gpu-0001-01 · rack-0001 · ")
    assert "sel=node%3Agpu-0001-01" in page.url
    assert page.locator("#map-detail h2").inner_text() == "gpu-0001-01"
    page.keyboard.press("Escape")
    assert cell.text_content().startswith("rack-0001 · ")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/c/demo/nodes/gpu-0001-00")


def test_shortcuts_do_not_fire_while_one_types(cluster: Cluster, visit: Callable[..., Any]) -> None:
    page = visit("/c/demo/map")
    page.keyboard.press("/")
    page.keyboard.type("t.cg m?")
    assert page.locator("#search").input_value() == "t.cg m?"
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.locator("#rack-map").focus()
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("?")
    assert page.locator("dialog#help").evaluate("dialog => dialog.open")


def test_search_counts_and_the_address_brings_it_back(cluster: Cluster, visit: Callable[..., Any]) -> None:
    page = visit("/c/demo/map")
    page.locator("#search").fill("rack:rack-0003 free>=8")
    until(page, "/^nodes that match: 1[3-6]$/.test(document.getElementById('map-sentence').textContent)")
    address = page.url
    assert "q=rack%3Arack-0003+free%3E%3D8" in address
    page.goto(address)
    page.wait_for_selector(LIVE)
    assert page.locator("#search").input_value() == "rack:rack-0003 free>=8"


def test_another_key_is_another_map(cluster: Cluster, visit: Callable[..., Any]) -> None:
    page = visit("/c/demo/map")
    page.locator("#map-key").select_option("kubernetes.io/hostname")
    page.wait_for_url("**key=kubernetes.io*")
    page.wait_for_selector(LIVE)
    page.locator("#rack-map").focus()
    page.keyboard.press("ArrowRight")
    assert sentence(page).startswith("gpu-0000-00 · nodes: 1")
    cordon(cluster=cluster, node="gpu-0000-00", actor="test")
    wait_for_pixels(page, CORDON)


def test_pointing_and_zooming(cluster: Cluster, visit: Callable[..., Any]) -> None:
    page = visit("/c/demo/map")
    box = page.locator("#rack-map").bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    assert re.match(r"gpu-0000-\d\d · rack-0000 · ", sentence(page))
    before = sentence(page)
    for _ in range(3):
        page.mouse.wheel(0, -200)
    page.mouse.move(box["x"] + 61, box["y"] + 60)
    assert sentence(page) == before, "what is under the pointer stays there"
    page.mouse.down()
    page.mouse.move(box["x"] - 200, box["y"] - 100, steps=4)
    page.mouse.up()
    page.mouse.move(box["x"] + 61, box["y"] + 61)
    assert sentence(page) != before


def test_a_pause_stands_still_and_resumes_whole(cluster: Cluster, visit: Callable[..., Any]) -> None:
    page = visit("/c/demo/map")
    page.keyboard.press("l")
    page.wait_for_selector("#live-pill[data-state=paused]")
    cordon(cluster=cluster, node="gpu-0003-04", actor="test")
    until(  # another page has heard of it by now, this one must not show it
        page, "fetch('/api/v1/clusters/demo/map').then(r => r.json()).then(m => m.nodes.state.includes(1))"
    )
    assert pixels(page, CORDON) == 0
    page.keyboard.press("l")
    page.wait_for_selector(LIVE)
    wait_for_pixels(page, CORDON)


def test_with_lost_and_doubled_messages_the_map_still_ends_right(
    cluster: Cluster, visit: Callable[..., Any]
) -> None:
    """Every third message is lost, every other one comes twice."""
    counted = {"deltas": 0, "lost": 0}

    def lossy(page: Any) -> None:
        def route(socket: Any) -> None:
            server = socket.connect_to_server()

            def pass_on(message: str) -> None:
                if json.loads(message)["t"] == "delta":
                    counted["deltas"] += 1
                    if counted["deltas"] % 3 == 1:
                        counted["lost"] += 1
                        return
                socket.send(message)
                socket.send(message)

            server.on_message(pass_on)

        page.route_web_socket("**/ws/**", route)

    page = visit("/c/demo/map", before=lossy)
    for number in range(30):
        name = f"gpu-{number % 15:04d}-{number % 16:02d}"
        cordon(cluster=cluster, node=name, actor="test")
        page.wait_for_timeout(60)  # lets the browser's events through: this thread runs its loop
        if number != 29:
            uncordon(cluster=cluster, node=name, actor="test")
    page.locator("#search").fill("state:cordoned")
    until(
        page,
        """() => { const search = document.getElementById('search');
        search.dispatchEvent(new InputEvent('input'));
        return document.getElementById('map-sentence').textContent === 'nodes that match: 1'; }""",
    )
    assert counted["lost"] > 0


def test_a_server_that_is_gone_is_told_within_twelve_seconds_and_the_map_comes_back(
    cluster: Cluster, visit: Callable[..., Any], live_stack: Any, screenshot: Callable[..., Path]
) -> None:
    page = visit("/c/demo/map")
    live_stack.processes.kill("web")
    try:
        page.wait_for_selector("#live-pill[data-state=catching]", timeout=5_000)
        page.wait_for_selector("#live-pill[data-state=stale]", timeout=13_000)
        assert re.search(r"Stale since \d\d:\d\d:\d\d", page.locator("#live-pill").inner_text())
        assert page.locator("#rack-map").evaluate("map => map.classList.contains('stale')")
        screenshot(page, "map-stale")
        cordon(cluster=cluster, node="gpu-0003-04", actor="test")
    finally:
        live_stack.processes.start("web")
    page.wait_for_selector(LIVE, timeout=40_000)
    wait_for_pixels(page, CORDON)
    assert not page.locator("#rack-map").evaluate("map => map.classList.contains('stale')")


def test_a_signed_out_browser_is_told_so(cluster: Cluster, visit: Callable[..., Any]) -> None:
    page = visit("/c/demo/map")
    Session.objects.all().delete()
    page.locator("#map-key").select_option("kubernetes.io/hostname")
    page.wait_for_selector("#rack-map .map-note:not([hidden])")
    assert "signed out" in page.locator("#rack-map .map-note").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_240_nodes(
    theme: str, cluster: Cluster, visit: Callable[..., Any], screenshot: Callable[..., Path]
) -> None:
    page = visit("/c/demo/map?color=podgroup", theme=theme)
    assert page.locator("#map-groups").inner_text().split() == ["team-a/runs", "others"]
    assert screenshot(page, f"map-240-{theme}").stat().st_size > 10_000


def test_ten_thousand_nodes_are_shown_whole_and_stay_live(
    live_stack: Any, visit: Callable[..., Any], screenshot: Callable[..., Path]
) -> None:
    cluster = grown(625)
    page = visit("/c/demo/map")
    assert page.locator("[data-kpi=nodes]").inner_text() == "10,000"
    page.locator("#search").fill("rack-0624")
    until(page, "document.getElementById('map-sentence').textContent === 'nodes that match: 16'")
    page.locator("#search").fill("")
    assert pixels(page, CORDON) == 0
    cordon(cluster=cluster, node="gpu-0624-15", actor="test")
    wait_for_pixels(page, CORDON)
    screenshot(page, "map-10000-light")


def test_every_sentence_of_the_map_is_in_the_dictionary_of_the_page() -> None:
    script = (ROOT / "frontend" / "src" / "map" / "messages.ts").read_text()
    keys = set(re.findall(r"^  \| '(\w+)'", script, re.MULTILINE))
    assert keys and keys <= set(map_messages.MESSAGES)
