"""What one event did: the state just before and just after it, with the same fields as the whole folds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.db import transaction

from scheduling.engine.model import TAS_GATES
from scheduling.engine.state import ClusterState
from scheduling.ledger import codec, fold, store
from scheduling.ledger import events as e
from scheduling.ledger.events import Event
from scheduling.models import Cluster
from scheduling.selectors import effects, pictures
from scheduling.selectors import two_moments as module
from scheduling.selectors.effects import About, Move
from scheduling.selectors.headline import Use, headline
from scheduling.selectors.moments import moment
from scheduling.selectors.pictures import Field
from scheduling.selectors.two_moments import DomainUse, two_moments
from tests.ledger.examples import EXAMPLES
from tests.selectors.test_differences import GROUP, PLACED, RACK, node, pod

NOW = 1_700_000_000_000
STORY: tuple[Event, ...] = (
    e.ClusterRegistered("demo", "simulated", tuple((gate, True) for gate in TAS_GATES)),
    e.NodeAdded(node("n1")),
    e.NodeAdded(node("n2")),
    e.PodGroupCreated(GROUP),
    e.PodAdded(pod("a")),
    e.PodAdded(pod("b")),
    PLACED,
    e.NodeUpdated("n1", "uid-n1", (("unschedulable", True),)),
    e.PodUpdated("ml", "a", "uid-a", (("phase", "Running"),)),
    e.PodRemoved("ml", "b", "uid-b", "n2", "train", "deleted"),
    e.FeatureGateChanged("GangScheduling", False),
    e.WorkloadAdded(next(event.workload for event in EXAMPLES if isinstance(event, e.WorkloadAdded))),
)


def write(events: Sequence[Event]) -> Cluster:
    """A cluster whose log has these events, each by a command of its own, a second apart."""
    with transaction.atomic():
        stream = store.open_stream("cluster", "demo")
        for place, event in enumerate(events):
            store.append(stream, place, [event], actor="a", command_id=f"c{place}", now=NOW + 1000 * place)
    return Cluster(stream_id=stream, name="demo")


@pytest.fixture
def cluster(db: None) -> Cluster:
    return write(STORY)


def differing(cluster: Cluster, seq: int) -> dict[str, list[Field]]:
    found = effects.effect(cluster, seq).objects
    return {beside.about.subject: [field for field in beside.fields if field.changed] for beside in found}


def test_a_cordon_changes_one_field_of_its_node(cluster: Cluster) -> None:
    (beside,) = effects.effect(cluster, 8).objects

    assert beside.about == About("node", "", "n1")
    assert [field for field in beside.fields if field.changed] == [Field("unschedulable", False, True)]
    assert Field("used[nvidia.com/gpu]", 4, 4) in beside.fields
    assert Field(f"labels[{RACK}]", "r1", "r1") in beside.fields


def test_a_placement_tells_its_group_and_each_member(cluster: Cluster) -> None:
    found = effects.effect(cluster, 7)

    assert found.moves == [Move("a", "", "n1"), Move("b", "", "n2")]
    assert differing(cluster, 7)["podgroup"] == [
        Field("status", "pending", "scheduled"),
        Field("onNodes", 0, 2),
        Field("verdict", None, "placed"),
        Field("domain", None, "r1"),
        Field("fits", None, 2),
    ]
    assert (found.then.running, found.then.waiting, found.then.use.used) == (1, 0, 8)


def test_a_pod_is_told_with_its_group(cluster: Cluster) -> None:
    assert differing(cluster, 9) == {"pod": [Field("phase", "Pending", "Running")], "podgroup": []}
    gone = differing(cluster, 10)
    assert Field("node", "n2", None) in gone["pod"]
    assert gone["podgroup"] == [
        Field("status", "scheduled", "held"),
        Field("members", 2, 1),
        Field("onNodes", 2, 1),
    ]


def test_a_gate_is_told_of_the_cluster(cluster: Cluster) -> None:
    assert differing(cluster, 11) == {"cluster": [Field("gates[GangScheduling]", True, False)]}


def test_the_state_keeps_nothing_of_a_workload(cluster: Cluster) -> None:
    (beside,) = effects.effect(cluster, 12).objects

    assert (beside.about.subject, beside.fields) == ("workload", [])


def picture(state: ClusterState, about: About) -> pictures.Picture:
    if about.subject == "pod":
        return pictures.of_pod(state.pods.get(about.uid))
    return pictures.of(state, about.subject, about.namespace, about.name)


@pytest.mark.parametrize("seq", range(1, len(STORY) + 1))
def test_before_and_after_are_those_of_the_whole_folds(seq: int, cluster: Cluster) -> None:
    before, after = (fold.state_at(cluster.pk, upto) for upto in (seq - 1, seq))
    found = effects.effect(cluster, seq)

    assert [beside.fields for beside in found.objects] == [
        pictures.beside(picture(before, beside.about), picture(after, beside.about))
        for beside in found.objects
    ]
    assert found.then == headline(after)


def test_a_seq_that_the_log_has_not_reached_is_an_error(cluster: Cluster) -> None:
    for seq in (0, len(STORY) + 1):
        with pytest.raises(LookupError):
            effects.effect(cluster, seq)


def test_an_event_of_a_newer_console_is_an_error_of_its_own(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = write(STORY[:2])
    monkeypatch.setattr(e.NodeAdded, "VERSION", 1)

    with pytest.raises(codec.UnknownEvent, match="NodeAdded in version 2"):
        effects.effect(cluster, 2)


# --- two moments


def test_two_moments_are_compared_in_the_order_of_time(cluster: Cluster) -> None:
    found = two_moments(cluster, moment(cluster, "10"), moment(cluster, "6"), RACK)

    assert (found.a.seq, found.b.seq, found.swapped) == (6, 10, True)
    assert [change.key for change in found.difference.groups] == ["ml/train"]
    assert (found.before, found.after) == (Use(16, 0), Use(16, 4))
    assert found.domains == (DomainUse("r1", Use(16, 0), Use(16, 4)),)
    assert found.domain_count == 1


def test_moments_far_apart_are_told_as_those_that_are_near(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = moment(cluster, "2"), moment(cluster, "11")
    near = two_moments(cluster, a, b, RACK)
    monkeypatch.setattr(module, "FOLDED_ON", 0)

    assert two_moments(cluster, a, b, RACK) == near
    assert not two_moments(cluster, a, a, RACK).difference


def test_the_newest_event_of_a_type(cluster: Cluster) -> None:
    found = module.last_of(cluster, "NodeAdded")

    assert found is not None and found.seq == 3
    assert module.last_of(cluster, "SnapshotImported") is None
