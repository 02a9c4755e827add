"""A group whose whole domain is gone, as the pages tell it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import translation

from scheduling.ledger.events import DomainLost
from scheduling.models import Cluster, NodeRow, PodRow
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from scheduling.wording.events import sentence
from tests.console.support import dump, node, text

PAGE = "/c/demo/podgroups/team-a/fits"


@pytest.fixture
def rack(cluster: Cluster) -> str:
    """The rack that `fits` ran in, and that is gone with both nodes; the other one has room for it."""
    used = set(PodRow.objects.filter(cluster=cluster, group="fits").values_list("node", flat=True))
    lost = "r1" if "n11" in used else "r2"
    kept = "r2" if lost == "r1" else "r1"
    nodes = [node(f"n{kept[1]}{place}", kept) for place in (1, 2)]
    import_cluster(
        name="demo",
        request=ImportRequest(data=dump(*nodes), complete=frozenset({"Node"})),
        actor="test",
    )
    run_cycle(cluster.pk)
    assert NodeRow.objects.filter(cluster=cluster, removed=False).count() == 2
    return lost


def test_page_list_and_history_tell_it_and_nothing_was_placed_elsewhere(viewer: Client, rack: str) -> None:
    assert not PodRow.objects.filter(group="fits", removed=False).exclude(node="").exists()
    said = "The domain of its lost members is gone: no node carries its value any more"
    assert said in text(viewer.get(PAGE))
    assert said in text(viewer.get("/c/demo/podgroups/"))
    told = f"lost its domain {rack}: no node carries that value of topology.example.com/rack any more."
    assert told in text(viewer.get("/c/demo/history"))
    assert "as a new generation, free to go to any domain. Then 2 members fit" in text(
        viewer.get(f"{PAGE}/changes")
    )


def test_it_runs_again_when_a_node_of_the_rack_is_back(cluster: Cluster, rack: str) -> None:
    back = [node(f"n{rack[1]}{place}", rack) for place in (1, 2)]
    import_cluster(name="demo", request=ImportRequest(data=dump(*back)), actor="test")
    run_cycle(cluster.pk)
    on = PodRow.objects.filter(cluster=cluster, group="fits", removed=False).values_list("node", flat=True)
    assert "" not in set(on)


def test_it_is_said_in_japanese_too() -> None:
    event = DomainLost("team-a", "train", "u", 1, "rack", "r1", ("n1", "n2"))
    with translation.override("ja"):
        assert "ドメイン r1 を失いました" in sentence(event)
