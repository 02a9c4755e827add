"""Records of a state: kept by kind and id, and independent in a fork."""

from dataclasses import dataclass

from scheduling.engine.state import ClusterState


@dataclass(frozen=True)
class Note:
    id: str
    text: str


def test_a_record_takes_the_place_of_the_one_with_its_id():
    state = ClusterState()
    state.records.put(Note("a", "first"))
    state.records.put(Note("b", "other"))
    state.records.put(Note("a", "second"))
    assert [note.text for note in state.records.of(Note).values()] == ["second", "other"]


def test_what_was_never_put_is_dropped_in_silence():
    state = ClusterState()
    state.records.drop(Note, "a")
    state.records.put(Note("b", "kept"))
    state.records.drop(Note, "a")
    assert list(state.records.of(Note)) == ["b"]


def test_a_fork_and_what_it_was_made_of_change_apart():
    state = ClusterState()
    state.records.put(Note("a", "before"))
    ahead = state.fork()
    ahead.records.put(Note("a", "after"))
    ahead.records.put(Note("b", "new"))
    state.records.drop(Note, "a")
    assert dict(state.records.of(Note)) == {}
    assert [note.text for note in ahead.records.of(Note).values()] == ["after", "new"]
