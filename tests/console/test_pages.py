"""What the pages say, and that they ask the database the same few questions however much there is."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.conf import settings
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext

from scheduling.console import explaining
from scheduling.models import Cluster, Event
from scheduling.services.clusters import ImportRequest, import_cluster, set_gate, set_mode
from scheduling.services.cycles import run_cycle
from scheduling.services.problems import NOT_FOUND, Problem, Refused
from tests.console.support import RACK, dump, gang, node, text

CLUSTER_PAGES = [
    "/c/demo/map",
    "/c/demo/map?view=table",
    "/c/demo/pending",
    "/c/demo/podgroups/",
    "/c/demo/podgroups/team-a/wide",
    "/c/demo/podgroups/team-a/wide?tab=yaml",
    "/c/demo/domains/",
    f"/c/demo/domains/r1?key={RACK}",
    "/c/demo/nodes/",
    "/c/demo/nodes/n11",
    "/c/demo/history",
    "/c/demo/history/1",
    "/c/demo/submit",
    "/c/demo/settings",
    "/c/demo/gates/GangScheduling",
    "/c/demo/mode",
]


def test_home_leads_to_the_cluster_seen_last(viewer: Client, cluster: Cluster) -> None:
    import_cluster(name="aaa", request=ImportRequest(dump(node("a", "r")), mode="simulated"), actor="t")
    assert viewer.get("/")["Location"] == "/c/aaa/map"

    viewer.get("/c/demo/nodes/")

    assert viewer.get("/")["Location"] == "/c/demo/map"
    assert viewer.get("/?cluster=aaa")["Location"] == "/c/aaa/map"


def test_without_any_cluster_the_list_offers_an_import_to_those_who_may(
    viewer: Client, operator: Client
) -> None:
    assert viewer.get("/")["Location"] == "/clusters/"
    assert "There is no cluster yet." in text(viewer.get("/clusters/"))
    assert "/clusters/import/" not in viewer.get("/clusters/").content.decode()
    assert "/clusters/import/" in operator.get("/clusters/").content.decode()


def test_a_demo_cluster_is_one_click_away_while_there_is_none(operator: Client) -> None:
    assert 'action="/clusters/demo/"' in operator.get("/clusters/").content.decode()

    page = operator.post("/clusters/demo/", follow=True)

    assert page.redirect_chain[-1][0] == "/c/demo/map"
    assert "The demo cluster is there" in text(page)
    assert "research/llm-pretrain" in text(page)


def test_another_cluster_of_that_name_is_not_touched_by_the_demo(operator: Client, cluster: Cluster) -> None:
    before = Event.objects.count()

    page = operator.post("/clusters/demo/", follow=True)

    assert "that is not the demo" in text(page)
    assert Event.objects.count() == before


@pytest.mark.parametrize("path", CLUSTER_PAGES)
def test_while_a_gate_is_off_every_page_of_the_cluster_says_so(
    path: str, admin: Client, cluster: Cluster
) -> None:
    banner = "TAS is off: constraint not enforced"
    assert banner not in text(admin.get(path))

    set_gate(cluster=cluster, gate="GenericWorkload", enabled=False, actor="test")

    assert banner in text(admin.get(path))
    assert "Off: GenericWorkload." in text(admin.get(path))


@pytest.mark.parametrize(
    "path",
    [
        "/c/demo/podgroups/",
        "/c/demo/podgroups/team-a/wide",
        "/c/demo/map?pg=team-a/wide",
        "/c/demo/nodes/",
        "/c/demo/nodes/n11",
        f"/c/demo/domains/r1?key={RACK}",
        "/c/demo/history/7",
    ],
)
def test_a_constrained_group_is_marked_where_its_constraint_is_not_enforced(
    path: str, viewer: Client, cluster: Cluster
) -> None:
    set_gate(cluster=cluster, gate="GenericWorkload", enabled=False, actor="test")

    page = viewer.get(path).content.decode()

    assert page.count('badge-gate">constraint not enforced') >= 1


def test_an_observed_cluster_says_so_on_its_pages(viewer: Client, cluster: Cluster) -> None:
    set_mode(cluster=cluster, mode="observed", actor="test")

    assert "Observed cluster: this console says what it would do and binds nothing." in text(
        viewer.get("/c/demo/pending")
    )


def test_pending_tells_the_verdict_the_best_domain_and_the_shortfall(
    viewer: Client, cluster: Cluster
) -> None:
    said = text(viewer.get("/c/demo/pending"))

    assert "1 PodGroup waits." in said
    assert re.search(
        r"never fits \(1\) team-a/wide \d+ seconds? – proved infeasible r2 2/3 8 nvidia\.com/gpu"
        r" No rack could hold 3 members, not even an empty one\.",
        said,
    )


def test_a_waiting_group_shows_its_funnel_and_every_domain(viewer: Client, cluster: Cluster) -> None:
    said = text(viewer.get("/c/demo/podgroups/team-a/wide"))

    assert "No rack could hold 3 members, not even an empty one." in said
    assert "all domains 2 with a node members may use 2 one member fits 1 (−1) minCount fits 0 (−1)" in said
    assert "r2 2/3 8 nvidia.com/gpu never fits 2/2 too little nvidia.com/gpu: 2" in said
    assert "r1 0/3 24 nvidia.com/gpu never fits 2/2 too little nvidia.com/gpu: 2" in said
    assert "1 node carries no such label and is in no domain." in said
    # The third member would find room only on the node that is in no rack.
    assert "together would do" not in said


def test_a_running_group_says_where_and_lists_its_members_and_events(
    operator: Client, cluster: Cluster
) -> None:
    page = operator.get("/c/demo/podgroups/team-a/fits")
    said = text(page)

    assert "2 of 2 members are bound in rack r1; minCount is 2." in said
    assert "Members 2/2" in said
    assert "fits-0 n11 bound 8 nvidia.com/gpu, 4 cpu Delete" in said
    assert "PodGroup team-a/fits was created: minCount 2 in one domain of topology.example.com/rack." in said
    placed = Event.objects.get(stream_id=cluster.pk, type="PodGroupPlaced")
    assert f'href="/c/demo/history/{placed.seq}"' in page.content.decode()


def test_a_viewer_sees_no_button_that_would_be_refused(viewer: Client, cluster: Cluster) -> None:
    for path in ("/c/demo/podgroups/team-a/fits", "/c/demo/nodes/n11", "/c/demo/settings", "/c/demo/pending"):
        page = viewer.get(path).content.decode()

        for part in ("/end", "/delete", "/cordon", "/submit", "/gates/", "/mode"):
            assert f'{part}"' not in page, (path, part)


def test_a_generation_that_was_closed_keeps_its_page(operator: Client, cluster: Cluster) -> None:
    operator.post("/c/demo/podgroups/team-a/fits/end")
    submitted = {
        "action": "submit", "templates": "1", "namespace": "team-a", "name": "fits", "policy": "gang",
        "min_count": "1", "topology_key": RACK, "t0-count": "1", "t0-gpu": "8",
    }  # fmt: skip
    operator.post("/c/demo/submit", submitted)

    old = text(operator.get("/c/demo/podgroups/team-a/fits/g/1"))
    new = text(operator.get("/c/demo/podgroups/team-a/fits"))

    assert "closed ended by a person" in old
    assert "Generations" in old
    assert "Generation 2" in new
    assert "End this group" not in old
    assert "No manifest." in text(operator.get("/c/demo/podgroups/team-a/fits/g/1?tab=yaml"))


def test_the_manifest_is_shown_as_yaml(viewer: Client, cluster: Cluster) -> None:
    page = text(viewer.get("/c/demo/podgroups/team-a/wide?tab=yaml"))

    assert "kind: PodGroup" in page
    assert "minCount: 3" in page
    assert page.count("kind: Pod ") == 3


def test_domains_are_sorted_and_filtered_as_the_address_says(viewer: Client, cluster: Cluster) -> None:
    def rows(query: str) -> list[str]:
        page = viewer.get(f"/c/demo/map?view=table&key={RACK}{query}").content.decode()
        return re.findall(r'<tr><td><a href="/c/demo/domains/([^?]+)\?', page)

    assert rows("") == ["r1", "r2"]
    assert rows("&sort=free&dir=desc") == ["r2", "r1"]
    assert rows("&free=1") == ["r2"]
    assert rows("&q=1") == ["r1"]
    assert rows("&q=nothing") == []


def test_a_domain_lists_its_nodes_and_who_is_in_it(viewer: Client, cluster: Cluster) -> None:
    said = text(viewer.get(f"/c/demo/domains/r1?key={RACK}"))

    assert "GPUs in use / all 16 / 16" in said
    assert "team-a/fits 2 16 2" in said


def test_nodes_are_filtered_by_state_label_and_name(viewer: Client, cluster: Cluster) -> None:
    def names(query: str) -> list[str]:
        page = viewer.get(f"/c/demo/nodes/?{query}").content.decode()
        return re.findall(r'<tr><td><a href="/c/demo/nodes/([^"]+)"', page)

    assert names("") == ["n0", "n11", "n12", "n21", "n22"]
    assert names("q=n2") == ["n21", "n22"]
    assert names(f"label={RACK}=r1") == ["n11", "n12"]
    assert names(f"state=unlabelled:{RACK}") == ["n0"]
    assert names("state=free") == ["n0", "n21", "n22"]


def test_history_says_what_it_covers_and_filters(viewer: Client, cluster: Cluster) -> None:
    last = Event.objects.filter(stream_id=cluster.pk).latest("seq").seq

    def seqs(query: str) -> list[int]:
        page = viewer.get(f"/c/demo/history?{query}").content.decode()
        return [int(seq) for seq in re.findall(r'<tr><td class="n"><a href="/c/demo/history/(\d+)[?"]', page)]

    assert f"The log has events 1 to {last}," in text(viewer.get("/c/demo/history"))
    assert seqs("") == list(range(last, 0, -1))
    assert len(seqs("type=NodeAdded")) == 5
    assert len(seqs("subject=podgroup&namespace=team-a&name=wide")) == 2
    assert seqs("first=2&last=4") == [4, 3, 2]
    assert seqs("before=3") == [2, 1]
    assert seqs("actor=nobody") == []
    assert len(seqs("text=n22")) == 1
    assert seqs("until=2020-01-01T00:00") == []
    assert len(seqs("since=2020-01-01T00:00")) == last


def test_a_filter_that_cannot_be_read_is_told_at_its_field(viewer: Client, cluster: Cluster) -> None:
    page = viewer.get("/c/demo/history?since=yesterday&type=NoSuchType")

    assert page.status_code == 200
    assert 'id="id_since-errors"' in page.content.decode()
    assert 'id="id_type-errors"' in page.content.decode()


def test_an_event_shows_its_body_hash_cause_and_neighbours(viewer: Client, cluster: Cluster) -> None:
    event = Event.objects.get(stream_id=cluster.pk, type="PodGroupPlaced")
    page = viewer.get(f"/c/demo/history/{event.seq}")
    said = text(page)

    assert bytes(event.hash).hex() in said
    assert bytes(event.prev_hash).hex() in said
    assert event.command_id in said
    assert f'href="/c/demo/history/{event.cause}"' in page.content.decode()
    assert f'data-prev="/c/demo/history/{event.seq - 1}"' in page.content.decode()
    assert "topology.example.com/rack" in said


@pytest.mark.parametrize(
    "path", ["/c/demo/podgroups/?after=x", "/c/demo/podgroups/?after=a/b/c", "/c/demo/pending?after=1"]
)
def test_a_made_up_place_in_a_list_is_a_bad_request(path: str, viewer: Client, cluster: Cluster) -> None:
    assert viewer.get(path).status_code == 400


def test_no_page_carries_a_style_or_a_script_that_the_policy_would_block(
    admin: Client, cluster: Cluster
) -> None:
    for path in [*CLUSTER_PAGES, "/clusters/", "/clusters/import/", "/settings"]:
        page = admin.get(path).content.decode()

        assert not re.search(r"\sstyle=|\son\w+=|<style|hx-on|hx-vals=.js:", page), path
        scripts = re.findall(r"<script(?![^>]*\ssrc=)([^>]*)>", page)
        assert all("application/json" in attributes for attributes in scripts), path


def test_text_from_manifests_is_never_markup(admin: Client, db: None) -> None:
    evil = node("evil", "r1")
    evil["metadata"]["labels"] = {"a": "x"}
    evil["spec"] = {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}
    import_cluster(
        name="demo", request=ImportRequest(dump(evil), mode="simulated"), actor="<script>alert(1)</script>"
    )

    for path in ("/c/demo/history", "/c/demo/history/1"):
        assert "<script>alert" not in admin.get(path).content.decode()


@pytest.mark.parametrize("path", CLUSTER_PAGES)
def test_more_objects_ask_no_more_queries(path: str, admin: Client, cluster: Cluster) -> None:
    def queries() -> int:
        admin.get(path)
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert admin.get(path).status_code == 200
        return len(captured)

    before = queries()
    more = [node(f"m{rack}-{place}", f"m{rack}") for rack in range(12) for place in range(2)]
    groups = [part for number in range(12) for part in gang(f"more-{number}", 3)]
    import_cluster(name="demo", request=ImportRequest(dump(*more, *groups)), actor="test")
    run_cycle(cluster.pk)

    assert queries() == before
    assert before <= 20


def test_lists_go_on_where_the_page_before_ended(
    viewer: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scheduling.selectors import pod_groups

    def walk(path: str, pattern: str) -> list[str]:
        seen: list[str] = []
        address: str | None = path
        while address:
            page = viewer.get(address).content.decode()
            seen += re.findall(pattern, page)
            found = re.search(
                r'<nav class="pager".*<a class="btn"(?: rel="next")? href="([^"]+)">(?:More|Older)<', page
            )
            address = path + found[1][found[1].index("?") :].replace("&amp;", "&") if found else None
        return seen

    groups = [part for number in range(120) for part in gang(f"g{number:03}", 3)[:1]]
    import_cluster(name="demo", request=ImportRequest(dump(*groups)), actor="test")
    total = pod_groups.page(cluster, limit=1000).items

    seen = walk("/c/demo/podgroups/", r'<tr><td><a href="/c/demo/podgroups/([^"]+)"')

    assert seen == [row.key for row in total]
    assert len(walk("/c/demo/history", r'<tr><td class="n"><a href="/c/demo/history/(\d+)"')) == (
        Event.objects.filter(stream_id=cluster.pk).count()
    )


def test_the_picked_group_is_taken_from_the_address_of_the_map(viewer: Client, cluster: Cluster) -> None:
    part = viewer.get(
        "/c/demo/map/group", headers={"hx-current-url": "http://testserver/c/demo/map?key=x&pg=team-a%2Fwide"}
    )

    assert "No rack could hold 3 members" in text(part)
    assert "<html" not in part.content.decode()
    assert "There is no PodGroup team-a/none here." in text(viewer.get("/c/demo/map/group?pg=team-a/none"))


def test_error_pages_are_the_consoles_own(
    client: Client, signed_in: Callable[..., Client], cluster: Cluster
) -> None:
    assert "You may not do this" in text(signed_in().get("/c/demo/map"))
    assert "There is nothing here" in text(signed_in("view_cluster").get("/c/nowhere/map"))
    assert "There is no cluster of this name." in text(signed_in("view_cluster").get("/c/nowhere/map"))
    assert "Sign in to see this page." in text(client.get("/c/demo/map", follow=True))


def test_a_group_that_ends_while_its_page_is_made_still_has_a_page(
    viewer: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(**_: object) -> None:
        raise Refused([Problem("PodGroup", "team-a", "wide", "", NOT_FOUND, "there is no open PodGroup")])

    monkeypatch.setattr(explaining, "explain", gone)

    page = viewer.get("/c/demo/podgroups/team-a/wide")

    assert page.status_code == 200
    assert "No rack could hold 3 members" in text(page)


@pytest.mark.parametrize("template", ["400.html", "403_csrf.html", "500.html", "database_away.html"])
def test_error_pages_need_nothing_to_be_rendered(template: str) -> None:
    """The server renders them when it knows least: without a user, a request or a database."""
    assert "<h1>" in render_to_string(template)


def test_a_paste_that_is_too_large_is_answered_with_what_to_do(operator: Client) -> None:
    pasted = "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)

    page = operator.post("/clusters/import/", {"name": "lab", "action": "preview", "text": pasted})

    assert page.status_code == 400
    assert "A large dump goes in as a file" in text(page)


def test_while_a_cycle_is_due_the_open_page_asks_by_itself(operator: Client, cluster: Cluster) -> None:
    assert "every 2s" not in operator.get("/c/demo/podgroups/team-a/wide").content.decode()

    operator.post("/c/demo/nodes/n21/cordon")

    for path in ("/c/demo/podgroups/team-a/wide", "/c/demo/pending", "/c/demo/podgroups/", "/c/demo/map"):
        assert "tas:advanced from:body, every 2s" in operator.get(path).content.decode()


def test_a_group_whose_members_have_finished_says_so_in_list_and_page(viewer: Client, db: None) -> None:
    group, member = gang("done", 1)
    member["status"] = {"phase": "Succeeded"}
    member["spec"]["nodeName"] = "n1"
    request = ImportRequest(dump(node("n1", "r1"), group, member), mode="observed")
    import_cluster(name="seen", request=request, actor="t")

    for path in ("/c/seen/podgroups/", "/c/seen/podgroups/team-a/done"):
        assert "All members have finished; nothing is left to place." in text(viewer.get(path))


def test_the_address_that_makes_the_demo_leads_to_it(operator: Client, cluster: Cluster) -> None:
    assert operator.get("/clusters/demo/", follow=True).redirect_chain[-1][0] == "/c/demo/map"


def test_nothing_is_offered_to_be_submitted_to_an_observed_cluster(
    operator: Client, cluster: Cluster
) -> None:
    offered = 'href="/c/demo/submit"'
    assert offered in operator.get("/c/demo/pending").content.decode()

    set_mode(cluster=cluster, mode="observed", actor="test")

    assert offered not in operator.get("/c/demo/pending").content.decode()


def test_a_member_that_was_bound_here_is_not_called_pending(viewer: Client, cluster: Cluster) -> None:
    page = text(viewer.get("/c/demo/podgroups/team-a/fits"))

    assert "fits-0 n11 bound" in page and "n11 Pending" not in page
    assert "wide-0 – Pending" in text(viewer.get("/c/demo/podgroups/team-a/wide"))


def test_one_member_is_not_called_members(viewer: Client, db: None) -> None:
    group, pod = gang("lone", 1)
    group["spec"]["schedulingPolicy"]["gang"]["minCount"] = 2
    data = dump(node("n1", "r1"), group, pod)
    import_cluster(name="small", request=ImportRequest(data=data, mode="simulated"), actor="test")
    run_cycle(Cluster.objects.get(name="small").pk)

    assert "1 member exists, minCount is 2" in text(viewer.get("/c/small/podgroups/team-a/lone"))


def banner_of(page: str) -> str:
    """The address that an open page asks for its banner."""
    found = re.search(r'id="gates-banner"[^>]* hx-get="([^"]+)" hx-trigger="tas:advanced from:body"', page)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("path", CLUSTER_PAGES)
def test_an_open_page_learns_that_a_gate_was_switched(path: str, admin: Client, cluster: Cluster) -> None:
    ask = banner_of(admin.get(path).content.decode())
    assert admin.get(ask).status_code == 204

    set_gate(cluster=cluster, gate="GenericWorkload", enabled=False, actor="test")
    told = admin.get(ask)
    again = banner_of(told.content.decode())

    assert "TAS is off: constraint not enforced" in text(told) and "Off: GenericWorkload." in text(told)
    assert 'role="alert"' in told.content.decode()
    assert admin.get(again).status_code == 204
    set_gate(cluster=cluster, gate="GenericWorkload", enabled=True, actor="test")
    assert text(admin.get(again)) == ""


def test_the_banner_costs_a_query_more_than_the_sign_in(viewer: Client, cluster: Cluster) -> None:
    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            viewer.get(path)
        return len(asked)

    assert queries("/c/demo/gates-banner?shown=") == queries("/c/nowhere/gates-banner?shown=")
