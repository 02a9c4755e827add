"""What an import warns of although it takes it."""

from __future__ import annotations

import pytest

from tests.services.builders import gang, node, pod, stream, text


@pytest.mark.parametrize(("cpu", "shown"), [("503", "503 cpu"), ("2500m", "2500m cpu")])
def test_an_over_committed_node_is_told_in_cores(cpu: str, shown: str) -> None:
    made = stream(node("n1", cpu="2"))
    plan = made.import_data(text(pod("p", on="n1", cpu=cpu)))
    assert [notice.message for notice in plan.notices] == [
        f"over-committed: pods on it ask for {shown}, it has 2 cpu"
    ]


def test_members_for_another_scheduler_are_told_by_group() -> None:
    pods = [pod(f"g-{i}", "g") for i in range(3)]
    for other in pods[:2]:
        other["spec"]["schedulerName"] = "volcano"
    plan = stream(node("n1")).import_data(text(gang("g", 3), *pods))
    (notice,) = plan.notices
    assert (notice.kind, notice.namespace, notice.name) == ("PodGroup", "default", "g")
    assert notice.message.startswith("2 members ask for the scheduler volcano: ")
