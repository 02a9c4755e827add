"""Plans for new nodes on the log: made, approved, carried out, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scheduling.engine.growth import new_nodes
from scheduling.engine.node_types import KEPT, NodeType, ScaleUpPlan
from scheduling.ledger import store
from scheduling.ledger.events import (
    Event,
    NodeAdded,
    PodGroupPlaced,
    ScaleUpApproved,
    ScaleUpCompleted,
    ScaleUpExpired,
    ScaleUpPlanned,
    ScaleUpShort,
)
from scheduling.models import Cluster
from scheduling.services import node_types, scale_up
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.cycles import CycleResult, run_cycle
from scheduling.services.execute import now_ms
from scheduling.services.members import end_group_events
from scheduling.services.node_types import GrowthForm, NodeTypeForm, define_events
from scheduling.services.problems import Refused
from scheduling.services.scale_up import (
    Approval,
    approve_events,
    plan_events,
    provision_events,
    reject_events,
)
from scheduling.services.scale_up_tending import due_at, tend
from scheduling.services.state import state_of
from scheduling.services.submitting import MemberTemplate, WorkloadForm, submit_events
from scheduling.services.switching import cordon_events
from tests.services.builders import RACK, form, gang, members, node, stream, text

Make = Callable[..., Cluster]
KEY = "default/g"
MINUTE = 60_000


def grows(name: str = "big", *, rack: str = "r1", most: int = 9, cpu: str = "8", **more: Any) -> NodeTypeForm:
    growth = (GrowthForm(RACK, rack, most),)
    values: dict[str, Any] = {"cost": "2", "provider": "simulated"}
    return NodeTypeForm(name, allocatable={"cpu": cpu}, growth=growth, **values | more)


def waiting(size: int = 3, *types: NodeTypeForm, mode: str = "simulated") -> MemoryStream:
    """A rack with one node, a gang whose members take a node each, and types to grow by."""
    made = stream(node("a"), gang("g", size), *members("g", size, cpu="8"), mode=mode)
    made.settle()
    for one in types or (grows(),):
        made.commit(define_events(made.state, one))
    return made


def another(name: str, size: int, priority: int = 0) -> WorkloadForm:
    """A gang like the one that waits."""
    return form(name, size, priority=priority, templates=(MemberTemplate("", size, {"cpu": "8"}),))


def planned(made: MemoryStream, **more: Any) -> str:
    made.commit(plan_events(made.state, [KEY], more.pop("minutes", 60), made.now_ms))
    (event,) = [event for event in made.events[-1:] if isinstance(event, ScaleUpPlanned)]
    return event.name


def tended(made: MemoryStream) -> list[Event]:
    """What follows after the cycles, committed."""
    made.settle()
    news = [followed.event for followed in tend(made.state, made.now_ms)]
    made.commit(news)
    return news


def plan(made: MemoryStream, name: str) -> ScaleUpPlan:
    return made.state.records.of(ScaleUpPlan)[name]


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(Refused) as caught:
        call()
    return str(caught.value)


class TestPlanning:
    def test_keeps_the_cheapest_first_and_says_on_what_it_was_decided(self) -> None:
        made = waiting(3, grows(), grows("dear", rack="r2", cost="9"))
        seq = made.state.seq
        name = planned(made, minutes=30)
        found = plan(made, name)
        assert name == f"scale-up-{seq + 1}"
        assert [(option.steps[0].kind, option.nodes, option.cost) for option in found.options] == [
            ("big", 2, 4000),
            ("dear", 3, 27_000),
        ]
        assert (found.decided_on, found.expires_at) == (seq, made.now_ms + 30 * MINUTE)

    def test_of_a_group_that_no_node_helps_says_why_with_every_type(self) -> None:
        made = waiting(3, grows(most=1), grows("small", cpu="4"))
        said = refused(lambda: planned(made))
        assert "PodGroup default/g: no growth of the defined node types makes it fit" in said
        assert "NodeType big: not even all nodes" in said
        assert "NodeType small: no member fits on such a node" in said

    def test_a_type_without_the_label_is_refused_with_that_reason(self) -> None:
        zonal = NodeTypeForm("zonal", allocatable={"cpu": "64"}, growth=(GrowthForm("zone", "z", 9),))
        assert "its nodes would not have that label" in refused(lambda: planned(waiting(3, zonal)))

    @pytest.mark.parametrize(
        ("groups", "minutes", "said"),
        [
            ([], 60, "groups: name at least one group"),
            (["default/no"], 60, "there is no open PodGroup default/no"),
            ([f"default/g{n}" for n in range(51)], 60, "groups in one plan: at most 50, not 51"),
            ([KEY], 0, "minutes: minutes: 1 to 43200, not 0"),
        ],
    )
    def test_bad_input_is_refused(self, groups: list[str], minutes: int, said: str) -> None:
        made = waiting()
        assert said in refused(lambda: plan_events(made.state, groups, minutes, made.now_ms))

    def test_one_group_has_one_open_plan(self) -> None:
        made = waiting()
        name = planned(made)
        assert f"the open plan {name} is for it already" in refused(lambda: planned(made))
        made.commit(reject_events(made.state, name, "too dear"))
        assert planned(made) != name


class TestApproval:
    def test_lets_the_nodes_join_and_the_ordinary_cycle_places(self) -> None:
        made = waiting()
        name = planned(made)
        made.commit(approve_events(made.state, name, Approval(), made.now_ms))
        assert plan(made, name).status == "approved"
        assert [event.node.name for event in made.events if isinstance(event, NodeAdded)][1:] == [
            "big-r1-1",
            "big-r1-2",
        ]
        assert tend(made.state, made.now_ms) == []  # nobody is placed yet
        assert tended(made) == [ScaleUpCompleted(name, ("big-r1-1", "big-r1-2"))]
        assert {pod.node for pod in made.state.members(KEY)} == {"a", "big-r1-1", "big-r1-2"}
        assert tend(made.state, made.now_ms + 10**9) == []

    def test_of_another_option(self) -> None:
        made = waiting(3, grows(), grows("dear", rack="r2", cost="9"))
        name = planned(made)
        made.commit(approve_events(made.state, name, Approval(option=1), made.now_ms))
        assert tended(made) == [ScaleUpCompleted(name, ("dear-r2-1", "dear-r2-2", "dear-r2-3"))]

    def test_nodes_that_were_there_are_none_that_join(self) -> None:
        made = waiting(3, grows(provider=""))
        name = planned(made)
        (event,) = approve_events(made.state, name, Approval(minutes=5), made.now_ms)
        assert event == ScaleUpApproved(name, 0, made.now_ms + 5 * MINUTE, ("a",))

    def test_what_does_not_hold_any_more_is_refused(self) -> None:
        made = waiting(3, grows(most=2), grows("other", rack="r1", cost="1", provider=""))
        name = planned(made)
        made.commit(define_events(made.state, grows(most=1)))
        wide = plan(made, name)
        place = next(n for n, option in enumerate(wide.options) if option.steps[0].kind == "big")
        said = refused(lambda: approve_events(made.state, name, Approval(option=place), made.now_ms))
        assert f"nodes of big by which {RACK}=r1 may grow now: 1; plan again" in said

    def test_a_group_that_was_made_anew_needs_another_plan(self) -> None:
        made = waiting()
        name = planned(made)
        made.commit(end_group_events(made.state, KEY))
        said = refused(lambda: approve_events(made.state, name, Approval(), made.now_ms))
        assert "a group that it is for has ended or was made anew" in said

    def test_room_that_was_made_meanwhile_needs_another_plan(self) -> None:
        """One node came, so one fewer is needed; then all came. No cycle has run yet."""
        made = waiting(3)
        name = planned(made)
        for node_name in ("b", "c"):
            made.import_data(text(node(node_name)))
            said = refused(lambda: approve_events(made.state, name, Approval(), made.now_ms))
            assert "fewer nodes do now" in said

    def test_nodes_that_somebody_else_took_meanwhile_need_another_plan(self) -> None:
        made = waiting()
        name = planned(made)
        made.commit(submit_events(made.state, another("first", 3, priority=9), made.now_ms))
        said = refused(lambda: approve_events(made.state, name, Approval(), made.now_ms))
        assert "the groups would not all run any more" in said

    @pytest.mark.parametrize(
        ("approval", "said"),
        [
            (Approval(option=1), "option: 1 is no option of it: 0 to 0"),
            (Approval(minutes=0), "minutes: minutes: 1 to 43200, not 0"),
            (Approval(nodes=3), "nodes: nodes: 0 to 2, not 3"),
        ],
    )
    def test_bad_input_is_refused(self, approval: Approval, said: str) -> None:
        made = waiting()
        name = planned(made)
        assert said in refused(lambda: approve_events(made.state, name, approval, made.now_ms))

    def test_of_a_closed_or_unknown_plan_is_refused(self) -> None:
        made = waiting()
        name = planned(made)
        made.commit(reject_events(made.state, name, ""))
        assert "the plan is rejected, not planned" in refused(
            lambda: approve_events(made.state, name, Approval(), made.now_ms)
        )
        assert "there is no plan nothing" in refused(lambda: reject_events(made.state, "nothing", ""))

    def test_growth_that_is_promised_is_planned_for_nobody_else(self) -> None:
        made = waiting(3, grows(most=3, provider=""))
        made.commit(submit_events(made.state, another("h", 3), made.now_ms))
        name = planned(made)
        made.commit(approve_events(made.state, name, Approval(), made.now_ms))
        assert "no growth" in refused(lambda: plan_events(made.state, ["default/h"], 60, made.now_ms))


class TestFallingShort:
    def test_of_nodes_by_the_deadline(self) -> None:
        made = waiting()
        name = planned(made)
        made.commit(approve_events(made.state, name, Approval(minutes=10, nodes=1), made.now_ms))
        assert tended(made) == []
        assert due_at(made.state) == made.now_ms + 10 * MINUTE
        made.now_ms += 10 * MINUTE
        assert tended(made) == [ScaleUpShort(name, "nodes", 2, ("big-r1-1",), "", "")]
        assert due_at(made.state) is None
        assert all(not pod.node for pod in made.state.members(KEY))  # whole or nothing

    def test_the_rest_may_come_later(self) -> None:
        made = waiting()
        name = planned(made)
        made.commit(approve_events(made.state, name, Approval(nodes=0), made.now_ms))
        made.commit(provision_events(made.state, name, 1))
        assert tended(made) == []
        assert "nodes: nodes: 0 to 1, not 2" in refused(lambda: provision_events(made.state, name, 2))
        made.commit(provision_events(made.state, name, None))
        assert tended(made) == [ScaleUpCompleted(name, ("big-r1-1", "big-r1-2"))]

    def test_where_the_group_does_not_fit_all_the_same(self) -> None:
        made = waiting()
        name = planned(made)
        made.commit(approve_events(made.state, name, Approval(nodes=1), made.now_ms))
        made.commit(cordon_events(made.state, "a", True))
        made.commit(provision_events(made.state, name, None))
        assert tended(made) == [ScaleUpShort(name, "group", 2, ("big-r1-1", "big-r1-2"), KEY, "cordoned")]

    def test_where_the_group_has_ended(self) -> None:
        made = waiting()
        name = planned(made)
        made.commit(approve_events(made.state, name, Approval(nodes=0), made.now_ms))
        made.commit(end_group_events(made.state, KEY))
        assert tended(made) == [ScaleUpShort(name, "gone", 2, (), KEY, "")]

    def test_where_nobody_places_it_by_the_deadline(self) -> None:
        made = waiting(3, mode="observed")
        name = planned(made)
        made.commit(approve_events(made.state, name, Approval(minutes=10), made.now_ms))
        assert "an observed cluster is only read" in refused(lambda: provision_events(made.state, name, None))
        made.commit([NodeAdded(one) for one in new_nodes(made.state, plan(made, name).option.steps)])
        assert tended(made) == []
        made.now_ms += 10 * MINUTE
        assert tended(made) == [ScaleUpShort(name, "not_placed", 2, ("big-r1-1", "big-r1-2"), KEY, "")]


class TestLapsing:
    def test_with_time(self) -> None:
        made = waiting()
        name = planned(made, minutes=5)
        assert due_at(made.state) == made.now_ms + 5 * MINUTE
        assert tended(made) == []
        made.now_ms += 5 * MINUTE
        assert tended(made) == [ScaleUpExpired(name, "time")]

    def test_when_the_group_runs_without_it(self) -> None:
        made = waiting(2)
        name = planned(made)
        made.import_data(text(node("b")))
        assert tended(made) == [ScaleUpExpired(name, "placed")]

    def test_when_the_group_has_ended(self) -> None:
        made = waiting()
        name = planned(made)
        made.commit(end_group_events(made.state, KEY))
        assert tended(made) == [ScaleUpExpired(name, "gone")]

    def test_closed_plans_are_remembered_up_to_a_number(self) -> None:
        made = waiting()
        names = []
        for _ in range(KEPT + 2):
            names.append(planned(made))
            made.commit(reject_events(made.state, names[-1], ""))
        open_one = planned(made)
        assert list(made.state.records.of(ScaleUpPlan)) == [*names[2:], open_one]


class TestOnTheDatabase:
    def test_from_plan_to_placement(self, make: Make, tables_agree: Any) -> None:
        cluster = make(node("a"), gang("g", 3), *members("g", 3, cpu="8"))
        run_cycle(cluster.pk)
        node_types.define(cluster=cluster, form=grows(), actor="ops")
        made = scale_up.plan(cluster=cluster, groups=[KEY], actor="ops", command_id="plan-1")
        assert scale_up.plan(cluster=cluster, groups=[KEY], actor="ops", command_id="plan-1").repeated
        (event,) = made.events
        assert isinstance(event, ScaleUpPlanned)
        scale_up.approve(cluster=cluster, name=event.name, actor="ops")
        rested = now_ms() + MINUTE
        result: CycleResult = run_cycle(cluster.pk, clock=lambda: rested)
        assert (result.ran, result.placed) == (True, 1)
        told = list(store.read(cluster.pk, after=made.last_seq))
        assert [type(item.event) for item in told] == [
            ScaleUpApproved,
            NodeAdded,
            NodeAdded,
            PodGroupPlaced,
            ScaleUpCompleted,
        ]
        assert told[-1].cause == told[-2].seq
        assert told[-1].actor == "scheduler"
        assert state_of(cluster).records.of(ScaleUpPlan)[event.name].status == "completed"
        tables_agree(cluster)

    def test_time_closes_a_plan_in_the_cycle_that_it_asked_for(self, make: Make) -> None:
        cluster = make(gang("g", 1), *members("g", 1))
        node_types.define(cluster=cluster, form=grows(), actor="ops")
        made = scale_up.plan(cluster=cluster, groups=[KEY], minutes=1, actor="ops")
        (event,) = made.events
        assert isinstance(event, ScaleUpPlanned)
        assert run_cycle(cluster.pk).retry_at == event.expires_at
        run_cycle(cluster.pk, clock=lambda: event.expires_at)
        assert state_of(cluster).records.of(ScaleUpPlan)[event.name].status == "expired"

    def test_a_type_is_there_until_it_is_removed(self, make: Make) -> None:
        cluster = make(node("a"))
        node_types.define(cluster=cluster, form=grows(), actor="ops")
        assert list(state_of(cluster).records.of(NodeType)) == ["big"]
        node_types.remove(cluster=cluster, name="big", actor="ops")
        assert not state_of(cluster).records.of(NodeType)

    def test_a_preview_writes_nothing(self, make: Make) -> None:
        cluster = make(gang("g", 1), *members("g", 1))
        node_types.define(cluster=cluster, form=grows(), actor="ops")
        before = store.head(cluster.pk).seq
        assert scale_up.preview(cluster=cluster, groups=[KEY]).options
        assert store.head(cluster.pk).seq == before
