"""The tables of a workbench: saved scenarios and runs, from its events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from scheduling.ledger import events as e
from scheduling.ledger import store
from scheduling.ledger.store import Recorded, to_datetime
from scheduling.models import Cluster, Run, Scenario


def project(cluster: Cluster, recorded: Iterable[Recorded]) -> None:
    """Bring the tables over the events; in the transaction of their append."""
    for item in recorded:
        _apply(cluster, item)


def rebuild(cluster: Cluster, stream_id: int) -> None:
    """Rows as the log has them; what a run that goes on has reached stays. In a transaction."""
    Scenario.objects.filter(cluster=cluster).delete()
    project(cluster, store.read(stream_id))


def _apply(cluster: Cluster, item: Recorded) -> None:
    at = to_datetime(item.recorded_at)
    match item.event:
        case e.ScenarioSaved(name, document):
            saved = {
                "document": json.loads(document),
                "revision": item.seq,
                "saved_by": item.actor,
                "saved_at": at,
            }
            Scenario.objects.update_or_create(cluster=cluster, name=name, defaults=saved)
        case e.ScenarioRemoved(name):
            Scenario.objects.filter(cluster=cluster, name=name).delete()
        case e.RunRequested() as event:
            asked: dict[str, Any] = {
                "kind": event.kind,
                "scenario": event.scenario,
                "document": json.loads(event.document),
                "base_seq": event.base,
                "requested_by": item.actor,
                "requested_at": at,
            }
            fresh = {"status": Run.Status.WAITING, "touched_at": at}
            Run.objects.update_or_create(
                cluster=cluster, number=item.seq, defaults=asked, create_defaults=asked | fresh
            )
        case e.RunCancelled(number, done, total):
            _end(cluster, number, status=Run.Status.CANCELLED, ended_at=at, done=done, total=total)
        case e.RunEnded(number, result, error):
            status = Run.Status.FAILED if error else Run.Status.DONE
            found = json.loads(result) if result else None
            _end(cluster, number, status=status, ended_at=at, result=found, error=error)
        case e.MeasurementSent():
            return  # read from the log


def _end(cluster: Cluster, number: int, **fields: Any) -> None:
    Run.objects.filter(cluster=cluster, number=number).update(touched_at=fields["ended_at"], **fields)
