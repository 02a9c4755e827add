"""Amounts that cannot be counted with are refused with object and field; those below the limit are exact."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scheduling.kube.quantity import AMOUNT_LIMIT
from scheduling.models import Cluster, NodeRow
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from scheduling.services.problems import Refused
from tests.services.builders import gang, members, node, nodes_of, pod, stream, text


def test_a_node_with_more_than_can_be_counted_is_refused_by_name_and_field() -> None:
    plan = stream().import_data(text(node("big", cpu="9223372036854775807"), node("n1")))
    (refused,) = plan.refused
    assert (refused.kind, refused.name, refused.path) == ("Node", "big", "status.allocatable[cpu]")
    assert "too large to be counted" in refused.message and plan.added == {"Node": 1}


def test_a_pod_that_asks_for_more_than_can_be_counted_is_refused_by_name_and_field() -> None:
    plan = stream().import_data(text(gang("g", 1), pod("g-0", "g", cpu="9e15")))
    (refused,) = plan.refused
    assert (refused.kind, refused.name) == ("Pod", "g-0")
    assert refused.path == "spec.containers[0].resources.requests[cpu]"


def test_containers_that_ask_for_too_much_together_are_refused() -> None:
    double = pod("p", cpu="4e12")
    double["spec"]["containers"].append(double["spec"]["containers"][0] | {"name": "d"})
    (refused,) = stream().import_data(text(double)).refused
    assert (refused.name, refused.path) == ("p", "spec.containers")


def test_just_below_the_limit_a_quotient_is_exact() -> None:
    most = AMOUNT_LIMIT - 1
    made = stream(
        *(node(f"n{i}", cpu=f"{most}m") for i in range(2)), gang("g", 2), *members("g", 2, cpu=f"{most}m")
    )
    made.settle()
    assert sorted(nodes_of(made, "g").values()) == ["n0", "n1"]


@pytest.mark.django_db
def test_an_absurd_object_is_a_refusal_of_the_import_or_left_out_of_it(
    make: Callable[..., Cluster], tables_agree: Callable[[Cluster], None]
) -> None:
    cluster = make(node("n1", gpu=AMOUNT_LIMIT - 1), *(pod(f"p{i}", on="n1", cpu="4e12") for i in range(3)))
    assert NodeRow.objects.get(cluster=cluster, name="n1").gpus == AMOUNT_LIMIT - 1
    absurd = text(node("n2", gpu=9223372036854775807), node("n3"))
    with pytest.raises(Refused, match="n2"):
        import_cluster(name="c", request=ImportRequest(absurd, mode="simulated"), actor="tester")
    import_cluster(name="c", request=ImportRequest(absurd, mode="simulated", partial=True), actor="tester")
    assert set(NodeRow.objects.filter(cluster=cluster).values_list("name", flat=True)) == {"n1", "n3"}
    run_cycle(cluster.pk)
    tables_agree(cluster)
