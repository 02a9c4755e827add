"""Reading typed fields out of a decoded manifest, with the path of what is wrong.

Absent and null are the same thing, as they are for the API server. A wrong JSON type is ``Undecodable`` (the
API server answers 400); a value of the right type that a rule forbids has one of the ``FieldValue...``
reasons (422).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

UNDECODABLE = "Undecodable"
REQUIRED = "FieldValueRequired"
INVALID = "FieldValueInvalid"
FORBIDDEN = "FieldValueForbidden"
NOT_SUPPORTED = "FieldValueNotSupported"
DUPLICATE = "FieldValueDuplicate"
TOO_MANY = "FieldValueTooMany"

INT32 = range(-(2**31), 2**31)
_LONGEST_TEXT = 1024
_EMPTY_OBJECT: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one object: the field's path, a reason as in an API server's causes, a
    sentence.
    """

    path: str
    reason: str
    message: str


class FieldError(ValueError):
    """A field that cannot be taken; carries the Problem."""

    def __init__(self, path: str, reason: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.problem = Problem(path, reason, message)


def printable(text: str) -> str:
    """A path or sentence that any page, log or database can take: no control characters, at most
    2,000 long.
    """
    text = text if text.isprintable() else ascii(text)[1:-1]
    return text if len(text) <= 2000 else f"{text[:1997]}..."


def described(value: object) -> str:
    """What a value is that should have been a string, in words."""
    if isinstance(value, bool):
        return f"the truth value {shown(value)}"
    if isinstance(value, int | float):
        return f"the number {shown(value)}"
    return shown(value)


def shown(value: object) -> str:
    """A value as a sentence can carry it: short, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else str(value)
    text = text if len(text) <= 80 else f"{text[:77]}..."
    return f'"{text}"' if isinstance(value, str) else text


def mapping(value: object, path: str) -> Mapping[str, Any]:
    if value is None:
        return _EMPTY_OBJECT
    if not isinstance(value, dict):
        raise FieldError(path, UNDECODABLE, f"must be an object, not {shown(value)}")
    return value


def sequence(value: object, path: str) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise FieldError(path, UNDECODABLE, f"must be a list, not {shown(value)}")
    return value


def objects(value: object, path: str) -> list[tuple[Mapping[str, Any], str]]:
    """The objects of a list, each with its own path."""
    return [(mapping(item, f"{path}[{n}]"), f"{path}[{n}]") for n, item in enumerate(sequence(value, path))]


def string(value: object, path: str) -> str:
    """A text; "" when absent. Control characters and over-long texts are refused: nothing may store them."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FieldError(path, UNDECODABLE, f"must be a string, but is {described(value)}; put it in quotes")
    if len(value) > _LONGEST_TEXT:
        raise FieldError(path, INVALID, f"must have at most {_LONGEST_TEXT} characters")
    if not value.isprintable():
        raise FieldError(path, INVALID, f"{shown(value)} has characters that cannot be printed")
    return value


def boolean(value: object, path: str) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise FieldError(path, UNDECODABLE, f"must be true or false, not {shown(value)}")
    return value


def integer(value: object, path: str) -> int | None:
    """A signed 32-bit whole number; None when absent."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(path, UNDECODABLE, f"must be a whole number, not {shown(value)}")
    if value not in INT32:
        raise FieldError(path, UNDECODABLE, "must fit 32 bits")
    return value


def one_of(value: str, path: str, allowed: Collection[str]) -> str:
    if value not in allowed:
        raise FieldError(path, NOT_SUPPORTED, f"{shown(value)} is not one of {', '.join(sorted(allowed))}")
    return value


def checked(value: str, path: str, problem: str) -> str:
    """``value`` when ``problem`` (a clause of names.py) is empty; an empty value is Required where it is
    wrong.
    """
    if problem:
        if not value:
            raise FieldError(path, REQUIRED, "must be given")
        raise FieldError(path, INVALID, f"{shown(value)} {problem}")
    return value


def milliseconds(value: object, path: str) -> int:
    """An RFC 3339 time as milliseconds since 1970; 0 when absent."""
    text = string(value, path)
    if not text:
        return 0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or text[10:11] not in ("T", "t"):
        raise FieldError(path, UNDECODABLE, f"{shown(text)} is not a time such as 2026-01-31T09:00:00Z")
    delta = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return delta.days * 86_400_000 + delta.seconds * 1000 + delta.microseconds // 1000
