"""Sets of names under a key, in order of arrival, with a cheap copy.

A copy shares the inner sets with its origin; whichever side writes to a key first takes its own copy of
that one set.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from scheduling.engine.roll import Objects, settled

Key = TypeVar("Key", bound=Hashable)


class Buckets(Generic[Key]):
    """key -> ordered set of names. An empty set is no key."""

    __slots__ = ("_owned", "_sets")

    def __init__(self, sets: Objects[Key, dict[str, None]] | None = None) -> None:
        """``sets``: to begin with. The inner ones may be shared, and are never written."""
        self._sets: Objects[Key, dict[str, None]] = {} if sets is None else sets
        self._owned: set[Key] = set()

    def add(self, key: Key, name: str) -> None:
        if key in self._owned:
            self._sets[key][name] = None
        else:
            self._own(key)[name] = None

    def discard(self, key: Key, name: str) -> None:
        """Take a name out; nothing happens when it is not there."""
        if name not in self._sets.get(key, ()):
            return
        names = self._own(key)
        del names[name]
        if not names:
            del self._sets[key]
            self._owned.discard(key)

    def get(self, key: Key) -> Iterable[str]:
        return self._sets.get(key, {}).keys()

    def copy(self) -> Buckets[Key]:
        self._sets = settled(self._sets)
        self._owned = set()
        return Buckets(self._sets.copy())

    def _own(self, key: Key) -> dict[str, None]:
        if key not in self._owned:
            self._sets[key] = dict(self._sets.get(key, {}))
            self._owned.add(key)
        return self._sets[key]

    def __contains__(self, key: object) -> bool:
        return key in self._sets

    def __iter__(self) -> Iterator[Key]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)
