"""Upper bounds for several kinds at once, and the arithmetic of columns."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine import oracle
from scheduling.engine.capacity import emptied, field, held_by, unbarred
from scheduling.engine.eligibility import Bar
from scheduling.engine.roster import roster
from scheduling.engine.shapes import per_row
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import ALL_NODES, build
from tests.engine.builders import RACK, cluster, gang, members, node, pod
from tests.engine.strategies import crowded

G = "ml/g"


def bounds(state: ClusterState) -> dict[str, int]:
    seen = field(state, state.index(RACK), roster(state, G).kinds())
    return dict(zip(seen.index.domains, seen.most().tolist(), strict=True))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 31).map(crowded))
def test_the_bound_is_never_below_what_is_possible(state: ClusterState) -> None:
    possible = oracle.most(state, G)
    assert all(bounds(state)[domain] >= most for domain, most in possible.items())


def test_each_shape_alone_bounds_the_group() -> None:
    state = cluster(node("a", cpu=3000), gang("g", 2), pod("g-0", "g", cpu=4000), pod("g-1", "g", cpu=1000))
    assert bounds(state) == {"r1": 1}


def test_the_sum_of_a_resource_bounds_the_group() -> None:
    state = cluster(node("a", cpu=5000), gang("g", 2), pod("g-0", "g", cpu=4000), pod("g-1", "g", cpu=2000))
    assert bounds(state) == {"r1": 1}


def test_dominance_bounds_what_sums_do_not_see() -> None:
    state = cluster(
        [node(name, cpu=3000) for name in ("a", "b")],
        gang("g", 3),
        pod("g-0", "g", cpu=2000),
        [pod(f"s-{n}", "g", cpu=2000 - 1) for n in range(2)],
    )
    assert bounds(state) == {"r1": 2}


def test_a_resource_that_is_not_asked_for_is_not_looked_at_and_negative_room_is_none() -> None:
    room = {"cpu": np.array([-5, 7, 9]), "gpu": np.array([-1, -1, 2])}
    assert per_row(room, 3, (("cpu", 3),)).tolist() == [0, 2, 3]
    assert per_row(room, 3, (("cpu", 3), ("gpu", 0))).tolist() == [0, 2, 3]
    assert per_row(room, 3, (("cpu", 3), ("gpu", 1))).tolist() == [0, 0, 2]
    assert per_row(room, 3, (("fpga", 1),)).tolist() == [0, 0, 0]


def test_a_domain_thought_empty_keeps_the_groups_own_members() -> None:
    state = cluster(
        node("a", cpu=4000),
        pod("x", cpu=2000, node="a"),
        gang("g", 1),
        pod("g-0", "g", node="a"),
        pod("g-1", "g"),
    )
    seen = field(state, state.index(RACK), roster(state, G).kinds())
    own = held_by(state.columns, [("a", (("cpu", 1000), ("pods", 1))), ("gone", (("cpu", 5),))])
    assert [int(part.sums[0][0]) for part in (seen, emptied(state, seen, own))] == [1, 3]


def test_lifting_a_bar_opens_its_nodes_only() -> None:
    state = cluster(
        node("a", cpu=1000, ready=False),
        node("b", cpu=1000, unschedulable=True),
        gang("g", 1),
        members("g", 1),
    )
    seen = field(state, state.index(RACK), roster(state, G).kinds())
    assert seen.caps[0].tolist() == [0, 0]
    assert unbarred(seen, (Bar.NOT_READY,)).caps[0].tolist() == [1, 0]
    assert unbarred(seen, (Bar.NOT_READY, Bar.CORDONED)).caps[0].tolist() == [1, 1]


# --- topology


def test_a_domain_is_a_slice_of_nodes_by_name() -> None:
    nodes = {one.name: one for one in (node("d", "r2"), node("a", "r2"), node("c", ""), node("b", None))}
    index = build(nodes, {name: row for row, name in enumerate(nodes)}, RACK)
    assert (index.domains, index.names, index.unlabelled) == (("", "r2"), ("c", "a", "d"), 1)
    assert index.order.tolist() == [2, 1, 0]
    assert [index.names[index.slice(number)] for number in range(2)] == [("c",), ("a", "d")]
    assert index.sums(np.array([1, 2, 4])).tolist() == [1, 6]
    assert index.only(1).names == ("a", "d")
    assert index.only(1).sums(np.array([2, 4])).tolist() == [6]


def test_all_nodes_are_one_domain_and_none_are_no_domain() -> None:
    nodes = {"a": node("a", None)}
    assert build(nodes, {"a": 0}, ALL_NODES).domains == ("",)
    empty = build({}, {}, ALL_NODES)
    assert (empty.domains, empty.sums(np.zeros(0, np.int64)).tolist()) == ((), [])
