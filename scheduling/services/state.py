"""The state and the past of a stream at its head, kept in this process and caught up from the log."""

from __future__ import annotations

import threading
from collections import OrderedDict

from scheduling.engine.state import ClusterState
from scheduling.ledger import codec
from scheduling.ledger.cache import StateCache
from scheduling.models import Cluster
from scheduling.models import Event as EventRow
from scheduling.services.past import TYPES, Past

CLUSTERS_KEPT = 8
"""So many streams are kept in memory; the least recently used one is folded anew when it is asked for again.
"""

_states = StateCache(CLUSTERS_KEPT)
_pasts: OrderedDict[int, Past] = OrderedDict()
_lock = threading.Lock()


def state_of(cluster: Cluster) -> ClusterState:
    """The state at the head. Shared: fork it before any change."""
    return at_head(cluster.pk)


def at_head(stream_id: int) -> ClusterState:
    """As ``state_of``, for any stream."""
    return _states.get(stream_id)


def past_of(stream_id: int, seq: int) -> Past:
    """What the log tells up to ``seq`` at least. Shared: read only.

    A state that it is newer than cannot be appended to any more, so nothing is decided on the two together.
    """
    with _lock:
        past = _pasts.setdefault(stream_id, Past())
        _pasts.move_to_end(stream_id)
        if len(_pasts) > CLUSTERS_KEPT:
            _pasts.popitem(last=False)
        if past.seq < seq:
            rows = EventRow.objects.filter(
                stream_id=stream_id,
                type__in=[kind.__name__ for kind in TYPES],
                seq__gt=past.seq,
                seq__lte=seq,
            )
            for type_name, version, body in (
                rows.order_by("seq").values_list("type", "version", "body").iterator()
            ):
                past.apply(codec.decode(type_name, version, body))
            past.seq = seq
        return past


def forget() -> None:
    """Drop everything kept: for tests, whose database starts again under the same ids."""
    _states.clear()
    with _lock:
        _pasts.clear()
