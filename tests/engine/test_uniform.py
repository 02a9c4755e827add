"""Ranking of domains for members of one shape, against packing each of them."""

import numpy as np
from hypothesis import assume, given, settings

from scheduling.engine.capacity import field
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.uniform import fill, pack, ranking
from tests.engine.builders import RACK
from tests.engine.strategies import clusters

G = "ml/g"


@settings(max_examples=200, deadline=None)
@given(clusters())
def test_domains_are_ranked_as_packing_every_one_of_them_would_rank_them(state: ClusterState) -> None:
    who = roster(state, G)
    kinds = who.kinds()
    index = state.index(RACK)
    assume(index.domains and who.missing <= len(who.waiting))
    seen = field(state, index, kinds)
    packings = [pack(state.columns, seen, domain) for domain in range(len(index.domains))]
    expected = sorted(
        (one for one in packings if one.placed >= who.missing),
        key=lambda one: (-one.placed, one.broken, one.left, index.domains[one.domain]),
    )
    for shown in (1, 3, 99):
        ranked = ranking(state.columns, seen, who.missing, shown)
        assert ranked.feasible == len(expected)
        assert ranked.best == tuple(one.domain for one in expected[:shown])
        assert ranked.takes == tuple(one.placed for one in expected[:shown])
        assert ranked.broken == tuple(one.broken for one in expected[:shown])


def test_nodes_are_filled_one_after_the_other() -> None:
    caps = np.array([2, 0, 3, 4])
    assert fill(caps, [2, 0, 1, 3], 4).tolist() == [1, 0, 3, 0]
    assert fill(caps, [0, 1, 2, 3], 99).tolist() == [2, 0, 3, 4]
    assert fill(caps, [0, 1, 2, 3], 0).tolist() == [0, 0, 0, 0]
