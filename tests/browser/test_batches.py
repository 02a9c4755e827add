"""Batches and the verification matrix in a browser, on the demo cluster: real workers do the points, every
cell is explained, the map is walked with arrow keys, and measured values stand beside the estimates.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from playwright.sync_api import Page, expect

from scheduling.models import Cluster, Run
from scheduling.scenarios import axes, batches, matrix
from scheduling.scenarios.documents import read_yaml
from scheduling.services.demo import PRODUCT, load_demo
from scheduling.services.tokens import create_token
from tests.api.support import GPU, RACK, Caller
from tests.browser.test_pages import violations
from tests.faults.worker import until

PATIENCE = 60_000
"""Milliseconds until a page must show what is to happen by itself; a wait ends as soon as it does."""

SCENARIO = f"""steps:
- step: submit
  namespace: research
  name: tried
  min_count: 1
  topology_key: {RACK}
  templates:
  - count: 1
    requests: {{{GPU}: "8"}}
    node_selector: {{{PRODUCT}: H100}}
"""


@pytest.fixture(autouse=True)
def demo(live_stack: Any) -> None:
    expect.set_options(timeout=PATIENCE)
    load_demo()


def test_a_batch_from_its_form_to_a_point_of_its_map(
    visit: Callable[..., Page], screenshot: Callable[..., Path]
) -> None:
    page = visit("/c/demo/batches/")
    page.get_by_role("link", name="New batch").click()
    page.get_by_label("or a scenario as YAML").fill(SCENARIO)
    second = page.get_by_role("group", name="Second axis")
    second.get_by_label("What varies").select_option("lost_nodes")
    second.get_by_role("button", name="Show its fields").click()
    second.get_by_label("Topology key").fill(RACK)
    second.get_by_label("Domain", exact=True).fill("b99")
    second.get_by_label("From").fill("0")
    second.get_by_label("Which first").select_option("emptiest")
    page.get_by_role("button", name="Run the batch").click()
    expect(page.get_by_text("no node carries topology.example.com/rack=b99")).to_be_visible()
    screenshot(page, "batch-1-mistake")
    assert page.get_by_label("or a scenario as YAML").input_value() == SCENARIO
    second.get_by_label("Domain", exact=True).fill("b05")
    page.get_by_role("button", name="Run the batch").click()

    expect(page.locator("#run-now[data-status=done]")).to_be_visible()
    page.reload()
    cells = page.locator("table.heat td a")
    expect(cells).to_have_count(16 * 9)
    run = Run.objects.get(kind="batch")
    assert len(run.result["workers"]) >= 2, "all workers take part"

    # One tab stop; arrow keys go on, and the line says what the cell is.
    said = page.locator("#heat-said")
    cells.first.focus()
    expect(said).to_contain_text("nodes lost in a domain")
    first = said.inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(said).not_to_have_text(first)
    expect(cells.nth(10)).to_be_focused()
    screenshot(page, "batch-2-map")
    page.get_by_role("link", name="members that fit").click()
    expect(page.locator("td.h-n5").first).to_be_visible()
    screenshot(page, "batch-3-fits")

    with page.expect_download() as download:
        page.get_by_role("link", name="All 144 points as CSV").click()
    with Path(download.value.path()).open(encoding="utf-8-sig") as file:
        assert len(list(csv.DictReader(file))) == 144

    page.locator("table.heat td a").nth(143).click()
    expect(page.get_by_role("heading", name=f"Point 143 of run {run.number}")).to_be_visible()
    expect(page.locator("pre.code")).to_contain_text("lose_nodes")
    screenshot(page, "batch-4-point")


def test_a_matrix_of_the_demo_cluster_with_every_row_explained(
    visit: Callable[..., Page], screenshot: Callable[..., Path], live_stack: Any
) -> None:
    page = visit("/c/demo/matrix/")
    page.get_by_label("Between domains, MB/s").fill("0")
    page.get_by_role("button", name="Run the matrix").click()
    expect(page.locator("[aria-invalid=true]")).to_have_count(1)
    page.get_by_label("Between domains, MB/s").fill("5000")
    page.get_by_role("button", name="Run the matrix").click()
    expect(page.locator("#run-now[data-status=done]")).to_be_visible()
    rows = page.locator("table.matrix tbody tr")
    expect(rows).to_have_count(len(matrix.CELLS))
    for index in range(len(matrix.CELLS)):
        row = rows.nth(index)
        expect(row).not_to_contain_text("not done yet")
        assert row.locator(".tag.ok, .tag.info").count() >= 1, row.inner_text()
        assert "docs/concepts.md#" in row.inner_text()
    expect(page.locator(".tag.bad")).to_have_count(0)
    expect(page.locator("#one_short")).to_contain_text("At most 3 of 4 members fit into one domain.")
    expect(page.locator("#one_short")).to_contain_text("42 GB")
    expect(page.get_by_role("row", name="Between domains, MB/s")).to_contain_text("as given for this run")

    # A measured value, sent as a program would, stands beside the estimate.
    run = Run.objects.get(kind="matrix")
    user = User.objects.create_user("meter")
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_cluster", "run_scenario"]))
    call = Caller(user, create_token(user=user, name="meter")[1])
    measured = {
        "condition": "one_short",
        "mode": "plain",
        "steps_thousandths": 250,
        "source": "job 17, its own log",
        "measured_at": datetime(2026, 1, 1, tzinfo=UTC).isoformat(),
    }
    sent = call("POST", f"/clusters/demo/runs/{run.number}/measurements", measured)
    assert sent.status_code == 201, sent.content
    page.reload()
    expect(page.locator("#one_short")).to_contain_text("job 17, its own log")
    screenshot(page, "matrix-result")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_results_are_accessible_in_both_themes_and_languages(
    visit: Callable[..., Page], screenshot: Callable[..., Path], theme: str, language: str
) -> None:
    cluster = Cluster.objects.get(name="demo")
    template = {"requests": {GPU: "8"}, "node_selector": {PRODUCT: "H100"}}
    asked = matrix.read({"topology_key": RACK, "template": template})
    grid = matrix.request(cluster=cluster, document=asked, actor="ops")
    scenario = read_yaml(SCENARIO).model_dump(mode="json")
    found = [
        {"axis": "lost_nodes", "key": RACK, "domain": "b05", "last": 6},
        {"axis": "members", "first": 1, "last": 15},
    ]
    batch = batches.request(
        cluster=cluster, document=axes.read({"scenario": scenario, "axes": found}), actor="ops"
    )
    until(lambda: not Run.objects.filter(status__in=Run.OPEN).exists(), "both runs are done")
    faults: dict[str, list[str]] = {}
    for name, path in (
        ("matrix", f"runs/{grid.number}"),
        ("batch", f"runs/{batch.number}"),
        ("batch-fits", f"runs/{batch.number}?show=fits"),
        ("point", f"runs/{batch.number}/points/3"),
        ("cell", f"runs/{grid.number}/points/7"),
        ("matrix-form", "matrix/"),
        ("batch-form", "batches/new"),
    ):
        page = visit(f"/c/demo/{path}", theme=theme, locale=language, width=1600)
        screenshot(page, f"workbench-{name}-{language}-{theme}")
        if problems := violations(page):
            faults[name] = problems
    assert faults == {}
