"""The traces of the openb cluster as published: one CSV of nodes, one of pods.

Columns of nodes: ``sn``, ``cpu_milli``, ``memory_mib``, ``gpu``, ``model``. Of pods: ``name``, ``cpu_milli``,
``memory_mib``, ``num_gpu``, ``gpu_milli``, and, where the file has them, ``gpu_spec`` (models, separated by
``|``), ``creation_time``, ``deletion_time``, ``scheduled_time`` (seconds). Other columns are not read.

What a replay knows of it: cores, memory, GPUs, and which models a pod may use. Not known: which device of a
node a pod with part of a GPU is on (``parts``), its quality of service, and how the pod ended.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from scheduling.engine.model import Node
from scheduling.scenarios.trace_files import (
    KIND,
    LATEST,
    MOST_MEMBERS,
    MOST_NODES,
    MOST_TOLD,
    MOST_WORKLOADS,
    PODS,
    refuse_larger,
)
from scheduling.scenarios.traces import Amounts, Submission, Trace
from scheduling.services.problems import DUPLICATE, INVALID, REQUIRED, Problem, Refused

RACK = "topology.kubernetes.io/rack"
MODEL = "openb/model"
GPU = "nvidia.com/gpu"
GPU_MILLI = "openb/gpu-milli"
RACK_SIZE = 16
"""The trace has no racks: each run of so many nodes of one model gets a label."""

PARTS = ("milli", "whole")
MIB = 1 << 20

_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_TIMES = ("creation_time", "deletion_time", "scheduled_time")


@dataclass(frozen=True, slots=True)
class Options:
    """``parts``: of a pod that asks for part of a GPU. "milli": GPUs are counted in thousandths of the node,
    as if a part could lie across devices; "whole": it gets a whole one. ``gang``: up to so many pods in a row
    that ask for the same become one gang, which comes with the last of them and runs as long as the longest;
    1: each pod is a workload of its own. ``denser``: pods come so many times as often as in the trace, and
    run as long. ``topology_key``: that each must be in one domain of, "" for none.
    ``every_ms``, ``run_ms``: for files without times: a pod comes so long after the one before it, and runs
    so long.
    """

    parts: str = "milli"
    gang: int = 1
    denser: int = 1
    topology_key: str = RACK
    every_ms: int = 60_000
    run_ms: int = 3_600_000


def read(pods: bytes, nodes: bytes, options: Options) -> Trace:
    """``nodes`` may be empty: then the trace has none. Raises Refused, naming file, line and column."""
    reader = _Reader(options)
    found = reader.nodes(nodes) if nodes else ()
    submissions = reader.pods(pods)
    if reader.problems:
        raise Refused(reader.problems[:MOST_TOLD])
    return Trace(found, submissions)


class _Reader:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.problems: list[Problem] = []

    def nodes(self, data: bytes) -> tuple[Node, ...]:
        rows = self._rows("nodes", data, _NODE_COLUMNS)
        found: dict[str, Node] = {}
        of_model: defaultdict[str, int] = defaultdict(int)
        for line, row in rows:
            cpu, memory, gpus = (
                self._number("nodes", line, row, name) for name in ("cpu_milli", "memory_mib", "gpu")
            )
            name, model = row["sn"], row["model"] or "none"
            if name in found or not name:
                self._wrong("nodes", line, "sn", f"node {name!r} is there twice or has no name", DUPLICATE)
            rack = of_model[model] // RACK_SIZE
            of_model[model] += 1
            amounts = {"cpu": cpu, "memory": memory * MIB, "pods": PODS}
            if gpus:
                amounts |= {GPU: gpus} if self.options.parts == "whole" else {GPU_MILLI: gpus * 1000}
            labels = ((MODEL, model), (RACK, f"{model.lower()}-{rack:02}"))
            offered = tuple(sorted((key, amount) for key, amount in amounts.items() if amount))
            found[name] = Node(name, f"node-{name}", labels, allocatable=offered)
        if len(found) > MOST_NODES:
            self._wrong("nodes", 1, "", f"more than {MOST_NODES} nodes")
        return tuple(found.values())

    def pods(self, data: bytes) -> tuple[Submission, ...]:
        rows = self._rows("pods", data, _POD_COLUMNS)
        timed = bool(rows) and all(name in rows[0][1] for name in _TIMES)
        if rows and not timed and any(name in rows[0][1] for name in _TIMES):
            self._wrong("pods", 1, "", f"of {', '.join(_TIMES)} all are needed, or none", REQUIRED)
            return ()
        seen: set[str] = set()
        singles: list[Submission] = []
        for number, (line, row) in enumerate(rows):
            if row["name"] in seen or not row["name"]:
                message = f"pod {row['name']!r} is there twice or has no name"
                self._wrong("pods", line, "name", message, DUPLICATE)
            seen.add(row["name"])
            singles.append(self._pod(line, row, number, timed))
        if not rows and not self.problems:
            self._wrong("pods", 1, "", "there is no pod in it", REQUIRED)
        if len(rows) > min(MOST_WORKLOADS, MOST_MEMBERS):
            self._wrong("pods", 1, "", f"more than {min(MOST_WORKLOADS, MOST_MEMBERS)} pods")
        if self.problems:
            return ()
        first = min(each.at for each in singles)
        gangs = self._gangs([replace(each, at=(each.at - first) // self.options.denser) for each in singles])
        return tuple(sorted(gangs, key=lambda each: each.at))

    def _pod(self, line: int, row: dict[str, str], number: int, timed: bool) -> Submission:
        cpu, memory, gpus, milli = (
            self._number("pods", line, row, name)
            for name in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
        )
        if milli > 1000:
            self._wrong("pods", line, "gpu_milli", f"{milli}: a GPU has 1000 thousandths")
        at, run = number * self.options.every_ms, self.options.run_ms
        if timed:
            at, run = self._times(line, row)
        models = tuple(sorted(filter(None, row.get("gpu_spec", "").split("|"))))
        return Submission(
            at=at,
            name=row["name"],
            members=1,
            requests=self._requests(cpu, memory, gpus, milli),
            min_count=1,
            topology_key=self.options.topology_key,
            run_ms=run,
            klass=_class(gpus, milli),
            labelled=((MODEL, models),) if models else (),
        )

    def _requests(self, cpu: int, memory: int, gpus: int, milli: int) -> Amounts:
        found = {"cpu": cpu, "memory": memory * MIB}
        if gpus:
            found |= {GPU: gpus} if self.options.parts == "whole" else {GPU_MILLI: gpus * milli}
        return tuple(sorted((name, amount) for name, amount in found.items() if amount))

    def _times(self, line: int, row: dict[str, str]) -> tuple[int, int]:
        """When it came, and how long it ran: since it was scheduled, where it was, until it was deleted."""
        created = self._number("pods", line, row, "creation_time")
        deleted = self._number("pods", line, row, "deletion_time")
        begun = self._number("pods", line, row, "scheduled_time") if row["scheduled_time"] else created
        if deleted < max(begun, created):
            self._wrong("pods", line, "deletion_time", f"{deleted} is before {max(begun, created)}")
        return created * 1000, max(1, (deleted - begun) * 1000)

    def _gangs(self, pods: list[Submission]) -> list[Submission]:
        """Pods in a row that are alike in all but name and times, up to ``gang`` of them, as one."""
        found: list[Submission] = []
        for pod in pods:
            last = found[-1] if found else None
            if (
                last is not None
                and last.members < self.options.gang
                and (last.requests, last.labelled) == (pod.requests, pod.labelled)
            ):
                members = last.members + 1
                found[-1] = replace(
                    last,
                    at=max(last.at, pod.at),
                    members=members,
                    min_count=members,
                    run_ms=max(last.run_ms or 1, pod.run_ms or 1),
                )
            else:
                found.append(pod)
        return found

    def _rows(self, file: str, data: bytes, columns: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
        refuse_larger(data, file)
        try:
            lines = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
            missing = [name for name in columns if name not in (lines.fieldnames or ())]
            if missing:
                self._wrong(file, 1, "", f"there is no column {', '.join(missing)}", REQUIRED)
                return []
            rows: list[tuple[int, dict[str, Any]]] = []
            for row in lines:
                if None in row or None in row.values():
                    message = f"{len(lines.fieldnames or ())} columns are needed"
                    self._wrong(file, lines.line_num, "", message)
                    return []
                rows.append((lines.line_num, row))
        except UnicodeDecodeError as error:
            self._wrong(file, data[: error.start].count(b"\n") + 1, "", "is not UTF-8")
            return []
        except csv.Error as error:
            self._wrong(file, lines.line_num, "", str(error))
            return []
        return rows

    def _number(self, file: str, line: int, row: dict[str, str], column: str) -> int:
        text = row[column]
        if text.isascii() and text.isdigit() and len(text) < 16 and int(text) <= LATEST // 1000:
            return int(text)
        self._wrong(file, line, column, f"{text!r} is no whole number up to {LATEST // 1000}")
        return 0

    def _wrong(self, file: str, line: int, column: str, message: str, reason: str = INVALID) -> None:
        path = f"{file}: line {line}" + (f": {column}" if column else "")
        self.problems.append(Problem(KIND, "", "", path, reason, message))


def _class(gpus: int, milli: int) -> str:
    if not gpus:
        return "no GPU"
    if gpus == 1 and milli < 1000:
        return "part of a GPU"
    return f"{gpus} GPU"
