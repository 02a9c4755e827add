"""The state of a stream at its head, kept in this process and caught up from the log."""

from __future__ import annotations

from scheduling.engine.state import ClusterState
from scheduling.ledger.cache import StateCache
from scheduling.models import Cluster

CLUSTERS_KEPT = 8
"""So many streams are kept in memory; the least recently used one is loaded anew when it is asked for."""

_states = StateCache(CLUSTERS_KEPT)


def state_of(cluster: Cluster) -> ClusterState:
    """The state at the head, as a fork that is the caller's own."""
    return at_head(cluster.pk)


def at_head(stream_id: int) -> ClusterState:
    """As ``state_of``, for any stream. Raises UnknownStream."""
    return _states.get(stream_id)
