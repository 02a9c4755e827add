"""What a decision says of one group: the verdict, the whole assignment, and the numbers that explain it.

Codes and numbers only; sentences are made where they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scheduling.engine.queues import QuotaCount
from scheduling.engine.reasons import Verdict

RESERVED = "reserved"
"""A cause, followed by a colon and the name of a reservation."""


@dataclass(frozen=True, slots=True)
class VerdictSummary:
    """As much of a decision as tells whether the next one is news. ``fits``: members of the best domain,
    see Decision.
    """

    verdict: str
    reason: str
    domain: str
    fits: int
    need: int


@dataclass(frozen=True, slots=True)
class ShapeCount:
    """One kind of member: what it requests, how many exist, were on nodes before, are placed by this
    decision.
    """

    requests: tuple[tuple[str, int], ...]
    members: int
    bound: int
    placed: int


@dataclass(frozen=True, slots=True)
class DomainCount:
    """What one topology domain has for a group.

    ``nodes``: nodes in it; ``eligible``: those that at least one kind of waiting member may use, room
    apart. ``fits``: members that are or can be in it at once: bound here before, plus what can be placed
    now. ``short``: members missing to minCount (0: feasible). ``reason``: why short, "" when not.
    ``short_of``: (resource, amount) lacking for the ``short`` members in all eligible nodes together once
    ``fits`` are in; where the sum would do and only its pieces are too small, what the nearest piece lacks
    for one member. ``causes``: (code, nodes): nodes barred by ``taint``, ``cordoned``, ``node_not_ready``,
    ``selector``, ``capacity:<resource>`` eligible nodes which, with ``fits`` in, lack that resource for
    one member more, and of them ``reserved:<id>`` those that would take one if nothing were held for others
    and of which that reservation holds a part. ``never``: not even with the domain empty and every node of
    it eligible.
    """

    domain: str
    nodes: int
    eligible: int
    fits: int
    short: int
    reason: str = ""
    short_of: tuple[tuple[str, int], ...] = ()
    causes: tuple[tuple[str, int], ...] = ()
    never: bool = False


class Funnel(NamedTuple):
    """From all there is to what would do. ``domains``: values of the key; ``labelled``: nodes that carry
    it; ``eligible``: domains with a node that a waiting member may use; ``one_fits``: domains where one
    more member fits now; ``quorum_fits``: domains known to take the group.
    """

    domains: int
    labelled: int
    eligible: int
    one_fits: int
    quorum_fits: int


NO_FUNNEL = Funnel(0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Decision:
    """One group decided on one state.

    ``verdict``: a ``reasons.Verdict``; ``reason``: a ``reasons.Reason``, "" when placed. ``enforced``: the
    group names a topology key and the gates are on. ``domain``: the chosen or pinned one, "" for none.
    ``need``: minCount, 1 for basic. ``bound``: members on nodes before; ``members``: those that exist and
    have not finished; ``gated``: of them, how many wait behind scheduling gates. ``assignments``: (pod uid,
    node), by pod name: empty when nothing is to be placed. ``domains``: best first. All of them when
    nothing fits; when placed, the chosen one and the next best few. ``conflict_domains``,
    ``conflict_nodes``: where bound members lie that contradict each other, and the nodes that are gone or
    do not carry the key. ``method``: how it was found or proved: ``counting``; ``heuristic`` (found only);
    ``search``, exact in whole numbers (also of a search that gave up: ``not_found``; always for
    members that exclude or want each other, unless counting refutes them); ``solver``, found and
    counted again, or refused on the word of a solver in floating point; ``greedy`` (profiles of
    kube-scheduler); "" when none. ``ties``: the domains between which kube-scheduler would roll, the chosen
    one first; empty when one is best. ``luck``: (k, n): kube-scheduler rolls between nodes too, and of n ways
    tried k place the group; (0, 0) when that cannot matter. ``quota``: with the reason ``quota`` only.
    """

    key: str
    uid: str
    generation: int
    verdict: Verdict
    reason: str
    profile: str
    topology_key: str
    enforced: bool
    domain: str
    need: int
    bound: int
    members: int
    gated: int = 0
    assignments: tuple[tuple[str, str], ...] = ()
    shapes: tuple[ShapeCount, ...] = ()
    domains: Sequence[DomainCount] = ()
    funnel: Funnel = NO_FUNNEL
    unlabelled_nodes: int = 0
    fits_across_domains: bool = False
    over_committed: tuple[str, ...] = ()
    unmodelled: tuple[str, ...] = ()
    conflict_domains: tuple[str, ...] = ()
    conflict_nodes: tuple[str, ...] = ()
    method: str = ""
    ties: tuple[str, ...] = ()
    luck: tuple[int, int] = (0, 0)
    quota: QuotaCount | None = None

    @property
    def depends_on_ties(self) -> bool:
        """Whether kube-scheduler was found to place the group with some rolls and not with others."""
        return 0 < self.luck[0] < self.luck[1]

    @property
    def placed(self) -> bool:
        return self.verdict == Verdict.PLACED

    @property
    def fits(self) -> int:
        """Members on nodes after this when placed; otherwise what the best domain would hold."""
        if self.placed:
            return self.bound + len(self.assignments)
        return self.domains[0].fits if self.domains else self.bound

    def summary(self) -> VerdictSummary:
        """``domain`` is the best one when none is chosen or pinned."""
        best = self.domain or (self.domains[0].domain if self.domains else "")
        return VerdictSummary(str(self.verdict), str(self.reason), best, self.fits, self.need)
