"""The map of a past moment: the same as the live one at the head, whatever happened, and replayed event by
event to the same.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis.extra.django import TestCase

from scheduling.engine.numa_names import NUMA_KEY
from scheduling.ledger import fold, store
from scheduling.models import Cluster
from scheduling.projections import writer
from scheduling.selectors import past_map, past_states, rack_map
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from scheduling.services.nodes import cordon, uncordon
from tests.api.support import RACK, dump, gang, node
from tests.projections.histories import Commit, histories
from tests.selectors.test_rack_map import by_name

Seen = dict[str, tuple[Any, ...]]


def told(history: list[Commit]) -> Cluster:
    """The history in the log and the tables, commit by commit."""
    stream = store.open_stream("cluster", "demo")
    seq = 0
    for number, events in enumerate(history):
        with transaction.atomic():
            appended = store.append(
                stream, seq, events, actor="test", command_id=f"c{number}", now=1_000 * number
            )
            writer.project(stream, appended.recorded)
        seq = appended.last
    return Cluster.objects.get(pk=stream)


def patched(nodes: Seen, patches: list[list[Any]], groups: list[str]) -> Seen:
    result = dict(nodes)
    for index, name, domain, state, gpus, *runs in patches:
        if state & rack_map.REMOVED:
            result.pop(name, None)
        else:
            named = [(groups[group] if group >= 0 else "", amount) for group, amount in runs]
            result[name] = (index, domain, state, gpus, named)
    return result


class Histories(TestCase):
    """Any history of nodes, pods, groups, decisions and gates, sensible or not."""

    def setUp(self) -> None:
        past_states.clear()

    @settings(max_examples=30, deadline=None)
    @given(history=histories())
    def test_at_the_head_the_past_looks_as_the_tables_do(self, history: list[Commit]) -> None:
        cluster = told(history)
        head = store.head(cluster.pk).seq
        for key in (None, RACK, NUMA_KEY):
            assert past_map.snapshot(cluster, head, key) == rack_map.snapshot(cluster, key)

    @settings(max_examples=30, deadline=None)
    @given(history=histories())
    def test_frames_lead_from_any_moment_to_every_later_one(self, history: list[Commit]) -> None:
        cluster = told(history)
        head = store.head(cluster.pk).seq
        for start in range(0, head, 3):
            replay = past_map.replay(cluster, start, limit=100, key=RACK)
            assert (replay.start, replay.end, replay.head) == (start, head, head)
            assert [frame.recorded.seq for frame in replay.frames] == [*range(start + 1, head + 1)]
            shown = by_name(past_map.snapshot(cluster, start, RACK))
            kpi = replay.kpi
            for frame in replay.frames:
                shown = patched(shown, frame.nodes, replay.groups)
                kpi = frame.kpi or kpi
                there = past_map.snapshot(cluster, frame.recorded.seq, RACK)
                assert shown == by_name(there)
                assert kpi == there["kpi"]

    @settings(max_examples=20, deadline=None)
    @given(history=histories())
    def test_with_its_base_a_replay_can_be_taken_back(self, history: list[Commit]) -> None:
        cluster = told(history)
        replay = past_map.replay(cluster, 1, limit=100, key=RACK)
        end = by_name(past_map.snapshot(cluster, replay.end, RACK))
        assert patched(end, replay.base, replay.groups) == by_name(past_map.snapshot(cluster, 1, RACK))

    @settings(max_examples=20, deadline=None)
    @given(history=histories())
    def test_a_kept_state_folded_on_is_the_state_from_zero(self, history: list[Commit]) -> None:
        cluster = told(history)
        head = store.head(cluster.pk).seq
        for seq in (1, head // 2, head, head // 3):
            kept, anew = past_states.state_at(cluster, seq), fold.state_at(cluster.pk, seq)
            assert (kept.seq, kept.nodes, kept.pods, kept.groups) == (
                seq,
                anew.nodes,
                anew.pods,
                anew.groups,
            )
            assert (kept.verdicts, kept.turns, kept.gates) == (anew.verdicts, anew.turns, anew.gates)


def imported(*objects: dict[str, Any], **options: Any) -> Cluster:
    request = ImportRequest(data=dump(*objects), mode="simulated", gates=None, **options)
    import_cluster(name="demo", request=request, actor="test")
    return Cluster.objects.get(name="demo")


@pytest.fixture
def cluster(db: None) -> Cluster:
    """Two racks of two nodes; a gang placed, one that waits."""
    past_states.clear()
    made = imported(
        *(node(f"node-{rack}-{place}", f"rack-{rack}") for rack in (1, 2) for place in (1, 2)),
        *gang("fits", 2),
        *gang("wide", 3),
    )
    run_cycle(made.pk)
    return made


def head(cluster: Cluster) -> int:
    return store.head(cluster.pk).seq


def test_a_node_that_was_removed_is_there_again_in_the_past_under_its_index(cluster: Cluster) -> None:
    before = head(cluster)
    shown = by_name(rack_map.snapshot(cluster, RACK))
    imported(node("node-2-2", "rack-2"), complete=frozenset({"Node"}))
    assert by_name(rack_map.snapshot(cluster, RACK)).keys() == {"node-2-2"}
    assert by_name(past_map.snapshot(cluster, before, RACK)) == shown


def test_the_default_key_is_that_of_the_moment(cluster: Cluster) -> None:
    assert past_map.snapshot(cluster, 1)["key"] == ""
    assert past_map.snapshot(cluster, head(cluster))["key"] == RACK


def test_a_moment_ahead_of_the_log_is_refused(cluster: Cluster) -> None:
    ahead = head(cluster) + 1
    with pytest.raises(LookupError):
        past_map.snapshot(cluster, ahead)
    past_map.snapshot(cluster, ahead - 1)
    with pytest.raises(LookupError):
        past_map.snapshot(cluster, ahead)
    with pytest.raises(LookupError):
        past_map.replay(cluster, ahead, limit=10, key=RACK)


def test_a_replay_ends_at_its_limit_and_can_be_asked_on(cluster: Cluster) -> None:
    first = past_map.replay(cluster, 2, limit=3, key=RACK)
    assert (first.start, first.end, first.head) == (2, 5, head(cluster))
    assert [frame.recorded.seq for frame in first.frames] == [3, 4, 5]
    following = past_map.replay(cluster, first.end, limit=1, key=RACK)
    assert [frame.recorded.seq for frame in following.frames] == [6]


def test_a_replay_ends_with_the_event_that_brings_it_to_its_bound_of_nodes(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_map, "MOST_PATCHES", 2)
    start = head(cluster)
    for _ in range(3):
        cordon(cluster=cluster, node="node-1-1", actor="test")
        uncordon(cluster=cluster, node="node-1-1", actor="test")
    replay = past_map.replay(cluster, start, limit=100, key=RACK)
    assert (replay.end, replay.head) == (start + 2, start + 6)


def test_at_the_head_a_replay_is_empty(cluster: Cluster) -> None:
    replay = past_map.replay(cluster, head(cluster), limit=10, key=RACK)
    assert (replay.start, replay.end, replay.frames, replay.base) == (head(cluster), head(cluster), [], [])


def test_the_period_has_its_ends_and_marks_in_order(cluster: Cluster) -> None:
    period = past_map.period(cluster)
    assert period is not None
    assert (period.first.seq, period.last.seq) == (1, head(cluster))
    seqs = [mark.seq for mark in period.marks]
    assert seqs == sorted(set(seqs)) and (seqs[0], seqs[-1]) == (1, head(cluster))
    assert period.marks[0].recorded_at == period.first.recorded_at


def test_the_past_that_is_asked_for_again_is_not_folded_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int | None] = []

    def counted(stream_id: int, seq: int | None = None) -> Any:
        asked.append(seq)
        return original(stream_id, seq)

    original = fold.state_at
    monkeypatch.setattr(fold, "state_at", counted)
    for seq in (3, 3, 5, 4):
        past_map.snapshot(cluster, seq, RACK)
    assert asked == [3], "5 is folded on from 3, and 4 too"


def test_a_kept_state_of_another_history_is_not_used(cluster: Cluster) -> None:
    seq = head(cluster)
    past_states.state_at(cluster, seq)
    assert {key[1] for key in past_states._kept} == {seq}
    (((stream, _, _digest), state),) = list(past_states._kept.items())
    past_states._kept.clear()
    state.nodes.clear()
    past_states._kept[stream, seq, bytes(32)] = state
    assert len(past_states.state_at(cluster, seq).nodes) == 4
