"""A base is what the state was, for longer than one version of the console."""

import zlib

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduling.engine.model import Node, Pod, Shape
from scheduling.engine.state import ClusterState
from scheduling.ledger import bases, fold, snapshots
from tests.ledger.observed import observed
from tests.ledger.test_snapshots import folded
from tests.projections.histories import Commit, histories

UNHURRIED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@UNHURRIED
@given(told=histories(), data=st.data())
def test_a_state_from_a_base_and_the_events_after_it_is_the_state_from_zero(
    told: list[Commit], data: st.DataObject
) -> None:
    events = [event for commit in told for event in commit]
    at = data.draw(st.integers(0, len(events)), label="seq of the base")
    state = ClusterState()
    for seq, event in enumerate(events, 1):
        if seq == at + 1:
            state = bases.unpack(bases.pack(state))
        fold.apply(state, event, seq, at=seq * 1_000)
    if at == len(events):
        state = bases.unpack(bases.pack(state))
    assert observed(state) == observed(folded(told))
    assert snapshots.pack(state) == snapshots.pack(folded(told))


@UNHURRIED
@given(told=histories())
def test_equal_states_have_equal_bytes(told: list[Commit]) -> None:
    data = bases.pack(folded(told))
    assert bases.pack(bases.unpack(data)) == data == bases.pack(folded(told))
    assert bases.pack(snapshots.unpack(snapshots.pack(folded(told)))) == data


def test_a_base_of_a_version_that_knew_fewer_fields_is_read() -> None:
    """As the body of an event of then is: what was not known has its default."""
    state = ClusterState()
    state.set_node(Node("n1", "u1", zones=()))
    state.set_pod(Pod("ml", "p1", "u2", Shape((("cpu", 1),))))
    told = orjson.loads(zlib.decompress(bases.pack(state)))
    assert "zones" not in told["nodes"][0] and "terminating" not in told["pods"][0]
    read = bases.unpack(zlib.compress(orjson.dumps(told)))
    assert read.nodes["n1"].zones == () and not read.pods["u2"].terminating
