"""Whether the room of a domain tells the same as a decision, with any pods thought away."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.cuts import cut
from scheduling.engine.preemption_room import Room
from scheduling.engine.preemption_trials import ByDecision, ByRoom
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from tests.engine.builders import RACK
from tests.engine.preemption_cases import KEY, occupied

SEEDS = st.integers(0, 1 << 32)


def both(state: ClusterState, seed: int, domain: int) -> list[tuple[bool, bool]]:
    """What each says about some sets of pods: by room, by decision."""
    dice, who, index = Random(seed), roster(state, KEY), state.index(RACK)
    names, kinds = index.names[index.slice(domain)], who.kinds()
    bars = [state.bars(kind.eligibility)[index.order[index.slice(domain)]] for kind in kinds]
    by_room = ByRoom(index.only(domain).by_position(), kinds, bars, who.missing)
    by_decision = ByDecision(cut(state, KEY, [index.domains[domain]]), KEY)
    empty = Room(state, kinds, names, who.missing)
    others = [pod for pod in state.pods.values() if pod.node and pod not in who.bound]
    said = []
    for _ in range(6):
        gone = [pod for pod in others if dice.random() < 0.6]
        then = empty.copy()
        then.change(then.footprint(gone), 1)
        said.append((by_room.places(gone, then), by_decision.places(gone, then)))
    assert by_room.sure
    assert by_decision.sure
    return said


@given(SEEDS, st.integers(2, 3))
@settings(max_examples=80, deadline=None)
def test_the_room_of_a_domain_tells_the_same_as_a_decision(seed: int, shapes: int) -> None:
    state = occupied(seed, shapes=shapes)
    if roster(state, KEY).bound:  # pinned, and so one domain that is of its own choice
        return
    for domain in range(len(state.index(RACK).domains)):
        assert all(by_room == by_decision for by_room, by_decision in both(state, seed, domain))


def test_the_drawn_cases_fit_and_do_not_fit() -> None:
    states = [occupied(seed, shapes=2) for seed in range(40)]
    said = {one for seed, state in enumerate(states) for one in both(state, seed, 0)}

    assert said == {(True, True), (False, False)}


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_a_copy_of_the_room_is_changed_apart_and_putting_back_undoes(seed: int) -> None:
    state = occupied(seed, shapes=2)
    who, index = roster(state, KEY), state.index(RACK)
    room = Room(state, who.kinds(), index.names[index.slice(0)], who.missing)
    kept = ([*map(list, room.free)], [*map(list, room.caps)], list(room.totals), room.devices(room))
    other = room.copy()
    gone = other.footprint(state.pods.values())

    other.change(gone, 1)
    assert (room.free, room.caps, room.totals, room.devices(room)) == kept
    other.change(gone, -1)
    assert (other.free, other.caps, other.totals, other.devices(other)) == kept
