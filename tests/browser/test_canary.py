"""A canary in a browser, judged by the served worker: one that fails rolls back by itself, one passes and
widens, one waits for a person; and the history tells the whole story of each.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from scheduling.models import Cluster, Event
from scheduling.services.clusters import ImportRequest, import_cluster, set_gate
from scheduling.services.workloads import submit_manifests
from tests.browser.test_pages import violations
from tests.console.support import dump, gang, node

PAGE = "/c/demo/rollout/canary"
PATIENCE = 40_000
"""Milliseconds until a page must show what is to happen by itself; a wait ends as soon as it does."""


@pytest.fixture
def cluster(live_stack: Any) -> Cluster:
    """`demo`: two racks of two nodes, and a gate off."""
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack in (1, 2) for place in (1, 2)]
    import_cluster(name="demo", request=ImportRequest(dump(*nodes), mode="simulated"), actor="test")
    made = Cluster.objects.get(name="demo")
    set_gate(cluster=made, gate="TopologyAwareWorkloadScheduling", enabled=False, actor="test")
    return made


def submit(cluster: Cluster, name: str, members: int) -> None:
    submit_manifests(cluster=cluster, data=dump(*gang(name, members)), actor="test")


def fill(page: Page, seconds: int, approval: str = "automatic", **limits: str) -> None:
    page.locator("#id_s0-namespaces").fill("team-a")
    page.locator("#id_window").fill(str(seconds))
    page.locator("#id_window_unit").select_option("seconds")
    page.locator("#id_approval").select_option(approval)
    for criterion, value in limits.items():
        page.locator(f"#id_limit_{criterion}").fill(value)


def newest(cluster: Cluster, kind: str) -> Event:
    return Event.objects.filter(stream_id=cluster.pk, type=kind).latest("seq")


def pictures(page: Page, name: str, screenshot: Callable[..., Path]) -> None:
    """In both themes and languages, each without a violation of axe."""
    for language in ("EN", "日本語"):
        button = page.get_by_role("button", name=language, exact=True)
        if button.get_attribute("aria-pressed") != "true":
            button.click()
            expect(button).to_have_attribute("aria-pressed", "true")
        for theme in ("light", "dark"):
            page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            screenshot(page, f"canary-{name}-{'en' if language == 'EN' else 'ja'}-{theme}")
            assert violations(page) == []
    page.get_by_role("button", name="EN", exact=True).click()


def test_one_that_fails_rolls_back_by_itself_and_the_history_tells_the_whole_story(
    cluster: Cluster, visit: Callable[..., Page], screenshot: Callable[..., Path]
) -> None:
    page = visit(PAGE)
    pictures(page, "0-form", screenshot)
    fill(page, 8, pending="0", wait_median="2")
    page.get_by_role("button", name="Start the canary").click()
    expect(page.get_by_text("The canary began.")).to_be_visible()
    submit(cluster, "wide", 3)

    row = page.get_by_role("row", name="team-a/wide")
    expect(row).to_contain_text("pending", timeout=PATIENCE)
    page.goto("/c/demo/podgroups/team-a/wide")
    expect(page.get_by_text("enforced by canary-").first).to_be_visible()
    expect(page.locator("p.canary-runs")).to_contain_text("groups of namespace team-a are held to one domain")
    screenshot(page, "canary-1-group")
    page.goto(PAGE)
    screenshot(page, "canary-2-running")

    over = page.locator("#over-title + div tbody tr")
    expect(over).to_contain_text("failed", timeout=PATIENCE)
    expect(over).to_contain_text("rolled back")
    page.goto("/c/demo/podgroups/team-a/wide")
    expect(page.get_by_text("3 of 3 members have a node").first).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("constraint not enforced", exact=True).first).to_be_visible()
    nodes = {row.inner_text().split()[1] for row in page.locator("#members-title ~ div tbody tr").all()}
    assert {name[1] for name in nodes} == {"1", "2"}, "it runs across both racks"

    page.goto(PAGE)
    pictures(page, "3-over", screenshot)
    over.get_by_role("link", name="History").click()
    lines = page.locator("main table tbody tr")
    expect(lines).to_have_count(4)
    for place, words in enumerate(
        (
            ("PodGroup placed", "3 of 3 members have a node"),
            ("canary rolled back", "because it failed", "Decided anew: team-a/wide."),
            ("canary judged", "groups that wait 1, allowed 0 or less: failed", "median wait at least"),
            ("canary started", "groups of namespace team-a are held to one domain"),
        )
    ):
        for word in words:
            expect(lines.nth(place)).to_contain_text(word)
    pictures(page, "4-history", screenshot)

    seqs = [
        newest(cluster, kind)
        for kind in ("PodGroupPlaced", "GateRolledBack", "CanaryJudged", "CanaryStarted")
    ]
    assert [event.cause for event in seqs] == [*(event.seq for event in seqs[1:]), None]
    page.goto(f"/c/demo/history/{seqs[0].seq}")
    for event in seqs[1:]:
        expect(page.locator("ol.chain").get_by_role("link", name=str(event.seq)).first).to_be_visible()
    screenshot(page, "canary-5-causes")


def test_one_that_passes_widens_to_the_whole_cluster_and_is_kept(
    cluster: Cluster, visit: Callable[..., Page], screenshot: Callable[..., Path]
) -> None:
    page = visit(PAGE)
    fill(page, 4, wait_longest="60", errors="0")
    page.get_by_role("button", name="Add a stage").click()
    expect(page.locator("#id_s1-namespaces")).to_have_value("team-a")
    page.locator("#id_s1-namespaces").fill("")
    page.locator("#id_s1-whole").check()
    page.get_by_role("button", name="Start the canary").click()
    submit(cluster, "fits", 2)

    expect(page.locator("p.gate-off")).to_have_count(0, timeout=PATIENCE)
    expect(page.locator("p.canary-runs")).to_contain_text("the gates are on for all groups")
    submit(cluster, "more", 2)
    screenshot(page, "canary-6-widened")
    expect(page.locator("#kept-title")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("Every gate is on").first).to_be_visible()
    screenshot(page, "canary-7-kept")
    kinds = ("CanaryStarted", "CanaryWidened", "FeatureGateChanged", "CanaryEnded")
    assert len({newest(cluster, kind).seq for kind in kinds}) == len(kinds)
    assert newest(cluster, "FeatureGateChanged").cause == newest(cluster, "CanaryWidened").seq


def test_one_with_approval_waits_for_a_person_and_says_so_on_every_page(
    cluster: Cluster, visit: Callable[..., Page], screenshot: Callable[..., Path]
) -> None:
    page = visit(PAGE)
    fill(page, 3, approval="ask")
    page.get_by_role("button", name="Start the canary").click()
    expect(page.get_by_text("at least one limit is needed")).to_be_visible()
    expect(page.locator("#id_s0-namespaces")).to_have_value("team-a")
    page.locator("#id_limit_pending").fill("0")
    page.get_by_role("button", name="Start the canary").click()
    expect(page.get_by_text("The canary began.")).to_be_visible()
    submit(cluster, "wide", 3)

    page.goto("/c/demo/nodes/")
    page.wait_for_selector("#live-pill[data-state=live]")
    expect(page.locator("p.canary-asks")).to_contain_text("was judged (failed)", timeout=PATIENCE)
    screenshot(page, "canary-8-asks-everywhere")
    page.get_by_role("link", name="Decide").click()
    pictures(page, "9-asks", screenshot)
    page.locator("#canary-approve").click()
    expect(page.locator("#over-title + div tbody tr")).to_contain_text("rolled back")
    rolled, judged = newest(cluster, "GateRolledBack"), newest(cluster, "CanaryJudged")
    assert (rolled.cause, rolled.actor) == (judged.seq, "ops")
