"""Every conformance case that can be run holds; what cannot be run is named, with the reason or the test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.core.management import call_command

from scheduling.engine.decide import PROFILES
from scheduling.services.conformance.cases import Case, Result, read_cases, run_case, run_stages
from scheduling.services.conformance.stream import MemoryStream

HERE = Path(__file__).parent
TESTS = HERE.parent

COMPOSITE, PREEMPTION = "CompositePodGroup", "preemption"

NOT_SUPPORTED: dict[str, str] = {
    **dict.fromkeys(
        (
            "k8s137/cpg-01",
            "k8s137/cpg-02",
            "k8s137/cpg-03",
            "k8s137/cpg-05",
            "k8s137/cpg-06",
            "k8s137/cpg-10",
            "k8s137/cpg-11",
            "k8s137/cpg-14",
            "k8s137/cpg-16",
            "k8s137/cpg-17",
            "k8s137/cpg-18",
            "k8s137/cpg-preempt-02",
            "k8s137/cpg-preempt-03",
            "k8s137/cpg-preempt-04",
            "k8s137/cpg-preempt-06",
            "k8s137/cpg-preempt-07",
            "k8s137/cpg-preempt-08",
            "k8s137/cpg-preempt-11",
            "k8s137/cpg-preempt-12",
        ),
        COMPOSITE,
    ),
    **dict.fromkeys(
        (
            "k8s137/gang-11",
            "k8s137/gang-12",
            "k8s137/gang-13",
            "k8s137/gang-14",
            "k8s137/tas-preempt-02",
            "k8s137/tas-preempt-04",
        ),
        PREEMPTION,
    ),
}
"""What the product does not do, by decision: groups of groups (an alpha of 1.37), and preemption (ever)."""

SERVICES = "services/test_reports.py::"

BY_HAND: dict[str, str] = {
    "k8s137/gang-17": "engine/profiles/test_upstream.py::"
    "test_raising_min_count_of_a_held_group_starts_no_attempt",
    "report/A04": SERVICES + "test_a04_the_explanation_names_the_resource_pods",
    "report/A05": SERVICES + "test_a05_exactly_one_of_two_groups_gets_the_last_slot",
    "report/A07": SERVICES + "test_a07_the_explanation_counts_the_nodes_that_are_not_ready",
    "report/A10": SERVICES + "test_a10_finished_members_hold_nothing_and_make_no_gang_look_broken",
    "report/A19": SERVICES + "test_a19_a_short_not_ready_blip_writes_no_placement",
    "report/A21": SERVICES + "test_a21_refusals_name_the_constraint",
    "report/A23": SERVICES + "test_a23_foreign_sub_groups_are_named_one_by_one",
    "report/A24": SERVICES + "test_a24_each_request_shape_says_how_many_are_in",
    "report/A27": SERVICES + "test_a27_the_over_committed_node_is_flagged",
    "report/A28": SERVICES + "test_a28_equal_domains_are_chosen_alike_in_any_order_and_in_a_replay",
    "report/A30": SERVICES + "test_a30_the_import_warns_of_a_value_in_three_zones",
    "report/A32": SERVICES + "test_a32_a_gang_below_min_count_goes_before_younger_groups",
    "report/A34": SERVICES + "test_a34_finished_and_empty_groups_are_called_so_and_hold_nothing",
    "report/B04": SERVICES + "test_b04_taking_a_label_away_and_putting_it_back_restores_the_state",
    "report/B01": SERVICES + "test_b01_the_member_is_the_pod_made_anew",
    "report/B05": SERVICES + "test_b05_min_count_of_a_v1alpha2_group_does_not_change",
    "report/B07": "services/test_shells.py::test_commands_at_once_from_many_threads_are_all_carried_out",
    "report/C04": SERVICES + "test_c04_an_export_gives_kind_and_version_back",
    "report/C06": SERVICES + "test_c06_the_config_map_is_counted_and_named",
    "report/C08": SERVICES + "test_c08_quoting_a_time_is_no_change",
    "report/C10": SERVICES + "test_c10_there_is_one_internal_unit",
    "report/C18": SERVICES + "test_c18_each_bad_document_has_its_message_and_the_good_ones_are_offered",
    "report/C19": SERVICES + "test_c19_broken_json_in_an_annotation_is_a_warning",
    "report/D02": "services/test_tasks.py::test_a_task_delivered_twice_and_at_once_makes_one_set_of_events",
    "report/D09": SERVICES + "test_d09_an_object_that_is_exported_and_imported_is_no_change",
}
"""Properties that only a test written by hand can show: case -> the test, as file::function below tests/."""

ELSEWHERE: dict[str, str] = {
    "report/A33": "binding in a live cluster is not built: there is no bind that could fail",
    "report/B06": "the ledger's own tests: seqs become visible in order",
    "report/C11": "topology files of Slurm are not read yet",
    "report/C12": "topology files of Slurm are not read yet",
    "report/C13": "host lists are not read yet",
    "report/C14": "host lists are not read yet",
    "report/C15": "topology files of Slurm are not read yet",
    "report/D03": "the console's tests: skeletons instead of zeros",
    "report/D04": "the live wire's tests: deltas are bounded",
    "report/D06": "no conditions are read: the status is counted from pods (engine/status.py)",
    "report/D08": "the console's tests: the node page lists every pod that holds room",
}
"""Properties of other rooms or of features that are not built, with the reason."""


def every_case() -> Iterator[Case]:
    for file in sorted(HERE.glob("*.jsonl")):
        yield from read_cases(file)


CASES = list(every_case())
BY_NAME = {case["name"]: case for case in CASES}


def profiles_of(case: Case) -> tuple[str, ...]:
    """The profile that the case names; all of them when it names none."""
    return (case["profile"],) if "profile" in case else PROFILES


RUNS = [(case["name"], profile) for case in CASES for profile in profiles_of(case)]


@cache
def result_of(name: str, profile: str) -> Result:
    return run_case(BY_NAME[name], profile)


def with_property(case: Case) -> bool:
    return any("property" in (stage.get("expect") or {}) for stage in case["stages"])


def test_every_case_has_its_own_name() -> None:
    assert len(BY_NAME) == len(CASES)


@pytest.mark.parametrize(("name", "profile"), RUNS)
def test_a_case_holds_in_every_profile_it_names(name: str, profile: str) -> None:
    result = result_of(name, profile)
    if result.verdict == "skipped":
        assert name in BY_HAND or name in ELSEWHERE or name in NOT_SUPPORTED, result.why
    else:
        assert result.verdict == "passed", "\n".join(result.why)


def test_what_is_not_supported_is_skipped_by_that_word_and_nothing_else_is() -> None:
    skipped = {
        name: why.removeprefix("not supported: ")
        for name, profile in RUNS
        for why in result_of(name, profile).why
        if why.startswith("not supported: ")
    }
    assert skipped == NOT_SUPPORTED


@pytest.mark.parametrize("name", [name for name, what in NOT_SUPPORTED.items() if what == PREEMPTION])
def test_a_case_of_preemption_would_fail(name: str) -> None:
    assert run_stages(BY_NAME[name], BY_NAME[name]["profile"]).verdict == "failed"


@pytest.mark.parametrize("name", [name for name, what in NOT_SUPPORTED.items() if what == COMPOSITE])
def test_a_case_of_composite_groups_needs_an_object_that_the_importer_does_not_take(name: str) -> None:
    applied = [manifest for stage in BY_NAME[name]["stages"] for manifest in stage.get("apply", [])]
    composites = [manifest for manifest in applied if manifest["kind"] == COMPOSITE]
    plan = MemoryStream().import_data(json.dumps({"kind": "List", "items": composites}).encode())
    assert composites and sum(plan.accepted.values()) == 0


def test_the_tables_name_the_properties_of_all_cases_and_nothing_else() -> None:
    wanted = {case["name"] for case in CASES if with_property(case)} - NOT_SUPPORTED.keys()
    assert wanted == BY_HAND.keys() | ELSEWHERE.keys()
    assert not BY_HAND.keys() & ELSEWHERE.keys()


@pytest.mark.parametrize("test", sorted(set(BY_HAND.values())))
def test_a_test_that_is_named_exists(test: str) -> None:
    file, _, function = test.partition("::")
    assert f"def {function}(" in (TESTS / file).read_text(encoding="utf-8")


def test_the_bindings_of_the_real_scheduler_are_what_the_next_stage_starts_from() -> None:
    """Two equal nodes; ours takes a, the real scheduler took b and left the other member out."""
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"rack": name}},
            "status": {"allocatable": {"cpu": "1", "pods": "9"}},
        }
        for name in ("a", "b")
    ]
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 1}},
            "schedulingConstraints": {"topology": [{"key": "rack"}]},
        },
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "schedulingGroup": {"podGroupName": "g"},
                "containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "1"}}}],
            },
        }
        for name in ("p", "q")
    ]
    one = {"state": "scheduled", "bound": 1, "domains": ["b"]}
    stages = [
        {
            "apply": [*nodes, group, *pods],
            "expect": {"groups": {"default/g": {**one, "tied": True}}},
            "observed": {"q": "b"},
        },
        {"expect": {"groups": {"default/g": one}, "pods": {"default/p": {"node": None}}}},
    ]
    case = {"name": "x", "stages": stages, "directory": HERE}
    assert run_case(case, "upstream-1.36").why == ()
    untied = {**case, "stages": [{**stages[0], "expect": {"groups": {"default/g": one}}}]}
    assert run_case(untied, "upstream-1.36").why == ("stage 1: default/g lies in a, not in b",)
    more = {**case, "stages": [{**stages[0], "expect": {"groups": {"default/g": {**one, "bound": 0}}}}]}
    assert "stage 1: default/g has 1 members on nodes, not 0" in run_case(more, "upstream-1.36").why


def test_the_command_closes_with_the_counts_and_fails_when_a_case_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "status": {}}'
    good = (
        f'{{"name": "x/good", "stages": [{{"apply": [{node}], "expect": {{"imports": {{"accepted": 1}}}}}}]}}'
    )
    bad = '{"name": "x/bad", "stages": [{"expect": {"groups": {"d/g": {"state": "scheduled"}}}}]}'
    open_ = '{"name": "x/open", "profile": "upstream-1.99", "stages": []}'
    (tmp_path / "some.jsonl").write_text("\n".join((good, open_)), encoding="utf-8")
    call_command("conformance", str(tmp_path / "some.jsonl"))
    assert capsys.readouterr().out.splitlines() == [
        "skipped x/open: not supported: profile upstream-1.99",
        "1 passed, 0 failed, 1 skipped",
    ]
    (tmp_path / "more.jsonl").write_text(bad, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        call_command("conformance", str(tmp_path))
    assert ended.value.code == 1
    told = capsys.readouterr().out
    assert "failed x/bad: stage 1: d/g is " in told and told.endswith("1 passed, 1 failed, 1 skipped\n")
