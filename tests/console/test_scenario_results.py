"""The page of a scenario's run: the verdict first, what changed, groups as they stand in the fork, and what
one does next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from scheduling.models import Cluster, Event, PodGroupRow, Run
from scheduling.scenarios import documents, runs, scenario_runs, workbench
from scheduling.services import nodes, workloads
from scheduling.services.cycles import run_cycle
from scheduling.services.workloads import MemberTemplate, WorkloadForm
from tests.console.support import GPU, RACK, text

LOSE = {"step": "lose_nodes", "key": RACK, "domain": "r1"}
NEW = {
    "step": "submit",
    "namespace": "ml",
    "name": "job",
    "min_count": 2,
    "topology_key": RACK,
    "templates": [{"count": 2, "requests": {GPU: "8"}}],
}


@pytest.fixture
def author(signed_in: Callable[..., Client]) -> Client:
    return signed_in("view_cluster", "run_scenario")


def asked(cluster: Cluster, *steps: dict[str, Any], **more: Any) -> Run:
    document = documents.read({"steps": list(steps)} | more)
    return scenario_runs.ask(cluster=cluster, document=document, actor="ops")


def done(cluster: Cluster, *steps: dict[str, Any], **more: Any) -> Run:
    run = asked(cluster, *steps, **more)
    while runs.work(run.pk):
        pass
    found = Run.objects.get(pk=run.pk)
    assert found.status == "done", found.error
    return found


def address(run: Run) -> str:
    return f"/c/demo/runs/{run.number}"


def test_the_verdict_comes_before_everything_else(viewer: Client, cluster: Cluster) -> None:
    page = text(viewer.get(address(done(cluster, LOSE, NEW))))

    said = (
        "What if: this is a scenario, not the cluster.",
        "team-a/fits would wait; 1 of 2 groups would run.",
        "Before and after",
        "team-a/fits lost its domain r1.",
        "2 nodes left: n11, n12.",
        "PodGroups that the steps are about",
        "ml/job submitted runs now",
        "All nodes of rack r1 are lost.",
        "How long it took",
    )
    places = [page.find(each) for each in said]
    assert -1 not in places, dict(zip(said, places, strict=True))
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ([NEW], "ml/job would run, in rack r2."),
        ([NEW | {"topology_key": ""}], "ml/job would run."),
        ([NEW | {"min_count": 3, "templates": [{"count": 3, "requests": {GPU: "8"}}]}], "ml/job would wait."),
        ([{"step": "cordon", "node": "n11"}], "No group would stop running."),
        ([{"step": "end_group", "group": "team-a/fits"}], "No group would stop running."),
        ([NEW, NEW | {"name": "b", "min_count": 1}], "ml/b would wait; 1 of 2 groups would run."),
        ([], "No group would stop running."),
    ],
)
def test_each_verdict_is_one_sentence(
    steps: list[dict[str, Any]], verdict: str, viewer: Client, cluster: Cluster
) -> None:
    run = done(cluster, *steps)

    assert f"<strong>{verdict}</strong>" in viewer.get(address(run)).content.decode()


def test_the_cluster_is_as_it_was(viewer: Client, cluster: Cluster) -> None:
    before = (Event.objects.filter(stream_id=cluster.pk).count(), list(PodGroupRow.objects.values()))

    viewer.get(address(done(cluster, LOSE, NEW)))

    assert before == (Event.objects.filter(stream_id=cluster.pk).count(), list(PodGroupRow.objects.values()))


def test_a_base_that_is_old_says_by_how_many_events_the_cluster_moved_on(
    viewer: Client, cluster: Cluster
) -> None:
    run = done(cluster, LOSE)
    assert "Nothing has happened in the cluster since." in text(viewer.get(address(run)))

    nodes.cordon(cluster=cluster, node="n21", actor="ops")

    assert "The cluster has moved on by 1 event since." in text(viewer.get(address(run)))


def test_a_run_that_waits_shows_its_steps_and_no_result(viewer: Client, cluster: Cluster) -> None:
    page = viewer.get(address(asked(cluster, LOSE)))

    assert "All nodes of rack r1 are lost." in text(page)
    assert 'id="verdict"' not in page.content.decode()
    assert "pair.js" in page.content.decode()  # the maps come by a swap


def test_a_run_that_failed_names_the_step(viewer: Client, cluster: Cluster) -> None:
    run = asked(cluster, LOSE, {"step": "end_group", "group": "team-a/gone"})
    while runs.work(run.pk):
        pass

    page = text(viewer.get(address(run)))

    assert "The run failed:" in page
    assert "steps[1].group" in page
    assert "All nodes of rack r1 are lost. done" in page


def test_a_group_of_the_fork_is_explained_as_on_live_pages(viewer: Client, cluster: Cluster) -> None:
    run = done(cluster, LOSE)

    fork = text(viewer.get(f"{address(run)}/podgroups/team-a/wide"))
    live = text(viewer.get("/c/demo/podgroups/team-a/wide"))

    assert "What if: this is a scenario, not the cluster." in fork
    assert "From all domains to those that would do (rack) all domains 1" in fork
    assert "From all domains to those that would do (rack) all domains 2" in live
    assert "What would make it run" in fork
    assert "What kube-scheduler would do" in fork
    assert viewer.get(f"{address(run)}/podgroups/team-a/gone").status_code == 404
    assert viewer.get(f"{address(asked(cluster, LOSE))}/podgroups/team-a/wide").status_code == 404


def test_what_would_make_it_run_in_the_fork_is_added_to_the_scenario(
    author: Client, cluster: Cluster
) -> None:
    run = done(cluster, LOSE)
    page = author.get(f"{address(run)}/podgroups/team-a/wide").content.decode()
    link = page.split('href="/c/demo/scenarios/new?run=')[1].split('"')[0].replace("&amp;", "&")

    form = author.get(f"/c/demo/scenarios/new?run={link}").content.decode()

    assert 'name="s0-step" value="lose_nodes"' in form
    assert 'name="s1-step"' in form


def test_what_would_make_a_group_run_can_be_tried_as_a_scenario(author: Client, cluster: Cluster) -> None:
    part = author.get("/c/demo/podgroups/team-a/wide/changes").content.decode()
    links = [
        piece.split('"')[0].replace("&amp;", "&") for piece in part.split('href="/c/demo/scenarios/new')[1:]
    ]
    assert links

    for link in links:
        form = author.get(f"/c/demo/scenarios/new{link}")
        assert form.status_code == 200
        assert 'name="s0-step"' in form.content.decode()


def test_it_is_run_again_on_the_newest_event(author: Client, cluster: Cluster) -> None:
    first = done(cluster, LOSE, at="5")
    nodes.cordon(cluster=cluster, node="n21", actor="ops")

    page = author.post(f"{address(first)}/again")

    again = Run.objects.latest("number")
    assert page["Location"] == address(again)
    assert (first.base_seq, again.base_seq) == (
        5,
        Event.objects.filter(stream_id=cluster.pk).latest("seq").seq,
    )
    assert again.document["steps"] == first.document["steps"]


def test_a_run_whose_document_cannot_be_done_any_more_stays_where_it_was(
    author: Client, cluster: Cluster
) -> None:
    first = done(cluster, LOSE)
    for _ in range(workbench.MOST_OPEN):
        asked(cluster)

    page = author.post(f"{address(first)}/again", follow=True)

    assert page.redirect_chain[-1][0] == address(first)
    assert "50 runs of this cluster wait or run: cancel some, or wait" in text(page)


def test_the_document_of_a_run_becomes_a_new_scenario(author: Client, cluster: Cluster) -> None:
    run = done(cluster, LOSE, NEW)

    page = author.get(f"/c/demo/scenarios/new?run={run.number}").content.decode()

    assert 'name="s0-step" value="lose_nodes"' in page
    assert 'name="s1-t0-gpu" value="8"' in page


def test_the_list_of_scenarios_tells_what_came_of_the_last_run(author: Client, cluster: Cluster) -> None:
    document = documents.read({"name": "lose", "steps": [LOSE]})
    workbench.save(cluster=cluster, document=document, actor="ops")
    author.post("/c/demo/scenarios/lose/run")
    runs.work(Run.objects.get().pk)

    for path in ("/c/demo/scenarios/", "/c/demo/scenarios/lose"):
        assert "team-a/fits would wait." in text(author.get(path))


def test_two_runs_are_compared_side_by_side(viewer: Client, cluster: Cluster) -> None:
    first, second = done(cluster, LOSE, NEW), done(cluster, NEW, {"step": "cordon", "node": "n21"})

    page = text(viewer.get(f"{address(first)}/compare?with={second.number}"))

    assert "team-a/fits would wait; 1 of 2 groups would run." in page
    assert "ml/job would run, in rack r2." in page
    assert "team-a/fits stopped pending 0/2" in page
    assert "scheduled 2/2 · r1" in page
    assert "ml/job runs now" not in page.split("PodGroups that do not stand alike")[1].split("At the end")[0]
    assert "The two began at different events" not in page


def test_only_runs_with_a_result_are_compared(viewer: Client, cluster: Cluster) -> None:
    first, waiting = done(cluster, LOSE), asked(cluster, LOSE)

    assert "has no result: waiting for a worker" in text(
        viewer.get(f"{address(first)}/compare?with={waiting.number}")
    )
    assert viewer.get(f"{address(first)}/compare?with=99").status_code == 404
    assert viewer.get(f"{address(first)}/compare").status_code == 200


def test_two_runs_of_different_moments_say_so(viewer: Client, cluster: Cluster) -> None:
    first, second = done(cluster, LOSE), done(cluster, LOSE, at="8")

    page = text(viewer.get(f"{address(first)}/compare?with={second.number}"))

    assert "The two began at different events: what differs need not come of their steps." in page


def submitted(cluster: Cluster, members: int = 2) -> None:
    template = MemberTemplate("", members, {GPU: "8"})
    form = WorkloadForm("ml", "job", "gang", members, RACK, 0, (template,))
    workloads.submit(cluster=cluster, form=form, actor="ops")
    run_cycle(cluster.pk)


def test_reality_agrees_when_the_same_group_came_to_the_same(viewer: Client, cluster: Cluster) -> None:
    run = done(cluster, NEW)
    assert "ml/job has not been submitted to the cluster since." in text(
        viewer.get(f"{address(run)}/reality")
    )

    submitted(cluster)

    page = text(viewer.get(f"{address(run)}/reality"))
    assert "agrees It came as the scenario said: ml/job." in page
    assert "Nothing that could matter lies between the fork and the real group." in page
    assert "Verdict placed placed yes" in page
    assert "Domain r2 r2 yes" in page


def test_reality_that_differs_says_what_lies_between(viewer: Client, cluster: Cluster) -> None:
    run = done(cluster, LOSE, NEW)
    nodes.cordon(cluster=cluster, node="n21", actor="ops")
    submitted(cluster)

    page = text(viewer.get(f"{address(run)}/reality"))

    assert "differs It came otherwise than the scenario said: ml/job." in page
    assert "Between the fork and the real group lies 1 event that could matter: node changed 1." in page
    assert "The scenario assumed what nobody did in the cluster: Lose nodes." in page
    assert "Verdict placed proved infeasible no" in page


def test_another_group_of_the_name_is_not_compared(viewer: Client, cluster: Cluster) -> None:
    run = done(cluster, NEW)
    submitted(cluster, members=1)

    page = text(viewer.get(f"{address(run)}/reality"))

    assert "it is another one: not comparable." in page
    assert "It differs in: minCount, Members." in page
