"""What all events have in common, and how an event tells what changed of an object."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, TypeVar

from scheduling.engine.model import Node, Pod, PodGroup


@dataclass(frozen=True, slots=True)
class FieldsOf:
    """Marks a tuple of (field, new value) of an engine object, sorted by field; the log keeps nothing else of
    it.
    """

    kind: type[Node] | type[Pod] | type[PodGroup]


NodeChanges = Annotated[tuple[tuple[str, Any], ...], FieldsOf(Node)]
PodChanges = Annotated[tuple[tuple[str, Any], ...], FieldsOf(Pod)]
PodGroupChanges = Annotated[tuple[tuple[str, Any], ...], FieldsOf(PodGroup)]


_Object = TypeVar("_Object", Node, Pod, PodGroup)


def differences(old: _Object, new: _Object, identity: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """The fields of ``new`` that differ from ``old``; ValueError when the two are not the same object."""
    for name in identity:
        if getattr(old, name) != getattr(new, name):
            raise ValueError(
                f"{type(old).__name__} {name} cannot change from {getattr(old, name)!r} "
                f"to {getattr(new, name)!r}: that is another object"
            )
    pairs = ((field.name, getattr(new, field.name)) for field in fields(new))
    return tuple(sorted((name, value) for name, value in pairs if value != getattr(old, name)))


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""

    VERSION: ClassVar[int] = 1
    SUBJECT: ClassVar[str] = "cluster"
    WAKES: ClassVar[bool] = False
