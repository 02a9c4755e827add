"""A dict over packed objects, which are made when they are first asked for.

A state read from a snapshot of a large cluster is ready long before all of its objects could be made, and
most are never asked for. What is set lies in a dict of its own, so that a copy costs what was changed and not
what there is. It iterates in the order in which a dict would: a value that is replaced keeps its place, a key
that comes back goes to the end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, MutableMapping
from typing import Any, Generic, TypeVar, overload

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Other = TypeVar("Other")


class Made(dict[Key, Value]):
    """The objects made so far, and where the others lie packed. Shared by rolls, and between threads: nothing
    of it changes but by making, and what is made twice at once is equal.
    """

    def every(self) -> Iterable[Key]:
        """All keys, in order, those included whose objects are not made."""
        raise NotImplementedError

    def count(self) -> int:
        """How many keys there are."""
        raise NotImplementedError

    def find(self, key: Key) -> int | None:
        """The row that the key is packed in, None for another key."""
        raise NotImplementedError

    def make(self, key: Key, row: int) -> Value:
        raise NotImplementedError

    def has(self, key: Key) -> bool:
        return key in self or self.find(key) is not None

    def __missing__(self, key: Key) -> Value:
        row = self.find(key)
        if row is None:
            raise KeyError(key)
        found = self[key] = self.make(key, row)
        return found


class Roll(MutableMapping[Key, Value]):
    """Values are never None. Not to be changed while it is iterated over."""

    __slots__ = ("_gone", "_later", "_own", "base")

    def __init__(self, base: Made[Key, Value]) -> None:
        self.base = base
        self._own: dict[Key, Value] = {}
        self._gone: set[Key] = set()
        self._later = 0  # of _own, those that are not in place of a packed one

    def __getitem__(self, key: Key) -> Value:
        found = self._own.get(key)
        if found is not None:
            return found
        if key in self._gone:
            raise KeyError(key)
        return self.base[key]

    @overload
    def get(self, key: Key, default: None = None, /) -> Value | None: ...
    @overload
    def get(self, key: Key, default: Value | Other, /) -> Value | Other: ...
    def get(self, key: Key, default: Any = None, /) -> Any:
        found = self._own.get(key)
        if found is not None:
            return found
        return self.base[key] if self._packed(key) else default

    def __contains__(self, key: Any) -> bool:
        return key in self._own or self._packed(key)

    def __setitem__(self, key: Key, value: Value) -> None:
        if key not in self._own and not self._packed(key):
            self._later += 1
        self._own[key] = value

    def __delitem__(self, key: Key) -> None:
        packed = self._packed(key)
        if key in self._own:
            del self._own[key]
            self._later -= not packed
        elif not packed:
            raise KeyError(key)
        if packed:
            self._gone.add(key)

    def __iter__(self) -> Iterator[Key]:
        for key in self.base.every():
            if key not in self._gone:
                yield key
        for key in self._own:
            if not self._packed(key):
                yield key

    def __len__(self) -> int:
        return self.base.count() - len(self._gone) + self._later

    def _packed(self, key: Key) -> bool:
        """Whether a packed object is there, or one in its place."""
        return key not in self._gone and self.base.has(key)

    def __repr__(self) -> str:
        return f"Roll({dict(self)!r})"

    def copy(self) -> Roll[Key, Value]:
        other = Roll(self.base)
        other._own, other._gone, other._later = self._own.copy(), self._gone.copy(), self._later
        return other

    @property
    def worn(self) -> bool:
        """Whether so much was changed that a dict is better."""
        return 2 * (len(self._own) + len(self._gone)) > self.base.count()

    def changed(self) -> set[Key]:
        """The keys that are not as they were packed, those that left included."""
        return self._gone.union(self._own)


Objects = dict[Key, Value] | Roll[Key, Value]


def settled(objects: Objects[Key, Value]) -> Objects[Key, Value]:
    """The same as a dict, once that is better."""
    return dict(objects.items()) if isinstance(objects, Roll) and objects.worn else objects


class Shared(Generic[Key, Value]):
    """A table that copies have in common until one of them changes it."""

    __slots__ = ("_common", "table")

    def __init__(self, table: Objects[Key, Value] | None = None) -> None:
        """``table``: to be read, never written but through ``own``."""
        self.table: Objects[Key, Value] = {} if table is None else table
        self._common = False

    def own(self) -> Objects[Key, Value]:
        """The table, to be changed."""
        if self._common:
            self.table, self._common = self.table.copy(), False
        return self.table

    def copy(self) -> Shared[Key, Value]:
        self.table, self._common = settled(self.table), True
        other = Shared(self.table)
        other._common = True
        return other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shared) and self.table == other.table

    __hash__ = None  # type: ignore[assignment]
