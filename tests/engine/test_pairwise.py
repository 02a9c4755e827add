"""Affinity, anti-affinity and host ports: what is found, what is proved, what is said of it."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings

from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.model import NumaZone, Pod
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.pairwise_rules import clash, rules
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from tests.engine import neighbours
from tests.engine.builders import RACK, cluster, gang, members, node, nodes_of, pod
from tests.engine.neighbours import HOST, allowed, clusters, host, term, wishful, with_rules

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


def agrees(state: ClusterState) -> Decision:
    """The decision, held against trying every order and node."""
    decision = decide(state, G)
    most = neighbours.most(state, G)
    missing = roster(state, G).missing
    possible = any(count >= missing for count in most.values())
    assert decision.verdict == (Verdict.PLACED if possible else Verdict.PROVED_INFEASIBLE)
    if decision.placed:
        assert in_order(state, decision)
        assert len(decision.assignments) == max(most.values())
        if decision.enforced:
            assert {state.nodes[name].label(RACK) for _, name in decision.assignments} == {decision.domain}
    for count in decision.domains:
        assert count.fits <= most[count.domain]
    return decision


@settings(max_examples=400, deadline=None)
@given(clusters())
def test_small_cases_are_decided_as_trying_every_order_and_node_decides_them(state: ClusterState) -> None:
    agrees(state)


@pytest.mark.parametrize("start", [0, 100, 200])
def test_rings_and_chains_of_wishes_are_decided_as_trying_everything_decides_them(start: int) -> None:
    seen = Counter(
        (d.verdict, d.method) for d in (agrees(wishful(seed)) for seed in range(start, start + 100))
    )
    assert seen[Verdict.PLACED, "search"] > 10 and seen[Verdict.PROVED_INFEASIBLE, "search"] > 3


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_kube_scheduler_places_only_as_its_filters_allow_and_never_what_is_proved_not_to_fit(
    state: ClusterState,
) -> None:
    exact = decide(state, G)
    for profile in ("upstream-1.36", "upstream-1.37"):
        upstream = decide(state, G, profile=profile)
        if upstream.placed:
            assert in_order(state, upstream)
            assert exact.placed
            assert len(upstream.assignments) <= len(exact.assignments)


def ring(*apps: tuple[str, str]) -> list[Pod]:
    """Members with (their app, the app they want on their host)."""
    return [
        with_rules(pod(f"g-{n}", "g", labels=(("app", own),)), pod_affinity=(term(app=wanted),))
        for n, (own, wanted) in enumerate(apps)
    ]


@pytest.mark.parametrize(
    ("apps", "placed"),
    [
        ([("a", "b"), ("b", "a")], False),
        ([("a", "a"), ("b", "a"), ("c", "b")], True),
        ([("c", "b"), ("b", "a"), ("a", "a")], True),
        ([("a", "b"), ("b", "a"), ("b", "b")], True),
        ([("a", "b"), ("b", "c"), ("c", "a")], False),
    ],
)
def test_wishes_that_wait_for_each_other_are_met_only_where_somebody_may_come_first(
    apps: list[tuple[str, str]], placed: bool
) -> None:
    state = cluster(host("n1"), host("n2"), gang("g", len(apps)), ring(*apps))
    decision = decide(state, G)
    assert decision.verdict == (Verdict.PLACED if placed else Verdict.PROVED_INFEASIBLE)
    assert len(set(nodes_of(decision).values())) == placed


def test_members_that_keep_apart_get_a_host_each_and_that_there_are_too_few_is_counted() -> None:
    nodes = [host("n1"), host("n2"), host("n3")]
    placed = decide(cluster(nodes, gang("g", 3), spread(3)), G)
    assert sorted(nodes_of(placed).values()) == ["n1", "n2", "n3"]
    assert placed.method == "search"
    short = decide(cluster(nodes, gang("g", 4), spread(4)), G)
    assert (short.verdict, short.reason, short.method) == (
        Verdict.PROVED_INFEASIBLE,
        Reason.NEVER_FITS,
        "counting",
    )
    assert (short.domains[0].fits, short.domains[0].causes) == (3, (("anti_affinity", 3),))


def test_a_large_gang_that_keeps_apart_is_decided_within_the_budget() -> None:
    nodes = [host(f"n{n:03}", f"r{n % 4}") for n in range(1200)]
    state = cluster(nodes, gang("g", 300), spread(301))
    decision = decide(state, G)
    assert decision.placed and len(set(nodes_of(decision).values())) == 300
    assert decide(cluster(nodes, gang("g", 301), spread(301)), G).verdict == Verdict.PROVED_INFEASIBLE


def test_members_that_want_each_other_go_where_all_of_them_fit() -> None:
    nodes = [host("n1", cpu=3000), host("n2", cpu=2000), host("n3", cpu=4000)]
    state = cluster(nodes, gang("g", 4), gathered(4))
    assert set(nodes_of(decide(state, G)).values()) == {"n3"}
    state.set_node(host("n3", cpu=3000))
    decision = decide(state, G)
    assert (decision.verdict, decision.method) == (Verdict.PROVED_INFEASIBLE, "search")
    assert decision.domains[0].fits == 3
    assert ("affinity", 2) in decision.domains[0].causes


def test_affinity_with_a_pod_that_is_there_opens_its_place_only() -> None:
    state = cluster(host("n1"), host("n2"), gang("g", 2), gathered(2))
    state.set_pod(pod("other", node="n2", labels=(("app", "a"),), terminating=True))
    assert set(nodes_of(decide(state, G)).values()) == {"n2"}
    state.set_pod(pod("other", node="n2", labels=(("app", "a"),), phase="Succeeded"))
    assert decide(state, G).placed


def test_affinity_with_pods_that_nobody_is_waits_for_them() -> None:
    wish = [with_rules(one, pod_affinity=(term(app="db"),)) for one in members("g", 2)]
    decision = decide(cluster(host("n1"), gang("g", 2), wish), G)
    assert (decision.verdict, decision.reason) == (Verdict.PROVED_INFEASIBLE, Reason.SELECTOR)
    assert decision.domains[0].causes == (("affinity", 1),)


@pytest.mark.parametrize("profile", ["exact", "upstream-1.36", "upstream-1.37"])
def test_a_stranger_keeps_members_away_that_have_no_terms_themselves(profile: str) -> None:
    stranger = pod("s", node="n1", labels=(("app", "s"),))
    nodes = [host("n1", "r1"), host("n2", "r1"), host("n3", "r2")]
    group = [gang("g", 2), members("g", 2, cpu=4000, labels=(("app", "a"),))]
    free = decide(cluster(nodes[:2], group[0], group[1], stranger), G, profile=profile)
    assert free.placed
    state = cluster(nodes[:2], *group, with_rules(stranger, pod_anti_affinity=(term(RACK),)))
    decision = decide(state, G, profile=profile)
    assert (decision.verdict, decision.reason) == (Verdict.PROVED_INFEASIBLE, Reason.CAPACITY)
    assert decision.domains[0].causes == (("anti_affinity", 2),)
    assert not decision.domains[0].eligible
    state.set_node(nodes[2])
    assert decide(state, G, profile=profile).domain == "r2"
    state.remove_pod("pod-s")
    state.remove_node("n3", "node-n3")
    assert decide(state, G, profile=profile).placed


def test_members_kept_away_by_label_are_placed_beside_those_that_are_not() -> None:
    stranger = with_rules(pod("s", node="n1", cpu=0), pod_anti_affinity=(term(),))
    group = [pod("g-0", "g", labels=(("app", "a"),)), pod("g-1", "g", labels=(("app", "b"),))]
    state = cluster(host("n1", cpu=1000), host("n2", cpu=1000), gang("g", 2), group, stranger)
    decision = decide(state, G)
    assert nodes_of(decision) == {"pod-g-0": "n2", "pod-g-1": "n1"}
    state.set_node(host("n2", cpu=0))
    assert decide(state, G).verdict == Verdict.PROVED_INFEASIBLE


def test_terms_look_into_their_own_namespace_unless_they_name_others() -> None:
    for namespaces, placed in (((), True), (("other",), True), (("ml",), False), (None, False)):
        rule = term(namespaces=namespaces)
        stranger = replace(with_rules(pod("s", node="n1"), pod_anti_affinity=(rule,)), namespace="third")
        state = cluster(host("n1"), gang("g", 1), members("g", 1, labels=(("app", "a"),)), stranger)
        assert decide(state, G).placed == placed


def test_a_node_without_the_key_fails_affinity_and_passes_anti_affinity() -> None:
    bare = node("bare", "r1")
    assert len(decide(cluster(bare, gang("g", 2), spread(2)), G).assignments) == 2
    refused = decide(cluster(bare, gang("g", 1), gathered(1)), G)
    assert (refused.verdict, refused.reason) == (Verdict.PROVED_INFEASIBLE, Reason.SELECTOR)


def test_one_host_port_is_had_once_a_node() -> None:
    ported = [with_rules(one, host_ports=PORT) for one in members("g", 2)]
    state = cluster(host("n1"), host("n2"), gang("g", 2), ported)
    assert sorted(nodes_of(decide(state, G)).values()) == ["n1", "n2"]
    state.set_pod(with_rules(pod("s", node="n2"), host_ports=PORT))
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.PROVED_INFEASIBLE, Reason.CAPACITY)
    assert decision.domains[0].causes == (("host_port", 2),)


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        (("TCP", "0.0.0.0", 80), ("TCP", "0.0.0.0", 80), True),
        (("TCP", "0.0.0.0", 80), ("TCP", "10.0.0.1", 80), True),
        (("TCP", "10.0.0.1", 80), ("TCP", "0.0.0.0", 80), True),
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.2", 80), False),
        (("TCP", "0.0.0.0", 80), ("UDP", "0.0.0.0", 80), False),
        (("TCP", "0.0.0.0", 80), ("TCP", "0.0.0.0", 81), False),
    ],
)
def test_host_ports_conflict_by_protocol_address_and_port(
    one: tuple[str, str, int], other: tuple[str, str, int], conflict: bool
) -> None:
    assert clash([one], [other]) == conflict


def test_no_rules_are_made_where_nobody_restricts_the_members() -> None:
    state = cluster(host("n1"), gang("g", 1), members("g", 1))
    state.set_pod(with_rules(pod("s", node="n1"), host_ports=PORT, pod_anti_affinity=(term(),)))
    assert rules(state, roster(state, G)) is None


def test_when_the_budget_ends_first_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    state = cluster(host("n1", cpu=3000), host("n2", cpu=3000), gang("g", 4), gathered(4))
    assert decide(state, G).verdict == Verdict.PROVED_INFEASIBLE
    monkeypatch.setattr("scheduling.engine.pairwise.LOOKS", 3)
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.NOT_FOUND, Reason.NOT_FOUND_BY_HEURISTIC)


def test_in_numa_zones_nothing_is_claimed_where_pods_restrict_the_members() -> None:
    zones = (NumaZone("node-0", (("cpu", 4000),)), NumaZone("node-1", (("cpu", 4000),)))
    state = cluster(host("n1", zones=zones), gang("g", 1, NUMA_KEY), members("g", 1, labels=(("app", "a"),)))
    assert decide(state, G).placed
    state.set_pod(with_rules(pod("s", node="n1"), pod_anti_affinity=(term(),)))
    decision = decide(state, G)
    assert (decision.verdict, decision.reason) == (Verdict.NOT_FOUND, Reason.UNMODELLED)
    assert (decision.assignments, decision.unmodelled) == ((), ("podAntiAffinity",))


def test_members_with_terms_and_volumes_are_still_not_modelled() -> None:
    odd = [replace(one, shape=replace(one.shape, unmodelled=("volumes",))) for one in spread(2)]
    decision = decide(cluster(host("n1"), host("n2"), gang("g", 2), odd), G)
    assert (decision.verdict, decision.reason) == (Verdict.NOT_FOUND, Reason.UNMODELLED)
