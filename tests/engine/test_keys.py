"""Several topology keys in one cluster at once: racks, zones, hosts, any label, each with its own domains."""

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine import oracle, topology
from scheduling.engine.decide import decide
from scheduling.engine.model import Node
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.state import ClusterState
from tests.engine.builders import RACK, cluster, gang, members, node

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
ANY = "example.com/cooling-loop"
KEYS = (RACK, ZONE, HOSTNAME, ANY, "pool")


def host(name: str, rack: str | None, zone: str, **more: object) -> Node:
    labels = {ZONE: zone, HOSTNAME: name} | dict(more.pop("labels", {}))  # type: ignore[call-overload]
    return node(name, rack, cpu=2000, labels=labels, **more)  # type: ignore[arg-type]


def two_zones() -> list[Node]:
    """Three racks of two hosts of 2 cores; racks 1 and 2 in zone a, rack 3 in zone b; loops cross racks."""
    return [
        host(f"n{rack}{place}", f"r{rack}", "b" if rack == 3 else "a", labels={ANY: f"loop-{place}"})
        for rack in (1, 2, 3)
        for place in (1, 2)
    ]


def test_the_same_gang_fits_by_the_size_of_the_domains_of_its_key() -> None:
    state = cluster(two_zones())
    for name, key in (("host", HOSTNAME), ("rack", RACK), ("loop", ANY), ("zone", ZONE)):
        state.set_group(gang(name, 5, key))
        for member in members(name, 5):
            state.set_pod(member)
    assert [str(decide(state, f"ml/{name}").verdict) for name in ("host", "rack", "loop", "zone")] == [
        "proved_infeasible",
        "proved_infeasible",
        "placed",
        "placed",
    ]
    assert decide(state, "ml/loop").domain == "loop-1"
    assert decide(state, "ml/zone").domain == "a"
    assert [row.fits for row in decide(state, "ml/host").domains] == [2] * 6


def test_groups_of_different_keys_take_room_from_each_other() -> None:
    state = cluster(two_zones())
    state.set_group(gang("zone", 7, ZONE))
    state.set_group(gang("loop", 6, ANY))
    for member in (*members("zone", 7), *members("loop", 6)):
        state.set_pod(member)
    assert decide(state, "ml/loop").placed
    placed = decide(state, "ml/zone")
    for uid, name in placed.assignments:
        state.bind(uid, name)
    after = decide(state, "ml/loop")
    assert (after.verdict, after.reason) == (Verdict.PROVED_INFEASIBLE, Reason.CAPACITY)
    assert after.fits_across_domains is False


def test_a_node_is_in_no_domain_of_a_key_that_it_lacks_and_in_one_of_the_others() -> None:
    state = cluster(host("n1", None, "a"), host("n2", "r1", "a"))
    assert state.index(RACK).domains == ("r1",) and state.index(RACK).unlabelled == 1
    assert state.index(ZONE).domains == ("a",) and state.index(HOSTNAME).domains == ("n1", "n2")


labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(("", "a", "b", "c")), max_size=4)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.integers(0, 4), labels),
        st.tuples(st.just("gone"), st.integers(0, 4), st.just({})),
        st.tuples(st.just("look"), st.integers(0, 4), labels),
        st.tuples(st.just("fork"), st.integers(0, 4), st.just({})),
        st.tuples(st.just("group"), st.integers(1, 3), st.fixed_dictionaries({"key": st.sampled_from(KEYS)})),
    ),
    max_size=16,
)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_after_any_history_every_key_has_its_rebuilt_index_and_its_groups_are_decided_by_it(
    history: list[tuple[str, int, dict[str, str]]],
) -> None:
    state = cluster()
    for number, (what, size, about) in enumerate(history):
        if what == "node":
            state.set_node(node(f"n{size}", None, cpu=2000, labels=about))
        elif what == "gone":
            state.remove_node(f"n{size}", f"node-n{size}")
        elif what == "fork":
            state = state.fork()
        elif what == "look":
            for key in about:
                state.index(key)
        else:
            name = f"g{number}"
            state.set_group(gang(name, size, about["key"]))
            for member in members(name, size):
                state.set_pod(member)
            decision = decide(state, f"ml/{name}")
            assert decision.placed == oracle.feasible(state, f"ml/{name}")
            for uid, chosen in decision.assignments:
                assert state.nodes[chosen].label(about["key"]) == decision.domain
                state.bind(uid, chosen)
        agrees(state)


def agrees(state: ClusterState) -> None:
    for key in KEYS:
        kept, anew = state.index(key), topology.build(state.nodes, state.columns.slot, key)
        assert (kept.domains, kept.names, kept.unlabelled) == (anew.domains, anew.names, anew.unlabelled)
        assert kept.order.tolist() == anew.order.tolist()
        assert kept.starts.tolist() == anew.starts.tolist()
