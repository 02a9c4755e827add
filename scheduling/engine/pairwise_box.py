"""One domain searched for places of members that exclude or want each other.

Member by member with a way back. Members of one kind are interchangeable: they go onto nodes in one order.
Nodes that nothing tells apart are filled in one order. An assignment counts when its members can be put there
one after the other so that each is allowed when it comes. Only an affinity makes that order matter, and it is
enough to try two parts: first the *founders*, who may go without a pod to be near since there is none
anywhere yet, then all others, for whom more pods can only help.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scheduling.engine.capacity import Field
from scheduling.engine.columns import AMOUNT_LIMIT, Bools, Ints
from scheduling.engine.pairwise_rules import Rules
from scheduling.engine.shapes import COUNT_LIMIT

_NOWHERE = -1
_SHARE = 1 << 10


@dataclass(slots=True)
class Budget:
    """Looks at a node that are left."""

    left: int


@dataclass(frozen=True, slots=True)
class _Move:
    """A member of ``kind`` onto ``node``, as a founder or not; or (``kind`` -1) on to the next kind."""

    kind: int
    node: int
    founder: bool = False


_ON = _Move(-1, _NOWHERE)


@dataclass(slots=True)
class _Frame:
    """``moves``: what is left to try; ``made``: the move that led here."""

    moves: Iterator[_Move]
    made: _Move
    stage: int
    node: int


class Box:
    """``best``: most members placed so far. Lists are per node of the domain, in the order they are filled:
    fewest places first, wholly free ones last of equals, then by name.
    """

    def __init__(self, rules: Rules, seen: Field, whole: Bools, domain: int) -> None:
        part = seen.index.slice(domain)
        caps = [cap[part] for cap in seen.caps]
        size = part.stop - part.start
        total = np.sum([np.minimum(cap, 1 << 20) for cap in caps], axis=0, dtype=np.int64)
        places = np.lexsort((np.arange(size), whole[part], total))
        rows = seen.index.order[part][places]
        self._rules, self._size, self._places = rules, size, places
        self._counts = [len(kind.pods) for kind in rules.kinds]
        self._whole: list[bool] = whole[part][places].tolist()
        resources = sorted({resource for kind in rules.kinds for resource, _ in kind.requests})
        none = np.zeros(size, np.int64)
        columns = [seen.room[each][rows] if each in seen.room else none for each in resources]
        self._free: list[list[int]] = np.stack(columns, axis=1).tolist()
        self._asks = [
            [
                (resources.index(resource), min(amount, AMOUNT_LIMIT))
                for resource, amount in kind.requests
                if amount > 0
            ]
            for kind in rules.kinds
        ]
        self._open: list[list[bool]] = [seen.eligible(k)[part][places].tolist() for k in range(len(caps))]
        self._value: dict[str, list[int]] = {
            key: values[rows].tolist() for key, values in rules.values.items()
        }
        self._founding = [bool(near.meant & near.kinds) and not near.anywhere for near in rules.nears]
        self._learn_rules()
        self._start()
        self.signature = self._signature()
        self.best = 0
        self._kept: list[tuple[int, int]] = []

    # --- what is asked

    def orders(self) -> list[tuple[int, ...]]:
        """Kinds to go first: always those that others want to be near; then the largest, or the smallest."""
        most = [max((row[r] for row in self._free), default=1) for r in range(len(self._free[0]))]
        shares = [max((ask * _SHARE // max(most[r], 1) for r, ask in asks), default=0) for asks in self._asks]
        kinds = range(len(self._counts))
        large = tuple(sorted(kinds, key=lambda k: (self._rank[k], -shares[k], k)))
        small = tuple(sorted(kinds, key=lambda k: (self._rank[k], shares[k], k)))
        return list(dict.fromkeys((large, small)))

    def search(self, order: tuple[int, ...], budget: Budget, missing: int, goal: int) -> bool:
        """Look for more members than ``best``, up to ``goal``. Whether there is nothing left to try: then no
        more than ``best`` can be placed, or fewer than ``missing``.
        """
        self._budget, self._goal, self._floor = budget, goal, 0
        self._set_out(order)
        frames = [_Frame(self._first_moves(), _ON, -1, 0)]
        while frames and self.best < goal and budget.left > 0:
            frame = frames[-1]
            move = next(frame.moves, None)
            if move is None:
                self._floor = missing - 1
                frames.pop()
                self._take_back(frame.made)
            else:
                frames.append(self._after(frame, move))
        done = not frames
        while frames:
            self._take_back(frames.pop().made)
        return done

    def descend(self, order: tuple[int, ...]) -> None:
        """The first way down only."""
        self._budget, self._goal, self._floor = Budget(COUNT_LIMIT), sum(self._counts), 0
        self._set_out(order)
        frames = [_Frame(self._first_moves(), _ON, -1, 0)]
        while (move := next(frames[-1].moves, None)) is not None:
            frames.append(self._after(frames[-1], move))
        while frames:
            self._take_back(frames.pop().made)

    def takes(self) -> tuple[Ints, ...]:
        """Of the best assignment: members of each kind per node, nodes by name."""
        made = [np.zeros(self._size, np.int64) for _ in self._counts]
        for kind, node in self._kept:
            made[kind][self._places[node]] += 1
        return tuple(made)

    def broken(self) -> int:
        """Wholly free nodes that the best assignment touches."""
        return sum(self._whole[node] for node in {node for _, node in self._kept})

    def left_over(self) -> int:
        """Members that the room beyond the best assignment takes: of the kind that it takes the most of."""
        free = [row.copy() for row in self._free]
        for kind, node in self._kept:
            for resource, ask in self._asks[kind]:
                free[node][resource] -= ask
        return max(
            sum(self._fit(kind, row) for row, usable in zip(free, self._open[kind], strict=True) if usable)
            for kind in range(len(self._counts))
        )

    # --- what never changes

    def _learn_rules(self) -> None:
        rules, kinds = self._rules, range(len(self._counts))
        self._holding = [[n for n, apart in enumerate(rules.aparts) if k in apart.holders] for k in kinds]
        self._meant = [[n for n, apart in enumerate(rules.aparts) if k in apart.meant] for k in kinds]
        self._clashes = [[other for other in kinds if (k, other) in rules.clashes] for k in kinds]
        self._near: list[int] = [
            next((n for n, near in enumerate(rules.nears) if k in near.kinds), _NOWHERE) for k in kinds
        ]
        self._meets = [[n for n, near in enumerate(rules.nears) if k in near.meant] for k in kinds]
        self._own_key: list[str] = [next(iter(rules.keeps_apart(k)), "") for k in kinds]
        self._suppliers = [
            frozenset(k for k in near.meant if self._near[k] != n) for n, near in enumerate(rules.nears)
        ]
        depth = [1] * len(rules.nears)
        for _ in rules.nears:  # long enough for every chain; a ring of wishes stays as it comes
            for n, suppliers in enumerate(self._suppliers):
                above = (depth[self._near[k]] for k in suppliers if self._near[k] != _NOWHERE)
                depth[n] = min(1 + max(above, default=0), len(rules.nears))
        self._rank = [0 if self._near[k] == _NOWHERE else depth[self._near[k]] for k in kinds]

    def _start(self) -> None:
        rules = self._rules
        self._at = [[0] * self._size for _ in self._counts]
        self._taken = [0] * len(self._counts)
        self._placed = 0
        self._trail: list[_Move] = []
        self._held: list[dict[int, int]] = [{} for _ in rules.aparts]
        self._is_there: list[dict[int, int]] = [{} for _ in rules.aparts]
        self._pods_near: list[int] = [int(near.anywhere) for near in rules.nears]
        self._near_at: list[dict[str, dict[int, int]]] = [
            {key: dict.fromkeys(rules.found_values(near, key), 1) for key in near.keys}
            for near in rules.nears
        ]
        self._founders = [0] * self._size

    def _signature(self) -> bytes:
        """All that a search depends on, with label values numbered as they come."""
        values = []
        for column in self._value.values():
            numbers: dict[int, int] = {_NOWHERE: _NOWHERE}
            values.append([numbers.setdefault(value, len(numbers)) for value in column])
        for n, near in enumerate(self._rules.nears):
            values += [[int(v in self._near_at[n][key]) for v in self._value[key]] for key in near.keys]
        twins = zip(self._free, zip(*self._open, strict=True), self._whole, strict=True)
        self._alike = self._twins([(tuple(free), open_to, whole) for free, open_to, whole in twins])
        return repr((self._free, self._open, self._whole, values)).encode()

    def _twins(self, looks: list[tuple[object, ...]]) -> list[int]:
        """Per node the last one before it that differs from it in nothing but names, -1 for none."""
        last: dict[tuple[object, ...], int] = {}
        before = []
        columns = list(self._value.items())
        counts = {key: np.bincount(np.array(column, np.int64) + 1).tolist() for key, column in columns}
        for node, look in enumerate(looks):
            marks = []
            for key, column in columns:
                value = column[node]
                alone = value != _NOWHERE and counts[key][value + 1] == 1
                near = tuple(value in at.get(key, ()) for at in self._near_at)
                marks.append(("alone" if alone else value, near))
            whole_look = (*look, tuple(marks))
            before.append(last.get(whole_look, _NOWHERE))
            last[whole_look] = node
        return before

    # --- moves

    def _set_out(self, order: tuple[int, ...]) -> None:
        self._order = order
        place = {kind: n for n, kind in enumerate(order)}
        self._late = [
            bool(suppliers)
            and max(place[k] for k in suppliers) > min(place[k] for k in self._rules.nears[n].kinds)
            for n, suppliers in enumerate(self._suppliers)
        ]
        self._some_late = any(self._late)
        self._rest: list[list[int]] = [[] for _ in order]
        self._base: list[list[int]] = [[] for _ in order]
        self._later = [0] * (len(order) + 1)
        self._most = [self._outlook(kind)[0] for kind in range(len(order))]

    def _first_moves(self) -> Iterator[_Move]:
        """Founders of every wish that nobody meets yet, the roomiest places first, and none at all."""
        for near, founding in zip(self._rules.nears, self._founding, strict=True):
            if not founding:
                continue
            for kind in sorted(near.kinds & near.meant):
                if self._taken[kind] < self._counts[kind]:
                    for node in self._roomiest(kind, near.keys[0]):
                        yield _Move(kind, node, founder=True)
        yield _ON

    def _roomiest(self, kind: int, key: str) -> list[int]:
        room: dict[int, int] = {}
        nodes = []
        for node, value in enumerate(self._value[key]):
            self._budget.left -= 1
            twin = self._alike[node]
            if self._allowed(kind, node, founder=True):
                room[value] = room.get(value, 0) + self._fit(kind, self._free[node])
                if twin == _NOWHERE or self._founders[node] or self._founders[twin]:
                    nodes.append(node)
        return sorted(nodes, key=lambda node: (-room[self._value[key][node]], node))

    def _moves(self, stage: int, start: int) -> Iterator[_Move]:
        kind = self._order[stage]
        if self._taken[kind] < self._counts[kind]:
            for node in range(start, self._size):
                if not self._worth(stage, node):
                    break
                self._budget.left -= 1
                if self._allowed(kind, node) and self._in_turn(stage, node):
                    yield _Move(kind, node)
        if stage + 1 < len(self._order) and self._placed + self._later[stage + 1] > self._target():
            yield _ON

    def _target(self) -> int:
        """To be exceeded: less is no gain."""
        return max(self.best, self._floor)

    def _worth(self, stage: int, node: int) -> bool:
        kind = self._order[stage]
        room = self._rest[stage][node] - (self._at[kind][node] - self._base[stage][node])
        more = min(room, self._counts[kind] - self._taken[kind])
        return self._placed + more + self._later[stage + 1] > self._target()

    def _in_turn(self, stage: int, node: int) -> bool:
        """Of nodes that are alike the earlier one is filled with no less."""
        twin = self._alike[node]
        if twin == _NOWHERE or self._founders[node] or self._founders[twin]:
            return True
        if any(self._at[kind][node] != self._at[kind][twin] for kind in self._order[:stage]):
            return True
        kind = self._order[stage]
        return self._at[kind][node] < self._at[kind][twin]

    def _after(self, frame: _Frame, move: _Move) -> _Frame:
        if move.kind == _NOWHERE:
            stage = frame.stage + 1
            self._enter(stage)
            return _Frame(self._moves(stage, 0), move, stage, 0)
        self._put(move, 1)
        self._trail.append(move)
        if self._placed > self.best and (not self._some_late or self._supported()):
            self.best = self._placed
            self._kept = [(made.kind, made.node) for made in self._trail]
        if move.founder:
            return _Frame(self._first_moves(), move, -1, 0)
        return _Frame(self._moves(frame.stage, move.node), move, frame.stage, move.node)

    def _take_back(self, move: _Move) -> None:
        if move.kind != _NOWHERE:
            self._put(move, -1)
            self._trail.pop()

    def _enter(self, stage: int) -> None:
        """What this kind and those after it can still add at most."""
        kind = self._order[stage]
        self._budget.left -= self._size
        self._rest[stage] = self._outlook(kind)
        self._base[stage] = self._at[kind].copy()
        ahead = 0
        for place in range(len(self._order) - 1, stage, -1):
            other = self._order[place]
            ahead += min(self._counts[other] - self._taken[other], self._most[other])
            self._later[place] = ahead

    def _outlook(self, kind: int) -> list[int]:
        """Per node: how many of the kind go onto it and those after it, the others being as they are."""
        key = self._own_key[kind]
        values = self._value[key] if key else [_NOWHERE] * self._size
        seen: set[int] = set()
        rest = [0] * (self._size + 1)
        for node in range(self._size - 1, -1, -1):
            more = 0
            if self._allowed(kind, node, early=True):
                if values[node] == _NOWHERE:
                    more = 1 if kind in self._clashes[kind] else self._fit(kind, self._free[node])
                elif values[node] not in seen:
                    seen.add(values[node])
                    more = 1
            rest[node] = rest[node + 1] + more
        return rest

    # --- rules

    def _fit(self, kind: int, free: list[int]) -> int:
        return max(min((free[r] // ask for r, ask in self._asks[kind]), default=COUNT_LIMIT), 0)

    def _allowed(self, kind: int, node: int, *, founder: bool = False, early: bool = False) -> bool:
        """Whether one more of the kind may go there now. ``early``: not asked whom it is near."""
        if not self._open[kind][node]:
            return False
        free = self._free[node]
        if any(free[resource] < ask for resource, ask in self._asks[kind]):
            return False
        if any(self._at[other][node] for other in self._clashes[kind]):
            return False
        aparts = self._rules.aparts
        for n in self._meant[kind]:
            if self._held[n].get(self._value[aparts[n].key][node]):
                return False
        for n in self._holding[kind]:
            if self._is_there[n].get(self._value[aparts[n].key][node]):
                return False
        near = self._near[kind]
        if near == _NOWHERE or early:
            return True
        if founder:
            return not self._pods_near[near]
        return self._late[near] or self._has_company(near, node)

    def _has_company(self, near: int, node: int) -> bool:
        return all(at.get(self._value[key][node]) for key, at in self._near_at[near].items())

    def _put(self, move: _Move, step: int) -> None:
        kind, node = move.kind, move.node
        for resource, ask in self._asks[kind]:
            self._free[node][resource] -= step * ask
        self._at[kind][node] += step
        self._taken[kind] += step
        self._placed += step
        self._founders[node] += step * move.founder
        for numbers, counts in ((self._holding[kind], self._held), (self._meant[kind], self._is_there)):
            for n in numbers:
                _count(counts[n], self._value[self._rules.aparts[n].key][node], step)
        for n in self._meets[kind]:
            placed = False
            for key, at in self._near_at[n].items():
                value = self._value[key][node]
                _count(at, value, step)
                placed = placed or value != _NOWHERE
            self._pods_near[n] += step * placed

    def _supported(self) -> bool:
        """Whether everybody placed can come in some order, after the founders: asked when a kind was placed
        before those that it wants to be near.
        """
        near_at = [
            {key: set(self._rules.found_values(near, key)) for key in near.keys} for near in self._rules.nears
        ]
        waiting = list(self._trail)
        while waiting:
            rest = [move for move in waiting if not self._can_come(move, near_at)]
            if len(rest) == len(waiting):
                return False
            for move in set(waiting) - set(rest):
                for n in self._meets[move.kind]:
                    for key, values in near_at[n].items():
                        values.add(self._value[key][move.node])
            waiting = rest
        return True

    def _can_come(self, move: _Move, near_at: list[dict[str, set[int]]]) -> bool:
        near = self._near[move.kind]
        if near == _NOWHERE or move.founder:
            return True
        return all(self._value[key][move.node] in values for key, values in near_at[near].items())


def _count(counts: dict[int, int], value: int, step: int) -> None:
    """Nodes without the label are in no place."""
    if value != _NOWHERE:
        counts[value] = counts.get(value, 0) + step
