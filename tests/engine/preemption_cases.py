"""Random small clusters full of groups that may be ended, and the slow obvious search for the cheapest
victims.
"""

from collections.abc import Iterator
from itertools import chain, combinations, product
from random import Random

from scheduling.engine.change_steps import gpus
from scheduling.engine.decide import decide
from scheduling.engine.model import Pod
from scheduling.engine.preemption_records import Cost
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from tests.engine.builders import DEVICE_TAINT, GPU, RACK, cluster, gang, node, pod

KEY = "ml/g"


def occupied(seed: int, *, shapes: int = 1, gates: bool = True) -> ClusterState:
    """Two racks or so whose nodes are held by gangs of several priorities, some elastic, some protected, some
    in two racks (they name no key); ``ml/g`` of priority 5 waits, now and then with members on nodes already.
    """
    dice = Random(seed)
    racks = dice.choice([["r1"], ["r1", "r2"], ["r1", "r2", "r2"]])
    nodes = [
        node(
            f"n{number}",
            dice.choice(racks),
            cpu=1000 * dice.choice([4, 6, 8]),
            gpu=dice.choice([2, 4, 4]),
            taints=dice.choice([(), (), (), (DEVICE_TAINT,)]),
        )
        for number in range(dice.randint(2, 4))
    ]
    state = cluster(nodes, gates=gates)
    for number in range(dice.randint(2, 6)):
        name, key = f"v{number}", dice.choice([RACK, ""])
        ask = {"cpu": dice.choice([0, 500, 2000]), "gpu": dice.choice([0, 1, 1, 2])}
        size, rack = dice.randint(1, 3), dice.choice(racks)
        where = [one for one in nodes if key == "" or dict(one.labels)[RACK] == rack]
        made: list[Pod] = []
        for member in range(size):
            fits = [
                one.name
                for one in where
                if all(state.free(one.name).get(r, 0) >= a for r, a in pod("x", **ask).shape.requests)
            ]
            if fits:
                one = pod(f"{name}-{member}", name, node=dice.choice(fits), created=dice.randint(0, 9), **ask)
                state.set_pod(one)
                made.append(one)
        if made:
            group = gang(
                name,
                dice.randint(1, len(made)),
                key,
                priority=dice.choice([0, 1, 4, 4, 5, 9]),
                elastic=dice.random() < 0.4,
                protected=dice.random() < 0.15,
            )
            state.set_group(group)
    for number, one in enumerate(nodes):  # and pods of nobody, which never go
        left = state.free(one.name).get(GPU, 0)
        if left > 0 and dice.random() < 0.7:
            state.set_pod(pod(f"alone-{number}", node=one.name, cpu=0, gpu=dice.randint(1, left)))
    asks = [{"cpu": dice.choice([0, 1000, 3000]), "gpu": dice.choice([0, 1, 2, 2])} for _ in range(shapes)]
    size = dice.randint(1, 4)
    state.set_group(gang("g", dice.randint(1, size), RACK, priority=5))
    for member in range(size):
        state.set_pod(pod(f"g-{member}", "g", **dice.choice(asks)))
    return state


Choice = tuple[tuple[Pod, ...], bool]


def victims_of(state: ClusterState) -> dict[str, list[Choice]]:
    """By group that may go: nothing of it, all of it, or each set of members beyond minCount."""
    mine = roster(state, KEY).priority
    found: dict[str, list[Choice]] = {}
    for key, group in state.groups.items():
        who = roster(state, key)
        if key == KEY or group.protected or who.priority >= mine or not who.bound:
            continue
        spare = len(who.bound) - who.need if group.elastic and group.policy == "gang" else 0
        some = chain.from_iterable(combinations(who.bound, count) for count in range(1, spare + 1))
        found[key] = [((), False), (who.bound, True), *((pods, False) for pods in some)]
    return found


def without(state: ClusterState, pods: tuple[Pod, ...]) -> ClusterState:
    ahead = state.fork()
    for one in pods:
        ahead.remove_pod(one.uid)
    return ahead


def every_plan(state: ClusterState) -> Iterator[tuple[Cost, tuple[Pod, ...]]]:
    """Every way to end groups of lower priority, with what it costs."""
    for choices in product(*victims_of(state).values()):
        taken = [(pods, whole) for pods, whole in choices if pods]
        pods = tuple(one for some, _ in taken for one in some)
        yield Cost(int(any(whole for _, whole in taken)), gpus(pods), len(taken), len(pods)), pods


def cheapest(state: ClusterState) -> Cost | None:
    """Of all ways after which the group is placed; None when there is none."""
    for price, pods in sorted(every_plan(state), key=lambda plan: plan[0]):
        if pods and decide(without(state, pods), KEY).placed:
            return price
    return None
