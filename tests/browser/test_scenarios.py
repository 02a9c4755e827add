"""Scenarios on the real stack, as a person does them: built in the form, run by workers, read, compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scheduling.models import Cluster, Run
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from tests.browser.support import LIVE
from tests.console.support import RACK, dump, gang, node

NEW = "/c/demo/scenarios/new"
DONE = "#run-now[data-status=done]"


@pytest.fixture
def demo(live_stack: Any) -> Cluster:
    """Three racks of four nodes; `fits` runs in one, `wide` fits none."""
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack in (1, 2, 3) for place in (1, 2, 3, 4)]
    data = dump(*nodes, *gang("fits", 3), *gang("also", 2), *gang("wide", 5))
    import_cluster(name="demo", request=ImportRequest(data=data, mode="simulated"), actor="ops")
    made = Cluster.objects.get(name="demo")
    run_cycle(made.pk)
    return made


def add(page: Any, kind: str) -> int:
    """Add a step; its place."""
    place = page.locator("fieldset.step").count()
    page.select_option("#step-kind", kind)
    page.click("#add-step")
    page.wait_for_selector(f"#step-{place}")
    return place


def test_first(visit: Callable[..., Any], demo: Cluster, screenshot: Callable[..., Path]) -> None:
    page = visit(NEW)
    page.fill("#id_name", "lose-r1")
    add(page, "lose_nodes")
    page.fill("#id_s0-key", RACK)
    page.fill("#id_s0-domain", "r1")
    add(page, "submit")
    page.fill("#id_s1-name", "job")
    page.fill("#id_s1-min_count", "3")
    page.fill("#id_s1-topology_key", RACK)
    page.fill("#id_s1-t0-count", "3")
    page.fill("#id_s1-t0-gpu", "8")
    add(page, "add_nodes")
    page.fill("#id_s2-count", "2")
    page.fill("#id_s2-like", "n11")
    page.fill("#id_s2-key", RACK)
    page.fill("#id_s2-domain", "r2")
    screenshot(page, "scenario-form")
    page.locator("button[value=check]").last.click()
    page.wait_for_selector(LIVE)
    screenshot(page, "scenario-checked")
    page.fill("#id_s2-like", "n21")
    page.click("button[value=save-run]")
    page.wait_for_selector(DONE)
    page.wait_for_selector("#pair[data-shown]")
    screenshot(page, "scenario-run")
    page.locator("main").evaluate("e => e.scrollTo(0, 600)")
    screenshot(page, "scenario-run-below")
    page.goto("/c/demo/scenarios/")
    screenshot(page, "scenario-list")
    page.goto("/c/demo/scenarios/lose-r1")
    screenshot(page, "scenario-one")
    run = Run.objects.get()
    page.goto(f"/c/demo/runs/{run.number}/podgroups/team-a/wide")
    screenshot(page, "scenario-group")
