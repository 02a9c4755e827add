"""Pages name who came first, and link to the event: refusals, things done already, rooms that were lost."""

from __future__ import annotations

import re

from django.test import Client

from scheduling.ledger import store
from scheduling.models import Cluster, Event
from scheduling.services import workloads
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from tests.console.support import dump, gang, node, text
from tests.services.builders import form


def newest(cluster: Cluster, type_name: str) -> int:
    return Event.objects.filter(stream_id=cluster.pk, type=type_name).latest("seq").seq


def fields(page: bytes) -> dict[str, str]:
    """The hidden command id of a page's form."""
    found = re.search(rb'name="command_id" value="([^"]+)"', page)
    assert found is not None
    return {"command_id": found[1].decode()}


FORM = {
    "action": "submit",
    "templates": "1",
    "t0-resources": "0",
    "namespace": "default",
    "name": "new",
    "policy": "gang",
    "min_count": "1",
    "topology_key": "",
    "priority": "0",
    "t0-count": "1",
    "t0-cpu": "1",
}


def test_a_name_that_is_taken_links_to_who_took_it(operator: Client, cluster: Cluster) -> None:
    workloads.submit(cluster=cluster, form=form("new"), actor="ann")
    seq = newest(cluster, "PodGroupCreated")
    page = operator.post("/c/demo/submit", FORM)
    assert page.status_code == 422
    assert f"ann came first (PodGroup created): event {seq}" in text(page)
    assert f'<a href="/c/demo/history/{seq}">' in page.content.decode()
    manifests = dump(*gang("new", 1, namespace="default")).decode()
    page = operator.post("/c/demo/submit?tab=yaml", {"text": manifests})
    assert f'<a href="/c/demo/history/{seq}">' in page.content.decode()


def test_an_end_that_came_second_links_to_the_first(operator: Client, cluster: Cluster) -> None:
    workloads.end_group(cluster=cluster, namespace="team-a", name="fits", actor="ann")
    seq = newest(cluster, "PodGroupClosed")
    page = operator.post("/c/demo/podgroups/team-a/fits/end", follow=True)
    assert "ann came first" in text(page)
    assert f'<a href="/c/demo/history/{seq}">' in page.content.decode()


def test_a_node_cordoned_before_is_not_said_to_be_cordoned_now(operator: Client, cluster: Cluster) -> None:
    operator.post("/c/demo/nodes/n21/cordon", follow=True)
    seq = newest(cluster, "NodeUpdated")
    page = operator.post("/c/demo/nodes/n21/cordon", follow=True)
    (said,) = re.findall(r'<p class="notice" role="status">(.*?)</p>', page.content.decode())
    assert "the node is cordoned already" in said and "was cordoned." not in said
    assert f'<a href="/c/demo/history/{seq}">' in page.content.decode()


def test_an_actor_with_markup_in_the_name_is_only_text(operator: Client, cluster: Cluster) -> None:
    workloads.end_group(cluster=cluster, namespace="team-a", name="fits", actor="<b>ann</b>")
    page = operator.post("/c/demo/podgroups/team-a/fits/end", follow=True)
    assert "&lt;b&gt;ann" in page.content.decode() and "<b>ann" not in page.content.decode()


def test_a_page_that_the_browser_kept_and_that_is_sent_with_something_else(
    operator: Client, cluster: Cluster
) -> None:
    """Back, another name, send again: the id in the page stands for what it did before."""
    sent = fields(operator.get("/c/demo/submit").content)
    assert operator.post("/c/demo/submit", FORM | sent).status_code == 302
    seq = newest(cluster, "PodGroupCreated")
    page = operator.post("/c/demo/submit", FORM | sent | {"name": "other"})
    assert page.status_code == 422
    assert "this page was sent before, with something else in it" in text(page)
    assert f'<a href="/c/demo/history/{seq}">' in page.content.decode()
    again = operator.post("/c/demo/submit", FORM | fields(page.content) | {"name": "other"})
    assert again.status_code == 302
    manifests = dump(*gang("m", 1, namespace="default")).decode()
    page = operator.post("/c/demo/submit?tab=yaml", {"text": manifests} | sent)
    assert page.status_code == 422 and "this page was sent before" in text(page)
    page = operator.post("/c/demo/nodes/n21/cordon", sent, follow=True)
    assert page.status_code == 200 and "this page was sent before" in text(page)


def test_an_import_page_that_is_sent_with_another_dump(operator: Client, cluster: Cluster) -> None:
    sent = {"name": "demo", "mode": "simulated", "action": "import", "command_id": "kept"}
    one, other = dump(node("n31", "r3")).decode(), dump(node("n32", "r3")).decode()
    assert operator.post("/clusters/import/", sent | {"text": one}).status_code == 302
    page = operator.post("/clusters/import/", sent | {"text": other})
    assert page.status_code == 422 and "this page was sent before" in text(page)


def contended(db: None) -> Cluster:
    nodes = [node("n1", "r1"), node("n2", "r1")]
    request = ImportRequest(dump(*nodes, *gang("first", 2), *gang("second", 2)), mode="simulated")
    import_cluster(name="demo", request=request, actor="test")
    made = Cluster.objects.get(name="demo")
    run_cycle(made.pk)
    return made


def test_every_page_about_the_loser_links_to_the_event_of_the_winner(viewer: Client, db: None) -> None:
    made = contended(db)
    won, lost = newest(made, "PodGroupPlaced"), newest(made, "PodGroupUnschedulable")
    link = f'href="/c/demo/history/{won}"'
    for path in (
        "/c/demo/podgroups/team-a/second",
        "/c/demo/pending",
        "/c/demo/map?pg=team-a/second",
        "/c/demo/map/group?pg=team-a/second",
        f"/c/demo/map?at={lost}&pg=team-a/second",
        f"/c/demo/history/{lost}",
    ):
        page = viewer.get(path)
        assert page.status_code == 200, path
        assert link in page.content.decode() and "team-a/first" in text(page), path
    row = next(
        row
        for row in viewer.get("/c/demo/history").content.decode().split("<tr>")
        if f'history/{lost}"' in row
    )
    assert link in row
    before = viewer.get(f"/c/demo/map?at={won}&pg=team-a/second").content.decode()
    assert "Lost the room" not in before
    assert store.head(made.pk).seq == lost
