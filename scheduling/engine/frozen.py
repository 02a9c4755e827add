"""Objects of frozen dataclasses, made as quickly as those of others.

A frozen dataclass sets every field through a call, which costs five times the setting. Who makes a million
of them makes an object of a class that differs in nothing but being open to writing, and then closes it:
Python lets an object take another class of the same slots.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any


@cache
def opened(kind: type[Any]) -> type[Any]:
    """A class whose objects have the slots of ``kind``, empty and open to writing; ``made.__class__ = kind``
    turns one into a ``kind``, once all of its fields are set. TypeError for a class whose objects are more
    than their fields in slots.
    """
    if hasattr(kind, "__post_init__"):
        raise TypeError(f"{kind.__name__} does more than to take its fields")
    body = {
        "__slots__": tuple(field.name for field in fields(kind)),
        "__setattr__": object.__setattr__,
        "__delattr__": object.__delattr__,
    }
    made = type(f"Open{kind.__name__}", kind.__bases__, body)
    made().__class__ = kind  # TypeError unless the slots are the same
    return made
