"""Who belongs to a group, and that what is kept of it follows every change."""

from dataclasses import replace

from scheduling.engine.roster import Roster, roster
from tests.engine.builders import basic, cluster, gang, members, node, pod

G = "ml/g"


def names(who: Roster) -> tuple[list[str], list[str], list[str]]:
    return tuple([one.uid for one in part] for part in (who.bound, who.waiting, who.gated))  # type: ignore[return-value]


def test_members_are_sorted_by_what_may_happen_to_them() -> None:
    state = cluster(
        pod("bound", "g", node="a"),
        pod("leaving", "g", node="a", terminating=True),
        pod("gone", "g", terminating=True),
        pod("gated", "g", gated=True),
        pod("free", "g"),
        pod("done", "g", phase="Succeeded", node="a"),
        pod("failed", "g", phase="Failed"),
        gang("g", 2),
    )
    who = roster(state, G)
    assert names(who) == (["pod-bound", "pod-leaving"], ["pod-free"], ["pod-gated"])
    assert (who.known, who.pods, who.unfinished, who.succeeded) == (4, 7, 5, 1)


def test_need_is_min_count_for_a_gang_and_one_otherwise() -> None:
    state = cluster(gang("g", 3), basic("b"), pod("x", "nobody"))
    assert [roster(state, key).need for key in (G, "ml/b", "ml/nobody")] == [3, 1, 1]


def test_kinds_are_shapes_in_order_of_their_first_member() -> None:
    state = cluster(
        gang("g", 1), pod("a", "g"), pod("b", "g", cpu=1), pod("c", "g"), pod("d", "g", cpu=1, priority=5)
    )
    assert [[one.name for one in kind.pods] for kind in roster(state, G).kinds()] == [["d", "b"], ["a", "c"]]


def test_what_is_kept_follows_pods_that_come_change_and_go() -> None:
    state = cluster(node("a"), gang("g", 2), members("g", 1))
    assert names(roster(state, G)) == ([], ["pod-g-0"], [])
    state.set_pod(pod("g-1", "g"))
    assert names(roster(state, G)) == ([], ["pod-g-0", "pod-g-1"], [])
    state.bind("pod-g-0", "a")
    assert names(roster(state, G)) == (["pod-g-0"], ["pod-g-1"], [])
    state.set_pod(replace(state.pods["pod-g-1"], group="h"))
    assert names(roster(state, G)) == (["pod-g-0"], [], [])
    assert names(roster(state, "ml/h")) == ([], ["pod-g-1"], [])
    state.remove_pod("pod-g-0")
    assert names(roster(state, G)) == ([], [], [])


def test_what_is_kept_follows_a_newer_pod_of_the_same_name_even_in_another_group() -> None:
    state = cluster(gang("g", 1), members("g", 1))
    assert roster(state, G).known == 1
    state.set_pod(pod("g-0", "h", uid="newer"))
    assert roster(state, G).known == 0
    state.remove_pod("newer")
    assert roster(state, G).known == 1


def test_what_is_kept_follows_the_podgroup() -> None:
    state = cluster(members("g", 1))
    assert roster(state, G).group is None
    state.set_group(gang("g", 4))
    assert roster(state, G).need == 4
    state.close_group(G, "group-g")
    assert roster(state, G).group is None


def test_what_is_kept_in_a_fork_is_its_own() -> None:
    state = cluster(node("a"), gang("g", 1), members("g", 1))
    roster(state, G)
    fork = state.fork()
    fork.bind("pod-g-0", "a")
    assert names(roster(fork, G)) == (["pod-g-0"], [], [])
    assert names(roster(state, G)) == ([], ["pod-g-0"], [])
