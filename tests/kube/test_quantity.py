"""Quantities are read to the last digit, refused like an API server refuses them, and never blow up."""

import json
import math
import os
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.kube.quantity import INT64_MAX, QuantityError, parse, to_allocatable, to_request

SCALES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
} | {f"{letter}i": Fraction(1024 ** (n + 1)) for n, letter in enumerate("KMGTPE")}


def as_kubernetes_keeps(value: Fraction) -> Fraction:
    """Rounded away from zero to a billionth, capped at the largest int64."""
    size = min(Fraction(math.ceil(abs(value) * 10**9), 10**9), Fraction(INT64_MAX))
    return size if value >= 0 else -size


@given(
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**30),
    st.text("0123456789", max_size=12),
    st.sampled_from(sorted(SCALES)),
)
def test_a_suffixed_quantity_has_the_value_of_its_decimal_times_its_suffix(sign, whole, part, suffix):
    number = f"{whole}.{part}" if part else str(whole)
    independent = Fraction(Decimal(sign + number)) * SCALES[suffix]
    assert parse(f"{sign}{number}{suffix}") == as_kubernetes_keeps(independent)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=6), st.integers(-15, 15), st.sampled_from("eE")
)
def test_an_exponent_multiplies_by_a_power_of_ten(number, exponent, letter):
    independent = Fraction(number) * Fraction(10) ** exponent
    assert parse(f"{number:f}{letter}{exponent}") == as_kubernetes_keeps(independent)


@given(st.text(max_size=20))
def test_any_text_is_a_quantity_or_a_quantity_error(text):
    try:
        value = parse(text)
    except QuantityError:
        return
    assert abs(value) <= INT64_MAX
    assert text.isascii() and not set(text) & set("_ \n")


@given(st.floats() | st.integers())
def test_any_json_number_is_read_or_refused(number):
    try:
        value = parse(number)
    except QuantityError:
        assert isinstance(number, float) and not math.isfinite(number)
        return
    assert value == as_kubernetes_keeps(
        Fraction(number if isinstance(number, int) else Decimal(repr(number)))
    )


@given(st.integers(0, 10**12), st.sampled_from(["n", "u", "m", "", "Ki"]), st.sampled_from(["cpu", "memory"]))
def test_a_request_is_never_charged_less_and_an_offer_never_counted_more_than_its_value(
    number, suffix, resource
):
    exact = parse(f"{number}{suffix}") * (1000 if resource == "cpu" else 1)
    assert to_allocatable(resource, f"{number}{suffix}") == min(math.floor(exact), INT64_MAX)
    assert to_request(resource, f"{number}{suffix}") == min(math.ceil(exact), INT64_MAX)


@pytest.mark.parametrize("text", ["1e2147483647", "9e400", "9" * 200, "1e100Ki".replace("Ki", "")])
def test_a_giant_number_is_the_largest_that_kubernetes_keeps(text):
    assert parse(text) == INT64_MAX
    assert to_request("cpu", text) == INT64_MAX


def test_a_tiny_number_is_a_billionth():
    assert parse("1e-2147483648") == Fraction(1, 10**9)
    assert parse("-1e-400") == -Fraction(1, 10**9)
    assert to_request("cpu", "1n") == 1
    assert to_allocatable("cpu", "1n") == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "m",
        "1e",
        "1e3k",
        "1Ki3",
        "0x10",
        "1 ",
        " 1",
        "1_0",
        "٣",
        "１",
        "1Gi\n",
        "inf",
        "nan",
        "1e99999999999",
        "9" * 5000,
        True,
        False,
        None,
        [],
        {},
        float("inf"),
        float("nan"),
    ],
)
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(QuantityError):
        parse(text)


@pytest.mark.parametrize(
    ("resource", "text", "words"),
    [
        ("nvidia.com/gpu", "0.5", "whole number"),
        ("nvidia.com/gpu", "1500m", "whole number"),
        ("pods", "1.5", "whole number"),
        ("cpu", "-1", "negative"),
        ("hugepages-2Mi", "3Mi", "multiple of the page size 2Mi"),
        ("hugepages-big", "1", "page size big"),
    ],
)
def test_a_resource_has_its_own_rules(resource, text, words):
    with pytest.raises(QuantityError, match=words):
        to_request(resource, text)


def test_thousand_milli_devices_are_one_device():
    assert to_request("nvidia.com/gpu", "1000m") == 1
    assert to_request("hugepages-2Mi", "1Gi") == 2**30
    assert to_request("memory", "644245094400m") == 644245095
    assert to_allocatable("memory", "644245094400m") == 644245094
    assert to_request("cpu", "2") == to_request("cpu", "2000m") == 2000


def test_every_listed_quantity_is_read_as_the_list_says():
    folder = os.environ.get("TAS_REAL_INPUTS")
    if not folder:
        pytest.skip("TAS_REAL_INPUTS names no folder with real inputs")
    listed = json.loads((Path(folder) / "manifests/quantities/quantities.json").read_text())["quantities"]
    assert len(listed) > 40
    for entry in listed:
        if entry["valid"] is True:
            assert parse(entry["in"]) == Fraction(entry["value"]), entry
        elif entry["valid"] is False:
            with pytest.raises(QuantityError):
                parse(entry["in"])
        else:
            try:
                assert parse(entry["in"]) == INT64_MAX
            except QuantityError as error:
                assert "at most" in str(error)
