"""Every conformance case that can be run holds; what cannot be run is named, with the reason or the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command

from scheduling.services.conformance.cases import Case, read_cases, run_case

HERE = Path(__file__).parent
TESTS = HERE.parent

PROFILES_NOT_BUILT = ("upstream-1.36", "upstream-1.37")

SERVICES = "services/test_reports.py::"

BY_HAND: dict[str, str] = {
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
RESULTS = {case["name"]: run_case(case) for case in CASES}


def with_property(case: Case) -> bool:
    return any("property" in (stage.get("expect") or {}) for stage in case["stages"])


def test_every_case_has_its_own_name() -> None:
    assert len(RESULTS) == len(CASES)


@pytest.mark.parametrize(
    "name", [case["name"] for case in CASES if case.get("profile") not in PROFILES_NOT_BUILT]
)
def test_a_case_holds(name: str) -> None:
    result = RESULTS[name]
    if result.verdict == "skipped":
        assert name in BY_HAND or name in ELSEWHERE, result.why
    else:
        assert result.verdict == "passed", "\n".join(result.why)


def test_only_profiles_that_are_not_built_are_skipped_for_the_profile() -> None:
    skipped = {name for name, result in RESULTS.items() if "profile" in "".join(result.why)}
    assert skipped == {case["name"] for case in CASES if case.get("profile") in PROFILES_NOT_BUILT}


def test_the_tables_name_the_properties_of_all_cases_and_nothing_else() -> None:
    wanted = {case["name"] for case in CASES if with_property(case)}
    wanted -= {case["name"] for case in CASES if case.get("profile") in PROFILES_NOT_BUILT}
    assert wanted == BY_HAND.keys() | ELSEWHERE.keys()
    assert not BY_HAND.keys() & ELSEWHERE.keys()


@pytest.mark.parametrize("test", sorted(set(BY_HAND.values())))
def test_a_test_that_is_named_exists(test: str) -> None:
    file, _, function = test.partition("::")
    assert f"def {function}(" in (TESTS / file).read_text(encoding="utf-8")


def test_the_command_closes_with_the_counts_and_fails_when_a_case_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "status": {}}'
    good = (
        f'{{"name": "x/good", "stages": [{{"apply": [{node}], "expect": {{"imports": {{"accepted": 1}}}}}}]}}'
    )
    bad = '{"name": "x/bad", "stages": [{"expect": {"groups": {"d/g": {"state": "scheduled"}}}}]}'
    open_ = '{"name": "x/open", "profile": "upstream-1.37", "stages": []}'
    (tmp_path / "some.jsonl").write_text("\n".join((good, open_)), encoding="utf-8")
    call_command("conformance", str(tmp_path / "some.jsonl"))
    assert capsys.readouterr().out.splitlines() == [
        "skipped x/open: profile upstream-1.37 is not built",
        "1 passed, 0 failed, 1 skipped",
    ]
    (tmp_path / "more.jsonl").write_text(bad, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        call_command("conformance", str(tmp_path))
    assert ended.value.code == 1
    told = capsys.readouterr().out
    assert "failed x/bad: stage 1: d/g is " in told and told.endswith("1 passed, 1 failed, 1 skipped\n")
