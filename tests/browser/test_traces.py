"""A trace is uploaded, replayed by the workers and plotted, in both themes and languages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scheduling.models import Cluster, Run
from scheduling.scenarios import trace_files
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.browser.test_pages import violations
from tests.console.support import dump, node
from tests.scenarios.test_virtual_time import gang, trace

READY = "#live-pill"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + "".join(
    f"p{number},4000,1024,1,{(500, 1000)[number % 2]}\n" for number in range(30)
)
NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(
    f"n{number},32000,65536,4,T4\n" for number in range(4)
)

PAINTED = """() => [...document.querySelectorAll('#plots canvas')].map(canvas => {
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const colours = new Set();
  for (let at = 0; at < data.length; at += 4)
    if (data[at + 3] > 200) colours.add(`${data[at] >> 5},${data[at + 1] >> 5},${data[at + 2] >> 5}`);
  return colours.size;
})"""
"""How many coarse colours each plot has: axes and text are one, each line another."""


@pytest.fixture
def demo(live_stack: Any) -> Cluster:
    manifests = dump(*(node(f"n{rack}{place}", f"r{rack}") for rack in range(2) for place in range(4)))
    import_cluster(name="demo", request=ImportRequest(data=manifests, mode="simulated"), actor="ops")
    return Cluster.objects.get(name="demo")


@pytest.fixture
def load(tmp_path: Path) -> Path:
    """More gangs than two racks of two nodes hold at once."""
    file = tmp_path / "load.ndjson"
    gangs = (gang(number * 100, f"g{number:03}", 1 + number % 8, run_ms=900) for number in range(120))
    file.write_bytes(trace_files.write(trace(*gangs)))
    return file


def replayed(page: Any) -> Run:
    """Send the form and wait for the workers."""
    page.click("main form[enctype] button.pri")
    page.wait_for_selector("#run-now[data-status=done]", timeout=120_000)
    page.wait_for_selector("#plots[data-drawn='4']")
    found: Run = Run.objects.latest("number")
    return found


@pytest.mark.parametrize(
    ("language", "theme"), [("en", "light"), ("en", "dark"), ("ja", "light"), ("ja", "dark")]
)
def test_an_uploaded_trace_is_replayed_and_plotted(
    demo: Cluster,
    load: Path,
    visit: Callable[..., Any],
    screenshot: Callable[..., Path],
    live_stack: Any,
    language: str,
    theme: str,
) -> None:
    def speaks(page: Any) -> None:
        cookie = {"name": "django_language", "value": language, "url": live_stack.url}
        page.context.add_cookies([cookie])

    page = visit("/c/demo/traces", theme=theme, before=speaks, ready=READY)
    screenshot(page, f"traces-{language}-{theme}")
    assert violations(page) == []
    page.select_option("#id_source", "ndjson")
    page.set_input_files("#id_trace", str(load))
    run = replayed(page)
    assert run.result is not None and run.result["placed"] == 120
    assert all(colours >= 2 for colours in page.evaluate(PAINTED)), "a line beside the axes"
    assert violations(page) == []
    page.locator("#numbers summary").click()
    page.set_viewport_size({"width": 1440, "height": 2200})
    screenshot(page, f"trace-run-{language}-{theme}")


def test_the_cursor_of_a_plot_goes_with_the_arrow_keys_and_the_theme_changes_its_colours(
    demo: Cluster, load: Path, visit: Callable[..., Any]
) -> None:
    page = visit("/c/demo/traces", ready=READY)
    page.select_option("#id_source", "ndjson")
    page.set_input_files("#id_trace", str(load))
    replayed(page)
    page.locator("#plots figure").first.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    told = page.locator("#plots figure .u-legend .u-value").first
    page.wait_for_function("document.querySelector('#plots .u-legend .u-value').textContent.trim() !== '--'")
    at_end = told.inner_text()
    page.keyboard.press("Home")
    page.wait_for_function(
        "was => document.querySelector('#plots .u-legend .u-value').textContent !== was", arg=at_end
    )

    def line() -> str:
        return str(page.evaluate("document.querySelector('#plots canvas').toDataURL()"))

    light = line()
    page.evaluate(
        "document.documentElement.dataset.theme = 'dark';document.dispatchEvent(new CustomEvent('tas:theme'))"
    )
    assert line() != light


def test_two_replays_are_drawn_into_one_plot(
    demo: Cluster, load: Path, visit: Callable[..., Any], screenshot: Callable[..., Path]
) -> None:
    page = visit("/c/demo/traces", ready=READY)
    page.select_option("#id_source", "ndjson")
    page.set_input_files("#id_trace", str(load))
    first = replayed(page)
    page.goto("/c/demo/traces")
    page.select_option("#id_source", "ndjson")
    page.set_input_files("#id_trace", str(load))
    page.locator("input[name=gates][value=TopologyAwareWorkloadScheduling]").uncheck()
    second = replayed(page)
    page.select_option("#with", str(first.number))
    page.locator("form:has(#with) button").click()
    page.wait_for_selector("#plots[data-drawn='4']")
    labels = page.locator("#plots figure").nth(1).locator(".u-label").all_inner_texts()
    assert {f"({first.number})", f"({second.number})"} <= {label.split()[-1] for label in labels}
    assert page.locator("table thead th.n", has_text=str(first.number)).count() == 1
    page.set_viewport_size({"width": 1440, "height": 1800})
    screenshot(page, "trace-compared")


def test_a_file_with_a_fault_is_named_with_its_line_and_nothing_typed_is_lost(
    demo: Cluster, tmp_path: Path, visit: Callable[..., Any], screenshot: Callable[..., Path]
) -> None:
    pods, nodes = tmp_path / "pods.csv", tmp_path / "nodes.csv"
    pods.write_text(PODS.replace("p3,4000", "p3,many"))
    nodes.write_text(NODES)
    page = visit("/c/demo/traces", ready=READY)
    page.select_option("#id_source", "openb")
    page.set_input_files("#id_pods", str(pods))
    page.set_input_files("#id_nodes_file", str(nodes))
    page.fill("#id_gang", "3")
    page.fill("#id_every", "7")
    page.click("main form[enctype] button.pri")
    page.wait_for_selector("#id_pods-errors")
    assert "line 5: cpu_milli" in page.locator("#id_pods-errors").inner_text()
    assert page.input_value("#id_gang") == "3" and page.input_value("#id_every") == "7"
    assert page.input_value("#id_source") == "openb"
    assert not Run.objects.exists()
    screenshot(page, "traces-fault")
    pods.write_text(PODS)
    page.set_input_files("#id_pods", str(pods))  # the file of the nodes is kept
    run = replayed(page)
    assert run.result is not None and run.result["nodes"] == 4
    assert sum(each["count"] for each in run.result["classes"]) == run.result["placed"] > 0
