"""Runs of kind ``trace``: what is replayed, and how a replay is carried out in slices.

Between two slices a replay is a checkpoint: its state as snapshots have them, and what it keeps beside that.
The same trace and options give the same result to the byte, whatever slices there were. A checkpoint is a
cache: one of another version of the console, or a torn one, is left, and the replay begins again.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

import orjson
import structlog
from pydantic import Field

from scheduling.engine.decide import PROFILES
from scheduling.engine.model import TAS_GATES
from scheduling.kube.names import label_key_problem
from scheduling.ledger import fold, snapshots, store
from scheduling.models import Cluster, Run, RunFile
from scheduling.scenarios import kueue_load, openb, trace_files, workbench
from scheduling.scenarios.documents import checked, to_json
from scheduling.scenarios.kinds import SLICED, Slice
from scheduling.scenarios.steps import Part, Text
from scheduling.scenarios.traces import Trace
from scheduling.scenarios.virtual_time import Replay, ground
from scheduling.services.gates import unknown_gates
from scheduling.services.problems import INVALID, REQUIRED, Problem, Refused

WORK = SLICED
KIND = "trace"

CHECKPOINT, INPUT, WAITS = "checkpoint", "input", "waits"

log = structlog.get_logger(__name__)


class OpenbOptions(Part):
    """As ``openb.Options``. ``one_rack``: each workload must be in one rack."""

    parts: Literal["milli", "whole"] = "milli"
    gang: Annotated[int, Field(ge=1, le=1000)] = 1
    denser: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    one_rack: bool = True
    every_ms: Annotated[int, Field(ge=1, le=86_400_000)] = 60_000
    run_ms: Annotated[int, Field(ge=1, le=trace_files.LATEST // 1000)] = 3_600_000


class TraceDocument(Part):
    """What is replayed. ``source``: the load of Kueue's test, openb's files, or a file of our own format.
    ``file``: how it was called. ``nodes``: the trace's own, or those of the cluster, empty but for what runs
    there now where ``occupied`` says so. ``gates``: of the replay; one that is not named is on.
    ``topology_key``: takes the place of that of workloads which have one, "" leaves it. ``soft``: see
    ``kueue_load``.
    """

    source: Literal["kueue", "openb", "ndjson"]
    file: Text = ""
    nodes: Literal["trace", "cluster"] = "trace"
    occupied: bool = False
    profile: str = "exact"
    gates: dict[str, bool] = {}
    topology_key: Text = ""
    soft: Literal["required", "none"] = "required"
    openb: OpenbOptions = OpenbOptions()


def read(value: Any) -> TraceDocument:
    """Of parsed JSON. Raises Refused, a problem for each field at fault."""
    document = checked(TraceDocument, value, "Trace")
    problems = []
    if document.profile not in PROFILES:
        message = f"{document.profile!r} is none of {', '.join(PROFILES)}"
        problems.append(Problem("Trace", "", "", "profile", INVALID, message))
    problems += [replace(found, kind="Trace", name="") for found in unknown_gates("", document.gates)]
    if document.topology_key and (wrong := label_key_problem(document.topology_key)):
        problems.append(Problem("Trace", "", "", "topology_key", INVALID, wrong))
    if document.nodes == "cluster" and document.source == "openb" and document.openb.parts == "milli":
        message = "nodes of a cluster have whole GPUs: thousandths are only on the nodes of the trace"
        problems.append(Problem("Trace", "", "", "openb.parts", INVALID, message))
    if problems:
        raise Refused(problems)
    return document


def trace_of(document: TraceDocument, *, trace: bytes = b"", pods: bytes = b"", nodes: bytes = b"") -> Trace:
    """The trace that a document and its files make; ``trace``: NDJSON, ``pods`` and ``nodes``: CSV of openb.
    Raises Refused.
    """
    match document.source:
        case "kueue":
            made = kueue_load.trace(document.soft)
        case "openb":
            if not pods:
                raise Refused([Problem("Trace", "", "", "pods", REQUIRED, "the file of the pods is needed")])
            made = openb.read(pods, nodes if document.nodes == "trace" else b"", _options(document.openb))
        case "ndjson":
            if not trace:
                raise Refused(
                    [Problem("Trace", "", "", "trace", REQUIRED, "the file of the trace is needed")]
                )
            made = trace_files.read(trace)
    if document.nodes == "trace" and not made.nodes:
        message = "the trace has no nodes: give them, or replay it on those of the cluster"
        raise Refused([Problem("Trace", "", "", "nodes", REQUIRED, message)])
    if document.topology_key:
        key = document.topology_key
        keyed = [replace(each, topology_key=each.topology_key and key) for each in made.submissions]
        made = replace(made, submissions=tuple(keyed))
    return made if document.nodes == "trace" else replace(made, nodes=())


def request(
    *,
    cluster: Cluster,
    document: TraceDocument,
    actor: str,
    trace: bytes = b"",
    pods: bytes = b"",
    nodes: bytes = b"",
    command_id: str = "",
) -> Run:
    """Ask for a replay. Raises Refused (nothing is stored then) and CommandReused."""
    made = trace_of(document, trace=trace, pods=pods, nodes=nodes)
    base: int = store.head(cluster.pk).seq
    if document.nodes == "cluster" and not cluster.nodes.exists():
        message = f"cluster {cluster.name} has no nodes"
        raise Refused([Problem("Trace", "", "", "nodes", INVALID, message)])
    if document.nodes == "cluster":
        _refuse_unknown_keys(cluster, document, made)
    return workbench.request(
        cluster=cluster,
        kind=KIND,
        document=to_json(document),
        base=base,
        actor=actor,
        data=gzip.compress(trace_files.write(made), mtime=0),
        command_id=command_id,
        asked="",
    )


def _refuse_unknown_keys(cluster: Cluster, document: TraceDocument, made: Trace) -> None:
    """Of workloads that name a key which no node carries none would ever be placed."""
    if not all(gates_of(document).values()):
        return
    for key in sorted({each.topology_key for each in made.submissions} - {""}):
        if not cluster.nodes.filter(removed=False, labels__has_key=key).exists():
            message = f"no node of the cluster carries {key}, which workloads name: give a key of the cluster"
            raise Refused([Problem("Trace", "", "", "topology_key", INVALID, message)])


def work(run: Run, spent: Callable[[], bool]) -> Slice:
    """See ``kinds.Sliced``."""
    document = TraceDocument.model_validate(run.document)
    trace = input_of(run)
    replay = _resumed(run, document, trace) or _begun(run, document, trace)
    while not spent():
        if not replay.step():
            _keep(run, WAITS, gzip.compress(waits_csv(replay).encode(), mtime=0))
            RunFile.objects.filter(run=run, name=CHECKPOINT).delete()
            return Slice(replay.total, replay.total, replay.result())
    _keep(run, CHECKPOINT, checkpoint(replay))
    return Slice(replay.done, replay.total)


def input_of(run: Run) -> Trace:
    """The trace that the run replays. Raises RunFile.DoesNotExist."""
    return trace_files.read(input_bytes(run))


def input_bytes(run: Run) -> bytes:
    """As NDJSON. Raises RunFile.DoesNotExist."""
    return gzip.decompress(RunFile.objects.get(run=run, name=INPUT).data)


def waits_bytes(run: Run) -> bytes:
    """CSV, a line a workload. Raises RunFile.DoesNotExist while the run is not over."""
    return gzip.decompress(RunFile.objects.get(run=run, name=WAITS).data)


FORMS = {
    "series.csv": "text/csv; charset=utf-8",
    "waits.csv": "text/csv; charset=utf-8",
    "result.json": "application/json",
    "trace.ndjson": "application/x-ndjson",
}
"""What can be taken away of a replay -> its content type."""


def exported(run: Run, form: str) -> tuple[str, bytes]:
    """Content type and bytes. Raises RunFile.DoesNotExist while there is nothing of the form."""
    if form == "trace.ndjson":
        body = input_bytes(run)
    elif form == "waits.csv":
        body = waits_bytes(run)
    elif form not in FORMS or run.result is None:
        raise RunFile.DoesNotExist
    elif form == "series.csv":
        body = series_csv(run.result).encode()
    else:
        body = orjson.dumps(run.result, option=orjson.OPT_INDENT_2)
    return FORMS[form], body


def checkpoint(replay: Replay) -> bytes:
    """A digest of the rest, the length of the JSON, the JSON, the state."""
    told = orjson.dumps(replay.to_json())
    rest = len(told).to_bytes(8, "little") + told + snapshots.pack(replay.state)
    return hashlib.sha256(rest).digest() + rest


def resumed(trace: Trace, profile: str, data: bytes) -> Replay:
    """Of ``checkpoint``. Raises ValueError (BadSnapshot too) for bytes of another version, and torn ones."""
    digest, rest = data[:32], data[32:]
    if hashlib.sha256(rest).digest() != digest:
        raise ValueError("the checkpoint is torn: it does not have the digest it was written with")
    size = int.from_bytes(rest[:8], "little")
    state = snapshots.unpack(rest[8 + size :])
    return Replay.resumed(trace, state, profile, orjson.loads(rest[8 : 8 + size]))


def waits_csv(replay: Replay) -> str:
    lines = io.StringIO(newline="")
    table = csv.writer(lines, lineterminator="\n")
    table.writerow(("workload", "class", "submitted_ms", "placed_ms", "wait_ms", "outcome"))
    for name, klass, at, begun, what in replay.waits():
        table.writerow((name, klass, at, *(("", "") if begun is None else (begun, begun - at)), what))
    return lines.getvalue()


def series_csv(result: dict[str, Any]) -> str:
    """The series of a result, a line a point."""
    series = result["series"]
    columns: dict[str, list[int]] = {"at_ms": series["at_ms"]}
    for kind in ("use_per_mille", "quota_use_per_mille"):
        columns |= {f"{kind} {name}": values for name, values in series[kind].items()}
    for name in ("waiting_thousandths", "fragmentation_per_mille", "submitted", "placed", "mean_wait_ms"):
        columns[name] = series[name]
    lines = io.StringIO(newline="")
    table = csv.writer(lines, lineterminator="\n")
    table.writerow(columns)
    table.writerows(zip(*columns.values(), strict=True))
    return lines.getvalue()


def _options(given: OpenbOptions) -> openb.Options:
    fields = given.model_dump()
    key = openb.RACK if fields.pop("one_rack") else ""
    return openb.Options(topology_key=key, **fields)


def gates_of(document: TraceDocument) -> dict[str, bool]:
    return dict.fromkeys(TAS_GATES, True) | document.gates


def gates_of_run(run: Run) -> dict[str, bool]:
    return gates_of(TraceDocument.model_validate(run.document))


def _begun(run: Run, document: TraceDocument, trace: Trace) -> Replay:
    if document.nodes == "trace":
        state = ground(trace.nodes, gates_of(document))
    else:
        there = fold.state_at(run.cluster_id, run.base_seq)
        running = [pod for pod in there.pods.values() if pod.node and not pod.finished]
        state = ground(there.nodes.values(), gates_of(document), running if document.occupied else ())
    return Replay(trace, state, document.profile)


def _resumed(run: Run, document: TraceDocument, trace: Trace) -> Replay | None:
    file = RunFile.objects.filter(run=run, name=CHECKPOINT).first()
    if file is None:
        return None
    try:
        return resumed(trace, document.profile, bytes(file.data))
    except ValueError as error:
        log.warning("replay begins again", run=run.pk, error=str(error))
        return None


def _keep(run: Run, name: str, data: bytes) -> None:
    RunFile.objects.update_or_create(run=run, name=name, defaults={"data": data})
