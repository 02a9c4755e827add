"""The few smallest changes that would make a waiting group run, each of them decided on the changed state.

A change set is offered only when ``decide`` places the group on a fork with all its steps done, and when no
step can be left out. Domains are independent of each other, so the steps are tried on a state cut to the one
domain that they touch; what is offered has been decided on the whole state once more. How much is tried is
bounded in operations, never in time: the same state gives the same answer.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from scheduling.engine import numa
from scheduling.engine.candidates import Conflict, candidates, lost_domain
from scheduling.engine.change_plans import (
    MOST_NEW_NODES,
    Outlook,
    Plan,
    additions,
    endings,
    labels,
    openings,
)
from scheduling.engine.change_steps import (
    AddMembers,
    AddNodes,
    EndGroup,
    LabelNode,
    NewGeneration,
    Step,
    Tolerate,
    Ungate,
    applied,
    cost,
    to_json,
)
from scheduling.engine.cuts import cut
from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState

LIMIT = 6
"""Change sets that are offered unless asked otherwise."""

_ALIKE = 2
"""Of change sets with the same sorts of steps, so many: ten nodes to uncordon are not ten answers."""

_OPERATIONS = 60_000
"""Nodes that all tries together may look at, each try counted as ``_TRY`` nodes more."""

_TRY = 150

_SEARCHED = 4_000
"""What a try costs besides when members of several shapes had to be searched for to the end."""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """``steps``: all of them make the group run, fewer do not. ``cost``: the order, see
    ``change_steps.cost``. ``domain``, ``placed``, ``need``: of the decision on the changed state: where it
    would be, how many members would be on nodes, and minCount then.
    """

    steps: tuple[Step, ...]
    cost: tuple[int, ...]
    domain: str
    placed: int
    need: int

    @property
    def id(self) -> str:
        """The same steps have the same name, on every state."""
        steps = json.dumps([to_json(step) for step in self.steps], sort_keys=True)
        return hashlib.sha256(steps.encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """Everything of it as JSON values; ``steps`` as a scenario takes them."""
        return {
            "id": self.id,
            "steps": [to_json(step) for step in self.steps],
            "cost": list(self.cost),
            "domain": self.domain,
            "placed": self.placed,
            "need": self.need,
        }


def change_sets(state: ClusterState, key: str, *, limit: int = LIMIT) -> tuple[ChangeSet, ...]:
    """At most ``limit`` of them, the smallest first; ``state`` is not changed.

    None for a group that waits for nothing, that uses what is not modelled, whose PodGroup is missing, or
    where none was found.
    """
    refusal = decide(state, key)
    if refusal.placed or refusal.reason in (Reason.UNMODELLED, Reason.NO_PODGROUP):
        return ()
    if refusal.verdict == Verdict.HELD:
        return tuple(_of_held(state, key, refusal, limit))
    return tuple(_found(state, key, refusal, limit))


def _of_held(state: ClusterState, key: str, refusal: Decision, limit: int) -> list[ChangeSet]:
    """The missing members first, and what else is needed then; or a minCount that those there are reach."""
    who = roster(state, key)
    fewer = []
    for plan in _again(state, key, refusal, who):
        anew = _after(state, key, plan.steps)
        if anew.placed:
            fewer.append(_change_set(plan.steps, anew))
    first = _completed(who)
    if not first:
        return fewer
    complete = applied(state, key, first)
    refusal = decide(complete, key)
    if refusal.placed:
        found = [_change_set(first, refusal)]
    else:
        whole = [
            replace(each, steps=(*first, *each.steps), cost=cost((*first, *each.steps)))
            for each in _found(complete, key, refusal, limit)
        ]
        found = [each for each in whole if not _spares(state, key, each.steps, first)]
    return sorted([*fewer, *found], key=lambda each: each.cost)[:limit]


def _spares(state: ClusterState, key: str, steps: tuple[Step, ...], doubtful: tuple[Step, ...]) -> bool:
    """Whether the steps do without one of the doubtful ones, or without all of them."""
    left_out = [*((step,) for step in doubtful), doubtful]
    return any(
        _after(state, key, tuple(step for step in steps if step not in out)).placed for out in left_out
    )


def _after(state: ClusterState, key: str, steps: tuple[Step, ...]) -> Decision:
    return decide(applied(state, key, steps), key)


def _completed(who: Roster) -> tuple[Step, ...]:
    """What brings a held group to minCount members; nothing when there is no member to take as a pattern."""
    missing = who.need - len(who.bound) - len(who.waiting)
    if missing <= 0 or not who.known:
        return ()
    gated = min(missing, len(who.gated))
    steps: list[Step] = [Ungate(gated)] if gated else []
    return (*steps, AddMembers(missing - gated)) if missing > gated else tuple(steps)


def _change_set(steps: tuple[Step, ...], decision: Decision) -> ChangeSet:
    return ChangeSet(steps, cost(steps), decision.domain, decision.fits, decision.need)


def _found(state: ClusterState, key: str, refusal: Decision, limit: int) -> list[ChangeSet]:
    tries = _Tries(state, key, refusal.enforced)
    plans = sorted(_plans(state, key, refusal), key=lambda plan: cost(plan.steps))
    alike: Counter[frozenset[str]] = Counter()
    found: dict[tuple[Step, ...], ChangeSet] = {}
    for plan in plans:
        if len(found) >= limit and cost(plan.steps) > sorted(each.cost for each in found.values())[limit - 1]:
            break
        if alike[_sorts(plan.steps)] >= _ALIKE:
            continue
        try:
            steps = tries.fewest(plan)
            if not steps or steps in found or alike[_sorts(steps)] >= _ALIKE:
                continue
            decision = tries.on_the_whole(steps)
        except _UsedUp:
            break
        if decision.placed:
            alike[_sorts(steps)] += 1
            found[steps] = _change_set(steps, decision)
    return sorted(found.values(), key=lambda each: each.cost)[:limit]


def _sorts(steps: tuple[Step, ...]) -> frozenset[str]:
    return frozenset(step.code for step in steps)


def _plans(state: ClusterState, key: str, refusal: Decision) -> Iterator[Plan]:
    who = roster(state, key)
    if refusal.reason == Reason.SCHEDULER_NAME:
        return
    yield from _again(state, key, refusal, who)
    if numa.asked(state, key):
        return  # zones are no nodes: what nodes could do for them is not counted here
    where = lost_domain(state, who) or candidates(state, who)
    if isinstance(where, Conflict):
        yield from _found_again(state, where, refusal.topology_key)
        return
    if not where.index.domains:
        return
    look = Outlook(state, who, where.index, refusal)
    for plans in (openings, labels, additions, endings):
        yield from plans(look)


def _again(state: ClusterState, key: str, refusal: Decision, who: Roster) -> Iterator[Plan]:
    """The group as a new generation: bound to no domain, or with the minCount of the best one."""
    conflicted = refusal.verdict == Verdict.CONFLICTED
    if state.groups[key].policy != "gang" and not who.bound and not conflicted:
        return
    fits, least = refusal.fits, who.need
    held = refusal.verdict == Verdict.HELD
    # A group that runs is not ended for as many members as it has.
    runs = 0 if held or conflicted or len(who.bound) < who.need else len(who.bound)
    if held or conflicted or (who.bound and refusal.enforced):
        least = min(who.need, len(who.bound) + len(who.waiting))
        same = NewGeneration(least, who.need, len(who.bound))
        anew = _after(state, key, (same,)) if least else refusal
        if anew.placed:
            if anew.fits > runs:
                yield Plan(None, (same,))
            return
        fits = anew.fits
    if runs < fits < least:
        yield Plan(None, (NewGeneration(fits, who.need, len(who.bound)),))


def _found_again(state: ClusterState, lost: Conflict, key: str) -> Iterator[Plan]:
    """Nodes of bound members that lost the label get it back, when the other members tell its value."""
    if len(lost.domains) == 1 and lost.nodes and all(name in state.nodes for name in lost.nodes):
        yield Plan(None, tuple(LabelNode(name, key, lost.domains[0]) for name in lost.nodes))


_Cut = tuple[frozenset[str], tuple[str, ...]]
"""Domains, and nodes that are in none."""


class _UsedUp(Exception):
    """No operations are left to try anything more."""


class _Tries:
    """Decides on changed states, each once, until the operations are used up."""

    def __init__(self, state: ClusterState, key: str, constrained: bool) -> None:
        self._state = state
        self._key = key
        self._constrained = constrained
        self._left = _OPERATIONS
        self._cuts: dict[_Cut, ClusterState] = {}
        self._known: dict[tuple[_Cut | None, tuple[Step, ...]], Decision] = {}

    def fewest(self, plan: Plan) -> tuple[Step, ...]:
        """Steps of the plan that place the group and of which none can be left out; () when there are none.
        Raises _UsedUp.
        """
        if len(plan.steps) == 1 and isinstance(plan.steps[0], AddNodes):
            return self._fewest_nodes(plan, plan.steps[0])
        steps = plan.steps
        more = list(plan.more)
        while not self._places(plan, steps):
            if not more:
                return ()
            steps = (*steps, more.pop(0))
        for step in reversed(steps):
            fewer = tuple(other for other in steps if other is not step)
            if fewer and self._places(plan, fewer):
                steps = fewer
        return steps

    def _fewest_nodes(self, plan: Plan, step: AddNodes) -> tuple[Step, ...]:
        """So many copies that one fewer does not do, by halving between a number that fails and one that
        does.
        """
        enough, too_few = step.count, step.count - 1
        while not self._places(plan, (replace(step, count=enough),)):
            if enough >= MOST_NEW_NODES:
                return ()
            too_few, enough = enough, min(2 * enough, MOST_NEW_NODES)
        while too_few and self._places(plan, (replace(step, count=too_few),)):
            too_few, enough = too_few - 1, too_few
        while enough - too_few > 1:
            middle = (enough + too_few) // 2
            if self._places(plan, (replace(step, count=middle),)):
                enough = middle
            else:
                too_few = middle
        return (replace(step, count=enough),)

    def on_the_whole(self, steps: tuple[Step, ...]) -> Decision:
        """The decision on the whole state with the steps done."""
        return self._decided(None, self._state, steps)

    def _places(self, plan: Plan, steps: tuple[Step, ...]) -> bool:
        domains = self._felt_in(plan, steps)
        if domains is None:
            return self._decided(None, self._state, steps).placed
        loose = tuple(step.node for step in (*plan.steps, *plan.more) if isinstance(step, LabelNode))
        part = self._cuts.get((domains, loose))
        if part is None:
            part = self._cuts[domains, loose] = cut(self._state, self._key, domains, loose)
        return self._decided((domains, loose), part, steps).placed

    def _decided(self, where: _Cut | None, state: ClusterState, steps: tuple[Step, ...]) -> Decision:
        made = self._known.get((where, steps))
        if made is None:
            self._left -= len(state.nodes) + _TRY
            if self._left < 0:
                raise _UsedUp
            made = self._known[where, steps] = decide(applied(state, self._key, steps), self._key)
            if made.method in ("search", "solver"):
                self._left -= _SEARCHED
        return made

    def _felt_in(self, plan: Plan, steps: tuple[Step, ...]) -> frozenset[str] | None:
        """The domains in which some of the steps could do: None for all of them."""
        if plan.domain is None or not self._constrained:
            return None
        if any(isinstance(step, Tolerate | NewGeneration) for step in steps):
            return None
        domains = {plan.domain}
        key = self._state.groups[self._key].topology_key
        for step in steps:
            for pod in self._state.pods_naming(step.group) if isinstance(step, EndGroup) else ():
                node = self._state.nodes.get(pod.node)
                value = node.label(key) if node is not None else None
                if value is not None:
                    domains.add(value)
        return frozenset(domains)
