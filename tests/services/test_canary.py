"""Canaries: who is held to one domain, by what they are judged, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from scheduling.engine.canary import Canary, CanaryFacts, Scope, Status
from scheduling.engine.candidates import enforced
from scheduling.engine.model import TAS_GATES, PodGroup
from scheduling.engine.preemption import NoProposal, search
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.ledger import canary_fold, snapshots
from scheduling.ledger import events as e
from scheduling.services.canary import (
    CanaryWish,
    approve_events,
    roll_back_events,
    start_events,
    stop_events,
    throughput_events,
    widen_events,
)
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.deciding import cycle_events
from scheduling.services.members import delete_member_events
from scheduling.services.problems import Refused
from scheduling.services.replaying import replayed
from scheduling.services.submitting import submit_events
from scheduling.services.switching import cordon_events, gate_events, mode_events
from scheduling.services.tending import tended
from tests.services.builders import RACK, as_recorded, form, node, nodes_of, text

GATE = TAS_GATES[2]
MINUTE = 60_000


def off(*racks: int, mode: str = "simulated") -> MemoryStream:
    """A cluster with a gate off, and in each rack so many nodes with room for one member."""
    made = MemoryStream(mode=mode, gates={**dict.fromkeys(TAS_GATES, True), GATE: False})
    nodes = [
        node(f"n{rack}{place}", f"r{rack}", cpu="1")
        for rack, size in enumerate(racks)
        for place in range(size)
    ]
    made.import_data(text(*nodes))
    return made


def wish(*namespaces: str, **more: Any) -> CanaryWish:
    values: dict[str, Any] = {
        "stages": (Scope(namespaces=namespaces or ("default",)),),
        "limits": {"pending": 0},
        "window": 10 * MINUTE,
    }
    return CanaryWish(**values | more)


def start(made: MemoryStream, wanted: CanaryWish) -> Canary:
    made.commit(start_events(made.state, wanted, made.now_ms))
    return canary(made)


def canary(made: MemoryStream) -> Canary:
    return list(made.state.records.of(Canary).values())[-1]


def submit(made: MemoryStream, name: str = "g", count: int = 2, **more: Any) -> None:
    made.commit(submit_events(made.state, form(name, count, **more), made.now_ms))


def cycle(made: MemoryStream, after_ms: int = 0) -> list[e.Event]:
    """What a cycle decides, and then what follows, so many milliseconds later."""
    made.now_ms += after_ms
    told = cycle_events(made.state, made.now_ms)
    made.commit(told)
    news = [followed.event for followed in tended(made.state, made.now_ms)[0]]
    made.commit(news)
    assert tended(made.state, made.now_ms)[0] == []
    return [*told, *news]


def refused(events: Any) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as caught:
        events()
    return [(problem.path, problem.message) for problem in caught.value.problems]


def of(kind: type[Any], events: Sequence[e.Event]) -> Any:
    found = [event for event in events if isinstance(event, kind)]
    assert len(found) == 1, events
    return found[0]


def verdicts(judged: e.CanaryJudged) -> dict[str, tuple[int | None, str]]:
    return {each.criterion: (each.measured, each.verdict) for each in judged.measured}


# --- who is held


def test_with_the_gate_off_only_groups_of_the_canary_are_held_to_one_domain() -> None:
    made = off(1, 1, 1, 1)
    start(made, wish("a"))
    submit(made, namespace="a")
    submit(made)
    cycle(made)

    assert nodes_of(made, "g") == {"g-0": "n00", "g-1": "n10"}
    assert made.state.verdicts["a/g"].reason == "never_fits"
    assert [enforced(made.state, roster(made.state, key)) for key in ("a/g", "default/g")] == [True, False]


def test_a_single_group_can_be_the_scope_also_before_it_exists() -> None:
    made = off(1, 1)
    start(made, wish(stages=(Scope(groups=("default/g",)),)))
    submit(made)
    submit(made, "other", 2)
    cycle(made)

    assert made.state.verdicts["default/g"].verdict == "proved_infeasible"
    assert set(nodes_of(made, "other").values()) == {"n00", "n10"}


def test_a_group_that_runs_spread_stays_as_it_is_until_its_next_generation() -> None:
    made = off(2, 2)
    submit(made, count=3)
    cycle(made)
    uid = made.state.groups["default/g"].uid
    started = start_events(made.state, wish(limits={"errors": 0}), made.now_ms)
    assert of(e.CanaryStarted, started).exempt == (("default/g", uid),)
    made.commit(started)

    made.commit(delete_member_events(made.state, roster(made.state, "default/g").bound[0].uid, made.now_ms))
    cycle(made)
    assert all(nodes_of(made, "g").values()), "the member that was made anew went where there was room"
    assert not canary(made).judged, "it is no error of the canary"

    submit(made, "h", 3)
    cycle(made)
    assert made.state.law.holds("default", "default/h", made.state.groups["default/h"].uid)


def test_means_gate_switches_the_gates_on_and_spares_whoever_runs_spread_anywhere() -> None:
    made = off(2, 2)
    submit(made, count=3)
    cycle(made)
    events = start_events(made.state, wish("a", means="gate"), made.now_ms)
    assert [type(event).__name__ for event in events] == ["CanaryStarted", "FeatureGateChanged"]
    made.commit(events)

    assert made.state.tas_enforced and of(e.CanaryStarted, events).exempt
    assert made.state.law.canary("a", "a/any") == "", "it is the gates that hold its groups"
    assert cycle(made) == []
    made.commit(stop_events(made.state, canary(made).id))
    assert not made.state.tas_enforced and canary(made).status == Status.STOPPED


def test_a_sticky_wait_under_a_canary_ends_with_it() -> None:
    made = off(2, 1)
    start(made, wish(limits={"throughput": 1}))
    submit(made)
    cycle(made)
    lost = roster(made.state, "default/g").bound[0]
    made.commit(cordon_events(made.state, lost.node, True))
    made.commit(delete_member_events(made.state, lost.uid, made.now_ms))
    assert of(e.StickyWaitStarted, cycle(made)).domain == "r0"

    made.commit(roll_back_events(made.state, canary(made).id))
    news = cycle(made, MINUTE)
    assert of(e.StickyWaitEnded, news).how == "placed" and of(e.PodGroupPlaced, news).enforced is False
    assert set(nodes_of(made, "g").values()) >= {"n10"}


def test_only_a_group_that_is_held_loses_its_domain() -> None:
    made = off(1, 1)
    start(made, wish("a", limits={"errors": 0}))
    submit(made, namespace="a", count=1)
    submit(made, "h", 1)
    cycle(made)
    for name in ("n00", "n10"):
        made.commit([e.NodeRemoved(name, made.state.nodes[name].uid)])
    news = cycle(made)

    assert of(e.DomainLost, news).namespace == "a"
    assert verdicts(of(e.CanaryJudged, news)) == {"errors": (1, "failed")}


def test_a_proposal_of_preemption_looks_in_one_domain_only_for_whom_a_canary_holds() -> None:
    made = off(1, 1)
    start(made, wish("a", limits={"throughput": 1}))
    for number in range(2):
        submit(made, f"low{number}", 1)
    cycle(made)
    submit(made, "high", 2, priority=5)
    submit(made, "high", 2, priority=5, namespace="a")
    cycle(made)

    assert isinstance(search(made.state, "a/high"), NoProposal), "no rack is large enough"
    found = search(made.state, "default/high")
    assert not isinstance(found, NoProposal) and found.domain == ""


# --- judged


def test_a_failed_canary_rolls_back_by_itself_and_its_group_runs_as_a_plain_gang() -> None:
    made = off(1, 1)
    begun = start(made, wish())
    submit(made)
    cycle(made)
    assert not any(nodes_of(made, "g").values())

    made.now_ms += 10 * MINUTE
    news = tended(made.state, made.now_ms)[0]
    judged, rolled = (followed.event for followed in news)
    assert isinstance(judged, e.CanaryJudged) and isinstance(rolled, e.GateRolledBack)
    assert (judged.verdict, verdicts(judged)) == ("failed", {"pending": (1, "failed")})
    assert [followed.cause for followed in news] == [begun.began, made.state.seq + 1]
    assert (rolled.waiting, rolled.gates, rolled.why) == (("default/g",), (), "failed")
    made.commit([judged, rolled])

    cycle(made)
    assert set(nodes_of(made, "g").values()) == {"n00", "n10"}
    assert canary(made).status == Status.ROLLED_BACK and not made.state.law.scopes


def test_a_failed_canary_by_the_gate_switches_off_what_it_switched_on() -> None:
    made = off(1, 1)
    start(made, wish(means="gate"))
    submit(made)
    news = cycle(made, 10 * MINUTE)

    assert of(e.GateRolledBack, news).gates == (GATE,)
    assert of(e.FeatureGateChanged, news) == e.FeatureGateChanged(GATE, False)
    assert not made.state.tas_enforced


def test_passing_widens_stage_by_stage_and_in_the_end_is_kept() -> None:
    made = off(2, 2)
    stages = (Scope(("a",)), Scope(("a", "default")), Scope(whole=True))
    start(made, wish(stages=stages))
    submit(made, namespace="a")
    cycle(made)

    widened = of(e.CanaryWidened, cycle(made, 10 * MINUTE))
    assert (widened.stage, widened.scope) == (1, stages[1]) and not made.state.tas_enforced
    news = cycle(made, 10 * MINUTE)
    assert of(e.CanaryWidened, news).gates == (GATE,) and made.state.tas_enforced
    assert of(e.CanaryEnded, cycle(made, 10 * MINUTE)).how == "kept"
    assert canary(made).status == Status.KEPT and made.state.tas_enforced


def test_with_approval_a_person_says_what_follows() -> None:
    made = off(1, 1)
    name = start(made, wish(approval="ask")).id
    assert refused(lambda: approve_events(made.state, name, made.now_ms)) == [("", "it is not judged yet")]
    submit(made)
    news = cycle(made, 10 * MINUTE)
    assert [type(event).__name__ for event in news][-1] == "CanaryJudged"
    assert canary(made).status == Status.ASKING and made.state.law.scopes
    assert cycle(made, 10 * MINUTE) == []
    assert refused(lambda: widen_events(made.state, name, made.now_ms))[0][1].startswith("it failed")

    made.commit(approve_events(made.state, name, made.now_ms))
    assert canary(made).status == Status.ROLLED_BACK


def test_without_data_nothing_follows_by_itself_and_approving_looks_for_longer() -> None:
    made = off(1, 1)
    name = start(made, wish(limits={"throughput": 1_000})).id
    submit(made, count=1)
    news = cycle(made, 10 * MINUTE)
    assert verdicts(of(e.CanaryJudged, news)) == {"throughput": (None, "not_enough_data")}
    assert canary(made).status == Status.ASKING

    made.commit(approve_events(made.state, name, made.now_ms))
    made.commit(throughput_events(made.state, "default/g", 1_250, "steps", "trainer"))
    news = cycle(made, 10 * MINUTE)
    assert verdicts(of(e.CanaryJudged, news)) == {"throughput": (1_250, "passed")}


def test_throughput_is_compared_with_that_of_the_groups_outside_the_scope() -> None:
    made = off(3, 3)
    start(made, wish("a", limits={"throughput_control": 900}))
    for number, rate in enumerate((1_000, 2_000)):
        submit(made, f"g{number}", 1)
        made.commit(throughput_events(made.state, f"default/g{number}", rate, "steps", "t"))
    submit(made, "g", 1, namespace="a")
    made.commit(throughput_events(made.state, "a/g", 700, "tokens", "t"))
    made.commit(throughput_events(made.state, "a/g", 800, "steps", "t"))
    news = cycle(made, 10 * MINUTE)

    assert verdicts(of(e.CanaryJudged, news)) == {"throughput_control": (800, "failed")}


def test_waits_count_from_submission_to_placement_and_open_ones_only_against_a_limit() -> None:
    made = off(2)
    start(made, wish(limits={"wait_median": 5_000, "wait_p95": 120_000}))
    submit(made)
    cycle(made, 3_000)
    assert made.state.records.of(CanaryFacts)[canary(made).id].waits == (("default/g", 3_000),)
    submit(made, "h", 2)
    cycle(made)

    news = cycle(made, 10 * MINUTE - 3_000)
    judged = of(e.CanaryJudged, news)
    assert verdicts(judged) == {"wait_median": (3_000, "passed"), "wait_p95": (597_000, "failed")}
    assert judged.measured[1].at_least and not judged.measured[0].at_least


def test_of_more_waits_than_are_kept_the_longest_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary_fold, "MOST_SAMPLES", 2)
    made = off(8)
    start(made, wish(limits={"wait_longest": MINUTE}))
    for name, wait in (("a", 5_000), ("b", 1_000), ("c", 2_000), ("d", 50_000)):
        submit(made, name)
        cycle(made, wait)

    facts = made.state.records.of(CanaryFacts)[canary(made).id]
    assert (facts.waits, facts.more) == ((("default/a", 5_000), ("default/d", 50_000)), 2)


def test_what_was_waited_before_the_canary_and_by_a_member_made_anew_is_not_its_doing() -> None:
    made = off(0, 2)
    submit(made)
    cycle(made)
    made.now_ms += 60 * MINUTE
    start(made, wish(limits={"wait_longest": MINUTE}))
    made.now_ms += 30_000
    made.commit(delete_member_events(made.state, roster(made.state, "default/g").bound[0].uid, made.now_ms))
    cycle(made, 250)

    facts = made.state.records.of(CanaryFacts)[canary(made).id]
    assert facts.waits == (("default/g", 250),)


def test_the_longest_wait_is_judged_as_soon_as_it_is_too_long() -> None:
    made = off(1, 1)
    begun = start(made, wish(limits={"wait_longest": MINUTE}))
    submit(made)
    cycle(made)
    due = tended(made.state, made.now_ms)[1]
    assert due == made.now_ms + MINUTE + 1 < begun.until

    judged = of(e.CanaryJudged, cycle(made, MINUTE + 1))
    assert (judged.early, judged.verdict) == (True, "failed")


def test_an_error_too_many_is_judged_at_once() -> None:
    made = off(2, 2)
    start(made, wish(limits={"errors": 0}))
    submit(made)
    cycle(made)
    name = next(iter(nodes_of(made, "g").values()))
    made.import_data(text(node(name, "r1", cpu="1")))  # it is in another rack now

    news = cycle(made)
    assert of(e.PodGroupConflicted, news).reason == "conflicting_domains"
    assert verdicts(of(e.CanaryJudged, news)) == {"errors": (1, "failed")}


def test_a_group_that_lacks_members_is_not_pending_because_of_the_canary() -> None:
    made = off(2)
    start(made, wish())
    made.commit([e.PodGroupCreated(PodGroup("default", "h", "uid-h", min_count=2, topology_key=RACK))])
    news = cycle(made, 10 * MINUTE)

    assert verdicts(of(e.CanaryJudged, news)) == {"pending": (0, "passed")}


def test_pending_is_of_the_groups_there_are_and_none_are_no_data() -> None:
    made = off(1, 1)
    start(made, wish("nobody", limits={"pending_share": 500, "errors": 3}))
    judged = of(e.CanaryJudged, cycle(made, 10 * MINUTE))

    assert judged.verdict == "not_enough_data" and {v for _, v in verdicts(judged).values()} == {
        judged.verdict
    }


# --- by a person, and what is refused


def test_rolling_back_now_needs_no_verdict_and_a_kept_one_can_be_stopped() -> None:
    made = off(1, 1)
    name = start(made, wish()).id
    made.commit(roll_back_events(made.state, name))
    assert (canary(made).status, refused(lambda: stop_events(made.state, name))) == (
        Status.ROLLED_BACK,
        [("", "it is over: rolled_back")],
    )
    submit(made, count=1)
    kept = start(made, wish()).id
    cycle(made, 10 * MINUTE)
    assert canary(made).status == Status.KEPT and made.state.law.scopes
    assert start(made, wish("b")).id != kept, "a kept one does not stand in the way of the next"
    made.commit(stop_events(made.state, kept))
    assert [scope.namespaces for scope in made.state.law.scopes] == [("b",)]


def test_one_canary_at_a_time_and_no_gate_is_switched_under_it() -> None:
    made = off(1)
    name = start(made, wish()).id
    assert f"{name} is not over" in refused(lambda: start_events(made.state, wish(), made.now_ms))[0][1]
    assert refused(lambda: gate_events(made.state, GATE, True))[0][0] == f"gates.{GATE}"


def test_an_observed_cluster_takes_none_and_ends_those_there_are() -> None:
    watched = off(1, mode="observed")
    assert refused(lambda: start_events(watched.state, wish(), watched.now_ms))[0][0] == "mode"
    made = off(1)
    start(made, wish())
    made.commit(mode_events(made.state, "observed"))
    assert of(e.CanaryEnded, cycle(made)).how == "observed"
    assert not made.state.law.scopes


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        (wish(limits={}), "limits"),
        (wish(limits={"speed": 3}), "limits.speed"),
        (wish(limits={"pending": -1}), "limits.pending"),
        (wish(limits={"wait_control": 1_000}, means="gate"), "limits.wait_control"),
        (wish(limits={"throughput": 1}, unit="parsecs"), "unit"),
        (wish(window=10), "window"),
        (wish(means="magic"), "means"),
        (wish(approval="never"), "approval"),
        (wish(stages=()), "stages"),
        (wish(stages=(Scope(),)), "stages[0].namespaces"),
        (wish("No Namespace"), "stages[0].namespaces"),
        (wish(stages=(Scope(groups=("nameless",)),)), "stages[0].groups"),
        (wish(stages=(Scope(("a",)), Scope(("b",)))), "stages[1].namespaces"),
        (wish(stages=(Scope(whole=True), Scope(("b",)))), "stages[0].whole"),
        (wish(stages=(Scope(("a",), whole=True),)), "stages[0].namespaces"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(wanted: CanaryWish, path: str) -> None:
    made = off(1)
    assert path in [at for at, _ in refused(lambda: start_events(made.state, wanted, made.now_ms))]


def test_with_every_gate_on_there_is_nothing_to_try() -> None:
    made = MemoryStream()
    assert refused(lambda: start_events(made.state, wish(), 0))[0][0] == "means"


@pytest.mark.parametrize(("rate", "unit", "source"), [(0, "steps", "t"), (5, "laps", "t"), (5, "steps", " ")])
def test_a_measurement_says_what_it_is(rate: int, unit: str, source: str) -> None:
    made = off(1)
    submit(made, count=1)
    assert len(refused(lambda: throughput_events(made.state, "default/g", rate, unit, source))) == 1
    assert refused(lambda: throughput_events(made.state, "default/no", 5, "steps", "t"))[0][0] == ""


# --- the log


def test_decisions_under_a_canary_are_made_again_to_the_byte_and_snapshots_hold_it() -> None:
    made = off(2, 1, 1)
    stages = (Scope(("a",)), Scope(("a", "default")))
    start(made, wish(stages=stages, limits={"wait_median": MINUTE, "errors": 2}))
    for number in range(4):
        submit(made, f"g{number}", 2, namespace="a" if number % 2 else "default")
        cycle(made, 4 * MINUTE)
    state = ClusterState()
    for cycle_told in replayed(state, as_recorded(made.events)):
        assert cycle_told.differences == ()
    packed = snapshots.pack(made.state)
    assert snapshots.pack(snapshots.unpack(packed)) == packed
    assert snapshots.unpack(packed).law == made.state.law
