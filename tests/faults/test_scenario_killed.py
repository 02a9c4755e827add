"""The processes that work on a run of a scenario die by SIGKILL in the midst of it; it is done all the same,
and as if they had not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from scheduling.ledger import store
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster, Run
from scheduling.scenarios import documents, runs, scenario_runs
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.services.builders import GPU, RACK, node, text

PATIENCE = 120
"""Seconds after which a wait has failed; a wait ends as soon as what it waits for is there."""

NODES = 120


def until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


def steps() -> list[dict[str, Any]]:
    """Enough of them that there is time to kill somebody."""
    submit = {"step": "submit", "namespace": "default", "min_count": 2, "topology_key": RACK}
    template = {"count": 2, "requests": {"cpu": "1", GPU: "2"}}
    made: list[dict[str, Any]] = []
    for number in range(60):
        made.append({**submit, "name": f"g{number}", "templates": [template]})
        made.append({"step": "recreate_members", "group": f"default/g{number}"})
        made.append({"step": "advance_clock", "seconds": 60})
    return made


def log_of(run: Run) -> list[Any]:
    read = store.read(run.fork_id, after=run.base_seq)  # type: ignore[arg-type]
    return [(one.seq, one.event, one.actor, one.cause, one.recorded_at) for one in read]


@pytest.fixture
def cluster(live_stack: Any) -> Cluster:
    nodes = [node(f"n{number}", f"r{number // 8}", gpu=8) for number in range(NODES)]
    import_cluster(name="demo", request=ImportRequest(text(*nodes), mode="simulated"), actor="t")
    return Cluster.objects.get(name="demo")


def test_killed_and_started_again_the_run_is_what_it_would_have_been(
    live_stack: Any, cluster: Cluster
) -> None:
    document = documents.read({"at": str(store.head(cluster.pk).seq), "steps": steps()})
    run = scenario_runs.ask(cluster=cluster, document=document, actor="ada")
    until(lambda: Run.objects.get(pk=run.pk).done >= 3, "some steps are done")
    live_stack.processes.kill("workbench")
    reached = Run.objects.get(pk=run.pk).done
    assert reached < len(document.steps), "it was killed in the midst of it"
    live_stack.processes.start("workbench")
    until(lambda: not Run.objects.get(pk=run.pk).open, "the run is over")
    run = Run.objects.get(pk=run.pk)
    assert (run.status, run.error) == ("done", "")
    assert run.result["timing"]["slices"] == 2

    straight = scenario_runs.ask(cluster=cluster, document=document, actor="ada")
    while runs.work(straight.pk):
        pass
    until(lambda: not Run.objects.get(pk=straight.pk).open, "the other run is over")
    straight.refresh_from_db()
    assert log_of(run) == log_of(straight)
    assert run.result | {"timing": {}} == straight.result | {"timing": {}}
    assert verify_chain(run.fork_id).ok
