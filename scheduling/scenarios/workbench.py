"""The one way to change a workbench: scenarios are saved and removed, runs asked for, cancelled and ended."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from django.db import transaction

from scheduling.ledger import codec, store
from scheduling.ledger.events import (
    Event,
    MeasurementSent,
    RunCancelled,
    RunEnded,
    RunRequested,
    ScenarioRemoved,
    ScenarioSaved,
)
from scheduling.ledger.signals import append_reached
from scheduling.models import Cluster, Run, RunFile, Scenario, Stream
from scheduling.projections import workbench
from scheduling.scenarios import documents, kinds
from scheduling.scenarios.documents import ScenarioDocument
from scheduling.services.execute import lock_head, now_ms
from scheduling.services.problems import CONFLICT, INVALID, NOT_FOUND, REQUIRED, Problem, Refused

RESERVED = ("new",)
"""Names that pages have taken: a scenario of that name would have no address."""

MOST_OPEN = 50
"""Runs of one cluster that wait or run: more are refused until some have ended."""

run_requested = kinds.run_requested


def stream_of(cluster: Cluster) -> int:
    """The stream of the workbench; made when somebody first tries something out. In a transaction."""
    found = _find(cluster)
    if found is None:
        # Two may be first: the row of the cluster's head lets one of them make it.
        lock_head(cluster.pk)
        found = _find(cluster) or store.open_stream(Stream.Kind.WORKBENCH, cluster.name)
    return found


def save(
    *,
    cluster: Cluster,
    document: ScenarioDocument,
    actor: str,
    command_id: str = "",
    revision: int | None = None,
) -> Scenario:
    """Save a scenario under its name. ``revision``: the one that was edited, 0 for a new one, None for
    whatever there is. Saved as it is already writes nothing. Raises Refused and CommandReused.
    """
    name = document.name
    if not name:
        raise Refused([Problem("Scenario", "", "", "name", REQUIRED, "a name is needed")])
    if name in RESERVED:
        raise Refused([Problem("Scenario", "", name, "name", INVALID, f"{name} is no name for a scenario")])
    text = _text(documents.to_json(document))

    def decide() -> list[Event]:
        there = Scenario.objects.filter(cluster=cluster, name=name).first()
        if revision is not None and (there.revision if there else 0) != revision:
            message = (
                "is saved already" if revision == 0 else "was changed or removed by somebody else meanwhile"
            )
            raise Refused([Problem("Scenario", "", name, "name", CONFLICT, f"{name} {message}")])
        return [] if there and _text(there.document) == text else [ScenarioSaved(name, text)]

    _append(cluster, decide, actor, command_id, f"save {revision} {text}")
    return Scenario.objects.get(cluster=cluster, name=name)


def remove(*, cluster: Cluster, name: str, actor: str, command_id: str = "") -> None:
    """Raises Refused when there is none."""

    def decide() -> list[Event]:
        if not Scenario.objects.filter(cluster=cluster, name=name).exists():
            raise Refused([Problem("Scenario", "", name, "", NOT_FOUND, f"there is no scenario {name}")])
        return [ScenarioRemoved(name)]

    _append(cluster, decide, actor, command_id, f"remove {name}")


def request(
    *,
    cluster: Cluster,
    kind: str,
    document: dict[str, Any],
    base: int,
    actor: str,
    scenario: str = "",
    data: bytes = b"",
    command_id: str = "",
    asked: str | None = None,
) -> Run:
    """Ask for a run; workers do it. ``document``: what its kind needs, checked by the caller; ``base``: the
    event of the cluster after which it begins; ``data``: a file that it reads; ``asked``: how the base was
    named ("" for the newest event), so that the same command is known again when the cluster has moved on.
    Raises Refused and CommandReused.
    """
    if kind not in kinds.names():
        raise Refused([Problem("Run", "", "", "kind", INVALID, f"{kind!r} is no kind of run")])
    sha256 = hashlib.sha256(data).hexdigest() if data else ""
    text = _text(document)

    def decide() -> list[Event]:
        if Run.objects.filter(cluster=cluster, status__in=Run.OPEN).count() >= MOST_OPEN:
            message = f"{MOST_OPEN} runs of this cluster wait or run: cancel some, or wait"
            raise Refused([Problem("Run", "", "", "", CONFLICT, message)])
        return [RunRequested(kind, scenario, base, text, sha256)]

    def keep(number: int) -> None:
        run = Run.objects.get(cluster=cluster, number=number)
        if data:
            RunFile.objects.create(run=run, name="input", data=data)
        transaction.on_commit(lambda: run_requested.send_robust(sender=None, run_id=run.pk))

    number = _append(
        cluster,
        decide,
        actor,
        command_id,
        f"run {kind} {scenario} {base if asked is None else asked} {sha256} {text}",
        keep,
    )
    return Run.objects.get(cluster=cluster, number=number)


def cancel(*, cluster: Cluster, number: int, actor: str, command_id: str = "") -> Run:
    """End a run between two slices; one that is over stays as it is. Raises Refused when there is none."""

    def decide() -> list[Event]:
        run = Run.objects.filter(cluster=cluster, number=number).first()
        if run is None:
            raise Refused([Problem("Run", "", str(number), "", NOT_FOUND, f"there is no run {number}")])
        return [RunCancelled(number, run.done, run.total)] if run.open else []

    _append(cluster, decide, actor, command_id, f"cancel {number}")
    return Run.objects.get(cluster=cluster, number=number)


def end(run: Run, *, result: dict[str, Any] | None = None, error: str = "") -> None:
    """Say what came of a run; one that is over stays as it is. BadEvent for a result with a float in it."""
    text = "" if result is None else _text(result)

    def decide() -> list[Event]:
        there = Run.objects.get(pk=run.pk)
        return [RunEnded(run.number, text, error)] if there.open else []

    _append(run.cluster, decide, "workbench", "", "")


def measured(
    *, cluster: Cluster, number: int, measurement: MeasurementSent, actor: str, command_id: str = ""
) -> int:
    """Keep what was measured of a run; its caller has checked it. The number of the event. Raises
    CommandReused.
    """
    text = _text([number, codec.encode(measurement)])
    return _append(cluster, lambda: [measurement], actor, command_id, f"measured {text}")


def _text(value: Any) -> str:
    return codec.canonical(value).decode()


def _find(cluster: Cluster) -> int | None:
    found: int | None = (
        Stream.objects.filter(kind=Stream.Kind.WORKBENCH, name=cluster.name)
        .values_list("pk", flat=True)
        .first()
    )
    return found


def _append(
    cluster: Cluster,
    decide: Callable[[], Sequence[Event]],
    actor: str,
    command_id: str,
    request: str,
    then: Callable[[int], None] = lambda _: None,
) -> int:
    """The seq of the first event, or the next seq where there was none to write. ``then``: with it, in the
    transaction, when something was written.
    """
    with transaction.atomic():
        stream_id = stream_of(cluster)
        lock_head(stream_id)
        command = command_id or uuid4().hex
        done = store.find_command(stream_id, command, actor=actor, request=request)
        if done is not None:
            return done.first
        events = decide()
        appended = store.append(
            stream_id,
            store.head(stream_id).seq,
            events,
            actor=actor,
            command_id=command,
            request=request,
            now=now_ms(),
            tell=False,
        )
        workbench.project(cluster, appended.recorded)
        append_reached.send(sender=None, stream_id=stream_id, point="projected")
        if appended.recorded:
            then(appended.first)
        return appended.first
