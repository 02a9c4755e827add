"""The verification matrix: on the demo cluster every cell is as expected, every condition holds when it is
counted another way, and what cannot be made here is never a pass.
"""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.engine.canary import Scope
from scheduling.engine.decide import decide
from scheduling.engine.roster import roster
from scheduling.ledger import snapshots, store
from scheduling.models import Cluster, Run
from scheduling.scenarios import conditions, documents, matrix, runs
from scheduling.scenarios.conditions import CONDITIONS, KEY, MODES, Unmade
from scheduling.scenarios.fork import Fork
from scheduling.scenarios.matrix import CELLS, EXPECTED
from scheduling.services import demo
from scheduling.services.canary import CanaryWish, start_events
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.problems import Refused
from scheduling.services.submitting import MemberTemplate, WorkloadForm, submit_events
from scheduling.services.switching import gate_events
from tests.api.support import GPU, RACK
from tests.services.builders import node, stream

MEMBER = {"requests": {"cpu": "64", "memory": "512Gi", GPU: "8"}, "node_selector": {demo.PRODUCT: "H100"}}


def demo_stream() -> MemoryStream:
    """The demo cluster in memory, as ``load_demo`` makes it but for a cordon."""
    made = MemoryStream()
    made.import_data(demo.dump())
    for namespace, name, product, roles, policy, need, priority in (
        *demo._WHOLE_NODES, *demo._OTHERS, demo._LAST,
    ):  # fmt: skip
        templates = tuple(
            MemberTemplate(
                role,
                count,
                {"cpu": str(8 * gpus), "memory": f"{64 * gpus}Gi", GPU: str(gpus)},
                {demo.PRODUCT: product},
            )
            for role, count, gpus in roles
        )
        form = WorkloadForm(namespace, name, policy, need, RACK, priority, templates)
        made.commit(submit_events(made.state, form, made.now_ms))
        made.settle()
    return made


def matrix_of(made: MemoryStream, **document: Any) -> matrix._Matrix:
    read = matrix.read({"topology_key": RACK, "template": MEMBER} | document)
    begun = {}
    for profile in ("exact", read.release):
        begun[profile] = Fork(made.state, made.now_ms, profile)
        begun[profile].begin()
    return matrix._Matrix(read, begun)


@pytest.fixture(scope="module")
def on_demo() -> matrix._Matrix:
    return matrix_of(demo_stream())


@pytest.fixture(scope="module")
def cells(on_demo: matrix._Matrix) -> dict[tuple[str, str], dict[str, Any]]:
    return {(condition, mode): matrix.cell(on_demo, condition, mode) for condition, mode in CELLS}


Cells = dict[tuple[str, str], dict[str, Any]]


class TestOnTheDemoCluster:
    @pytest.mark.parametrize(("condition", "mode"), CELLS)
    def test_every_cell_is_as_expected(self, cells: Cells, condition: str, mode: str) -> None:
        found = cells[condition, mode]
        assert found["judged"] in ("passed", "told"), found
        assert found["outcome"] in EXPECTED[condition, mode].outcomes

    @pytest.mark.parametrize("means", ["scope", "gate"])
    def test_a_canary_that_is_judged_meanwhile_changes_no_cell(self, means: str) -> None:
        made = demo_stream()
        made.commit(gate_events(made.state, conditions.TAS_GATE, False))
        made.settle()
        wish = CanaryWish((Scope((conditions.NAMESPACE,)),), {"wait_longest": 1_000}, 60_000, means)
        made.commit(start_events(made.state, wish, made.now_ms))
        on_canary = matrix_of(made)
        for condition, mode in CELLS:
            found = matrix.cell(on_canary, condition, mode)
            assert found["judged"] in ("passed", "told"), found

    def test_the_law_costs_the_wait_and_the_plain_gang_the_traffic(self, cells: Cells) -> None:
        waits, spans = cells["one_short", "tas"], cells["one_short", "plain"]
        assert (waits["wait_ms"], waits["fits"], waits["need"], waits["estimate"]) == (-1, 3, 4, None)
        assert waits["looked_ms"] >= 1000 * matrix.LOOKED
        assert spans["wait_ms"] == 0 and len(spans["in"]) == 2
        assert spans["estimate"]["crossing_bytes"] == 42_000_000_000
        assert spans["estimate"]["relative_thousandths"] < 500

    def test_in_one_domain_nothing_crosses(self, cells: Cells) -> None:
        for found in cells.values():
            if found["outcome"] == "together":
                assert found["estimate"]["crossing_bytes"] == 0
                assert found["estimate"]["relative_thousandths"] == 1000

    def test_a_node_without_the_label_is_used_by_the_plain_gang_alone(self, cells: Cells) -> None:
        assert cells["label_missing", "plain"]["without_domain"] == 1
        assert cells["label_missing", "tas"]["bound"] == 0

    def test_a_recreated_member_waits_beside_an_open_second_domain(self, cells: Cells) -> None:
        found = cells["recreated_full", "tas"]
        assert (found["reason"], found["bound"], found["need"]) == ("sticky_domain", 3, 4)
        assert found["domains_opened"][1][1] > 0, "there is room elsewhere"

    def test_kube_scheduler_finds_the_mixed_group_with_luck_only(self, cells: Cells) -> None:
        found = cells["mixed", "upstream"]
        assert found["judged"] == "told" and 0 < found["luck"][0] < found["luck"][1]

    def test_its_steps_are_a_scenario_that_ends_in_the_same(
        self, on_demo: matrix._Matrix, cells: Cells
    ) -> None:
        for condition, mode in (("recreated_full", "tas"), ("label_missing", "plain"), ("mixed", "upstream")):
            found = cells[condition, mode]
            document = documents.read({"profile": found["profile"], "steps": found["steps"]})
            begun = on_demo.begun[document.profile]
            fork = Fork.resumed(begun.state, begun.place, profile=document.profile)
            for step in document.steps:
                fork.play(step)
            assert len(roster(fork.state, KEY).bound) == found["bound"]
            assert str(decide(fork.state, KEY, profile=document.profile).verdict) == found["verdict"]

    def test_the_state_that_it_begins_with_is_not_touched(self, on_demo: matrix._Matrix) -> None:
        before = snapshots.pack(on_demo.begun["exact"].state)
        matrix.cell(on_demo, "domain_lost", "tas")
        assert snapshots.pack(on_demo.begun["exact"].state) == before

    def test_the_model_is_the_one_that_was_asked_for(self) -> None:
        free = matrix_of(demo_stream(), training={"compute_us": 10**9})
        assert matrix.cell(free, "one_short", "plain")["estimate"]["relative_thousandths"] == 1000


class TestOtherWorkloads:
    def test_several_members_to_a_node(self) -> None:
        small = {
            "requests": {"cpu": "16", "memory": "64Gi", GPU: "2"},
            "node_selector": {demo.PRODUCT: "H100"},
        }
        made = matrix_of(demo_stream(), members=10, template=small)
        for condition, mode in CELLS:
            found = matrix.cell(made, condition, mode)
            assert found["judged"] != "failed", found
            if condition != "mixed":
                assert found["judged"] in ("passed", "told"), found

    def test_members_without_a_selector_get_another_gpu_by_number(self) -> None:
        made = matrix_of(demo_stream(), template={"requests": {GPU: "8"}})
        assert matrix.cell(made, "other_gpu", "tas")["judged"] == "passed"

    def test_gates_that_are_off_are_switched_on(self) -> None:
        made = demo_stream()
        made.state.set_gate("GangScheduling", False)
        found = matrix.cell(matrix_of(made), "tight", "tas")
        assert found["judged"] == "passed"
        assert {"step": "switch_gate", "gate": "GangScheduling", "enabled": True} in found["steps"]


def small(*more: Any) -> MemoryStream:
    """One rack of two nodes, and whatever is given."""
    return stream(node("n0", "r1", gpu=8), node("n1", "r1", gpu=8), *more)


class TestWhatCannotBeMade:
    def of(self, made: MemoryStream, condition: str, mode: str = "tas", **document: Any) -> dict[str, Any]:
        given = {"members": 2, "template": {"requests": {"cpu": "1", GPU: "8"}}} | document
        return matrix.cell(matrix_of(made, **given), condition, mode)

    @pytest.mark.parametrize(
        ("condition", "code"),
        [
            ("spare", "too_small"),
            ("one_short", "one_domain"),
            ("recreated_full", "one_domain"),
            ("domain_lost", "one_domain"),
            ("mixed", "odd"),
            ("spread", "one_domain"),
        ],
    )
    def test_says_why(self, condition: str, code: str) -> None:
        found = self.of(small(), condition, template={"requests": {"cpu": "1", GPU: "7"}})
        assert (found["outcome"], found["judged"], found["problem"]["code"]) == ("unmade", "unmade", code)

    def test_a_second_domain_that_is_too_small(self) -> None:
        found = self.of(small(node("n2", "r2", gpu=8)), "domain_lost")
        assert found["problem"] == {
            "code": "too_small",
            "values": {"place": 2, "domain": "r2", "room": 1, "wanted": 2},
        }

    def test_members_that_ask_for_no_gpu(self) -> None:
        found = self.of(small(node("n2", "r2")), "other_gpu", template={"requests": {"cpu": "8"}})
        assert found["problem"]["code"] == "no_gpu"

    def test_too_many_domains(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(conditions, "MOST_DOMAINS", 1)
        assert self.of(small(node("n2", "r2")), "tight")["problem"]["code"] == "too_many"

    def test_a_condition_that_does_not_hold_when_it_is_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A node that nobody said takes anything, opened behind the back of the count."""
        arena = conditions.prepared(
            Fork(small().state, 0), matrix.read({"topology_key": RACK, "members": 2, "template": MEMBER | {
                "node_selector": {}, "requests": {GPU: "8"}}}).workload(), "tas",
        )  # fmt: skip
        room = conditions.ready(arena, 0, 1)
        with pytest.raises(Unmade) as error:
            conditions.opened(arena, conditions.Room(room.domain, ("n0", "n1"), 2))
        assert error.value.code == "miscounted"


class TestAsARun:
    def test_each_cell_is_a_point_and_the_cluster_is_not_touched(self, cluster: Cluster) -> None:
        before = store.head(cluster.pk)
        document = matrix.read({"topology_key": RACK, "members": 2, "template": {"requests": {GPU: "8"}}})
        run = matrix.request(cluster=cluster, document=document, actor="ada")
        for first, last in runs.spread(run.pk):
            runs.points(run.pk, first, last)
        run.refresh_from_db()
        assert run.status == "done", run.error
        assert [(cell["condition"], cell["mode"]) for cell in run.result["cells"]] == list(CELLS)
        assert run.result["training"]["bytes_per_step"] == 14_000_000_000
        assert sum(run.result["workers"].values()) == len(CELLS)
        assert store.head(cluster.pk) == before

    def test_a_document_is_read_as_it_was_written(self) -> None:
        given = {"topology_key": RACK, "members": 9, "training": {"between": {"latency_ns": 7}}}
        document = matrix.read(given)
        assert matrix.read(matrix.to_json(document)) == document
        assert document.training.training().between.latency_ns == 7

    @pytest.mark.parametrize(
        ("wrong", "path"),
        [
            ({"topology_key": "no/such"}, "topology_key"),
            ({"template": {"requests": {"cpu": "lots"}}}, "template.requests.cpu"),
        ],
    )
    def test_what_is_wrong_with_it_is_told_at_once(self, cluster: Cluster, wrong: Any, path: str) -> None:
        document = matrix.read({"topology_key": RACK, "members": 2} | wrong)
        with pytest.raises(Refused) as error:
            matrix.request(cluster=cluster, document=document, actor="ada")
        assert [problem.path for problem in error.value.problems] == [path]
        assert not Run.objects.exists()

    @pytest.mark.parametrize(
        ("wrong", "path"),
        [
            ({"members": 1}, "members"),
            ({"training": {"wider": {"bandwidth_mb_s": 0}}}, "training.wider.bandwidth_mb_s"),
            ({"release": "upstream-2.0"}, "release"),
        ],
    )
    def test_numbers_out_of_range_are_named(self, wrong: Any, path: str) -> None:
        with pytest.raises(Refused) as error:
            matrix.read({"topology_key": RACK} | wrong)
        assert [problem.path for problem in error.value.problems] == [path]


def test_there_is_an_expectation_for_every_cell_with_a_reason() -> None:
    assert set(EXPECTED) == set(CELLS) == {(condition, mode) for condition in CONDITIONS for mode in MODES}
    assert all(each.why and each.outcomes for each in EXPECTED.values())
