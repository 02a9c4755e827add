"""Pages of reservations and queues, and what other pages say of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from scheduling.engine.queues import Queue
from scheduling.engine.reservations import Reservation
from scheduling.ledger import store
from scheduling.models import Cluster
from scheduling.services import holding, workloads
from scheduling.services.cycles import run_cycle
from scheduling.services.preemption import set_policy
from scheduling.services.state import state_of
from scheduling.services.workloads import MemberTemplate, WorkloadForm
from tests.console.support import GPU, RACK, text

WHERE = {"topology_key": RACK, "holder_kind": "group", "holder": "team-a/later"}


@pytest.fixture
def free_rack(cluster: Cluster) -> str:
    """`fits` runs in one rack; the other one is empty."""
    state = state_of(cluster)
    busy = {node.label(RACK) for node in state.nodes.values() if state.pods_on(node.name)}
    (rack,) = {"r1", "r2"} - busy
    return rack


def submit(cluster: Cluster, name: str, members: int, **more: Any) -> None:
    template = MemberTemplate("", members, {"cpu": "1", GPU: "8"})
    workloads.submit(
        cluster=cluster,
        form=WorkloadForm("team-a", name, "gang", members, RACK, 0, (template,), **more),
        actor="test",
    )
    run_cycle(cluster.pk)


class TestReservations:
    def test_room_is_held_and_released(self, cluster: Cluster, operator: Client, free_rack: str) -> None:
        form = WHERE | {"domain": free_rack, "nodes": "2", "minutes": "60"}
        done = operator.post("/c/demo/reservations", form, follow=True)
        said = text(done)
        (made,) = state_of(cluster).records.of(Reservation).values()
        assert f"Room is held: event {made.made}" in said
        assert "16 nvidia.com/gpu" in said and "team-a/later" in said
        assert all(name in said for name in made.nodes)
        done = operator.post(f"/c/demo/reservations/{made.name}/release", follow=True)
        assert f"Reservation {made.name} was released." in text(done)
        assert "No room is held." in text(done)

    def test_what_is_wrong_stands_at_its_field(
        self, cluster: Cluster, operator: Client, free_rack: str
    ) -> None:
        head = store.head(cluster.pk)
        answer = operator.post("/c/demo/reservations", WHERE | {"domain": free_rack, "nodes": "3"})
        assert answer.status_code == 422
        assert f"wholly free nodes in {free_rack} now: 2 of 3" in text(answer)
        assert 'aria-invalid="true"' in answer.content.decode()
        answer = operator.post("/c/demo/reservations", WHERE | {"domain": "r9", "nodes": "1"})
        assert f"no node carries {RACK}=r9" in text(answer)
        assert store.head(cluster.pk) == head

    def test_who_only_looks_sees_the_list_and_no_form(self, cluster: Cluster, viewer: Client) -> None:
        page = viewer.get("/c/demo/reservations")
        assert "No room is held." in text(page) and "reserve-form" not in page.content.decode()
        assert viewer.post("/c/demo/reservations", WHERE).status_code == 403

    def test_others_that_wait_for_held_room_are_told_whose_it_is(
        self, cluster: Cluster, operator: Client, free_rack: str
    ) -> None:
        wish = holding.Wish(RACK, free_rack, "namespace", "team-b", nodes=1)
        holding.reserve(cluster=cluster, wish=wish, actor="test")
        (made,) = state_of(cluster).records.of(Reservation).values()
        submit(cluster, "blocked", 2)
        said = text(operator.get("/c/demo/podgroups/team-a/blocked"))
        assert f"held by reservation {made.name}: 1" in said
        assert f"{made.name} keeps" in said and "for namespace team-b" in said
        upstream = text(operator.get("/c/demo/podgroups/team-a/blocked/upstream"))
        assert "It knows of no reservation and no queue, and leaves them out." in upstream
        changes = operator.get("/c/demo/podgroups/team-a/blocked/changes").content.decode()
        assert f"/c/demo/reservations/{made.name}/release" in changes
        assert "1" in text(operator.get(f"/c/demo/domains/{free_rack}?key={RACK}"))
        assert "8 of them held" in text(operator.get(f"/c/demo/domains/{free_rack}?key={RACK}"))
        assert "8 of them held" in text(operator.get(f"/c/demo/domains/?key={RACK}"))
        assert "of it held" in text(operator.get(f"/c/demo/nodes/{made.nodes[0]}"))
        holding.release(cluster=cluster, name=made.name, actor="test")
        run_cycle(cluster.pk)
        state = state_of(cluster)
        assert all(pod.node for pod in state.members("team-a/blocked")) or state.turns["team-a/blocked"]

    def test_the_history_says_it_in_both_languages(
        self, cluster: Cluster, operator: Client, free_rack: str
    ) -> None:
        wish = holding.Wish(RACK, free_rack, "group", "team-a/later", nodes=1)
        holding.reserve(cluster=cluster, wish=wish, actor="test")
        page = "/c/demo/history?subject=reservation"
        assert "holds 64 cpu" not in text(operator.get(page))
        assert "on 1 node of" in text(operator.get(page))
        assert "確保しました" in text(operator.get(page, headers={"Accept-Language": "ja"}))


class TestQueues:
    def test_a_queue_is_defined_edited_and_removed(self, cluster: Cluster, operator: Client) -> None:
        form = {"name": "research", "priority": "5", "quota": "16", "order": "fair"}
        said = text(operator.post("/c/demo/queues", form, follow=True))
        assert "Queue research is defined." in said and "0 / 16" in said
        page = operator.get("/c/demo/queues?edit=research").content.decode()
        assert 'value="research"' in page and 'value="16"' in page
        operator.post("/c/demo/queues", form | {"quota": "", "order": "strict"})
        assert state_of(cluster).records.of(Queue)["research"] == Queue("research", 5)
        said = text(operator.post("/c/demo/queues/research/remove", follow=True))
        assert "Queue research was removed." in said and "No queue is defined." in said

    def test_what_is_wrong_stands_at_its_field(self, cluster: Cluster, operator: Client) -> None:
        form = {"name": "research", "priority": "0", "quota": "", "order": "fair"}
        answer = operator.post("/c/demo/queues", form)
        assert answer.status_code == 422
        assert "a fair queue shares by its quota" in text(answer)

    def test_a_group_over_quota_says_how_much_and_by_whom(self, cluster: Cluster, operator: Client) -> None:
        holding.define_queue(cluster=cluster, queue=Queue("q", 1, 8), actor="test")
        submit(cluster, "first", 1, queue="q")
        submit(cluster, "second", 1, queue="q")
        said = text(operator.get("/c/demo/podgroups/team-a/second"))
        assert "queue q uses 8 of its 8 GPUs, and the missing members ask for 8" in said
        assert "GPUs of the quota are in use by: team-a/first 8" in said
        queues = text(operator.get("/c/demo/queues"))
        assert "8 / 8" in queues and "1 held by the quota" in queues
        assert "over quota" in text(operator.get("/c/demo/pending"))

    def test_what_cannot_help_a_group_that_its_quota_holds_is_not_offered(
        self, cluster: Cluster, operator: Client
    ) -> None:
        set_policy(cluster=cluster, mode="propose", queues=(), actor="test")
        holding.define_queue(cluster=cluster, queue=Queue("q", 1, 8), actor="test")
        submit(cluster, "first", 1, queue="q")
        submit(cluster, "second", 1, queue="q")
        page = operator.get("/c/demo/podgroups/team-a/second")
        said, html = text(page), page.content.decode()
        assert "Plan scale-up" not in said and 'id="propose-preemption"' not in html
        assert (
            "No plan for new nodes is offered: the quota of its queue holds it, whatever room there is."
            in said
        )
        assert "No preemption is offered: the quota of its queue holds it, whatever room there is." in said
        assert "never fits its quota" not in said

        capacity = operator.get("/c/demo/capacity").content.decode()
        assert 'name="groups" value="team-a/second"' not in capacity
        assert 'name="group" value="team-a/second"' not in capacity
        assert "team-a/second the quota of its queue holds it" in text(operator.get("/c/demo/capacity"))

    def test_a_group_that_asks_for_more_than_the_whole_quota_never_fits_it(
        self, cluster: Cluster, operator: Client
    ) -> None:
        holding.define_queue(cluster=cluster, queue=Queue("q", 1, 8), actor="test")
        submit(cluster, "big", 2, queue="q")
        said = text(operator.get("/c/demo/podgroups/team-a/big"))
        assert (
            "the group never fits the quota of queue q. Its members for minCount ask for 16 GPUs together, "
            "and the whole quota is 8 GPUs." in said
        )
        assert "In this queue, as it is, the group can never run." in said
        assert "Lifted when members of groups of the queue end" not in said

    def test_a_quota_that_holds_a_group_is_not_told_as_a_search_without_a_place(
        self, cluster: Cluster, operator: Client
    ) -> None:
        holding.define_queue(cluster=cluster, queue=Queue("research", quota=0), actor="test")
        submit(cluster, "first", 1, queue="research")
        said = text(operator.get("/c/demo/podgroups/team-a/first/upstream"))
        assert "this console looked for no place" in said and "found no place" not in said
        workloads.end_group(cluster=cluster, namespace="team-a", name="first", actor="test")
        run_cycle(cluster.pk)
        assert all(pod.node for pod in state_of(cluster).members("team-a/second"))

    def test_the_submit_form_offers_queues_and_refuses_others(
        self, cluster: Cluster, operator: Client
    ) -> None:
        holding.define_queue(cluster=cluster, queue=Queue("q"), actor="test")
        assert '<option value="q">' in operator.get("/c/demo/submit").content.decode()
        form = {
            "action": "submit", "namespace": "team-a", "name": "new", "policy": "gang", "min_count": "1",
            "topology_key": RACK, "priority": "0", "queue": "nowhere", "templates": "1", "t0-count": "1",
            "t0-cpu": "1", "t0-resources": "0",
        }  # fmt: skip
        answer = operator.post("/c/demo/submit", form)
        assert answer.status_code == 422 and "there is no queue nowhere" in text(answer)
        assert operator.post("/c/demo/submit", form | {"queue": "q"}).status_code == 302
        assert state_of(cluster).groups["team-a/new"].queue == "q"
