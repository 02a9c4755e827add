"""Which processes are killed, and when: drawn from a seed, with every named point and every victim in each
deck of 20 rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from chaos.points import APPEND, CYCLE

VICTIMS = ("worker", "web", "redis", "postgres")
STOPS = (
    *(("web", point) for point in APPEND),
    *(("worker", point) for point in APPEND),
    *(("worker", point) for point in CYCLE),
)
"""(process, point) of every place at which a process is stopped."""

LONGEST_DELAY = 1.5
"""Seconds of load before the kill of a round."""


@dataclass(frozen=True, slots=True)
class Round:
    """After ``delay`` seconds ``victims`` are killed; with ``stop``, (process, point), only when such a
    process has come to that point. ``emptied``: Redis loses all that it had. ``first``: a stopped process
    that is not among the victims goes on before they are back, not after.
    """

    number: int
    victims: tuple[str, ...]
    stop: tuple[str, str] | None
    delay: float
    emptied: bool
    first: bool

    def __str__(self) -> str:
        who = " + ".join(self.victims) + (" (emptied)" if self.emptied else "")
        when = "at a random moment" if self.stop is None else f"with {self.stop[0]} at {self.stop[1]}"
        return f"{who} {when}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan(seed: str) -> Iterator[Round]:
    """Rounds without end, the same for the same seed."""
    dice = Random(f"{seed} rounds")
    number = deck = 0
    while True:
        moments = list(enumerate(STOPS)) + [(place, None) for place in range(20 - len(STOPS))]
        dice.shuffle(moments)
        for place, stop in moments:
            number += 1
            victims = _at(stop, place + deck, dice) if stop else _at_random(place, dice)
            yield Round(
                number,
                victims,
                stop,
                dice.uniform(0, LONGEST_DELAY),
                "redis" in victims and dice.random() < 0.5,
                dice.random() < 0.5,
            )
        deck += 1


def _at(stop: tuple[str, str], turn: int, dice: Random) -> tuple[str, ...]:
    """The stopped process itself more often than others; from deck to deck another one."""
    process, _ = stop
    choices = [(process,), ("postgres",), (process,), ("redis",), (process,), _several(dice)]
    return choices[turn % len(choices)]


def _at_random(place: int, dice: Random) -> tuple[str, ...]:
    return (*((victim,) for victim in VICTIMS), ("postgres",))[place] if place < 5 else _several(dice)


def _several(dice: Random) -> tuple[str, ...]:
    return tuple(sorted(dice.sample([*VICTIMS, "beat"], dice.randint(2, 4))))
