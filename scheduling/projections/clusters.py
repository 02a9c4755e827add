"""The row of the cluster itself."""

from __future__ import annotations

from scheduling.ledger import events as e
from scheduling.ledger.store import Recorded, to_datetime
from scheduling.projections import objects, stale
from scheduling.projections.tables import ClusterRecord, Tables

VERSION = 1


def apply(tables: Tables, recorded: Recorded) -> None:
    event, moment = recorded.event, to_datetime(recorded.occurred_at)
    if isinstance(event, e.ClusterRegistered):
        tables.cluster = ClusterRecord(
            event.name, event.mode, dict(event.gates), event.kubernetes_version, moment, None
        )
    elif tables.cluster is None:
        raise LookupError(f"stream {recorded.stream_id} does not begin with the cluster's registration")
    elif isinstance(event, e.ClusterModeChanged):
        tables.cluster.mode = event.mode
    elif isinstance(event, e.FeatureGateChanged):
        tables.cluster.gates = {**tables.cluster.gates, event.gate: event.enabled}
    elif isinstance(event, stale.CHANGES_LAW):
        tables.cluster.canaries = objects.canaries_told(tables.state)
    elif isinstance(event, e.SnapshotImported):
        tables.cluster.last_import_at = moment
    else:
        return
    tables.cluster_dirty = True
