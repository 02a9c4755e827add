"""Kubernetes objects out of JSON or YAML text, each with its place in the input.

JSON (also several documents one after the other), YAML with several documents, gzip of either. Lists are
opened: ``List``, ``NodeList`` and so on, lists in lists. A document that cannot be read is one problem; the
others are read.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from scheduling.kube.fields import shown
from scheduling.kube.yaml_loader import Lined, YamlProblem, load

MAX_UNPACKED = 256 * 1024 * 1024
_MAX_LIST_DEPTH = 8
_LONGEST_FLOW = 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_SEPARATOR = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_JSON_START = re.compile(r"\s*[{\[]")
_SPACE = re.compile(r"\s*")
_ONLY_DIRECTIVES = re.compile(r"(\s*(%|#)[^\n]*(\n|\Z))*\s*")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an object stands: document number from 1, line from 1 where known, ``items[3]`` inside a list."""

    document: int
    line: int | None = None
    item: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    body: dict[str, Any]
    place: Place


@dataclass(frozen=True, slots=True)
class Unreadable:
    place: Place
    message: str


@dataclass(slots=True)
class Documents:
    """``cut``: lists that say themselves that more follows (``metadata.continue``)."""

    objects: list[Found] = field(default_factory=list)
    problems: list[Unreadable] = field(default_factory=list)
    cut: list[Found] = field(default_factory=list)


class _Unreadable(ValueError):
    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def read_documents(data: bytes | str) -> Documents:
    """Every object in ``data``; never raises for content."""
    documents = Documents()
    try:
        text = data if isinstance(data, str) else _decode(_unpack(data))
        _check_text(text)
    except _Unreadable as problem:
        documents.problems.append(Unreadable(Place(1, problem.line), problem.message))
        return documents
    number = 0
    for chunk, first_line in _chunks(text.removeprefix("\ufeff")):
        try:
            for value, line in _values(chunk, first_line):
                number += 1
                _open(value, Place(number, line), documents, depth=0)
        except _Unreadable as problem:
            number += 1
            documents.problems.append(Unreadable(Place(number, problem.line), problem.message))
    return documents


def _unpack(data: bytes) -> bytes:
    if not data.startswith(_GZIP_MAGIC):
        return data
    parts: list[bytes] = []
    room = MAX_UNPACKED
    while data.startswith(_GZIP_MAGIC):
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(data, room)
        except zlib.error as error:
            raise _Unreadable("the gzip data is damaged", None) from error
        room -= len(part)
        parts.append(part)
        if not member.eof:
            raise _Unreadable(
                f"unpacks to more than {MAX_UNPACKED} bytes" if room <= 0 else "the gzip data ends too early",
                None,
            )
        data = member.unused_data
    return b"".join(parts)


def _decode(data: bytes) -> str:
    encoding = "utf-8"
    for bom, name in _BOMS:
        if data.startswith(bom):
            data, encoding = data[len(bom) :], name
            break
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _Unreadable(f"byte {error.start} is not {encoding.upper()} text", line) from error


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Unreadable(
            "half of a surrogate pair is no text", text.count("\n", 0, error.start) + 1
        ) from error


def _chunks(text: str) -> Iterator[tuple[str, int]]:
    """The text between ``---`` lines with the number of its first line; empty ones are skipped.

    Split before parsing, so that a fault in one document does not hide the next. Directives stay with what
    follows.
    """
    begin, line = 0, 1
    counted = 0
    ends = [match.start() for match in _SEPARATOR.finditer(text)]
    for end in [*ends, len(text)]:
        chunk = text[begin:end]
        if end < len(text) and _ONLY_DIRECTIVES.fullmatch(chunk):
            continue
        line += text.count("\n", counted, begin)
        counted = begin
        if chunk.strip():
            yield chunk, line
        begin = end


def _values(chunk: str, first_line: int) -> Iterator[tuple[Any, int | None]]:
    body = chunk.removeprefix("---")
    if _JSON_START.match(body):
        yield from _json_values(body, first_line)
        return
    try:
        for value, line in load(chunk, first_line):
            if value is not None:
                yield value, line
    except YamlProblem as problem:
        raise _Unreadable(f"is not readable as YAML: {problem.message}", problem.line) from problem


def _json_values(text: str, first_line: int) -> Iterator[tuple[Any, int]]:
    """JSON documents one after the other; a text that begins like JSON but is YAML's flow style is read as
    such.
    """
    position = _skip_space(text, 0)
    began = 0
    while position < len(text):
        line = first_line + text.count("\n", 0, position)
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            syntax = isinstance(error, json.JSONDecodeError) and not began and len(text) <= _LONGEST_FLOW
            flow = _flow_style(text, first_line) if syntax else None
            if flow is None:
                raise _json_problem(error, line, first_line) from error
            yield from flow
            return
        began += 1
        yield value, line
        position = _skip_space(text, end)


def _flow_style(text: str, first_line: int) -> list[tuple[Any, int]] | None:
    try:
        return list(load(text, first_line))
    except YamlProblem:
        return None


def _json_problem(error: Exception, line: int, first_line: int) -> _Unreadable:
    if isinstance(error, json.JSONDecodeError):
        return _Unreadable(f"is not readable as JSON: {error.msg}", first_line + error.lineno - 1)
    if isinstance(error, RecursionError):
        return _Unreadable("is not readable as JSON: nested too deeply", line)
    return _Unreadable(f"is not readable as JSON: {error}", line)


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {shown(twice)} is given twice")
    return members


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_constant=_no_constant)


def _open(value: Any, place: Place, documents: Documents, depth: int) -> None:
    """Add an object, or the objects of a list, which take kind and apiVersion from it where they
    have none.
    """
    if not isinstance(value, dict):
        message = f"must be one object, not {shown(value)}"
        documents.problems.append(Unreadable(place, message))
        return
    kind = value.get("kind")
    if not (isinstance(kind, str) and kind.endswith("List") and "items" in value):
        documents.objects.append(Found(value, place))
        return
    items = value["items"]
    if items is None:
        items = []
    if not isinstance(items, list) or depth >= _MAX_LIST_DEPTH:
        message = (
            "items must be a list" if depth < _MAX_LIST_DEPTH else "lists in lists are nested too deeply"
        )
        documents.problems.append(Unreadable(place, message))
        return
    metadata = value.get("metadata")
    if isinstance(metadata, dict) and metadata.get("continue"):
        documents.cut.append(Found(value, place))
    item_kind = kind.removesuffix("List")
    prefix = f"{place.item}." if place.item else ""
    for number, item in enumerate(items):
        if isinstance(item, dict) and item_kind:
            item.setdefault("kind", item_kind)
            item.setdefault("apiVersion", value.get("apiVersion"))
        line = item.line if isinstance(item, Lined) else place.line
        _open(item, Place(place.document, line, f"{prefix}items[{number}]"), documents, depth + 1)
