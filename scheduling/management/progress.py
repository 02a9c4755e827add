"""How far a long command is: a bar on a terminal, and lines where there is none, if they are wanted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click

LINE_EVERY = 100_000
"""Events between two lines."""


class Advance(Protocol):
    """Called with how many events more were read."""

    def __call__(self, number: int, /) -> None: ...


@contextmanager
def progress(label: str, total: int, *, lines: bool = False) -> Iterator[Advance]:
    """On standard error, so that what a command prints stays as it is. ``total``: events, as known now."""
    if sys.stderr.isatty():
        with click.progressbar(length=total, label=label, file=sys.stderr, show_pos=True) as bar:
            yield bar.update
        return
    done = 0

    def say(number: int) -> None:
        nonlocal done
        before, done = done, done + number
        if lines and done // LINE_EVERY > before // LINE_EVERY:
            print(f"{label}: {done} of {max(total, done)} events", file=sys.stderr, flush=True)

    yield say
