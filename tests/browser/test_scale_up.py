"""Scale-up in a browser: a type of nodes, a plan with its proof, approval, nodes that join in two steps, and
the group runs, by the ordinary cycle of the served worker.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from scheduling.models import Cluster
from scheduling.services import node_types, scale_up
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.node_types import GrowthForm, NodeTypeForm
from tests.console.support import RACK, dump, gang, node

PATIENCE = 30_000
"""Milliseconds until a page must show what is to happen by itself; a wait ends as soon as it does."""


def waiting_cluster() -> Cluster:
    """`demo`: two racks of two nodes, a gang that needs four of them and another that needs five."""
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack in (1, 2) for place in (1, 2)]
    request = ImportRequest(data=dump(*nodes, *gang("llm", 4), *gang("huge", 5)), mode="simulated")
    import_cluster(name="demo", request=request, actor="test")
    return Cluster.objects.get(name="demo")


def test_a_waiting_gang_gets_a_plan_its_nodes_and_its_place(
    visit: Callable[..., Page], screenshot: Callable[..., Path]
) -> None:
    expect.set_options(timeout=PATIENCE)
    waiting_cluster()
    page = visit("/c/demo/podgroups/team-a/llm")
    page.get_by_role("link", name="Capacity", exact=True).click()
    expect(page.get_by_text("No node type is defined.")).to_be_visible()

    # A mistake is told at its field, and what was typed stays.
    page.get_by_label("Name", exact=True).fill("gpu-box")
    page.get_by_label("Like the node").fill("nobody")
    page.get_by_label("Topology key").fill(RACK)
    page.get_by_label("Domains that may grow").fill("r1=4\nr9=8")
    page.get_by_label("Cost of a node and hour").fill("98.32")
    page.get_by_role("button", name="Define").click()
    expect(page.get_by_text("there is no node nobody")).to_be_visible()
    screenshot(page, "scale-up-1-mistake")
    page.get_by_label("Like the node").fill("n11")
    page.get_by_role("button", name="Define").click()
    expect(page.get_by_role("rowheader", name="gpu-box")).to_be_visible()

    # From the page of the group to a plan that is proved.
    page.goto("/c/demo/podgroups/team-a/llm")
    page.get_by_role("button", name="Plan scale-up").click()
    plan = page.get_by_role("article")
    expect(plan.get_by_text("2 nodes of gpu-box in rack r1: that makes team-a/llm fit.")).to_be_visible()
    expect(plan.get_by_text("With one node fewer, whichever it is, it does not do.").first).to_be_visible()
    plan.get_by_text("1 alternative").click()
    expect(plan.get_by_role("cell", name="4 nodes of gpu-box in rack r9", exact=True)).to_be_visible()
    screenshot(page, "scale-up-2-plan")

    with page.expect_download() as download:
        plan.get_by_role("link", name="JSON").click()
    assert json.loads(Path(download.value.path()).read_text())["groups"] == ["team-a/llm"]
    with page.expect_download() as download:
        plan.get_by_role("link", name="ProvisioningRequest", exact=True).click()
    assert "kind: ProvisioningRequest" in Path(download.value.path()).read_text()

    # Only one of two nodes comes at first; nothing of the gang is bound.
    plan.get_by_label("Nodes that come").fill("1")
    plan.get_by_role("button", name="Approve", exact=False).first.click()
    expect(page.get_by_text("1 of 2 nodes joined; due by")).to_be_visible()
    expect(page.get_by_text("Joined: gpu-box-r1-1")).to_be_visible()
    screenshot(page, "scale-up-3-approved")

    # The other one comes, and the cycle places the gang; the open page hears of it.
    page.get_by_role("button", name="Let nodes join").click()
    expect(page.get_by_role("article").get_by_text("completed")).to_be_visible()
    page.goto("/c/demo/podgroups/team-a/llm")
    expect(page.get_by_text("scheduled", exact=True).first).to_be_visible()
    screenshot(page, "scale-up-4-runs")


def test_the_page_in_both_languages_and_themes(
    visit: Callable[..., Any], screenshot: Callable[..., Path]
) -> None:
    expect.set_options(timeout=PATIENCE)
    cluster = waiting_cluster()
    for name, rack, cost in (("gpu-box", "r1", "98.32"), ("gpu-old", "r2", "61.5"), ("gpu-any", "r9", "")):
        form = NodeTypeForm(
            name, like="n11", growth=(GrowthForm(RACK, rack, 8),), cost=cost, provider="simulated"
        )
        node_types.define(cluster=cluster, form=form, actor="ops")
    scale_up.plan(cluster=cluster, groups=["team-a/llm"], actor="ops")

    light = visit("/c/demo/capacity", locale="en-GB")
    expect(light.get_by_text("2 nodes of gpu-old in rack r2")).to_be_visible()
    expect(light.get_by_text("2 alternatives")).to_be_visible()
    light.get_by_text("2 alternatives").click()
    screenshot(light, "scale-up-light-en")
    dark = visit("/c/demo/capacity", locale="ja-JP", theme="dark")
    expect(dark.get_by_text("ラック r2 に gpu-old 2 台")).to_be_visible()
    screenshot(dark, "scale-up-dark-ja")
    narrow = visit("/c/demo/capacity", locale="ja-JP", width=390)
    screenshot(narrow, "scale-up-narrow-ja")
