"""`manage.py chaos`: its rounds, and that they pass."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice

from chaos.rounds import STOPS, VICTIMS, plan
from tasweb.stack import ROOT

DECK = 20


def test_the_same_seed_gives_the_same_rounds() -> None:
    assert list(islice(plan("a"), 50)) == list(islice(plan("a"), 50))
    assert list(islice(plan("a"), 50)) != list(islice(plan("b"), 50))


def test_twenty_rounds_have_every_named_point_and_every_victim_at_points_and_at_random() -> None:
    rounds = plan("any")
    for _ in range(10):
        deck = list(islice(rounds, DECK))
        stopped = [chosen for chosen in deck if chosen.stop]
        assert sorted(chosen.stop for chosen in stopped if chosen.stop) == sorted(STOPS)
        for some in (stopped, [chosen for chosen in deck if not chosen.stop]):
            assert {chosen.victims for chosen in some} >= {(victim,) for victim in VICTIMS}
            assert any(len(chosen.victims) > 1 for chosen in some)


def test_two_hundred_rounds_kill_every_victim_at_every_named_point() -> None:
    found = {(chosen.stop, chosen.victims) for chosen in islice(plan("any"), 200)}
    for stop in STOPS:
        assert {(stop, (victim,)) for victim in (stop[0], "postgres", "redis")} <= found


def test_twenty_rounds_lose_double_and_halve_nothing() -> None:
    elsewhere = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "TAS_THROWAWAY")
    done = subprocess.run(
        [sys.executable, "manage.py", "chaos", "--rounds", str(DECK), "--seed", "ci"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in elsewhere},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1:] == [f"{DECK} passed, 0 failed"], done.stdout + done.stderr
    assert done.returncode == 0
