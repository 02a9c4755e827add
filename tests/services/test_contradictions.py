"""Groups that are wholly on nodes while the facts contradict each other: said by the next cycle, once, and
taken back by the one after the facts agree again.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scheduling.ledger.events import FeatureGateChanged, PodGroupConflicted, PodGroupSettled
from scheduling.models import Cluster, PodGroupRow
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.cycles import run_cycle
from tests.services.builders import gang, members, node, nodes_of, pod, stream, text

GATE = "TopologyAwareWorkloadScheduling"


def spread(mode: str = "simulated") -> MemoryStream:
    """A gang of two whose members run in two racks, the gate being off."""
    made = stream(node("a", "r1"), node("b", "r2"), mode=mode)
    made.commit([FeatureGateChanged(GATE, False)])
    made.import_data(text(gang("g", 2), pod("g-0", "g", on="a"), pod("g-1", "g", on="b")))
    assert made.settle() == []
    return made


@pytest.mark.parametrize("mode", ["simulated", "observed"])
def test_switching_the_gate_on_tells_the_conflict_of_a_group_that_is_wholly_bound(mode: str) -> None:
    made = spread(mode)
    made.commit([FeatureGateChanged(GATE, True)])
    (event,) = made.settle()
    assert isinstance(event, PodGroupConflicted)
    assert (event.reason, event.domains, event.bound) == ("conflicting_domains", ("r1", "r2"), 2)
    assert made.settle() == []


def test_a_conflict_ends_with_the_gate_and_is_news_when_it_comes_back() -> None:
    made = spread()
    made.commit([FeatureGateChanged(GATE, True)])
    made.settle()
    made.commit([FeatureGateChanged(GATE, False)])
    (settled,) = made.settle()
    assert isinstance(settled, PodGroupSettled) and (settled.name, settled.bound) == ("g", 2)
    assert "default/g" not in made.state.verdicts and made.settle() == []
    made.commit([FeatureGateChanged(GATE, True)])
    (again,) = made.settle()
    assert isinstance(again, PodGroupConflicted)


@pytest.mark.parametrize(("rack", "reason"), [("r2", "conflicting_domains"), (None, "domain_lost")])
def test_another_label_of_a_node_under_a_bound_group_is_a_conflict_until_it_is_as_before(
    rack: str | None, reason: str
) -> None:
    made = stream(node("a", cpu="1"), node("b", cpu="1"), gang("g", 2), *members("g", 2))
    made.settle()
    assert nodes_of(made, "g") == {"g-0": "a", "g-1": "b"}
    made.import_data(text(node("b", rack, cpu="1")))
    (event,) = made.settle()
    assert isinstance(event, PodGroupConflicted) and event.reason == reason
    made.import_data(text(node("b", "r1", cpu="1")))
    (settled,) = made.settle()
    assert isinstance(settled, PodGroupSettled)


def test_a_conflict_ends_when_members_move_into_one_domain() -> None:
    made = spread("observed")
    made.commit([FeatureGateChanged(GATE, True)])
    made.settle()
    made.import_data(text(pod("g-1", "g", on="a")))
    (settled,) = made.settle()
    assert isinstance(settled, PodGroupSettled) and settled.members == 2


@pytest.mark.django_db
def test_the_row_has_the_conflict_and_loses_it(
    make: Callable[..., Cluster], tables_agree: Callable[[Cluster], None]
) -> None:
    cluster = make(
        node("a", "r1"), node("b", "r2"), gang("g", 2), pod("g-0", "g", on="a"), pod("g-1", "g", on="b"),
        mode="observed",
    )  # fmt: skip
    run_cycle(cluster.pk)
    row = PodGroupRow.objects.get(cluster=cluster, name="g")
    assert (row.status, row.verdict, row.reason) == ("error", "conflicted", "conflicting_domains")
    moved = ImportRequest(text(node("b", "r1")), mode="observed")
    import_cluster(name="c", request=moved, actor="tester")
    run_cycle(cluster.pk)
    row.refresh_from_db()
    assert (row.status, row.verdict, row.reason) == ("scheduled", "", "")
    tables_agree(cluster)
