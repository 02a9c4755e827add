"""The cheapest victims in one topology domain whose end makes a waiting group fit there.

First a plan is built: everything that may go is thought away and put back, the dearest first, as long as the
group still fits, as kube-scheduler reprieves victims; for members of one shape also node by node from what
is there. Where domains are many, such plans are built in the most promising ones before any is searched.
Then branch and bound looks for a cheaper one. It stops after so many operations, never after so much time:
the same state gives the same plan. ``Found.proved`` tells whether it went through to the end.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from scheduling.engine.change_steps import gpus
from scheduling.engine.model import Pod
from scheduling.engine.preemption_records import Cost
from scheduling.engine.preemption_room import Fewest, Footprint, Room
from scheduling.engine.preemption_trials import Trial

_SMALL = 14
"""Of so few atoms the best by priority, age and name is found too, not only one of the cheapest."""

_SHARE = 5040
"""Costs are shared out among members in such parts, to compare them in whole numbers."""

_Opening = tuple[Cost, int, list[int]]
"""Cost for each member more, the node, and what must go for it."""


@dataclass(frozen=True, slots=True)
class Atom:
    """What can go by itself: a group (``whole``) or one member of an elastic gang. ``pods``: its members on
    nodes, wherever these are, by name.
    """

    group: str
    whole: bool
    pods: tuple[Pod, ...]
    gpus: int
    priority: int
    created: int

    @property
    def members(self) -> int:
        return len(self.pods)

    @property
    def order(self) -> tuple[bool, int, int, int, int, str, str]:
        """The cheapest first."""
        name = self.pods[0].name
        return (self.whole, self.gpus, self.members, self.priority, -self.created, self.group, name)


def atom(group: str, whole: bool, pods: Sequence[Pod], priority: int) -> Atom:
    by_name = tuple(sorted(pods, key=lambda pod: (pod.name, pod.uid)))
    return Atom(group, whole, by_name, gpus(by_name), priority, sum(pod.created for pod in by_name))


def cost(atoms: Sequence[Atom]) -> Cost:
    return Cost(
        int(any(each.whole for each in atoms)),
        sum(each.gpus for each in atoms),
        len({each.group for each in atoms}),
        sum(each.members for each in atoms),
    )


def order(atoms: Sequence[Atom]) -> tuple[Cost, list[int], int, list[tuple[str, str]]]:
    """The order of plans, the best first: by cost, then the lowest priorities (the highest of them compared
    first), then the youngest members, then by name.
    """
    priorities = sorted((each.priority for each in atoms), reverse=True)
    created = sum(each.created for each in atoms)
    return cost(atoms), priorities, -created, sorted((each.group, each.pods[0].name) for each in atoms)


@dataclass(frozen=True, slots=True)
class Found:
    """``atoms``: None when nothing better than what was known was found. ``proved``: whether nothing
    cheaper is there, in this domain.
    """

    atoms: tuple[Atom, ...] | None
    proved: bool


class Budget:
    """Operations that all domains of one search share."""

    def __init__(self, operations: int) -> None:
        self.left = operations


class Domain:
    """One domain and what may go in it. ``limits``: of each elastic gang, members beyond its minCount.

    Where counting is not exact, ``trial`` tells whether the group fits with pods taken out, and ``model`` is
    the same domain for members that all ask for as much as any: a plan for them is one to begin with.
    """

    def __init__(
        self,
        room: Room,
        atoms: Sequence[Atom],
        limits: dict[str, int],
        budget: Budget,
        trial: Trial | None = None,
        model: Domain | None = None,
    ) -> None:
        self._model = model
        self._limits = limits
        self._trial = trial
        self._budget = budget
        self._now, self._hope = room, room.copy()
        self._exact = trial is None
        self._begun = False
        self._charged = 0
        # A group before its members: when it goes, they do.
        self._atoms = sorted(atoms, key=lambda each: (each.group, not each.whole, each.order))
        self._prints = [self._now.footprint(each.pods) for each in self._atoms]
        if self._exact:
            useful = [place for place, footprint in enumerate(self._prints) if footprint]
            self._atoms = [self._atoms[place] for place in useful]
            self._prints = [self._prints[place] for place in useful]
        self._whole = {each.group for each in self._atoms if each.whole}
        self._taken: set[int] = set()
        self._best: tuple[Atom, ...] | None = None
        for place in self._reach():
            self._hope.change(self._prints[place], 1)
        self._most = [list(caps) for caps in self._hope.caps]
        self._prepare()

    def _reach(self) -> Iterator[int]:
        """Atoms that together hold all that may go, each pod once."""
        return (
            place for place, each in enumerate(self._atoms) if each.whole or each.group not in self._whole
        )

    @property
    def possible(self) -> bool:
        """False only where not even the end of all does."""
        return self._hope.enough

    def least(self) -> Cost:
        """No plan in this domain costs less."""
        return self._bound(Cost(0, 0, 0, 0))

    @cached_property
    def promise(self) -> tuple[bool, Cost]:
        """The less, the cheaper a plan is likely to be: what it would cost for members that are all alike,
        where one was found; else, and where counting is exact, the least that any costs.
        """
        plan = self._model.start if self._model is not None else None
        return (plan is None, self.least() if plan is None else cost(plan))

    @cached_property
    def start(self) -> tuple[Atom, ...] | None:
        """A plan to begin with, whatever other domains have."""
        return self.begin(None) if self.possible else None

    def begin(self, known: tuple[Atom, ...] | None) -> tuple[Atom, ...] | None:
        """A plan to begin with, if it is better than ``known``, the best of other domains."""
        self._begun = True
        self._best = known
        if self._model is None:
            self._offer(self._by_node())
            self._offer(self._reprieved())
        elif not self._offer(self._modelled(self._model)):
            self._offer(self._reprieved())
        return self._best if self._best is not known else None

    def search(self, known: tuple[Atom, ...] | None) -> Found:
        """Something better than ``known``, the best plan of all domains so far."""
        better = None if self._begun else self.begin(known)
        self._best = start = better or known
        proved = self._branch()
        better = self._best if self._best is not start else better
        return Found(better, proved and (self._trial is None or self._trial.sure))

    # --- what is thought away

    def _take(self, place: int) -> None:
        self._taken.add(place)
        self._now.change(self._prints[place], 1)

    def _back(self, place: int) -> None:
        self._taken.discard(place)
        self._now.change(self._prints[place], -1)

    def _fits(self) -> bool:
        if not self._now.enough:
            return False
        if self._trial is None:
            return True
        self._budget.left -= self._trial.price
        gone = (pod for place in sorted(self._taken) for pod in self._atoms[place].pods)
        return self._trial.places(gone, self._now)

    def _offer(self, made: bool) -> bool:
        """What is thought away now, if it is a plan and better than the best; then nothing is. Whether it is
        a plan.
        """
        plan = tuple(self._atoms[place] for place in sorted(self._taken))
        if made and plan and (self._best is None or order(plan) < order(self._best)):
            self._best = plan
        for place in sorted(self._taken):
            self._back(place)
        return made and bool(plan)

    def _legal(self, place: int) -> bool:
        """No member of a group that goes, and no more members of an elastic gang than it can spare."""
        each = self._atoms[place]
        gone = [self._atoms[other] for other in self._taken if self._atoms[other].group == each.group]
        if each.whole:
            return not gone
        return not any(one.whole for one in gone) and len(gone) < self._limits[each.group]

    # --- a plan to begin with

    def _reprieved(self) -> bool:
        """Everything away, and put back the dearest first; whether the group fits then."""
        for place in list(self._reach()):
            self._take(place)
        if not self._fits():
            return False
        back = sorted(self._taken, key=lambda place: self._atoms[place].order, reverse=True)
        for places in [[place] for place in back] if self._exact else [back]:
            self._put_back(places)
        for place in [place for place in sorted(self._taken) if self._atoms[place].whole]:
            self._spared(place)
        spent = Counter(self._atoms[place].group for place in self._taken)
        return all(
            spent[each.group] <= self._limits.get(each.group, 0)
            for each in (self._atoms[place] for place in self._taken)
            if not each.whole
        )

    def _modelled(self, model: Domain) -> bool:
        """The plan for members that are all alike, less what need not go."""
        found = model.start
        for place, each in enumerate(self._atoms):
            if found is not None and each in found:
                self._take(place)
        if not self._taken or not self._fits():
            return False
        self._put_back(sorted(self._taken, key=lambda place: self._atoms[place].order, reverse=True))
        return True

    def _put_back(self, places: Sequence[int]) -> None:
        """All that need not go, many at once where that does."""
        if not places or self._budget.left < 0:
            return
        for place in places:
            self._back(place)
        if self._fits():
            return
        for place in places:
            self._take(place)
        if len(places) > 1:
            half = len(places) // 2
            self._put_back(places[:half])
            self._put_back(places[half:])

    def _spared(self, whole: int) -> None:
        """Members of an elastic gang in place of all of it, where that does."""
        group = self._atoms[whole].group
        own = [
            place
            for place, each in enumerate(self._atoms)
            if each.group == group and not each.whole and place not in self._taken
        ]
        limit = self._limits.get(group, 0)
        if not own or self._budget.left < 0:
            return
        self._back(whole)
        for place in sorted(own, key=lambda place: (-sum(map(sum, _amounts(self._prints[place]))), place)):
            if len([other for other in own if other in self._taken]) < limit:
                self._take(place)
        if self._fits():
            self._put_back(sorted((p for p in own if p in self._taken), reverse=True))
            return
        for place in own:
            if place in self._taken:
                self._back(place)
        self._take(whole)

    def _by_node(self) -> bool:
        """The node where one member more costs least, again and again; whether the group fits then."""
        on: list[list[int]] = [[] for _ in self._now.free]
        for place, footprint in enumerate(self._prints):
            for node, _ in footprint:
                on[node].append(place)
        for places in on:
            places.sort(key=lambda place: self._atoms[place].order)
        heap = [entry for node in range(len(on)) if (entry := self._opened(node, on[node])) is not None]
        heapq.heapify(heap)
        while heap and not self._now.enough and self._budget.left > 0:
            _, node, _ = heapq.heappop(heap)
            again = self._opened(node, on[node])
            if again is None:
                continue
            if heap and again[0] > heap[0][0]:
                heapq.heappush(heap, again)
                continue
            for place in again[2]:
                self._take(place)
            after = self._opened(node, on[node])
            if after is not None:
                heapq.heappush(heap, after)
        if not self._now.enough:
            return False
        for place in sorted(self._taken, key=lambda place: self._atoms[place].order, reverse=True):
            self._back(place)
            if not self._now.enough:
                self._take(place)
        return True

    def _opened(self, node: int, places: Sequence[int]) -> _Opening | None:
        """What one member more on the node costs, for each that fits by it anywhere; None when none can."""
        self._budget.left -= 2 * len(places)
        before, had, short = self._now.caps[0][node], self._now.most, self._now.short
        if self._most[0][node] <= before:
            return None
        taken: list[int] = []
        for place in places:
            if self._now.caps[0][node] > before:
                break
            if place not in self._taken and self._legal(place):
                self._take(place)
                taken.append(place)
        for place in list(taken):
            self._back(place)
            if self._now.caps[0][node] > before:
                taken.remove(place)
            else:
                self._take(place)
        grown, gained = self._now.caps[0][node] > before, min(self._now.most - had, short)
        for place in taken:
            self._back(place)
        if not grown or gained < 1:
            return None
        spent = cost([self._atoms[place] for place in taken])
        gpus_, groups, members = (part * _SHARE // gained for part in spent[1:])
        return (Cost(spent.ends, gpus_, groups, members), node, taken)

    # --- and a better one

    def _prepare(self) -> None:
        """How much a group, and a pod, can help at most, in members that fit or, where these are not counted
        exactly, in GPUs: to bound how many must go.
        """
        by_group: Counter[str] = Counter()
        pods: list[int] = []
        if not self._exact:
            for place in self._reach():
                given = self._now.given(self._atoms[place].pods)
                by_group[self._atoms[place].group] += sum(given)
                pods += given
            self._groups, self._members = Fewest(by_group.values()), Fewest(pods)
            return
        gains = [most - now for most, now in zip(self._hope.caps[0], self._now.caps[0], strict=True)]
        for place in self._reach():
            each, footprint = self._atoms[place], self._prints[place]
            by_group[each.group] += sum(gains[node] for node, _ in footprint)
            for pod in each.pods:
                node = self._now.place.get(pod.node)
                if node is not None and gains[node]:
                    pods.append(gains[node])
        self._groups, self._members = Fewest(by_group.values()), Fewest(pods)

    def _bound(self, spent: Cost) -> Cost:
        """No plan that goes on from what is thought away now costs less."""
        if self._now.enough and self._exact:
            return spent
        devices = self._now.devices(self._hope)
        left = self._now.short if self._exact else devices
        gone = [self._atoms[place] for place in self._taken]
        again = {each.group for each in gone if not each.whole}  # they may give more at no new group
        return Cost(
            spent.ends,
            spent.gpus + devices,
            spent.groups + max(0, self._groups.to(left) - len(again)),
            spent.members + self._members.to(left),
        )

    def _branch(self) -> bool:
        """Whether everything was gone through that could be better than the best plan."""
        self._small = len(self._atoms) <= _SMALL
        self._charged = self._now.changes + self._hope.changes
        # The cheapest first, but a group beside its members, so that one tells what becomes of the others.
        first = {
            each.group: (each.whole, each.gpus, each.members, footprint, each.priority, -each.created)
            for each, footprint in zip(reversed(self._atoms), reversed(self._prints), strict=True)
        }
        queue = sorted(
            range(len(self._atoms)),
            key=lambda place: (first[self._atoms[place].group], self._atoms[place].group, place),
        )
        whole = self._follow(queue, 0)
        for place in sorted(self._taken):
            self._back(place)
        return whole

    def _follow(self, queue: Sequence[int], start: int) -> bool:
        plan = [self._atoms[place] for place in sorted(self._taken)]
        spent = cost(plan)
        if self._worse(self._bound(spent)):
            return True
        if plan and self._fits():
            if self._best is None or order(plan) < order(self._best):
                self._best = tuple(plan)
            return True
        excluded: list[int] = []
        through = True
        place = start
        while place < len(queue):
            if not self._hope.enough or self._worse(self._bound(spent)):
                break
            if self._budget.left < 0:
                through = False
                break
            number = queue[place]
            if self._legal(number):
                self._take(number)
                through &= self._follow(queue, place + 1)
                self._back(number)
            # From here on without it, and without those that are just like it.
            alike = self._alike(number)
            while place < len(queue) and (queue[place] == number or self._alike(queue[place]) == alike):
                self._exclude(queue[place], excluded)
                place += 1
            changes = self._now.changes + self._hope.changes
            self._budget.left -= 4 + changes - self._charged
            self._charged = changes
        for number in excluded:
            self._hope.change(self._prints[number], 1)
        return through

    def _exclude(self, number: int, excluded: list[int]) -> None:
        each = self._atoms[number]
        if each.whole and each.group in self._limits:
            return  # its members may still go, one by one
        if not each.whole and any(
            other.whole and other.group == each.group for other in (self._atoms[p] for p in self._taken)
        ):
            return  # it has gone with its group
        self._hope.change(self._prints[number], -1)
        excluded.append(number)

    def _worse(self, least: Cost) -> bool:
        if self._best is None:
            return False
        known = cost(self._best)
        return least > known if self._small else least >= known

    def _alike(self, number: int) -> object:
        """Equal for atoms of which one may stand for the other; with few atoms nothing stands for another."""
        each = self._atoms[number]
        if self._small or not self._exact:
            return number
        if each.whole:
            if each.group in self._limits:
                return number
            return (True, each.gpus, each.members, self._prints[number])
        return (False, each.group, each.gpus, self._prints[number])


def _amounts(footprint: Footprint) -> Iterator[tuple[int, ...]]:
    return (amounts for _, amounts in footprint)
