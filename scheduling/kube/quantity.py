"""Kubernetes quantities, read exactly and charged in whole units.

``cpu`` is counted in milli-cores, every other resource in its own unit. The grammar and the cap at the
largest signed 64-bit number are those of ``apimachinery/pkg/api/resource``: decimal suffixes ``n u m k M G T
P E``, binary suffixes ``Ki`` to ``Ei``, or a decimal exponent; what is finer than a billionth is rounded away
from zero.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

INT64_MAX = 2**63 - 1
AMOUNT_LIMIT = 1 << 52
"""An object with an amount as large as this is refused: 4 PiB in bytes, 4.5 million million cores, 4.5
thousand million million devices. No resource is as large, and the engine counts exactly below it only.
"""
_INT32 = range(-(2**31), 2**31)
_LONGEST = 256
_NANO = 10**9

_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[KMGTPE]i|[numkMGTPE])?)"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


class QuantityError(ValueError):
    """A text that is no quantity, or a quantity that the resource does not allow. The message is a clause."""


def parse(text: object) -> Fraction:
    """The exact value of a quantity as JSON or YAML holds it: text, or a finite number.

    Magnitudes over 2**63 - 1 become 2**63 - 1, as in Kubernetes. Raises QuantityError; never builds a number
    larger than its text, however large the exponent.
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise QuantityError("must be a quantity such as 500m or 2Gi")
    if not isinstance(text, str):
        text = _number_text(text)
    if len(text) > _LONGEST:
        raise QuantityError(f"must be a quantity of at most {_LONGEST} characters")
    return _parse_text(text)


def to_request(resource: str, text: object) -> int:
    """What a request of ``resource`` is charged, rounded up: milli-cores for ``cpu``, else whole units."""
    return charge(resource, checked_request(resource, text))


def to_allocatable(resource: str, text: object) -> int:
    """What a node offers of ``resource``, rounded down: milli-cores for ``cpu``, else whole units."""
    return min(math.floor(_in_units(resource, _checked(resource, text))), INT64_MAX)


def checked_request(resource: str, text: object) -> Fraction:
    """The exact value of a request that ``resource`` allows (not negative, whole where it must be, whole
    pages).
    """
    value = _checked(resource, text)
    if resource.startswith("hugepages-"):
        size = resource.removeprefix("hugepages-")
        try:
            page = parse(size)
        except QuantityError as error:
            raise QuantityError(f"is of a resource whose page size {size} {error}") from error
        if page <= 0 or value % page:
            raise QuantityError(f"must be a multiple of the page size {size}")
    return value


def charge(resource: str, value: Fraction | int) -> int:
    """An exact, possibly summed, request in whole units, rounded up and capped at the largest int64."""
    return min(math.ceil(_in_units(resource, value)), INT64_MAX)


def checked_amount(amount: int) -> int:
    """``amount`` in whole units, when it is one that can be counted with. Raises QuantityError."""
    if amount >= AMOUNT_LIMIT:
        raise QuantityError(f"is too large to be counted: {amount} units, the limit is {AMOUNT_LIMIT}")
    return amount


def _in_units(resource: str, value: Fraction | int) -> Fraction | int:
    return value * 1000 if resource == "cpu" else value


def _number_text(number: int | float) -> str:
    if isinstance(number, int):
        return str(number) if -(10**40) < number < 10**40 else f"{'-' if number < 0 else ''}1e41"
    if not math.isfinite(number):
        raise QuantityError("must be a finite number")
    return repr(number)


def _checked(resource: str, text: object) -> Fraction:
    value = parse(text)
    if value < 0:
        raise QuantityError("must not be negative")
    if value.denominator != 1 and _counted_whole(resource):
        raise QuantityError(f"must be a whole number: {resource} cannot be divided")
    return value


def _counted_whole(resource: str) -> bool:
    """Extended resources (``vendor/device``) and pods exist in whole numbers only."""
    domain, slash, _ = resource.partition("/")
    return resource == "pods" or (slash == "/" and domain != "kubernetes.io")


@lru_cache(maxsize=16384)
def _parse_text(text: str) -> Fraction:
    match = _GRAMMAR.fullmatch(text)
    if match is None:
        raise QuantityError("must be a quantity such as 500m or 2Gi")
    whole, part = match["whole"], match["part"] or ""
    if not whole and not part:
        raise QuantityError("must be a quantity such as 500m or 2Gi")
    exponent = int(match["exponent"] or 0)
    if exponent not in _INT32:
        raise QuantityError("must be a quantity with an exponent of 32 bits")
    suffix = match["suffix"] or ""
    value = _magnitude(
        int(whole + part), exponent + _DECIMAL.get(suffix, 0) - len(part), _BINARY.get(suffix, 0)
    )
    return -value if match["sign"] == "-" else value


def _magnitude(mantissa: int, ten: int, two: int) -> Fraction:
    """``mantissa * 10**ten * 2**two``, rounded up to a billionth and capped, without building giant
    powers.
    """
    if mantissa == 0:
        return Fraction(0)
    digits = len(str(mantissa)) + ten
    if digits > 20:
        return Fraction(INT64_MAX)
    if digits < -40:
        return Fraction(1, _NANO)
    value = Fraction(mantissa << two) * Fraction(10) ** ten
    if _NANO % value.denominator:
        value = Fraction(math.ceil(value * _NANO), _NANO)
    return min(value, Fraction(INT64_MAX))
