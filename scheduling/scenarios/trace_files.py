"""Our own format of traces: NDJSON, one object a line, the first of which says ``{"kind": "trace", "version":
1}``. docs/concepts.md describes it. Whatever is wrong refuses the whole file, naming line and field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from scheduling.engine.model import Node
from scheduling.kube.names import dns_subdomain_problem, label_key_problem, label_value_problem
from scheduling.kube.quantity import QuantityError, checked_amount, to_allocatable, to_request
from scheduling.scenarios.steps import Part
from scheduling.scenarios.traces import Amounts, Ending, Submission, Trace, TraceQueue
from scheduling.services.problems import DUPLICATE, INVALID, NOT_FOUND, REQUIRED, Problem, Refused

VERSION = 1
LARGEST = 16 << 20
"""Bytes of a file."""

MOST_NODES = 20_000
MOST_WORKLOADS = 100_000
MOST_MEMBERS = 500_000
"""Members of all workloads together."""

LATEST = 1 << 42
"""Milliseconds: 139 years."""

MOST_TOLD = 20
"""Problems of one file that are told."""

PODS = 110
"""Pods that a node takes which does not say how many: the kubelet's default."""

KIND = "Trace"

_Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_Text = Annotated[str, StringConstraints(max_length=316)]
_Time = Annotated[int, Field(ge=0, le=LATEST)]


class _Head(Part):
    kind: Literal["trace"]
    version: Literal[1]


class _Node(Part):
    kind: Literal["node"]
    name: _Name
    labels: dict[str, str] = {}
    allocatable: dict[str, str] = Field(min_length=1)


class _Queue(Part):
    kind: Literal["queue"]
    name: _Name
    cohort: _Text = ""
    quota: dict[str, str] = Field(min_length=1)
    borrow: dict[str, str] = {}


class _Submit(Part):
    kind: Literal["submit"]
    at_ms: _Time
    name: _Name
    members: int = Field(1, ge=1, le=10_000)
    requests: dict[str, str] = Field(min_length=1)
    min_count: int | None = Field(None, ge=1)
    topology_key: _Text = ""
    priority: int = Field(0, ge=-(2**31), le=2**31 - 1)
    run_ms: int | None = Field(None, ge=1, le=LATEST)
    klass: _Text = Field("", alias="class")
    queue: _Text = ""
    node_labels: dict[str, list[str]] = {}


class _End(Part):
    kind: Literal["end"]
    at_ms: _Time
    name: _Name


_Row = Annotated[_Node | _Queue | _Submit | _End, Field(discriminator="kind")]
_ROWS: TypeAdapter[Any] = TypeAdapter(_Row)
_HEAD = TypeAdapter(_Head)
_T = TypeVar("_T")


def read(data: bytes) -> Trace:
    """Raises Refused: nothing of a file is taken in which something is wrong."""
    refuse_larger(data)
    return _Reader().trace(data)


def refuse_larger(data: bytes, path: str = "file") -> None:
    if len(data) > LARGEST:
        raise Refused(
            [Problem(KIND, "", "", path, INVALID, f"is larger than {LARGEST >> 20} MiB: {len(data)} bytes")]
        )


def write(trace: Trace) -> bytes:
    """The trace as NDJSON: what ``read`` makes the same trace of."""
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in _rows(trace)]
    return ("\n".join(lines) + "\n").encode()


class _Reader:
    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.nodes: dict[str, Node] = {}
        self.queues: dict[str, TraceQueue] = {}
        self.submissions: dict[str, Submission] = {}
        self.endings: list[Ending] = []
        self.lines: dict[str, int] = {}
        self.members = 0

    def trace(self, data: bytes) -> Trace:
        headed = False
        for number, line in enumerate(data.splitlines(), 1):
            if not line.strip():
                continue
            adapter: TypeAdapter[Any] = _ROWS if headed else _HEAD
            row = self._row(adapter, line, number)
            if not headed:
                headed = True
            elif row is not None:
                self._take(row, number)
            if len(self.problems) >= MOST_TOLD:
                break
        if not headed:
            self._wrong(1, "", "the file is empty")
        elif not self.problems:
            self._together()
        if self.problems:
            raise Refused(self.problems[:MOST_TOLD])
        return Trace(
            tuple(self.nodes.values()),
            tuple(sorted(self.submissions.values(), key=lambda each: each.at)),
            tuple(sorted(self.endings, key=lambda each: each.at)),
            tuple(self.queues.values()),
        )

    def _wrong(self, line: int, field: str, message: str, reason: str = INVALID) -> None:
        path = f"line {line}" + (f": {field}" if field else "")
        self.problems.append(Problem(KIND, "", "", path, reason, message))

    def _row(self, adapter: TypeAdapter[_T], line: bytes, number: int) -> _T | None:
        try:
            return adapter.validate_json(line, strict=True)
        except ValidationError as error:
            for found in error.errors():
                where = [str(part) for part in found["loc"]]
                if where and where[0] in ("node", "queue", "submit", "end"):
                    where = where[1:]
                missing = found["type"] in ("missing", "union_tag_not_found")
                field = ".".join(where) or ("kind" if found["type"].startswith("union_tag") else "")
                self._wrong(number, field, found["msg"], REQUIRED if missing else INVALID)
        return None

    def _take(self, row: Any, line: int) -> None:
        match row:
            case _Node():
                self._node(row, line)
            case _Queue():
                self._queue(row, line)
            case _Submit():
                self._submit(row, line)
            case _End():
                self.endings.append(Ending(row.at_ms, row.name))
                self.lines[f"end {len(self.endings)}"] = line

    def _amounts(self, given: dict[str, str], line: int, field: str, charge: Any) -> Amounts:
        found: dict[str, int] = {}
        for resource, text in given.items():
            try:
                amount = checked_amount(charge(resource, text))
            except QuantityError as error:
                self._wrong(line, f"{field}.{resource}", str(error))
                continue
            if amount:
                found[resource] = amount
        return tuple(sorted(found.items()))

    def _node(self, row: _Node, line: int) -> None:
        if problem := dns_subdomain_problem(row.name):
            self._wrong(line, "name", f"{row.name!r} {problem}")
        if row.name in self.nodes:
            self._wrong(line, "name", f"node {row.name} is there twice", DUPLICATE)
        for key, value in row.labels.items():
            if problem := label_key_problem(key) or label_value_problem(value):
                self._wrong(line, f"labels.{key}", problem)
        if len(self.nodes) == MOST_NODES:
            self._wrong(line, "", f"more than {MOST_NODES} nodes")
        amounts = dict(self._amounts(row.allocatable, line, "allocatable", to_allocatable))
        amounts.setdefault("pods", PODS)
        labels = tuple(sorted(row.labels.items()))
        self.nodes[row.name] = Node(
            row.name, f"node-{row.name}", labels, allocatable=tuple(sorted(amounts.items()))
        )

    def _queue(self, row: _Queue, line: int) -> None:
        if row.name in self.queues:
            self._wrong(line, "name", f"queue {row.name} is there twice", DUPLICATE)
        quota = self._amounts(row.quota, line, "quota", to_request)
        borrow = self._amounts(row.borrow, line, "borrow", to_request)
        self.queues[row.name] = TraceQueue(row.name, row.cohort, quota, borrow)

    def _submit(self, row: _Submit, line: int) -> None:
        if problem := dns_subdomain_problem(row.name):
            self._wrong(line, "name", f"{row.name!r} {problem}")
        if row.name in self.submissions:
            self._wrong(line, "name", f"workload {row.name} is there twice", DUPLICATE)
        if row.min_count is not None and row.min_count > row.members:
            self._wrong(line, "min_count", f"{row.min_count} is more than there are members, {row.members}")
        if row.topology_key and (problem := label_key_problem(row.topology_key)):
            self._wrong(line, "topology_key", problem)
        for key, values in row.node_labels.items():
            problem = label_key_problem(key) or next(filter(None, map(label_value_problem, values)), "")
            if problem or not values:
                self._wrong(line, f"node_labels.{key}", problem or "at least one value is needed")
        if "pods" in row.requests:
            self._wrong(line, "requests.pods", "is counted by the replay itself")
        self.members += row.members
        if self.members > MOST_MEMBERS:
            self._wrong(line, "members", f"more than {MOST_MEMBERS} members in all")
        if len(self.submissions) == MOST_WORKLOADS:
            self._wrong(line, "", f"more than {MOST_WORKLOADS} workloads")
        requests = self._amounts(row.requests, line, "requests", to_request)
        labelled = tuple((key, tuple(values)) for key, values in sorted(row.node_labels.items()))
        self.submissions[row.name] = Submission(
            row.at_ms, row.name, row.members, requests, row.min_count or row.members, row.topology_key,
            row.priority, row.run_ms, row.klass, row.queue, labelled,
        )  # fmt: skip
        self.lines[row.name] = line

    def _together(self) -> None:
        """What only the whole file shows."""
        for place, ending in enumerate(self.endings, 1):
            begun = self.submissions.get(ending.name)
            line = self.lines[f"end {place}"]
            if begun is None:
                self._wrong(line, "name", f"there is no workload {ending.name}", NOT_FOUND)
            elif ending.at < begun.at:
                self._wrong(line, "at_ms", f"{ending.name} comes only at {begun.at}")
        for each in self.submissions.values():
            if each.queue and each.queue not in self.queues:
                self._wrong(self.lines[each.name], "queue", f"there is no queue {each.queue}", NOT_FOUND)
        if not self.submissions:
            self._wrong(1, "", "there is no workload in it", REQUIRED)


def _rows(trace: Trace) -> Iterator[dict[str, Any]]:
    yield {"kind": "trace", "version": VERSION}
    for node in trace.nodes:
        yield {
            "kind": "node",
            "name": node.name,
            "labels": dict(node.labels),
            "allocatable": _told(node.allocatable),
        }
    for queue in trace.queues:
        row = {"kind": "queue", "name": queue.name, "cohort": queue.cohort, "quota": _told(queue.quota)}
        yield row | ({"borrow": _told(queue.borrow)} if queue.borrow else {})
    for each in trace.submissions:
        yield _submission(each)
    for ending in trace.endings:
        yield {"kind": "end", "at_ms": ending.at, "name": ending.name}


def _submission(each: Submission) -> dict[str, Any]:
    row: dict[str, Any] = {
        "kind": "submit",
        "at_ms": each.at,
        "name": each.name,
        "members": each.members,
        "requests": _told(each.requests),
        "min_count": each.min_count,
    }
    more = {
        "topology_key": each.topology_key,
        "priority": each.priority,
        "class": each.klass,
        "queue": each.queue,
        "node_labels": {key: list(values) for key, values in each.labelled},
    }
    row |= {key: value for key, value in more.items() if value}
    return row | ({} if each.run_ms is None else {"run_ms": each.run_ms})


def _told(amounts: Iterable[tuple[str, int]]) -> dict[str, str]:
    """As quantities: what is read back is the same number."""
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts}
