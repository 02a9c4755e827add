"""The demo cluster is made whole, once, and its waiting gang waits for the reason that it is to show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.core.management import call_command

from scheduling.engine.decide import decide
from scheduling.ledger import store
from scheduling.models import Cluster, PodGroupRow
from scheduling.services import demo, scale_up, workloads
from scheduling.services.explain import explain
from scheduling.services.problems import Refused
from scheduling.services.state import state_of
from tests.services.builders import node


@pytest.fixture
def cluster(db: None) -> Cluster:
    call_command("load_demo")
    return Cluster.objects.get(name=demo.NAME)


def test_it_has_what_a_newcomer_should_see(cluster: Cluster, tables_agree: Any) -> None:
    rows = {row.key: row for row in PodGroupRow.objects.filter(cluster=cluster)}
    assert {key for key, row in rows.items() if row.status != "scheduled"} == {
        "research/ablation",
        "research/llm-pretrain",
    }
    assert (rows["research/ablation"].status, rows["research/ablation"].reason) == ("held", "not_enough_pods")
    assert len({row.domain for row in rows.values() if row.status == "scheduled"}) == 16
    told = explain(cluster=cluster, namespace=demo.WAITING[0], name=demo.WAITING[1]).decision
    best = told.domains[0]
    assert (told.verdict, best.fits, told.need) == ("proved_infeasible", 7, 8)
    assert ("cordoned", 1) in best.causes
    assert told.fits_across_domains and told.unlabelled_nodes == 3
    state = state_of(cluster)
    for found in list(state.nodes.values()):
        if found.unschedulable and found.label(demo.RACK) == best.domain:
            state.set_node(replace(found, unschedulable=False))
    lifted = decide(state, told.key)
    assert (lifted.verdict, lifted.domain) == ("placed", best.domain)
    tables_agree(cluster)


def test_the_gang_that_waits_can_be_helped_by_one_node_more(cluster: Cluster) -> None:
    found = scale_up.preview(cluster=cluster, groups=["/".join(demo.WAITING)])
    assert [(option.steps[0].kind, option.steps[0].domain, option.nodes) for option in found.options] == [
        ("h100-8g", "b04", 1),
        ("h100-8g", "b06", 8),
    ]
    assert found.refused == (("a100-8g", "selector"),)


def test_a_second_call_does_nothing_even_after_people_worked_with_it(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    workloads.end_group(cluster=cluster, namespace="training", name="run-01", actor="ann")
    before = store.head(cluster.pk).seq
    capsys.readouterr()
    call_command("load_demo")
    assert capsys.readouterr().out == "Cluster demo is there already.\n"
    assert store.head(cluster.pk).seq == before


def test_what_an_interruption_left_out_is_made_by_the_next_call(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = workloads.submit, iter(range(5))

    def interrupted(**arguments: Any) -> Any:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return real(**arguments)

    monkeypatch.setattr(workloads, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        demo.load_demo()
    monkeypatch.undo()
    assert demo.load_demo()
    assert not demo.load_demo()
    assert PodGroupRow.objects.filter(name="llm-pretrain", status="pending", fits=7).exists()


def test_another_cluster_of_the_name_is_left_alone(make: Any) -> None:
    cluster = make(node("a"), name=demo.NAME)
    before = store.head(cluster.pk).seq
    with pytest.raises(Refused):
        demo.load_demo()
    assert store.head(cluster.pk).seq == before
