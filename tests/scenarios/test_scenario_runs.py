"""A run of a scenario: its own stream, step by step, in any number of slices and processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from scheduling.ledger import fold, snapshots, store
from scheduling.ledger.signals import append_reached
from scheduling.ledger.store import to_milliseconds
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster, Event, NodeRow, PodGroupRow, PodRow, Run, RunFile
from scheduling.projections import rebuild
from scheduling.scenarios import documents, fork, runs, scenario_runs, workbench
from scheduling.scenarios.scenario_runs import fork_state, reached
from scheduling.selectors import past_states
from scheduling.selectors.moments import BadMoment
from scheduling.services import cycles, holding, workloads
from scheduling.services.reserving import Wish
from tests.services.builders import GPU, RACK, form, gang, members, node
from tests.services.conftest import make  # noqa: F401

NEW = {
    "step": "submit",
    "namespace": "default",
    "name": "new",
    "min_count": 2,
    "topology_key": RACK,
    "templates": [{"count": 2, "requests": {GPU: "4"}}],
}
LOSE = {"step": "lose_nodes", "key": RACK, "domain": "r1"}
LATER = {"step": "advance_clock", "seconds": 600}


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """As in a process that has seen nothing yet."""
    scenario_runs.clear()
    past_states.clear()
    yield


@pytest.fixture
def cluster(make: Callable[..., Cluster]) -> Cluster:  # noqa: F811
    made = make(
        *(node(f"n{number}", "r1" if number < 2 else "r2", gpu=4) for number in range(4)),
        gang("g", 2),
        *members("g", 2, gpu=3),
        name="demo",
    )
    cycles.run_cycle(made.pk)
    return made


def asked(cluster: Cluster, *steps: dict[str, Any], **more: Any) -> Run:
    document = documents.read({"steps": list(steps)} | more)
    return scenario_runs.ask(cluster=cluster, document=document, actor="ada")


def done(run: Run) -> Run:
    while runs.work(run.pk):
        pass
    return Run.objects.select_related("cluster", "fork").get(pk=run.pk)


def log_of(run: Run) -> list[Any]:
    """What happened in the fork, apart from when it was written down."""
    stream_id = Run.objects.values_list("fork_id", flat=True).get(pk=run.pk)
    read = store.read(stream_id, after=run.base_seq)
    return [(one.seq, one.event, one.actor, one.cause, one.recorded_at) for one in read]


def test_a_run_tells_what_came_of_it(cluster: Cluster) -> None:
    run = done(asked(cluster, LOSE, NEW))
    assert (run.status, run.error, run.done, run.total) == ("done", "", 2, 2)
    result = run.result
    assert result["base"]["seq"] == run.base_seq
    assert result["verdict"]["code"] == "waits"
    assert {one["key"]: one["became"] for one in result["asked"]} == {
        "default/g": "stopped",
        "default/new": "placed",
    }
    assert [one["step"] for one in result["steps"]] == ["lose_nodes", "submit"]
    timing = result["timing"]
    assert timing["slices"] == 1 and timing["cycles"] >= 5 and timing["decisions"] >= 2
    assert timing["play_clock_us"] >= timing["decide_clock_us"] > 0
    assert timing["total_ms"] >= timing["waited_ms"]


def test_the_clusters_own_stream_and_tables_are_not_touched(cluster: Cluster) -> None:
    def rows() -> list[Any]:
        return [
            list(model.objects.order_by("pk").values()) for model in (NodeRow, PodGroupRow, PodRow, Event)
        ]

    head, before = store.head(cluster.pk), rows()
    run = done(asked(cluster, LOSE, NEW))
    own = {run.fork_id, _workbench(cluster)}
    after = rows()
    after[3] = [row for row in after[3] if row["stream_id"] not in own]
    assert (store.head(cluster.pk), after) == (head, before)
    assert rebuild.compare(cluster.pk) == []


def _workbench(cluster: Cluster) -> int:
    with transaction.atomic():
        return workbench.stream_of(cluster)


def test_the_fork_goes_on_from_the_clusters_event_in_one_chain(cluster: Cluster) -> None:
    run = done(asked(cluster, LOSE, NEW))
    assert run.fork is not None and run.fork.name == f"demo/{run.number}"
    first = next(store.read(run.fork_id, after=run.base_seq))
    assert first.prev_hash == bytes(Event.objects.get(stream_id=cluster.pk, seq=run.base_seq).hash)
    assert first.seq == run.base_seq + 1
    assert verify_chain(run.fork_id).ok
    call_command("verify_log")


def test_a_fork_that_does_not_go_on_from_its_cluster_is_found(cluster: Cluster) -> None:
    run = done(asked(cluster, LOSE, NEW))
    Run.objects.filter(pk=run.pk).update(base_seq=run.base_seq - 1)
    report = verify_chain(run.fork_id)
    assert not report.ok and report.bad_seq == run.base_seq
    with pytest.raises(CommandError, match=f"scenario demo/{run.number}"):
        call_command("verify_log")


def test_the_state_of_the_fork_is_told_after_each_step(cluster: Cluster) -> None:
    run = done(asked(cluster, LOSE, NEW))
    start = fork_state(run, 0)
    assert snapshots.pack(start) == snapshots.pack(fold.state_at(cluster.pk, run.base_seq))
    assert "n0" not in fork_state(run, 1).nodes and "default/new" not in fork_state(run, 1).groups
    end = fork_state(run)
    assert "default/new" in end.groups
    assert snapshots.pack(end) == snapshots.pack(fork_state(run, 2))
    with pytest.raises(LookupError):
        fork_state(run, 3)
    end.set_gate("GangScheduling", False)
    assert fork_state(run).gates["GangScheduling"], "each caller has its own"


def test_a_run_at_a_past_event_sees_nothing_that_came_later(cluster: Cluster) -> None:
    then = store.head(cluster.pk).seq
    workloads.submit(cluster=cluster, form=form("later"), actor="t")
    cycles.run_cycle(cluster.pk)
    run = done(asked(cluster, NEW, at=str(then)))
    assert run.base_seq == then
    assert "default/later" not in fork_state(run).groups
    at = to_milliseconds(Event.objects.get(stream_id=cluster.pk, seq=then).recorded_at)
    assert run.result["begun"]["at"] == at


def test_in_an_observed_cluster_the_fork_is_simulated_and_says_so(make: Callable[..., Cluster]) -> None:  # noqa: F811
    made = make(node("n0", gpu=4), gang("w", 1), *members("w", 1, gpu=4), mode="observed")
    cycles.run_cycle(made.pk)
    run = done(asked(made, {"step": "cordon", "node": "n0"}))
    assert (run.result["base"]["mode"], run.result["begun"]["placed"]) == ("observed", ["default/w"])
    assert fold.state_at(made.pk).mode == "observed"


@pytest.mark.parametrize("at", ["99999", "0", "no time", "2999-01-01T00:00:00Z"])
def test_what_is_no_moment_of_the_log_is_refused_at_once(cluster: Cluster, at: str) -> None:
    with pytest.raises(BadMoment):
        asked(cluster, NEW, at=at)
    assert not Run.objects.exists()


def test_a_refused_step_fails_the_run_and_what_stood_before_stays_readable(cluster: Cluster) -> None:
    run = done(asked(cluster, LOSE, {"step": "cordon", "node": "n0"}, NEW))
    assert (run.status, run.result, run.done) == ("failed", None, 1)
    assert run.error == "Node n0 steps[1].node: there is no node n0"
    assert "n0" not in fork_state(run).nodes
    assert [mark.step for mark in reached(run).marks] == ["", "lose_nodes"]  # type: ignore[union-attr]


def test_the_same_command_asks_for_one_run_though_the_cluster_has_moved_on(cluster: Cluster) -> None:
    document = documents.read({"steps": [NEW]})
    first = scenario_runs.ask(cluster=cluster, document=document, actor="ada", command_id="once")
    workloads.submit(cluster=cluster, form=form("later"), actor="t")
    again = scenario_runs.ask(cluster=cluster, document=document, actor="ada", command_id="once")
    assert first == again and Run.objects.count() == 1


# ---------------------------------------------------------------- slices and kills


@pytest.fixture
def held(cluster: Cluster) -> Cluster:
    """With reservations that run out one after the other, so that a clock that advances has many stops."""
    for minutes in (1, 2, 3):
        wish = Wish(
            RACK, "r2", "namespace", f"other-{minutes}", members=1, requests={GPU: "2"}, minutes=minutes
        )
        holding.reserve(cluster=cluster, wish=wish, actor="t")
    return cluster


STEPS = (NEW, LATER, LOSE, {"step": "add_nodes", "count": 2, "like": "n2", "key": RACK, "domain": "r1"})


class Killed(BaseException):
    """As SIGKILL: nothing of the process goes on."""


def whole(cluster: Cluster) -> Run:
    return done(asked(cluster, *STEPS, at=str(store.head(cluster.pk).seq)))


def same_but_for_the_work(a: Run, b: Run) -> bool:
    kept = [{name: part for name, part in run.result.items() if name != "timing"} for run in (a, b)]
    return kept[0] == kept[1] and log_of(a) == log_of(b)


def test_slices_of_one_stop_each_make_the_same_run(held: Cluster) -> None:
    straight = whole(held)
    run = asked(held, *STEPS, at=str(straight.base_seq))
    slices = 0
    times = iter(range(10**9))
    while True:
        scenario_runs.clear()
        slices += 1
        begun = next(times)
        # Not spent when it is asked for the first time, so that each slice comes to the next stop.
        asks = iter([0, 0])
        if not runs.work(run.pk, lambda asks=asks, begun=begun: begun + next(asks, 1000)):
            break
    run = done(run)
    assert run.status == "done" and slices > 6
    assert run.result["timing"]["slices"] == slices
    assert same_but_for_the_work(run, straight)
    assert verify_chain(run.fork_id).ok


@pytest.mark.parametrize("kill_at", range(1, 26, 2))
def test_killed_anywhere_no_step_is_lost_or_made_twice(held: Cluster, kill_at: int) -> None:
    """At every second point that an append comes by, one of which is within each transaction."""
    straight = whole(held)
    run = asked(held, *STEPS, at=str(straight.base_seq))
    points = 0

    def kill(**_: Any) -> None:
        nonlocal points
        points += 1
        if points == kill_at:
            raise Killed

    append_reached.connect(kill)
    try:
        runs.work(run.pk)
    except Killed:
        scenario_runs.clear()
    finally:
        append_reached.disconnect(kill)
    run = done(run)
    assert run.status == "done"
    assert same_but_for_the_work(run, straight)


def test_a_process_that_lost_the_run_to_another_writes_nothing(held: Cluster) -> None:
    run = asked(held, *STEPS)
    run = Run.objects.select_related("cluster", "fork").get(pk=run.pk)
    stale = scenario_runs._Slice(run, documents.read(run.document))
    stale.step(lambda: False)
    finished = done(run)
    events = Event.objects.count()
    with pytest.raises(scenario_runs.Overtaken):
        stale.step(lambda: False)
    assert Event.objects.count() == events
    assert Run.objects.get(pk=run.pk).result == finished.result


def test_a_cancelled_run_stops_before_its_next_step(held: Cluster) -> None:
    run = asked(held, *STEPS)
    run = Run.objects.select_related("cluster", "fork").get(pk=run.pk)
    working = scenario_runs._Slice(run, documents.read(run.document))
    working.step(lambda: False)
    workbench.cancel(cluster=held, number=run.number, actor="ada")
    with pytest.raises(scenario_runs.Overtaken):
        working.step(lambda: False)
    after = done(run)
    assert (after.status, after.done) == ("cancelled", 1)
    assert "default/new" in fork_state(after).groups


def test_what_never_settles_fails_the_run(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork, "MOST_CYCLES", 1)
    run = done(asked(cluster, NEW))
    assert run.status == "failed" and run.error.startswith("Unsettled: ")
    assert RunFile.objects.filter(run=run).exists()
