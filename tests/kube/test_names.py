"""Names, label keys and label values are held to Kubernetes' rules."""

import pytest

from scheduling.kube.names import (
    dns_label_problem,
    dns_subdomain_problem,
    label_key_problem,
    label_value_problem,
)


@pytest.mark.parametrize("name", ["a", "a.b", "0", "a-b.c-d", "a" * 253])
def test_good_object_names(name):
    assert dns_subdomain_problem(name) == ""


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a..b", ".a", "a.", "a" * 254, "a\n", "é"])
def test_bad_object_names(name):
    assert dns_subdomain_problem(name)


@pytest.mark.parametrize("name", ["", "a.b", "A", "-", "a" * 64, "a\n"])
def test_bad_namespaces(name):
    assert dns_label_problem(name)


@pytest.mark.parametrize("key", ["a", "A_b.c-d", "example.com/RACK_1.a", "x" * 63, "a." * 100 + "b/x", "9"])
def test_good_label_keys(key):
    assert label_key_problem(key) == ""


@pytest.mark.parametrize(
    "key",
    ["", "/", "/a", "a/", "Example.com/a", "a/b/c", "a b", "-a", "a-", "x" * 64, "a." * 127 + "b/x", "１"],
)
def test_bad_label_keys(key):
    assert label_key_problem(key)


@pytest.mark.parametrize("value", ["", "0", "01", "400G", "a_b.c-d", "x" * 63])
def test_good_label_values(value):
    assert label_value_problem(value) == ""


@pytest.mark.parametrize("value", ["-", "a b", "a/b", "x" * 64, "a\n", "_a"])
def test_bad_label_values(value):
    assert label_value_problem(value)
