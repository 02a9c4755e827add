"""The rows of a refusal: made when read, and the same as a tuple of them."""

import numpy as np

from scheduling.engine.counts import DomainRows
from scheduling.engine.decide import decide
from scheduling.engine.decision import DomainCount
from tests.engine.builders import cluster, gang, members, node, pod

G = "ml/g"


def rows(codes: list[int]) -> DomainRows:
    return DomainRows(
        names=("a", "b"),
        order=np.array([1, 0]),
        numbers=np.array([[3, 4], [2, 4], [1, 2], [2, 1], codes]),
        reasons=("", "capacity", "never_fits"),
        never=2,
        lacks={"pods": np.array([0, 5]), "cpu": np.array([7, 0])},
        causes={"taint": np.array([1, 0])},
    )


def test_rows_are_best_first_and_show_only_what_is_not_0() -> None:
    first = DomainCount("b", 4, 4, 2, 1, "capacity", (("pods", 5),), (), False)
    second = DomainCount("a", 3, 2, 1, 2, "never_fits", (("cpu", 7),), (("taint", 1),), True)
    found = rows([2, 1])
    assert tuple(found) == (first, second)
    assert (found[0], found[-1], found[:1], len(found)) == (first, second, (first,), 2)
    assert found == (first, second) == found
    assert found == rows([2, 1]) != rows([1, 1])
    assert found != [first, second]
    assert (hash(found), repr(found)) == (hash((first, second)), repr((first, second)))


def test_the_reason_is_that_of_the_best_domain_that_would_do_when_empty() -> None:
    assert rows([1, 2]).hopeful == rows([2, 1]).hopeful == "capacity"
    assert rows([2, 2]).hopeful is None


def test_a_refusal_keeps_what_it_counted_whatever_happens_to_the_state_afterwards() -> None:
    state = cluster(node("a"), node("b", "r2"), pod("x", node="a"), gang("g", 99), members("g", 99))
    decision = decide(state, G)
    before = repr(decision)
    state.set_pod(pod("y", node="b", cpu=5000))
    state.set_node(node("b", "r2", unschedulable=True))
    decide(state, G)
    assert repr(decision) == before
