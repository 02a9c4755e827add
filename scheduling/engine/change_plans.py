"""Which changes could make a waiting group run: counted from the columns, domain by domain. Nothing here is
certain: ``engine/changes.py`` decides on the changed state before it offers anything.

For members of one kind the counts are exact. For several kinds they are estimates: a plan may need ``more``,
or less than it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.change_steps import (
    HOSTNAME,
    AddNodes,
    EndGroup,
    LabelNode,
    NodeReady,
    ReleaseReservation,
    Step,
    Tolerate,
    Uncordon,
    gpus,
    recovered,
)
from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Ints
from scheduling.engine.decision import RESERVED, Decision, DomainCount
from scheduling.engine.eligibility import CORDON, Bar, selects, tolerated
from scheduling.engine.model import Node, Taint
from scheduling.engine.reservations import Reservation
from scheduling.engine.roster import Kind, Roster, roster
from scheduling.engine.shapes import COUNT_LIMIT, Bars, per_row
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import TopologyIndex

MOST_STEPS = 8
"""A change set of more steps than this is no small change."""

MOST_NEW_NODES = 64

_NODES_OPENED = 4000
"""Barred nodes that are looked at one by one."""

_TAINT_SETS = 6
_DOMAINS_WITH_LABELS = 2
_DOMAINS_WITH_NEW_NODES = 2
_DOMAINS_WITH_ENDINGS = 12
_PODS_ENDED = 12_000
_GROUPS_ENDED = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """``steps`` to try in ``domain`` (None: the change is felt in all of them); ``more``: what to add, one
    after the other, when they do not do.
    """

    domain: str | None
    steps: tuple[Step, ...]
    more: tuple[Step, ...] = ()


class Outlook:
    """What one decision knows of a group that waits, and what its members would find on every node.

    ``counts``: per domain, the nearest first. ``index``: the domains that are looked at.
    """

    def __init__(self, state: ClusterState, who: Roster, index: TopologyIndex, refusal: Decision) -> None:
        self.state = state
        self.who = who
        self.index = index
        self.kinds: Sequence[Kind] = who.kinds()
        self.key = refusal.topology_key if refusal.enforced else ""
        self.counts: Sequence[DomainCount] = refusal.domains
        self.bars: tuple[Bars, ...] = tuple(state.bars(kind.eligibility) for kind in self.kinds)
        self._now = [per_row(state.columns.free, state.columns.rows, kind.requests) for kind in self.kinds]
        self._empty = [per_row(state.columns.alloc, state.columns.rows, kind.requests) for kind in self.kinds]

    def short(self, count: DomainCount) -> int:
        """Members to be found in the domain beyond those known to fit."""
        return self.who.missing - (count.fits - len(self.who.bound))

    def takes(self, open_to: Sequence[Bools], *, empty: bool = False) -> Ints:
        """Per row: members that go there, of the kind of which most do; exact for one kind."""
        caps = self._empty if empty else self._now
        total = np.zeros(self.state.columns.rows, np.int64)
        for kind, cap, usable in zip(self.kinds, caps, open_to, strict=True):
            np.maximum(total, np.where(usable, np.minimum(cap, len(kind.pods)), 0), out=total)
        return total


# ---------------------------------------------------------------- nodes that are barred


@dataclass(frozen=True, slots=True)
class ShutNode:
    """A node with room that is barred. ``steps``: what it must be freed of; ``taints``: what must be
    tolerated besides; ``gain``: members that it takes then.
    """

    steps: tuple[Step, ...]
    taints: frozenset[Taint]
    gain: int
    name: str


def openings(look: Outlook) -> Iterator[Plan]:
    """Uncordon, make ready, tolerate: per domain and set of taints, as few nodes as bring what is short."""
    shut = shut_nodes(look, [count.domain for count in look.counts])
    for count in look.counts:
        nodes = shut.get(count.domain, [])
        short = look.short(count)
        if count.never or sum(node.gain for node in nodes) < short:
            continue
        sets = sorted(
            {node.taints for node in nodes} | {frozenset()}, key=lambda t: (len(t), sorted(map(str, t)))
        )
        for taints in sets[:_TAINT_SETS]:
            plan = _opening(count.domain, short, taints, [node for node in nodes if node.taints <= taints])
            if plan is not None:
                yield plan


def _opening(domain: str, short: int, taints: frozenset[Taint], nodes: list[ShutNode]) -> Plan | None:
    have = sum(node.gain for node in nodes if not node.steps)
    steps: list[Step] = [Tolerate(t.key, t.value, t.effect) for t in sorted(taints, key=str)]
    behind = sorted((node for node in nodes if node.steps), key=lambda n: (len(n.steps), -n.gain, n.name))
    taken = 0
    while have < short and taken < len(behind):
        steps += behind[taken].steps
        have += behind[taken].gain
        taken += 1
    if have < short or not 0 < len(steps) <= MOST_STEPS:
        return None
    more = tuple(step for node in behind[taken:] for step in node.steps)
    return Plan(domain, tuple(steps), more[:MOST_STEPS])


def shut_nodes(look: Outlook, domains: Sequence[str]) -> dict[str, list[ShutNode]]:
    """By domain, of those given: nodes that have room for members whom something liftable keeps off."""
    gain = look.takes([bars != Bar.NONE for bars in look.bars])[look.index.order]
    wanted = np.zeros(len(look.index.domains), bool)
    wanted[[look.index.number[domain] for domain in domains]] = True
    liftable = np.zeros(len(gain), bool)
    for bars in look.bars:
        liftable |= bars[look.index.order] > Bar.SELECTOR
    liftable &= wanted[look.index.of]
    found: dict[str, list[ShutNode]] = {}
    for position in np.flatnonzero(liftable & (gain > 0))[:_NODES_OPENED].tolist():
        node = look.state.nodes[look.index.names[position]]
        steps, taints = _keys_to(node, look.kinds)
        domain = look.index.domains[int(look.index.of[position])]
        found.setdefault(domain, []).append(ShutNode(steps, taints, int(gain[position]), node.name))
    return found


def _keys_to(node: Node, kinds: Sequence[Kind]) -> tuple[tuple[Step, ...], frozenset[Taint]]:
    """What opens the node to every kind that its labels suit."""
    steps: list[Step] = []
    suited = [kind.eligibility for kind in kinds if selects(kind.eligibility, node)]
    if not node.ready:
        steps.append(NodeReady(node.name))
        node = recovered(node)
    if node.unschedulable and not all(tolerated(CORDON, wanted.tolerations) for wanted in suited):
        steps.append(Uncordon(node.name))
    taints = frozenset(
        taint
        for taint in node.taints
        if taint.effect != "PreferNoSchedule"
        and not all(tolerated(taint, wanted.tolerations) for wanted in suited)
    )
    return tuple(steps), taints


# ---------------------------------------------------------------- room that is held for others


def releases(look: Outlook) -> Iterator[Plan]:
    """The reservations without which nodes of a domain would take members more."""
    held = look.state.records.of(Reservation)
    for count in look.counts if look.state.holds else ():
        codes = [code.partition(":") for code, nodes in count.causes if nodes]
        named = [name for sort, _, name in codes if sort == RESERVED]
        steps = [ReleaseReservation(name, held[name].holder_kind, held[name].holder) for name in named]
        if 0 < len(steps) <= MOST_STEPS and not count.never:
            yield Plan(count.domain, tuple(steps))


# ---------------------------------------------------------------- nodes without the label


def labels(look: Outlook) -> Iterator[Plan]:
    """Nodes in no domain, given to the domains that come closest."""
    if not look.key or look.key == HOSTNAME or not look.index.unlabelled:
        return
    rows = look.takes([bars == Bar.NONE for bars in look.bars])
    slot = look.state.columns.slot
    loose = [
        (-int(rows[slot[name]]), name)
        for name, node in look.state.nodes.items()
        if rows[slot[name]] > 0 and node.label(look.key) is None
    ]
    loose.sort()
    for count in look.counts[:_DOMAINS_WITH_LABELS]:
        have, taken = 0, 0
        while have < look.short(count) and taken < min(len(loose), MOST_STEPS):
            have -= loose[taken][0]
            taken += 1
        if have >= look.short(count):
            steps: list[Step] = [LabelNode(name, look.key, count.domain) for _, name in loose]
            yield Plan(count.domain, tuple(steps[:taken]), tuple(steps[taken : taken + MOST_STEPS]))


# ---------------------------------------------------------------- new nodes


def additions(look: Outlook) -> Iterator[Plan]:
    """Copies of the node of a domain that holds most members when it is empty, as many as are short; the
    domains that need the fewest.
    """
    if look.key == HOSTNAME or not look.counts:
        return
    usable = [(bars == Bar.NONE) | (bars == Bar.CORDONED) | (bars == Bar.NOT_READY) for bars in look.bars]
    each = look.takes(usable, empty=True)[look.index.order]
    best = np.maximum.reduceat(each, look.index.starts)
    wanted = []
    for place, count in enumerate(look.counts):
        most = int(best[look.index.number[count.domain]])
        if most > 0 and (number := -(-look.short(count) // most)) <= MOST_NEW_NODES:
            wanted.append((number, place, count, most))
    for number, _, count, most in sorted(wanted, key=lambda entry: entry[:2])[:_DOMAINS_WITH_NEW_NODES]:
        part = look.index.slice(look.index.number[count.domain])
        like = look.index.names[part.start + int((each[part] == most).argmax())]
        yield Plan(count.domain, (AddNodes(count.domain, like, number),))


# ---------------------------------------------------------------- other groups


def endings(look: Outlook) -> Iterator[Plan]:
    """The end of one other group, or of a few, in the domains that come closest; those of higher priority
    only where the others do not do.
    """
    looked_at = 0
    for count in [count for count in look.counts if not count.never][:_DOMAINS_WITH_ENDINGS]:
        if looked_at > _PODS_ENDED:
            return
        held = _Held(look, look.index.number[count.domain])
        looked_at += held.pods
        for above in (False, True):
            plan = held.plan(count.domain, above)
            if plan is not None:
                yield plan
                break


class _Held:
    """What other groups hold in one domain. ``pods``: how many were counted."""

    def __init__(self, look: Outlook, domain: int) -> None:
        self._look = look
        part = look.index.slice(domain)
        self._rows = look.index.order[part]
        self._open = [bars[self._rows] == Bar.NONE for bars in look.bars]
        self._resources = sorted({resource for kind in look.kinds for resource, _ in kind.requests})
        self.pods = 0
        self._freed: dict[str, dict[str, Ints]] = {}
        for place, name in enumerate(look.index.names[part]):
            for pod in look.state.pods_on(name):
                self.pods += 1
                if pod.group_key in look.state.groups and pod.group_key != look.who.key:
                    self._free(pod.group_key, place, pod.shape.requests)

    def _free(self, group: str, place: int, requests: Sequence[tuple[str, int]]) -> None:
        freed = self._freed.setdefault(group, {})
        for resource, amount in requests:
            if resource in self._resources:
                column = freed.setdefault(resource, np.zeros(len(self._rows), np.int64))
                column[place] += min(amount, AMOUNT_LIMIT)

    def plan(self, domain: str, above: bool) -> Plan | None:
        """Group after group, each time the one whose end makes most room, of these the one that disturbs
        least.
        """
        mine = self._look.who.priority
        steps = {group: _ending(self._look.state, group, mine) for group in sorted(self._freed)}
        left = [group for group, step in steps.items() if above or not step.above]
        room = self._now()
        missing, enough = self._look.who.missing, 0
        taken: list[Step] = []
        while left and len(taken) < _GROUPS_ENDED:
            best = min(left, key=lambda group: self._worth(room, group, steps[group], missing))
            left.remove(best)
            taken.append(steps[best])
            room = self._with(room, best)
            if not enough and self._holds(room) >= missing:
                enough = len(taken)
        return Plan(domain, tuple(taken[:enough]), tuple(taken[enough:])) if enough else None

    def _worth(
        self, room: Mapping[str, Ints], group: str, step: EndGroup, missing: int
    ) -> tuple[int, bool, int, int, int, str]:
        after = self._with(room, group)
        room_made = sum(int(column.sum() * 1000 // max(int(after[resource].sum()), 1))
                        for resource, column in self._freed[group].items())  # fmt: skip
        return (
            -min(self._holds(after), missing), step.above, step.members, step.gpus, -room_made, group
        )  # fmt: skip

    def _now(self) -> dict[str, Ints]:
        free = self._look.state.columns.free
        nothing = np.zeros(len(self._rows), np.int64)
        return {name: free[name][self._rows] if name in free else nothing for name in self._resources}

    def _with(self, room: Mapping[str, Ints], group: str) -> dict[str, Ints]:
        freed = self._freed[group]
        return {name: column + freed[name] if name in freed else column for name, column in room.items()}

    def _holds(self, room: Mapping[str, Ints]) -> int:
        total = 0
        for kind, usable in zip(self._look.kinds, self._open, strict=True):
            caps = np.minimum(per_row(room, len(self._rows), kind.requests), COUNT_LIMIT)
            total += min(int(caps[usable].sum()), len(kind.pods))
        return total


def _ending(state: ClusterState, group: str, priority: int) -> EndGroup:
    who = roster(state, group)
    return EndGroup(group, who.priority, who.priority > priority, len(who.bound), gpus(who.bound))
