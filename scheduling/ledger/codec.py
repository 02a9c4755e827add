"""Events to JSON bodies and back, and the canonical bytes that are stored and hashed.

A body is an object of strings, integers, booleans, null, lists and objects; never a float. Dataclasses become
objects without the fields that have their default value, so a default is part of the schema: changing one
needs a new version. Reading is strict: a field that the type does not have is refused, not dropped.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import orjson

from scheduling.engine.frozen import opened
from scheduling.engine.model import Shape
from scheduling.ledger.events import CATALOGUE, DomainTable, Event, FieldsOf, PodGroupUnschedulable
from scheduling.ledger.upcasters import UPCASTERS, Steps

Json = dict[str, Any]
_Encode = Callable[[Any], Any]
_Decode = Callable[[Any], Any]
_Part = TypeVar("_Part")


class BadEvent(ValueError):
    """An event that cannot be written, or a body that does not have the form of its type and version.

    ``seq``: of the event in the log, None when it is not in one.
    """

    seq: int | None = None

    def at(self, seq: int) -> Self:
        """The same of the event ``seq``."""
        located = type(self)(f"event {seq}: {self}")
        located.seq = seq
        return located


class UnknownEvent(BadEvent):
    """The log holds a type, or a version of it, that this program does not know."""


def to_body(event: Event) -> Json:
    """The body of an event. BadEvent names the field whose value has another type than declared."""
    return _converted(event, text=False)


def from_body(type_name: str, version: int, body: Json, upcasters: dict[str, Steps] = UPCASTERS) -> Event:
    """The event of a stored body, brought up to the newest version first.

    UnknownEvent for a type or version that is newer than this program; BadEvent names what is wrong in the
    body.
    """
    kind = CATALOGUE.get(type_name)
    if kind is None:
        raise UnknownEvent(
            f"the log holds an event of type {type_name!r}, which this version of the console does not know"
        )
    if version > kind.VERSION:
        raise UnknownEvent(
            f"the log holds {type_name} in version {version}; "
            f"this version of the console knows it up to {kind.VERSION}"
        )
    if version < kind.VERSION:
        steps = upcasters.get(type_name, {})
        for step in range(version, kind.VERSION):
            if step not in steps:
                raise UnknownEvent(f"no upcaster leads {type_name} from version {step} to {step + 1}")
            body = steps[step](body)
    try:
        return cast(Event, _codec(kind)[1](body))
    except _Mismatch as error:
        raise BadEvent(f"{type_name} version {version}{error}") from None


def encode(event: Event) -> str:
    """The canonical text of an event's body."""
    return encoded(event).decode()


def encoded(event: Event) -> bytes:
    """The same text in UTF-8, as it is hashed."""
    return _dump(_converted(event, text=True))


def decode(type_name: str, version: int, text: str) -> Event:
    """The event of a stored text; see ``from_body``."""
    kind = CATALOGUE.get(type_name)
    if kind is None or version != kind.VERSION:
        return from_body(type_name, version, orjson.loads(text))
    try:
        event: Event = _codec(kind)[1](orjson.loads(text))
    except _Mismatch as error:
        raise BadEvent(f"{type_name} version {version}{error}") from None
    return event


_TABLE, _AFTER_TABLE = ',"table":{', '},"topology_key":'
"""What is around the table in the canonical text of a PodGroupUnschedulable; quotes inside of its names are
escaped.
"""
_NO_TABLE = DomainTable(*[()] * len(fields(DomainTable)))


def decode_brief(type_name: str, version: int, text: str) -> Event:
    """As ``decode``, without what is long and no sentence tells: of a PodGroupUnschedulable the counts of all
    domains but the name of the best one, of which a cluster with a thousand racks has a thousand.
    """
    start = text.find(_TABLE) if type_name == PodGroupUnschedulable.__name__ else -1
    end = text.find(_AFTER_TABLE, start) if start >= 0 else -1
    if end < 0:
        return decode(type_name, version, text)
    table = orjson.dumps(encode_part(_NO_TABLE), option=orjson.OPT_SORT_KEYS).decode()
    short = decode(type_name, version, f'{text[:start]},"table":{table}{text[end + 1 :]}')
    assert isinstance(short, PodGroupUnschedulable)
    if '"domains":[]' in text[start:end]:
        return short
    return replace(short, table=replace(_NO_TABLE, domains=(short.domain,)))


def canonical(value: Json | list[Any]) -> bytes:
    """The one way to write a JSON value: keys sorted, no white space, UTF-8. BadEvent for floats."""
    _refuse_floats(value, "")
    return _dump(value)


def flat(values: list[str | int | None]) -> bytes:
    """``canonical`` of a list that is known to hold nothing else."""
    return orjson.dumps(values)


def encode_part(value: Any) -> Json:
    """The JSON of an engine object as it lies inside of bodies."""
    return cast(Json, _codec(type(value))[0](value))


def converters(annotation: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """To JSON and back, for a part of an event of that type."""
    return _codec(annotation)


def decode_part(kind: type[_Part], value: Any) -> _Part:
    """The object of such JSON. BadEvent names what is wrong in it."""
    try:
        return cast(_Part, _codec(kind)[1](value))
    except _Mismatch as error:
        raise BadEvent(f"{kind.__name__}{error}") from None


def subject(event: Event) -> tuple[str, str, str]:
    """(kind, namespace, name) of the object that an event is about, for filters; "" where there is none."""
    holds, namespace, name = _about(type(event).__name__)
    about: Any = event if holds is None else getattr(event, holds)
    return event.SUBJECT, about.namespace if namespace else "", about.name if name else ""


@cache
def _about(type_name: str) -> tuple[str | None, bool, bool]:
    """The field that holds the object of such an event, None when its own fields name it; whether there are a
    namespace and a name.
    """
    kind = CATALOGUE[type_name]
    hints = get_type_hints(kind)
    holds = next(
        (field for field in ("node", "pod", "group", "workload") if is_dataclass(hints.get(field))), None
    )
    named = {field.name for field in fields(kind if holds is None else hints[holds])}
    return holds, "namespace" in named, "name" in named


def _converted(event: Event, *, text: bool) -> Json:
    name = type(event).__name__
    if CATALOGUE.get(name) is not type(event):
        raise UnknownEvent(f"{name} is not in the catalogue of events, so it cannot be stored")
    try:
        return cast(Json, _codec(type(event), text)[0](event))
    except _Mismatch as error:
        raise BadEvent(f"{name}{error}") from None


def _dump(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:  # an integer beyond 64 bits, a lone surrogate
        raise BadEvent(f"cannot be stored: {error}") from error


_FLAT = frozenset((int, str, bool, type(None)))


def _refuse_floats(value: Any, path: str) -> None:
    if isinstance(value, float):
        raise BadEvent(f"{path or 'the value'} is a float ({value!r}): the log holds integers only")
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_floats(item, f"{path}.{key}")
    elif isinstance(value, list | tuple) and not _FLAT.issuperset(map(type, value)):
        for index, item in enumerate(value):
            _refuse_floats(item, f"{path}[{index}]")


# --- encoders and decoders, made once for each type from its annotations
#
# Every event goes through them, a million times in a rebuild: most fields are plain, and those are looked at
# together or without a call. With ``text`` an encoder makes what orjson writes as the same text, but no JSON:
# shared objects are written already, and tuples may stay.

_PLAIN = (int, str, bool)

_SHARED = (Shape,)
"""Objects that many others hold in common: a gang's members are alike."""
_MOST_SHARED = 4_096
"""So many of each are remembered."""


class _Mismatch(Exception):
    """Where a value is not what its annotation says; the path grows on the way out."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def under(self, step: str) -> _Mismatch:
        return _Mismatch(step + self.path, self.problem)

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


_made: tuple[dict[Any, tuple[_Encode, _Decode]], ...] = ({}, {})
"""As JSON, and as text."""


def _codec(annotation: Any, text: bool = False) -> tuple[_Encode, _Decode]:
    found = _made[text].get(annotation)
    if found is None:
        found = _made[text][annotation] = _make(annotation, text)
    return found


def _make(annotation: Any, text: bool) -> tuple[_Encode, _Decode]:
    origin = get_origin(annotation)
    if annotation in _PLAIN:
        same = _exactly(annotation)
        return same, same
    if origin is Annotated:
        marker = annotation.__metadata__[0]
        if isinstance(marker, FieldsOf):
            return _changes(marker.kind, text)
    if origin in (Union, types.UnionType):
        return _optional(annotation, text)
    if origin is tuple:
        arguments = get_args(annotation)
        return _sequence(arguments[0], text) if arguments[1:] == (...,) else _fixed(arguments, text)
    if is_dataclass(annotation):
        return _object(cast(type, annotation), text)
    raise TypeError(f"events cannot hold {annotation}")


def _exactly(kind: type) -> _Encode:
    def same(value: Any) -> Any:
        if type(value) is not kind:
            raise _Mismatch("", f"{value!r} is no {kind.__name__}")
        return value

    return same


def _optional(annotation: Any, text: bool) -> tuple[_Encode, _Decode]:
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    if len(kinds) != 1:
        raise TypeError(f"events cannot hold {annotation}")
    encode_one, decode_one = _codec(kinds[0], text)
    return (
        lambda value: None if value is None else encode_one(value),
        lambda value: None if value is None else decode_one(value),
    )


def _sequence(item: Any, text: bool) -> tuple[_Encode, _Decode]:
    encode_one, decode_one = _codec(item, text)
    plain = _plain_parts(item)

    def encode_all(value: Any) -> Any:
        if type(value) is not tuple:
            raise _Mismatch("", f"{value!r} is no tuple")
        if plain is not None and _all_plain(value, tuple, plain):
            return value if text else list(map(list, value))
        return _each(encode_one, value)

    def decode_pairs(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            return decode_all(value)
        if not value:
            return ()
        pairs = []
        for part in value:
            if type(part) is not list or len(part) != 2:
                return decode_all(value)
            one, other = part
            if type(one) is not first or type(other) is not second:
                return decode_all(value)
            pairs.append((one, other))
        return tuple(pairs)

    def decode_all(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise _Mismatch("", f"{value!r} is no list")
        if plain is not None and _all_plain(value, list, plain):
            return tuple(map(tuple, value))
        return tuple(_each(decode_one, value))

    def encode_plain(value: Any) -> list[Any]:
        return (
            list(value) if type(value) is tuple and {item}.issuperset(map(type, value)) else encode_all(value)
        )

    def decode_plain(value: Any) -> tuple[Any, ...]:
        return (
            tuple(value) if type(value) is list and {item}.issuperset(map(type, value)) else decode_all(value)
        )

    if item in _PLAIN:
        return encode_plain, decode_plain
    if plain is not None and len(plain) == 2:
        first, second = plain
        return encode_all, decode_pairs
    return encode_all, decode_all


def _all_plain(value: Any, kind: type[Any], plain: tuple[Any, ...]) -> bool:
    """Whether all parts are of that kind, and hold values of just these types."""
    if len(plain) == 2:
        first, second = plain
        for part in value:
            if type(part) is not kind or len(part) != 2:
                return False
            one, other = part
            if type(one) is not first or type(other) is not second:
                return False
        return True
    return all(type(part) is kind and tuple(map(type, part)) == plain for part in value)


def _plain_parts(annotation: Any) -> tuple[Any, ...] | None:
    """The types in a tuple of a fixed number of plain values; None for anything else."""
    parts = get_args(annotation)
    return parts if get_origin(annotation) is tuple and all(part in _PLAIN for part in parts) else None


def _each(convert: _Encode, values: Any) -> list[Any]:
    try:
        return [convert(value) for value in values]
    except _Mismatch:
        pass
    for index, value in enumerate(values):  # again, to say where
        try:
            convert(value)
        except _Mismatch as error:
            raise error.under(f"[{index}]") from None
    raise AssertionError("a conversion failed once and not again")


def _fixed(items: tuple[Any, ...], text: bool) -> tuple[_Encode, _Decode]:
    codecs = [_codec(item, text) for item in items]

    def convert(value: Any, kind: type[Any], side: int) -> list[Any]:
        if type(value) is not kind or len(value) != len(codecs):
            raise _Mismatch("", f"{value!r} is no {kind.__name__} of {len(codecs)}")
        return [codec[side](part) for codec, part in zip(codecs, list(value), strict=True)]

    return lambda value: convert(value, tuple, 0), lambda value: tuple(convert(value, list, 1))


@cache
def _fields(kind: type, text: bool) -> dict[str, tuple[_Encode, _Decode, Any]]:
    """Field -> encoder, decoder and default (MISSING without one)."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: (*_codec(hints[field.name], text), field.default) for field in fields(kind)}


def _object(kind: type, text: bool) -> tuple[_Encode, _Decode]:
    parts = _fields(kind, text)
    required = {name for name, (_, _, default) in parts.items() if default is MISSING}
    plain = _plain_fields(kind)

    def encode_object(value: Any) -> Json:
        if type(value) is not kind:
            raise _Mismatch("", f"{value!r} is no {kind.__name__}")
        body = {}
        for name, (encode_one, _, default) in parts.items():
            item = getattr(value, name)
            if default is not MISSING and type(item) is type(default) and item == default:
                continue
            try:
                body[name] = encode_one(item)
            except _Mismatch as error:
                raise error.under(f".{name}") from None
        return body

    def decode_object(value: Any) -> Any:
        if type(value) is not dict:
            raise _Mismatch("", f"{value!r} is no object")
        if not required <= value.keys():
            raise _Mismatch(f".{min(required - value.keys())}", "missing")
        return kind(**_members(parts, plain, value))

    encode = _straight_encoder(kind, parts, plain, encode_object)
    decode = _straight_decoder(kind, parts, plain, decode_object)
    if kind not in _SHARED:
        return encode, decode
    if text:
        return _remembering(lambda value: orjson.Fragment(_dump(encode(value))), decode)
    return _remembering(encode, decode)


def _straight_encoder(
    kind: type, parts: dict[str, tuple[_Encode, _Decode, Any]], plain: dict[str, type], careful: _Encode
) -> _Encode:
    """As ``careful``, which it leaves to say what is wrong, but written out field by field, as dataclasses
    write their own methods.
    """
    scope: dict[str, Any] = {"kind": kind, "careful": careful, "Mismatch": _Mismatch}
    checks, always, sometimes = ["type(value) is kind"], [], []
    for place, (name, (encode_one, _, default)) in enumerate(parts.items()):
        scope |= {f"e{place}": encode_one, f"d{place}": default, f"t{place}": type(default)}
        written = f"v{place}" if name in plain else f"e{place}(v{place})"
        if name in plain:
            checks.append(f"type(v{place} := value.{name}) is {plain[name].__name__}")
        else:
            checks.append(f"((v{place} := value.{name}),)")
        if default is MISSING:
            always.append(f"{name!r}: {written}")
        else:
            other = "" if name in plain else f"type(v{place}) is not t{place} or "
            sometimes.append(f"if {other}v{place} != d{place}: body[{name!r}] = {written}")
    lines = [
        "def encode(value):",
        "  try:",
        f"    if {' and '.join(checks)}:",
        f"      body = {{{', '.join(always)}}}",
        *(f"      {line}" for line in sometimes),
        "      return body",
        "  except Mismatch: pass",
        "  return careful(value)",
    ]
    exec("\n".join(lines), scope)
    return cast(_Encode, scope["encode"])


def _straight_decoder(
    kind: type, parts: dict[str, tuple[_Encode, _Decode, Any]], plain: dict[str, type], careful: _Decode
) -> _Decode:
    """As ``careful``, which it leaves to say what is wrong, but written out field by field."""
    scope: dict[str, Any] = {"kind": kind, "careful": careful, "Mismatch": _Mismatch, "missing": MISSING}
    scope["opened"] = opened(kind)
    steps, checks, sets = [], [], []
    for place, (name, (_, decode_one, default)) in enumerate(parts.items()):
        scope |= {f"c{place}": decode_one, f"d{place}": default}
        required = default is MISSING
        get = f"value[{name!r}]" if required else f"get({name!r}, missing)"
        steps.append(f"v{place} = {get}")
        converted = "" if name in plain else f"v{place} = c{place}(v{place})"
        if required:
            found = [converted] if converted else []
        else:
            found = [f"if v{place} is missing: v{place} = d{place}; left += 1"]
            found += [
                f"else: {converted}"
                if converted
                else f"elif type(v{place}) is not {plain[name].__name__}: return careful(value)"
            ]
        steps += found
        if name in plain and required:
            checks.append(f"type(v{place}) is {plain[name].__name__}")
        sets.append(f"made.{name} = v{place}")
    checks.append(f"len(value) + left == {len(parts)}")
    lines = [
        "def decode(value):",
        "  if type(value) is not dict: return careful(value)",
        "  get, left = value.get, 0",
        "  try:",
        *(f"    {line}" for line in steps),
        f"    if {' and '.join(checks)}:",
        "      made = opened()",
        *(f"      {line}" for line in sets),
        "      made.__class__ = kind",
        "      return made",
        "  except (Mismatch, KeyError): pass",
        "  return careful(value)",
    ]
    exec("\n".join(lines), scope)
    return cast(_Decode, scope["decode"])


def _plain_fields(kind: type) -> dict[str, type]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind) if hints[field.name] in _PLAIN}


def _remembering(encode_one: _Encode, decode_one: _Decode) -> tuple[_Encode, _Decode]:
    """The same for objects that are met again and again: one body for one object, one object for equal
    bodies.
    """
    bodies: dict[int, tuple[Any, Any]] = {}
    objects: dict[bytes, Any] = {}

    def encode_again(value: Any) -> Any:
        # By identity, since comparing costs as much as encoding; what is held here keeps its own.
        known = bodies.get(id(value))
        if known is not None:
            return known[1]
        body = encode_one(value)
        if len(bodies) >= _MOST_SHARED:
            bodies.clear()
        bodies[id(value)] = value, body
        return body

    def decode_again(value: Any) -> Any:
        text = orjson.dumps(value)
        found = objects.get(text)
        if found is None:
            found = decode_one(value)
            if len(objects) >= _MOST_SHARED:
                objects.clear()
            objects[text] = found
        return found

    return encode_again, decode_again


def _changes(kind: type, text: bool) -> tuple[_Encode, _Decode]:
    parts, plain = _fields(kind, text), _plain_fields(kind)

    def encode_changes(value: Any) -> Json:
        if type(value) is not tuple:
            raise _Mismatch("", f"{value!r} is no tuple")
        body: Json = {}
        for name, item in value:
            if name not in parts or name in body:
                raise _Mismatch(f".{name}", f"no field of {kind.__name__}, or given twice")
            try:
                body[name] = parts[name][0](item)
            except _Mismatch as error:
                raise error.under(f".{name}") from None
        return body

    def decode_changes(value: Any) -> tuple[tuple[str, Any], ...]:
        if type(value) is not dict:
            raise _Mismatch("", f"{value!r} is no object")
        return tuple(sorted(_members(parts, plain, value).items()))

    return encode_changes, decode_changes


def _members(
    parts: dict[str, tuple[_Encode, _Decode, Any]], plain: dict[str, type], value: Json
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, item in value.items():
        if type(item) is plain.get(name):
            found[name] = item
            continue
        if name not in parts:
            raise _Mismatch(f".{name}", "unknown field")
        try:
            found[name] = parts[name][1](item)
        except _Mismatch as error:
            raise error.under(f".{name}") from None
    return found
