"""Snapshots of states: what comes out of the bytes is what went in, and bad bytes are told."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.state import ClusterState
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
