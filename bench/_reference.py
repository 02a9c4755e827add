"""The obvious way to place a gang of one shape, in plain Python: every member tried on every node of a rack.

It keeps what is free on each node in a dictionary of its own, so that it spends no time on looking that up.
"""

from bench._clusters import GPU, RACK
from scheduling.engine.state import ClusterState

Amounts = dict[str, int]


class Reference:
    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.racks: dict[str, list[str]] = {}
        for name in sorted(state.nodes):
            self.racks.setdefault(state.nodes[name].label(RACK) or "", []).append(name)
        self.total = {name: dict(node.allocatable) for name, node in state.nodes.items()}
        self.free = {name: state.free(name) for name in state.nodes}

    def refresh(self) -> None:
        self.free = {name: self.state.free(name) for name in self.state.nodes}

    def decide(self, asked: Amounts, members: int) -> tuple[str, dict[str, int]] | None:
        """The rack and how many members on each of its nodes: fewest wholly free nodes broken, then least
        capacity left, then name; nodes with the fewest places first.
        """
        best = None
        for rack, names in self.racks.items():
            placed = self.place(names, asked, members)
            if placed is None:
                continue
            broken = sum(self.free[name][GPU] == self.total[name][GPU] for name in placed)
            left = sum(self.places(self.free[name], asked) for name in names) - members
            if best is None or (broken, left, rack) < best[0]:
                best = (broken, left, rack), placed
        return None if best is None else (best[0][2], best[1])

    def place(self, names: list[str], asked: Amounts, members: int) -> dict[str, int] | None:
        left = {name: dict(self.free[name]) for name in names}
        placed: dict[str, int] = {}
        for _ in range(members):
            chosen = None
            for name in names:
                places = self.places(left[name], asked)
                if places:
                    whole = self.free[name][GPU] == self.total[name][GPU]
                    key = (name not in placed, places, whole, name)
                    if chosen is None or key < chosen:
                        chosen = key
            if chosen is None:
                return None
            name = chosen[-1]
            placed[name] = placed.get(name, 0) + 1
            for resource, amount in asked.items():
                left[name][resource] -= amount
        return placed

    def places(self, free: Amounts, asked: Amounts) -> int:
        return max(0, min(free[resource] // amount for resource, amount in asked.items()))
