"""A replay decides as the console does, in no other time than its own, and the same however it is cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.model import TAS_GATES, Node, Pod, PodGroup
from scheduling.engine.state import ClusterState
from scheduling.ledger import events as e
from scheduling.scenarios import kueue_load, trace_runs
from scheduling.scenarios.traces import Ending, Submission, Trace, TraceQueue
from scheduling.scenarios.virtual_time import EPOCH, NAMESPACE, Replay, fragmentation, ground, shape_of
from scheduling.services.deciding import decided
from scheduling.services.members import closing_events
from scheduling.services.waking import Looked
from tests.services.test_waking import Log

RACK = "rack"
ON = dict.fromkeys(TAS_GATES, True)


def nodes(racks: int = 2, size: int = 2, cpu: int = 4000) -> tuple[Node, ...]:
    return tuple(
        Node(
            f"n-{rack}-{place}", f"node-n-{rack}-{place}", ((RACK, f"r{rack}"),),
            allocatable=(("cpu", cpu), ("pods", 20)),
        )
        for rack in range(racks)
        for place in range(size)
    )  # fmt: skip


def gang(at: int, name: str, members: int, cpu: int = 1000, **more: Any) -> Submission:
    more.setdefault("run_ms", 100)
    more.setdefault("topology_key", RACK)
    return Submission(at, name, members, (("cpu", cpu),), more.pop("min_count", members), **more)


def trace(*submissions: Submission, **more: Any) -> Trace:
    return Trace(more.pop("nodes", nodes()), tuple(sorted(submissions, key=lambda each: each.at)), **more)


def replayed(made: Trace, gates: Mapping[str, bool] = ON, profile: str = "exact") -> Replay:
    replay = Replay(made, ground(made.nodes, gates), profile)
    while replay.step():
        pass
    return replay


class Recording(Replay):
    """Keeps every assignment of every decision, with its time."""

    def _after(self, event: Any, at: int) -> None:
        self.log: list[tuple[int, str, tuple[Any, ...]]] = getattr(self, "log", [])
        if isinstance(event, e.PodGroupPlaced):
            self.log.append((at, event.name, event.assignments))
        super()._after(event, at)


def known(state: ClusterState) -> dict[str, Any]:
    """What is known of the last decision of each group that is open, but for its place in the log."""
    turns = {
        key: (each.at, each.attempts, each.failed_at, each.waits_since) for key, each in state.turns.items()
    }
    return {
        "verdicts": state.verdicts,
        "turns": turns,
        "nodes": {uid: pod.node for uid, pod in state.pods.items()},
    }


def by_the_console(
    made: Trace, gates: Mapping[str, bool], profile: str
) -> tuple[list[tuple[int, str, Any]], dict[str, Any]]:
    """The same trace on a log in memory with the console's cycles, which keep everything and know nothing of
    traces.
    """
    log = Log(
        *(e.FeatureGateChanged(gate, on) for gate, on in sorted(gates.items())), *map(e.NodeAdded, made.nodes)
    )
    log.looked, log.now = Looked(0, EPOCH), EPOCH
    ends: dict[int, list[str]] = {}
    found, begun = [], set()
    retry_at: set[int] = set()
    endings = {each.name: each.at for each in made.endings}
    comes: dict[int, list[Submission]] = {}
    for each in made.submissions:
        comes.setdefault(each.at, []).append(each)
        if each.name in endings:
            ends.setdefault(max(endings[each.name], each.at + 1), []).append(each.name)
    while times := {*ends, *comes, *retry_at}:
        at = min(times)
        log.now = EPOCH + at
        for name in ends.pop(at, []):
            group = log.state.groups.get(f"{NAMESPACE}/{name}")
            if group is not None:
                log.commit(*closing_events(log.state, group, pods="group_ended", why="ended"))
        for each in comes.pop(at, []):
            log.commit(
                e.PodGroupCreated(
                    PodGroup(
                        NAMESPACE, each.name, each.name, min_count=each.min_count,
                        topology_key=each.topology_key, priority=each.priority, created=EPOCH + each.at,
                    )
                ),
                *(
                    e.PodAdded(
                        Pod(
                            NAMESPACE, f"{each.name}-{number}", f"{each.name}-{number}", shape_of(each),
                            group=each.name, priority=each.priority, created=EPOCH + at,
                        )
                    )
                    for number in range(each.members)
                ),
            )  # fmt: skip
        due = log.due()
        retry_at = set() if due.retry_at is None else {due.retry_at - EPOCH}
        told = list(decided(log.state, log.now, profile=profile, due=due.causes))
        log.commit(*(one.event for one in told), causes=tuple(one.cause for one in told))
        log.looked = Looked(log.state.seq, log.now)
        of = {each.name: each for each in made.submissions}
        for one in told:
            if isinstance(one.event, e.PodGroupPlaced):
                name = one.event.name
                found.append((at, name, one.event.assignments))
                run_ms = of[name].run_ms
                if name not in begun and run_ms is not None:
                    ends.setdefault(at + run_ms, []).append(name)
                begun.add(name)
    return found, known(log.state)


loads = st.builds(
    lambda rows, ended: trace(
        *(
            gang(
                at * 250, f"g{number}", members, cpu * 500, run_ms=run * 400, min_count=min(least, members),
                topology_key=RACK if key else "", priority=priority,
            )
            for number, (at, members, cpu, run, least, key, priority) in enumerate(rows)
        ),
        endings=tuple(
            sorted(
                (
                    Ending(rows[number % len(rows)][0] * 250 + later, f"g{number % len(rows)}")
                    for number, later in dict(ended).items()
                ),
                key=lambda each: each.at,
            )
        ),
    ),
    st.lists(
        st.tuples(
            st.integers(0, 12), st.integers(1, 6), st.integers(1, 9), st.integers(1, 12), st.integers(1, 6),
            st.booleans(), st.integers(0, 1),
        ),
        min_size=1, max_size=12,
    ),
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 2000)), max_size=2),
)  # fmt: skip


@pytest.mark.parametrize("profile", ["exact", "upstream-1.36"])
@settings(max_examples=60, deadline=None)
@given(made=loads, on=st.booleans())
def test_it_places_whom_the_console_would_at_the_same_time_on_the_same_nodes(
    profile: str, made: Trace, on: bool
) -> None:
    gates = ON | {"TopologyAwareWorkloadScheduling": on}
    replay = Recording(made, ground(made.nodes, gates), profile)
    while replay.step():
        pass
    assert (getattr(replay, "log", []), known(replay.state)) == by_the_console(made, gates, profile)


@settings(max_examples=40, deadline=None)
@given(made=loads, cuts=st.lists(st.integers(0, 40), max_size=3))
def test_it_gives_the_same_result_however_often_it_goes_on_from_a_checkpoint(
    made: Trace, cuts: list[int]
) -> None:
    whole = replayed(made)
    replay = Replay(made, ground(made.nodes, ON))
    steps = 0
    while True:
        if steps in cuts:
            replay = trace_runs.resumed(made, "exact", trace_runs.checkpoint(replay))
        if not replay.step():
            break
        steps += 1
    assert replay.result() == whole.result()
    assert trace_runs.waits_csv(replay) == trace_runs.waits_csv(whole)


def test_a_gang_waits_until_room_is_given_back_and_rests_as_in_the_console() -> None:
    replay = replayed(
        trace(gang(0, "first", 8, run_ms=500), gang(0, "second", 8, run_ms=3000), gang(100, "third", 8))
    )
    result = replay.result()
    # Two racks of two nodes of four cores: there is room for the third from 500 on, but it rests until 1,100.
    assert replay.begun == {"first": 0, "second": 0, "third": 1100}
    assert result["waits"] == {"count": 3, "mean": 333, "p50": 0, "p95": 1000, "max": 1000}
    assert (result["placed"], result["ended"], result["duration_ms"]) == (3, 3, 3000)


def test_use_is_the_mean_over_time_of_what_is_had_of_what_there_is() -> None:
    result = replayed(trace(gang(0, "half", 8, run_ms=100), gang(100, "none", 1, run_ms=300))).result()
    # 8 of 16 cores for 100 ms, then 1 of 16 for 300 ms.
    assert result["use"] == [
        {"resource": "cpu", "amount": 16_000, "per_mille": (8 * 100 + 300) * 1000 // (16 * 400)}
    ]


def test_what_can_never_be_placed_is_told_apart_from_what_waits() -> None:
    result = replayed(
        trace(
            gang(0, "too-wide", 9),
            gang(0, "stays", 8, run_ms=None),
            gang(0, "too", 8, run_ms=None),
            gang(1, "late", 8),
        )
    ).result()
    assert (result["rejected"], result["waiting_at_end"], result["running_at_end"]) == (1, 1, 2)


def test_without_the_gate_a_gang_may_be_spread() -> None:
    off = ON | {"TopologyAwareWorkloadScheduling": False}
    assert replayed(trace(gang(0, "wide", 9)), off).result()["placed"] == 1


def test_an_ending_ends_a_workload_that_runs_and_one_that_waits() -> None:
    made = trace(
        gang(0, "runs", 8, run_ms=None), gang(0, "runs-too", 8, run_ms=None), gang(10, "waits", 8),
        endings=(Ending(50, "waits"), Ending(80, "runs"), Ending(90, "runs-too")),
    )  # fmt: skip
    result = replayed(made).result()
    assert (result["ended"], result["withdrawn"], result["duration_ms"]) == (2, 1, 90)


class TestQuota:
    QUEUES = (
        TraceQueue("a", "both", (("cpu", 4000),), (("cpu", 2000),)),
        TraceQueue("b", "both", (("cpu", 4000),), (("cpu", 2000),)),
    )

    def test_a_queue_borrows_from_its_cohort_up_to_its_limit(self) -> None:
        made = trace(
            gang(0, "six", 6, queue="a"), gang(0, "more", 1, queue="a"), queues=self.QUEUES, nodes=nodes(2, 4)
        )
        assert replayed(made).begun == {
            "six": 100,
            "more": 0,
        }  # the first of the name order takes what is left

    def test_all_queues_of_a_cohort_keep_to_their_sum(self) -> None:
        made = trace(
            gang(0, "a6", 6, queue="a"), gang(1, "b3", 3, queue="b"), queues=self.QUEUES, nodes=nodes(2, 4)
        )
        assert replayed(made).begun == {"a6": 0, "b3": 100}

    def test_a_higher_priority_goes_first_and_nobody_is_called_back(self) -> None:
        made = trace(
            gang(0, "low", 6, queue="a"),
            gang(0, "high", 6, queue="b", priority=9),
            gang(1, "higher", 6, queue="a", priority=10),
            queues=self.QUEUES,
            nodes=nodes(2, 4),
        )
        assert replayed(made).begun == {"high": 0, "higher": 100, "low": 200}

    def test_what_no_quota_could_ever_hold_is_rejected(self) -> None:
        made = trace(
            gang(0, "seven", 7, queue="a"),
            gang(0, "one", 1, queue="a"),
            queues=self.QUEUES,
            nodes=nodes(2, 4),
        )
        result = replayed(made).result()
        assert (result["rejected"], result["over_quota"], result["placed"]) == (1, 1, 1)

    def test_who_is_rejected_for_ever_gives_quota_back_at_once(self) -> None:
        made = trace(
            gang(0, "a-too-large-for-any-node", 1, 5000, queue="a"),
            gang(0, "b4", 4, queue="b"),
            queues=self.QUEUES,
            nodes=nodes(2, 4),
            endings=(Ending(50, "a-too-large-for-any-node"),),
        )
        replay = replayed(made)
        assert (replay.begun, replay.result()["rejected"]) == ({"b4": 0}, 1)
        assert replay.admission.had() == {"cpu": 0}

    def test_use_of_quota_is_what_was_let_through_of_what_all_queues_have(self) -> None:
        made = trace(gang(0, "a4", 4, queue="a", run_ms=100), queues=self.QUEUES, nodes=nodes(2, 4))
        assert replayed(made).result()["quota_use"] == [{"resource": "cpu", "amount": 8000, "per_mille": 500}]


class TestFragmentation:
    def measured(self, *free: tuple[int, int], members: int = 4) -> int:
        """Of racks of two nodes with so many cores free on each, for a gang of members of two cores."""
        there = tuple(
            replace(node, allocatable=(("cpu", 1000 * free[number // 2][number % 2]), ("pods", 20)))
            for number, node in enumerate(nodes(len(free)))
        )
        made = trace(gang(0, "probe", members, 2000), nodes=there)
        replay = Replay(made, ground(made.nodes, ON))
        return fragmentation(replay.state, replay.probe)

    def test_nothing_is_stranded_where_every_rack_holds_the_gang(self) -> None:
        assert self.measured((4, 4), (4, 4)) == 0

    def test_a_rack_that_does_not_hold_the_gang_is_stranded(self) -> None:
        assert self.measured((4, 4), (4, 2)) == 1000 - 1000 * 8 // 14

    def test_what_is_left_on_a_node_beside_members_is_stranded(self) -> None:
        assert self.measured((5, 4)) == 1000 - 1000 * 8 // 9

    def test_nothing_free_is_nothing_stranded(self) -> None:
        made = trace(gang(0, "probe", 1, 1000), nodes=nodes(1, 1, 1000))
        replay = Replay(made, ground(made.nodes, ON))
        replay.step()
        assert fragmentation(replay.state, replay.probe) == 0


class TestKueueLoad:
    def test_it_is_the_load_of_the_test_it_is_called_after(self) -> None:
        made = kueue_load.trace()
        assert (len(made.nodes), len(made.submissions), len(made.queues)) == (640, 15_000, 30)
        assert sum(each.members for each in made.submissions) == 45_000
        assert {each.cohort for each in made.queues} == {f"cohort-{number}" for number in range(5)}
        of_one = [each for each in made.submissions if each.queue == "cq-0-0"]
        counted = {
            size: (
                len(found),
                {each.members * dict(each.requests)["cpu"] for each in found},
                {each.run_ms for each in found},
            )
            for size in ("small", "medium", "large")
            if (found := [each for each in of_one if each.klass.startswith(size)])
        }
        assert counted == {
            "small": (350, {1000}, {200}), "medium": (100, {5000}, {500}), "large": (50, {20_000}, {1000}),
        }  # fmt: skip

    def test_a_rack_that_is_only_preferred_is_required_or_not_asked_for(self) -> None:
        assert all(each.topology_key for each in kueue_load.trace("required").submissions)
        asked = {
            each.klass.split("-")[1] for each in kueue_load.trace("none").submissions if each.topology_key
        }
        assert asked == {"required"}

    def test_the_whole_load_uses_more_of_its_quota_than_kueue_reports(self) -> None:
        result = replayed(kueue_load.trace()).result()
        assert (result["placed"], result["waiting_at_end"], result["rejected"]) == (15_000, 0, 0)
        assert result["quota_use"][0]["per_mille"] >= 624
