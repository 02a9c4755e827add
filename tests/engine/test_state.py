"""The state of a cluster: what it answers, what changes it, copies, and that its history does not show."""

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.columns import AMOUNT_LIMIT
from scheduling.engine.decide import decide
from scheduling.engine.decision import VerdictSummary
from scheduling.engine.eligibility import bar
from scheduling.engine.model import TAS_GATES, Eligibility, Node, Pod, PodTerm, Requirement, altered
from scheduling.engine.queue import waiting
from scheduling.engine.state import ClusterState
from tests.engine.builders import GPU, RACK, ZONE, cluster, gang, members, node, pod
from tests.engine.strategies import Thing, groups, nodes, strangers

PORTS = (("TCP", "0.0.0.0", 80),)
LABELS = st.sampled_from([(("app", "a"),), ()])
VERDICT = VerdictSummary("proved_infeasible", "capacity", "r1", 1, 2)


def test_gates_never_set_are_off_and_all_must_be_on() -> None:
    state = ClusterState()
    assert not state.tas_enforced
    for gate in TAS_GATES:
        assert not state.tas_enforced
        state.set_gate(gate, True)
    assert state.tas_enforced


def test_bound_pods_hold_room_until_they_finish_or_go() -> None:
    state = cluster(node("a", cpu=8000, pods=10), pod("x", cpu=3000, node="a"), pod("y", cpu=1000, node="a"))
    assert state.free("a") == {"cpu": 4000, "pods": 8}
    assert state.used("a") == {"cpu": 4000, "pods": 2}
    state.set_pod(replace(state.pods["pod-x"], phase="Succeeded"))
    assert state.free("a") == {"cpu": 7000, "pods": 9}
    state.remove_pod("pod-y")
    assert state.free("a") == {"cpu": 8000, "pods": 10}


def test_a_terminating_pod_holds_its_room() -> None:
    assert cluster(node("a"), pod("x", node="a", terminating=True)).free("a")["cpu"] == 7000


def test_a_pod_that_loses_its_node_gives_the_room_back() -> None:
    state = cluster(node("a"), pod("x", node="a"))
    state.set_pod(replace(state.pods["pod-x"], node=""))
    assert state.free("a")["cpu"] == 8000


def test_free_is_negative_on_an_over_committed_node_and_the_node_is_named() -> None:
    state = cluster(node("b"), node("a", cpu=1000), pod("x", cpu=3000, node="a"))
    assert state.free("a")["cpu"] == -2000
    assert state.over_committed() == ("a",)


def test_a_resource_that_the_node_does_not_offer_counts_from_zero() -> None:
    state = cluster(node("a"), pod("x", gpu=2, node="a"))
    assert state.free("a")[GPU] == -2
    assert GPU not in cluster(node("a"), node("b", gpu=1)).free("a")


def test_a_pod_on_an_unknown_node_holds_room_once_the_node_joins() -> None:
    state = cluster(pod("x", node="a"))
    state.set_node(node("a"))
    assert state.free("a")["cpu"] == 7000


def test_what_a_node_offers_may_change_under_its_pods() -> None:
    state = cluster(node("a", cpu=4000, gpu=2), pod("x", cpu=1000, gpu=1, node="a"))
    state.set_node(node("a", cpu=2000))
    assert state.free("a") == {"cpu": 1000, GPU: -1, "pods": 109}


def test_a_node_that_left_and_came_back_has_its_pods_on_it_and_its_row_is_clean() -> None:
    state = cluster(node("a"), pod("x", node="a"))
    state.remove_node("a", "node-a")
    state.set_node(node("b"))
    assert state.free("b")["cpu"] == 8000
    state.set_node(node("a"))
    assert state.free("a")["cpu"] == 7000


def test_a_node_is_removed_only_by_its_own_uid() -> None:
    state = cluster(node("a"))
    state.remove_node("a", "another")
    state.remove_node("b", "node-b")
    assert list(state.nodes) == ["a"]


def test_asking_for_an_unknown_node_is_an_error() -> None:
    with pytest.raises(KeyError):
        cluster().free("a")


def test_binding_an_unknown_pod_is_an_error_and_removing_one_is_not() -> None:
    state = cluster(node("a"))
    state.remove_pod("nobody")
    with pytest.raises(KeyError):
        state.bind("nobody", "a")


def test_amounts_beyond_the_limit_saturate_so_that_nothing_fits_by_mistake() -> None:
    state = cluster(node("a", cpu=AMOUNT_LIMIT * 4), gang("g", 1), pod("g-0", "g", cpu=AMOUNT_LIMIT * 2))
    assert state.free("a")["cpu"] == AMOUNT_LIMIT - 1
    assert not decide(state, "ml/g").placed


def test_members_are_the_unfinished_pods_by_priority_then_age_then_name() -> None:
    state = cluster(
        pod("c", "g", created=1),
        pod("b", "g", created=1),
        pod("a", "g", created=2),
        pod("late", "g", created=9, priority=5),
        pod("done", "g", phase="Succeeded"),
        pod("other", "h"),
    )
    assert [member.name for member in state.members("ml/g")] == ["late", "b", "c", "a"]


def test_group_keys_are_those_open_and_those_only_named() -> None:
    assert cluster(gang("g", 1), pod("x", "h"), pod("y")).group_keys() == ["ml/g", "ml/h"]


def test_of_two_pods_with_one_name_the_newest_answers_to_it() -> None:
    state = cluster(pod("x", uid="u2", created=5), pod("x", uid="u1", created=3))
    assert state.pod_uid("ml/x") == "u2"
    state.set_pod(pod("x", uid="u3", created=5))
    assert state.pod_uid("ml/x") == "u3"
    state.set_pod(pod("x", uid="u2", created=5, priority=1))
    assert state.pod_uid("ml/x") == "u3"
    state.remove_pod("u3")
    assert state.pod_uid("ml/x") == "u2"
    assert state.pod_uid("ml/nobody") is None


def test_a_verdict_belongs_to_one_generation() -> None:
    state = cluster(gang("g", 1))
    state.record_verdict("ml/g", VERDICT)
    state.set_group(gang("g", 1, priority=3))
    assert state.verdicts == {"ml/g": VERDICT}
    state.set_group(gang("g", 2, uid="next"))
    assert state.verdicts == {}
    state.record_verdict("ml/g", VERDICT)
    state.close_group("ml/g", "group-g")
    assert "ml/g" in state.groups
    state.close_group("ml/g", "next")
    assert (state.groups, state.verdicts) == ({}, {})


def test_indexes_follow_labels() -> None:
    state = cluster(node("b", "r1"), node("a", "r1"), node("c", None))
    assert state.index(RACK).names == ("a", "b")
    assert state.index(RACK).unlabelled == 1
    state.set_node(node("b", "r0"))
    assert state.index(RACK).domains == ("r0", "r1")
    kept = state.index(RACK)
    state.set_node(node("b", "r0", cpu=1, labels={ZONE: "z"}))
    assert state.index(RACK) is kept


def test_bars_follow_what_changes_about_nodes() -> None:
    state = cluster(node("a"), node("b"))
    assert not state.bars(Eligibility()).any()
    state.set_node(node("b", ready=False))
    state.set_node(node("c", unschedulable=True))
    assert [int(state.bars(Eligibility())[state.columns.slot[name]]) for name in "abc"] == [0, 2, 3]


@pytest.mark.parametrize("selector", [{RACK: "r1"}, {RACK: "r1", ZONE: "z"}, {RACK: "none has it"}, {}])
def test_a_selector_bars_the_same_nodes_whether_looked_at_together_or_one_by_one(
    selector: dict[str, str],
) -> None:
    wanted = Eligibility(tuple(sorted(selector.items())))
    state = cluster(
        *(node(f"n{number:02}", f"r{number % 3}", labels={ZONE: "yz"[number % 2]}) for number in range(30)),
        node("cordoned", "r1", unschedulable=True, labels={ZONE: "z"}),
        node("away", None, ready=False),
    )
    slot = state.columns.slot

    def expected() -> dict[str, int]:
        return {name: int(bar(found, wanted)) for name, found in state.nodes.items()}

    assert {name: int(state.bars(wanted)[slot[name]]) for name in slot} == expected()
    state.set_node(node("n01", "r1", ready=False))
    state.set_node(node("n02", "r1", labels={ZONE: "z"}))
    assert {name: int(state.bars(wanted)[slot[name]]) for name in slot} == expected()


def test_a_pod_that_changes_and_stays_holds_its_room_once() -> None:
    state = cluster(node("a", cpu=8000, pods=10), pod("x", cpu=3000, node="a"))
    version = state.columns.version
    state.set_pod(replace(state.pods["pod-x"], labels=(("app", "a"),)))
    assert state.used("a") == {"cpu": 3000, "pods": 1}
    assert state.columns.version > version
    state.remove_pod("pod-x")
    assert state.free("a") == {"cpu": 8000, "pods": 10}


@pytest.mark.parametrize("changes", [{}, {"node": "a"}, {"phase": "Running", "priority": 7}])
def test_an_object_is_altered_as_dataclasses_replace_does(changes: dict[str, object]) -> None:
    old = pod("x", cpu=3000)
    new = altered(old, changes.items())
    assert new == replace(old, **changes)
    with pytest.raises(FrozenInstanceError):
        new.node = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        altered(old, [("color", "red")])


# --- histories


def observed(state: ClusterState) -> dict[str, object]:
    """Everything that can be asked, in a form that does not show the order of arrival."""
    return {
        "nodes": dict(sorted(state.nodes.items())),
        "pods": dict(sorted(state.pods.items())),
        "groups": dict(sorted(state.groups.items())),
        "gates": state.gates,
        "free": {name: state.free(name) for name in sorted(state.nodes)},
        "used": {name: state.used(name) for name in sorted(state.nodes)},
        "pods_on": {name: state.pods_on(name) for name in (*sorted(state.nodes), "gone")},
        "members": {key: state.members(key) for key in state.group_keys()},
        "over_committed": state.over_committed(),
        "apart": sorted((repr(one), sorted(pod.uid for pod in state.pods_apart(one))) for one in state.apart),
        "holding": sorted((ports, sorted(pod.uid for pod in pods)) for ports, pods in state.holding()),
        "waiting": waiting(state),
        "decisions": [repr(decide(state, key)) for key in state.group_keys()],
    }


def rebuilt(state: ClusterState) -> ClusterState:
    """The same objects put into a new state, names ascending."""
    fresh = cluster(
        [state.nodes[name] for name in sorted(state.nodes)],
        [state.groups[key] for key in sorted(state.groups)],
        sorted(state.pods.values(), key=lambda pod: (pod.created, pod.uid)),
        gates=False,
    )
    for gate, on in state.gates.items():
        fresh.set_gate(gate, on)
    return fresh


def ruled(pod: Pod) -> st.SearchStrategy[Thing]:
    """The pod as it is, or with rules about other pods."""
    term = PodTerm(ZONE, (Requirement("app", "In", ("a",)),))
    rules = ({}, {}, {"host_ports": PORTS}, {"pod_anti_affinity": (term,)}, {"pod_affinity": (term,)})
    shapes = st.sampled_from([replace(pod.shape, **each) for each in rules])
    return st.builds(lambda shape, labels: replace(pod, shape=shape, labels=labels), shapes, LABELS)


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, Thing | str]]:
    """A history: objects set, set again otherwise, and taken away, in any order."""
    names = [f"n{number}" for number in range(6)]
    history: list[tuple[str, Thing | str]] = []
    for _ in range(draw(st.integers(1, 5))):
        fresh: list[Thing] = [
            *draw(nodes()),
            *draw(strangers(names)),
            *draw(groups("g", names, 2, most=3)),
            *draw(groups("h", names, 1, most=2)),
        ]
        fresh = [draw(ruled(thing)) if isinstance(thing, Pod) else thing for thing in fresh]
        history += [("set", thing) for thing in draw(st.permutations(fresh))]
        history += [("remove", name) for name in draw(st.lists(st.sampled_from(names), max_size=2))]
        history += [
            ("delete", uid)
            for uid in draw(st.lists(st.sampled_from(["pod-g-0", "pod-g-1", "pod-stranger-0"]), max_size=2))
        ]
        history += draw(st.sampled_from([[], [("ask", "")], [("close", "ml/h")], [("gate", TAS_GATES[2])]]))
    return history


def play(state: ClusterState, history: list[tuple[str, Thing | str]]) -> None:
    for verb, thing in history:
        match verb, thing:
            case "set", Node() as one:
                state.set_node(one)
            case "set", _ if hasattr(thing, "shape"):
                state.set_pod(thing)  # type: ignore[arg-type]
            case "set", _:
                state.set_group(thing)  # type: ignore[arg-type]
            case "remove", str(name):
                state.remove_node(name, f"node-{name}")
            case "delete", str(uid):
                state.remove_pod(uid)
            case "close", str(key):
                state.close_group(key, f"group-{key.removeprefix('ml/')}")
            case "gate", str(gate):
                state.set_gate(gate, not state.gates.get(gate, False))
            case _:
                observed(state)


@settings(max_examples=60, deadline=None)
@given(steps())
def test_a_state_that_grew_equals_one_built_anew(history: list[tuple[str, Thing | str]]) -> None:
    state = cluster()
    play(state, history)
    assert observed(state) == observed(rebuilt(state))


@settings(max_examples=25, deadline=None)
@given(steps(), steps(), steps())
def test_a_fork_and_its_origin_go_their_own_ways(
    common: list[tuple[str, Thing | str]],
    here: list[tuple[str, Thing | str]],
    there: list[tuple[str, Thing | str]],
) -> None:
    origin = cluster()
    play(origin, common)
    fork = origin.fork()
    assert observed(fork) == observed(origin)
    play(fork, there)
    play(origin, here)
    alone, apart = cluster(), cluster()
    play(alone, [*common, *here])
    play(apart, [*common, *there])
    assert observed(origin) == observed(alone)
    assert observed(fork) == observed(apart)


def test_a_fork_carries_sequence_mode_gates_and_verdicts() -> None:
    state = cluster(gang("g", 1), members("g", 2))
    state.seq, state.mode = 7, "observed"
    state.record_verdict("ml/g", VERDICT)
    fork = state.fork()
    assert (fork.seq, fork.mode, fork.gates, fork.verdicts) == (7, "observed", state.gates, state.verdicts)
    fork.set_gate(TAS_GATES[0], False)
    fork.close_group("ml/g", "group-g")
    assert state.tas_enforced
    assert "ml/g" in state.verdicts
