"""Scenarios on the real stack, as a person does them: built in the form, run by workers, read, compared."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scheduling.models import Cluster, PodGroupRow, Run
from scheduling.scenarios import documents, scenario_runs, workbench
from scheduling.services import nodes
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from tests.browser.support import LIVE, until
from tests.browser.test_pages import violations
from tests.console.support import RACK, dump, gang, node

NEW = "/c/demo/scenarios/new"
DONE = "#run-now[data-status=done]"


@pytest.fixture
def demo(live_stack: Any) -> Cluster:
    """Three racks of four nodes; `fits` runs in one, `wide` fits none."""
    made_of = [node(f"n{rack}{place}", f"r{rack}") for rack in (1, 2, 3) for place in (1, 2, 3, 4)]
    data = dump(*made_of, *gang("fits", 3), *gang("also", 2), *gang("wide", 5))
    import_cluster(name="demo", request=ImportRequest(data=data, mode="simulated"), actor="ops")
    made = Cluster.objects.get(name="demo")
    # The worker of the stack runs cycles too: whoever is second finds nothing left to decide.
    deadline = time.monotonic() + 30
    while PodGroupRow.objects.filter(cluster=made).exclude(verdict="").count() < 3:
        assert time.monotonic() < deadline
        run_cycle(made.pk)
    return made


LOSE = {"step": "lose_nodes", "key": RACK, "domain": "r1"}
END = {"step": "end_group", "group": "team-a/fits"}
SUBMIT = {
    "step": "submit",
    "namespace": "default",
    "name": "job",
    "min_count": 3,
    "topology_key": RACK,
    "templates": [{"count": 3, "requests": {"nvidia.com/gpu": "8"}}],
}

OUTLINED = """() => [...document.querySelectorAll('.pair-map canvas:last-of-type')].map((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.some((value, place) => place % 4 === 3 && value > 0);
})"""
"""Of each map, whether anything is marked on it."""


def played(
    visit: Callable[..., Any], cluster: Cluster, *steps: dict[str, Any], **options: Any
) -> tuple[Run, Any]:
    """A run that the workers of the stack have done, and its page."""
    run = scenario_runs.ask(cluster=cluster, document=documents.read({"steps": list(steps)}), actor="ops")
    page = visit(f"/c/demo/runs/{run.number}", **options)
    page.wait_for_selector(DONE)
    page.wait_for_selector("#pair[data-shown]")
    return run, page


def add(page: Any, kind: str) -> int:
    """Add a step; its place."""
    place = page.locator("fieldset.step").count()
    page.select_option("#step-kind", kind)
    page.click("#add-step")
    page.wait_for_selector(f"#step-{place}")
    return place


def fill(page: Any, place: int, **fields: str) -> None:
    for name, value in fields.items():
        page.fill(f"#id_s{place}-{name.replace('__', '-')}", value)


def gang_of(page: Any, place: int, name: str, members: int) -> None:
    fill(page, place, name=name, min_count=str(members), topology_key=RACK)
    fill(page, place, t0__count=str(members), t0__gpu="8")


def kinds(page: Any) -> list[str]:
    return [each.get_attribute("value") for each in page.locator("input[name^=s][name$='-step']").all()]


def test_a_scenario_is_built_saved_run_read_and_run_again(
    visit: Callable[..., Any], demo: Cluster, screenshot: Callable[..., Path]
) -> None:
    page = visit(NEW)
    page.fill("#id_name", "lose-r1")
    gang_of(page, add(page, "submit"), "job", 3)
    fill(page, add(page, "lose_nodes"), key=RACK, domain="r1")
    fill(page, add(page, "add_nodes"), count="2", like="n21", key=RACK, domain="r2")
    fill(page, add(page, "end_group"), group="team-a/nobody")

    # Order: by keys alone, the focus stays on the button of the step that moves.
    page.focus("#step-1-up")
    page.keyboard.press("Enter")
    until(page, "() => document.activeElement.id === 'step-0-down'")
    assert kinds(page) == ["lose_nodes", "submit", "add_nodes", "end_group"]
    assert page.input_value("#id_s1-name") == "job"
    page.click("button[value='copy:1']")
    page.wait_for_selector("#step-4")
    assert page.input_value("#id_s2-t0-gpu") == "8"
    fill(page, 2, name="second", min_count="2", t0__count="2")

    # An error stands at its field, and nothing that was typed is lost.
    page.locator("button[value=check]").last.click()
    error = page.locator("#id_s4-group-errors")
    error.wait_for()
    assert "there is no open PodGroup team-a/nobody" in error.inner_text()
    assert page.get_attribute("#id_s4-group", "aria-invalid") == "true"
    assert (page.input_value("#id_s1-name"), page.input_value("#id_s2-name")) == ("job", "second")
    screenshot(page, "scenario-error")
    page.click("button[value='drop:4']")
    page.wait_for_selector("#step-4", state="detached")
    page.locator("button[value=check]").last.click()
    page.wait_for_selector("#checked")

    # To YAML and back.
    page.click("button[value=yaml]")
    written = page.input_value("#scenario-yaml")
    assert "name: second" in written
    page.fill("#scenario-yaml", written.replace("name: second", "name: third"))
    page.click("button[value=form]")
    page.wait_for_selector("#step-3")
    assert page.input_value("#id_s2-name") == "third"
    assert kinds(page) == ["lose_nodes", "submit", "submit", "add_nodes"]

    page.click("button[value=save-run]")
    page.wait_for_selector(DONE)
    page.wait_for_selector("#pair[data-shown]")
    assert page.inner_text("#verdict strong") == "team-a/also would wait; 2 of 3 groups would run."
    assert "Nothing has happened in the cluster since." in page.inner_text("#what-if")
    run = Run.objects.get()
    assert (run.scenario, run.status) == ("lose-r1", "done")

    # The cluster goes on; the page says by how much, and the same is run on the newest event.
    nodes.cordon(cluster=demo, node="n34", actor="ops")
    page.reload()
    page.wait_for_selector("#pair[data-shown]")
    assert "The cluster has moved on by 1 event since." in page.inner_text("#what-if")
    page.click("#run-again")
    page.wait_for_url(lambda address: not address.endswith(f"/runs/{run.number}"))
    page.wait_for_selector(DONE)
    assert Run.objects.latest("number").base_seq == run.base_seq + 1

    page.click("a[href$='/podgroups/default/job']")
    page.wait_for_selector("h1:text('default/job')")
    assert "What if: this is a scenario, not the cluster." in page.inner_text("#what-if")


def test_both_maps_have_one_cursor(
    visit: Callable[..., Any], demo: Cluster, screenshot: Callable[..., Path]
) -> None:
    _, page = played(visit, demo, LOSE, SUBMIT)
    said = page.locator("#pair-sentence")

    page.focus("#pair")
    page.keyboard.press("ArrowRight")
    assert said.inner_text().startswith("r1: Nodes: 4. Added: 0, removed: 4")
    page.keyboard.press("Shift+ArrowDown")
    assert said.inner_text() == (
        "before: n11 · r1 · GPUs free: 0/8 · held by team-a/also (8) — after: not there"
    )
    assert page.inner_text("#pair-cell") == said.inner_text()
    until(page, f"() => ({OUTLINED})().every(found => found)")
    screenshot(page, "scenario-cursor")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    until(page, f"() => !({OUTLINED})().some(found => found)")

    # What the pointer is at in one of them is marked in the other.
    for side in ("before", "after"):
        page.locator(f".pair-map[data-side={side}]").hover(position={"x": 120, "y": 30})
        until(page, "() => document.getElementById('pair-sentence').textContent !== ''")
        until(page, f"() => ({OUTLINED})().every(found => found)")
        page.mouse.move(5, 5)
        until(page, "() => document.getElementById('pair-sentence').textContent === ''")

    page.click("#pair-only")
    assert page.get_attribute("#pair-only", "aria-pressed") == "true"


def test_two_runs_are_compared_side_by_side(
    visit: Callable[..., Any], demo: Cluster, screenshot: Callable[..., Path]
) -> None:
    first, _ = played(visit, demo, LOSE, SUBMIT)
    _, page = played(visit, demo, SUBMIT)

    page.select_option("select[name=with]", str(first.number))
    page.click("form[action$='/compare'] button")

    page.wait_for_selector("#side-2")
    verdicts = [each.inner_text() for each in page.locator(".verdict strong").all()]
    assert verdicts == [
        "default/job would run, in rack r3.",
        "team-a/also would wait; 1 of 2 groups would run.",
    ]
    row = page.locator("tr", has=page.locator("th", has_text="team-a/also"))
    assert "scheduled 2/2 · r1" in row.inner_text()
    assert "stopped pending 0/2" in row.inner_text()
    screenshot(page, "scenario-compared")
    assert violations(page) == []


def test_other_pages_lead_to_a_scenario_that_is_filled_in(visit: Callable[..., Any], demo: Cluster) -> None:
    page = visit("/c/demo/map?at=5", ready="#rack-map[data-shown]")
    page.keyboard.press("]")
    page.wait_for_selector("#rack-map[data-shown='6']")
    page.click("#past-scenario")
    page.wait_for_selector("#scenario-form")
    assert page.input_value("#id_at") == "6"

    page.goto("/c/demo/podgroups/team-a/wide")
    page.click("#changes ol li:first-child a[href*='scenarios/new']")
    page.wait_for_selector("#step-0")

    page.goto("/c/demo/submit")
    page.fill("#id_name", "tried")
    page.fill("#id_t0-gpu", "lots of")
    page.click("button[value=try-first]")
    page.wait_for_selector("#step-0")
    assert (page.input_value("#id_s0-name"), page.input_value("#id_s0-t0-gpu")) == ("tried", "lots of")
    page.locator("button[value=check]").last.click()
    page.wait_for_selector("#id_s0-t0-gpu-errors")
    page.click("#wrong-steps a")
    assert page.url.endswith("#step-0")


def test_nodes_of_a_large_cluster_are_offered_by_what_is_typed(
    visit: Callable[..., Any], live_stack: Any
) -> None:
    many = [node(f"gpu-{place:04d}", f"r{place % 9}") for place in range(500)]
    import_cluster(name="demo", request=ImportRequest(data=dump(*many), mode="simulated"), actor="ops")
    page = visit(f"{NEW}?node=gpu-0001")
    assert page.locator("#nodes option").count() == 400

    page.locator("#id_s0-node").fill("")
    page.locator("#id_s0-node").press_sequentially("0499")

    until(page, "() => document.querySelectorAll('#nodes option').length === 1")
    assert page.locator("#nodes option").get_attribute("value") == "gpu-0499"


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_of_scenarios_are_accessible(
    language: str, theme: str, visit: Callable[..., Any], demo: Cluster, screenshot: Callable[..., Path]
) -> None:
    document = documents.read({"name": "what-if", "steps": [LOSE, SUBMIT]})
    workbench.save(cluster=demo, document=document, actor="ops")
    run, page = played(visit, demo, LOSE, SUBMIT, END, theme=theme, locale=language)
    found = {}
    pages = {
        "list": "/c/demo/scenarios/",
        "one": "/c/demo/scenarios/what-if",
        "new": f"{NEW}?template=one-node-short",
        "edit": "/c/demo/scenarios/what-if/edit",
        "result": f"/c/demo/runs/{run.number}",
        "group": f"/c/demo/runs/{run.number}/podgroups/team-a/wide",
    }
    for name, path in pages.items():
        page.goto(path)
        page.wait_for_selector(LIVE)
        if name == "result":
            page.wait_for_selector("#pair[data-shown]")
        assert page.evaluate("document.documentElement.lang") == language
        screenshot(page, f"scenario-{name}-{language}-{theme}")
        if problems := violations(page):
            found[name] = problems
    assert found == {}
