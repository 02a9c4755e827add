"""A switch of gates rehearsed on a copy: what it foretells is what the switch then does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.model import TAS_GATES
from scheduling.engine.queue import waiting
from scheduling.ledger import snapshots, store
from scheduling.ledger.events import FeatureGateChanged, RehearsalRun
from scheduling.models import Cluster, Event, Run, RunFile
from scheduling.scenarios import rehearsal, runs
from scheduling.scenarios.rehearsal import Rehearsal
from scheduling.services import cycles
from scheduling.services.clusters import ImportRequest, import_cluster, set_gate
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.deciding import cycle_events
from scheduling.services.problems import Refused
from tests.services.builders import gang, members, node, pod, stream, text

TAS = "TopologyAwareWorkloadScheduling"


def switched(made: MemoryStream, **gates: bool) -> Rehearsal:
    return Rehearsal(made.state, gates or {TAS: False}, made.now_ms, "upstream-1.36")


def kinds(found: Rehearsal) -> dict[str, str]:
    return {key: found.entry(key)["change"] for key in found.keys}


def racks(*more: Any, mode: str = "simulated") -> MemoryStream:
    """Racks r1 and r2 of two nodes with 8 CPUs."""
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack in (1, 2) for place in (1, 2)]
    return stream(*nodes, *more, mode=mode)


sizes = st.lists(
    st.tuples(st.integers(1, 6), st.integers(1, 8), st.booleans(), st.integers(0, 2)), min_size=1, max_size=6
)


@settings(deadline=None, max_examples=60)
@given(
    groups=sizes,
    begins=st.lists(st.booleans(), min_size=3, max_size=3),
    gate=st.sampled_from(TAS_GATES),
    settled=st.booleans(),
)
def test_what_is_foretold_for_waiting_groups_is_what_the_switch_then_does(
    groups: list[tuple[int, int, bool, int]], begins: list[bool], gate: str, settled: bool
) -> None:
    made = racks()
    made.commit(FeatureGateChanged(name, on) for name, on in zip(TAS_GATES, begins, strict=True))
    for number, (count, cpu, constrained, priority) in enumerate(groups):
        name = f"g{number}"
        group = gang(name, count, priority=priority, **({} if constrained else {"key": ""}))
        made.import_data(text(group, *members(name, count, cpu=str(cpu))))
        if settled and number % 2 == 0:
            made.settle()
    before = snapshots.pack(made.state)
    to = not made.state.gates[gate]

    found = switched(made, **{gate: to})
    foretold = {key: found.entry(key)["after"] for key in waiting(made.state)}
    assert snapshots.pack(made.state) == before

    made.commit([FeatureGateChanged(gate, to)])
    made.commit(cycle_events(made.state, made.now_ms))
    assert {key: rehearsal.outlook(made.state, key) for key in foretold} == foretold
    assert {key: found.entry(key)["after"]["places"] for key in found.keys} == {
        key: rehearsal.outlook(made.state, key)["places"] for key in found.keys
    }


def test_with_the_gate_off_a_group_that_fits_no_domain_would_run_over_two() -> None:
    made = racks(gang("wide", 3), *members("wide", 3, cpu="8"))
    made.settle()
    found = switched(made).entry("default/wide")
    assert found["change"] == "runs"
    assert found["before"]["verdict"] == "proved_infeasible"
    assert [count for _, count in found["after"]["places"]] in ([2, 1], [1, 2])


def test_with_the_gate_on_it_would_wait() -> None:
    made = racks(gang("wide", 3), *members("wide", 3, cpu="8"))
    made.commit([FeatureGateChanged(TAS, False)])
    assert switched(made, **{TAS: True}).entry("default/wide")["change"] == "waits"


def test_a_group_spread_over_domains_would_end_in_an_error_with_the_gate_on() -> None:
    made = racks(gang("g", 2), pod("g-0", "g", on="n11"), pod("g-1", "g", on="n21"))
    made.commit([FeatureGateChanged(TAS, False)])
    found = switched(made, **{TAS: True}).entry("default/g")
    assert (found["change"], found["after"]["verdict"]) == ("errors", "conflicted")
    assert found["member"]["again"]["after"]["verdict"] == "placed"  # the other one alone pins its domain
    made.commit([FeatureGateChanged(TAS, True)])
    assert switched(made).entry("default/g")["change"] == "cleared"


def test_a_member_of_a_full_domain_whose_node_is_lost_would_wait_only_with_the_gate() -> None:
    made = racks(gang("g", 2), *members("g", 2, cpu="8"))
    made.settle()
    assert switched(made).entry("default/g")["change"] == "freed"
    made.commit([FeatureGateChanged(TAS, False)])
    found = switched(made, **{TAS: True}).entry("default/g")
    assert found["change"] == "sticky"
    assert found["member"]["node_lost"]["after"]["reason"] == "sticky_domain"


def test_groups_without_a_constraint_and_gates_that_change_no_law_change_nothing() -> None:
    made = racks(gang("g", 2, key=""), *members("g", 2), gang("h", 2), *members("h", 2))
    made.settle()
    assert kinds(switched(made))["default/g"] == "same"
    made.commit([FeatureGateChanged("GenericWorkload", False)])
    assert set(kinds(switched(made)).values()) == {"same"}
    gates = dict(made.state.gates)
    assert rehearsal.notes(gates, gates | {TAS: False}) == ["law_stays_off"]


def test_what_kube_scheduler_would_do_of_a_waiting_group_is_told_beside_it() -> None:
    made = racks(gang("wide", 3), *members("wide", 3, cpu="8"))
    told = switched(made).entry("default/wide")["upstream"]
    assert (told["before"]["verdict"], told["after"]["verdict"]) == ("proved_infeasible", "placed")


def test_in_an_observed_cluster_the_forecasts_of_both_are_held_against_each_other() -> None:
    made = racks(gang("wide", 3), *members("wide", 3, cpu="8"), mode="observed")
    made.settle()
    assert switched(made).entry("default/wide")["change"] == "runs"


# --- as a run


@pytest.fixture
def cluster(db: None) -> Cluster:
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack in (1, 2) for place in (1, 2)]
    groups = [gang("wide", 3), *members("wide", 3, cpu="8"), gang("fits", 1), *members("fits", 1)]
    import_cluster(name="c", request=ImportRequest(text(*nodes, *groups), mode="simulated"), actor="tester")
    made = Cluster.objects.get(name="c")
    cycles.run_cycle(made.pk)
    made.refresh_from_db()
    return made


def finished(run: Run) -> Run:
    while runs.work(run.pk):
        pass
    run.refresh_from_db()
    assert run.status == Run.Status.DONE, run.error
    return run


def test_a_run_writes_one_event_and_switches_nothing(cluster: Cluster) -> None:
    head = store.head(cluster.pk).seq
    run = finished(rehearsal.request(cluster=cluster, gates={TAS: False}, actor="ada"))
    (told,) = [item for item in store.read(cluster.pk) if item.seq > head]
    assert isinstance(told.event, RehearsalRun)
    assert (told.event.gates, told.event.run, told.event.decided_on, told.actor) == (
        ((TAS, False),), run.number, head, "ada",
    )  # fmt: skip
    assert dict(told.event.counts) == run.result["counts"]
    assert run.result["counts"]["runs"] == 1
    assert Cluster.objects.get(pk=cluster.pk).gates[TAS] is True


def test_it_goes_on_from_slice_to_slice_and_after_a_kill(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = finished(rehearsal.request(cluster=cluster, gates={TAS: False}, actor="ada")).result
    run = rehearsal.request(cluster=cluster, gates={TAS: False}, actor="ada")
    ticks = iter(range(0, 10_000, 100))
    assert runs.work(run.pk, lambda: next(ticks))  # each look at the clock is past the end of the slice
    assert RunFile.objects.filter(run=run).exists()
    rehearsal._kept.clear()  # another process
    assert finished(run).result == whole
    assert not RunFile.objects.filter(run=run).exists()
    assert Event.objects.filter(stream_id=cluster.pk, type="RehearsalRun").count() == 2


def test_the_last_slice_made_again_tells_it_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    run = rehearsal.request(cluster=cluster, gates={TAS: False}, actor="ada")
    rehearsal.work(run, lambda: False)  # killed before its end was written
    finished(run)
    assert Event.objects.filter(stream_id=cluster.pk, type="RehearsalRun").count() == 1


def test_the_newest_rehearsal_is_of_exactly_this_switch(cluster: Cluster) -> None:
    run = finished(rehearsal.request(cluster=cluster, gates={TAS: False}, actor="ada"))
    assert rehearsal.newest(cluster, {TAS: False}) == run
    assert rehearsal.newest(cluster, {"GenericWorkload": False}) is None
    set_gate(cluster=cluster, gate="GenericWorkload", enabled=False, actor="ada")
    cluster.refresh_from_db()
    assert rehearsal.newest(cluster, {TAS: False}) is None  # from other gates it is another switch


@pytest.mark.parametrize(
    ("gates", "path"),
    [
        ({}, "gates"),
        ({"Nonsense": True}, "gates.Nonsense"),
        ({TAS: True}, "gates"),
        ({TAS: "no"}, f"gates.{TAS}"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused(cluster: Cluster, gates: Any, path: str) -> None:
    with pytest.raises(Refused) as refused:
        rehearsal.request(cluster=cluster, gates=gates, actor="ada")
    assert [problem.path for problem in refused.value.problems] == [path]
    assert not Run.objects.exists()


def test_a_switch_on_a_real_cluster_is_rehearsed(db: None, real_inputs: Path) -> None:
    dump = (real_inputs / "dumps/openb-70-gangs.json.gz").read_bytes()
    import_cluster(name="openb", request=ImportRequest(dump, mode="observed"), actor="tester")
    cluster = Cluster.objects.get(name="openb")
    cycles.run_cycle(cluster.pk)
    run = finished(rehearsal.request(cluster=cluster, gates={TAS: False}, actor="ada"))
    assert sum(run.result["counts"].values()) == 70
    waits = next(entry for entry in run.result["groups"] if entry["key"] == "default/train-68")
    assert waits["before"]["verdict"] == "proved_infeasible"
