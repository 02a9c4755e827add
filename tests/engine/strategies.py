"""Random small clusters for property tests: few racks, tight room, taints, cordons, sticky members,
strangers.
"""

from random import Random

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from scheduling.engine.model import Eligibility, Node, Pod, PodGroup, Toleration
from scheduling.engine.state import ClusterState
from tests.engine.builders import DEVICE_TAINT, ZONE, cluster, gang, node, pod

Thing = Node | Pod | PodGroup

_rarely = st.integers(0, 11).map(lambda number: number == 7)

_TOLERANT = Eligibility(tolerations=(Toleration(DEVICE_TAINT.key, "Exists", "", ""),))
_SELECTIVE = Eligibility(node_selector=((ZONE, "z1"),))
ELIGIBILITIES = (Eligibility(), Eligibility(), _TOLERANT, _SELECTIVE)


@st.composite
def nodes(draw: st.DrawFn, most: int = 6) -> list[Node]:
    count = draw(st.integers(0, most))
    racks = draw(st.sampled_from([["r1"], ["r1", "r2"], ["", "r1", "r2", "r3", None]]))
    return [
        node(
            f"n{number}",
            draw(st.sampled_from(racks)),
            cpu=1000 * draw(st.sampled_from([4, 3, 2, 1, 0])),
            pods=draw(st.sampled_from([110, 110, 3, 2, 0])),
            gpu=draw(st.sampled_from([4, 2, 1, 0, None])),
            taints=draw(st.sampled_from([(), (), (DEVICE_TAINT,)])),
            unschedulable=draw(_rarely),
            ready=not draw(_rarely),
            labels={ZONE: draw(st.sampled_from(["z1", "z2"]))},
        )
        for number in range(count)
    ]


def requests() -> SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries(
        {"cpu": st.sampled_from([0, 500, 1000, 2000]), "gpu": st.sampled_from([0, 0, 1, 2])}
    )


@st.composite
def strangers(draw: st.DrawFn, names: list[str]) -> list[Pod]:
    """Pods of no group, some on nodes, some on nodes that do not exist, enough to over-commit now and
    then.
    """
    return [
        pod(
            f"stranger-{number}",
            node=draw(st.sampled_from([*names, "gone", ""])),
            phase=draw(st.sampled_from(["Running", "Running", "Succeeded"])),
            **draw(requests()),
        )
        for number in range(draw(st.integers(0, 4)))
    ]


@st.composite
def groups(draw: st.DrawFn, name: str, names: list[str], shapes: int, most: int = 5) -> list[Thing]:
    """A gang with members of up to ``shapes`` shapes, some of them perhaps bound already."""
    kinds = [
        {**draw(requests()), "eligibility": draw(st.sampled_from(ELIGIBILITIES))}
        for _ in range(draw(st.integers(min(2, shapes), shapes)))
    ]
    sticky = draw(st.sampled_from(["", "", "", *names]))
    count = draw(st.integers(0, most)) if shapes == 1 else draw(st.integers(min(2, most), most))
    need = draw(st.integers(1, max(1, count)) if not draw(_rarely) else st.just(count + 1))
    made: list[Thing] = [gang(name, need, created=draw(st.integers(0, 2)))]
    for number in range(count):
        made.append(
            pod(
                f"{name}-{number}",
                name,
                node=sticky if sticky and draw(st.booleans()) else "",
                priority=draw(st.integers(0, 1)),
                created=draw(st.integers(0, 2)),
                gated=draw(_rarely),
                terminating=draw(_rarely),
                **draw(st.sampled_from(kinds)),
            )
        )
    return made


@st.composite
def things(draw: st.DrawFn, shapes: int = 1) -> list[Thing]:
    """A cluster with the gang ``ml/g`` of up to ``shapes`` shapes, as the objects it is made of."""
    made = draw(nodes())
    names = [one.name for one in made]
    return [*made, *draw(strangers(names)), *draw(groups("g", names, shapes))]


def clusters(shapes: int = 1) -> SearchStrategy[ClusterState]:
    return things(shapes).map(lambda made: cluster(made))


def crowded(seed: int) -> ClusterState:
    """A cluster with one mixed gang that just fits or just does not, from a seed: close calls are too rare
    among drawn clusters for a wrong bound to show.
    """
    random = Random(seed)
    made: list[Thing] = [
        node(
            f"n{number}",
            random.choice(["r1", "r1", "r2"]),
            cpu=500 * random.choice([2, 3, 4, 5, 6, 8]),
            gpu=random.choice([0, 1, 2, 3, 4]),
            pods=random.choice([2, 3, 110]),
            taints=random.choice([(), (), (DEVICE_TAINT,)]),
            labels={ZONE: random.choice(["z1", "z1", "z2"])},
        )
        for number in range(random.randint(2, 5))
    ]
    kinds = [
        {
            "cpu": random.choice([500, 1000, 1500, 2000]),
            "gpu": random.choice([0, 0, 1, 2]),
            "eligibility": random.choice(ELIGIBILITIES),
        }
        for _ in range(random.randint(2, 3))
    ]
    size = random.randint(2, 7)
    made.append(gang("g", random.randint(max(1, size - 3), size)))
    made += [
        pod(f"g-{number}", "g", priority=random.choice([0, 0, 1]), **random.choice(kinds))
        for number in range(size)
    ]
    for number in range(random.randint(0, 2)):
        where = random.choice([one.name for one in made if isinstance(one, Node)])
        made.append(
            pod(
                f"stranger-{number}", node=where, cpu=random.choice([0, 500, 1000]), gpu=random.choice([0, 1])
            )
        )
    return cluster(made)
