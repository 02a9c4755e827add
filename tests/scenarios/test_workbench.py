"""What is saved and asked for on a workbench is in its log, once, and nobody's work is lost unseen."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction

from scheduling.ledger import store
from scheduling.ledger.codec import BadEvent
from scheduling.ledger.events import RunCancelled, RunEnded, RunRequested, ScenarioRemoved, ScenarioSaved
from scheduling.ledger.store import CommandReused
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster, Run, RunFile, Scenario
from scheduling.projections import workbench as projection
from scheduling.scenarios import kinds, workbench
from scheduling.scenarios.documents import ScenarioDocument, read
from scheduling.services.problems import CONFLICT, INVALID, NOT_FOUND, REQUIRED, Refused

LOSE: dict[str, Any] = {"name": "lose-one", "steps": [{"step": "lose_nodes", "node": "node-1-1"}]}


@pytest.fixture(autouse=True)
def a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds._MODULES, "some", "nothing_is_loaded")


def saved(cluster: Cluster, document: dict[str, Any] = LOSE, **more: Any) -> Scenario:
    return workbench.save(cluster=cluster, document=read(document), actor="ada", **more)


def requested(cluster: Cluster, **more: Any) -> Run:
    asked: dict[str, Any] = {"kind": "some", "document": {"a": 1}, "base": 1, "actor": "ada", **more}
    return workbench.request(cluster=cluster, **asked)


def log(cluster: Cluster) -> list[object]:
    with transaction.atomic():
        return [item.event for item in store.read(workbench.stream_of(cluster))]


def refused(command: Callable[[], object]) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as error:
        command()
    return [(problem.path, problem.reason) for problem in error.value.problems]


def test_the_clusters_own_log_and_tables_are_not_touched(cluster: Cluster) -> None:
    before = store.head(cluster.pk)
    saved(cluster)
    workbench.end(requested(cluster), result={})
    assert store.head(cluster.pk) == before


def test_a_scenario_is_read_as_it_was_saved(cluster: Cluster) -> None:
    row = saved(cluster)
    assert read(row.document) == read(LOSE)
    assert (row.name, row.saved_by, row.revision) == ("lose-one", "ada", 1)


def test_one_without_a_name_cannot_be_saved(cluster: Cluster) -> None:
    assert refused(lambda: saved(cluster, {"steps": []})) == [("name", REQUIRED)]
    assert not Scenario.objects.exists()


def test_saved_as_it_is_writes_nothing(cluster: Cluster) -> None:
    assert saved(cluster).revision == saved(cluster).revision
    assert [type(event) for event in log(cluster)] == [ScenarioSaved]


def test_who_edits_an_older_revision_is_told_so(cluster: Cluster) -> None:
    first = saved(cluster).revision
    saved(cluster, LOSE | {"about": "by somebody else"}, revision=first)
    mine = LOSE | {"about": "mine"}
    assert refused(lambda: saved(cluster, mine, revision=first)) == [("name", CONFLICT)]
    assert refused(lambda: saved(cluster, mine, revision=0)) == [("name", CONFLICT)]
    assert Scenario.objects.get().document["about"] == "by somebody else"


def test_a_removed_scenario_leaves_its_runs(cluster: Cluster) -> None:
    saved(cluster)
    run = requested(cluster, scenario="lose-one")
    workbench.remove(cluster=cluster, name="lose-one", actor="ada")
    assert not Scenario.objects.exists() and Run.objects.get() == run
    assert refused(lambda: workbench.remove(cluster=cluster, name="lose-one", actor="ada")) == [
        ("", NOT_FOUND)
    ]
    assert [type(event) for event in log(cluster)] == [ScenarioSaved, RunRequested, ScenarioRemoved]


def test_a_run_has_the_number_of_the_event_that_asked_for_it(cluster: Cluster) -> None:
    saved(cluster)
    run = requested(cluster, scenario="lose-one", data=b"a trace")
    assert (run.number, run.status, run.document, run.base_seq) == (2, "waiting", {"a": 1}, 1)
    assert bytes(RunFile.objects.get(run=run, name="input").data) == b"a trace"


def test_no_run_is_of_a_kind_that_there_is_not(cluster: Cluster) -> None:
    assert refused(lambda: requested(cluster, kind="other")) == [("kind", INVALID)]


def test_the_same_command_asks_once(cluster: Cluster) -> None:
    assert requested(cluster, command_id="x") == requested(cluster, command_id="x")
    with pytest.raises(CommandReused):
        requested(cluster, command_id="x", document={"a": 2})
    assert Run.objects.count() == 1


def test_so_many_runs_at_once_and_no_more(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbench, "MOST_OPEN", 2)
    first = requested(cluster)
    requested(cluster)
    assert refused(lambda: requested(cluster)) == [("", CONFLICT)]
    workbench.end(first, result={})
    requested(cluster)


def test_a_run_ends_once(cluster: Cluster) -> None:
    run = requested(cluster)
    workbench.end(run, result={"placed": 3})
    workbench.end(run, error="too late")
    workbench.cancel(cluster=cluster, number=run.number, actor="ada")
    run.refresh_from_db()
    assert (run.status, run.result, run.error) == ("done", {"placed": 3}, "")
    assert [type(event) for event in log(cluster)] == [RunRequested, RunEnded]


def test_a_cancelled_run_tells_how_far_it_was(cluster: Cluster) -> None:
    run = requested(cluster)
    Run.objects.filter(pk=run.pk).update(done=2, total=5)
    assert workbench.cancel(cluster=cluster, number=run.number, actor="bob").status == "cancelled"
    assert log(cluster)[-1] == RunCancelled(run.number, 2, 5)
    assert refused(lambda: workbench.cancel(cluster=cluster, number=99, actor="bob")) == [("", NOT_FOUND)]


def test_a_result_holds_no_fractions(cluster: Cluster) -> None:
    run = requested(cluster)
    with pytest.raises(BadEvent):
        workbench.end(run, result={"use": 0.5})
    assert Run.objects.get().status == "waiting"


def test_workers_are_told_after_the_commit(cluster: Cluster, django_capture_on_commit_callbacks: Any) -> None:
    told: list[int] = []

    def listen(*, run_id: int, **_: object) -> None:
        told.append(run_id)

    workbench.run_requested.connect(listen)
    try:
        with django_capture_on_commit_callbacks() as callbacks:
            run = requested(cluster)
            assert told == []
        callbacks[-1]()
    finally:
        workbench.run_requested.disconnect(listen)
    assert told == [run.pk]


def test_its_tables_can_be_made_anew_from_its_log(cluster: Cluster) -> None:
    saved(cluster)
    saved(cluster, ScenarioDocument(name="other").model_dump(mode="json"))
    workbench.remove(cluster=cluster, name="other", actor="ada")
    done, open_, cancelled = (requested(cluster, document={"n": number}) for number in range(3))
    workbench.end(done, result={"placed": 1})
    workbench.cancel(cluster=cluster, number=cancelled.number, actor="ada")
    Run.objects.filter(pk=open_.pk).update(status="running", done=3)

    def rows() -> list[list[dict[str, Any]]]:
        scenarios = [{**row, "id": 0} for row in Scenario.objects.values()]
        return [scenarios, list(Run.objects.values())]

    before = rows()
    Scenario.objects.all().delete()
    Run.objects.filter(pk=done.pk).update(status="waiting", result=None, ended_at=None)
    with transaction.atomic():
        projection.rebuild(cluster, workbench.stream_of(cluster))
    assert rows() == before
    with transaction.atomic():
        assert verify_chain(workbench.stream_of(cluster)).ok


def test_rebuild_projections_makes_them_too(cluster: Cluster) -> None:
    saved(cluster)
    Scenario.objects.all().delete()
    call_command("rebuild_projections", "demo", stdout=StringIO())
    assert Scenario.objects.get().name == "lose-one"
