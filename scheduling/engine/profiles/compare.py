"""One group decided twice on one state: exactly, and as kube-scheduler would."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.quota import queue_of
from scheduling.engine.state import ClusterState


@dataclass(frozen=True, slots=True)
class Comparison:
    """``misses``: the exact engine places members and kube-scheduler does not, or only with some of its rolls
    (``upstream.luck``). ``agree``: both place in the same domain, or kube-scheduler may roll it; or neither
    places anything. ``unaware``: room is held somewhere, or the group is in a queue: kube-scheduler knows of
    neither, and its decision leaves them out.
    """

    exact: Decision
    upstream: Decision
    misses: bool
    agree: bool
    unaware: bool = False


def compare(state: ClusterState, key: str, profile: str = "upstream-1.36") -> Comparison:
    """``profile``: a release of kube-scheduler; ValueError for another one that does not exist."""
    exact = decide(state, key)
    upstream = decide(state, key, profile=profile)
    both = bool(exact.assignments) and bool(upstream.assignments)
    neither = not exact.assignments and not upstream.assignments
    return Comparison(
        exact=exact,
        upstream=upstream,
        misses=bool(exact.assignments) and (not upstream.assignments or upstream.depends_on_ties),
        agree=neither or (both and exact.domain in (upstream.domain, *upstream.ties)),
        unaware=bool(state.holds) or queue_of(state, state.groups.get(key)) is not None,
    )
