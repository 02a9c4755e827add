"""What each event does to the state of a cluster."""

import gc
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import get_args

import pytest
from django.db import connection

from scheduling.engine.decision import VerdictSummary
from scheduling.engine.model import TAS_GATES, Node, Pod, PodGroup
from scheduling.engine.state import ClusterState
from scheduling.ledger import events as e
from scheduling.ledger import fold
from scheduling.ledger.events import CATALOGUE, Event
from scheduling.ledger.fold import BrokenHistory
from scheduling.ledger.store import Recorded
from tests.ledger.conftest import Append
from tests.ledger.examples import EXAMPLES, GROUP, NODE, POD, RACK

PLACED = next(event for event in EXAMPLES if isinstance(event, e.PodGroupPlaced))
UNSCHEDULABLE = next(event for event in EXAMPLES if isinstance(event, e.PodGroupUnschedulable))
FORECAST = next(event for event in EXAMPLES if isinstance(event, e.PlacementForecast))


def after(*events: Event) -> ClusterState:
    state = ClusterState()
    for seq, event in enumerate(events, 1):
        fold.apply(state, event, seq)
    return state


def test_there_is_a_rule_for_every_event_type() -> None:
    assert set(fold._change.registry) - {object, Event} == set(CATALOGUE.values())


def test_the_registration_sets_mode_and_gates() -> None:
    state = after(EXAMPLES[0])
    assert (state.seq, state.mode, state.tas_enforced) == (1, "simulated", True)
    assert state.gates == dict.fromkeys(TAS_GATES, True)


def test_mode_and_gates_change_by_events() -> None:
    state = after(
        EXAMPLES[0], e.ClusterModeChanged("observed"), e.FeatureGateChanged("GangScheduling", False)
    )
    assert (state.mode, state.gates["GangScheduling"], state.tas_enforced) == ("observed", False, False)


def test_an_import_itself_and_a_workload_change_nothing() -> None:
    state = after(*(event for event in EXAMPLES if isinstance(event, e.SnapshotImported | e.WorkloadAdded)))
    assert (state.nodes, state.pods, state.groups) == ({}, {}, {})


def test_a_node_comes_changes_and_goes() -> None:
    cordon = e.NodeUpdated.between(NODE, replace(NODE, unschedulable=True))
    assert cordon is not None
    assert after(e.NodeAdded(NODE)).nodes == {"n1": NODE}
    assert after(e.NodeAdded(NODE), cordon).nodes == {"n1": replace(NODE, unschedulable=True)}
    assert after(e.NodeAdded(NODE), e.NodeRemoved("n1", NODE.uid)).nodes == {}


def test_the_removal_of_a_node_that_was_replaced_does_not_take_its_successor() -> None:
    other = replace(NODE, uid="node-uid-2")
    assert after(e.NodeAdded(NODE), e.NodeAdded(other), e.NodeRemoved("n1", NODE.uid)).nodes == {"n1": other}


def test_pods_bound_to_a_node_that_goes_stay_bound_to_its_name() -> None:
    state = after(e.NodeAdded(NODE), e.PodAdded(replace(POD, node="n1")), e.NodeRemoved("n1", NODE.uid))
    assert state.pods[POD.uid].node == "n1"


def test_a_pod_comes_changes_and_goes() -> None:
    running = e.PodUpdated.between(POD, replace(POD, node="n1", phase="Running"))
    assert running is not None
    state = after(e.NodeAdded(NODE), e.PodAdded(POD), running)
    assert state.pods[POD.uid] == replace(POD, node="n1", phase="Running")
    assert state.used("n1")["nvidia.com/gpu"] == 4
    fold.apply(state, e.PodRemoved("ml", "train-0", POD.uid, "n1", "train", "deleted"), 4)
    assert (state.pods, state.used("n1")["nvidia.com/gpu"]) == ({}, 0)


def test_a_pod_group_opens_changes_and_closes() -> None:
    fewer = e.PodGroupUpdated.between(GROUP, replace(GROUP, min_count=1))
    assert fewer is not None
    assert after(e.PodGroupCreated(GROUP), fewer).groups == {"ml/train": replace(GROUP, min_count=1)}
    closed = e.PodGroupClosed("ml", "train", GROUP.uid, 1, "ended")
    assert after(e.PodGroupCreated(GROUP), closed).groups == {}
    successor = PodGroup("ml", "train", "group-uid-2", generation=2, supersedes=GROUP.uid)
    superseded = replace(closed, reason="superseded")
    assert after(e.PodGroupCreated(GROUP), superseded, e.PodGroupCreated(successor), closed).groups == {
        "ml/train": successor
    }


def test_a_placement_binds_the_whole_assignment() -> None:
    pods = [Pod("ml", f"train-{n}", f"uid-{n}", POD.shape, group="train") for n in range(3)]
    placed = replace(
        PLACED,
        assignments=(("uid-0", "train-0", "n1"), ("uid-2", "train-2", "n2")),
        fits=2,
        domain="r1",
        need=2,
    )
    nodes = (e.NodeAdded(NODE), e.NodeAdded(replace(NODE, name="n2", uid="node-uid-2")))
    state = after(*nodes, e.PodGroupCreated(GROUP), *(e.PodAdded(pod) for pod in pods), placed)
    assert [state.pods[f"uid-{n}"].node for n in range(3)] == ["n1", "", "n2"]
    assert state.verdicts["ml/train"] == VerdictSummary("placed", "", "r1", 2, 2)


def test_a_placement_that_names_an_unknown_pod_binds_nobody() -> None:
    placed = replace(PLACED, assignments=((POD.uid, "train-0", "n1"), ("uid-9", "train-9", "n1")))
    state = after(e.NodeAdded(NODE), e.PodGroupCreated(GROUP), e.PodAdded(POD))
    with pytest.raises(BrokenHistory, match=r"pod ml/train-9 \(uid-9\) was placed, but it is not there"):
        fold.apply(state, placed, 4)
    assert (state.seq, state.pods[POD.uid].node, state.verdicts) == (3, "", {})


@pytest.mark.parametrize(
    ("event", "verdict"),
    [
        (FORECAST, VerdictSummary("placed", "", "r1", 1, 1)),
        (UNSCHEDULABLE, VerdictSummary("proved_infeasible", "capacity", "r1", 1, 2)),
        (
            e.PodGroupHeld("ml", "train", GROUP.uid, 1, "not_enough_pods", 3, 2, 1),
            VerdictSummary("held", "not_enough_pods", "", 1, 3),
        ),
        (
            e.PodGroupConflicted("ml", "train", GROUP.uid, 1, "domain_lost", ("r1",), ("n9",), 2, 3, 2),
            VerdictSummary("conflicted", "domain_lost", "", 2, 2),
        ),
    ],
)
def test_a_decision_that_binds_nobody_leaves_its_verdict_only(event: Event, verdict: VerdictSummary) -> None:
    state = after(e.PodGroupCreated(GROUP), e.PodAdded(POD), event)
    assert state.verdicts == {"ml/train": verdict}
    assert state.pods == {POD.uid: POD}


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (e.NodeUpdated("n1", "u", (("ready", False),)), r"node n1 \(u\) changed, but it is not there"),
        (e.PodUpdated("ml", "p", "u", (("node", "n1"),)), r"pod ml/p \(u\) changed, but it is not there"),
        (
            e.PodGroupUpdated("ml", "g", "u", 1, (("min_count", 2),)),
            r"PodGroup ml/g \(u\) changed, but it is not open",
        ),
    ],
)
def test_a_change_of_something_that_is_not_there_is_a_broken_history(event: Event, sentence: str) -> None:
    with pytest.raises(BrokenHistory, match=sentence):
        after(event)


@pytest.mark.parametrize("on", [True, False])
def test_a_fold_searches_for_no_cycles_and_leaves_that_as_it_was(on: bool) -> None:
    seen: list[bool] = []

    def nothing() -> Iterator[Recorded]:
        seen.append(gc.isenabled())
        yield from ()

    was = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        fold.fold(ClusterState(), nothing())
        after_it = gc.isenabled()
        with pytest.raises(TypeError):
            fold.fold(ClusterState(), None)  # type: ignore[arg-type]
        after_a_failure = gc.isenabled()
    finally:
        (gc.enable if was else gc.disable)()
    assert (seen, after_it, after_a_failure) == ([False], on, on)


def test_the_state_at_any_seq_can_be_had(stream: int, append: Append) -> None:
    append(EXAMPLES[0], e.NodeAdded(NODE))
    append(e.NodeRemoved("n1", NODE.uid), e.NodeAdded(Node("n2", "u2", ((RACK, "r1"),))))
    assert [sorted(fold.state_at(stream, seq).nodes) for seq in range(5)] == [[], [], ["n1"], [], ["n2"]]
    assert fold.state_at(stream).seq == 4
    assert fold.state_from_zero(stream, 3).seq == 3
    for seq in (-1, 5):
        with pytest.raises(LookupError, match="is at 4: there is no state at"):
            fold.state_at(stream, seq)


def test_there_is_no_state_where_events_are_missing(stream: int, append: Append) -> None:
    append(EXAMPLES[0], e.NodeAdded(NODE), e.NodeRemoved("n1", NODE.uid))
    with connection.cursor() as cursor:
        cursor.execute(f"alter table scheduling_event_{stream}_0 disable trigger append_only_rows")
        cursor.execute("delete from scheduling_event where seq = 2")
    assert fold.state_at(stream, 1).seq == 1
    for state in (fold.state_at, fold.state_from_zero):
        with pytest.raises(LookupError, match=f"event 2 of stream {stream} is not in this database"):
            state(stream, 3)


@pytest.mark.parametrize(
    "event",
    [one for one in EXAMPLES if type(one) in get_args(fold._Decision)],
    ids=lambda one: type(one).__name__,
)
def test_verdicts_are_kept_as_the_plain_values_that_snapshots_hold(event: Event) -> None:
    state = after(e.NodeAdded(NODE), e.PodGroupCreated(GROUP), e.PodAdded(POD), event)

    (verdict,) = state.verdicts.values()
    assert {type(getattr(verdict, field.name)) for field in fields(verdict)} <= {str, int}


def test_a_settled_group_that_runs_does_not_wait_any_more() -> None:
    """What it waits for later begins anew, and with it the default deadline."""
    conflicted = next(event for event in EXAMPLES if isinstance(event, e.PodGroupConflicted))
    settled = next(event for event in EXAMPLES if isinstance(event, e.PodGroupSettled))
    bound = replace(POD, node="n1")
    other = replace(bound, name="train-1", uid="pod-uid-1")
    state = after(e.NodeAdded(NODE), e.PodGroupCreated(GROUP), e.PodAdded(bound), e.PodAdded(other))
    fold.apply(state, conflicted, 5, 1_000)
    assert state.turns["ml/train"].waits_since == 1_000

    fold.apply(state, settled, 6, 2_000)
    assert state.turns["ml/train"].waits_since == 0
