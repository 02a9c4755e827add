"""The numbers of all nodes as int64 columns, one row (slot) a node, so that a question is asked of every
node at once.

A slot belongs to a node for as long as the node is in the cluster; slots of nodes that left are used again.
Nothing may depend on the order of slots: whoever needs an order takes it from ``topology.TopologyIndex``.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

AMOUNT_LIMIT = 1 << 52
"""Amounts at and above this saturate: allocatable just below it, requests at it, so that sums stay inside
int64 and whatever asks for more than the limit (4 PiB in bytes) fits nowhere.
"""

_FIRST_ROWS = 64


class Columns:
    """Per node: allocatable and used amount of each resource, how many unfinished pods lie on it, when it
    changed.

    ``slot``: node name -> row; ``node``: row -> node name, "" when vacant. ``alloc``/``free``: resource ->
    column; free is allocatable less the requests of bound unfinished pods and is negative on an
    over-committed node. ``pods_on``: number of such pods. ``changed``: value of ``clock`` when something
    other than room last changed about the node (labels, taints, cordon, readiness, name). ``attitude``: which
    of the state's attitudes a node has, that is what it says of every member (taints, cordon, readiness).
    ``version``: how many changes of any kind there were; ``line``: the same object in copies that have not
    changed since they parted, so that equal lines and versions mean equal columns; ``offer``: the same object
    for as long as no node comes, goes, or changes in what it offers or who may use it.
    """

    def __init__(self) -> None:
        self.slot: dict[str, int] = {}
        self.node: list[str] = []
        self.alloc: dict[str, Ints] = {}
        self.free: dict[str, Ints] = {}
        self.pods_on: Ints = np.zeros(_FIRST_ROWS, np.int64)
        self.changed: Ints = np.zeros(_FIRST_ROWS, np.int64)
        self.attitude: Ints = np.zeros(_FIRST_ROWS, np.int64)
        self.clock = 0
        self.line = object()
        self.offer = object()
        self._line_is_shared = False
        self._log = array("q")
        self._dropped = 0
        self._vacant: list[int] = []
        self._cells: dict[str, memoryview[int]] = {}  # of free: a single number is written in half the time

    @classmethod
    def of(
        cls,
        names: list[str],
        slot: dict[str, int],
        alloc: dict[str, Ints],
        free: dict[str, Ints],
        pods_on: Ints,
        attitude: Ints,
    ) -> Columns:
        """A row for each name, in order. What is given becomes part of the columns."""
        made = cls()
        made.node, made.slot = names, slot
        made.alloc, made.free, made.pods_on, made.attitude = alloc, free, pods_on, attitude
        made.changed = np.ones(len(names), np.int64)
        made.clock = 1
        if len(names) < _FIRST_ROWS:
            made._grow(_FIRST_ROWS)
        return made

    @property
    def rows(self) -> int:
        """Length of every column, vacant rows included."""
        return len(self.pods_on)

    @property
    def version(self) -> int:
        return self._dropped + len(self._log)

    @property
    def line_is_shared(self) -> bool:
        """Whether a copy that has not changed since may exist."""
        return self._line_is_shared

    def changed_since(self, version: int) -> Ints | None:
        """Rows changed after a version of this line, ascending; None when they are so many, or so long ago,
        that looking at every row is quicker.
        """
        first = version - self._dropped
        if first < 0 or (len(self._log) - first) * 4 > self.rows:
            return None
        rows = np.sort(np.frombuffer(self._log[first:], np.int64))
        return rows if len(rows) < 2 else rows[np.append(True, rows[1:] != rows[:-1])]

    def add(self, name: str) -> int:
        """Take a row for a node that is not there yet; everything on it is zero."""
        if self._vacant:
            row = self._vacant.pop()
            self.node[row] = name
        else:
            row = len(self.node)
            self.node.append(name)
            if row == self.rows:
                self._grow(2 * self.rows)
        self.slot[name] = row
        self.touch(row)
        return row

    def remove(self, name: str) -> None:
        row = self.slot.pop(name)
        for column in (*self.alloc.values(), *self.free.values(), self.pods_on):
            column[row] = 0
        self.node[row] = ""
        self._vacant.append(row)
        self.offer = object()
        self._note(row)

    def touch(self, row: int) -> None:
        """Note that the node of this row changed in something other than room."""
        self.clock += 1
        self.changed[row] = self.clock
        self.offer = object()
        self._note(row)

    def expect(self, resources: Iterable[str]) -> None:
        """Have columns for these resources, in this order, although nobody may offer or use one of them."""
        for resource in resources:
            self._need(resource)

    def set_allocatable(self, row: int, amounts: Iterable[tuple[str, int]]) -> None:
        """Replace what the node offers; what is used stays."""
        new = {resource: min(amount, AMOUNT_LIMIT - 1) for resource, amount in amounts}
        for resource in new:
            self._need(resource)
        for resource, alloc in self.alloc.items():
            amount = new.get(resource, 0)
            self.free[resource][row] += amount - alloc[row]
            alloc[row] = amount
        self.offer = object()
        self._note(row)

    def charge(self, row: int, requests: Iterable[tuple[str, int]], pods: int) -> None:
        """Take room for one pod (``pods`` 1) or give it back (``pods`` -1); 0 notes that something of a pod
        on the row changed other than what it holds.
        """
        if pods:
            cells = self._cells
            for resource, amount in requests:
                cell = cells.get(resource) or self._cell(resource)
                cell[row] -= pods * (amount if amount < AMOUNT_LIMIT else AMOUNT_LIMIT)
            self.pods_on[row] += pods
        self._note(row)

    def copy(self) -> Columns:
        other = Columns()
        other.slot = self.slot.copy()
        other.node = self.node.copy()
        other.alloc = {resource: column.copy() for resource, column in self.alloc.items()}
        other.free = {resource: column.copy() for resource, column in self.free.items()}
        other.pods_on = self.pods_on.copy()
        other.changed = self.changed.copy()
        other.attitude = self.attitude.copy()
        other.clock = self.clock
        other._vacant = self._vacant.copy()
        other._log = self._log[:]
        other._dropped = self._dropped
        other.line = self.line
        other.offer = self.offer
        other._line_is_shared = self._line_is_shared = True
        return other

    def _note(self, row: int) -> None:
        """Log that something changed on a row. Of the log is kept what ``changed_since`` may look at."""
        if self._line_is_shared:
            self.line, self._line_is_shared = object(), False
        self._log.append(row)
        if len(self._log) > len(self.pods_on):
            half = len(self._log) // 2
            self._dropped += half
            del self._log[:half]

    def _need(self, resource: str) -> None:
        if resource not in self.alloc:
            self.alloc[resource] = np.zeros(self.rows, np.int64)
            self.free[resource] = np.zeros(self.rows, np.int64)

    def _cell(self, resource: str) -> memoryview[int]:
        self._need(resource)
        found = self._cells[resource] = memoryview(self.free[resource])  # type: ignore[arg-type]
        return found

    def _grow(self, rows: int) -> None:
        self._cells = {}
        for table in (self.alloc, self.free):
            for resource, column in table.items():
                table[resource] = _longer(column, rows)
        self.pods_on = _longer(self.pods_on, rows)
        self.changed = _longer(self.changed, rows)
        self.attitude = _longer(self.attitude, rows)


def _longer(column: Ints, rows: int) -> Ints:
    longer = np.zeros(rows, np.int64)
    longer[: len(column)] = column
    return longer
