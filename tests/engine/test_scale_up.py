"""New nodes for a waiting group: what is offered makes it run, one node fewer does not, and nothing cheaper
was missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.decide import decide
from scheduling.engine.growth import TYPE_LABEL, grown, new_nodes, room_to_grow
from scheduling.engine.model import Taint
from scheduling.engine.node_types import Growth, NewNodes, NodeType, ScaleUpOption
from scheduling.engine.queues import Queue
from scheduling.engine.scale_up import NoHelp, NotThisType, ScaleUp, fewer_do, fits_after, scale_up
from scheduling.engine.state import ClusterState
from tests.engine.builders import DEVICE_TAINT, GPU, RACK, ZONE, basic, cluster, gang, members, node, pod
from tests.engine.strategies import ELIGIBILITIES, clusters, crowded

KEY = "ml/g"


def kind(
    name: str = "big", *, racks: dict[str, int] | None = None, cpu: int = 8000, gpu: int = 0, **more: object
) -> NodeType:
    """A type that grows in racks by so many; ``more``: fields of NodeType, cost 1 unit when not given."""
    amounts = {"cpu": cpu, "pods": 110, **({GPU: gpu} if gpu else {})}
    growth = tuple(Growth(RACK, rack, most) for rack, most in (racks or {"r1": 9}).items())
    more.setdefault("cost", 1000)
    return NodeType(name, tuple(sorted(amounts.items())), growth=growth, **more)  # type: ignore[arg-type]


def with_types(state: ClusterState, *kinds: NodeType) -> ClusterState:
    for one in kinds:
        state.records.put(one)
    return state


def steps(found: ScaleUp) -> list[tuple[tuple[str, str, int], ...]]:
    return [tuple((step.kind, step.domain, step.count) for step in option.steps) for option in found.options]


def holds(state: ClusterState, found: ScaleUp, keys: Iterable[str]) -> None:
    """The law of plans, by deciding: all nodes make the groups run, any one fewer leaves one waiting."""
    for option in found.options:
        assert option.fits == fits_after(state, option.steps, list(keys)) != ()
        assert fewer_do(state, option.steps, list(keys)) == ()
        for step in option.steps:
            assert step.count <= room_to_grow(state, step.kind, step.key, step.domain)


# ---------------------------------------------------------------- what is offered


def test_as_few_nodes_as_do_in_the_domain_that_may_grow() -> None:
    state = with_types(cluster(node("n1"), gang("g", 3), members("g", 3, cpu=8000)), kind())

    found = scale_up(state, [KEY])

    assert steps(found) == [(("big", "r1", 2),)]
    (option,) = found.options
    assert (option.cost, option.unpriced, option.nodes, option.cheapest) == (2000, 0, 2, True)
    assert [(fit.group, fit.domain, fit.placed, fit.need) for fit in option.fits] == [(KEY, "r1", 3, 3)]
    holds(state, found, [KEY])


def test_a_domain_that_does_not_exist_yet_may_grow() -> None:
    state = with_types(cluster(node("n1"), gang("g", 2), members("g", 2, cpu=8000)), kind(racks={"new": 4}))

    assert steps(scale_up(state, [KEY])) == [(("big", "new", 2),)]


def test_an_empty_cluster_may_grow() -> None:
    state = with_types(cluster(gang("g", 2), members("g", 2, cpu=8000)), kind(racks={"new": 4}))

    assert steps(scale_up(state, [KEY])) == [(("big", "new", 2),)]


def test_the_cheapest_comes_first_and_others_are_kept() -> None:
    state = with_types(
        cluster(node("n1"), gang("g", 2), members("g", 2, cpu=8000)),
        kind("dear", racks={"r1": 4, "r2": 4}, cost=3000),
        kind("cheap", racks={"r2": 4}, cost=1400),
        kind("unknown", racks={"r1": 4}, cost=None),
    )

    found = scale_up(state, [KEY])

    assert steps(found) == [
        (("cheap", "r2", 2),),
        (("dear", "r1", 1),),
        (("dear", "r2", 2),),
        (("unknown", "r1", 1),),
    ]
    assert [(option.cost, option.unpriced) for option in found.options] == [
        (2800, 0),
        (3000, 0),
        (6000, 0),
        (0, 1),
    ]
    assert steps(scale_up(state, [KEY], limit=2)) == steps(found)[:2]


def test_two_types_in_one_domain_where_that_costs_less_than_either() -> None:
    state = with_types(
        cluster(gang("g", 5), members("g", 5, cpu=2000)),
        kind("four", racks={"r1": 4}, cpu=8000, cost=3000),
        kind("one", racks={"r1": 9}, cpu=2000, cost=1000),
    )

    found = scale_up(state, [KEY])

    assert steps(found)[0] == (("one", "r1", 1), ("four", "r1", 1))
    assert found.options[0].cost == 4000
    assert found.options[0].cheapest
    assert not any(option.cheapest for option in found.options[1:])
    holds(state, found, [KEY])


def test_two_types_where_neither_has_nodes_enough() -> None:
    state = with_types(
        cluster(gang("g", 3), members("g", 3, cpu=8000)),
        kind("a", racks={"r1": 2}),
        kind("b", racks={"r1": 1, "r2": 2}, cost=5000),
    )

    assert steps(scale_up(state, [KEY])) == [(("a", "r1", 2), ("b", "r1", 1))]


def test_a_type_that_holds_only_some_of_the_members_is_mixed_with_another() -> None:
    leader = pod("g-leader", "g", cpu=8000, gpu=4)
    state = with_types(
        cluster(gang("g", 4), leader, members("g", 3, cpu=8000)),
        kind("gpu", racks={"r1": 9}, gpu=4, cost=9000),
        kind("cpu", racks={"r1": 9}, cost=1000),
    )

    found = scale_up(state, [KEY])

    assert steps(found) == [(("cpu", "r1", 3), ("gpu", "r1", 1)), (("gpu", "r1", 4),)]
    holds(state, found, [KEY])


def test_a_group_without_constraint_may_grow_everywhere_at_once() -> None:
    state = with_types(
        cluster(gang("g", 3, key=""), members("g", 3, cpu=8000)), kind(racks={"r1": 2, "r2": 2})
    )

    found = scale_up(state, [KEY])

    assert [(option.nodes, option.fits[0].domain) for option in found.options] == [(3, "")]
    assert {step.domain for step in found.options[0].steps} == {"r1", "r2"}
    holds(state, found, [KEY])


def test_a_basic_group_needs_room_for_one_more() -> None:
    state = with_types(cluster(basic("g"), members("g", 3, cpu=8000)), kind())

    assert steps(scale_up(state, [KEY])) == [(("big", "r1", 1),)]


def test_a_group_with_members_on_nodes_grows_only_where_they_are() -> None:
    state = with_types(
        cluster(
            node("n1"),
            gang("g", 2),
            pod("g-0", "g", cpu=8000, node="n1"),
            pod("g-1", "g", cpu=8000),
        ),
        kind("here", cost=9000),
        kind("there", racks={"r2": 5}, cost=1),
    )

    found = scale_up(state, [KEY])

    assert steps(found) == [(("here", "r1", 1),)]
    assert found.refused == (("there", NotThisType.OTHER_DOMAIN),)


# ---------------------------------------------------------------- what is refused, and why


def refusal(*kinds: NodeType, **member: object) -> ScaleUp:
    state = cluster(node("n1", cpu=0), gang("g", 2), members("g", 2, **{"cpu": 8000, **member}))  # type: ignore[arg-type]
    return scale_up(with_types(state, *kinds), [KEY])


def test_a_type_that_does_not_grow_by_the_label_of_the_group_is_refused() -> None:
    other = NodeType("zonal", (("cpu", 64_000), ("pods", 110)), growth=(Growth(ZONE, "z1", 9),))

    found = refusal(other)

    assert (found.options, found.obstacle) == ((), NoHelp.NO_GROWTH)
    assert found.refused == (("zonal", NotThisType.NO_LABEL),)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (kind(cpu=4000), NotThisType.TOO_SMALL),
        (kind(taints=(DEVICE_TAINT,)), NotThisType.TAINT),
        (kind(racks={"r1": 1, "r2": 1}), NotThisType.NOT_ENOUGH),
        (kind(racks={"r1": 0}), NotThisType.GROWN),
        (NodeType("big", kind().allocatable), NotThisType.NO_LABEL),
    ],
)
def test_where_no_growth_does_every_type_says_why(made: NodeType, why: NotThisType) -> None:
    found = refusal(made)

    assert (found.options, found.obstacle, found.group) == ((), NoHelp.NO_GROWTH, KEY)
    assert found.refused == (("big", why),)


def test_members_that_want_another_label_refuse_the_type() -> None:
    found = refusal(kind(), eligibility=ELIGIBILITIES[3])

    assert found.refused == (("big", NotThisType.SELECTOR),)
    assert refusal(kind(labels=((ZONE, "z1"),)), eligibility=ELIGIBILITIES[3]).options


def test_a_taint_that_repels_nobody_refuses_nothing() -> None:
    assert refusal(kind(taints=(Taint("a", "", "PreferNoSchedule"),))).options


def test_nodes_that_carry_the_label_of_the_type_use_its_growth_up() -> None:
    grown_one = node("old", labels={TYPE_LABEL: "big"}, cpu=0)
    state = with_types(cluster(grown_one, gang("g", 2), members("g", 2, cpu=8000)), kind(racks={"r1": 2}))

    assert room_to_grow(state, "big", RACK, "r1") == 1
    assert scale_up(state, [KEY]).refused == (("big", NotThisType.NOT_ENOUGH),)


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (cluster(node("n1"), gang("g", 1), members("g", 1)), NoHelp.FITS),
        (cluster(node("n1"), gang("g", 1), members("g", 1, node="n1")), NoHelp.NOT_WAITING),
        (cluster(node("n1"), gang("g", 2), members("g", 1)), NoHelp.HELD),
        (cluster(node("n1"), node("n2", "r2"), gang("g", 3), pod("g-0", "g", node="n1"),
                 pod("g-1", "g", node="n2"), pod("g-2", "g")), NoHelp.CONFLICTED),
        (cluster(gang("g", 1), members("g", 1, unmodelled=("volumes",))), NoHelp.UNMODELLED),
    ],
)  # fmt: skip
def test_groups_that_no_node_can_help_are_told_apart(state: ClusterState, why: NoHelp) -> None:
    assert scale_up(with_types(state, kind()), [KEY]) == ScaleUp(obstacle=why, group=KEY)


def test_nodes_do_not_help_against_a_quota() -> None:
    state = with_types(cluster(gang("g", 1, queue="small"), members("g", 1, gpu=4)), kind())
    state.records.put(Queue("small", quota=2))

    assert scale_up(state, [KEY]) == ScaleUp(obstacle=NoHelp.QUOTA, group=KEY)


def test_without_types_nothing_can_be_planned() -> None:
    assert scale_up(cluster(gang("g", 1), members("g", 1)), [KEY]).obstacle == NoHelp.NO_TYPES


# ---------------------------------------------------------------- the queue, and several groups


def test_nodes_that_a_group_before_it_would_take_are_not_counted_for_it() -> None:
    state = with_types(
        cluster(
            gang("g", 1),
            members("g", 1, cpu=8000),
            gang("first", 1, priority=9),
            members("first", 1, cpu=8000),
        ),
        kind(),
    )

    found = scale_up(state, [KEY])

    assert steps(found) == [(("big", "r1", 2),)]
    assert not found.options[0].cheapest
    holds(state, found, [KEY])


def test_several_groups_share_no_node() -> None:
    state = with_types(
        cluster(gang("a", 2, priority=1), members("a", 2, cpu=8000), gang("b", 2), members("b", 2, cpu=4000)),
        kind(racks={"r1": 3, "r2": 1}),
    )

    found = scale_up(state, ["ml/b", "ml/a"])

    assert found.options[0].nodes == 3
    assert [fit.group for fit in found.options[0].fits] == ["ml/a", "ml/b"]
    holds(state, found, ["ml/a", "ml/b"])


def test_the_group_of_several_that_cannot_be_helped_is_named() -> None:
    state = with_types(
        cluster(gang("a", 2), members("a", 2, cpu=8000), gang("b", 2), members("b", 2, cpu=9000)), kind()
    )

    found = scale_up(state, ["ml/a", "ml/b"])

    assert (found.options, found.obstacle, found.group) == ((), NoHelp.NO_GROWTH, "ml/b")


def test_new_nodes_have_names_that_nobody_has() -> None:
    state = with_types(cluster(node("big-rack-a-1")), kind())

    made = new_nodes(state, [NewNodes("big", RACK, "Rack A", 2), NewNodes("big", RACK, "rack/a", 1)])

    assert [one.name for one in made] == ["big-rack-a-2", "big-rack-a-3", "big-rack-a-4"]
    assert made[0].label(RACK) == "Rack A"
    assert made[0].label("kubernetes.io/hostname") == "big-rack-a-2"


# ---------------------------------------------------------------- against all there is


def exhaustive(state: ClusterState) -> Iterator[tuple[int, int]]:
    """(cost, nodes) of every mixture of new nodes in one domain that makes the group run."""
    kinds = list(state.records.of(NodeType).values())
    for domain in sorted({entry.domain for one in kinds for entry in one.growth}):
        rooms = [room_to_grow(state, one.name, RACK, domain) for one in kinds]
        for counts in product(*(range(room + 1) for room in rooms)):
            made = [
                NewNodes(one.name, RACK, domain, count)
                for one, count in zip(kinds, counts, strict=True)
                if count
            ]
            if decide(grown(state, made), KEY).placed:
                cost = sum(count * (one.cost or 0) for one, count in zip(kinds, counts, strict=True))
                yield cost, sum(counts)


def drawn_types(random: Random) -> list[NodeType]:
    return [
        kind(
            f"t{number}",
            racks={rack: random.randint(0, 3) for rack in random.sample(["r1", "r2", "new"], 2)},
            cpu=500 * random.choice([1, 2, 3, 4, 6, 8]),
            gpu=random.choice([0, 1, 2, 4]),
            cost=100 * random.randint(1, 9),
            taints=random.choice([(), (), (DEVICE_TAINT,)]),
            labels=random.choice([(), ((ZONE, "z1"),)]),
        )
        for number in range(random.randint(1, 3))
    ]


def judged(state: ClusterState) -> tuple[ScaleUp, list[tuple[int, int]]]:
    found = scale_up(state, [KEY])
    holds(state, found, [KEY])
    costs = [(option.cost, option.nodes) for option in found.options]
    assert costs == sorted(costs)
    return found, sorted(exhaustive(state))


def cheapest(option: ScaleUpOption) -> tuple[int, int]:
    return option.cost, option.nodes


@given(st.integers(0, 100_000))
@settings(max_examples=120, deadline=None)
def test_of_mixed_gangs_nothing_cheaper_is_missed(seed: int) -> None:
    state = with_types(crowded(seed), *drawn_types(Random(seed)))
    found, all_there_is = judged(state)
    if found.obstacle in (None, NoHelp.NO_GROWTH):
        assert [cheapest(option) for option in found.options[:1]] == all_there_is[:1]


@given(clusters(), st.integers(0, 100_000))
@settings(max_examples=120, deadline=None)
def test_of_any_small_cluster_nothing_cheaper_is_missed(state: ClusterState, seed: int) -> None:
    found, all_there_is = judged(with_types(state, *drawn_types(Random(seed))))
    if found.obstacle in (None, NoHelp.NO_GROWTH):
        assert [cheapest(option) for option in found.options[:1]] == all_there_is[:1]
