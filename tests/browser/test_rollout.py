"""The rollout in a browser: readiness of the demo cluster, a statement, a switch rehearsed from its own page
by a real worker, and advice.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from scheduling.models import Cluster, Event
from scheduling.services.demo import load_demo
from tests.browser.test_pages import violations

PATIENCE = 30_000
"""Milliseconds until a page must show what is to happen by itself; a wait ends as soon as it does."""

TAS = "TopologyAwareWorkloadScheduling"


@pytest.fixture
def demo(live_stack: Any) -> Cluster:
    load_demo()
    expect.set_options(timeout=PATIENCE)
    return Cluster.objects.get(name="demo")


def row(page: Page, code: str) -> Any:
    return page.locator(f'tr[data-row="{code}"]')


def test_readiness_a_statement_a_rehearsal_and_advice(
    demo: Cluster, visit: Callable[..., Page], screenshot: Callable[..., Path]
) -> None:
    page = visit("/c/demo/rollout")
    expect(page.get_by_role("link", name="Rollout", exact=True)).to_have_attribute("aria-current", "page")
    expect(page.get_by_text("Not ready:")).to_be_visible()
    expect(row(page, "version")).to_have_attribute("data-standing", "green")
    expect(row(page, "autoscaler")).to_have_attribute("data-standing", "unknown")
    labels = row(page, "labels:topology.example.com/rack")
    expect(labels).to_have_attribute("data-standing", "red")
    expect(labels.get_by_role("link", name="h100-b05-14")).to_be_visible()
    expect(row(page, "rollback")).to_have_attribute("data-standing", "red")

    # A mistake is told at its field and keeps what was said; then it is stated, and not taken for measured.
    autoscaler = page.locator("#fact-autoscaler")
    autoscaler.get_by_label("Stated").select_option("karpenter")
    autoscaler.get_by_role("button", name="State").click()
    expect(page.locator("#fact-autoscaler").get_by_text("say how this is known")).to_be_visible()
    expect(page.locator("#fact-autoscaler").get_by_label("Stated")).to_have_value("karpenter")
    page.locator("#fact-autoscaler").get_by_label("How it is known").fill("kubectl get nodepools")
    page.locator("#fact-autoscaler").get_by_role("button", name="State").click()
    expect(row(page, "autoscaler")).to_have_attribute("data-standing", "red")
    expect(row(page, "autoscaler")).to_contain_text("stated, not measured")
    expect(row(page, "autoscaler")).to_contain_text("ops")
    assert violations(page) == []
    screenshot(page, "rollout-1-readiness")

    # From the page of the gate: the switch was not rehearsed; a worker does it, and nothing is switched.
    page.goto(f"/c/demo/gates/{TAS}")
    expect(page.get_by_text("This switch was not rehearsed")).to_be_visible()
    page.get_by_role("button", name="Rehearse first").click()
    expect(page.get_by_text("groups would change")).to_be_visible()
    waiting = page.locator("tr", has_text="research/llm-pretrain")
    expect(waiting).to_have_attribute("data-change", "runs")
    expect(waiting).to_contain_text("kube-scheduler 1.36")
    assert violations(page) == []
    screenshot(page, "rollout-2-rehearsal")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert "research/llm-pretrain,runs" in Path(download.value.path()).read_text("utf-8-sig")
    page.locator("select[name=change]").select_option("runs")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tr[data-change]")).to_have_count(1)

    page.goto(f"/c/demo/gates/{TAS}")
    expect(page.locator("#rehearsal").get_by_text("groups would change")).to_be_visible()
    expect(page.locator("#rehearsal").get_by_text("event")).to_be_visible()
    expect(page.get_by_role("button", name="Switch off")).to_be_visible()
    assert violations(page) == []
    screenshot(page, "rollout-3-gate")
    assert Cluster.objects.get(name="demo").gates[TAS] is True
    assert Event.objects.filter(stream_id=demo.pk, type="RehearsalRun").count() == 1
    page.goto("/c/demo/history?type=RehearsalRun")
    expect(page.get_by_text("Nothing was switched.")).to_be_visible()

    # Advice for the group that waits; then for a workload that is not there, with a mistake first.
    page.goto("/c/demo/rollout/advice?group=research/llm-pretrain")
    expect(page.locator("#advised")).to_contain_text("times the throughput")
    expect(page.get_by_text("Free GPUs left unusable for it")).to_be_visible()
    page.get_by_text("For each domain").click()
    assert violations(page) == []
    screenshot(page, "rollout-4-advice")
    page.get_by_label("An open PodGroup").fill("")
    page.get_by_label("or members alike").fill("4")
    page.get_by_label("nvidia.com/gpu").fill("lots")
    page.get_by_label("Topology key").fill("topology.example.com/rack")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("[aria-invalid=true]")).to_have_value("lots")
    assert violations(page) == []
    page.get_by_label("nvidia.com/gpu").fill("8")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#advised")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_pages_of_the_rollout_in_both_languages_and_themes(
    language: str, theme: str, demo: Cluster, visit: Callable[..., Page], screenshot: Callable[..., Path]
) -> None:
    page = visit("/c/demo/rollout", theme=theme, locale=language)
    for name, path in (
        ("readiness", "/c/demo/rollout"),
        ("gate", f"/c/demo/gates/{TAS}"),
        ("advice", "/c/demo/rollout/advice?group=research/llm-pretrain"),
    ):
        page.goto(path)
        assert violations(page) == []
        screenshot(page, f"rollout-{name}-{theme}-{language}")
    page.goto(f"/c/demo/gates/{TAS}")
    page.locator("#rehearsal button").click()
    expect(page.locator("tr[data-change]").first).to_be_visible()
    assert violations(page) == []
    screenshot(page, f"rollout-rehearsal-{theme}-{language}")


@pytest.mark.parametrize("path", ["rollout", "rollout/canary", "rollout/advice", "matrix/", "traces"])
def test_on_a_narrow_screen_only_tables_are_wider(
    path: str, demo: Cluster, visit: Callable[..., Page]
) -> None:
    page = visit(f"/c/demo/{path}", width=390)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
