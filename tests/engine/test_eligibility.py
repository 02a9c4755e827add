"""Which nodes a member may use, rule by rule."""

import pytest

from scheduling.engine.eligibility import Bar, bar
from scheduling.engine.model import Eligibility, NodeSelectorTerm, Requirement, Taint, Toleration
from tests.engine.builders import node

CORDON_TAINT = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def wants(
    *requirements: tuple[str, str, tuple[str, ...]], fields: tuple[Requirement, ...] = ()
) -> Eligibility:
    """Eligibility with one required node affinity term."""
    term = NodeSelectorTerm(tuple(Requirement(*requirement) for requirement in requirements), fields)
    return Eligibility(terms=(term,))


def tolerates(key: str, operator: str, value: str = "", effect: str = "") -> Eligibility:
    return Eligibility(tolerations=(Toleration(key, operator, value, effect),))


def test_a_plain_node_takes_everybody() -> None:
    assert bar(node("a"), Eligibility()) == Bar.NONE


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_repelling_taint_bars_who_does_not_tolerate_it(effect: str) -> None:
    assert bar(node("a", taints=(Taint("k", "v", effect),)), Eligibility()) == Bar.TAINT


def test_a_preference_taint_bars_nobody() -> None:
    assert bar(node("a", taints=(Taint("k", "v", "PreferNoSchedule"),)), Eligibility()) == Bar.NONE


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (("k", "Equal", "v", "NoSchedule"), Bar.NONE),
        (("k", "", "v", ""), Bar.NONE),
        (("k", "Equal", "other", ""), Bar.TAINT),
        (("k", "Exists", "", ""), Bar.NONE),
        (("other", "Exists", "", ""), Bar.TAINT),
        (("", "Exists", "", ""), Bar.NONE),
        (("", "Exists", "", "NoExecute"), Bar.TAINT),
        (("k", "Exists", "", "NoExecute"), Bar.TAINT),
        (("k", "Gt", "v", ""), Bar.TAINT),
    ],
)
def test_a_toleration_matches_by_key_value_and_effect(
    toleration: tuple[str, str, str, str], expected: Bar
) -> None:
    assert bar(node("a", taints=(Taint("k", "v", "NoSchedule"),)), tolerates(*toleration)) == expected


def test_every_taint_must_be_tolerated() -> None:
    both = (Taint("k", "v", "NoSchedule"), Taint("other", "", "NoExecute"))
    assert bar(node("a", taints=both), tolerates("k", "Exists")) == Bar.TAINT


def test_a_cordoned_node_takes_only_who_tolerates_the_cordon() -> None:
    cordoned = node("a", unschedulable=True, taints=(CORDON_TAINT,))
    assert bar(cordoned, Eligibility()) == Bar.CORDONED
    assert bar(cordoned, tolerates(CORDON_TAINT.key, "Exists", effect="NoSchedule")) == Bar.NONE
    assert bar(cordoned, tolerates(CORDON_TAINT.key, "Exists", effect="NoExecute")) == Bar.CORDONED


def test_a_node_that_is_not_ready_takes_nobody_whatever_is_tolerated() -> None:
    assert bar(node("a", ready=False), tolerates("", "Exists")) == Bar.NOT_READY


def test_a_node_selector_needs_every_label_with_its_value() -> None:
    wanted = Eligibility(node_selector=(("disk", "ssd"), ("gpu", "")))
    assert bar(node("a", labels={"disk": "ssd", "gpu": ""}), wanted) == Bar.NONE
    assert bar(node("a", labels={"disk": "ssd"}), wanted) == Bar.SELECTOR
    assert bar(node("a", labels={"disk": "hdd", "gpu": ""}), wanted) == Bar.SELECTOR


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (("size", "In", ("3", "4")), Bar.NONE),
        (("size", "In", ("4",)), Bar.SELECTOR),
        (("absent", "In", ("4",)), Bar.SELECTOR),
        (("size", "NotIn", ("3",)), Bar.SELECTOR),
        (("absent", "NotIn", ("3",)), Bar.NONE),
        (("size", "Exists", ()), Bar.NONE),
        (("absent", "Exists", ()), Bar.SELECTOR),
        (("size", "DoesNotExist", ()), Bar.SELECTOR),
        (("absent", "DoesNotExist", ()), Bar.NONE),
        (("size", "Gt", ("2",)), Bar.NONE),
        (("size", "Gt", ("3",)), Bar.SELECTOR),
        (("size", "Lt", ("4",)), Bar.NONE),
        (("size", "Lt", ("3",)), Bar.SELECTOR),
        (("size", "Gt", ("x",)), Bar.SELECTOR),
        (("word", "Gt", ("0",)), Bar.SELECTOR),
        (("absent", "Lt", ("9",)), Bar.SELECTOR),
        (("size", "Near", ("3",)), Bar.SELECTOR),
    ],
)
def test_each_affinity_operator(requirement: tuple[str, str, tuple[str, ...]], expected: Bar) -> None:
    assert bar(node("a", labels={"size": "3", "word": "many"}), wants(requirement)) == expected


def test_numbers_compare_as_numbers_with_their_sign() -> None:
    assert bar(node("a", labels={"size": "-10"}), wants(("size", "Lt", ("-9",)))) == Bar.NONE
    assert bar(node("a", labels={"size": "10"}), wants(("size", "Gt", ("9",)))) == Bar.NONE


def test_all_requirements_of_a_term_must_hold_and_any_term_will_do() -> None:
    term = NodeSelectorTerm((Requirement("size", "In", ("3",)), Requirement("disk", "Exists", ())), ())
    other = NodeSelectorTerm((Requirement("kind", "In", ("big",)),), ())
    assert bar(node("a", labels={"size": "3"}), Eligibility(terms=(term, other))) == Bar.SELECTOR
    assert bar(node("a", labels={"kind": "big"}), Eligibility(terms=(term, other))) == Bar.NONE


def test_a_field_requirement_names_nodes() -> None:
    wanted = wants(fields=(Requirement("metadata.name", "In", ("a",)),))
    assert bar(node("a"), wanted) == Bar.NONE
    assert bar(node("b"), wanted) == Bar.SELECTOR


def test_an_empty_term_and_an_empty_list_of_terms_match_no_node() -> None:
    assert bar(node("a"), wants()) == Bar.SELECTOR
    assert bar(node("a"), Eligibility(terms=())) == Bar.SELECTOR


def test_a_node_that_fails_several_ways_counts_under_one() -> None:
    broken = node("a", ready=False, unschedulable=True, taints=(Taint("k", "", "NoSchedule"),))
    assert bar(broken, Eligibility(node_selector=(("x", "y"),))) == Bar.SELECTOR
    assert bar(broken, Eligibility()) == Bar.NOT_READY
    assert bar(node("a", unschedulable=True, taints=broken.taints), Eligibility()) == Bar.CORDONED
