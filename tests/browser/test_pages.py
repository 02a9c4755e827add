"""Every page in a real browser, in both themes and both languages: no axe violation, no error, nothing
blocked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from scheduling.engine.canary import Scope
from scheduling.models import Cluster, Event
from scheduling.services import canary, node_types, scale_up
from scheduling.services.canary import CanaryWish
from scheduling.services.clusters import ImportRequest, import_cluster, set_gate
from scheduling.services.cycles import run_cycle
from scheduling.services.node_types import GrowthForm, NodeTypeForm
from scheduling.services.tokens import create_token
from tests.console.support import RACK, dump, gang, node
from tests.console.test_access import PAGES

AXE = Path(__file__).resolve().parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

TOURED = {
    "clusters": "/clusters/",
    "import": "/clusters/import/",
    "map": "/c/demo/map?pg=team-a/wide",
    "map-table": "/c/demo/map?view=table",
    "map-past": "/c/demo/map?at={decision}&pg=team-a/wide",
    "map-past-table": "/c/demo/map?at={decision}&view=table",
    "map-compared": "/c/demo/map?at={decision}&against=9",
    "map-no-moment": "/c/demo/map?at=soon&against=9",
    "pending": "/c/demo/pending",
    "pod-groups": "/c/demo/podgroups/",
    "pod-group-waiting": "/c/demo/podgroups/team-a/wide",
    "pod-group-running": "/c/demo/podgroups/team-a/fits",
    "pod-group-wait": "/c/demo/podgroups/team-a/wide/wait",
    "pod-group-restore": "/c/demo/podgroups/team-a/wide/restore",
    "pod-group-next": "/c/demo/podgroups/team-a/wide/next",
    "lost-domain": f"/c/demo/lost-domain?key={RACK}&value=r1",
    "wait-policy": "/c/demo/wait-policy",
    "pod-group-yaml": "/c/demo/podgroups/team-a/fits?tab=yaml",
    "domains": f"/c/demo/domains/?key={RACK}",
    "domain": f"/c/demo/domains/r1?key={RACK}",
    "nodes": "/c/demo/nodes/",
    "node": "/c/demo/nodes/n11",
    "runs": "/c/demo/runs/",
    "rollout": "/c/demo/rollout",
    "advice": "/c/demo/rollout/advice?group=team-a/wide",
    "history": "/c/demo/history",
    "history-filtered": "/c/demo/history?subject=podgroup&namespace=team-a&since=2020-01-01T00:00",
    "event": "/c/demo/history/{decision}",
    "event-placed": "/c/demo/history/{placed}?type=PodGroupPlaced",
    "compare": "/c/demo/compare?a=1",
    "capacity": "/c/demo/capacity",
    "reservations": "/c/demo/reservations",
    "queues": "/c/demo/queues",
    "preemption": "/c/demo/preemption",
    "canary": "/c/demo/rollout/canary",
    "canary-running": "/c/off/rollout/canary",
    "traces": "/c/demo/traces",
    "batches": "/c/demo/batches/",
    "batch-new": "/c/demo/batches/new",
    "matrix": "/c/demo/matrix/",
    "scenarios": "/c/demo/scenarios/",
    "scenario-new": "/c/demo/scenarios/new?template=one-node-short",
    "submit": "/c/demo/submit",
    "submit-yaml": "/c/demo/submit?tab=yaml",
    "cluster-settings": "/c/demo/settings",
    "gate": "/c/demo/gates/GangScheduling",
    "mode": "/c/demo/mode",
    "settings": "/settings",
    "not-found": "/c/demo/nodes/nothing",
    "gate-off": "/c/off/podgroups/",
}
MISSING = {"not-found", "map-no-moment"}
PAST = {"map-past", "map-past-table", "map-compared"}
COMES_LATER = {
    "map-past": ["#rack-map[data-shown]"],
    "map-compared": ["#rack-map[data-shown]"],
    "pod-group-waiting": ["#changes ol", "#upstream-title + div:not([hx-get])"],
    "map": ["aside a.pri"],
    "event": ["section#state"],
    "event-placed": ["section#state ins"],
}
"""What a page asks for when it is shown."""

WITHOUT_A_PAGE = {"home", "cluster", "map-group", "pending-count", "gates-banner", "pod-group-generation"} | {
    *("pod-group-changes", "pod-group-upstream", "scenario-names"),
    *("history-csv", "history-ndjson", "event-state"),
}


@pytest.fixture
def toured(live_stack: Any) -> User:
    """`demo` with a gang that runs and one that waits, for which there is a plan; `off` with a gate off and a
    canary; and an administrator with a token.
    """
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack in range(1, 7) for place in range(1, 5)]
    nodes[0]["spec"] = {"unschedulable": True}
    nodes[9]["spec"] = {"taints": [{"key": "reserved", "value": "eval", "effect": "NoSchedule"}]}
    nodes[14]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    manifests = dump(
        *nodes, node("n0", None), *gang("fits", 3), *gang("also", 2), *gang("wide", 5), *gang("spare", 4)
    )
    for name in ("demo", "off"):
        import_cluster(name=name, request=ImportRequest(data=manifests, mode="simulated"), actor="ops")
    off = Cluster.objects.get(name="off")
    set_gate(cluster=off, gate="GangScheduling", enabled=False, actor="ops")
    limits = {"pending": 0, "wait_median": 60_000, "throughput": 1_000}
    wish = CanaryWish((Scope(("team-a",)), Scope(whole=True)), limits)
    canary.start(cluster=off, wish=wish, actor="ops")
    for cluster in Cluster.objects.all():
        run_cycle(cluster.pk)
    demo = Cluster.objects.get(name="demo")
    grows = NodeTypeForm("gpu-box", like="n11", growth=(GrowthForm(RACK, "r1", 8), GrowthForm(RACK, "r9", 8)))
    node_types.define(cluster=demo, form=grows, actor="ops")
    scale_up.plan(cluster=demo, groups=["team-a/wide"], actor="ops")
    user = User.objects.create_superuser("ops", password="a long enough one")
    create_token(user=user, name="nightly export")
    return user


@pytest.fixture
def visitor(browser: Any, live_stack: Any, toured: User) -> Any:
    """`visitor(language, theme)`: a page of a browser that is signed in, speaks and looks so."""
    from django.test import Client

    client = Client()
    client.force_login(toured)
    contexts = []

    def visit(language: str, theme: str) -> Any:
        context = browser.new_context(
            base_url=live_stack.url, viewport={"width": 1440, "height": 900}, color_scheme=theme
        )
        contexts.append(context)
        context.add_cookies(
            [
                {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_stack.url},
                {"name": "django_language", "value": language, "url": live_stack.url},
            ]
        )
        page = context.new_page()
        page.faults = []
        page.on("pageerror", lambda error: page.faults.append(f"error: {error}"))
        page.on("console", lambda said: page.faults.append(said.text) if said.type == "error" else None)
        return page

    yield visit
    for context in contexts:
        context.close()


def violations(page: Any) -> list[str]:
    """What axe finds, one line each: the rule and the element."""
    page.evaluate(AXE.read_text())
    found = page.evaluate(
        "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}}).then(r => r.violations)", RULES
    )
    return [
        f"{rule['id']}: {node['html'][:160]} {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
    ]


def test_the_tour_visits_every_page() -> None:
    """A new page has to be put on the tour (or said to have no page of its own)."""
    shown = {name for name, page in PAGES.items() if page[3] == 200}

    assert shown - WITHOUT_A_PAGE <= {name.split("-waiting")[0] for name in TOURED} | {"cluster-settings"}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_page_is_accessible_and_raises_no_error(
    language: str, theme: str, visitor: Callable[[str, str], Any], screenshot: Callable[..., Path]
) -> None:
    page = visitor(language, theme)
    demo = Cluster.objects.get(name="demo")
    decision = Event.objects.filter(stream_id=demo.pk, type="PodGroupUnschedulable").latest("seq").seq
    placed = Event.objects.filter(stream_id=demo.pk, type="PodGroupPlaced").latest("seq").seq
    found: dict[str, list[str]] = {}
    for name, path in TOURED.items():
        response = page.goto(path.format(decision=decision, placed=placed))
        assert response.status == (404 if name in MISSING else 200), name
        page.wait_for_function("document.documentElement.dataset.theme !== undefined")
        if page.locator("#live-pill").count():
            page.wait_for_selector(f"#live-pill[data-state={'paused' if name in PAST else 'live'}]")
        for part in COMES_LATER.get(name, ()):
            page.wait_for_selector(part)
        screenshot(page, f"page-{name}-{language}-{theme}")
        assert page.evaluate("document.documentElement.lang") == language
        assert page.evaluate("document.documentElement.dataset.theme") == theme, name
        said = [fault for fault in page.faults if not (name in MISSING and "404" in fault)]
        page.faults.clear()
        if problems := violations(page) + said:
            found[name] = problems
    assert found == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_sign_in_and_error_pages_are_accessible(
    language: str, theme: str, browser: Any, live_stack: Any, screenshot: Callable[..., Path]
) -> None:
    User.objects.create_user("nobody")
    context = browser.new_context(base_url=live_stack.url, color_scheme=theme, locale=language)
    page = context.new_page()
    found: dict[str, list[str]] = {}
    for name, path in {"login": "/login/?next=/c/demo/map", "void-link": "/login/once/x/"}.items():
        page.goto(path)
        screenshot(page, f"page-{name}-{language}-{theme}")
        assert page.evaluate("document.documentElement.lang") == language
        if problems := violations(page):
            found[name] = problems
    context.close()
    assert found == {}


@pytest.mark.parametrize("name", ["pending", "map", "map-table", "submit", "cluster-settings", "history"])
def test_an_open_page_is_never_silent_about_a_gate(name: str, visitor: Callable[[str, str], Any]) -> None:
    page = visitor("en", "light")
    page.goto(TOURED[name])
    page.wait_for_selector("#live-pill[data-state=live]")
    page.evaluate("window.neverReloaded = true")
    demo = Cluster.objects.get(name="demo")
    banner = page.locator("p.gate-off")
    assert banner.count() == 0

    set_gate(cluster=demo, gate="GangScheduling", enabled=False, actor="ops")
    banner.wait_for()
    assert "Off: GangScheduling." in banner.inner_text()
    if name == "cluster-settings":
        page.locator("#gates .tag.off").wait_for()

    set_gate(cluster=demo, gate="GangScheduling", enabled=True, actor="ops")
    banner.wait_for(state="detached")
    assert page.evaluate("window.neverReloaded") is True
    assert page.faults == []
