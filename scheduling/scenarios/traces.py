"""A trace: which nodes there are, which workloads come when, how long each runs.

Times are milliseconds since the trace began. A workload is one gang of members alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.model import Node

Amounts = tuple[tuple[str, int], ...]
"""(resource, amount) in whole units as in ``engine.model``, sorted by resource."""


@dataclass(frozen=True, slots=True)
class TraceQueue:
    """Admission in front of the scheduler: the members of a workload are made only once its queue has quota
    for all of them, and the quota is given back when it ends. ``quota``: the queue's own; ``borrow``: how
    much more its workloads may have, as long as all queues of ``cohort`` together keep to the sum of their
    quotas.
    """

    name: str
    cohort: str
    quota: Amounts
    borrow: Amounts = ()


@dataclass(frozen=True, slots=True)
class Submission:
    """A workload of ``members`` members that comes at ``at``. ``requests``: of one member, without ``pods``.
    ``labelled``: (label, values): a node must have one of the values. ``run_ms``: from the moment its
    quorum of members is placed; None: until an ``Ending`` names it. ``klass``: what its wait is counted
    under.
    """

    at: int
    name: str
    members: int
    requests: Amounts
    min_count: int
    topology_key: str = ""
    priority: int = 0
    run_ms: int | None = None
    klass: str = ""
    queue: str = ""
    labelled: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """The workload of that name ends, whether it runs or waits; nothing happens when it has ended already."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Trace:
    """``nodes``: empty when it is to be replayed on others. Submissions and endings in order of time; of one
    time as they were written.
    """

    nodes: tuple[Node, ...]
    submissions: tuple[Submission, ...]
    endings: tuple[Ending, ...] = ()
    queues: tuple[TraceQueue, ...] = ()
