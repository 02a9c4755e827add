"""The services on PostgreSQL: what is stored, once, and what is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from scheduling.ledger import store
from scheduling.ledger.events import ClusterRegistered, NodeUpdated, PodGroupPlaced
from scheduling.ledger.store import CommandReused, ConflictingAppend
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster, NodeRow, PodGroupRow, PodRow, Stream
from scheduling.services import clusters, cycles, execute, nodes, workloads
from scheduling.services.clusters import ImportRequest, import_cluster, preview_import
from scheduling.services.explain import explain
from scheduling.services.problems import Refused
from scheduling.services.signals import cycle_reached
from scheduling.services.state import state_of
from tests.services.builders import form, gang, members, node, pod, text

Make = Callable[..., Cluster]


def head(cluster: Cluster) -> int:
    return store.head(cluster.pk).seq


class TestImport:
    def test_registers_the_cluster_first(self, make: Make, tables_agree: Any) -> None:
        cluster = make(node("a"), gang("g", 1), pod("g-0", "g"))
        first = next(store.read(cluster.pk))
        assert first.event == ClusterRegistered(
            "c",
            "simulated",
            (("GangScheduling", True), ("GenericWorkload", True), ("TopologyAwareWorkloadScheduling", True)),
            "",
        )
        assert (cluster.mode, cluster.gates["GangScheduling"]) == ("simulated", True)
        assert NodeRow.objects.get(cluster=cluster).name == "a"
        tables_agree(cluster)

    def test_of_the_same_file_writes_nothing(self, make: Make) -> None:
        objects = (node("a"), gang("g", 1), pod("g-0", "g"))
        cluster = make(*objects)
        before = head(cluster)
        report = import_cluster(name="c", request=ImportRequest(text(*objects)), actor="tester")
        assert (head(cluster), report.seq, report.created) == (before, before, False)
        assert report.unchanged == {"Node": 1, "PodGroup": 1, "Pod": 1}

    @pytest.mark.parametrize(
        ("mode", "constrained", "on"),
        [("simulated", False, True), ("observed", True, True), ("observed", False, False)],
    )
    def test_proposes_gates(self, make: Make, mode: str, constrained: bool, on: bool) -> None:
        cluster = make(node("a"), gang("g", 1, key="rack" if constrained else ""), mode=mode)
        assert set(cluster.gates.values()) == {on}

    def test_takes_the_gates_that_are_chosen(self, make: Make) -> None:
        cluster = make(node("a"), gates={"GangScheduling": False})
        assert cluster.gates == {
            "GangScheduling": False,
            "GenericWorkload": True,
            "TopologyAwareWorkloadScheduling": True,
        }

    def test_with_one_bad_object_stores_nothing(self, db: None) -> None:
        request = ImportRequest(text(node("a"), gang("g", 0)), mode="simulated")
        with pytest.raises(Refused) as refused:
            import_cluster(name="c", request=request, actor="tester")
        (problem,) = refused.value.problems
        assert (problem.kind, problem.name, problem.path) == (
            "PodGroup",
            "g",
            "spec.schedulingPolicy.gang.minCount",
        )
        assert not Stream.objects.exists() and not Cluster.objects.exists()

    def test_when_partial_leaves_the_bad_object_out_and_lists_it(self, make: Make) -> None:
        cluster = make(node("a"), gang("g", 0), partial=True)
        assert list(state_of(cluster).nodes) == ["a"] and not state_of(cluster).groups

    @pytest.mark.parametrize(
        ("name", "request_", "path"),
        [
            ("Bad Name", ImportRequest(text(node("a")), mode="simulated"), "name"),
            ("c", ImportRequest(text(node("a"))), "mode"),
            ("c", ImportRequest(text(node("a")), mode="dreamt"), "mode"),
            ("c", ImportRequest(text(node("a")), mode="simulated", gates={"No": True}), "gates.No"),
            ("c", ImportRequest(text(), mode="simulated"), ""),
            ("c", ImportRequest(text(node("a")), "simulated", complete=frozenset({"Service"})), "complete"),
        ],
    )
    def test_that_makes_no_sense_is_refused(
        self, db: None, name: str, request_: ImportRequest, path: str
    ) -> None:
        with pytest.raises(Refused) as refused:
            import_cluster(name=name, request=request_, actor="tester")
        assert [problem.path for problem in refused.value.problems] == [path]

    def test_does_not_change_mode_or_gates_of_a_cluster(self, make: Make) -> None:
        cluster = make(node("a"))
        before = head(cluster)
        request = ImportRequest(text(node("b")), mode="observed", gates={"GangScheduling": False})
        with pytest.raises(Refused) as refused:
            import_cluster(name="c", request=request, actor="tester")
        assert [problem.path for problem in refused.value.problems] == ["mode", "gates.GangScheduling"]
        assert head(cluster) == before

    def test_preview_writes_nothing_and_tells_all(self, make: Make) -> None:
        cluster = make(node("a"), node("b"))
        before = head(cluster)
        request = ImportRequest(text(node("a", cpu="9"), gang("g", 0)), complete=frozenset({"Node"}))
        report = preview_import(name="c", request=request)
        assert (report.updated, report.removed, len(report.refused)) == ({"Node": 1}, {"Node": ("b",)}, 1)
        assert head(cluster) == before
        new = preview_import(name="other", request=ImportRequest(text(node("a", uid="n1"))))
        assert (new.created, new.proposed_mode, new.added) == (True, "observed", {"Node": 1})
        assert Cluster.objects.count() == 1

    def test_remembers_over_restarts_which_members_we_placed(self, make: Make) -> None:
        cluster = make(node("a"), node("b", "r2"), gang("g", 1), pod("g-0", "g"))
        cycles.run_cycle(cluster.pk)
        with pytest.raises(Refused) as refused:
            import_cluster(name="c", request=ImportRequest(text(pod("g-0", "g", on="b"))), actor="tester")
        assert refused.value.problems[0].path == "spec.nodeName"

    def test_brings_back_what_was_ended_as_the_next_generation(self, make: Make, tables_agree: Any) -> None:
        objects = (node("a", uid="n1"), gang("g", 1, uid="g1"), pod("g-0", "g", uid="p1", on="a"))
        cluster = make(*objects)
        workloads.end_group(cluster=cluster, namespace="default", name="g", actor="tester")
        import_cluster(name="c", request=ImportRequest(text(*objects)), actor="tester")
        group = state_of(cluster).groups["default/g"]
        assert (group.uid, group.generation) == ("g1", 2)
        tables_agree(cluster)

    def test_sent_twice_is_answered_alike(self, make: Make) -> None:
        make(node("a"))
        request = ImportRequest(
            text(node("b"), node("c", cpu="9"), gang("g", 0)), complete=frozenset({"Node"}), partial=True
        )
        first = import_cluster(name="c", request=request, actor="tester", command_id="k")
        again = import_cluster(name="c", request=request, actor="tester", command_id="k")
        told = ("seq", "created", "accepted", "ignored", "added", "updated", "removed")
        assert [getattr(again, what) for what in told] == [getattr(first, what) for what in told]
        assert [bad.path for bad in again.refused] == [bad.path for bad in first.refused]
        other = ImportRequest(text(node("a")), mode="simulated")
        made = [
            import_cluster(name="d", request=other, actor="tester", command_id="k").created for _ in range(2)
        ]
        assert made == [True, True]


class TestExecute:
    def test_a_command_sent_twice_is_carried_out_once(self, make: Make) -> None:
        cluster = make(node("a"))
        first = workloads.submit(cluster=cluster, form=form(), actor="tester", command_id="k")
        again = workloads.submit(cluster=cluster, form=form(), actor="tester", command_id="k")
        assert again.repeated and not first.repeated
        assert (again.first_seq, again.last_seq, again.events) == (
            first.first_seq,
            first.last_seq,
            first.events,
        )
        assert head(cluster) == first.last_seq

    def test_a_command_that_changed_nothing_changes_nothing_when_sent_again_later(self, make: Make) -> None:
        cluster = make(node("a"))
        nothing = nodes.uncordon(cluster=cluster, node="a", actor="tester", command_id="k")
        assert nothing.first_seq > nothing.last_seq and nothing.events == ()
        nodes.cordon(cluster=cluster, node="a", actor="tester")
        assert nodes.uncordon(cluster=cluster, node="a", actor="tester", command_id="k").events == ()
        assert state_of(cluster).nodes["a"].unschedulable

    def test_a_command_id_does_not_stand_for_two_requests(self, make: Make) -> None:
        cluster = make(node("a"))
        nodes.cordon(cluster=cluster, node="a", actor="tester", command_id="k")
        with pytest.raises(CommandReused):
            nodes.uncordon(cluster=cluster, node="a", actor="tester", command_id="k")

    def test_decides_again_on_what_others_appended_meanwhile(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cluster = make(node("a"), node("b"))
        real, conflicts = store.append, list(range(execute.OPTIMISTIC_TRIES))

        def contended(stream_id: int, expected: int, *arguments: Any, **more: Any) -> Any:
            if conflicts:
                raise ConflictingAppend(stream_id, expected, expected + 1 + conflicts.pop())
            return real(stream_id, expected, *arguments, **more)

        monkeypatch.setattr(store, "append", contended)
        done = nodes.cordon(cluster=cluster, node="a", actor="tester")
        assert len(done.events) == 1 and not conflicts

    def test_a_refused_command_leaves_no_trace(self, make: Make) -> None:
        cluster = make(node("a"))
        before = head(cluster)
        with pytest.raises(Refused):
            nodes.cordon(cluster=cluster, node="none", actor="tester", command_id="k")
        assert head(cluster) == before
        assert store.find_command(cluster.pk, "k", actor="tester", request="cordon none True") is None

    def test_what_was_rolled_back_is_forgotten(self, make: Make) -> None:
        cluster = make(node("a"), gang("g", 1, uid="g1"))
        with transaction.atomic():
            workloads.end_group(cluster=cluster, namespace="default", name="g", actor="tester")
            assert state_of(cluster).past.closed.table
            transaction.set_rollback(True)
        assert not state_of(cluster).past.closed.table
        assert "default/g" in state_of(cluster).groups


class TestCommands:
    def test_each_writes_its_events_and_tables(self, make: Make, tables_agree: Any) -> None:
        cluster = make(node("a"), node("b", "r2"))
        would = workloads.preview_submit(cluster=cluster, form=form())
        assert would.decision.placed
        workloads.submit(cluster=cluster, form=form(), actor="ann")
        cycles.run_cycle(cluster.pk)
        assert PodGroupRow.objects.get(cluster=cluster).status == "scheduled"
        uid = state_of(cluster).pod_uid("default/g-0")
        assert uid is not None
        workloads.delete_member(cluster=cluster, uid=uid, actor="ann")
        workloads.submit_manifests(cluster=cluster, data=text(gang("m", 1), pod("m-0", "m")), actor="ann")
        nodes.cordon(cluster=cluster, node="b", actor="ann")
        clusters.set_gate(cluster=cluster, gate="GangScheduling", enabled=False, actor="ann")
        cycles.run_cycle(cluster.pk)
        workloads.end_group(cluster=cluster, namespace="default", name="g", actor="ann")
        clusters.set_mode(cluster=cluster, mode="observed", actor="ann")
        tables_agree(cluster)
        assert verify_chain(cluster.pk).ok
        assert PodRow.objects.filter(cluster=cluster, removed=False).count() == 1
        cluster.refresh_from_db()
        assert (cluster.mode, cluster.gates["GangScheduling"]) == ("observed", False)
        actors = {item.actor for item in store.read(cluster.pk)}
        assert actors == {"tester", "ann", "scheduler"}

    def test_explain_decides_live_and_writes_nothing(self, make: Make) -> None:
        cluster = make(node("a", cpu="1"), gang("g", 2), *members("g", 2))
        before = head(cluster)
        told = explain(cluster=cluster, namespace="default", name="g")
        assert (told.seq, told.decision.verdict) == (before, "proved_infeasible")
        assert head(cluster) == before
        with pytest.raises(Refused):
            explain(cluster=cluster, namespace="default", name="none")


class TestCycle:
    def test_places_writes_and_remembers_how_far_it_read(self, make: Make, tables_agree: Any) -> None:
        cluster = make(node("a"), gang("g", 2), *members("g", 2), gang("h", 2), pod("h-0", "h"))
        result = cycles.run_cycle(cluster.pk)
        assert (result.ran, result.placed, result.held) == (True, 1, 1)
        cluster.refresh_from_db()
        assert cluster.last_cycle_seq == result.seq == head(cluster)
        recorded = next(item for item in store.read(cluster.pk) if isinstance(item.event, PodGroupPlaced))
        assert recorded.cause is not None and recorded.cause < recorded.seq
        assert cycles.run_cycle(cluster.pk).seq == result.seq
        tables_agree(cluster)

    def test_writes_in_batches_that_are_decided_in_one_go(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        groups = [gang(f"g{i}", 1) for i in range(5)]
        cluster = make(node("a"), *groups, *(pod(f"g{i}-0", f"g{i}") for i in range(5)))
        monkeypatch.setattr(cycles, "BATCH", 2)
        assert cycles.run_cycle(cluster.pk).placed == 5
        commands = [item.command_id for item in store.read(cluster.pk) if item.actor == "scheduler"]
        assert len(set(commands)) == 3

    def test_is_not_starved_by_a_log_that_never_rests(
        self, make: Make, monkeypatch: pytest.MonkeyPatch, tables_agree: Any
    ) -> None:
        groups = [gang(f"g{i}", 1) for i in range(4)]
        cluster = make(node("a"), node("b"), *groups, *(pod(f"g{i}-0", f"g{i}") for i in range(4)))
        monkeypatch.setattr(cycles, "BATCH", 3)
        disturbed = []

        def disturb(point: str, **_: object) -> None:
            if point == "decided" and len(disturbed) < cycles.OPTIMISTIC_TRIES:
                disturbed.append(nodes.uncordon if disturbed else nodes.cordon)
                disturbed[-1](cluster=cluster, node="b", actor="other")

        cycle_reached.connect(disturb)
        try:
            assert cycles.run_cycle(cluster.pk).placed == 4
        finally:
            cycle_reached.disconnect(disturb)
        assert len(disturbed) == cycles.OPTIMISTIC_TRIES
        written = [item.event for item in store.read(cluster.pk)]
        assert sum(isinstance(event, NodeUpdated) for event in written) == 2
        tables_agree(cluster)

    def test_in_an_observed_cluster_only_forecasts(self, make: Make) -> None:
        cluster = make(node("a"), gang("g", 1), pod("g-0", "g"), mode="observed")
        cycles.run_cycle(cluster.pk)
        before = head(cluster)
        cycles.run_cycle(cluster.pk)
        assert head(cluster) == before
        assert not any(member.node for member in state_of(cluster).pods.values())


@pytest.mark.django_db(transaction=True)
def test_two_runners_at_once_are_one_cycle(
    make: Make, tables_agree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make(node("a"), gang("g", 2), *members("g", 2))
    inside, go_on = threading.Event(), threading.Event()
    results: list[Any] = []

    def wait(**_: object) -> None:
        inside.set()
        assert go_on.wait(20)

    def run() -> None:
        try:
            results.append(cycles.run_cycle(cluster.pk))
        finally:
            connection.close()

    cycle_reached.connect(wait)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        assert inside.wait(20)
        assert not cycles.run_cycle(cluster.pk).ran
    finally:
        cycle_reached.disconnect(wait)
        go_on.set()
        thread.join()
    assert [result.placed for result in results] == [1]
    placed = [item for item in store.read(cluster.pk) if isinstance(item.event, PodGroupPlaced)]
    assert len(placed) == 1
    tables_agree(cluster)


@pytest.mark.django_db(transaction=True)
def test_commands_at_once_from_many_threads_are_all_carried_out(make: Make, tables_agree: Any) -> None:
    cluster = make(*(node(f"n{i}") for i in range(8)))
    failures: list[BaseException] = []

    def run(name: str) -> None:
        try:
            nodes.cordon(cluster=cluster, node=name, actor="tester")
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(f"n{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert all(found.unschedulable for found in state_of(cluster).nodes.values())
    tables_agree(cluster)


@pytest.mark.django_db(transaction=True)
def test_one_command_sent_by_many_at_once_has_one_set_of_events_and_one_answer(
    make: Make, tables_agree: Any
) -> None:
    cluster = make(node("a"))
    head, together = store.head(cluster.pk).seq, threading.Barrier(6)

    def run(_: int) -> Any:
        try:
            together.wait(20)
            return nodes.cordon(cluster=cluster, node="a", actor="tester", command_id="once")
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(run, range(6)))
    assert sorted(outcome.repeated for outcome in outcomes) == [False, True, True, True, True, True]
    assert {(outcome.first_seq, outcome.last_seq) for outcome in outcomes} == {(head + 1, head + 1)}
    assert len({outcome.events for outcome in outcomes}) == 1
    assert store.head(cluster.pk).seq == head + 1
    tables_agree(cluster)


@pytest.mark.django_db(transaction=True)
def test_imports_at_once_under_one_new_name_make_one_cluster(tables_agree: Any) -> None:
    together, failures = threading.Barrier(3), list[BaseException]()
    request = ImportRequest(text(node("a"), gang("g", 1)), mode="simulated")

    def run() -> None:
        try:
            together.wait(20)
            import_cluster(name="new", request=request, actor="tester")
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    cluster = Cluster.objects.get()
    assert [item.event for item in store.read(cluster.pk) if isinstance(item.event, ClusterRegistered)] != []
    assert head(cluster) == 4
    tables_agree(cluster)
