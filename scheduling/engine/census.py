"""Every node counted once: in no domain, barred, with room for a member or for part of what one asks, full.

Codes and numbers only; asked for with an explanation, not in the cycle: the log keeps the counts per domain,
and the state at any ``seq`` gives these again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from scheduling.engine.change_plans import Outlook
from scheduling.engine.columns import AMOUNT_LIMIT, Bools
from scheduling.engine.decision import Decision
from scheduling.engine.eligibility import BAR_REASON, Bar
from scheduling.engine.holds import seen_by
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import ALL_NODES

USABLE = "usable"
"""Of a node without the label: nothing else keeps members off it."""


@dataclass(frozen=True, slots=True)
class Census:
    """``nodes`` = those in ``unlabelled`` + ``barred`` + ``takes`` + ``partly`` + ``full``, ``elsewhere``
    (outside the domain that bound members pin) included.

    ``unlabelled``: (code, nodes) without the topology key: ``usable`` or what else bars them. ``barred``:
    (code, nodes) that no waiting member may use. ``takes``: with room for a member. ``partly``: (resources
    that lack, nodes) with room for some of what a member requests, and ``full``: for none of it; the pod
    itself does not count as a request. ``empty_value``: nodes whose label is the empty string: they are one
    domain. ``together``: so many domains would hold the group together, 0 when that is not known.
    """

    nodes: int
    elsewhere: int
    unlabelled: tuple[tuple[str, int], ...]
    barred: tuple[tuple[str, int], ...]
    takes: int
    partly: tuple[tuple[tuple[str, ...], int], ...]
    full: int
    empty_value: int
    together: int


def refused(decision: Decision) -> bool:
    """Whether the group was evaluated on domains of nodes and found no place. (NUMA zones are no nodes.)"""
    if decision.enforced and decision.topology_key == NUMA_KEY:
        return False
    return decision.verdict in (Verdict.PROVED_INFEASIBLE, Verdict.NOT_FOUND) and (
        decision.reason != Reason.UNMODELLED
    )


def census(state: ClusterState, decision: Decision) -> Census | None:
    """The nodes as the waiting members of a refused group find them; None for any other decision."""
    if not refused(decision) or not state.nodes:
        return None
    state = seen_by(state, decision.key)
    key = decision.topology_key if decision.enforced else ALL_NODES
    index = state.index(key)
    pinned = index.number.get(decision.domain) if decision.enforced and decision.bound else None
    if pinned is not None:
        index = index.only(pinned)
    look = Outlook(state, roster(state, decision.key), index, decision)
    open_to = np.stack([bars[index.order] == Bar.NONE for bars in look.bars]).any(axis=0)
    takes = (look.takes([bars == Bar.NONE for bars in look.bars])[index.order] > 0) & open_to
    partly, full = _partly(look, open_to & ~takes)
    return Census(
        nodes=len(state.nodes),
        elsewhere=len(state.nodes) - len(index.order) - index.unlabelled,
        unlabelled=_unlabelled(look, key),
        barred=_reasons(look.bars[0][index.order][~open_to].tolist()),
        takes=int(takes.sum()),
        partly=partly,
        full=full,
        empty_value=int(index.sizes[index.number[""]]) if key is not ALL_NODES and "" in index.number else 0,
        together=_together(look, decision),
    )


def _unlabelled(look: Outlook, key: str | None) -> tuple[tuple[str, int], ...]:
    if key is ALL_NODES or not look.index.unlabelled:
        return ()
    slot = look.state.columns.slot
    rows = [slot[name] for name, node in look.state.nodes.items() if node.label(key) is None]
    return _reasons(min(int(bars[row]) for bars in look.bars) for row in rows)


def _reasons(bars: Iterable[int]) -> tuple[tuple[str, int], ...]:
    counted = Counter(str(BAR_REASON[Bar(bar)]) if bar else USABLE for bar in bars)
    return tuple(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))


def _partly(look: Outlook, short: Bools) -> tuple[tuple[tuple[tuple[str, ...], int], ...], int]:
    """Usable nodes without room, by what they lack for one of the first kind that may use them."""
    counted: Counter[tuple[str, ...]] = Counter()
    full = 0
    free = look.state.columns.free
    left = short.copy()
    for kind, bars in zip(look.kinds, look.bars, strict=True):
        here = left & (bars[look.index.order] == Bar.NONE)
        left &= ~here
        rows = look.index.order[here]
        asked = [(name, min(amount, AMOUNT_LIMIT)) for name, amount in kind.requests if amount > 0]
        lacks = {name: (free[name][rows] if name in free else np.zeros(len(rows), np.int64)) < amount
                 for name, amount in asked}  # fmt: skip
        real = [name for name in lacks if name != "pods"] or list(lacks)
        for place in range(len(rows)):
            missing = tuple(name for name in lacks if lacks[name][place])
            if all(name in missing for name in real):
                full += 1
            else:
                counted[missing] += 1
    return tuple(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))), full


def _together(look: Outlook, decision: Decision) -> int:
    """The fewest domains that hold minCount members between them. For members of several kinds the counts
    per domain may mean the same members, and a pinned group may go nowhere else.
    """
    if len(look.kinds) != 1 or not decision.fits_across_domains:
        return 0
    held = 0
    for number, count in enumerate(look.counts, start=1):
        held += count.fits - decision.bound
        if held >= look.who.missing:
            return number
    return 0
