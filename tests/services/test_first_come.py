"""Who comes second is told who came first: by whom, by what, in which event."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from django.db import connection

from scheduling.ledger import store
from scheduling.ledger.events import PodGroupPlaced, PodGroupUnschedulable
from scheduling.ledger.store import CommandReused
from scheduling.models import Cluster, Event
from scheduling.services import clusters, first_come, nodes, workloads
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from scheduling.services.execute import execute
from scheduling.services.problems import First, Problem, Refused
from scheduling.services.signals import cycle_reached
from scheduling.services.state import state_of
from tests.services.builders import form, gang, members, node, pod, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    request = ImportRequest(text(node("a"), node("b", "r2")), mode="simulated")
    import_cluster(name="demo", request=request, actor="import")
    return Cluster.objects.get(name="demo")


def refused(command: Callable[[], Any]) -> Problem:
    with pytest.raises(Refused) as found:
        command()
    problem, *_ = found.value.problems
    return problem


def submit(cluster: Cluster, actor: str, name: str = "g") -> Any:
    return workloads.submit(cluster=cluster, form=form(name), actor=actor)


def end(cluster: Cluster, actor: str, name: str = "g") -> Any:
    return workloads.end_group(cluster=cluster, namespace="default", name=name, actor=actor)


def event(cluster: Cluster, type_name: str) -> First:
    row = Event.objects.filter(stream_id=cluster.pk, type=type_name).latest("seq")
    return First("demo", row.seq, type_name, row.actor, store.to_milliseconds(row.recorded_at))


def test_a_name_that_another_submission_took(cluster: Cluster) -> None:
    submit(cluster, "ann")
    problem = refused(lambda: submit(cluster, "bob"))
    assert problem.first == event(cluster, "PodGroupCreated") and problem.first.actor == "ann"
    assert f"(ann came first: event {problem.first.seq}, PodGroupCreated)" in str(problem)
    manifests = text(gang("g", 1), *members("g", 2))
    problem = refused(lambda: workloads.submit_manifests(cluster=cluster, data=manifests, actor="bob"))
    assert problem.first == event(cluster, "PodGroupCreated")


def test_a_member_that_another_submission_made(cluster: Cluster) -> None:
    submit(cluster, "ann")
    extra = text(pod("g-0", "g"))
    problem = refused(lambda: workloads.submit_manifests(cluster=cluster, data=extra, actor="bob"))
    assert problem.first is not None and problem.first.type == "PodAdded" and problem.first.actor == "ann"


def test_a_name_twice_in_one_submission_has_nobody_before_it(cluster: Cluster) -> None:
    submit(cluster, "ann")
    end(cluster, "ann")
    twice = text(gang("g", 1), gang("g", 1))
    problem = refused(lambda: workloads.submit_manifests(cluster=cluster, data=twice, actor="bob"))
    assert problem.first is None


def test_a_group_that_somebody_ended_before(cluster: Cluster) -> None:
    submit(cluster, "ann")
    end(cluster, "ann")
    assert refused(lambda: end(cluster, "bob")).first == event(cluster, "PodGroupClosed")
    assert refused(lambda: end(cluster, "bob", "never")).first is None


def test_a_member_that_somebody_deleted_before(cluster: Cluster) -> None:
    submit(cluster, "ann")
    uid = state_of(cluster).pod_uid("default/g-0")
    assert uid is not None
    workloads.delete_member(cluster=cluster, uid=uid, actor="ann")
    again = refused(lambda: workloads.delete_member(cluster=cluster, uid=uid, actor="bob"))
    assert again.first == event(cluster, "PodRemoved") and again.first.actor == "ann"
    assert refused(lambda: workloads.delete_member(cluster=cluster, uid="no", actor="bob")).first is None


def test_a_node_that_an_import_took_away(cluster: Cluster) -> None:
    request = ImportRequest(text(node("a")), complete=frozenset({"Node"}))
    import_cluster(name="demo", request=request, actor="ann")
    problem = refused(lambda: nodes.cordon(cluster=cluster, node="b", actor="bob"))
    assert problem.first == event(cluster, "NodeRemoved") and problem.first.actor == "ann"


def test_an_import_that_binds_elsewhere_what_a_cycle_placed(cluster: Cluster) -> None:
    submit(cluster, "ann")
    run_cycle(cluster.pk)
    where = {one.name: one.node for one in state_of(cluster).members("default/g")}["g-0"]
    other = "b" if where == "a" else "a"
    elsewhere = ImportRequest(text(pod("g-0", "g", on=other)))
    problem = refused(lambda: import_cluster(name="demo", request=elsewhere, actor="bob"))
    assert problem.first == event(cluster, "PodGroupPlaced") and problem.first.actor == "scheduler"


@pytest.mark.parametrize("done", [nodes.cordon, nodes.uncordon])
def test_what_was_so_already_says_since_when(cluster: Cluster, done: Callable[..., Any]) -> None:
    nodes.cordon(cluster=cluster, node="a", actor="ann")
    if done is nodes.uncordon:
        nodes.uncordon(cluster=cluster, node="a", actor="ann")
    again = done(cluster=cluster, node="a", actor="bob")
    (notice,) = again.notices
    assert not again.events and notice.reason == "" and "cordoned" in notice.message
    assert notice.first == event(cluster, "NodeUpdated") and notice.first.actor == "ann"
    assert done(cluster=cluster, node="b", actor="bob").events or done is nodes.uncordon


def test_gate_and_mode_that_were_so_already(cluster: Cluster) -> None:
    clusters.set_gate(cluster=cluster, gate="GangScheduling", enabled=False, actor="ann")
    done = clusters.set_gate(cluster=cluster, gate="GangScheduling", enabled=False, actor="bob")
    assert done.notices[0].first == event(cluster, "FeatureGateChanged")
    done = clusters.set_gate(cluster=cluster, gate="GenericWorkload", enabled=True, actor="bob")
    assert done.notices[0].first == event(cluster, "ClusterRegistered")
    done = clusters.set_mode(cluster=cluster, mode="simulated", actor="bob")
    assert done.notices[0].first == event(cluster, "ClusterRegistered")
    clusters.set_mode(cluster=cluster, mode="observed", actor="ann")
    done = clusters.set_mode(cluster=cluster, mode="observed", actor="bob")
    assert done.notices[0].first == event(cluster, "ClusterModeChanged")


def test_a_command_id_used_before_names_what_it_did(cluster: Cluster) -> None:
    nodes.cordon(cluster=cluster, node="a", actor="ann", command_id="k")
    with pytest.raises(CommandReused) as found:
        nodes.cordon(cluster=cluster, node="b", actor="ann", command_id="k")
    assert first_come.reused(found.value) == event(cluster, "NodeUpdated")
    nodes.cordon(cluster=cluster, node="a", actor="ann", command_id="nothing")
    with pytest.raises(CommandReused) as found:
        nodes.cordon(cluster=cluster, node="b", actor="ann", command_id="nothing")
    assert first_come.reused(found.value) is None


class Once:
    """Runs a command when a cycle has decided and not yet written."""

    def __init__(self, command: Callable[[], Any]) -> None:
        self.command: Callable[[], Any] | None = command
        cycle_reached.connect(self)

    def __call__(self, point: str, **more: Any) -> None:
        if point == "decided" and self.command is not None:
            command, self.command = self.command, None
            command()


def types(cluster: Cluster) -> list[str]:
    return [type(item.event).__name__ for item in store.read(cluster.pk)]


def test_a_group_that_is_ended_while_a_cycle_places_it_is_not_placed(cluster: Cluster) -> None:
    submit(cluster, "ann")
    racing = Once(lambda: end(cluster, "bob"))
    run_cycle(cluster.pk)
    assert racing.command is None and "PodGroupPlaced" not in types(cluster)
    assert refused(lambda: end(cluster, "ann")).first == event(cluster, "PodGroupClosed")


def test_a_cordon_while_a_cycle_decides_is_what_the_decision_knows(cluster: Cluster) -> None:
    nodes.cordon(cluster=cluster, node="b", actor="ann")
    submit(cluster, "ann")
    racing = Once(lambda: nodes.cordon(cluster=cluster, node="a", actor="bob"))
    run_cycle(cluster.pk)
    assert racing.command is None and "PodGroupPlaced" not in types(cluster)
    (decision,) = [
        one.event for one in store.read(cluster.pk) if isinstance(one.event, PodGroupUnschedulable)
    ]
    assert decision.reason == "cordoned"
    assert decision.decided_on == event(cluster, "NodeUpdated").seq


def test_a_placement_before_the_end_is_followed_by_it(cluster: Cluster) -> None:
    submit(cluster, "ann")
    run_cycle(cluster.pk)
    (placed,) = [one for one in store.read(cluster.pk) if isinstance(one.event, PodGroupPlaced)]
    done = end(cluster, "bob")
    assert done.first_seq > placed.seq and not state_of(cluster).groups


@pytest.mark.django_db(transaction=True)
def test_of_two_on_one_head_the_second_decides_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both decided on the same state; the one who is late is refused with the winner's event."""
    real = store.append
    raced: list[bool] = []

    def elsewhere() -> None:
        try:
            submit(cluster, "ann")
        finally:
            connection.close()

    def late(stream_id: int, expected: int, *arguments: Any, **more: Any) -> Any:
        if more["actor"] == "bob" and not raced:
            raced.append(True)
            other = Thread(target=elsewhere)
            other.start()
            other.join()
        return real(stream_id, expected, *arguments, **more)

    monkeypatch.setattr(store, "append", late)
    problem = refused(lambda: submit(cluster, "bob"))
    assert raced and problem.first == event(cluster, "PodGroupCreated") and problem.first.actor == "ann"


def test_a_problem_that_has_its_event_keeps_it(cluster: Cluster) -> None:
    known = First("demo", 1, "ClusterRegistered", "x", 0)

    def decide(state: Any, now: int) -> Any:
        raise Refused([Problem("PodGroup", "default", "g", "", "NotFound", "gone", known)])

    assert refused(lambda: execute(cluster, decide, actor="a")).first is known
