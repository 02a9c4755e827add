"""Pages by key: the next one starts after the last row seen, so it costs the same however far one has
come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """``next``: what to give as ``after`` for the following page, "" on the last one."""

    items: list[T]
    next: str


def cut(rows: Iterable[T], limit: int, key: Callable[[T], str]) -> Page[T]:
    """The first ``limit`` of ``rows``, of which one more must have been asked for to tell whether there are
    any.
    """
    items = list(islice(rows, limit + 1))
    if len(items) <= limit:
        return Page(items, "")
    items.pop()
    return Page(items, key(items[-1]))
