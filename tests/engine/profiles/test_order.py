"""Which group kube-scheduler would take first."""

from __future__ import annotations

from scheduling.engine.queue import waiting
from tests.engine.builders import cluster, gang, node, pod


def two_gangs(**created: int) -> list[str]:
    """Two gangs of two, both PodGroups there from the start; members by the time of their creation."""
    pods = [pod(name, name[0], created=time) for name, time in created.items()]
    state = cluster(node("n"), gang("a", 2, created=1), gang("b", 2, created=1), pods)
    return waiting(state, "upstream-1.36")


def test_the_gang_that_reaches_its_quorum_first_goes_first() -> None:
    assert two_gangs(a0=10, b0=11, a1=12, b1=13) == ["ml/a", "ml/b"]
    assert two_gangs(a0=10, b0=11, a1=13, b1=12) == ["ml/b", "ml/a"]


def test_members_beyond_the_quorum_do_not_put_a_gang_back() -> None:
    assert two_gangs(a0=10, a1=11, b0=11, b1=12, a2=99) == ["ml/a", "ml/b"]


def test_a_pod_group_that_comes_late_opens_the_gate_late() -> None:
    pods = [pod("a0", "a", created=1), pod("b0", "b", created=2)]
    state = cluster(node("n"), gang("a", 1, created=9), gang("b", 1, created=3), pods)
    assert waiting(state, "upstream-1.37") == ["ml/b", "ml/a"]


def test_priority_goes_before_time_and_a_degraded_gang_before_nobody() -> None:
    pods = [
        pod("a0", "a", created=5),
        pod("a1", "a", created=6, node="gone"),
        pod("b0", "b", created=1),
        pod("b1", "b", created=2),
        pod("c0", "c", created=9),
    ]
    state = cluster(node("n"), gang("a", 3), gang("b", 2), gang("c", 1, priority=7), pods)
    assert waiting(state, "upstream-1.36") == ["ml/c", "ml/b", "ml/a"]
    assert waiting(state) == ["ml/c", "ml/a", "ml/b"]
