"""In which domains a gang and the topology spread constraints of its members can hold both."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.eligibility import holds, repelled, selects
from scheduling.engine.model import Eligibility, Node, Pod, Requirement, SpreadConstraint, Taint, Toleration
from scheduling.engine.spread import Left, Spread, Why, spread
from scheduling.engine.state import ClusterState
from tests.engine.builders import RACK, ZONE, cluster, gang, members, pod
from tests.engine.neighbours import HOST, host

APP = (("app", "a"),)
LIKE = (Requirement("app", "In", ("a",)),)


def rule(key: str, skew: int = 1, **more: object) -> SpreadConstraint:
    return SpreadConstraint(key, skew, more.pop("selector", LIKE), **more)  # type: ignore[arg-type]


def spreading(pods: Sequence[Pod], *rules: SpreadConstraint) -> list[Pod]:
    return [
        replace(one, shape=replace(one.shape, spread=rules, unmodelled=("topologySpread",))) for one in pods
    ]


def trainers(count: int, *rules: SpreadConstraint, **more: object) -> list[Pod]:
    return spreading(members("g", count, labels=APP, **more), *rules)


def asked(state: ClusterState) -> Spread:
    found = spread(state, "ml/g")
    assert found is not None
    return found


def left(found: Spread) -> dict[str, Left]:
    return {entry.domain: entry.left for entry in found.domains}


def racks(*sizes: int, **more: object) -> list[Node]:
    return [
        host(f"n{rack}-{number}", f"r{rack}", **more)
        for rack, size in enumerate(sizes, 1)
        for number in range(size)
    ]


def test_members_without_constraints_are_not_asked_about() -> None:
    assert spread(cluster(racks(2), gang("g", 2), members("g", 2)), "ml/g") is None
    assert spread(cluster(racks(2), gang("g", 2)), "ml/g") is None
    assert spread(cluster(racks(2)), "ml/unknown") is None


def test_one_rack_and_evenly_over_racks_exclude_each_other() -> None:
    found = asked(cluster(racks(4, 4), gang("g", 4), trainers(4, rule(RACK))))
    assert left(found) == {"r1": Left.SPREAD, "r2": Left.SPREAD}
    assert found.impossible and not found.narrowed
    limit = found.domains[0].limit
    assert limit is not None and (limit.why, limit.takes, limit.fewest, limit.in_domain, limit.domains) == (
        Why.SKEW, 1, 0, "r1", 2,
    )  # fmt: skip
    assert (limit.pod, limit.place) == ("pod-g-0", 0)


def test_a_wider_skew_is_enough() -> None:
    found = asked(cluster(racks(4, 4), gang("g", 4), trainers(4, rule(RACK, 4))))
    assert left(found) == {"r1": Left.FITS, "r2": Left.FITS} and not found.impossible


def test_the_only_rack_is_its_own_minimum() -> None:
    found = asked(cluster(racks(4), gang("g", 4), trainers(4, rule(RACK))))
    assert left(found) == {"r1": Left.FITS}


def test_min_domains_make_the_minimum_zero() -> None:
    found = asked(cluster(racks(4), gang("g", 4), trainers(4, rule(RACK, min_domains=2))))
    limit = found.domains[0].limit
    assert limit is not None and (limit.why, limit.takes, limit.domains) == (Why.MIN_DOMAINS, 1, 1)


def test_over_hosts_inside_the_rack_when_there_are_enough() -> None:
    found = asked(cluster(racks(4, 3), gang("g", 4), trainers(4, rule(HOST))))
    assert left(found) == {"r1": Left.FITS, "r2": Left.SPREAD}
    assert found.narrowed and not found.impossible
    assert found.domains[1].limit is not None and found.domains[1].limit.takes == 3


def test_pods_that_match_count_where_they_are() -> None:
    there = [pod(f"s{n}", node="n1-0", labels=APP, cpu=0) for n in range(3)]
    state = cluster(racks(2, 2), gang("g", 2), trainers(2, rule(RACK, 2)), there)
    assert left(asked(state)) == {"r1": Left.SPREAD, "r2": Left.FITS}
    for gone in (replace(there[0], terminating=True), replace(there[0], phase="Succeeded")):
        other = state.fork()
        for one in there[:2]:
            other.set_pod(replace(gone, name=one.name, uid=one.uid))
        assert left(asked(other)) == {"r1": Left.SPREAD, "r2": Left.FITS}
        other.set_pod(replace(gone, name="s2", uid="pod-s2"))
        assert left(asked(other)) == {"r1": Left.FITS, "r2": Left.FITS}


def test_pods_of_another_namespace_or_another_label_do_not() -> None:
    strangers = [
        pod("s", node="n1-0", labels=(("app", "b"),)),
        replace(pod("t", node="n1-0", labels=APP), namespace="x"),
    ]
    state = cluster(racks(2, 2), gang("g", 2), trainers(2, rule(RACK, 2)), strangers)
    assert left(asked(state)) == {"r1": Left.FITS, "r2": Left.FITS}


def test_a_selector_that_does_not_mean_the_members_keeps_them_from_full_domains_only() -> None:
    there = pod("s", node="n1-0", labels=(("app", "b"),))
    other = (Requirement("app", "In", ("b",)),)
    state = cluster(racks(2, 2), gang("g", 2), trainers(2, rule(RACK, selector=other)), there)
    assert left(asked(state)) == {"r1": Left.FITS, "r2": Left.FITS}
    state.set_pod(replace(there, name="t", uid="t"))
    assert left(asked(state)) == {"r1": Left.SPREAD, "r2": Left.FITS}


def test_no_selector_means_nobody_and_an_empty_one_everybody() -> None:
    there = [pod(f"s{n}", node="n1-0", cpu=0) for n in range(9)]
    state = cluster(racks(2, 2), gang("g", 2), trainers(2, rule(RACK, selector=None)), there)
    assert left(asked(state)) == {"r1": Left.FITS, "r2": Left.FITS}
    state = cluster(racks(2, 2), gang("g", 2), trainers(2, rule(RACK, 2, selector=())), there)
    assert left(asked(state)) == {"r1": Left.SPREAD, "r2": Left.FITS}


def test_room_does_not_count_but_the_size_of_the_empty_domain_does() -> None:
    full = [pod(f"s{n}", node=f"n1-{n}", cpu=8000) for n in range(4)]
    state = cluster(racks(4, 4), gang("g", 4), trainers(4, rule(HOST)), full)
    assert left(asked(state))["r1"] is Left.FITS
    state = cluster(racks(4), gang("g", 4), trainers(4, rule(HOST), cpu=9000))
    assert left(asked(state)) == {"r1": Left.SMALL} and not asked(state).impossible


def test_a_node_that_takes_nobody_holds_the_minimum_down() -> None:
    """A trap of the default policies: tainted nodes count, those that the selector rules out do not."""
    tainted = host("t", "r1", taints=(Taint("dedicated", "x", "NoSchedule"),))
    state = cluster(racks(2), tainted, gang("g", 4), trainers(4, rule(HOST)))
    assert left(asked(state)) == {"r1": Left.SPREAD}
    state = cluster(racks(2), tainted, gang("g", 4), trainers(4, rule(HOST, honors_taints=True)))
    assert left(asked(state)) == {"r1": Left.FITS}
    other = host("u", "r1", labels={"disk": "hdd"})
    wanted = Eligibility((("disk", "ssd"),))
    ssd = racks(2, labels={"disk": "ssd"})
    state = cluster(ssd, other, gang("g", 4), trainers(4, rule(HOST), eligibility=wanted))
    assert left(asked(state)) == {"r1": Left.FITS}
    state = cluster(
        ssd, other, gang("g", 4), trainers(4, rule(HOST, honors_affinity=False), eligibility=wanted)
    )
    assert left(asked(state)) == {"r1": Left.SPREAD}


def test_cordons_and_readiness_pass_and_do_not_count() -> None:
    nodes = [replace(one, unschedulable=True, ready=False) for one in racks(4)]
    found = asked(cluster(nodes, gang("g", 4), trainers(4, rule(HOST, honors_taints=True))))
    assert left(found) == {"r1": Left.FITS}


def test_a_key_that_no_node_carries() -> None:
    found = asked(cluster(racks(4), gang("g", 4), trainers(4, rule(ZONE))))
    limit = found.domains[0].limit
    assert found.impossible and limit is not None and (limit.why, limit.takes) == (Why.UNLABELLED, 0)


def test_without_a_topology_key_the_cluster_is_the_domain() -> None:
    found = asked(cluster(racks(4, 4), gang("g", 4, ""), trainers(4, rule(RACK))))
    assert left(found) == {"": Left.FITS} and not found.enforced
    found = asked(cluster(racks(4, 4), gang("g", 4), trainers(4, rule(RACK)), gates=False))
    assert left(found) == {"": Left.FITS}


def test_members_on_nodes_pin_the_domain_and_count() -> None:
    there, *rest = trainers(3, rule(HOST))
    state = cluster(racks(3, 3), gang("g", 3), replace(there, node="n1-0"), rest)
    found = asked(state)
    assert left(found) == {"r1": Left.FITS} and found.missing == 2
    state = cluster(racks(2, 3), gang("g", 3), replace(there, node="n1-0"), rest)
    assert left(asked(state)) == {"r1": Left.SPREAD}


def test_only_so_many_of_them_as_minCount_must_come() -> None:
    plain = members("g", 1, labels=APP)
    more = spreading([pod(f"x{n}", "g", labels=APP) for n in range(3)], rule(RACK))
    assert left(asked(cluster(racks(4, 4), gang("g", 2), plain, more)))["r1"] is Left.FITS
    assert left(asked(cluster(racks(4, 4), gang("g", 3), plain, more)))["r1"] is Left.SPREAD


def test_too_few_members_are_not_judged() -> None:
    found = asked(cluster(racks(4, 4), gang("g", 5), trainers(4, rule(RACK))))
    assert found.domains == () and not found.impossible


def test_a_preference_never_rules_anything_out() -> None:
    wish = rule(RACK, hard=False)
    found = asked(cluster(racks(4, 4), gang("g", 4), trainers(4, wish)))
    assert found.domains == () and found.soft == (wish,) and not found.impossible
    found = asked(cluster(racks(4, 4), gang("g", 4), trainers(4, rule(HOST), wish)))
    assert left(found) == {"r1": Left.FITS, "r2": Left.FITS} and found.soft == (wish,)


def star() -> list[Node]:
    """Three blocks and three sides in one rack, yet no three nodes that differ in both; a fourth outside."""
    inside = [("a", "x"), ("a", "y"), ("a", "z"), ("b", "x"), ("c", "x")]
    nodes = [
        host(f"n{number}", "r1", labels={"block": block, "side": side})
        for number, (block, side) in enumerate(inside)
    ]
    return [*nodes, host("far", "r2", labels={"block": "d", "side": "w"})]


def test_constraints_of_which_each_alone_could_be_met() -> None:
    for rules in ([rule("block")], [rule("side")]):
        assert left(asked(cluster(star(), gang("g", 3), trainers(3, *rules))))["r1"] is Left.FITS
    found = asked(cluster(star(), gang("g", 3), trainers(3, rule("block"), rule("side"))))
    assert left(found) == {"r1": Left.SPREAD, "r2": Left.SPREAD}
    limit = found.domains[0].limit
    assert limit is not None and (limit.why, limit.takes) == (Why.TOGETHER, 2)
    assert (
        left(asked(cluster(star(), gang("g", 2), trainers(2, rule("block"), rule("side")))))["r1"]
        is Left.FITS
    )


def test_a_budget_that_ends_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduling.engine.spread.LOOKS", 2)
    found = asked(cluster(star(), gang("g", 3), trainers(3, rule("block"), rule("side"))))
    assert left(found)["r1"] is Left.OPEN and not found.impossible


# --- against the slow, obvious way: members come in every order, onto every node, and the rule is asked


def admits(state: ClusterState, placed: dict[str, str], one: Pod, where: Node) -> bool:
    """PodTopologySpread as its Filter says it, from the objects alone."""
    hard = [entry for entry in one.shape.spread if entry.hard]
    keys = {entry.topology_key for entry in hard}
    for entry in hard:
        value = where.label(entry.topology_key)
        if value is None:
            return False
        counts: Counter[str] = Counter()
        for other in state.nodes.values():
            if any(other.label(key) is None for key in keys):
                continue
            if entry.honors_affinity and not selects(one.shape.eligibility, other):
                continue
            if entry.honors_taints and repelled(other, one.shape.eligibility.tolerations):
                continue
            counts[other.label(entry.topology_key) or ""] += sum(
                (placed.get(there.uid) or there.node) == other.name
                and matches(entry, there)
                and there.namespace == one.namespace
                and not there.finished
                and not there.terminating
                for there in state.pods.values()
            )
        fewest = min(counts.values(), default=0) if len(counts) >= entry.min_domains else 0
        if counts[value] + matches(entry, one) - fewest > entry.max_skew:
            return False
    return True


def matches(entry: SpreadConstraint, one: Pod) -> bool:
    return entry.selector is not None and all(holds(part, dict(one.labels)) for part in entry.selector)


def most_that_come(state: ClusterState, nodes: Sequence[Node], spread_counts: bool) -> int:
    """The most members that can come to these nodes, up to what is missing."""
    group = state.groups["ml/g"]
    bound = sum(1 for one in state.members("ml/g") if one.node)
    missing = max(1, group.min_count - bound)
    waiting = [one for one in state.members("ml/g") if not one.node]
    own: Counter[str] = Counter()
    for one in state.members("ml/g"):
        if one.node:
            own[one.node] += dict(one.shape.requests).get("cpu", 0)
    seen: set[frozenset[tuple[str, str]]] = set()
    best = 0

    def come(placed: dict[str, str]) -> None:
        nonlocal best
        best = max(best, len(placed))
        position = frozenset(placed.items())
        if best >= missing or position in seen:
            return
        seen.add(position)
        for one in waiting:
            if one.uid in placed:
                continue
            for where in nodes:
                used = own[where.name] + sum(
                    dict(state.pods[uid].shape.requests)["cpu"]
                    for uid, name in placed.items()
                    if name == where.name
                )
                fits = used + dict(one.shape.requests)["cpu"] <= dict(where.allocatable)["cpu"]
                may = selects(one.shape.eligibility, where) and not repelled(
                    where, one.shape.eligibility.tolerations
                )
                if fits and may and (not spread_counts or admits(state, placed, one, where)):
                    come(placed | {one.uid: where.name})

    come({})
    return best


TAINT = Taint("dedicated", "x", "NoSchedule")
KEYS = [HOST, RACK, "block"]


@st.composite
def cases(draw: st.DrawFn) -> ClusterState:
    nodes = []
    for number in range(draw(st.integers(1, 4))):
        labels = {"disk": draw(st.sampled_from(["ssd", "hdd"]))}
        block = draw(st.sampled_from(["a", "b", None]))
        if block:
            labels["block"] = block
        one = host(
            f"n{number}",
            draw(st.sampled_from(["r1", "r1", "r2", "r3"])),
            labels=labels,
            cpu=draw(st.integers(1, 3)),
        )
        if draw(st.integers(0, 4)) == 0:
            one = replace(one, taints=(TAINT,))
        if draw(st.integers(0, 4)) == 0:
            one = replace(one, unschedulable=True)
        nodes.append(one)
    rules = st.builds(
        SpreadConstraint,
        st.sampled_from(KEYS),
        st.integers(1, 2),
        st.sampled_from([LIKE, LIKE, (), None, (Requirement("app", "In", ("b",)),)]),
        st.sampled_from([True, True, True, False]),
        st.sampled_from([1, 1, 1, 3]),
        st.booleans(),
        st.booleans(),
    )
    eligible = st.sampled_from(
        [
            Eligibility(),
            Eligibility((("disk", "ssd"),)),
            Eligibility((), None, (Toleration("dedicated", "Exists", "", ""),)),
        ]
    )
    shapes = []
    for _ in range(draw(st.integers(1, 2))):
        own = draw(
            st.lists(rules, min_size=1, max_size=2, unique_by=lambda entry: (entry.topology_key, entry.hard))
        )
        shapes.append(
            (
                draw(eligible),
                tuple(own),
                draw(st.sampled_from([APP, (("app", "b"),)])),
                draw(st.integers(1, 2)),
            )
        )
    count = draw(st.integers(1, 4))
    pods = []
    for number in range(count):
        wanted, own, labels, cpu = shapes[draw(st.integers(0, len(shapes) - 1))]
        (one,) = spreading([pod(f"g-{number}", "g", labels=labels, eligibility=wanted, cpu=cpu)], *own)
        pods.append(one)
    if draw(st.booleans()):
        pods[0] = replace(pods[0], node=nodes[0].name)
    others = [
        pod(
            f"s{number}",
            node=draw(st.sampled_from([one.name for one in nodes])),
            labels=draw(st.sampled_from([APP, APP, (("app", "b"),)])),
            terminating=draw(st.integers(0, 5)) == 0,
        )
        for number in range(draw(st.integers(0, 4)))
    ]
    key = draw(st.sampled_from([RACK, RACK, HOST, ""]))
    return cluster(nodes, pods, others, gang("g", draw(st.integers(1, count)), key))


@settings(max_examples=250)
@given(cases())
def test_agrees_with_members_coming_in_every_order(state: ClusterState) -> None:
    found = spread(state, "ml/g")
    group = state.groups["ml/g"]
    if found is None or not found.domains:
        return
    bound = {one.node for one in state.members("ml/g") if one.node}
    for entry in found.domains:
        nodes = [
            one
            for one in state.nodes.values()
            if not group.topology_key or one.label(group.topology_key) == entry.domain
        ]
        with_rules = most_that_come(state, nodes, True)
        enough = with_rules >= found.missing
        assert entry.left is not Left.OPEN, "the budget is far above so small cases"
        assert (entry.left is Left.FITS) == enough, entry
        if not enough:
            small = most_that_come(state, nodes, False) < found.missing
            assert (entry.left is Left.SMALL) == small, entry
        if entry.limit is not None:
            assert with_rules <= entry.limit.takes < found.missing
    assert not bound or group.topology_key == "" or len(found.domains) <= 1
