"""A gang is held to its domain, and each way out of the wait is tried, on the real stack: what the scheduler
did has to reach the open page.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from scheduling.models import Cluster, Event, NodeRow, PodRow
from scheduling.services import workloads
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.deadlines import set_deadline
from scheduling.services.execute import now_ms
from scheduling.services.workloads import MemberTemplate, WorkloadForm
from tests.console.support import GPU, RACK, dump, node

PATIENCE = 30_000
PAGE = "/c/demo/podgroups/team-a/train"


@pytest.fixture
def demo(live_stack: Any) -> Cluster:
    """Two racks of two nodes with 8 GPUs each."""
    expect.set_options(timeout=PATIENCE)
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack in (1, 2) for place in (1, 2)]
    import_cluster(name="demo", request=ImportRequest(data=dump(*nodes), mode="simulated"), actor="test")
    return Cluster.objects.get(name="demo")


def submit(cluster: Cluster, name: str, members: int) -> None:
    """A gang in one rack, a node for each member."""
    template = MemberTemplate("", members, {"cpu": "4", GPU: "8"})
    form = WorkloadForm("team-a", name, "gang", members, RACK, 0, (template,))
    workloads.submit(cluster=cluster, form=form, actor="test")


def racks() -> set[str]:
    cluster = Cluster.objects.get(name="demo")
    rows = PodRow.objects.filter(cluster=cluster, group="train", removed=False)
    labels = dict(NodeRow.objects.filter(cluster=cluster).values_list("name", "labels"))
    return {labels[row.node][RACK] if row.node else "unbound" for row in rows}


def types() -> list[str]:
    return list(Event.objects.order_by("seq").values_list("type", flat=True))


def held(page: Page) -> str:
    """Cordon the node of a member and delete that member: the group waits for its rack. Which one that is."""
    page.goto(PAGE)
    expect(page.locator(".verdict").first).to_contain_text("2 of 2 members are bound in rack")
    name = page.locator("#members-title ~ .scroll tbody tr").last.locator("td").nth(1).inner_text()
    page.goto(f"/c/demo/nodes/{name}")
    page.get_by_role("button", name="Cordon", exact=True).click()
    expect(page.get_by_text(f"Node {name} was cordoned.").first).to_be_visible()
    page.goto(PAGE)
    page.locator("#members-title ~ .scroll tbody tr").last.get_by_role("button").click()
    expect(page.locator("#wait-title")).to_have_text("Domain-sticky wait")
    rack: str = NodeRow.objects.get(name=name).labels[RACK]
    expect(page.locator("#wait")).to_contain_text(rack)
    return rack


def uncordon_all(page: Page) -> None:
    for name in NodeRow.objects.filter(unschedulable=True).values_list("name", flat=True):
        page.goto(f"/c/demo/nodes/{name}")
        page.get_by_role("button", name="Uncordon", exact=True).click()
        expect(page.get_by_text(f"Node {name} was uncordoned.").first).to_be_visible()


def test_a_sticky_wait_begins_by_a_cordon_and_each_way_out_leads_out(
    demo: Cluster, visit: Callable[..., Page], screenshot: Callable[[Any, str], Path]
) -> None:
    submit(demo, "train", 2)
    page = visit(PAGE)

    # Keep waiting: a deadline, and room in the rack ends the wait.
    first = held(page)
    screenshot(page, "waits-1-sticky")
    page.locator("#way-keep").click()
    expect(page.get_by_text("Nothing is moved and nothing is ended now.")).to_be_visible()
    page.get_by_label("Wait at most").fill("3")
    page.get_by_label("And then").select_option("propose")
    screenshot(page, "waits-2-keep")
    page.get_by_role("button", name="Keep waiting").click()
    expect(page.locator("#wait")).to_contain_text("2 h 59 min left")
    page.goto("/c/demo/pending")
    expect(page.locator("#pending-list")).to_contain_text("tell it and propose the next way out")
    screenshot(page, "waits-3-pending")
    uncordon_all(page)
    page.goto(PAGE)
    expect(page.locator(".verdict").first).to_contain_text(f"2 of 2 members are bound in rack {first}")
    expect(page.locator("#wait")).to_have_count(0)
    expect(page.locator("#events-title ~ *").first).to_contain_text("all its members are on nodes")
    assert racks() == {first}
    assert "StickyWaitEnded" in types() and "WaitDeadlineLifted" in types()

    # Restore from a checkpoint elsewhere.
    assert held(page) == first
    page.locator("#way-restore").click()
    expect(page.get_by_role("status", name="Forecast")).to_contain_text("2 of 2 members would be in rack")
    expect(page.get_by_role("status", name="Forecast")).to_contain_text(
        "1 member that is on a node now ends."
    )
    screenshot(page, "waits-4-restore")
    page.get_by_label("Checkpoint").fill("s3://ckpt/train/1200")
    page.get_by_role("button", name="End the members and restore").click()
    second = "r2" if first == "r1" else "r1"
    expect(page.locator(".verdict").first).to_contain_text(f"2 of 2 members are bound in rack {second}")
    expect(page.locator("#generations-title ~ table")).to_contain_text("s3://ckpt/train/1200")
    assert racks() == {second}
    screenshot(page, "waits-5-restored")

    # A new generation with another constraint: none.
    uncordon_all(page)
    assert held(page) == second
    page.locator("#way-next").click()
    page.get_by_label("Topology key").fill("")
    page.get_by_role("button", name="Check what would come of it").click()
    expect(page.get_by_text("the one-domain law does not hold for this generation")).to_be_visible()
    screenshot(page, "waits-6-next")
    page.get_by_role("button", name="End the members and open it").click()
    expect(page.locator(".verdict").first).to_contain_text("2 of 2 members are bound")
    expect(page.locator("#generations-title ~ table")).to_contain_text("another constraint")
    assert "unbound" not in racks()


def test_a_deadline_that_closes_ends_the_group_by_itself(
    demo: Cluster, visit: Callable[..., Page], screenshot: Callable[[Any, str], Path]
) -> None:
    submit(demo, "train", 3)
    page = visit(PAGE)
    expect(page.locator("#wait-title")).to_have_text("Wait")
    set_deadline(
        cluster=demo, namespace="team-a", name="train", at=now_ms() + 3_000, action="close", actor="test"
    )
    expect(page.locator("#wait")).to_contain_text("end the group")
    expect(page.locator("#group-page")).to_contain_text("its wait deadline passed")
    screenshot(page, "waits-7-expired")
    assert types()[-5:] == ["WaitDeadlineExpired", "PodRemoved", "PodRemoved", "PodRemoved", "PodGroupClosed"]


def test_a_domain_is_marked_lost_and_a_new_generation_proposed(
    demo: Cluster, visit: Callable[..., Page], screenshot: Callable[[Any, str], Path]
) -> None:
    submit(demo, "train", 2)
    page = visit(PAGE)
    expect(page.locator(".verdict").first).to_contain_text("2 of 2 members are bound in rack")
    (rack,) = racks()
    page.goto(f"/c/demo/domains/{rack}?key={RACK}")
    page.get_by_role("link", name="Mark lost…").click()
    screenshot(page, "waits-8-mark")
    page.get_by_role("button", name="Mark lost").click()
    expect(page.get_by_text("Marked lost by an operator:")).to_be_visible()
    page.goto(PAGE)
    expect(page.locator("#wait-title")).to_have_text("Domain lost")
    expect(page.locator("#wait")).to_contain_text(f"{rack}, event")
    expect(page.locator("#wait")).to_contain_text("marked lost by an operator")
    expect(page.locator("#wait")).to_contain_text("The same again, free to go to another domain")
    expect(page.get_by_text("its node is in no domain").first).to_be_visible()
    screenshot(page, "waits-9-lost")
    page.get_by_role("link", name="Look at it…").first.click()
    page.get_by_role("button", name="Check what would come of it").click()
    page.get_by_role("button", name="End the members and open it").click()
    expect(page.locator(".verdict").first).to_contain_text("2 of 2 members are bound in rack")
    assert racks() == {"r2" if rack == "r1" else "r1"}
    expect(page.locator("#generations-title ~ table")).to_contain_text("its domain was lost")
