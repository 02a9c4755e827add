"""Two states of a cluster side by side: nothing of a state against itself, else all of what differs."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.model import TAS_GATES, Node, Pod, PodGroup, Shape
from scheduling.engine.roll import Roll
from scheduling.engine.state import ClusterState
from scheduling.ledger import events as e
from scheduling.ledger import fold, snapshots
from scheduling.ledger.events import Event
from scheduling.selectors import pictures
from scheduling.selectors.differences import Change, What, compare
from scheduling.selectors.headline import Use, by_domain, headline, total
from scheduling.selectors.pictures import Field
from tests.projections.histories import Commit, histories
from tests.services import builders

RACK = "topology.example.com/rack"
SHAPE = Shape((("cpu", 1_000), ("nvidia.com/gpu", 4), ("pods", 1)))
ALLOCATABLE = (("cpu", 8_000), ("nvidia.com/gpu", 8), ("pods", 10))
ON = tuple((gate, True) for gate in TAS_GATES)


def told(*events: Event) -> ClusterState:
    state = ClusterState()
    for seq, event in enumerate((e.ClusterRegistered("demo", "simulated", ON), *events), 1):
        fold.apply(state, event, seq)
    return state


def later(state: ClusterState, *events: Event) -> ClusterState:
    after = state.fork()
    for event in events:
        fold.apply(after, event, after.seq + 1)
    return after


def node(name: str, rack: str = "r1") -> Node:
    return Node(name, f"uid-{name}", ((RACK, rack),), allocatable=ALLOCATABLE)


def pod(name: str, **fields: object) -> Pod:
    return Pod("ml", name, f"uid-{name}", SHAPE, group="train", **fields)  # type: ignore[arg-type]


GROUP = PodGroup("ml", "train", "group-1", "gang", 2, RACK)
PLACED = e.PodGroupPlaced(
    "ml", "train", "group-1", 1, "exact", RACK, True, "r1", 2, 2, 2,
    (("uid-a", "a", "n1"), ("uid-b", "b", "n2")),
)  # fmt: skip


def waiting() -> ClusterState:
    """Two nodes of a rack and one of another, and a gang of two that waits."""
    return told(
        *(e.NodeAdded(each) for each in (node("n1"), node("n2"), node("n3", "r2"))),
        e.PodGroupCreated(GROUP), e.PodAdded(pod("a")), e.PodAdded(pod("b")),
    )  # fmt: skip


def what(changes: tuple[Change, ...]) -> dict[str, tuple[What, ...]]:
    return {change.key: change.what for change in changes}


# --- properties


@given(histories())
def test_a_state_does_not_differ_from_itself(history: list[Commit]) -> None:
    state = told(*(event for commit in history[1:] for event in commit))

    assert not compare(state, state)
    assert not compare(state, state.fork())


@settings(max_examples=200)
@given(histories(), st.data())
def test_the_difference_explains_every_object_and_names_no_other(
    history: list[Commit], data: st.DataObject
) -> None:
    events = [event for commit in history for event in commit]
    cut = data.draw(st.integers(0, len(events)))
    before, after = ClusterState(), ClusterState()
    for seq, event in enumerate(events, 1):
        fold.apply(after, event, seq)
        if seq == cut:
            before = after.fork()

    found = compare(before, after)

    assert {change.name: change.fields for change in found.nodes} == {
        name: fields
        for name in {*before.nodes, *after.nodes}
        if (
            fields := pictures.changed(
                pictures.of_node(before.nodes.get(name)), pictures.of_node(after.nodes.get(name))
            )
        )
    }
    assert {change.uid: change.fields for change in found.pods} == {
        uid: fields
        for uid in {*before.pods, *after.pods}
        if (fields := pictures.changed(_pod(before, uid), _pod(after, uid)))
    }
    assert {change.key: change.fields for change in found.groups} == {
        key: fields
        for key in {*before.group_keys(), *after.group_keys()}
        if (fields := pictures.changed(_group(before, key), _group(after, key)))
    }
    assert all(change.what for change in (*found.nodes, *found.groups, *found.pods))
    assert all(
        change.what == (What.CHANGED,) or What.CHANGED not in change.what
        for change in (*found.nodes, *found.groups, *found.pods)
    )


def _pod(state: ClusterState, uid: str) -> pictures.Picture:
    return pictures.of_pod(state.pods.get(uid), state.zone_of.get(uid, ""))


def _group(state: ClusterState, key: str) -> pictures.Picture:
    return pictures.of_group(state.groups.get(key)) | pictures.of_standing(state, key)


# --- what became of an object


def test_what_became_of_nodes() -> None:
    before = told(*(e.NodeAdded(node(name)) for name in ("a", "b", "c", "d", "e", "gone", "same")))
    after = later(
        before,
        e.NodeUpdated("a", "uid-a", (("unschedulable", True),)),
        e.NodeUpdated("b", "uid-b", (("ready", False),)),
        e.NodeUpdated("c", "uid-c", (("labels", ((RACK, "r9"),)),)),
        e.NodeUpdated("d", "uid-d", (("allocatable", ()),)),
        e.NodeAdded(replace(node("e"), uid="another")),
        e.NodeRemoved("gone", "uid-gone"),
        e.NodeAdded(node("new")),
    )

    assert what(compare(before, after).nodes) == {
        "a": (What.CORDONED,),
        "b": (What.NOT_READY,),
        "c": (What.RELABELLED,),
        "d": (What.CHANGED,),
        "e": (What.REPLACED,),
        "gone": (What.LEFT,),
        "new": (What.JOINED,),
    }
    back = what(compare(after, before).nodes)
    assert (back["a"], back["b"], back["gone"]) == ((What.UNCORDONED,), (What.READY,), (What.JOINED,))
    (relabelled,) = [change for change in compare(before, after).nodes if change.name == "c"]
    assert relabelled.fields == (Field(f"labels[{RACK}]", "r1", "r9"),)


def test_a_gang_that_was_placed() -> None:
    before = waiting()
    found = compare(before, later(before, PLACED))

    assert what(found.groups) == {"ml/train": (What.PLACED,)}
    assert what(found.pods) == {"ml/a": (What.BOUND,), "ml/b": (What.BOUND,)}
    assert found.nodes == ()
    fields = {field.name: (field.before, field.after) for field in found.groups[0].fields}
    assert fields["status"] == ("pending", "scheduled")
    assert fields["onNodes"] == (0, 2)
    assert fields["domain"] == (None, "r1")


def test_a_gang_that_lost_its_rack() -> None:
    before = later(waiting(), PLACED)
    after = later(
        before,
        e.NodeRemoved("n1", "uid-n1"),
        e.NodeRemoved("n2", "uid-n2"),
        e.PodRemoved("ml", "a", "uid-a", "n1", "train", "node_lost"),
        e.DomainLost("ml", "train", "group-1", 1, RACK, "r1", ("n1", "n2")),
    )

    found = compare(before, after)

    assert what(found.groups) == {"ml/train": (What.SHORT, What.LOST_DOMAIN)}
    lost = found.groups[0].field("lostDomain")
    assert lost == Field("lostDomain", None, "r1")
    assert what(found.pods) == {"ml/a": (What.LEFT,)}


def test_groups_that_came_went_and_came_again() -> None:
    before = waiting()
    closed = e.PodGroupClosed("ml", "train", "group-1", 1, "ended")
    again = e.PodGroupCreated(replace(GROUP, uid="group-2", generation=2))
    other = e.PodGroupCreated(PodGroup("ml", "other", "o-1"))
    held = e.PodGroupHeld("ml", "train", "group-1", 1, "not_enough_pods", 3, 2)

    assert what(compare(before, later(before, closed)).groups) == {"ml/train": (What.CLOSED,)}
    assert what(compare(before, later(before, closed, again)).groups) == {"ml/train": (What.REPLACED,)}
    assert what(compare(before, later(before, other)).groups) == {"ml/other": (What.CREATED,)}
    assert what(compare(before, later(before, held)).groups) == {"ml/train": (What.VERDICT,)}


def test_what_became_of_pods() -> None:
    before = told(
        e.NodeAdded(node("n1")), e.NodeAdded(node("n2")),
        *(e.PodAdded(pod(name, node="n1")) for name in ("moved", "off", "done", "gone")),
        e.PodAdded(pod("late")), e.PodAdded(pod("gated", gated=True)),
    )  # fmt: skip

    def update(name: str, *changes: tuple[str, object]) -> Event:
        return e.PodUpdated("ml", name, f"uid-{name}", changes)

    after = later(
        before, update("moved", ("node", "n2")), update("off", ("node", "")),
        update("done", ("phase", "Succeeded")), update("late", ("node", "n1")),
        update("gated", ("gated", False)),
        e.PodRemoved("ml", "gone", "uid-gone", "n1", "train", "deleted"), e.PodAdded(pod("new")),
    )  # fmt: skip

    assert what(compare(before, after).pods) == {
        "ml/done": (What.FINISHED,),
        "ml/gated": (What.CHANGED,),
        "ml/gone": (What.LEFT,),
        "ml/late": (What.BOUND,),
        "ml/moved": (What.MOVED,),
        "ml/new": (What.JOINED,),
        "ml/off": (What.UNBOUND,),
    }


def test_a_gate_is_told_of_the_cluster_and_of_the_groups_that_it_frees() -> None:
    before = later(waiting(), PLACED, e.NodeUpdated("n2", "uid-n2", (("labels", ()),)))
    found = compare(before, later(before, e.FeatureGateChanged("GangScheduling", False)))

    assert found.cluster == (Field("gates[GangScheduling]", True, False),)
    assert [field for field in found.groups[0].fields if field.name == "status"] == [
        Field("status", "error", "scheduled")
    ]


# --- figures


def test_gpus_are_counted_by_domain() -> None:
    state = later(waiting(), PLACED, e.NodeUpdated("n3", "uid-n3", (("unschedulable", True),)))

    assert by_domain(state, RACK) == {"r1": Use(16, 8), "r2": Use(8, 0)}
    assert by_domain(state, "no/such-label") == {}
    assert by_domain(state, "topology.node.k8s.io/numa") == {}
    assert total(state) == Use(24, 8)
    assert total(ClusterState()) == Use(0, 0)
    then = headline(state)
    assert (then.nodes, then.usable, then.groups, then.running, then.waiting) == (3, 2, 1, 1, 0)
    assert headline(waiting()).waiting == 1


def test_of_packed_states_only_what_changed_is_looked_at_and_tells_the_same() -> None:
    made = builders.stream(
        *(builders.node(f"n{number}") for number in range(9)),
        builders.gang("g", 2),
        *builders.members("g", 2),
    )
    made.settle()
    packed = snapshots.unpack(snapshots.pack(made.state))
    one, other = packed.fork(), packed.fork()
    for state in (one, other, made.state):
        node_0 = state.nodes["n0"]
        state.set_node(replace(node_0, unschedulable=True))
    plain = made.state.fork()
    for state in (other, plain):
        state.remove_node("n1", state.nodes["n1"].uid)
        state.set_node(replace(state.nodes["n2"], ready=False))
        state.set_node(replace(state.nodes["n3"]))
        pod = state.members("default/g")[0]
        state.remove_pod(pod.uid)
        state.set_pod(replace(pod, uid="another", node=""))
    assert isinstance(one.nodes, Roll) and isinstance(other.nodes, Roll)
    found = compare(one, other)
    assert found == compare(made.state, plain)
    assert [change.name for change in found.nodes] == ["n1", "n2"]
