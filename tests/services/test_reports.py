"""Properties of public bug reports that a conformance case can only state: one test for each, by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scheduling.engine.decide import decide
from scheduling.engine.reasons import Reason
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.status import GroupStatus, group_status
from scheduling.kube import manifests as kube
from scheduling.kube.export import node_manifest, pod_group_manifest, pod_manifest, to_yaml
from scheduling.kube.quantity import to_allocatable, to_request
from scheduling.ledger import fold
from scheduling.ledger.events import PodGroupPlaced, PodGroupUnschedulable
from scheduling.services.conformance.cases import perform, read_cases
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.importing import ImportPlan
from tests.services.builders import GPU, RACK, gang, members, node, nodes_of, pod, stream, text

CONFORMANCE = Path(__file__).parents[1] / "conformance"
CASES = {case["name"]: case for case in read_cases(CONFORMANCE / "public-reports.jsonl")}


class Report:
    """A case played stage by stage."""

    def __init__(self, name: str) -> None:
        self.case = CASES[name]
        self.stages = iter(self.case["stages"])
        self.stream = MemoryStream()

    def next(self) -> ImportPlan:
        """Perform one stage and decide; the plan of its import."""
        plans = perform(self.stream, next(self.stages), self.case["directory"])
        self.stream.settle()
        self.stream.now_ms += 1000
        return plans[0] if plans else ImportPlan((), {}, {}, {}, {}, {}, {}, (), ())

    def written(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.stream.events if isinstance(event, kind)]


def test_a04_the_explanation_names_the_resource_pods() -> None:
    report = Report("report/A04")
    report.next()
    decision = decide(report.stream.state, "default/g")
    assert decision.domains[0].short_of == (("pods", 1),)
    (event,) = report.written(PodGroupUnschedulable)
    assert event.short_of == (("pods", 1),)


def test_a05_exactly_one_of_two_groups_gets_the_last_slot() -> None:
    report = Report("report/A05")
    report.next()
    assert len(report.written(PodGroupPlaced)) == 1
    assert len(report.written(PodGroupUnschedulable)) == 1


def test_a07_the_explanation_counts_the_nodes_that_are_not_ready() -> None:
    report = Report("report/A07")
    report.next()
    (domain,) = decide(report.stream.state, "default/g").domains
    assert (str(Reason.NODE_NOT_READY), 2) in domain.causes


def test_a10_finished_members_hold_nothing_and_make_no_gang_look_broken() -> None:
    report = Report("report/A10")
    report.next()
    assert report.stream.state.used("a")["cpu"] == 4000
    assert not roster(report.stream.state, "default/g").degraded


def test_a19_a_short_not_ready_blip_writes_no_placement() -> None:
    report = Report("report/A19")
    for _ in range(3):
        report.next()
        assert report.written(PodGroupPlaced) == []
        assert report.stream.state.free("a")[GPU] == 0
        assert report.stream.state.free("b")[GPU] == 8


def test_a21_refusals_name_the_constraint() -> None:
    plan = Report("report/A21").next()
    assert {bad.name for bad in plan.refused} == {"g", "e"}
    assert all(
        "spec.schedulingConstraints.topology[0]" in f"{bad.path} {bad.message}" for bad in plan.refused
    )


def test_a23_foreign_sub_groups_are_named_one_by_one() -> None:
    plan = Report("report/A23").next()
    assert plan.refused == () and sum(plan.ignored.values()) == 1
    paths = [notice.path for notice in plan.notices if notice.path.startswith("spec.subGroups")]
    assert paths == ["spec.subGroups[0].minMember", "spec.subGroups[1]", "spec.subGroups[2]"]


def test_a24_each_request_shape_says_how_many_are_in() -> None:
    report = Report("report/A24")
    report.next()
    (event,) = report.written(PodGroupPlaced)
    assert sorted(event.shapes) == [(1, 1), (3, 0), (3, 3)]
    shapes = {
        dict(shape.requests).get(GPU, 0): shape for shape in decide(report.stream.state, "default/g").shapes
    }
    assert {gpus: (shape.bound, shape.members) for gpus, shape in shapes.items()} == {
        0: (1, 1),
        1: (3, 3),
        99: (0, 3),
    }


def test_a27_the_over_committed_node_is_flagged() -> None:
    report = Report("report/A27")
    plan = report.next()
    assert [(notice.kind, notice.name) for notice in plan.notices] == [("Node", "a")]
    assert report.stream.state.over_committed() == ("a",)


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]])
def test_a28_equal_domains_are_chosen_alike_in_any_order_and_in_a_replay(order: list[int]) -> None:
    (stage,) = CASES["report/A28"]["stages"]
    made = MemoryStream()
    made.import_data(text(*(stage["apply"][i] for i in order)))
    (placed,) = made.settle()
    assert isinstance(placed, PodGroupPlaced) and placed.domain == "r1"
    replayed = ClusterState()
    for seq, event in enumerate(made.events[:-1], 1):
        fold.apply(replayed, event, seq)
    again = decide(replayed, "default/g")
    assert [(uid, on) for uid, _, on in placed.assignments] == list(again.assignments)


def test_a30_the_import_warns_of_a_value_in_three_zones() -> None:
    (notice,) = Report("report/A30").next().notices
    assert notice.path == f"metadata.labels[{RACK}]"
    assert "01" in notice.message and "3 zones" in notice.message


def test_a32_a_gang_below_min_count_goes_before_younger_groups() -> None:
    report = Report("report/A32")
    report.next()
    plans = perform(report.stream, next(report.stages), report.case["directory"])
    assert plans and roster(report.stream.state, "default/g").degraded
    report.stream.settle()
    assert nodes_of(report.stream, "g")["g-3"] == "n3"
    assert nodes_of(report.stream, "new") == {"new-0": ""}


def test_a34_finished_and_empty_groups_are_called_so_and_hold_nothing() -> None:
    report = Report("report/A34")
    report.next()
    assert group_status(report.stream.state, "default/done") is GroupStatus.FINISHED
    assert group_status(report.stream.state, "default/orphan") is GroupStatus.EMPTY
    assert report.stream.state.free("a")["cpu"] == 0
    assert [event.name for event in report.written(PodGroupPlaced)] == ["g"]


def test_b01_the_member_is_the_pod_made_anew() -> None:
    report = Report("report/B01")
    for _ in range(3):
        report.next()
    assert [member.uid for member in report.stream.state.members("default/g")] == ["u2"]


def test_b04_taking_a_label_away_and_putting_it_back_restores_the_state() -> None:
    report = Report("report/B04")
    report.next()
    before = dict(report.stream.state.nodes)
    assert report.next().events == ()
    report.next()
    assert report.stream.state.nodes != before
    report.next()
    assert report.stream.state.nodes == before


def test_b05_min_count_of_a_v1alpha2_group_does_not_change() -> None:
    report = Report("report/B05")
    report.next()
    (bad,) = report.next().refused
    assert (bad.kind, bad.name, bad.path) == ("PodGroup", "g", "spec.schedulingPolicy")
    assert report.stream.state.groups["default/g"].min_count == 3
    assert set(nodes_of(report.stream, "g").values()) == {"a"}


def test_c04_an_export_gives_kind_and_version_back() -> None:
    report = Report("report/C04")
    report.next()
    exported = node_manifest(report.stream.state.nodes["a"])
    assert (exported["apiVersion"], exported["kind"]) == ("v1", "Node")


def test_c06_the_config_map_is_counted_and_named() -> None:
    plan = Report("report/C06").next()
    assert plan.ignored == {"ConfigMap": 1}
    assert plan.accepted == {"Node": 1, "PodGroup": 1, "Pod": 1}


def test_c08_quoting_a_time_is_no_change() -> None:
    made = MemoryStream()
    raw = (CONFORMANCE / "raw/C08.yaml").read_text(encoding="utf-8")
    made.import_data(raw.encode())
    quoted = raw.replace("2017-11-02T14:00:08Z", '"2017-11-02T14:00:08Z"')
    assert quoted != raw
    assert made.import_data(quoted.encode()).events == ()


def test_c10_there_is_one_internal_unit() -> None:
    assert to_request("cpu", "2") == 2 * to_request("cpu", "1000m") == to_allocatable("cpu", "2") == 2000
    assert to_request("hugepages-2Mi", "2097152000m") == to_allocatable("hugepages-2Mi", "2Mi") == 2**21


def test_c18_each_bad_document_has_its_message_and_the_good_ones_are_offered() -> None:
    raw = (CONFORMANCE / "raw/C18.yaml").read_bytes()
    read = kube.read(raw)
    assert [refusal.document for refusal in read.refused] == [1, 2, 3, 4]
    told = [bad.message for bad in MemoryStream().import_data(raw).refused]
    for place in ("document 1, line 1", "document 2, line 5", "document 3, line 13", "document 4, line 18"):
        assert sum(place in message for message in told) == 1
    good = raw + b"\n---\n" + json.dumps(node("good")).encode()
    plan = MemoryStream().import_data(good)
    assert plan.accepted == {"Node": 1}


def test_c19_broken_json_in_an_annotation_is_a_warning() -> None:
    plan = MemoryStream().import_data((CONFORMANCE / "raw/C19.yaml").read_bytes())
    assert plan.accepted == {"Pod": 1} and plan.refused == ()
    assert any('"cloud.provider.com/rack"' in notice.message for notice in plan.notices)


def test_d09_an_object_that_is_exported_and_imported_is_no_change() -> None:
    made = stream(
        node("a", gpu=8, unschedulable=True, uid="n1"),
        gang("g", 2, uid="g1"),
        *members("g", 2, gpu=1, on="a"),
        pod("x", on="a", phase="Succeeded", uid="p1"),
    )
    state = made.state
    exported = [
        *(node_manifest(found) for found in state.nodes.values()),
        *(pod_group_manifest(found) for found in state.groups.values()),
        *(pod_manifest(found) for found in state.pods.values()),
    ]
    assert made.import_data("---\n".join(map(to_yaml, exported)).encode()).events == ()
