"""Text that the database can hold: all of Unicode but NUL and halves of surrogate pairs, which are no text.

Addresses and JSON can carry both (``%00``, ``"\\ud800"``); a query with one fails, whatever it asks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any


def is_storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def shown(text: str) -> str:
    """Any text as one that can be stored and sent: what cannot is written as an escape."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def unstorable(value: Any) -> list[str]:
    """Where in parsed JSON text stands that cannot be stored: paths such as ``templates.0.role``, outermost
    first.
    """
    found = []
    waiting: deque[tuple[str, Any]] = deque([("", value)])
    while waiting:
        path, part = waiting.popleft()
        inner: Iterable[tuple[object, Any]] = enumerate(part) if isinstance(part, list) else ()
        if isinstance(part, dict):
            inner = part.items()
            found += [_below(path, key) for key in part if not is_storable(key)]
        elif isinstance(part, str) and not is_storable(part):
            found.append(path)
        waiting += [(_below(path, key), each) for key, each in inner]
    return found


def _below(path: str, key: object) -> str:
    return f"{path}.{shown(str(key))}" if path else shown(str(key))
