"""A wait and its ways out, as the pages tell them; each says what it does before it does it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone, translation

from scheduling.ledger import store
from scheduling.ledger.store import to_milliseconds
from scheduling.models import Cluster, Event, NodeRow, PodGroupRow, PodRow
from scheduling.services import nodes, workloads
from scheduling.services.cycles import run_cycle
from scheduling.services.deadlines import set_deadline, set_policy
from scheduling.services.submitting import MemberTemplate
from tests.console.support import RACK, text
from tests.services.builders import form

GROUP = "/c/demo/podgroups/team-a/fits"
WIDE = "/c/demo/podgroups/team-a/wide"


@pytest.fixture
def rack(cluster: Cluster) -> str:
    """Where `fits` waits for room for its second member: the node of that is cordoned."""
    pod = PodRow.objects.filter(cluster=cluster, group="fits", removed=False).order_by("name").last()
    assert pod is not None
    nodes.cordon(cluster=cluster, node=pod.node, actor="t")
    workloads.delete_member(cluster=cluster, uid=pod.uid, actor="t")
    run_cycle(cluster.pk)
    return f"r{pod.node[1]}"


def types(cluster: Cluster) -> list[str]:
    return list(Event.objects.filter(stream_id=cluster.pk).order_by("seq").values_list("type", flat=True))


def passed(cluster: Cluster, minutes: int) -> None:
    """A cycle so many minutes later."""
    later = to_milliseconds(timezone.now() + timedelta(minutes=minutes))
    run_cycle(cluster.pk, clock=lambda: later)


def test_the_wait_is_named_with_its_domain_and_its_ways_out(rack: str, operator: Client) -> None:
    page = operator.get(GROUP)
    said = text(page)
    assert "Domain-sticky wait" in said and f"rack {rack}" in said.lower()
    assert "Nobody else is there" in said and "degraded" in said
    for way in ("way-keep", "way-restore", "way-next"):
        assert f'id="{way}"' in page.content.decode()


def test_who_may_only_look_is_shown_no_way_out(rack: str, viewer: Client) -> None:
    page = viewer.get(GROUP)
    assert "Domain-sticky wait" in text(page) and "way-keep" not in page.content.decode()


def test_the_groups_that_have_the_room_are_named(cluster: Cluster, rack: str, viewer: Client) -> None:
    there = MemberTemplate("", 1, {"cpu": "1"}, {RACK: rack})
    workloads.submit(cluster=cluster, form=form("small", 1, topology_key="", templates=(there,)), actor="t")
    run_cycle(cluster.pk)
    assert "default/small 1 0" in text(viewer.get(GROUP))


def test_a_deadline_is_set_shown_and_told_on_the_pending_page(
    cluster: Cluster, rack: str, operator: Client
) -> None:
    asked = operator.get(f"{GROUP}/wait")
    assert "Nothing is moved and nothing is ended now." in text(asked)
    done = operator.post(f"{GROUP}/wait", {"amount": "2", "unit": "hours", "action": "alert"}, follow=True)
    assert "goes on waiting" in text(done) and "1 h 59 min left" in text(done)
    assert "only tell it" in text(operator.get("/c/demo/pending"))
    passed(cluster, 121)
    assert types(cluster)[-1] == "WaitDeadlineExpired"
    assert "Past their deadline: team-a/fits" in text(operator.get("/c/demo/pending"))
    assert "past" in text(operator.get(GROUP))


def test_a_page_does_not_ask_again_and_again_because_of_a_deadline_that_is_far_away(
    cluster: Cluster, operator: Client
) -> None:
    operator.post(f"{WIDE}/wait", {"amount": "2", "unit": "hours", "action": "alert"})
    run_cycle(cluster.pk)
    run_cycle(cluster.pk)
    cluster.refresh_from_db()
    assert cluster.retry_at is not None
    assert "every 2s" not in operator.get("/c/demo/pending").content.decode()
    Cluster.objects.update(retry_at=timezone.now())
    assert "every 2s" in operator.get("/c/demo/pending").content.decode()


def test_without_an_amount_it_waits_for_as_long_as_it_takes(rack: str, operator: Client) -> None:
    done = operator.post(f"{GROUP}/wait", {"amount": "", "unit": "hours", "action": "alert"}, follow=True)
    assert "none: it may wait for as long as it takes" in text(done)


def test_what_was_said_for_a_group_can_go_back_to_the_default(cluster: Cluster, operator: Client) -> None:
    assert "Back to the default" not in text(operator.get(f"{WIDE}/wait"))
    operator.post(f"{WIDE}/wait", {"amount": "", "unit": "hours", "action": "alert"})
    assert "The cluster has no default" in text(operator.get(f"{WIDE}/wait"))
    set_policy(cluster=cluster, after=5_400_000, action="propose", actor="t")
    assert "The default of the cluster is 1 h 30 min from when the wait began" in text(
        operator.get(f"{WIDE}/wait")
    )
    done = operator.post(f"{WIDE}/wait", {"default": "1"}, follow=True)
    assert "The default wait deadline of the cluster holds for PodGroup team-a/wide again." in text(done)
    assert "default of the cluster" in text(done) and types(cluster)[-1] == "WaitDeadlineWithdrawn"


def test_a_deadline_that_cannot_be_is_refused_at_its_field(cluster: Cluster, operator: Client) -> None:
    """`fits` runs: it does not wait."""
    head = store.head(cluster.pk).seq
    answer = operator.post(f"{GROUP}/wait", {"amount": "1", "unit": "days", "action": "alert"})
    assert answer.status_code == 422 and "the group does not wait" in text(answer)
    answer = operator.post(f"{WIDE}/wait", {"amount": "0", "unit": "days", "action": "shout"})
    assert answer.status_code == 422
    assert store.head(cluster.pk).seq == head


def test_a_deadline_that_closes_ends_the_group(cluster: Cluster, operator: Client) -> None:
    operator.post(f"{WIDE}/wait", {"amount": "5", "unit": "minutes", "action": "close"})
    passed(cluster, 6)
    row = PodGroupRow.objects.get(cluster=cluster, name="wide")
    assert (row.closed, row.close_reason) == (True, "expired")
    assert "its wait deadline passed" in text(operator.get(WIDE))


def test_restored_elsewhere_it_runs_in_the_other_rack(cluster: Cluster, rack: str, operator: Client) -> None:
    other = "r2" if rack == "r1" else "r1"
    asked = text(operator.get(f"{GROUP}/restore"))
    assert "all its members end" in asked and "What would be decided about the new generation" in asked
    assert other in asked and "1 member that is on a node now ends." in asked
    head = store.head(cluster.pk).seq
    refused = operator.post(f"{GROUP}/restore", {"checkpoint": "", "generation": "1"})
    assert refused.status_code == 422 and store.head(cluster.pk).seq == head
    operator.post(f"{GROUP}/restore", {"checkpoint": "s3://ckpt/fits/900", "generation": "1"})
    run_cycle(cluster.pk)
    on = set(
        PodRow.objects.filter(cluster=cluster, group="fits", removed=False).values_list("node", flat=True)
    )
    assert {f"r{name[1]}" for name in on} == {other}
    said = text(operator.get(GROUP))
    assert "restored from a checkpoint" in said and "s3://ckpt/fits/900" in said
    assert "superseded by a new generation" in said


def test_the_next_generation_is_opened_only_after_its_forecast_was_shown(
    cluster: Cluster, operator: Client
) -> None:
    page = operator.get(f"{WIDE}/next")
    assert f'value="{RACK}"' in page.content.decode() and "End the members and open it" not in text(page)
    asked = {"topology_key": "", "min_count": "3", "checkpoint": "", "generation": "1"}
    checked = operator.post(f"{WIDE}/next", asked | {"action": "check"})
    assert "End the members and open it" in text(checked)
    assert "the one-domain law does not hold for this generation" in text(checked)
    done = operator.post(f"{WIDE}/next", asked | {"action": "open"}, follow=True)
    assert "Generation 2 of PodGroup team-a/wide was opened" in text(done)
    run_cycle(cluster.pk)
    row = PodGroupRow.objects.get(cluster=cluster, name="wide", closed=False)
    assert (row.generation, row.topology_key, row.status, row.bound) == (2, "", "scheduled", 3)


@pytest.mark.parametrize(
    ("way", "asked"),
    [("next", {"topology_key": "", "action": "open"}), ("restore", {"checkpoint": "s3://ckpt/1"})],
)
def test_of_two_people_who_saw_one_generation_the_second_is_told_who_came_first(
    cluster: Cluster, operator: Client, way: str, asked: dict[str, str]
) -> None:
    shown = operator.get(f"{WIDE}/{way}").content.decode()
    assert '<input type="hidden" name="generation" value="1">' in shown
    assert operator.post(f"{WIDE}/{way}", asked | {"generation": "1"}).status_code == 302
    opened = Event.objects.filter(stream_id=cluster.pk, type="PodGroupCreated").latest("seq")
    head = store.head(cluster.pk).seq

    again = operator.post(f"{WIDE}/{way}", asked | {"generation": "1"})

    assert again.status_code == 422 and store.head(cluster.pk).seq == head
    assert "generation 1 is not the open one, which is generation 2" in text(again)
    assert f'href="/c/demo/history/{opened.seq}"' in again.content.decode()
    # The page shows the second now, and sends what it shows.
    assert '<input type="hidden" name="generation" value="2">' in again.content.decode()
    assert "Generation 2 is closed as superseded" in text(again)


@pytest.mark.parametrize("way", ["next", "restore"])
def test_a_page_that_names_no_generation_opens_none(cluster: Cluster, operator: Client, way: str) -> None:
    head = store.head(cluster.pk).seq
    answer = operator.post(f"{WIDE}/{way}", {"topology_key": "", "checkpoint": "c", "action": "open"})
    assert answer.status_code == 422 and store.head(cluster.pk).seq == head
    assert "the open generation that this was decided on must be named" in text(answer)


def test_mincount_is_lowered_with_the_tick_and_the_consequence_told(
    cluster: Cluster, operator: Client
) -> None:
    asked = {"topology_key": RACK, "min_count": "2", "checkpoint": "", "generation": "1", "action": "check"}
    refused = operator.post(f"{WIDE}/next", asked)
    assert refused.status_code == 422
    assert "only where the group is marked elastic" in text(refused)
    checked = operator.post(f"{WIDE}/next", asked | {"elastic": "on"})
    assert "1 member fewer is guaranteed at once." in text(checked)
    operator.post(f"{WIDE}/next", asked | {"elastic": "on", "action": "open"})
    row = PodGroupRow.objects.get(cluster=cluster, name="wide", closed=False)
    assert (row.min_count, row.elastic) == (2, True)
    assert "Elastic" in text(operator.get(WIDE))


def test_the_default_of_the_cluster_is_set_and_told(cluster: Cluster, operator: Client) -> None:
    assert "as long as it takes" in text(operator.get("/c/demo/settings"))
    operator.post("/c/demo/wait-policy", {"amount": "90", "unit": "minutes", "action": "propose"})
    assert "may wait for 1 h 30 min" in text(operator.get("/c/demo/settings"))
    assert 'value="90"' in operator.get("/c/demo/wait-policy").content.decode()
    assert "default of the cluster" in text(operator.get("/c/demo/pending"))
    operator.post("/c/demo/wait-policy", {"amount": "", "unit": "minutes", "action": "alert"})
    assert types(cluster).count("WaitPolicyChanged") == 2


def test_a_deadline_that_proposes_shows_a_generation_that_would_run(
    cluster: Cluster, rack: str, operator: Client
) -> None:
    set_policy(cluster=cluster, after=60_000, action="propose", actor="t")
    passed(cluster, 2)
    said = text(operator.get(GROUP))
    assert "Proposed: a new generation" in said and "The same again, free to go to another domain" in said


def test_a_domain_is_marked_lost_and_taken_back(cluster: Cluster, operator: Client) -> None:
    rack = f"r{PodRow.objects.filter(cluster=cluster, group='fits').first().node[1]}"  # type: ignore[union-attr]
    assert "2 nodes lose the label and are cordoned." in text(
        operator.get(f"/c/demo/lost-domain?key={RACK}&value={rack}")
    )
    done = operator.post("/c/demo/lost-domain", {"key": RACK, "value": rack, "lost": "1"}, follow=True)
    assert f"Marked lost by an operator: {rack}" in text(done)
    run_cycle(cluster.pk)
    said = text(operator.get(GROUP))
    assert "domain lost" in said and "its node is in no domain" in said
    assert "Proposed: a new generation" in said
    assert "2 nodes get their label back." in text(
        operator.get(f"/c/demo/lost-domain?key={RACK}&value={rack}")
    )
    operator.post("/c/demo/lost-domain", {"key": RACK, "value": rack, "lost": "0"})
    assert not NodeRow.objects.filter(cluster=cluster, unschedulable=True).exists()


def test_in_japanese_every_text_is_translated(rack: str, cluster: Cluster, operator: Client) -> None:
    set_deadline(
        cluster=cluster, namespace="team-a", name="fits",
        at=to_milliseconds(timezone.now() + timedelta(hours=1)), action="alert", actor="t",
    )  # fmt: skip
    with translation.override("ja"):  # and back again for the tests after this one
        said = text(operator.get(GROUP, headers={"accept-language": "ja"}))
    said = said.replace("WaitDeadlineSet", "")  # a type of event is a code, the same in every language
    assert "ドメイン固定の待機" in said and "Ways out" not in said and "Deadline" not in said
