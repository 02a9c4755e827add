"""What follows without anybody asking: families are asked in turn, each sees what those before it said."""

from scheduling.engine.state import ClusterState
from scheduling.ledger.events import ClusterModeChanged, FeatureGateChanged
from scheduling.services.tending import Followed, tended


class Switches:
    """Turns a gate on at a time, unless it is on."""

    def __init__(self, gate, at):
        self.gate, self.at = gate, at

    def tend(self, state, now_ms):
        if now_ms < self.at or state.gates.get(self.gate):
            return []
        return [Followed(FeatureGateChanged(self.gate, True), state.seq)]

    def due_at(self, state):
        return None if state.gates.get(self.gate) else self.at


class Follows:
    """Makes a cluster observed as soon as a gate is on."""

    def tend(self, state, now_ms):
        on = state.gates.get("A") and state.mode == "simulated"
        return [Followed(ClusterModeChanged("observed"), state.seq)] if on else []

    def due_at(self, state):
        return None


def test_a_family_sees_what_those_before_it_said():
    news, _ = tended(ClusterState(), 10, [Switches("A", 10), Follows()])
    assert [type(followed.event).__name__ for followed in news] == [
        "FeatureGateChanged",
        "ClusterModeChanged",
    ]


def test_the_state_that_was_asked_about_does_not_change():
    state = ClusterState()
    tended(state, 10, [Switches("A", 10)])
    assert state.gates == {} and state.seq == 0


def test_the_next_time_is_the_first_that_is_left():
    families = [Switches("A", 10), Switches("B", 30), Switches("C", 20)]
    assert tended(ClusterState(), 5, families)[1] == 10
    assert tended(ClusterState(), 10, families)[1] == 20
    assert tended(ClusterState(), 30, families)[1] is None
