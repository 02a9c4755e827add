"""Values that somebody measured in the real world, beside what a cell of a verification matrix estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from scheduling.ledger import store
from scheduling.ledger.events import MeasurementSent
from scheduling.ledger.store import to_milliseconds
from scheduling.models import Cluster, Event, Run, Stream
from scheduling.scenarios import matrix, workbench
from scheduling.services.problems import INVALID, NOT_FOUND, REQUIRED, Problem, Refused
from scheduling.storable import unstorable

MOST = 1 << 52
LONGEST_SOURCE = 500
FUTURE = timedelta(minutes=1)
"""So far clocks may be apart."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """``seq``: of its event in the workbench."""

    seq: int
    said: MeasurementSent
    sent_by: str
    sent_at: datetime
    measured_at: datetime


def send(
    *,
    cluster: Cluster,
    number: int,
    condition: str,
    mode: str,
    steps_thousandths: int | None,
    crossing_bytes: int | None,
    source: str,
    measured_at: datetime,
    actor: str,
    command_id: str = "",
) -> int:
    """Keep what was measured for a cell; the number of its event. Raises Refused and CommandReused."""
    run = Run.objects.filter(cluster=cluster, number=number, kind=matrix.KIND).first()
    if run is None:
        message = f"there is no verification matrix with the number {number}"
        raise Refused([Problem("Run", "", str(number), "", NOT_FOUND, message)])
    problems = list(_problems(condition, mode, steps_thousandths, crossing_bytes, source, measured_at))
    if problems:
        raise Refused([Problem("Measurement", "", str(number), *each) for each in problems])
    said = MeasurementSent(
        number,
        condition,
        mode,
        steps_thousandths,
        crossing_bytes,
        source.strip(),
        to_milliseconds(measured_at),
    )
    return workbench.measured(
        cluster=cluster, number=number, measurement=said, actor=actor, command_id=command_id
    )


def _problems(
    condition: str,
    mode: str,
    steps_thousandths: int | None,
    crossing_bytes: int | None,
    source: str,
    measured_at: datetime,
) -> Sequence[tuple[str, str, str]]:
    """Path, reason, message."""
    found: list[tuple[str, str, str]] = []
    if condition not in matrix.CONDITIONS:
        found.append(("condition", INVALID, f"{condition!r} is none of {', '.join(matrix.CONDITIONS)}"))
    if mode not in matrix.MODES:
        found.append(("mode", INVALID, f"{mode!r} is none of {', '.join(matrix.MODES)}"))
    if steps_thousandths is None and crossing_bytes is None:
        found.append(("steps_thousandths", REQUIRED, "at least one measured value is needed"))
    for path, value in (("steps_thousandths", steps_thousandths), ("crossing_bytes", crossing_bytes)):
        if value is not None and not 0 <= value < MOST:
            found.append((path, INVALID, f"must be from 0 to {MOST - 1}"))
    if not source.strip():
        found.append(("source", REQUIRED, "say where the values come from"))
    elif len(source) > LONGEST_SOURCE or unstorable(source):
        found.append(("source", INVALID, f"must be text of at most {LONGEST_SOURCE} characters"))
    if measured_at > timezone.now() + FUTURE:
        found.append(("measured_at", INVALID, "lies in the future"))
    return found


def of(run: Run) -> list[Measurement]:
    """All that were sent for the run, the newest first."""
    workbench_id = (
        Stream.objects.filter(kind=Stream.Kind.WORKBENCH, name=run.cluster.name)
        .values_list("pk", flat=True)
        .first()
    )
    if workbench_id is None:
        return []
    rows = Event.objects.filter(stream_id=workbench_id, type=MeasurementSent.__name__, seq__gt=run.number)
    found: list[Measurement] = []
    for seq in rows.order_by("-seq").values_list("seq", flat=True):
        for item in store.read(workbench_id, after=seq - 1, upto=seq):
            if isinstance(item.event, MeasurementSent) and item.event.number == run.number:
                at = store.to_datetime(item.recorded_at)
                found.append(
                    Measurement(seq, item.event, item.actor, at, store.to_datetime(item.event.measured_at))
                )
    return found


def newest(run: Run) -> dict[tuple[str, str], Measurement]:
    """The last one of each cell."""
    found: dict[tuple[str, str], Measurement] = {}
    for each in of(run):
        found.setdefault((each.said.condition, each.said.mode), each)
    return found
