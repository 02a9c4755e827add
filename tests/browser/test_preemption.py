"""Preemption in a browser: the policy is set, a proposal asked for, read and approved, and the waiting gang
is placed by the ordinary cycle of the served worker; then the policy acts by itself for a queue.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from scheduling.engine.queues import Queue
from scheduling.models import Cluster, Event
from scheduling.services.clusters import ImportRequest, import_cluster, set_mode
from scheduling.services.cycles import run_cycle
from scheduling.services.holding import define_queue
from scheduling.services.state import state_of
from scheduling.services.workloads import submit_manifests
from tests.console.support import dump, gang, node

PATIENCE = 30_000
"""Milliseconds until a page must show what is to happen by itself; a wait ends as soon as it does."""


def of_priority(name: str, priority: int, queue: str = "") -> list[dict[str, Any]]:
    """A gang of two members that take a node each."""
    objects = gang(name, 2)
    objects[0]["spec"]["priority"] = priority
    if queue:
        objects[0]["metadata"]["annotations"] = {"tas-console/queue": queue}
    return objects


def contended_cluster() -> Cluster:
    """`demo`: two racks of two nodes, both full with gangs of priority 0 and 1; `urgent` of priority 10
    waits.
    """
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack in (1, 2) for place in (1, 2)]
    objects = [*of_priority("old", 0), *of_priority("newer", 1)]
    import_cluster(name="demo", request=ImportRequest(dump(*nodes, *objects), mode="simulated"), actor="test")
    cluster = Cluster.objects.get(name="demo")
    decided(cluster, 2)
    submit_manifests(cluster=cluster, data=dump(*of_priority("urgent", 10)), actor="test")
    decided(cluster, 3)
    return cluster


def decided(cluster: Cluster, groups: int) -> None:
    """Wait until so many groups have a verdict: the served worker may be in the middle of a cycle."""
    deadline = time.monotonic() + PATIENCE / 1000
    while len(state_of(cluster).verdicts) < groups:
        assert time.monotonic() < deadline
        run_cycle(cluster.pk)


def test_from_the_policy_to_a_gang_that_runs_in_the_place_of_another(
    visit: Callable[..., Page], screenshot: Callable[..., Path]
) -> None:
    expect.set_options(timeout=PATIENCE)
    cluster = contended_cluster()

    # Off until somebody says otherwise.
    page = visit("/c/demo/podgroups/team-a/urgent")
    expect(page.get_by_text("The policy of this cluster is off")).to_be_visible()
    page.goto("/c/demo/preemption")
    expect(page.get_by_text("Nothing is proposed and nobody is evicted.").first).to_be_visible()
    page.get_by_text("Change the policy…").click()
    page.get_by_label("propose", exact=True).check()
    screenshot(page, "preemption-1-policy")
    page.get_by_role("button", name="Set the policy").click()
    expect(page.get_by_text("The policy of preemption was set.")).to_be_visible()

    # Asked for on the page of the group: the cost is shown, nobody has left.
    page.goto("/c/demo/podgroups/team-a/urgent")
    page.get_by_role("button", name="Propose preemption").click()
    plan = page.get_by_role("article")
    expect(plan.get_by_text("1 PodGroup, 2 members, 16 GPUs")).to_be_visible()
    expect(plan.get_by_text("Proved smallest: no cheaper set of victims exists.")).to_be_visible()
    screenshot(page, "preemption-2-proposal")
    assert not Event.objects.filter(stream_id=cluster.pk, type="MemberEvicted").exists()

    # Approved: the members leave by events and the cycle places the group; the open page hears of it.
    plan.get_by_text("Approve…").click()
    plan.get_by_role("button", name="Approve p").click()
    expect(page.get_by_text("was approved; the members were evicted.")).to_be_visible()
    expect(page.locator("#group-page .tag.ok").first).to_have_text("scheduled")
    page.goto("/c/demo/preemption")
    expect(page.get_by_text("is complete: PodGroup team-a/urgent runs in")).to_be_visible()
    screenshot(page, "preemption-3-completed")
    page.get_by_role("link", name="Evicted members in the history").click()
    expect(page.get_by_text("was evicted from node").first).to_be_visible()
    screenshot(page, "preemption-4-history")


def test_the_policy_acts_by_itself_for_a_queue_and_says_so(
    visit: Callable[..., Page], screenshot: Callable[..., Path]
) -> None:
    expect.set_options(timeout=PATIENCE)
    cluster = contended_cluster()
    define_queue(cluster=cluster, queue=Queue("prod"), actor="test")
    page = visit("/c/demo/preemption")
    page.get_by_text("Change the policy…").click()
    page.get_by_label("automatic", exact=True).check()
    page.get_by_role("button", name="Set the policy").click()
    expect(page.get_by_text("automatic preemption is for named queues: name one at least")).to_be_visible()
    page.get_by_text("Change the policy…").click()
    page.get_by_label("automatic", exact=True).check()
    page.get_by_label("Queues for the automatic mode").fill("prod")
    page.get_by_role("button", name="Set the policy").click()
    expect(page.get_by_text("The policy of preemption was set.")).to_be_visible()

    submit_manifests(cluster=cluster, data=dump(*of_priority("service", 20, "prod")), actor="test")

    expect(page.get_by_text("The policy approved preemption")).to_be_visible()
    expect(page.get_by_text("is complete: PodGroup team-a/service runs in")).to_be_visible()
    screenshot(page, "preemption-5-automatic")
    page.goto("/c/demo/podgroups/team-a/urgent")
    expect(page.locator("#group-page .tag").first).to_have_text("pending")


def test_in_an_observed_cluster_the_proposal_is_advice_in_both_languages_and_themes(
    visit: Callable[..., Page], screenshot: Callable[..., Path]
) -> None:
    expect.set_options(timeout=PATIENCE)
    cluster = contended_cluster()
    page = visit("/c/demo/preemption", theme="dark")
    page.get_by_text("Change the policy…").click()
    page.get_by_label("propose", exact=True).check()
    page.get_by_role("button", name="Set the policy").click()
    expect(page.get_by_text("The policy of preemption was set.")).to_be_visible()
    page.goto("/c/demo/podgroups/team-a/urgent")
    page.get_by_role("button", name="Propose preemption").click()
    expect(page.get_by_role("article")).to_be_visible()
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    screenshot(page, "preemption-6-dark")

    set_mode(cluster=cluster, mode="observed", actor="test")
    page.goto("/c/demo/preemption")

    expect(page.get_by_text("kubectl delete podgroups.scheduling.k8s.io -n team-a")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    page.get_by_role("button", name="日本語").click()
    expect(page.get_by_text("最小と証明済み").first).to_be_visible()
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    screenshot(page, "preemption-7-observed-dark-ja")
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    screenshot(page, "preemption-8-observed-light-ja")
