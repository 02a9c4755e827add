"""What is kept of shapes between decisions equals what is counted anew, after any history, in every copy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine import columns as columns_module
from scheduling.engine import shapes
from scheduling.engine.model import Node, Pod, PodGroup
from scheduling.engine.shapes import ShapeIndex
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import ALL_NODES
from tests.engine.builders import GPU, RACK, ZONE, cluster, node, pod, shape
from tests.engine.strategies import ELIGIBILITIES, groups, nodes, strangers

ASKED = [
    shape(cpu=cpu, gpu=gpu, eligibility=eligibility)
    for cpu, gpu in ((500, 0), (1000, 1), (0, 2))
    for eligibility in ELIGIBILITIES[1:]
]
KEYS = (RACK, ZONE, ALL_NODES)
NAMES = [f"n{number}" for number in range(6)]

Step = tuple[str, object]


def check(state: ClusterState, asked: list[int]) -> None:
    for number in asked:
        one, key = ASKED[number % len(ASKED)], KEYS[number % len(KEYS)]
        kept, counts = state.shape(one.requests, one.eligibility, key)
        view, fresh = ShapeIndex().view(
            state.columns, one.requests, one.eligibility, state.bars(one.eligibility), key, state._indexes
        )
        for name in state.nodes:
            row = state.columns.slot[name]
            assert (kept.caps[row], kept.whole[row], kept.open[row]) == (
                view.caps[row],
                view.whole[row],
                view.open[row],
            )
            assert kept.caps[row] <= kept.top
        assert counts.index is state.index(key)
        for kept_sums, fresh_sums in (
            (counts.places, fresh.places),
            (counts.in_parts, fresh.in_parts),
            (counts.eligible, fresh.eligible),
        ):
            assert np.array_equal(kept_sums, fresh_sums)


asks = st.lists(st.integers(0, 35), max_size=4)


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Objects set, set otherwise and taken away, pods bound, nodes relabelled; shapes asked for between."""
    history: list[Step] = []
    for _ in range(draw(st.integers(1, 3))):
        things = [*draw(nodes()), *draw(strangers(NAMES)), *draw(groups("g", NAMES, 2, most=3))]
        for thing in draw(st.permutations(things)):
            history.append(("set", thing))
            if draw(st.booleans()):
                history.append(("ask", draw(asks)))
        for name in draw(st.lists(st.sampled_from(NAMES), max_size=3)):
            history += [
                draw(
                    st.sampled_from(
                        [("remove", name), ("relabel", name), ("bind", name), ("delete", "pod-g-0")]
                    )
                ),
                ("ask", draw(asks)),
            ]
    return history


def play(state: ClusterState, history: list[Step]) -> None:
    for verb, what in history:
        match verb, what:
            case "set", Node() as one:
                state.set_node(one)
            case "set", Pod() as one:
                state.set_pod(one)
            case "set", PodGroup() as one:
                state.set_group(one)
            case "remove", str(name):
                state.remove_node(name, f"node-{name}")
            case "relabel", str(name) if name in state.nodes:
                state.set_node(node(name, "r9", labels={ZONE: "z1"}))
            case "bind", str(name) if "pod-g-1" in state.pods:
                state.bind("pod-g-1", name)
            case "delete", str(uid):
                state.remove_pod(uid)
            case "ask", list(asked):
                check(state, asked)


@settings(max_examples=80, deadline=None)
@given(histories())
def test_after_any_history_the_counts_are_those_of_a_full_rebuild(history: list[Step]) -> None:
    state = cluster()
    play(state, history)
    check(state, list(range(len(ASKED) * len(KEYS))))


@settings(max_examples=60, deadline=None)
@given(histories(), histories(), histories(), asks)
def test_copies_never_see_each_others_changes(
    common: list[Step], here: list[Step], there: list[Step], asked: list[int]
) -> None:
    origin = cluster()
    play(origin, common)
    fork = origin.fork()
    check(fork, asked)
    second = fork.fork()
    everything = list(range(len(ASKED) * len(KEYS)))
    for step in range(max(len(here), len(there))):
        play(origin, here[step : step + 1])
        play(fork, there[step : step + 1])
    for state in (second, origin, fork):
        check(state, everything)


def racks(count: int) -> list[Node]:
    return [node(f"n{number:03}", f"r{number // 8:02}", cpu=4000, gpu=4) for number in range(count)]


def test_an_event_makes_a_shape_look_at_its_row_only(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    state = cluster(racks(400))
    one = shape(cpu=1000)
    looked: list[int] = []
    real = shapes.per_row
    monkeypatch.setattr(
        shapes, "per_row", lambda room, rows, *more: looked.append(rows) or real(room, rows, *more)
    )
    state.shape(one.requests, one.eligibility, RACK)
    state.shape(one.requests, one.eligibility, RACK)
    state.set_pod(pod("x", node="n003"))
    state.set_pod(pod("y", node="n003"))
    state.set_pod(pod("z", node="n300"))
    _, counts = state.shape(one.requests, one.eligibility, RACK)
    assert looked == [state.columns.rows, 2]
    assert (counts.places[0], counts.places[37]) == (30, 31)


def test_beyond_a_quarter_of_the_rows_all_are_looked_at() -> None:
    columns = columns_module.Columns()
    for number in range(64):
        columns.add(f"n{number}")
    before = columns.version
    for row in range(16):
        columns.touch(row)
    rows = columns.changed_since(before)
    assert rows is not None
    assert rows.tolist() == list(range(16))
    columns.touch(3)
    assert columns.changed_since(before) is None
    assert columns.changed_since(columns.version - 1).tolist() == [3]  # type: ignore[union-attr]


def test_the_least_recently_asked_shape_is_forgotten_first(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(shapes, "KEPT", 2)
    state = cluster(racks(8))
    views = []
    for cpu in (1000, 2000, 1000, 3000, 1000, 2000):
        one = shape(cpu=cpu)
        views.append(state.shape(one.requests, one.eligibility, RACK)[0])
    assert views[0] is views[2] is views[4]
    assert views[1] is not views[5]


def test_what_a_copy_counts_before_it_changes_serves_the_origin_and_later_copies() -> None:
    origin = cluster(racks(80))
    one = shape(gpu=1)
    counted, _ = origin.fork().fork().shape(one.requests, one.eligibility, RACK)
    assert origin.shape(one.requests, one.eligibility, RACK)[0] is counted
    origin.set_pod(pod("x", gpu=1, node="n000"))
    later = origin.fork()
    changed, counts = later.shape(one.requests, one.eligibility, RACK)
    assert changed is not counted
    assert (counts.places[0], counted.domains[RACK].places[0]) == (31, 32)
    assert GPU in later.free("n000")
