"""Which changes could help a group that was not placed: queueing hints, as kube-scheduler has them.

A hint may be wrong in one direction only: it may wake a group in vain, it never lets one sleep that would
be placed. Why it does not: a refusal is a proof, so a group can be placed later only if some node that a
waiting member may use *now*, in a domain the group may use *now*, has come to offer more since. Every way a
node can come to offer more is a ``Kind`` below. What is no proof (``not_found``) is decided in every cycle.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from scheduling.engine.candidates import Conflict
from scheduling.engine.columns import Bools
from scheduling.engine.decide import held_reason, undisputed
from scheduling.engine.eligibility import Bar
from scheduling.engine.numa import asked
from scheduling.engine.quota import allowance
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState


class Kind(StrEnum):
    """What happened, as far as it can help somebody.

    ``freed``: something that was on the node, or held there, asks for less there, or is gone. ``opened``:
    uncordoned, ready, or other taints. ``joined``, ``resized`` (other allocatable), ``relabelled``: what the
    node is. ``group``: a member, the PodGroup, or the node under a bound member is another. ``rules``: gates,
    mode, and whatever the program that tells changes does not know better. ``other``: it could help no proved
    refusal.
    """

    FREED = "freed"
    OPENED = "opened"
    JOINED = "joined"
    RESIZED = "resized"
    RELABELLED = "relabelled"
    GROUP = "group"
    RULES = "rules"
    OTHER = "other"


_PASSING = (Kind.FREED, Kind.OPENED)
"""No help where not even the empty cluster with every node open would do."""


@dataclass(frozen=True, slots=True)
class Change:
    """``seq``: of the event. ``node``: which one, "" when it is not known. ``group``: key, for ``group``
    only.
    """

    seq: int
    kind: Kind
    node: str = ""
    group: str = ""


class Changes:
    """Changes in the order of the log, sorted by whom they may concern. Nodes are those of ``state``, which
    has all of the changes in it: a node that is gone helps nobody.
    """

    def __init__(self, state: ClusterState, changes: Iterable[Change]) -> None:
        self._groups: dict[str, list[int]] = {}
        self._rules: list[int] = []
        self._all: list[int] = []
        seqs: list[int] = []
        rows: list[int] = []
        passing: list[bool] = []
        for change in changes:
            self._all.append(change.seq)
            if change.kind is Kind.GROUP:
                self._groups.setdefault(change.group, []).append(change.seq)
            elif change.kind is Kind.RULES:
                self._rules.append(change.seq)
            elif change.kind is not Kind.OTHER:
                row = state.columns.slot.get(change.node, -1) if change.node else _ANY
                if row != -1:
                    seqs.append(change.seq)
                    rows.append(row)
                    passing.append(change.kind in _PASSING)
        self._seqs = np.array(seqs, np.int64)
        self._rows = np.array(rows, np.int64)
        self._passing = np.array(passing, bool)

    def of_group(self, key: str, since: int) -> int | None:
        """The first one after ``since`` that concerns this group, or every group."""
        return earliest(_after(self._groups.get(key, []), since), _after(self._rules, since))

    def of_nodes(self, usable: Bools, since: int, *, lasting: bool) -> int | None:
        """The first one on a node of ``usable`` (by row); ``lasting``: one that changes what the node is."""
        hits = (self._seqs > since) & ((self._rows == _ANY) | usable[self._rows])
        if lasting:
            hits &= ~self._passing
        return int(self._seqs[hits.argmax()]) if hits.any() else None

    def any(self, since: int) -> int | None:
        return _after(self._all, since)


_ANY = -2
"""In place of a row: some node."""


def could_help(state: ClusterState, key: str, changes: Changes, since: int) -> int | None:
    """The seq of the first change after ``since`` that could let the group be placed on ``state``, or that
    makes it another group. None when there is none.

    ``since``: a seq at which the last recorded verdict of the group held. A group without one, one whose
    members found their place and waits again, and one whose refusal is no proof are not for this question:
    see ``always_decided``.
    """
    own = changes.of_group(key, since)
    last = state.verdicts.get(key)
    if last is not None and last.reason == Reason.QUOTA:
        freed = allowance(state, roster(state, key)).refused is None
        return earliest(own, changes.any(since) if freed else None)
    if last is None or last.verdict != Verdict.PROVED_INFEASIBLE:
        return own
    if asked(state, key) or state.ever_apart or roster(state, key).pairwise:
        # Which NUMA zone a pod gives back, and which nodes it opens by leaving another pod's domain, is not
        # followed here: whatever happens may help.
        return earliest(own, changes.any(since))
    return earliest(
        own, _node_that_helps(state, key, changes, since, lasting=last.reason == Reason.NEVER_FITS)
    )


def always_decided(state: ClusterState, key: str) -> bool:
    """Whether a waiting group is decided in every cycle: it never was, it was placed and members are left
    over, or its refusal was no proof, so that anything might change it.
    """
    last = state.verdicts.get(key)
    return last is None or last.verdict in (Verdict.PLACED, Verdict.NOT_FOUND)


def earliest(*seqs: int | None) -> int | None:
    """The lowest of those that there are."""
    return min((seq for seq in seqs if seq is not None), default=None)


def _node_that_helps(
    state: ClusterState, key: str, changes: Changes, since: int, *, lasting: bool
) -> int | None:
    who = roster(state, key)
    if held_reason(who) is not None:
        return None
    where = undisputed(state, who)
    if isinstance(where, Conflict):
        return None
    candidate = np.zeros(state.columns.rows, bool)
    candidate[where.index.order] = True
    if lasting:  # a node that is barred now makes the reason another, and is seen when it opens
        return changes.of_nodes(candidate, since, lasting=True)
    usable = np.zeros(state.columns.rows, bool)
    for kind in who.kinds():
        usable |= state.bars(kind.eligibility) == Bar.NONE
    return changes.of_nodes(usable & candidate, since, lasting=False)


def _after(seqs: list[int], since: int) -> int | None:
    place = bisect_right(seqs, since)
    return seqs[place] if place < len(seqs) else None
