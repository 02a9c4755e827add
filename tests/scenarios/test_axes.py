"""What a batch varies: values of axes, the documents they make, and what is refused at which field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scheduling.engine.state import ClusterState
from scheduling.scenarios import axes
from scheduling.scenarios.axes import BatchDocument, checked, read, varied
from scheduling.scenarios.batches import to_json
from scheduling.scenarios.steps import AddNodes, Cordon, LoseNodes, Submit
from scheduling.services.problems import FORBIDDEN, INVALID, NOT_FOUND, REQUIRED, Refused
from tests.scenarios.builders import racks
from tests.services.builders import GPU, RACK

SUBMIT: dict[str, Any] = {
    "step": "submit",
    "namespace": "default",
    "name": "new",
    "min_count": 3,
    "topology_key": RACK,
    "templates": [{"count": 1, "role": "leader"}, {"count": 2, "requests": {"cpu": "1", GPU: "1"}}],
}
ADD = {"step": "add_nodes", "count": 1, "like": "n0", "key": RACK, "domain": "r1"}


@pytest.fixture(scope="module")
def state() -> ClusterState:
    """n0 and n1 in r1, of which each has a member of three GPUs; n2 and n3 in r2."""
    return racks().state


def batch(*found: dict[str, Any], steps: Any = (SUBMIT, ADD), **more: Any) -> BatchDocument:
    return read({"scenario": {"steps": list(steps)}, "axes": list(found), **more})


def problems(command: Callable[[], object]) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as error:
        command()
    return [(problem.path, problem.reason) for problem in error.value.problems]


def submitted(document: BatchDocument, value: Any, state: ClusterState) -> Submit:
    (found,) = (step for step in varied(document, [value], state).steps if isinstance(step, Submit))
    return found


class TestMembers:
    def test_a_min_count_that_meant_all_members_goes_on_to_mean_all(self, state: ClusterState) -> None:
        axis = {"axis": "members", "template": 1, "first": 2, "last": 9, "by": 3}
        assert checked(batch(axis), state) == [[2, 5, 8]]
        step = submitted(batch(axis), 8, state)
        assert (step.templates[0].count, step.templates[1].count, step.min_count) == (1, 8, 9)

    def test_another_stays_and_is_never_more_than_the_members(self, state: ClusterState) -> None:
        document = batch(
            {"axis": "members", "template": 1, "first": 1, "last": 8}, steps=[SUBMIT | {"min_count": 2}]
        )
        assert submitted(document, 8, state).min_count == 2
        assert (
            submitted(
                batch(
                    {"axis": "members", "template": 1, "first": 0, "last": 0},
                    steps=[SUBMIT | {"min_count": 2, "templates": [{"count": 3}, {"count": 3}]}],
                ),
                1,
                state,
            ).min_count
            == 2
        )

    def test_a_step_and_a_template_that_there_are_not(self, state: ClusterState) -> None:
        axis = {"axis": "members", "first": 1, "last": 2}
        assert problems(lambda: checked(batch(axis | {"step": 1}), state)) == [("axes[0].step", INVALID)]
        assert problems(lambda: checked(batch(axis | {"template": 2}), state)) == [
            ("axes[0].template", INVALID)
        ]

    def test_too_many_members_are_told_with_the_value(self, state: ClusterState) -> None:
        axis = {"axis": "members", "first": 9_998, "last": 10_001}
        with pytest.raises(Refused) as error:
            checked(batch(axis), state)
        (problem,) = error.value.problems
        assert problem.path == "axes[0]"
        assert problem.message.startswith("with 9999: steps[0].min_count:")


class TestNodes:
    def test_so_many_are_lost_before_the_first_step(self, state: ClusterState) -> None:
        document = batch({"axis": "lost_nodes", "key": RACK, "domain": "r1", "last": 2})
        assert checked(document, state) == [[0, 1, 2]]
        steps = varied(document, [2], state).steps
        assert steps[:2] == (LoseNodes(node="n0"), LoseNodes(node="n1"))
        assert isinstance(steps[2], Submit) and len(steps) == 4
        assert varied(document, [0], state).steps == document.scenario.steps

    def test_the_fullest_or_the_emptiest_first(self, state: ClusterState) -> None:
        used = sorted(state.nodes, key=lambda name: state.used(name)[GPU])
        assert {name for name in used if state.used(name)[GPU]} == {"n0", "n1"}
        half = state.fork()
        half.remove_pod(next(pod.uid for pod in half.pods_on("n0")))
        for order, first in (("fullest", "n1"), ("emptiest", "n0"), ("name", "n0")):
            document = batch({"axis": "lost_nodes", "key": RACK, "domain": "r1", "last": 2, "order": order})
            assert varied(document, [1], half).steps[0] == LoseNodes(node=first), order

    def test_no_more_than_there_are(self, state: ClusterState) -> None:
        document = batch({"axis": "lost_nodes", "key": RACK, "domain": "r1", "last": 3})
        assert problems(lambda: checked(document, state)) == [("axes[0].last", INVALID)]

    def test_each_domain_in_turn_where_it_is_to_happen(self, state: ClusterState) -> None:
        document = batch({"axis": "each_domain", "key": RACK, "happens": "cordon", "before": 1})
        assert checked(document, state) == [["r1", "r2"]]
        assert varied(document, ["r2"], state).steps[1] == Cordon(key=RACK, domain="r2")

    def test_what_no_node_carries(self, state: ClusterState) -> None:
        lost = {"axis": "lost_nodes", "key": RACK, "domain": "r9", "last": 1}
        assert problems(lambda: checked(batch(lost), state)) == [("axes[0].domain", NOT_FOUND)]
        assert problems(lambda: checked(batch(lost | {"key": "no/key"}), state)) == [
            ("axes[0].key", NOT_FOUND)
        ]
        zones = {"axis": "each_domain", "key": "topology.node.k8s.io/numa"}
        assert problems(lambda: checked(batch(zones), state)) == [("axes[0].key", FORBIDDEN)]

    def test_a_step_beyond_the_last(self, state: ClusterState) -> None:
        document = batch({"axis": "each_domain", "key": RACK, "before": 3})
        assert problems(lambda: checked(document, state)) == [("axes[0].before", INVALID)]


class TestPaths:
    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("steps[1].count", 7),
            ("steps[1].domain", "r2"),
            ("steps[0].templates[1].count", 3),
            ("steps[0].templates[1].requests.cpu", "4"),
            (f"steps[0].templates[1].requests.{GPU}", "2"),
            ("steps[0].priority", 5),
            ("steps[0].policy", "basic"),
        ],
    )
    def test_any_field_that_is_there(self, state: ClusterState, path: str, value: Any) -> None:
        document = batch({"axis": "values", "path": path, "values": [value]})
        changed = varied(document, [value], state)
        assert changed != document.scenario
        assert varied(document, [value], state) == changed

    def test_a_quantity_may_be_a_whole_number(self, state: ClusterState) -> None:
        document = batch(
            {"axis": "range", "path": f"steps[0].templates[1].requests.{GPU}", "first": 1, "last": 8}
        )
        assert submitted(document, 8, state).templates[1].requests == {"cpu": "1", GPU: "8"}

    @pytest.mark.parametrize(
        "path",
        [
            "steps[2].count",
            "steps[0].templates[5].count",
            "steps[0].nothing",
            "steps[1].count.more",
            "steps[0].templates[0].requests.cpu",
        ],
    )
    def test_one_that_is_not(self, state: ClusterState, path: str) -> None:
        document = batch({"axis": "range", "path": path, "first": 1, "last": 2})
        assert problems(lambda: checked(document, state)) == [("axes[0].path", NOT_FOUND)]

    def test_a_value_that_the_field_does_not_take(self, state: ClusterState) -> None:
        document = batch({"axis": "values", "path": "steps[1].count", "values": [1, "many"]})
        assert problems(lambda: checked(document, state)) == [("axes[0]", INVALID)]

    def test_two_axes_are_about_the_document_as_it_was_given(self, state: ClusterState) -> None:
        document = batch(
            {"axis": "lost_nodes", "key": RACK, "domain": "r1", "last": 1},
            {"axis": "range", "path": "steps[1].count", "first": 1, "last": 3},
        )
        steps = varied(document, [1, 3], state).steps
        assert isinstance(steps[2], AddNodes) and steps[2].count == 3


class TestTheWhole:
    def test_no_more_points_than_a_batch_has(self, state: ClusterState) -> None:
        axis = {"axis": "range", "path": "steps[0].priority", "first": 1, "last": 101}
        other = {"axis": "range", "path": "steps[1].count", "first": 1, "last": 100}
        document = batch(axis, other)
        assert problems(lambda: checked(document, state)) == [("axes", INVALID)]

    @pytest.mark.parametrize("first", [1, -9 * 10**18])
    def test_a_range_that_no_memory_holds_is_refused_before_it_is_laid_out(
        self, state: ClusterState, first: int
    ) -> None:
        document = batch({"axis": "range", "path": "steps[1].count", "first": first, "last": 9 * 10**18})
        assert problems(lambda: checked(document, state)) == [("axes[0].last", INVALID)]

    def test_somebody_has_to_be_asked_about(self, state: ClusterState) -> None:
        axis = {"axis": "each_domain", "key": RACK}
        assert problems(lambda: checked(batch(axis, steps=[ADD]), state)) == [("group", REQUIRED)]
        assert checked(batch(axis, steps=[ADD], group="default/g"), state) == [["r1", "r2"]]

    @pytest.mark.parametrize(
        ("axis", "path"),
        [
            ({"axis": "members", "first": 3, "last": 2}, "axes[0].last"),
            ({"axis": "members", "first": 1, "last": 2, "by": 0}, "axes[0].by"),
            ({"axis": "range", "path": "name", "first": 1, "last": 2}, "axes[0].path"),
            ({"axis": "values", "path": "steps[0].name", "values": []}, "axes[0].values"),
            ({"axis": "lost_nodes", "key": RACK, "domain": "r1", "first": -1, "last": 2}, "axes[0].first"),
            ({"axis": "sideways"}, "axes[0]"),
        ],
    )
    def test_what_is_no_axis_is_named(self, axis: dict[str, Any], path: str) -> None:
        assert [found for found, _ in problems(lambda: batch(axis))] == [path]

    def test_a_document_of_each_kind_of_axis_is_read_as_it_was_written(self) -> None:
        for kind in axes.AXES:
            given: dict[str, Any] = {"axis": kind.model_fields["axis"].default}
            given |= {"first": 1, "last": 2} if "first" in kind.model_fields else {}
            given |= {"key": RACK} if "key" in kind.model_fields else {}
            given |= {"domain": "r1"} if "domain" in kind.model_fields else {}
            given |= {"path": "steps[0].name"} if "path" in kind.model_fields else {}
            given |= {"values": ["a", 1, True]} if "values" in kind.model_fields else {}
            document = batch(given)
            assert read(to_json(document)) == document


def test_a_large_scenario_is_not_checked_for_thousands_of_values(state: ClusterState) -> None:
    axis = {"axis": "range", "path": "steps[0].priority", "first": 1, "last": 10_000}
    assert len(checked(batch(axis), state)[0]) == 10_000
    large = batch(axis, steps=[SUBMIT, {"step": "submit_manifest", "manifest": "#" + "x" * 5_000}])
    assert problems(lambda: checked(large, state)) == [("axes", INVALID)]
