"""The map of the past in a browser: one moment, others by slider and keys, two side by side, back to live."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from scheduling.ledger import store
from scheduling.models import Cluster, Event, NodeRow
from scheduling.selectors import past_states
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from scheduling.services.nodes import cordon, uncordon
from tests.api.support import dump, gang, node
from tests.browser.support import CORDON, LIVE, PICK, grown, pixels, sentence, until, wait_for_pixels
from tests.browser.test_pages import violations


def ready(seq: int) -> str:
    """The map shows the moment."""
    return f"#rack-map[data-shown='{seq}']"


def head(cluster: Cluster) -> int:
    return store.head(cluster.pk).seq


@pytest.fixture
def cluster(live_stack: Any) -> Cluster:
    """240 nodes; a gang of 3 that runs, one of 17 that waits; then `gpu-0003-04` cordoned and freed again."""
    past_states.clear()
    made = grown(15, node("loose", None), *gang("runs", 3), *gang("waits", 17))
    run_cycle(made.pk)
    at_rest(made)  # the worker may have been before us: the gang is placed before the node is cordoned
    cordon(cluster=made, node="gpu-0003-04", actor="test")
    uncordon(cluster=made, node="gpu-0003-04", actor="test")
    at_rest(made)
    return made


def at_rest(cluster: Cluster) -> None:
    """Wait until the worker has seen the whole log and has nothing to try again."""
    deadline = time.monotonic() + 90
    while True:
        cluster.refresh_from_db()
        if cluster.last_cycle_seq >= head(cluster) and cluster.retry_at is None:
            return
        assert time.monotonic() < deadline, "the worker does not come to rest"
        time.sleep(0.05)


@pytest.fixture
def cordoned(cluster: Cluster) -> int:
    """The event by which the node was cordoned."""
    return Event.objects.filter(stream_id=cluster.pk, type="NodeUpdated").order_by("seq").first().seq  # type: ignore[union-attr]


def test_a_moment_by_its_event_shows_what_was_then_and_says_so(
    cluster: Cluster, cordoned: int, visit: Callable[..., Any]
) -> None:
    page = visit(f"/c/demo/map?at={cordoned}&sel=domain:rack-0003", ready=ready(cordoned))
    wait_for_pixels(page, CORDON)
    assert "gpu-0003-04 cordoned" in sentence(page)
    assert page.locator("#live-pill").inner_text().split() == ["Past", f"{cordoned}"]
    assert page.locator("#past-event").inner_text() == f"event {cordoned}"
    recorded = Event.objects.get(stream_id=cluster.pk, seq=cordoned).recorded_at
    told = f"{recorded:%Y-%m-%d %H:%M:%S} UTC"
    until(page, "told => document.getElementById('past-when').textContent === told", told)
    assert re.fullmatch(r"\d+ (second|minute)s? ago", page.locator("#past-ago").inner_text())
    ahead = head(cluster) - cordoned
    said = f"Live has moved on by {ahead} event{'' if ahead == 1 else 's'}."
    until(page, "said => document.getElementById('past-ahead').textContent === said", said)
    until(page, "document.getElementById('past-sentence').textContent === 'Node gpu-0003-04 was cordoned.'")
    assert page.locator("nav a", has_text="Submit").count() == 0, "nothing can be changed from the past"


def test_a_moment_by_time_is_the_last_event_until_then(
    cluster: Cluster, cordoned: int, visit: Callable[..., Any]
) -> None:
    at = Event.objects.get(stream_id=cluster.pk, seq=cordoned - 1).recorded_at
    seq = Event.objects.filter(stream_id=cluster.pk, recorded_at__lte=at).order_by("-seq")[0].seq
    page = visit(f"/c/demo/map?at={at.isoformat().replace('+', '%2B')}", ready=ready(seq))
    assert page.locator("#past-event").inner_text() == f"event {seq}"


def test_the_slider_is_dragged_and_the_address_follows_to_be_shared(
    cluster: Cluster, cordoned: int, visit: Callable[..., Any]
) -> None:
    last = head(cluster)
    page = visit(f"/c/demo/map?at={last}", ready=ready(last))
    assert pixels(page, CORDON) == 0
    slider = page.locator("#past-slider")
    assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("1", f"{last}")
    slider.fill(f"{cordoned}")
    page.wait_for_selector(ready(cordoned))
    wait_for_pixels(page, CORDON)
    page.wait_for_url(f"**at={cordoned}*")
    value = slider.get_attribute("aria-valuetext")
    assert re.fullmatch(rf"Event {cordoned}, [\d-]+ [\d:]+ UTC: Node gpu-0003-04 was cordoned\.", value)
    slider.fill("1")
    page.wait_for_selector(ready(1))
    assert page.locator("#rack-map .map-note").inner_text().startswith("No nodes yet.")
    slider.fill(f"{cordoned}")
    page.wait_for_selector(ready(cordoned))
    page.wait_for_url(f"**at={cordoned}*")
    other = visit_again(page)
    other.wait_for_selector(ready(cordoned))
    wait_for_pixels(other, CORDON)


def visit_again(page: Any) -> Any:
    """The address of the page in a new tab, as a link that was shared."""
    other = page.context.new_page()
    other.goto(page.url)
    return other


def test_what_happens_meanwhile_is_told_and_not_painted(
    cluster: Cluster, cordoned: int, visit: Callable[..., Any]
) -> None:
    before = cordoned - 1
    page = visit(f"/c/demo/map?at={before}&sel=node:gpu-0007-00", ready=ready(before))
    for number in range(5):
        cordon(cluster=cluster, node=f"gpu-000{number}-00", actor="test")
    until(
        page,
        f"document.getElementById('past-ahead').textContent.includes('{head(cluster) - before} events')",
    )
    until(page, f"document.getElementById('past-slider').max === '{head(cluster)}'")
    assert pixels(page, CORDON) == 0
    assert page.locator("[data-kpi=largest]").inner_text() == "128"
    assert page.locator("#live-pill").get_attribute("data-state") == "paused"
    page.keyboard.press("l")
    page.wait_for_selector(LIVE)
    wait_for_pixels(page, CORDON)
    assert "at=" not in page.url and "sel=node%3Agpu-0007-00" in page.url


def test_with_the_keyboard_alone(cluster: Cluster, cordoned: int, visit: Callable[..., Any]) -> None:
    """From live into the past, event by event, a node, the slider, back."""
    page = visit("/c/demo/map")
    last = head(cluster)
    page.keyboard.press("[")
    page.wait_for_selector(ready(last))
    page.keyboard.press("[")
    page.wait_for_selector(ready(last - 1))
    until(page, "document.getElementById('map-announce').textContent !== ''")
    while page.locator(ready(cordoned)).count() == 0:
        page.keyboard.press("[")
    wait_for_pixels(page, CORDON)
    page.keyboard.press("]")
    page.wait_for_selector(ready(cordoned + 1))
    wait_for_pixels(page, CORDON, none=True)
    page.locator("#rack-map").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#map-cell").text_content().startswith("rack-0000 · nodes: 16")
    page.keyboard.press("Shift+ArrowDown")
    assert page.locator("#map-detail h2").inner_text() == "gpu-0000-00"
    assert page.locator("#map-detail").get_by_text("The node as it is now").count() == 1
    page.locator("#past-slider").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(ready(cordoned))
    page.keyboard.press("Home")
    page.wait_for_selector(ready(1))
    page.keyboard.press("l")
    page.wait_for_selector(LIVE)
    assert "at=" not in page.url


def test_playing_shows_every_event_to_the_last_and_can_be_stopped(
    cluster: Cluster, cordoned: int, visit: Callable[..., Any]
) -> None:
    last = head(cluster)
    page = visit(f"/c/demo/map?at={last - 8}", ready=ready(last - 8))
    page.evaluate("""() => {
      const map = document.getElementById('rack-map');
      window.seen = [];
      new MutationObserver(() => window.seen.push(Number(map.dataset.shown))).observe(
        map, { attributeFilter: ['data-shown'] });
    }""")
    play = page.locator("#past-play")
    page.keyboard.press("p")
    assert play.inner_text() == "Stop"
    page.wait_for_selector("#past-play[aria-pressed=false]")
    assert play.inner_text() == "Play"
    seen = page.evaluate("window.seen")
    assert seen == [*range(last - 7, seen[-1] + 1)] and seen[-1] >= last
    page.locator("#past-slider").fill(f"{last - 100}")
    page.wait_for_selector(ready(last - 100))
    play.click()
    until(page, f"Number(document.getElementById('rack-map').dataset.shown) > {last - 100}")
    play.click()
    stopped = page.evaluate("window.seen.length")
    page.wait_for_timeout(600)  # the time of three events: it stands still
    assert page.evaluate("window.seen.length") == stopped


def test_the_side_panel_and_the_headline_numbers_are_of_the_same_moment(
    cluster: Cluster, visit: Callable[..., Any]
) -> None:
    placed = Event.objects.get(stream_id=cluster.pk, type="PodGroupPlaced").seq
    page = visit(f"/c/demo/map?at={placed - 1}&pg=team-a/runs", ready=ready(placed - 1))
    assert page.locator("[data-kpi=gpus_used]").inner_text() == "0"
    aside = page.locator("#map-group")
    assert f"As of event {placed - 1}," in aside.inner_text()
    assert "3 of 3 members would be in rack" in aside.inner_text()
    page.keyboard.press("]")
    page.wait_for_selector(ready(placed))
    assert page.locator("[data-kpi=gpus_used]").inner_text() == "24"
    wait_for_pixels(page, PICK)
    aside.get_by_text(f"As of event {placed},").wait_for()
    assert "3 of 3 members are in rack" in aside.inner_text()
    assert page.locator("#map-group").get_by_text("What would make it run").count() == 0
    page.locator("[data-pick='team-a/waits']").click()
    page.wait_for_url("**pg=team-a*waits*")
    aside.get_by_role("heading", name="team-a/waits").wait_for()
    assert f"As of event {placed}," in aside.inner_text()


def test_a_node_that_is_gone_is_there_again_and_the_table_tells_the_same(
    cluster: Cluster, visit: Callable[..., Any]
) -> None:
    before = head(cluster)
    rest = [node(row.name, "rack-0001") for row in NodeRow.objects.filter(name__startswith="gpu-0001")]
    request = ImportRequest(data=dump(*rest), mode="simulated", gates=None, complete=frozenset({"Node"}))
    import_cluster(name="demo", request=request, actor="test")
    page = visit(f"/c/demo/map?at={before}", ready=ready(before))
    assert page.locator("[data-kpi=nodes]").inner_text() == "241"
    page.locator("#search").fill("rack:rack-0009")
    until(page, "document.getElementById('map-sentence').textContent === 'nodes that match: 16'")
    page.goto(f"/c/demo/map?at={before}&view=table")
    assert page.locator("main tbody tr").count() == 15
    page.get_by_role("link", name="rack-0009").click()
    page.wait_for_selector(ready(before))
    assert sentence(page).startswith("rack-0009 · nodes: 16")


def test_two_moments_paint_what_is_different_and_flip(
    cluster: Cluster, cordoned: int, visit: Callable[..., Any], screenshot: Callable[..., Path]
) -> None:
    a = cordoned - 1
    request = ImportRequest(data=dump(node("fresh", "rack-0002")), mode="simulated", gates=None)
    import_cluster(name="demo", request=request, actor="test")
    b = Event.objects.get(stream_id=cluster.pk, type="NodeAdded", name="fresh").seq
    page = visit(f"/c/demo/map?at={b}&against={cordoned}", ready=ready(b))
    said = page.locator("#past-said")
    assert said.inner_text() == (
        "Nodes: 242. Added: 1, removed: 0, with another state, rack or size: 1, with other owners: 0, "
        "the same: 240."
    )
    assert page.locator("#past-time a").get_attribute("href") == f"/c/demo/compare?a={cordoned}&b={b}"
    assert pixels(page, CORDON) == 0
    page.keyboard.press("f")
    page.wait_for_selector(ready(cordoned))
    assert page.locator("#past-flip").get_attribute("aria-pressed") == "true"
    screenshot(page, "map-compared-a")
    page.keyboard.press("f")
    page.wait_for_selector(ready(b))
    page.goto(f"/c/demo/map?at={b}&against={cordoned}&sel=node:fresh")
    page.wait_for_selector(ready(b))
    assert sentence(page) == (
        f"at event {cordoned}: not there — at event {b}: fresh · rack-0002 · GPUs free: 8/8"
    )
    page.goto(f"/c/demo/map?at={a}&against={a}")
    page.wait_for_selector(ready(a))
    assert "the same: 241." in said.inner_text()
    page.keyboard.press("l")
    page.wait_for_selector(LIVE)
    assert "against=" not in page.url


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("at=soon", "“soon” is neither the number of an event nor a time such as 2026-11-29T16:24:07+09:00."),
        ("at=0", "0 lies before the first event of the log."),
        ("at=5&against=900000", "900000 lies after the head of the log, event "),
    ],
)
def test_what_is_no_moment_is_told_and_asked_again(
    cluster: Cluster, cordoned: int, visit: Callable[..., Any], query: str, said: str
) -> None:
    page = visit(f"/c/demo/map?{query}", ready="[role=alert]")
    assert said in page.locator("[role=alert]").inner_text()
    page.get_by_label("Go to").fill(f"{cordoned}")
    if "against" in query:
        page.get_by_label("Compare with").fill("5")
    page.get_by_role("button", name="Go").click()
    page.wait_for_selector(ready(cordoned))


def test_an_event_leads_to_the_map_at_it(cluster: Cluster, cordoned: int, visit: Callable[..., Any]) -> None:
    page = visit(f"/c/demo/history/{cordoned}")
    page.get_by_role("link", name="The map at this moment").click()
    page.wait_for_selector(ready(cordoned))
    page.go_back()
    page.get_by_role("link", name="The map before and after").click()
    page.wait_for_selector(ready(cordoned))
    assert "with another state, rack or size: 1" in page.locator("#past-said").inner_text()


def test_who_wants_less_motion_is_shown_an_event_a_second(
    cluster: Cluster, cordoned: int, visit: Callable[..., Any]
) -> None:
    at = cordoned - 20
    page = visit(f"/c/demo/map?at={at}", ready=ready(at), reduced_motion="reduce")
    page.keyboard.press("p")
    page.wait_for_timeout(1_500)
    assert page.locator("#rack-map").get_attribute("data-shown") in {f"{at}", f"{at + 1}"}
    page.wait_for_selector(ready(at + 2))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_past_is_accessible_in_both_themes_and_languages(
    theme: str,
    language: str,
    cluster: Cluster,
    cordoned: int,
    visit: Callable[..., Any],
    screenshot: Callable[..., Path],
) -> None:
    addresses = {
        "past": (f"at={cordoned}&pg=team-a/waits", cordoned),
        "compared": (f"at={cordoned}&against=20", cordoned),
    }
    for name, (query, seq) in addresses.items():
        page = visit(
            f"/c/demo/map?{query}",
            ready=ready(seq),
            theme=theme,
            before=lambda page: page.context.add_cookies(
                [{"name": "django_language", "value": language, "url": page_url(page)}]
            ),
        )
        page.wait_for_timeout(300)
        assert violations(page) == []
        screenshot(page, f"map-{name}-{theme}-{language}")


def page_url(page: Any) -> str:
    url: str = page.context.cookies()[0]["domain"]
    return f"http://{url}"


def test_ten_thousand_nodes_are_scrubbed_smoothly(
    live_stack: Any, visit: Callable[..., Any], screenshot: Callable[..., Path]
) -> None:
    """No time is asserted: what is shown at the end of a drag over all events is what the server says."""
    cluster = grown(625, *gang("runs", 16))
    run_cycle(cluster.pk)
    for number in range(40):
        cordon(cluster=cluster, node=f"gpu-{number:04d}-00", actor="test")
    last = head(cluster)
    page = visit(f"/c/demo/map?at={last}", ready=ready(last))
    slider = page.locator("#past-slider")
    for back in (7, 35, 12, 60, 20):
        slider.fill(f"{last - back}")
        page.wait_for_selector(ready(last - back))
    page.locator("#search").fill("state:cordoned")
    until(page, "document.getElementById('map-sentence').textContent === 'nodes that match: 20'")
    page.locator("#map-group").get_by_text(f"As of event {last - 20:,},").wait_for()
    screenshot(page, "map-past-10000")


def test_now_is_a_moment_too(cluster: Cluster, visit: Callable[..., Any]) -> None:
    now = datetime.now(UTC).isoformat().replace("+", "%2B")
    page = visit(f"/c/demo/map?at={now}", ready=ready(head(cluster)))
    assert page.locator("#past-event").inner_text() == f"event {head(cluster)}"
