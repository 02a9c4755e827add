"""One NUMA zone of one node as the domain of a group."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.model import (
    Eligibility,
    Node,
    NodeSelectorTerm,
    NumaZone,
    Pod,
    Requirement,
    Taint,
)
from scheduling.engine.numa import zone_rooms
from scheduling.engine.numa_names import NUMA_KEY, domain_of, node_of
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.state import ClusterState
from scheduling.engine.status import GroupStatus, group_status
from tests.engine.builders import GPU, RACK, cluster, gang, members, node, nodes_of, pod


def zone(number: int, *, cpu: int = 8000, gpu: int = 4) -> NumaZone:
    return NumaZone(f"node-{number}", (("cpu", cpu), (GPU, gpu)))


def zoned(name: str, zones: int = 2, **more: object) -> Node:
    """A node of two zones of 4 GPUs and 8 cores each, if not told otherwise."""
    return node(
        name,
        cpu=8000 * zones,
        gpu=4 * zones,
        zones=tuple(zone(number) for number in range(zones)),
        **more,  # type: ignore[arg-type]
    )


def place(state: ClusterState, key: str) -> Decision:
    """Decide, and bind as the fold of a placement does."""
    decision = decide(state, key)
    for uid, name in decision.assignments:
        state.bind(uid, name, decision.domain)
    return decision


def words(decision: Decision) -> tuple[str, str, str]:
    return str(decision.verdict), str(decision.reason), decision.domain


def test_a_gang_of_two_that_fits_one_zone_is_placed_in_it() -> None:
    state = cluster(zoned("n1"), gang("g", 2, NUMA_KEY), members("g", 2, gpu=2))
    decision = decide(state, "ml/g")
    assert words(decision) == ("placed", "", "n1/node-0")
    assert nodes_of(decision) == {"pod-g-0": "n1", "pod-g-1": "n1"}
    assert decision.topology_key == NUMA_KEY and decision.enforced
    assert decision.funnel.domains == 2 and decision.funnel.labelled == 1


def test_a_gang_that_the_node_holds_and_no_zone_does_is_refused() -> None:
    state = cluster(zoned("n1"), gang("g", 2, NUMA_KEY), members("g", 2, gpu=3))
    decision = decide(state, "ml/g")
    assert words(decision) == ("proved_infeasible", "never_fits", "")
    assert decision.fits_across_domains
    assert {(row.domain, row.fits, row.short_of) for row in decision.domains} == {
        ("n1/node-0", 1, ((GPU, 2),)),
        ("n1/node-1", 1, ((GPU, 2),)),
    }


def test_zones_of_several_nodes_are_never_put_together() -> None:
    state = cluster(zoned("n1"), zoned("n2"), node("n3", gpu=64), gang("g", 5, NUMA_KEY))
    for member in members("g", 5, gpu=1):
        state.set_pod(member)
    decision = decide(state, "ml/g")
    assert decision.verdict == Verdict.PROVED_INFEASIBLE
    assert decision.funnel.domains == 4 and decision.unlabelled_nodes == 1


def test_groups_of_one_cycle_share_the_zones_of_a_node() -> None:
    state = cluster(zoned("n1"), [gang(name, 2, NUMA_KEY) for name in "abc"])
    for name in "abc":
        for member in members(name, 2, gpu=2):
            state.set_pod(member)
    assert place(state, "ml/a").domain == "n1/node-0"
    assert place(state, "ml/b").domain == "n1/node-1"
    assert words(decide(state, "ml/c")) == ("proved_infeasible", "capacity", "")


def test_a_member_made_anew_goes_to_the_zone_of_the_others_or_waits() -> None:
    state = cluster(zoned("n1"), gang("g", 2, NUMA_KEY), members("g", 2, gpu=2))
    place(state, "ml/g")
    state.remove_pod("pod-g-1")
    state.set_pod(pod("g-2", "g", gpu=2))
    again = decide(state, "ml/g")
    assert words(again) == ("placed", "", "n1/node-0") and again.funnel.labelled == 1
    state.set_pod(pod("thief", gpu=2))
    state.bind("pod-thief", "n1", "n1/node-0")
    assert words(decide(state, "ml/g")) == ("proved_infeasible", "sticky_domain", "n1/node-0")


def test_a_bound_member_whose_zone_nobody_told_has_lost_its_domain() -> None:
    state = cluster(
        zoned("n1"),
        gang("g", 2, NUMA_KEY),
        pod("g-0", "g", gpu=1, node="n1"),
        pod("g-1", "g", gpu=1),
    )
    decision = decide(state, "ml/g")
    assert (decision.verdict, decision.reason) == (Verdict.CONFLICTED, Reason.DOMAIN_LOST)
    assert decision.conflict_nodes == ("n1",)
    assert group_status(state, "ml/g") == GroupStatus.ERROR


def test_on_a_node_of_one_zone_there_is_nothing_to_tell() -> None:
    state = cluster(
        zoned("n1", 1), gang("g", 2, NUMA_KEY), pod("g-0", "g", gpu=1, node="n1"), pod("g-1", "g", gpu=1)
    )
    assert words(decide(state, "ml/g")) == ("placed", "", "n1/node-0")
    assert group_status(state, "ml/g") == GroupStatus.PENDING


def test_a_zone_that_is_told_no_more_is_lost_and_comes_back() -> None:
    state = cluster(zoned("n1"), gang("g", 1, NUMA_KEY), members("g", 1, gpu=2))
    place(state, "ml/g")
    state.set_pod(pod("g-1", "g", gpu=2))
    state.set_node(replace(state.nodes["n1"], zones=(zone(1),)))
    assert decide(state, "ml/g").reason == Reason.DOMAIN_LOST
    state.set_node(zoned("n1"))
    assert words(decide(state, "ml/g")) == ("placed", "", "n1/node-0")
    state.remove_node("n1", "node-n1")
    assert decide(state, "ml/g").reason == Reason.DOMAIN_LOST


def test_members_in_two_zones_contradict_each_other() -> None:
    state = cluster(zoned("n1"), gang("g", 3, NUMA_KEY), members("g", 3, gpu=1))
    state.bind("pod-g-0", "n1", "n1/node-0")
    state.bind("pod-g-1", "n1", "n1/node-1")
    decision = decide(state, "ml/g")
    assert decision.reason == Reason.CONFLICTING_DOMAINS
    assert decision.conflict_domains == ("n1/node-0", "n1/node-1")


def test_pods_without_a_zone_count_against_every_zone_so_that_a_fit_is_certain() -> None:
    state = cluster(zoned("n1"), pod("x", gpu=2, node="n1"), gang("g", 2, NUMA_KEY))
    for member in members("g", 2, gpu=1):
        state.set_pod(member)
    assert words(decide(state, "ml/g")) == ("placed", "", "n1/node-0")


def test_what_only_the_unknown_zone_of_other_pods_decides_is_not_found_and_no_proof() -> None:
    state = cluster(zoned("n1"), pod("x", gpu=2, node="n1"), gang("g", 2, NUMA_KEY))
    for member in members("g", 2, gpu=2):
        state.set_pod(member)
    assert words(decide(state, "ml/g")) == ("not_found", "zone_use_unknown", "")
    assert not decide(state, "ml/g").assignments


def test_pods_without_a_zone_that_fill_the_node_are_a_proof() -> None:
    state = cluster(zoned("n1"), pod("x", gpu=6, node="n1"), gang("g", 3, NUMA_KEY))
    for member in members("g", 3, gpu=1):
        state.set_pod(member)
    assert words(decide(state, "ml/g")) == ("proved_infeasible", "capacity", "")


def test_what_no_zone_lists_is_limited_by_the_node_and_what_one_lists_is_in_that_one_only() -> None:
    zones = (NumaZone("node-0", (("cpu", 8000), (GPU, 4))), NumaZone("node-1", (("cpu", 8000),)))
    state = cluster(
        node("n1", cpu=16000, gpu=4, pods=3, zones=zones),
        pod("x", cpu=0, node="n1"),
        gang("a", 2, NUMA_KEY),
        members("a", 3, gpu=1),
        gang("b", 3, NUMA_KEY),
        members("b", 3),
    )
    decision = decide(state, "ml/a")
    assert decision.domain == "n1/node-0" and len(decision.assignments) == 2  # the node takes 3 pods
    assert [row.domain for row in decision.domains] == ["n1/node-0"]
    assert decide(state, "ml/b").domains[0].short_of == (("pods", 1),)


def test_a_zone_offers_no_more_than_its_node_has_left() -> None:
    full = node("n1", cpu=16000, gpu=6, zones=(zone(0), zone(1)))
    state = cluster(full, [gang(name, 2, NUMA_KEY) for name in "ab"])
    for name in "ab":
        for member in members(name, 2, gpu=2):
            state.set_pod(member)
    place(state, "ml/a")
    assert decide(state, "ml/b").verdict == Verdict.PROVED_INFEASIBLE


def test_without_zones_there_is_no_domain() -> None:
    state = cluster(node("n1"), gang("g", 1, NUMA_KEY), members("g", 1))
    decision = decide(state, "ml/g")
    assert (decision.verdict, decision.reason) == (Verdict.PROVED_INFEASIBLE, Reason.NO_SUCH_DOMAIN)
    assert decision.unlabelled_nodes == 1


def test_with_a_gate_off_the_group_is_a_plain_gang() -> None:
    state = cluster(zoned("n1"), gang("g", 8, NUMA_KEY), members("g", 8, gpu=1), gates=False)
    decision = decide(state, "ml/g")
    assert decision.placed and not decision.enforced and decision.domain == ""


def test_the_real_scheduler_knows_no_such_label() -> None:
    state = cluster(zoned("n1"), gang("g", 1, NUMA_KEY), members("g", 1))
    assert decide(state, "ml/g", profile="upstream-1.36").reason == Reason.NO_SUCH_DOMAIN


def test_taints_cordon_and_affinity_of_the_node_hold_for_its_zones() -> None:
    term = NodeSelectorTerm((), (Requirement("metadata.name", "In", ("n3",)),))
    state = cluster(
        zoned("n1", taints=(Taint("a", "b", "NoSchedule"),)),
        zoned("n2", unschedulable=True),
        zoned("n3"),
        zoned("n4"),
        gang("g", 1, NUMA_KEY),
        members("g", 1, eligibility=Eligibility(terms=(term,))),
        gang("h", 1, NUMA_KEY),
        members("h", 1, eligibility=Eligibility(node_selector=((RACK, "r1"),))),
    )
    assert decide(state, "ml/g").domain == "n3/node-0"
    assert decide(state, "ml/g").funnel.eligible == 2
    assert decide(state, "ml/h").funnel.eligible == 4


def test_a_pod_keeps_its_zone_while_it_is_on_the_node_and_a_fork_has_its_own() -> None:
    state = cluster(zoned("n1"), gang("g", 1, NUMA_KEY), members("g", 1, gpu=2))
    place(state, "ml/g")
    state.set_pod(replace(state.pods["pod-g-0"], phase="Running"))
    assert state.zone_of == {"pod-g-0": "n1/node-0"}
    other = state.fork()
    other.set_pod(replace(other.pods["pod-g-0"], node="n9"))
    assert other.zone_of == {} and state.zone_of == {"pod-g-0": "n1/node-0"}
    state.remove_pod("pod-g-0")
    assert state.zone_of == {}


# --- random histories


def room_of(state: ClusterState) -> dict[str, Counter[str]]:
    """What is certain to be free in each zone, written out: the zone less what was placed in it and less all
    pods of the node that were placed in none, and never more than the node has left.
    """
    found = {}
    for host in state.nodes.values():
        left = Counter(dict(host.allocatable))
        loose: Counter[str] = Counter()
        inside: dict[str, Counter[str]] = {domain_of(host.name, z.name): Counter() for z in host.zones}
        for each in state.pods.values():
            if each.node != host.name or each.finished:
                continue
            asks = dict(each.shape.requests)
            left.subtract(asks)
            only = next(iter(inside), "") if len(inside) == 1 else ""
            inside.get(state.zone_of.get(each.uid, only), loose).update(asks)
        for z in host.zones:
            domain = domain_of(host.name, z.name)
            own = Counter(dict(z.allocatable))
            own.subtract(inside[domain])
            own.subtract(loose)
            found[domain] = Counter({r: min(own[r], left[r]) for r in ("cpu", GPU)})
            found[domain]["pods"] = left["pods"]
    return found


steps = st.lists(
    st.tuples(
        st.sampled_from(("pod", "group", "gone", "zones", "node", "forget")),
        st.integers(0, 3),
        st.integers(1, 3),
    ),
    max_size=14,
)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_after_any_history_zones_hold_what_is_placed_in_them_and_the_kept_view_is_the_rebuilt_one(
    history: list[tuple[str, int, int]],
) -> None:
    state = cluster(zoned("n0"), zoned("n1"), zoned("n2", 1), node("n3", gpu=8))
    for number, (what, where, size) in enumerate(history):
        name = f"n{where}"
        if what == "pod":
            state.set_pod(pod(f"p{number}", gpu=size, node=name))
        elif what == "gone" and state.pods:
            state.remove_pod(sorted(state.pods)[where % len(state.pods)])
        elif what == "zones" and name in state.nodes:
            told = tuple(zone(n, gpu=size) for n in range(where))
            state.set_node(replace(state.nodes[name], zones=told))
        elif what == "node":
            if name in state.nodes:
                state.remove_node(name, f"node-{name}")
            else:
                state.set_node(zoned(name))
        elif what == "forget":
            state = state.fork()
        else:
            state.set_group(gang(f"g{number}", size, NUMA_KEY))
            for member in members(f"g{number}", size, gpu=1 + where % 2):
                state.set_pod(member)
            before = room_of(state)
            decision = place(state, f"ml/g{number}")
            if decision.assignments:
                asked = Counter[str]()
                for uid, host in decision.assignments:
                    assert host == node_of(decision.domain)
                    asked.update(dict(state.pods[uid].shape.requests))
                assert all(before[decision.domain][r] >= amount for r, amount in asked.items())
            else:
                fits = [
                    min(room["cpu"] // 1000, room[GPU] // (1 + where % 2), room["pods"])
                    for room in before.values()
                ]
                assert max(fits, default=0) < size
        assert zone_rooms(state) == zone_rooms(rebuilt(state))


def rebuilt(state: ClusterState) -> ClusterState:
    """The same facts told once, in one go."""
    other = ClusterState()
    for host in state.nodes.values():
        other.set_node(host)
    for each in state.pods.values():
        other.set_pod(replace(each, node=""))
        if each.node:
            other.bind(each.uid, each.node, state.zone_of.get(each.uid, ""))
    return other


def test_a_finished_pod_holds_nothing_in_its_zone() -> None:
    state = cluster(zoned("n1", 1), gang("g", 1, NUMA_KEY), members("g", 1, gpu=4))
    place(state, "ml/g")
    assert dict(zone_rooms(state)[0].free)[GPU] == 0
    done: Pod = replace(state.pods["pod-g-0"], phase="Succeeded")
    state.set_pod(done)
    assert dict(zone_rooms(state)[0].free)[GPU] == 4
