"""YAML as kubectl reads it, built from libyaml's events without recursion.

Plain scalars become what kubectl's YAML-to-JSON conversion makes of them (``y`` is true, ``08`` is 8.0,
``12:30`` and dates stay text), so that a label value which the API server would refuse is seen to be no
string. Refused with a line: a key given twice, a key that is not plain text, an unknown tag, aliases that
multiply, deep nesting.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

MAX_DEPTH = 100
MAX_ALIASED = 100_000


class YamlProblem(ValueError):
    """What is wrong with a YAML text, and the line (from 1) where."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Lined(dict[str, Any]):
    """A YAML mapping that knows the line it begins at."""

    __slots__ = ("line",)

    line: int


_WORDS: dict[str, bool | float | None] = {"": None, "~": None}
_WORDS |= dict.fromkeys(("null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True)
_WORDS |= dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False)
_WORDS |= dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf"))
_WORDS |= dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf"))
_WORDS |= dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan"))

_INTEGER = re.compile(
    r"[-+]?(0[xX][0-9a-fA-F]{1,16}|0[oO][0-7]{1,22}|0+[0-7]{0,22}|0[bB][01]{1,64}|[1-9][0-9]{0,19})"
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_PLAIN_TAGS = frozenset(
    {
        None,
        "tag:yaml.org,2002:int",
        "tag:yaml.org,2002:float",
        "tag:yaml.org,2002:bool",
        "tag:yaml.org,2002:null",
    }
)
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp"})
_MERGE_TAG = "tag:yaml.org,2002:merge"
_COLLECTION_TAGS = frozenset({None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})


def plain_value(text: str) -> str | int | float | bool | None:
    """What kubectl makes of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        number = _integer(digits)
        if -(2**63) <= number < 2**64:
            return number
    if len(digits) <= 400 and _FLOAT.fullmatch(digits):
        value = float(digits)
        return text if math.isinf(value) else value
    return text


def _integer(digits: str) -> int:
    """Go's integer literals: a leading 0, 0o, 0x or 0b names the base."""
    sign = -1 if digits[0] == "-" else 1
    digits = digits.lstrip("+-").lower()
    for prefix, base in (("0x", 16), ("0o", 8), ("0b", 2), ("0", 8)):
        if digits.startswith(prefix):
            return sign * int(digits.removeprefix(prefix) or "0", base)
    return sign * int(digits)


def load(text: str, first_line: int = 1) -> Iterator[tuple[Any, int]]:
    """Every document of ``text`` with the line it begins at. Raises YamlProblem at the first fault."""
    try:
        yield from _Builder(first_line).documents(text)
    except yaml.YAMLError as error:
        raise _problem(error, text, first_line) from error


def _problem(error: yaml.YAMLError, text: str, first_line: int) -> YamlProblem:
    if isinstance(error, yaml.reader.ReaderError):
        line = first_line + text.encode().count(b"\n", 0, error.position)
        return YamlProblem(error.reason, line)
    mark = getattr(error, "problem_mark", None)
    parts = [
        getattr(error, "context", None),
        getattr(error, "problem", None) or getattr(error, "reason", None),
    ]
    message = ", ".join(part for part in parts if isinstance(part, str)) or "not YAML"
    return YamlProblem(message, first_line + (mark.line if mark is not None else 0))


_MERGE = object()
"""Stands for the key ``<<`` of the mapping being filled."""


class _Frame:
    """A collection that is being filled."""

    __slots__ = ("anchor", "container", "key", "merges", "size")

    def __init__(self, container: Lined | list[Any], anchor: str | None) -> None:
        self.container = container
        self.anchor = anchor
        self.key: str | object | None = None
        self.merges: list[Any] = []
        self.size = 1


class _Builder:
    def __init__(self, first_line: int) -> None:
        self.first_line = first_line

    def documents(self, text: str) -> Iterator[tuple[Any, int]]:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                yield self._document(events)

    def _document(self, events: Iterator[Any]) -> tuple[Any, int]:
        stack: list[_Frame] = []
        anchors: dict[str, tuple[Any, int]] = {}
        aliased = 0
        begins = 0
        for event in events:
            kind = type(event)
            line = self.first_line + event.start_mark.line
            begins = begins or line
            if kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                if event.tag not in _COLLECTION_TAGS:
                    raise YamlProblem(f"the tag {event.tag} is not supported", line)
                if len(stack) >= MAX_DEPTH:
                    raise YamlProblem(f"nested deeper than {MAX_DEPTH} levels", line)
                if stack and isinstance(stack[-1].container, dict) and stack[-1].key is None:
                    raise YamlProblem("a key must be plain text", line)
                container: Lined | list[Any]
                if kind is yaml.MappingStartEvent:
                    container = Lined()
                    container.line = line
                else:
                    container = []
                stack.append(_Frame(container, event.anchor))
                continue
            size = 1
            merge = False
            value: Any
            if kind is yaml.ScalarEvent:
                merge = event.value == "<<" and (not event.style or event.tag == _MERGE_TAG)
                is_key = bool(stack) and isinstance(stack[-1].container, dict) and stack[-1].key is None
                value = event.value if is_key else self._scalar(event, line)
                if event.anchor:
                    anchors[event.anchor] = (value, 1)
            elif kind is yaml.AliasEvent:
                if event.anchor not in anchors:
                    raise YamlProblem(f"the alias *{event.anchor} stands for nothing before it", line)
                value, size = anchors[event.anchor]
                aliased += size
                if aliased > MAX_ALIASED:
                    raise YamlProblem(f"aliases stand for more than {MAX_ALIASED} values", line)
            elif kind is yaml.DocumentEndEvent:
                return None, begins
            else:
                frame = stack.pop()
                value, size = frame.container, frame.size
                if frame.merges:
                    self._merge(frame, line)
                if frame.anchor:
                    anchors[frame.anchor] = (value, size)
            if not stack:
                return value, begins
            self._place(stack[-1], value, size, merge, line)
        raise YamlProblem("the document has no end", begins or self.first_line)

    @staticmethod
    def _scalar(event: Any, line: int) -> Any:
        if event.tag in _TEXT_TAGS or (event.style and event.tag is None):
            return event.value
        if event.tag in _PLAIN_TAGS:
            return plain_value(event.value)
        raise YamlProblem(f"the tag {event.tag} is not supported", line)

    @staticmethod
    def _place(frame: _Frame, value: Any, size: int, merge: bool, line: int) -> None:
        frame.size += size
        container = frame.container
        if isinstance(container, list):
            container.append(value)
        elif frame.key is None:
            if not isinstance(value, str):
                raise YamlProblem("a key must be plain text", line)
            if merge:
                frame.key = _MERGE
            elif value in container:
                raise YamlProblem(f'the key "{value[:80]}" is given twice', line)
            else:
                frame.key = value
        else:
            if isinstance(frame.key, str):
                container[frame.key] = value
            else:
                frame.merges.append(value)
            frame.key = None

    @staticmethod
    def _merge(frame: _Frame, line: int) -> None:
        """YAML merge keys: own keys win, then the earlier of several merged mappings."""
        container = frame.container
        if not isinstance(container, dict):
            raise YamlProblem("<< merges mappings only", line)
        for merged in frame.merges:
            for source in merged if isinstance(merged, list) else [merged]:
                if not isinstance(source, dict):
                    raise YamlProblem("<< merges mappings only", line)
                for key, value in source.items():
                    container.setdefault(key, value)
