"""A PodGroup is refused exactly where a recorded API server refused it, at the same field."""

import copy
import json
from pathlib import Path

import pytest

from scheduling.kube.manifests import read
from scheduling.kube.validation import pod_group_problems

CASES = json.loads((Path(__file__).parents[1] / "conformance/podgroup-validation-1.36.json").read_text())
GROUP = {
    "apiVersion": "scheduling.k8s.io/v1alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "t"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
}


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_the_recorded_answer_of_an_api_server_is_ours(case):
    problems = pod_group_problems(case["body"], case.get("from"))
    found = [(problem.path, problem.reason) for problem in problems]
    if case["code"] in (200, 201):
        assert found == []
    elif case["code"] == 422:
        assert found == [(cause["field"], cause["reason"]) for cause in case["causes"]]
    else:
        expected = {400: "Undecodable", 403: "FieldValueForbidden"}[case["code"]]
        assert [reason for _, reason in found] == [expected]


CREATIONS = [case for case in CASES if case["operation"] == "create" and case["title"] != "wrong version"]


@pytest.mark.parametrize("case", CREATIONS, ids=[case["title"] for case in CREATIONS])
def test_the_importer_takes_and_refuses_the_same(case):
    manifests = read(json.dumps(case["body"]))
    if case["code"] == 201:
        assert not manifests.refused
        [stored] = manifests.pod_groups
        assert stored.group.min_count == case["stored_spec"]["schedulingPolicy"]["gang"]["minCount"]
        topology = case["stored_spec"].get("schedulingConstraints", {}).get("topology", [])
        assert stored.group.topology_key == (topology[0]["key"] if topology else "")
    else:
        [refusal] = manifests.refused
        assert not manifests.pod_groups
        if case["code"] == 422:
            assert refusal.path == case["causes"][0]["field"]


def changed(**spec):
    body = copy.deepcopy(GROUP)
    body["spec"].update(spec)
    return body


def newer(**spec):
    return changed(**spec) | {"apiVersion": "scheduling.k8s.io/v1beta1"}


@pytest.mark.parametrize(
    ("spec", "path", "reason"),
    [
        (
            {"schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}},
            "spec.schedulingConstraints.topology",
            "FieldValueTooMany",
        ),
        (
            {"schedulingConstraints": {"topology": [{"level": "rack"}]}},
            "spec.schedulingConstraints.topology[0].level",
            "Undecodable",
        ),
        (
            {"schedulingConstraints": {"topology": [{"key": ""}]}},
            "spec.schedulingConstraints.topology[0].key",
            "FieldValueRequired",
        ),
        (
            {"schedulingPolicy": {"gang": {"minCount": True}}},
            "spec.schedulingPolicy.gang.minCount",
            "Undecodable",
        ),
        (
            {"schedulingPolicy": {"gang": {"minCount": 1}, "basic": {}}},
            "spec.schedulingPolicy",
            "FieldValueInvalid",
        ),
        ({"podGroupTemplateRef": {}}, "spec.podGroupTemplateRef", "FieldValueInvalid"),
        ({"priority": 1000000001}, "spec.priority", "FieldValueInvalid"),
        ({"priorityClassName": "Not_a_name"}, "spec.priorityClassName", "FieldValueInvalid"),
        ({"resourceClaims": [{"name": "a"}]}, "spec.resourceClaims[0]", "FieldValueInvalid"),
        (
            {"resourceClaims": [{"name": n, "resourceClaimName": "c"} for n in "aa"]},
            "spec.resourceClaims[1].name",
            "FieldValueDuplicate",
        ),
        ({"workloadRef": {"workloadName": "w", "templateName": "t"}}, "spec.workloadRef", "Undecodable"),
    ],
)
def test_a_faulty_spec_is_refused_at_its_field(spec, path, reason):
    [problem] = pod_group_problems(changed(**spec))
    assert (problem.path, problem.reason) == (path, reason)


def test_a_template_reference_is_admitted_when_its_workload_exists():
    body = changed(podGroupTemplateRef={"workload": {"workloadName": "w", "podGroupTemplateName": "a"}})
    assert pod_group_problems(body, templates={"t/w/a"}) == []
    assert pod_group_problems(body, templates=None) == []
    assert [problem.reason for problem in pod_group_problems(body, templates={"t/w/b"})] == [
        "FieldValueForbidden"
    ]


def test_release_1_37_may_change_min_count_but_not_the_policy():
    old = newer()
    more = newer(schedulingPolicy={"gang": {"minCount": 9}})
    basic = newer(schedulingPolicy={"basic": {}})
    assert pod_group_problems(more, old, release="1.37") == []
    assert [p.path for p in pod_group_problems(basic, old, release="1.37")] == ["spec.schedulingPolicy"]


def test_release_1_37_has_fields_of_its_own():
    good = newer(
        workloadRef={"workloadName": "w", "templateName": "a"},
        parentCompositePodGroupName="parent",
        disruptionMode={"all": {}},
        preemptionPolicy="Never",
    )
    assert pod_group_problems(good, release="1.37") == []
    wrong = newer(schedulingPolicy={"basic": {}}, disruptionMode={"all": {}}, parentCompositePodGroupName="p")
    assert [p.path for p in pod_group_problems(wrong, release="1.37")] == [
        "spec.disruptionMode",
        "spec.workloadRef",
    ]
