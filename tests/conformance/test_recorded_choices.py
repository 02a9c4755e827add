"""Every single choice of the recorded kube-scheduler, pod by pod, is one that our scores allow.

The cases themselves ask for states and domains only. Here the recorded nodes are walked through: there must
be an order of the members, one that a walk through a Go map can give, in which each lies on a node with the
highest score of its placement, and those left out fitted nowhere when their turn came.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from scheduling.engine.candidates import Candidates, candidates
from scheduling.engine.model import TAS_GATES
from scheduling.engine.profiles import greedy
from scheduling.engine.profiles.snapshot import Asked, Snapshot, as_upstream_sees, asked, take
from scheduling.engine.profiles.steps import NODE_SCORES, balanced_allocation, least_allocated
from scheduling.engine.queue import waiting
from scheduling.engine.roster import roster
from scheduling.services.conformance.cases import perform, read_cases, take_over
from scheduling.services.conformance.stream import MemoryStream

RECORDED = Path(__file__).parent / "recorded-1.36.jsonl"


@dataclass(frozen=True)
class Recording:
    """``chosen``: per member the position of its node, -1 for none."""

    name: str
    nodes: Snapshot
    members: list[Asked]
    chosen: list[int]


def recordings() -> Iterator[Recording]:
    """Every placement of members that the real scheduler made, each on the state that it found."""
    for case in read_cases(RECORDED):
        stream = MemoryStream(gates=dict.fromkeys(TAS_GATES, True))
        for number, stage in enumerate(case["stages"], 1):
            perform(stream, stage, case["directory"])
            unbound = [uid for uid, pod in stream.state.pods.items() if not pod.node]
            state = as_upstream_sees(stream.state)
            for key in waiting(state, "upstream-1.36"):
                who = roster(state, key)
                where = candidates(state, who)
                if not any(pod.name in stage["observed"] for pod in who.waiting):
                    continue
                assert isinstance(where, Candidates)
                position = {name: place for place, name in enumerate(where.index.names)}
                members = [asked(pod) for pod in who.waiting]
                yield Recording(
                    f"{case['name']}, stage {number}, {key}",
                    take(state, where.index, members),
                    members,
                    [position.get(stage["observed"].get(pod.name, ""), -1) for pod in who.waiting],
                )
            stream.settle("upstream-1.36")
            stream.commit(take_over(stream, unbound, stage["observed"]))
            stream.now_ms += 1000


@pytest.fixture(scope="module")
def recorded() -> list[Recording]:
    return list(recordings())


def allowed(made: Recording) -> bool:
    first = list(range(len(made.members)))
    return any(_allowed_in(made, [*first[cut:], *first[:cut]]) for cut in first)


def _allowed_in(made: Recording, order: list[int]) -> bool:
    nodes = made.nodes.copy()
    (domain,) = {int(nodes.index.of[place]) for place in made.chosen if place >= 0}
    for number in order:
        best = greedy.best_nodes(nodes, made.members[number])[nodes.index.slice(domain)]
        place = made.chosen[number]
        if place < 0 and best.any():
            return False
        if place >= 0:
            if not best[place - int(nodes.index.starts[domain])]:
                return False
            nodes.assume(made.members[number], np.array([place]))
    return True


def test_every_recorded_choice_is_one_of_the_best_nodes(recorded: list[Recording]) -> None:
    assert len(recorded) > 300
    assert [made.name for made in recorded if not allowed(made)] == []


@pytest.mark.parametrize("left_out", [least_allocated, balanced_allocation])
def test_the_recordings_need_each_score(
    recorded: list[Recording], monkeypatch: pytest.MonkeyPatch, left_out: object
) -> None:
    rest = tuple((score, weight) for score, weight in NODE_SCORES if score is not left_out)
    monkeypatch.setattr(greedy, "NODE_SCORES", rest)
    assert not all(allowed(made) for made in recorded)
