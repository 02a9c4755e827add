"""Runs whose base was archived: what is left of them is told, and nothing fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scheduling.ledger import store
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster, Run
from scheduling.scenarios import documents, reality, runs, scenario_runs
from scheduling.selectors import past_states
from scheduling.services import cycles, nodes, retention
from tests.services.builders import node
from tests.services.conftest import make  # noqa: F401

ADD = {"step": "add_nodes", "count": 1, "like": "n0"}


@pytest.fixture
def run(narrow: int, make: Callable[..., Cluster], tmp_path: Path) -> Run:  # noqa: F811
    """Of a scenario that was forked at an event which is in a file now."""
    cluster = make(*(node(f"n{number}", "r1", gpu=4) for number in range(4)), name="demo")
    cycles.run_cycle(cluster.pk)
    made = scenario_runs.ask(cluster=cluster, document=documents.read({"steps": [ADD]}), actor="ada")
    while runs.work(made.pk):
        pass
    while store.head(cluster.pk).seq < 3 * narrow:
        nodes.cordon(cluster=cluster, node="n0", actor="ada")
        nodes.uncordon(cluster=cluster, node="n0", actor="ada")
    retention.detach(cluster=cluster, folder=tmp_path, actor="cli:ada", keep=1)
    scenario_runs.clear()
    past_states.clear()
    return Run.objects.select_related("cluster", "fork").get(pk=made.pk)


@pytest.mark.parametrize("steps", [None, 0, 1])
def test_the_states_of_its_fork_are_gone(run: Run, steps: int | None) -> None:
    with pytest.raises(LookupError, match="are in the file"):
        scenario_runs.fork_state(run, steps)


def test_whether_reality_agreed_is_not_to_be_had(run: Run) -> None:
    with pytest.raises(LookupError):
        reality.reality(run)


def test_its_result_and_its_chain_stay(run: Run) -> None:
    assert run.result is not None and run.fork is not None
    assert verify_chain(run.fork.pk).ok
