"""Two moments of one cluster side by side: what differs, and who had the GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.state import ClusterState
from scheduling.ledger import fold, store
from scheduling.models import Cluster, Event
from scheduling.selectors import past_states
from scheduling.selectors.differences import Difference, compare
from scheduling.selectors.headline import Use, by_domain, total
from scheduling.selectors.moments import Moment

FOLDED_ON = 20_000
"""So many events are folded on from the first moment; a later one is made from its own snapshot."""


@dataclass(frozen=True, slots=True)
class DomainUse:
    """GPUs of one domain then and later; None where it was not there."""

    domain: str
    before: Use | None
    after: Use | None


@dataclass(frozen=True, slots=True)
class TwoMoments:
    """``a`` is never later than ``b``; ``swapped``: they were asked for the other way round. ``domains``:
    those whose use differs, of ``domain_count``.
    """

    a: Moment
    b: Moment
    swapped: bool
    difference: Difference
    before: Use
    after: Use
    domains: tuple[DomainUse, ...]
    domain_count: int


def two_moments(cluster: Cluster, a: Moment, b: Moment, key: str) -> TwoMoments:
    """``key``: the topology key by which GPUs are counted. Raises BadEvent (UnknownEvent where a newer
    console wrote to the log) and BrokenHistory.
    """
    swapped = a.seq > b.seq
    if swapped:
        a, b = b, a
    before = past_states.state_at(cluster, a.seq)
    after = _later(cluster, before, b.seq)
    then, later = by_domain(before, key), by_domain(after, key)
    domains = [DomainUse(name, then.get(name), later.get(name)) for name in sorted({*then, *later})]
    return TwoMoments(
        a,
        b,
        swapped,
        compare(before, after),
        total(before),
        total(after),
        tuple(use for use in domains if use.before != use.after),
        len(domains),
    )


def last_of(cluster: Cluster, type_name: str) -> Event | None:
    """The newest event of a type."""
    return Event.objects.filter(stream_id=cluster.pk, type=type_name).order_by("-seq").first()


def _later(cluster: Cluster, state: ClusterState, seq: int) -> ClusterState:
    if seq - state.seq > FOLDED_ON:
        return past_states.state_at(cluster, seq)
    return fold.fold(state.fork(), store.read(cluster.pk, after=state.seq, upto=seq))
