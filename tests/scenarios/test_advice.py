"""One topology domain against plain gang for one workload: gain, wait, room left over, what is advised."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.ledger import snapshots
from scheduling.scenarios.advice import Advice, AdviceDocument, advice
from scheduling.scenarios.documents import checked
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.problems import Refused
from tests.services.builders import GPU, RACK, gang, members, node, stream


def asked(made: MemoryStream, **document: Any) -> Advice:
    return advice(made.state, checked(AdviceDocument, document, "Advice"), made.now_ms)


def racks(*more: Any, gpu: int = 8) -> MemoryStream:
    """Racks r1 and r2 of two nodes with 8 CPUs and 8 GPUs."""
    nodes = [node(f"n{rack}{place}", f"r{rack}", gpu=gpu) for rack in (1, 2) for place in (1, 2)]
    return stream(*nodes, *more)


def workload(count: int, gpu: int = 8, **more: Any) -> dict[str, Any]:
    return {
        "namespace": "default", "name": "new", "min_count": count, "topology_key": RACK,
        "templates": [{"count": count, "requests": {"cpu": "1", GPU: str(gpu)}}], **more,
    }  # fmt: skip


def test_a_group_that_a_domain_takes_beside_nothing_costs_nothing() -> None:
    found = asked(racks(), workload=workload(2))
    assert (found.recommend, found.why) == ("tas", "no_cost")
    assert found.tas.estimate is not None and found.tas.estimate.crossing_bytes == 0
    assert (found.stranded, found.free) == (0, 32)


def full_racks() -> MemoryStream:
    """One node of each rack is in use by a group of its own."""
    groups = [each for name in ("a", "b") for each in (gang(name, 1), *members(name, 1, gpu=8))]
    made = racks(*groups)
    for number, name in enumerate(("a", "b"), 1):
        uid = made.state.members(f"default/{name}")[0].uid
        made.state.bind(uid, f"n{number}1")
    return made


def test_a_gain_is_held_against_a_wait_for_the_ends_of_named_groups() -> None:
    made = full_racks()
    before = snapshots.pack(made.state)
    found = asked(made, workload=workload(2), job_ms=10_000_000)
    assert (found.recommend, found.why) == ("tas", "gain_after_wait")
    assert not found.tas.runs and found.plain.runs
    assert found.plain.places == (("r1", 1), ("r2", 1))
    assert found.gain is not None and found.gain > 1000
    assert found.break_even_ms == 10_000_000 * (found.gain - 1000) // 1000
    ends = {step.group for one in found.tas.ends for step in one.steps}  # type: ignore[attr-defined]
    assert ends == {"default/a", "default/b"}
    assert snapshots.pack(made.state) == before


def test_free_gpus_in_domains_that_cannot_take_the_group_are_stranded_for_it() -> None:
    found = asked(full_racks(), workload=workload(2))
    assert [(room.domain, room.free, room.stranded) for room in found.rooms] == [
        ("r1", 8, True), ("r2", 8, True),
    ]  # fmt: skip
    assert (found.stranded, found.free) == (16, 16)


def test_little_gain_advises_a_plain_gang() -> None:
    found = asked(full_racks(), workload=workload(2), model={"bytes_per_step": 1000})
    assert (found.recommend, found.why) == ("plain", "little_gain")
    assert found.exposed is not None and found.exposed < 50


def test_a_group_that_no_domain_could_ever_hold_is_advised_to_be_plain() -> None:
    found = asked(racks(), workload=workload(3))
    assert (found.recommend, found.why) == ("plain", "no_domain_ever")


def test_a_group_that_runs_is_asked_as_if_it_were_placed_again() -> None:
    made = racks(gang("g", 2), *members("g", 2, gpu=8))
    made.settle()
    found = asked(made, group="default/g")
    assert found.tas.runs and (found.members, found.need) == (2, 2)
    assert made.state.members("default/g")[0].node


def test_a_group_without_a_constraint_needs_a_key_to_be_asked_with() -> None:
    made = racks(gang("g", 2, key=""), *members("g", 2, gpu=8))
    assert path(made, group="default/g") == "topology_key"
    assert asked(made, group="default/g", topology_key=RACK).topology_key == RACK


def path(made: MemoryStream, **document: Any) -> str:
    with pytest.raises(Refused) as refused:
        asked(made, **document)
    return refused.value.problems[0].path


@pytest.mark.parametrize(
    ("document", "at"),
    [
        ({}, "group"),
        ({"group": "default/nobody"}, "group"),
        ({"group": "nobody"}, "group"),
        ({"group": "default/g", "workload": workload(1)}, "group"),
        ({"workload": workload(1, gpu=-1)}, f"workload.templates[0].requests.{GPU}"),
        ({"workload": workload(1), "model": {"compute_us": 0}}, "model.compute_us"),
        ({"workload": workload(1), "job_ms": 0}, "job_ms"),
        ({"workload": workload(1), "topology_key": "topology.node.k8s.io/numa"}, "topology_key"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_its_field(document: dict[str, Any], at: str) -> None:
    assert path(racks(), **document) == at


def test_an_observed_cluster_can_be_asked() -> None:
    made = stream(*(node(f"n{place}", "r1", gpu=8) for place in (1, 2)), mode="observed")
    assert asked(made, workload=workload(2)).tas.runs
