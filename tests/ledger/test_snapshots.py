"""Snapshots of states: what comes out of the bytes is what went in, and bad bytes are told."""

from dataclasses import is_dataclass
from typing import get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.decision import VerdictSummary
from scheduling.engine.lost import Home, Lost
from scheduling.engine.model import Node, Pod, PodGroup, Workload
from scheduling.engine.past import Closed
from scheduling.engine.state import ClusterState
from scheduling.engine.turns import Turn
from scheduling.ledger import fold, snapshots
from scheduling.ledger.snapshots import BadSnapshot
from tests.ledger.observed import observed
from tests.projections.histories import Commit, histories


def folded(commits: list[Commit]) -> ClusterState:
    state = ClusterState()
    for seq, event in enumerate((event for commit in commits for event in commit), 1):
        fold.apply(state, event, seq, at=seq * 1_000)
    return state


@settings(deadline=None)
@given(told=histories(), data=st.data())
def test_a_state_from_a_snapshot_and_the_events_after_it_is_the_state_from_zero(
    told: list[Commit], data: st.DataObject
) -> None:
    events = [event for commit in told for event in commit]
    at = data.draw(st.integers(0, len(events)), label="seq of the snapshot")
    state = ClusterState()
    for seq, event in enumerate(events, 1):
        if seq == at + 1:
            state = snapshots.unpack(snapshots.pack(state))
        fold.apply(state, event, seq, at=seq * 1_000)
    if at == len(events):
        state = snapshots.unpack(snapshots.pack(state))
    assert observed(state) == observed(folded(told))
    assert snapshots.pack(state) == snapshots.pack(folded(told))


@settings(deadline=None)
@given(told=histories())
def test_equal_states_have_equal_bytes(told: list[Commit]) -> None:
    state = folded(told)
    data = snapshots.pack(state)
    assert snapshots.pack(snapshots.unpack(data)) == data == snapshots.pack(folded(told))
    assert snapshots.pack(state.fork()) == data


@settings(deadline=None)
@given(told=histories(most=3), data=st.data())
def test_bytes_that_are_not_as_they_were_written_are_refused(told: list[Commit], data: st.DataObject) -> None:
    good = snapshots.pack(folded(told))
    cut = data.draw(st.integers(0, len(good) - 1), label="length")
    with pytest.raises(BadSnapshot):
        snapshots.unpack(good[:cut])
    flipped = bytearray(good)
    flipped[data.draw(st.integers(0, len(good) - 1), label="byte")] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BadSnapshot):
        snapshots.unpack(bytes(flipped))
    with pytest.raises(BadSnapshot):
        snapshots.unpack(good + b"x")


def test_no_byte_and_no_length_of_a_snapshot_may_be_another() -> None:
    good = snapshots.pack(ClusterState())
    for place in range(len(good)):
        with pytest.raises(BadSnapshot):
            snapshots.unpack(good[:place])
        for bit in range(8):
            flipped = bytearray(good)
            flipped[place] ^= 1 << bit
            with pytest.raises(BadSnapshot):
                snapshots.unpack(bytes(flipped))


PACKED = {
    "seq",
    "mode",
    "gates",
    "nodes",
    "pods",
    "groups",
    "verdicts",
    "turns",
    "homes",
    "lost",
    "zone_of",
    "ever_apart",
    "past",
    "records",
}
WORKED_OUT = {
    "columns",
    "holds",
    "apart_as_of",
    "rosters",
    "zone_view",
    "stale_zones",
    "_by_group",
    "_by_node",
    "_uids",
    "_apart",
    "_holding",
    "_indexes",
    "_attitudes",
    "_bars",
    "_shapes",
    "_negative",
}


def test_everything_of_a_state_is_packed_or_worked_out() -> None:
    """Whoever adds an attribute says here which of the two, and packs it."""
    assert set(vars(ClusterState())) == PACKED | WORKED_OUT


def test_the_fields_of_everything_packed_are_part_of_its_kind() -> None:
    """So that nobody has to count the format up for a field: snapshots without it are of another kind."""
    known = set(snapshots._KINDS)
    waiting: list[object] = [Node, Pod, PodGroup, VerdictSummary, Turn, Home, Lost, Closed, Workload]
    while waiting:
        part = waiting.pop()
        if is_dataclass(part):
            assert part in known
            waiting += get_type_hints(part).values()
        waiting += get_args(part)
