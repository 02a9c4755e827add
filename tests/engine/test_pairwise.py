"""Affinity, anti-affinity and host ports: what is found, what is proved, what is said of it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.model import Pod, PodTerm
from scheduling.engine.pairwise_rules import clash, rules
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from tests.engine import neighbours
from tests.engine.builders import RACK, ZONE, cluster, gang, members, node, nodes_of, pod
from tests.engine.neighbours import HOST, allowed, clusters, host, term, with_rules

G = "ml/g"
PORT = (("TCP", "0.0.0.0", 8080),)


def spread(count: int, key: str = HOST, **more: object) -> list[Pod]:
    """Members of which no two go into one place."""
    rule = (term(key),)
    return [
        with_rules(one, pod_anti_affinity=rule) for one in members("g", count, labels=(("app", "a"),), **more)
    ]


def gathered(count: int, key: str = HOST) -> list[Pod]:
    """Members that all go into one place."""
    rule = (term(key),)
    return [with_rules(one, pod_affinity=rule) for one in members("g", count, labels=(("app", "a"),))]


def in_order(state: ClusterState, decision: Decision) -> bool:
    """Whether the members placed can come one after the other so that each is allowed."""
    there = [
        (one, state.nodes[one.node])
        for one in state.pods.values()
        if one.node in state.nodes and not one.finished
    ]
    waiting = {uid: state.nodes[name] for uid, name in decision.assignments}
    known: set[frozenset[str]] = set()

    def come(left: frozenset[str], now: list[tuple[Pod, object]]) -> bool:
        if not left:
            return True
        if left in known:
            return False
        known.add(left)
        return any(
            come(left - {uid}, [*now, (state.pods[uid], waiting[uid])])
            for uid in sorted(left)
            if allowed(state.pods[uid], waiting[uid], now)  # type: ignore[arg-type]
        )

    return come(frozenset(waiting), list(there))


@settings(max_examples=600, deadline=None)
@given(clusters())
def test_small_cases_are_decided_as_trying_every_order_and_node_decides_them(state: ClusterState) -> None:
    decision = decide(state, G)
    most = neighbours.most(state, G)
    missing = roster(state, G).missing
    possible = any(count >= missing for count in most.values())
    assert (decision.verdict == Verdict.PLACED) == possible
    assert (decision.verdict == Verdict.PROVED_INFEASIBLE) == (not possible)
    if decision.placed:
        assert in_order(state, decision)
        assert len(decision.assignments) == max(most.values())
        if decision.enforced:
            assert {state.nodes[name].label(RACK) for _, name in decision.assignments} == {decision.domain}
    for count in decision.domains:
        assert count.fits <= most[count.domain]
