"""What of topology spread constraints is read, and what is refused as an API server refuses it."""

import pytest

from scheduling.engine.model import Requirement, SpreadConstraint
from tests.kube.test_manifests import pod, refused, taken

RULE = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
SELECTOR = {"labelSelector": {"matchLabels": {"app": "x"}}}
APP = Requirement("app", "In", ("x",))


def read(*rules, labels=None):
    [found] = taken(pod({"topologySpreadConstraints": list(rules)}, {"labels": labels or {}})).pods
    return found.shape


def test_defaults_are_those_of_an_api_server():
    shape = read(RULE)
    assert shape.spread == (SpreadConstraint("rack", 1, None),)
    assert shape.unmodelled == ("topologySpread",)
    (one,) = shape.spread
    assert (one.hard, one.min_domains, one.honors_affinity, one.honors_taints) == (True, 1, True, False)


def test_every_field_is_read_and_the_order_is_kept():
    policies = {"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "minDomains": 3}
    soft = RULE | {"whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 4, "labelSelector": {}}
    assert read(soft, RULE | SELECTOR | policies).spread == (
        SpreadConstraint("rack", 4, (), hard=False),
        SpreadConstraint("rack", 1, (APP,), True, 3, False, True),
    )


def test_preferences_alone_leave_nothing_unmodelled():
    assert read(RULE | {"whenUnsatisfiable": "ScheduleAnyway"}).unmodelled == ()


def test_match_label_keys_stand_for_the_own_value_and_nothing_without_one():
    rule = RULE | SELECTOR | {"matchLabelKeys": ["pod-template-hash", "missing"]}
    (found,) = read(rule, labels={"pod-template-hash": "7d9", "app": "x"}).spread
    assert found.selector == (APP, Requirement("pod-template-hash", "In", ("7d9",)))


@pytest.mark.parametrize(
    ("changed", "field", "reason"),
    [
        ({"maxSkew": 0}, "maxSkew", "FieldValueInvalid"),
        ({"maxSkew": None}, "maxSkew", "FieldValueRequired"),
        ({"maxSkew": "1"}, "maxSkew", "Undecodable"),
        ({"topologyKey": ""}, "topologyKey", "FieldValueRequired"),
        ({"topologyKey": "a b"}, "topologyKey", "FieldValueInvalid"),
        ({"whenUnsatisfiable": None}, "whenUnsatisfiable", "FieldValueRequired"),
        ({"whenUnsatisfiable": "Sometimes"}, "whenUnsatisfiable", "FieldValueNotSupported"),
        ({"minDomains": 0}, "minDomains", "FieldValueInvalid"),
        ({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}, "minDomains", "FieldValueInvalid"),
        ({"nodeAffinityPolicy": "honor"}, "nodeAffinityPolicy", "FieldValueNotSupported"),
        ({"nodeTaintsPolicy": "None"}, "nodeTaintsPolicy", "FieldValueNotSupported"),
        ({"matchLabelKeys": ["app"]}, "matchLabelKeys", "FieldValueForbidden"),
        ({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}},
         "labelSelector.matchExpressions[0].operator", "FieldValueNotSupported"),
    ],
)  # fmt: skip
def test_what_an_api_server_refuses_is_refused_at_its_field(changed, field, reason):
    problem = refused(pod({"topologySpreadConstraints": [RULE | changed]}))
    assert (problem.path, problem.reason) == (f"spec.topologySpreadConstraints[0].{field}", reason)


def test_one_key_twice_for_the_same_is_refused():
    problem = refused(pod({"topologySpreadConstraints": [RULE, RULE | {"maxSkew": 2}]}))
    assert (problem.path, problem.reason) == ("spec.topologySpreadConstraints[1]", "FieldValueDuplicate")
